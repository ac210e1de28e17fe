// Sweeps of synthetic caches give their capacities back; what a sweep does not decide is unknown,
// with the reason.
#include "probe/inference/cyclic_scan.h"

#include <gtest/gtest.h>

#include "probe/inference/footprint.h"
#include "probe/inference/known.h"
#include "probe/inference/sharing.h"
#include "probe/kernels/code.h"
#include "tests/probe/synthetic.h"
#include "tests/probe/synthetic_caches.h"

namespace assay::probe {
namespace {

using namespace hwdesc;
using namespace test;

double stream_time_at(const std::vector<SyntheticCache>& caches, double far_bandwidth,
                      double bytes) {
  double t = 1 / far_bandwidth;
  for (size_t i = caches.size(); i-- > 0;) {
    const double h = hit_rate_of(caches[i], bytes);
    t = h / caches[i].bandwidth + (1 - h) * t;
  }
  return t;
}

const std::vector<SyntheticCache> kCaches = {{44 * kKiB, 60 * kKiB, 900e9},
                                             {900 * kKiB, 1500 * kKiB, 250e9},
                                             {4.5 * kMiB, 32 * kMiB, 150e9}};

// `end`: largest footprint before the one beyond all caches.
std::vector<CurvePoint> sweep(const std::vector<SyntheticCache>& caches, double noise,
                              unsigned seed, double end = 32 * kMiB) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> around(0, noise);
  std::vector<CurvePoint> out;
  for (const double bytes : test::footprints(12 * kKiB, end, 4))
    out.push_back({bytes, stream_time_at(caches, kFarBandwidth, bytes) * std::exp(around(random))});
  out.push_back({64 * kMiB, 1 / kFarBandwidth});
  return out;
}

std::vector<MemoryLevel> told_by(const std::vector<CurvePoint>& curve) {
  std::vector<MemoryLevel> m = levels();
  add_cyclic_scan(m, std::vector<Sweep>{{curve, kUnits}});
  return m;
}

TEST(HitCurve, GivesTheCapacitiesBack) {
  const std::vector<MemoryLevel> m = told_by(sweep(kCaches, 0, 1));
  for (size_t i = 0; i < kCaches.size(); ++i) {
    const double parts = m[i].per == "unit" ? 1 : kUnits;
    EXPECT_LT(octaves_between(m[i].cyclic_scan.from, parts * footprint_of(kCaches[i], 0.9)), 0.15)
        << m[i].name;
    EXPECT_LT(octaves_between(m[i].cyclic_scan.middle, parts * footprint_of(kCaches[i], 0.5)), 0.15)
        << m[i].name;
    EXPECT_LT(octaves_between(m[i].cyclic_scan.to, parts * footprint_of(kCaches[i], 0.1)), 0.15)
        << m[i].name;
  }
  EXPECT_FALSE(m[3].cyclic_scan.from.known());
  EXPECT_GT(m[2].cyclic_scan.from.value->v, m[2].capacity.value->v) << "beyond the chase's knee";
}

TEST(HitCurve, TheIntervalIsThatOfTheNeighbouringFootprints) {
  for (const MemoryLevel& l : told_by(sweep(kCaches, 0.02, 3))) {
    for (const Value<Bytes>* v : {&l.cyclic_scan.from, &l.cyclic_scan.middle, &l.cyclic_scan.to}) {
      if (!v->known()) continue;
      EXPECT_EQ(v->source, Origin::measured);
      EXPECT_LE(v->low->v, v->value->v);
      EXPECT_GE(v->high->v, v->value->v);
      EXPECT_LT(v->high->v / v->low->v, 1.3);
    }
  }
}

TEST(HitCurve, NoiseMovesThemByLessThanItsShareOfTheStep) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<MemoryLevel> m = told_by(sweep(kCaches, 0.04, seed));
    const HitCurve& s = m[2].cyclic_scan;
    EXPECT_LT(octaves_between(s.from, kUnits * footprint_of(kCaches[2], 0.9)), 0.7) << seed;
    EXPECT_LT(octaves_between(s.middle, kUnits * footprint_of(kCaches[2], 0.5)), 0.35) << seed;
    EXPECT_LT(octaves_between(s.to, kUnits * footprint_of(kCaches[2], 0.1)), 0.7) << seed;
    EXPECT_LE(s.from.value->v, s.middle.value->v);
    EXPECT_LE(s.middle.value->v, s.to.value->v);
  }
}

