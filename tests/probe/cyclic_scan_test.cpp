// Sweeps of made-up caches give their edges back; what a sweep can not tell stays unknown and says
// why.
#include "probe/inference/cyclic_scan.h"

#include <gtest/gtest.h>

#include "probe/inference/footprint.h"
#include "probe/inference/known.h"
#include "probe/inference/sharing.h"
#include "probe/kernels/code.h"
#include "tests/probe/made_caches.h"
#include "tests/probe/synthetic.h"

namespace assay::probe {
namespace {

using namespace hwdesc;
using namespace test;

double stream_time_at(const std::vector<MadeCache>& caches, double far_bandwidth, double bytes) {
  double t = 1 / far_bandwidth;
  for (size_t i = caches.size(); i-- > 0;) {
    const double h = held_by(caches[i], bytes);
    t = h / caches[i].bandwidth + (1 - h) * t;
  }
  return t;
}

const std::vector<MadeCache> kCaches = {{44 * kKiB, 60 * kKiB, 900e9},
                                        {900 * kKiB, 1500 * kKiB, 250e9},
                                        {4.5 * kMiB, 32 * kMiB, 150e9}};

// `end`: largest footprint before the one that lies beyond all caches.
std::vector<CurvePoint> sweep(const std::vector<MadeCache>& caches, double noise, unsigned seed,
                              double end = 32 * kMiB) {
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

TEST(HitCurve, GivesTheEdgesBack) {
  const std::vector<MemoryLevel> m = told_by(sweep(kCaches, 0, 1));
  for (size_t i = 0; i < kCaches.size(); ++i) {
    const double parts = m[i].per == "unit" ? 1 : kUnits;
    EXPECT_LT(octaves_apart(m[i].cyclic_scan.from, parts * footprint_of(kCaches[i], 0.9)), 0.15)
        << m[i].name;
    EXPECT_LT(octaves_apart(m[i].cyclic_scan.middle, parts * footprint_of(kCaches[i], 0.5)), 0.15)
        << m[i].name;
    EXPECT_LT(octaves_apart(m[i].cyclic_scan.to, parts * footprint_of(kCaches[i], 0.1)), 0.15)
        << m[i].name;
  }
  EXPECT_FALSE(m[3].cyclic_scan.from.known());
  EXPECT_GT(m[2].cyclic_scan.from.value->v, m[2].capacity.value->v) << "beyond what the chase said";
}

TEST(HitCurve, TheIntervalIsThatOfTheNeighbours) {
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
    EXPECT_LT(octaves_apart(s.from, kUnits * footprint_of(kCaches[2], 0.9)), 0.7) << seed;
    EXPECT_LT(octaves_apart(s.middle, kUnits * footprint_of(kCaches[2], 0.5)), 0.35) << seed;
    EXPECT_LT(octaves_apart(s.to, kUnits * footprint_of(kCaches[2], 0.1)), 0.7) << seed;
    EXPECT_LE(s.from.value->v, s.middle.value->v);
    EXPECT_LE(s.middle.value->v, s.to.value->v);
  }
}

TEST(HitCurve, ALevelThatDoesNotShowIsUnknownAndTheOthersAreNot) {
  std::vector<MadeCache> caches = kCaches;
  caches[1].bandwidth = 1.2 * caches[2].bandwidth;
  const std::vector<MemoryLevel> m = told_by(sweep(caches, 0, 1));
  EXPECT_FALSE(m[1].cyclic_scan.from.known());
  EXPECT_FALSE(m[1].cyclic_scan.to.known());
  EXPECT_NE(m[1].cyclic_scan.from.note.find("1.20 times"), std::string::npos)
      << m[1].cyclic_scan.from.note;
  EXPECT_TRUE(m[0].cyclic_scan.to.known());
  EXPECT_TRUE(m[2].cyclic_scan.from.known());
}

TEST(HitCurve, ASweepThatStopsEarlyTellsWhatItSaw) {
  const std::vector<MemoryLevel> m = told_by(sweep(kCaches, 0, 1, 16 * kMiB));
  const HitCurve& s = m[2].cyclic_scan;
  EXPECT_TRUE(s.from.known());
  EXPECT_TRUE(s.middle.known());
  EXPECT_FALSE(s.to.known());
  EXPECT_NE(s.to.note.find("no larger footprint"), std::string::npos) << s.to.note;
  EXPECT_TRUE(m[1].cyclic_scan.to.known());
}

// Many units leave little to each: what they share may be larger than all that is swept.
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

TEST(HitCurve, WithoutASweepNothingIsSaid) {
  Observations unusable;
  unusable.points = {
      test::block("cyclic_scan", "read", {{"bytes", kMiB}, {"units", kUnits}}, std::nan(""))};
  EXPECT_TRUE(sweeps_of(unusable).empty());
  EXPECT_TRUE(sweeps_of({}).empty());
  std::vector<MemoryLevel> m = levels();
  add_cyclic_scan(m, std::vector<Sweep>{Sweep{}});
  EXPECT_EQ(m, levels());
}

// From inside the first cache to beyond the last one, nothing twice, never more than there is
// memory for.
TEST(HitCurve, TheSweepCoversEveryEdge) {
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

// Others leave a chase little of a cache that the system says is large: the sweep has no gap where
// that one may end.
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

// Far memory is read twice as fast in one of three sweeps: pooled, what is far would seem to be
// held.
TEST(HitCurve, OfSeveralSweepsTheOneInTheMiddleCounts) {
  Observations all;
  const auto add = [&](double end, double far) {
    std::vector<MadeCache> caches = kCaches;
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
  // Later sweeps that begin on a cache's edge say nothing of it, nor do those that were cut off
  // before far memory.
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

// Somebody held up the look at the largest footprint: what caches hold is not seen against that.
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
  EXPECT_GT(middle_of(1.7, false), 1.1 * middle_of(1, false)) << "nobody looked";
}

// A visit during which units were apart looked at far memory, which is fast then; later ones, with
// units near each other, did not: what is slow in these was held up by nobody.
TEST(HitCurve, FarMemoryOfUnitsThatWereApartIsNoLimitForThoseThatAreNear) {
  Observations all;
  for (const bool apart : {true, false}) {
    for (const double bytes : test::footprints(12 * kKiB, 64 * kMiB, 4)) {
      all.points.push_back(test::block("cyclic_scan", "read", {{"bytes", bytes}, {"units", kUnits}},
                                       stream_time_at(kCaches, apart ? 80e9 : 40e9, bytes)));
      if (apart) all.points.push_back(test::block("cyclic_scan", "beyond", {}, 1 / 80e9));
    }
    all.points.push_back(test::block("cyclic_scan", "own", {{"level", 2}}, 1e-11));
    all.points.push_back(
        test::block("cyclic_scan", "other", {{"level", 2}}, apart ? 4e-11 : 1.1e-11));
    all.points.push_back(test::block("latency", "chase", {{"level", 2}}, 1e-8));
  }
  const std::vector<Sweep> sweeps = sweeps_of(all);
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_TRUE(sweeps[0].apart);
  EXPECT_FALSE(sweeps[1].apart);
  EXPECT_GT(sweeps[1].curve.back().seconds, 1.5 * sweeps[0].curve.back().seconds);
}

// In which far memory was twice as fast for every other footprint: what it shows of a cache's end
// is chance, and two such must not outvote one that was taken in peace. Where there is no other,
// what they say counts.
TEST(HitCurve, OfSweepsThatChangedAllAlongCountsNoneBesideASteadyOne) {
  const auto made = [](double end, bool changes, bool apart = false) {
    std::vector<MadeCache> caches = kCaches;
    caches.back() = {end / 8, end, 150e9};
    Sweep s{{}, kUnits, apart};
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
  // Nor does one in which units had caches of their own, beside one in which they had one together.
  const Sweep apart = made(80 * kMiB, false, true);
  ASSERT_GT(std::abs(middle_of({apart}) - middle_of({steady})), 0.2 * middle_of({steady}));
  EXPECT_EQ(middle_of({apart, steady, apart}), middle_of({steady}));
}

// Now near each other, where far memory is slow, now apart, where it is fast and each has a cache
// of its own: one sweep that ran across such changes is two, each with the footprints of one state.
// What was read beyond all caches behind each footprint tells which.
TEST(HitCurve, ASweepDuringWhichAHostMovedUnitsIsTwo) {
  const double end = 16 * kMiB;
  const auto made = [&](bool moves, bool shows) {
    Observations all;
    std::vector<double> sizes = test::footprints(12 * kKiB, 64 * kMiB, 4);
    sizes.push_back(128 * kMiB);
    const auto stretch = [&](bool apart, const std::vector<Observation>& points) {
      all.points.insert(all.points.end(), points.begin(), points.end());
      if (shows)
        all.points.push_back(test::block("cyclic_scan", "beyond", {}, 1 / (apart ? 80e9 : 40e9)));
    };
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool apart = moves && i % 3 != 0;
      std::vector<MadeCache> caches = kCaches;
      caches.back() = {end / 8 * (apart ? 2 : 1), end * (apart ? 2 : 1), 150e9};
      const double far = apart ? 80e9 : 40e9;
      stretch(apart, {test::block(
                         "cyclic_scan", "read", {{"bytes", sizes[i]}, {"units", kUnits}},
                         i + 1 == sizes.size() ? 1 / far : stream_time_at(caches, far, sizes[i]))});
      if (i % 6 < 2)
        stretch(apart,
                {test::block("cyclic_scan", "own", {{"level", 2}}, 1e-11),
                 test::block("cyclic_scan", "other", {{"level", 2}}, apart ? 4e-11 : 1.1e-11)});
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
  EXPECT_NE(moved[0].apart, moved[1].apart);
  const double truth = middle_of(still);
  for (const Sweep& s : moved) EXPECT_NEAR(middle_of({&s, 1}) / truth, 1, 0.15) << s.apart;
  EXPECT_GT(std::abs(middle_of(hidden) / truth - 1), 0.15) << "mixed, it shows another edge";
}

// A host that runs both units on one die gives them one cache, on two dies one each, though it
// declares one of both: what a sweep shows is of one cache either way, if it says which.
TEST(HitCurve, OfUnitsThatAHostRunsApartIsWhatOneOfTheirCachesHolds) {
  ASSERT_EQ(kUnits, 2);
  const double end = 16 * kMiB;
  const auto middle_of = [&](double parts, double other) {
    Observations all;
    std::vector<MadeCache> caches = kCaches;
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
  EXPECT_EQ(middle_of(1, 0), together) << "nothing said of it";
}

// Somebody disturbed all but a few looks at whether units are apart: where each of them, less what
// it waited, takes so much longer that only another cache explains it, they are; where some do not,
// nothing is said.
TEST(HitCurve, DisturbedLooksTellOfUnitsThatAreApart) {
  const auto apart = [](std::vector<double> other, double waited) {
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
    return sweep_of(all).apart;
  };
  EXPECT_TRUE(apart({3.0e-11, 2.9e-11, 2.4e-11}, 0.15));
  EXPECT_FALSE(apart({3.0e-11, 2.9e-11, 2.4e-11}, 0.5)) << "the waits alone may explain them";
  EXPECT_FALSE(apart({3.0e-11, 1.1e-11, 2.4e-11}, 0.15));
}

// One look, as a state of the host may have one, some of it disturbed: it tells either way, or
// nothing.
TEST(HitCurve, OneLookTellsWhereUnitsAre) {
  const auto look = [](std::vector<double> samples) {
    return std::vector<Observation>{
        {"cyclic_scan", "look", {}, "s", std::move(samples), {0.2, 0, 0}, 0, 3e9}};
  };
  const auto own = look({1.3e-11, 1e-11, 0.9e-11});
  EXPECT_EQ(surely_elsewhere(own, look({3.0e-11, 2.4e-11, 2.3e-11})), std::optional(true));
  EXPECT_EQ(surely_elsewhere(own, look({1.3e-11, 1e-11, 0.9e-11})), std::optional(false));
  EXPECT_EQ(surely_elsewhere(own, look({1.9e-11, 2.4e-11, 1.1e-11})), std::nullopt) << "neither";
  EXPECT_EQ(surely_elsewhere(own, {}), std::nullopt);
}

// Of three sweeps one keeps nearly all of the least, another half of the least: what is nearly held
// is said of one, half of another.
TEST(HitCurve, EachPartThatIsHeldIsOfTheSweepInItsOwnMiddle) {
  const auto made = [](double begin, double end) {
    std::vector<MadeCache> caches = kCaches;
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

// Where far memory was fast for one footprint, far beyond what is held: later sweeps, and what
// drives caches out, go by what is held.
TEST(HitCurve, OneFastFootprintBeyondAllCachesIsNotHeld) {
  const auto held = [](double fast) {
    Observations all;
    for (const double bytes : test::footprints(12 * kKiB, 256 * kMiB, 4)) {
      const bool chance = bytes > 100 * kMiB && bytes < 115 * kMiB;
      all.points.push_back(test::block("cyclic_scan", "read", {{"bytes", bytes}, {"units", kUnits}},
                                       stream_time_at(kCaches, 40e9, bytes) / (chance ? fast : 1)));
    }
    return known_from(all).held;
  };
  EXPECT_GT(held(1), 0);
  EXPECT_EQ(held(1.3), held(1));
}

// A chase of a cache that units share found 7 MiB. All units streaming keep nearly all of 16 MiB
// there, and half of 45.
TEST(HitCurve, TheSizeOfASharedCacheIsWhatIsNearlyHeld) {
  const auto settled = [](const char* per, double declared) {
    MemoryLevel l = cache("l3", per, 7 * kMiB);
    l.cyclic_scan.from.value = Bytes{16 * kMiB};
    l.cyclic_scan.middle.value = Bytes{45 * kMiB};
    settle_shared(l, declared);
    return l.capacity;
  };
  const Value<Bytes> told = settled("device", 0), declared = settled("device", 18 * kMiB),
                     otherwise = settled("device", 45 * kMiB);
  EXPECT_EQ(told.value->v, 16 * kMiB);
  EXPECT_EQ(told.source, hwdesc::Origin::measured);
  EXPECT_EQ(declared.value->v, 18 * kMiB) << "near what is held";
  EXPECT_EQ(declared.source, hwdesc::Origin::driver);
  EXPECT_EQ(otherwise.value->v, 16 * kMiB) << "as much is not held";
  for (const Value<Bytes>& v : {told, declared, otherwise}) {
    EXPECT_LT(v.low->v, v.value->v);
    EXPECT_GT(v.high->v, v.value->v);
    EXPECT_LE(v.high->v, 3 * v.low->v);
    EXPECT_LT(v.low->v, 12 * kMiB) << "others may take more of it another time";
  }
  EXPECT_EQ(settled("unit", 0).value->v, 7 * kMiB) << "nobody else uses it";
}

}  // namespace
}  // namespace assay::probe