TEST(HitCurve, ALevelThatDoesNotShowIsUnknownAndTheOthersAreNot) {
  std::vector<SyntheticCache> caches = kCaches;
  caches[1].bandwidth = 1.2 * caches[2].bandwidth;
  const std::vector<MemoryLevel> m = told_by(sweep(caches, 0, 1));
  EXPECT_FALSE(m[1].cyclic_scan.from.known());
  EXPECT_FALSE(m[1].cyclic_scan.to.known());
  EXPECT_NE(m[1].cyclic_scan.from.note.find("1.20 times"), std::string::npos)
      << m[1].cyclic_scan.from.note;
  EXPECT_TRUE(m[0].cyclic_scan.to.known());
  EXPECT_TRUE(m[2].cyclic_scan.from.known());
}

TEST(HitCurve, ASweepThatStopsEarlyGivesWhatItMeasured) {
  const std::vector<MemoryLevel> m = told_by(sweep(kCaches, 0, 1, 16 * kMiB));
  const HitCurve& s = m[2].cyclic_scan;
  EXPECT_TRUE(s.from.known());
  EXPECT_TRUE(s.middle.known());
  EXPECT_FALSE(s.to.known());
  EXPECT_NE(s.to.note.find("no larger footprint"), std::string::npos) << s.to.note;
  EXPECT_TRUE(m[1].cyclic_scan.to.known());
}

// With many units each has little: what they share may be larger than the whole sweep.
TEST(HitCurve, ACacheBeyondTheSweepIsUnknownAndSoIsTheStepToIt) {
  std::vector<MemoryLevel> m = levels();
  m[2].capacity.value = Bytes{512 * kMiB};
  const std::vector<CurvePoint> curve = sweep(kCaches, 0, 1);
  add_cyclic_scan(m, std::vector<Sweep>{{curve, kUnits}});
  EXPECT_TRUE(m[0].cyclic_scan.from.known());
  EXPECT_FALSE(m[1].cyclic_scan.from.known());
  EXPECT_FALSE(m[2].cyclic_scan.from.known());
  EXPECT_NE(m[2].cyclic_scan.from.note.find("does not reach"), std::string::npos);
  EXPECT_EQ(plateau_times(m, {curve, kUnits})[2], 0);
}

TEST(HitCurve, WithoutASweepNothingIsReported) {
  Observations unusable;
  unusable.points = {
      test::block("cyclic_scan", "read", {{"bytes", kMiB}, {"units", kUnits}}, std::nan(""))};
  EXPECT_TRUE(sweeps_of(unusable).empty());
  EXPECT_TRUE(sweeps_of({}).empty());
  std::vector<MemoryLevel> m = levels();
  add_cyclic_scan(m, std::vector<Sweep>{Sweep{}});
  EXPECT_EQ(m, levels());
}

// From inside the first cache to beyond the last one, no footprint twice, and never more than the
// memory.
TEST(HitCurve, TheSweepCoversEveryCapacity) {
  Known k;
  k.levels.knees = {{46 * kKiB, 52 * kKiB, 49 * kKiB},
                    {900 * kKiB, 1200 * kKiB, 1 * kMiB},
                    {8 * kMiB, 20 * kMiB, 14 * kMiB}};
  k.sharing = {{false, ""}, {false, ""}, {true, ""}};
  for (const int units : {1, 2, 16})
    for (const int64_t most : {16, 256, 2048}) {
      const std::vector<int64_t> sizes = scan_footprints(k, units, most << 20);
      ASSERT_GT(sizes.size(), 8u);
      EXPECT_LE(sizes.front(), 0.5 * 46 * kKiB);
      EXPECT_LE(sizes.back() * units, most << 20);
      for (size_t i = 1; i < sizes.size(); ++i) EXPECT_GT(sizes[i], sizes[i - 1]);
      if (most >= 256) {
        EXPECT_GE(static_cast<double>(sizes[sizes.size() - 2] * units), 3 * 20 * kMiB);
        EXPECT_GE(static_cast<double>(sizes.back() * units), 100 * kMiB);
      }
    }
  EXPECT_TRUE(scan_footprints({}, 2, 64 << 20).empty());
}

// Co-tenants leave a chase little of a cache that the system declares large. The sweep has no gap
// where it may end.
TEST(HitCurve, TheSweepLeavesNoGapUpToWhatTheLastCacheMayHold) {
  Known k;
  k.levels.knees = {{46 * kKiB, 52 * kKiB, 49 * kKiB}, {2 * kMiB, 8 * kMiB, 4 * kMiB}};
  k.sharing = {{false, ""}, {true, ""}};
  k.cached = 100 * kMiB;
  const std::vector<int64_t> sizes = scan_footprints(k, 2, 512 << 20);
  ASSERT_GT(sizes.size(), 8u);
  const auto total = [](int64_t each) { return static_cast<double>(2 * each); };
  EXPECT_GE(total(sizes[sizes.size() - 2]), 3 * k.cached);
  for (size_t i = 1; i < sizes.size() && total(sizes[i]) < 2 * k.cached; ++i)
    EXPECT_LE(static_cast<double>(sizes[i]),
              1.25 * static_cast<double>(sizes[i - 1]) + kBlockBytes);
}

// Far memory is twice as fast in one of three sweeps. Pooled, far footprints would seem to be
// cached.
TEST(HitCurve, OfSeveralSweepsTheMedianCounts) {
  Observations all;
  const auto add = [&](double end, double far) {
    std::vector<SyntheticCache> caches = kCaches;
    caches.back() = {end / 8, end, 150e9};
    for (const double bytes : test::footprints(12 * kKiB, 64 * kMiB, 4))
      all.points.push_back(test::block("cyclic_scan", "read", {{"bytes", bytes}, {"units", kUnits}},
                                       stream_time_at(caches, far, bytes)));
    all.points.push_back(
        test::block("cyclic_scan", "read", {{"bytes", 128 * kMiB}, {"units", kUnits}}, 1 / far));
    all.points.push_back(test::block("latency", "chase", {{"level", 2}}, 1e-8));
  };
  add(16 * kMiB, 40e9);
  add(20 * kMiB, 80e9);
  add(32 * kMiB, 40e9);
  const std::vector<Sweep> sweeps = sweeps_of(all);
  ASSERT_EQ(sweeps.size(), 3U);
  std::vector<MemoryLevel> m = {cache("l1", "unit", 48 * kKiB),
                                cache("l2", "unit", 1.2 * kMiB),
                                cache("l3", "device", 16 * kMiB),
                                {}};
  std::vector<double> middles;
  for (const Sweep& s : sweeps) {
    std::vector<MemoryLevel> alone = m;
    add_cyclic_scan(alone, std::span(&s, 1));
    ASSERT_TRUE(alone[2].cyclic_scan.middle.known()) << alone[2].cyclic_scan.middle.note;
    middles.push_back(alone[2].cyclic_scan.middle.value->v);
  }
  // Later sweeps that begin inside a cache's knee do not count, nor do those that ended before far
  // memory.
  std::vector<MemoryLevel> with_late = m, without = m;
  std::vector<Sweep> late = sweeps;
  for (size_t k = 1; k < late.size(); ++k)
    std::erase_if(late[k].curve, [](const CurvePoint& p) { return p.bytes < 1000 * kKiB; });
  add_cyclic_scan(with_late, late);
  add_cyclic_scan(without, std::span(sweeps).first(1));
  EXPECT_EQ(with_late[1].cyclic_scan, without[1].cyclic_scan);
  EXPECT_EQ(with_late[2].cyclic_scan.middle.value->v, middles[1]);
  std::erase_if(all.points, [&](const Observation& o) {
    return &o > &all.points[all.points.size() / 3 * 2] && o.value_at("bytes") > 4 * kMiB;
  });
  EXPECT_EQ(sweeps_of(all).size(), 2U);
  add_cyclic_scan(m, sweeps);
  EXPECT_LT(middles[0], middles[1]);
  EXPECT_LT(middles[1], middles[2]);
  EXPECT_EQ(m[2].cyclic_scan.middle.value->v, middles[1]);
}

// The largest footprint was disturbed, so hit curves are not computed against it.
TEST(HitCurve, FarMemoryIsAsSlowAsMostLooksAtIt) {
  const auto middle_of = [](double held_up, bool looks) {
    Observations all;
    for (const double bytes : test::footprints(12 * kKiB, 64 * kMiB, 4)) {
      all.points.push_back(test::block("cyclic_scan", "read", {{"bytes", bytes}, {"units", kUnits}},
                                       stream_time_at(kCaches, 40e9, bytes)));
      if (looks) all.points.push_back(test::block("cyclic_scan", "beyond", {}, 1 / 40e9));
    }
    all.points.push_back(test::block("cyclic_scan", "read",
                                     {{"bytes", 128 * kMiB}, {"units", kUnits}}, held_up / 40e9));
    std::vector<MemoryLevel> m = {cache("l1", "unit", 48 * kKiB),
                                  cache("l2", "unit", 1.2 * kMiB),
                                  cache("l3", "device", 16 * kMiB),
                                  {}};
    add_cyclic_scan(m, sweeps_of(all));
    EXPECT_TRUE(m[2].cyclic_scan.middle.known()) << m[2].cyclic_scan.middle.note;
    return m[2].cyclic_scan.middle.known() ? m[2].cyclic_scan.middle.value->v : 0;
  };
  EXPECT_NEAR(middle_of(1.7, true), middle_of(1, true), 0.02 * middle_of(1, true));
  EXPECT_GT(middle_of(1.7, false), 1.1 * middle_of(1, false)) << "not measured";
}

// During one visit the placement was cross-die, and far memory fast. In later ones it was not:
// slower far memory there is no disturbance.
TEST(HitCurve, FarMemoryUnderCrossDiePlacementIsNoLimitForOneDie) {
  Observations all;
  for (const bool cross_die : {true, false}) {
    for (const double bytes : test::footprints(12 * kKiB, 64 * kMiB, 4)) {
      all.points.push_back(test::block("cyclic_scan", "read", {{"bytes", bytes}, {"units", kUnits}},
                                       stream_time_at(kCaches, cross_die ? 80e9 : 40e9, bytes)));
      if (cross_die) all.points.push_back(test::block("cyclic_scan", "beyond", {}, 1 / 80e9));
    }
    all.points.push_back(test::block("cyclic_scan", "own", {{"level", 2}}, 1e-11));
    all.points.push_back(
        test::block("cyclic_scan", "other", {{"level", 2}}, cross_die ? 4e-11 : 1.1e-11));
    all.points.push_back(test::block("latency", "chase", {{"level", 2}}, 1e-8));
  }
  const std::vector<Sweep> sweeps = sweeps_of(all);
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_TRUE(sweeps[0].cross_die);
  EXPECT_FALSE(sweeps[1].cross_die);
  EXPECT_GT(sweeps[1].curve.back().seconds, 1.5 * sweeps[0].curve.back().seconds);
}

// Far memory was twice as fast for every other footprint. Such sweeps show a cache's end by chance,
// so two of them do not outvote a steady one. If there is no other, they count.
TEST(HitCurve, UnsteadySweepsDoNotCountBesideASteadyOne) {
  const auto made = [](double end, bool changes, bool cross_die = false) {
    std::vector<SyntheticCache> caches = kCaches;
    caches.back() = {end / 8, end, 150e9};
    Sweep s{{}, kUnits, cross_die};
    for (const double bytes : test::footprints(3 * kMiB, 256 * kMiB, 4))
      s.curve.push_back(
          {bytes, stream_time_at(caches, changes && s.curve.size() % 2 == 0 ? 90e9 : 30e9, bytes)});
    return s;
  };
  const auto middle_of = [](const std::vector<Sweep>& sweeps) {
    std::vector<MemoryLevel> m = {cache("l1", "unit", 48 * kKiB),
                                  cache("l2", "unit", 1.2 * kMiB),
                                  cache("l3", "device", 16 * kMiB),
                                  {}};
    add_cyclic_scan(m, sweeps);
    EXPECT_TRUE(m[2].cyclic_scan.middle.known()) << m[2].cyclic_scan.middle.note;
    return m[2].cyclic_scan.middle.known() ? m[2].cyclic_scan.middle.value->v : 0;
  };
  const Sweep steady = made(16 * kMiB, false), changing = made(60 * kMiB, true);
  ASSERT_GT(middle_of({changing}), 1.5 * middle_of({steady}));
  EXPECT_EQ(middle_of({changing, steady, changing}), middle_of({steady}));
  EXPECT_EQ(middle_of({changing, changing}), middle_of({changing}));
  // Nor does a sweep of private caches count, beside one of a shared cache.
  const Sweep cross_die = made(80 * kMiB, false, true);
  ASSERT_GT(std::abs(middle_of({cross_die}) - middle_of({steady})), 0.2 * middle_of({steady}));
  EXPECT_EQ(middle_of({cross_die, steady, cross_die}), middle_of({steady}));
}

// The host alternates between one die (slow far memory, one cache) and two (fast far memory, a
// cache each). A sweep across such changes is two sweeps, each with the footprints of one
// placement. The reads of far memory after each footprint tell which.
TEST(HitCurve, ASweepAcrossPlacementsIsTwo) {
  const double end = 16 * kMiB;
  const auto made = [&](bool moves, bool shows) {
    Observations all;
    std::vector<double> sizes = test::footprints(12 * kKiB, 64 * kMiB, 4);
    sizes.push_back(128 * kMiB);
    const auto stretch = [&](bool cross_die, const std::vector<Observation>& points) {
      all.points.insert(all.points.end(), points.begin(), points.end());
      if (shows)
        all.points.push_back(
            test::block("cyclic_scan", "beyond", {}, 1 / (cross_die ? 80e9 : 40e9)));
    };
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool cross_die = moves && i % 3 != 0;
      std::vector<SyntheticCache> caches = kCaches;
      caches.back() = {end / 8 * (cross_die ? 2 : 1), end * (cross_die ? 2 : 1), 150e9};
      const double far = cross_die ? 80e9 : 40e9;
      stretch(
          cross_die,
          {test::block("cyclic_scan", "read", {{"bytes", sizes[i]}, {"units", kUnits}},
                       i + 1 == sizes.size() ? 1 / far : stream_time_at(caches, far, sizes[i]))});
      if (i % 6 < 2)
        stretch(cross_die,
                {test::block("cyclic_scan", "own", {{"level", 2}}, 1e-11),
                 test::block("cyclic_scan", "other", {{"level", 2}}, cross_die ? 4e-11 : 1.1e-11)});
    }
    return sweeps_of(all);
  };
  const auto middle_of = [](std::span<const Sweep> sweeps) {
    std::vector<MemoryLevel> m = {cache("l1", "unit", 48 * kKiB),
                                  cache("l2", "unit", 1.2 * kMiB),
                                  cache("l3", "device", 16 * kMiB),
                                  {}};
    add_cyclic_scan(m, sweeps);
    return m[2].cyclic_scan.middle.known() ? m[2].cyclic_scan.middle.value->v : 0;
  };
  const std::vector<Sweep> still = made(false, true), moved = made(true, true),
                           hidden = made(true, false);
  ASSERT_EQ(still.size(), 1U);
  EXPECT_EQ(hidden.size(), 1U);
  ASSERT_EQ(moved.size(), 2U);
  EXPECT_NE(moved[0].cross_die, moved[1].cross_die);
  const double truth = middle_of(still);
  for (const Sweep& s : moved) EXPECT_NEAR(middle_of({&s, 1}) / truth, 1, 0.15) << s.cross_die;
  EXPECT_GT(std::abs(middle_of(hidden) / truth - 1), 0.15) << "mixed, it shows another edge";
}

// Units on one die share a cache, on two dies they have one each, though the system declares one. A
// sweep gives the capacity of one cache in either case, if it knows the placement.
TEST(HitCurve, UnderCrossDiePlacementIsThatOfOneCache) {
  ASSERT_EQ(kUnits, 2);
  const double end = 16 * kMiB;
  const auto middle_of = [&](double parts, double other) {
    Observations all;
    std::vector<SyntheticCache> caches = kCaches;
    caches.back() = {end / 8 * parts, end * parts, 150e9};
    for (const double bytes : test::footprints(12 * kKiB, 64 * kMiB, 4))
      all.points.push_back(test::block("cyclic_scan", "read", {{"bytes", bytes}, {"units", kUnits}},
                                       stream_time_at(caches, 40e9, bytes)));
    all.points.push_back(
        test::block("cyclic_scan", "read", {{"bytes", 128 * kMiB}, {"units", kUnits}}, 1 / 40e9));
    for (int i = 0; i < 5 && other > 0; ++i) {
      all.points.push_back(test::block("cyclic_scan", "own", {{"level", 2}}, 1e-11));
      all.points.push_back(test::block("cyclic_scan", "other", {{"level", 2}}, other));
    }
    std::vector<MemoryLevel> m = {cache("l1", "unit", 48 * kKiB),
                                  cache("l2", "unit", 1.2 * kMiB),
                                  cache("l3", "device", 16 * kMiB),
                                  {}};
    add_cyclic_scan(m, sweeps_of(all));
    EXPECT_TRUE(m[2].cyclic_scan.middle.known()) << m[2].cyclic_scan.middle.note;
    return m[2].cyclic_scan.middle.known() ? m[2].cyclic_scan.middle.value->v : 0;
  };
  const double together = middle_of(1, 1.1e-11);
  EXPECT_NEAR(middle_of(2, 4e-11) / together, 1, 0.1);
  EXPECT_NEAR(middle_of(2, 1.1e-11) / together, 2, 0.2)
      << "two caches' worth, but each unit finds the other's bytes";
  EXPECT_EQ(middle_of(1, 0), together) << "nothing declared";
}

// All but a few looks at the placement were disturbed. Where each of them, less its wait, is so
// slow that only another cache explains it, the placement is cross-die. Where some are not, it is
// unknown.
TEST(HitCurve, DisturbedLooksShowCrossDiePlacement) {
  const auto cross_die = [](std::vector<double> other, double waited) {
    Observations all;
    for (const double bytes : test::footprints(12 * kKiB, 64 * kMiB, 4))
      all.points.push_back(test::block("cyclic_scan", "read", {{"bytes", bytes}, {"units", kUnits}},
                                       stream_time_at(kCaches, 40e9, bytes)));
    for (int i = 0; i < 3; ++i) {
      all.points.push_back({"cyclic_scan",
                            "own",
                            {{"level", 2}},
                            "s",
                            {1.3e-11, 1e-11, 0.9e-11},
                            {0, 0, 0},
                            0,
                            3e9});
      all.points.push_back(
          {"cyclic_scan", "other", {{"level", 2}}, "s", other, {waited, waited, 0}, 0, 3e9});
    }
    return sweep_of(all).cross_die;
  };
  EXPECT_TRUE(cross_die({3.0e-11, 2.9e-11, 2.4e-11}, 0.15));
  EXPECT_FALSE(cross_die({3.0e-11, 2.9e-11, 2.4e-11}, 0.5)) << "the waits alone may explain them";
  EXPECT_FALSE(cross_die({3.0e-11, 1.1e-11, 2.4e-11}, 0.15));
}

// One look at the placement, partly disturbed: it decides either way, or nothing.
TEST(HitCurve, OneLookShowsThePlacement) {
  const auto look = [](std::vector<double> samples) {
    return std::vector<Observation>{
        {"cyclic_scan", "look", {}, "s", std::move(samples), {0.2, 0, 0}, 0, 3e9}};
  };
  const auto own = look({1.3e-11, 1e-11, 0.9e-11});
  EXPECT_EQ(in_remote_cache(own, look({3.0e-11, 2.4e-11, 2.3e-11})), std::optional(true));
  EXPECT_EQ(in_remote_cache(own, look({1.3e-11, 1e-11, 0.9e-11})), std::optional(false));
  EXPECT_EQ(in_remote_cache(own, look({1.9e-11, 2.4e-11, 1.1e-11})), std::nullopt) << "neither";
  EXPECT_EQ(in_remote_cache(own, {}), std::nullopt);
}

// Of three sweeps one retains nearly all of the least, another half of the least. The 90 % point is
// from the one, the 50 % point from the other.
TEST(HitCurve, EachHitRateIsOfItsMedianSweep) {
  const auto made = [](double begin, double end) {
    std::vector<SyntheticCache> caches = kCaches;
    caches.back() = {begin, end, 150e9};
    Sweep s{{}, kUnits};
    for (const double bytes : test::footprints(3 * kMiB, 256 * kMiB, 4))
      s.curve.push_back({bytes, stream_time_at(caches, 30e9, bytes)});
    return s;
  };
  const auto of = [](const std::vector<Sweep>& sweeps) {
    std::vector<MemoryLevel> m = {cache("l1", "unit", 48 * kKiB),
                                  cache("l2", "unit", 1.2 * kMiB),
                                  cache("l3", "device", 16 * kMiB),
                                  {}};
    add_cyclic_scan(m, sweeps);
    return m[2].cyclic_scan;
  };
  const Sweep a = made(8 * kMiB, 60 * kMiB), b = made(12 * kMiB, 32 * kMiB),
              c = made(16 * kMiB, 90 * kMiB);
  const hwdesc::HitCurve all = of({a, b, c});
  ASSERT_TRUE(all.from.known() && all.middle.known()) << all.from.note << all.middle.note;
  ASSERT_LT(of({b}).middle.value->v, of({a}).middle.value->v);
  EXPECT_EQ(all.from, of({b}).from);
  EXPECT_EQ(all.middle, of({a}).middle);
  EXPECT_EQ(all.to, of({a}).to);
  const hwdesc::HitCurve two = of({a, b}), first = of({a}), second = of({b});
  EXPECT_NEAR(two.from.value->v, std::sqrt(first.from.value->v * second.from.value->v), 1)
      << "of two, the mean";
  EXPECT_EQ(two.from.low, first.from.low);
  EXPECT_EQ(two.from.high, second.from.high);
}

// Far memory was fast for one footprint, far beyond what is cached. Later sweeps and evictions use
// what is cached.
TEST(HitCurve, OneFastFootprintBeyondAllCachesIsNoHit) {
  const auto cached = [](double fast) {
    Observations all;
    for (const double bytes : test::footprints(12 * kKiB, 256 * kMiB, 4)) {
      const bool chance = bytes > 100 * kMiB && bytes < 115 * kMiB;
      all.points.push_back(test::block("cyclic_scan", "read", {{"bytes", bytes}, {"units", kUnits}},
                                       stream_time_at(kCaches, 40e9, bytes) / (chance ? fast : 1)));
    }
    return known_from(all).held;
  };
  EXPECT_GT(cached(1), 0);
  EXPECT_EQ(cached(1.3), cached(1));
}

// A chase of a shared cache found 7 MiB. Streams of all units hit nearly always in 16 MiB, and half
// of 45 MiB.
TEST(HitCurve, TheSizeOfASharedCacheIsThatOfTheNinetyPercentPoint) {
  const auto settled = [](const char* per, double declared) {
    MemoryLevel l = cache("l3", per, 7 * kMiB);
    l.cyclic_scan.from.value = Bytes{16 * kMiB};
    l.cyclic_scan.middle.value = Bytes{45 * kMiB};
    settle_shared_capacity(l, declared);
    return l.capacity;
  };
  const Value<Bytes> told = settled("device", 0), declared = settled("device", 18 * kMiB),
                     otherwise = settled("device", 45 * kMiB);
  EXPECT_EQ(told.value->v, 16 * kMiB);
  EXPECT_EQ(told.source, hwdesc::Origin::measured);
  EXPECT_EQ(declared.value->v, 18 * kMiB) << "near what hits";
  EXPECT_EQ(declared.source, hwdesc::Origin::driver);
  EXPECT_EQ(otherwise.value->v, 16 * kMiB) << "as much does not hit";
  for (const Value<Bytes>& v : {told, declared, otherwise}) {
    EXPECT_LT(v.low->v, v.value->v);
    EXPECT_GT(v.high->v, v.value->v);
    EXPECT_LE(v.high->v, 3 * v.low->v);
    EXPECT_LT(v.low->v, 12 * kMiB) << "others may take more of it another time";
  }
  EXPECT_EQ(settled("unit", 0).value->v, 7 * kMiB) << "no co-tenants";
}

}  // namespace
}  // namespace assay::probe
