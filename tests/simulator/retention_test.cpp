// Hit rates of cyclic scans, and what a cache retains between programs.
#include "model/retention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model/programs.h"

namespace assay::test {
namespace {

constexpr double kKiB = 1024;

hwdesc::Value<hwdesc::Bytes> kib(double v) {
  hwdesc::Value<hwdesc::Bytes> out;
  out.value = hwdesc::Bytes{v * kKiB};
  return out;
}

// A last cache whose chase fell off between 16 and 64 KiB.
hwdesc::Target with_cyclic_scan(hwdesc::HitCurve cyclic_scan) {
  hwdesc::Target t = small_cpu(4, 1);
  hwdesc::MemoryLevel& l3 = t.profile.memory[2];
  l3.knee = {kib(16), kib(64)};
  l3.capacity = kib(32);
  l3.cyclic_scan = std::move(cyclic_scan);
  return t;
}

double part_held(const hwdesc::Target& t, double kibibytes) {
  const model::Machine m = machine(t);
  return model::hit_fraction(m.levels[2], kibibytes * kKiB, m.levels[2].end);
}

TEST(Retention, IsThatOfTheSweepWhereThereIsOne) {
  const hwdesc::Target t = with_cyclic_scan({kib(128), kib(256), kib(768)});
  EXPECT_NEAR(part_held(t, 128), 0.9, 1e-9);
  EXPECT_NEAR(part_held(t, 256), 0.5, 1e-9);
  EXPECT_NEAR(part_held(t, 768), 0.1, 1e-9);
  EXPECT_EQ(part_held(t, 64), 1);
  EXPECT_EQ(part_held(t, 2048), 0);
}

// The part of a scan that hits is what is retained after the scan's own misses. Less is retained
// after as many bytes of other data.
TEST(Retention, FollowsTheMissesOfOthers) {
  const model::Machine m = machine(with_cyclic_scan({kib(128), kib(256), kib(768)}));
  const model::Level& l3 = m.levels[2];
  for (const double walk : {140.0, 200.0, 256.0, 400.0, 700.0}) {
    const double kept = model::hit_fraction(l3, walk * kKiB, l3.end);
    EXPECT_NEAR(model::retained_after(l3, (1 - kept) * walk * kKiB, walk * kKiB, 0, l3.end), kept,
                1e-6)
        << walk;
    EXPECT_LT(model::retained_after(l3, walk * kKiB, 4096 * kKiB, 0, l3.end), kept) << walk;
  }
  EXPECT_NEAR(model::retained_after(l3, 0, 4096 * kKiB, 0, l3.end), 1, 1e-9)
      << "hits evict nothing";
  EXPECT_EQ(model::retained_after(l3, 64 * kKiB, 64 * kKiB, 0, l3.end), 1)
      << "nor do misses that fit";
  EXPECT_EQ(model::retained_after(l3, 2048 * kKiB, 2048 * kKiB, 0, l3.end), 0);
}

// As defined: the walk that misses as much, found by halving 40 times, or all that was touched.
TEST(Retention, StopsLookingWhereTheRestDoesNotCount) {
  const model::Machine m = machine(with_cyclic_scan({kib(128), kib(256), kib(768)}));
  const model::Level& l3 = m.levels[2];
  int between = 0;
  for (double missed = 0; missed < 900; missed += 45)
    for (double touched = 0; touched < 1200; touched += 50)
      for (const double foreign : {0.0, 30.0, 300.0}) {
        double low = l3.capacity.value, high = std::max(l3.end, missed * kKiB);
        for (int i = 0; i < 40; ++i) {
          const double walk = 0.5 * (low + high);
          ((1 - model::hit_fraction(l3, walk, l3.end)) * walk < missed * kKiB ? low : high) = walk;
        }
        const double held =
            model::hit_fraction(l3, std::min(touched * kKiB, low) + foreign * kKiB, l3.end);
        EXPECT_EQ(model::retained_after(l3, missed * kKiB, touched * kKiB, foreign * kKiB, l3.end),
                  held);
        between += held > 0 && held < 1;
      }
  EXPECT_GT(between, 100);
}

// Co-tenants' fills first take the capacity that the device's bytes leave, and then theirs.
TEST(Retention, OfUnusedDataFollowsTheFillsOfCoTenants) {
  const model::Machine m = machine(with_cyclic_scan({kib(128), kib(256), kib(768)}));
  const model::Level& l3 = m.levels[2];
  EXPECT_EQ(model::retained_after(l3, 0, 32 * kKiB, 64 * kKiB, l3.end), 1)
      << "there is room for both";
  EXPECT_NEAR(model::retained_after(l3, 0, 32 * kKiB, 224 * kKiB, l3.end), 0.5, 1e-9);
  EXPECT_LT(model::retained_after(l3, 0, 64 * kKiB, 224 * kKiB, l3.end), 0.5);
  EXPECT_LT(model::retained_after(l3, 100 * kKiB, 600 * kKiB, 224 * kKiB, l3.end),
            model::retained_after(l3, 100 * kKiB, 600 * kKiB, 0, l3.end));
}

// Retention of outputs follows the fills since, by the profile's single-use retention. More is
// retained of data that programs only read.
TEST(Retention, OfOutputsFollowsTheFillsSince) {
  hwdesc::Target t = with_cyclic_scan({kib(128), kib(256), kib(768)});
  t.profile.memory[2].single_use_retention = {kib(16), kib(64), kib(160)};
  const model::Machine m = machine(t);
  for (const auto& [kibibytes, part] :
       {std::pair{16.0, 0.9}, {64.0, 0.5}, {160.0, 0.1}, {1024.0, 0.0}})
    EXPECT_NEAR(model::hit_fraction(m.levels[2].single_use_retention, kibibytes * kKiB), part,
                1e-9);
  const ir::Program p = product(8, 64, 128, 32);
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  const auto far = [&](bool made, double missed) {
    simulator::CacheState state = simulator::after(p, m, {}, where);
    for (simulator::CacheState::Entry& e : state.recent) e.produced = made;
    const auto bytes = static_cast<int64_t>(40 * kKiB);
    const simulator::UnitPartition whole{-bytes, bytes, 1};
    state.recent.insert(state.recent.begin(),
                        {{-bytes, 0}, 40 * kKiB, whole, whole, false, false, missed});
    state.recent.front().run = ++state.runs;
    for (const model::Term& term : simulator::estimate(p, m, state, where).terms)
      if (term.name == "l3<-dram") return term.seconds;
    return -1.0;
  };
  EXPECT_EQ(far(true, 0), 0) << "no fills";
  EXPECT_GT(far(true, 40 * kKiB), 0);
  EXPECT_GT(far(false, 40 * kKiB), 0);
  EXPECT_EQ(far(false, 40 * kKiB), far(true, 40 * kKiB)) << "nothing is known of reused data";
}

// Outputs in recently used storage may be retained longer.
TEST(Retention, OfOutputsIsPartlyThatOfReusedData) {
  hwdesc::Target t = with_cyclic_scan({kib(128), kib(256), kib(768)});
  t.profile.memory[2].single_use_retention = {kib(16), kib(64), kib(160)};
  t.profile.memory[2].reuse_retention = {kib(64), kib(256), kib(640)};
  const model::Machine m = machine(t);
  const ir::Program p = product(8, 64, 128, 32);
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  const auto far = [&](double again) {
    simulator::CacheState state = simulator::after(p, m, {}, where);
    for (simulator::CacheState::Entry& e : state.recent) e.reuse_fraction = again;
    const auto bytes = static_cast<int64_t>(64 * kKiB);
    const simulator::UnitPartition whole{-bytes, bytes, 1};
    state.recent.insert(state.recent.begin(),
                        {{-bytes, 0}, 64 * kKiB, whole, whole, false, false, 64 * kKiB});
    state.recent.front().run = ++state.runs;
    for (const model::Term& term : simulator::estimate(p, m, state, where).terms)
      if (term.name == "l3<-dram") return term.seconds;
    return -1.0;
  };
  const double once = far(0);
  EXPECT_NEAR(far(1), 0.2 * once, 0.05 * once) << "a tenth is gone, or half";
  EXPECT_NEAR(far(0.5), 0.6 * once, 0.05 * once);
  int made = 0;
  for (const simulator::CacheState::Entry& e : simulator::after(p, m, {}, where).recent) {
    EXPECT_EQ(e.reuse_fraction > 0, e.produced);
    made += e.produced ? 1 : 0;
  }
  EXPECT_EQ(made, 1) << "the product";
}

// Two halves of the columns one after the other, each for four pairs of rows: the right operand's
// are last used at the end of their half, the output's at the end of their rows in it.
TEST(Retention, KnowsTheLastUseOfEachPartOfAnOperand) {
  const model::Machine m = machine(small_cpu(4, 1));
  const ir::Program p = product(8, 64, 128, 32);
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  int seen = 0;
  for (const simulator::CacheState::Entry& e : simulator::after(p, m, {}, where).recent) {
    if (e.range == where[1]) {
      for (const size_t i : {size_t{0}, size_t{1}})
        EXPECT_TRUE(e.last[i] >= 0.375 && e.last[i] <= 0.5) << e.last[i];
      for (const size_t i : {size_t{2}, size_t{3}})
        EXPECT_TRUE(e.last[i] >= 0.875 && e.last[i] <= 1) << e.last[i];
      ++seen;
    }
    if (e.range == where[2]) {
      for (size_t i = 0; i < e.last.size(); ++i)
        EXPECT_NEAR(e.last[i], (static_cast<double>(i) + 0.5) / 4, 0.13);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 2);
}

// A step hits in the last cache where earlier steps did not evict its data. Their hits evict
// nothing.
TEST(Retention, OfAPlansDataFollowsTheMissesOfItsOtherSteps) {
  const model::Machine m = machine(with_cyclic_scan({kib(128), kib(256), kib(768)}));
  const ir::Program p = product(8, 64, 128, 32);
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  const simulator::CacheState own = simulator::after(p, m, {}, where);
  for (const simulator::CacheState::Entry& e : own.recent)
    EXPECT_EQ(e.missed, 0) << "it fits, and hits";
  const auto far = [&](double missed) {
    simulator::CacheState state = own;
    const auto bytes = static_cast<int64_t>(400 * kKiB);
    const simulator::UnitPartition whole{-bytes, bytes, 1};
    state.recent.insert(state.recent.begin(),
                        {{-bytes, 0}, 400 * kKiB, whole, whole, false, false, missed});
    for (const model::Term& t : simulator::estimate(p, m, state, where).terms)
      if (t.name == "l3<-dram") return t.seconds;
    return -1.0;
  };
  EXPECT_EQ(far(0), 0);
  EXPECT_GT(far(200 * kKiB), 0);
  EXPECT_GT(far(400 * kKiB), far(200 * kKiB));
  simulator::CacheState others;
  others.recent.push_back({{-1024, 0}, 1024, {-1024, 1024, 1}, {-1024, 1024, 1}, false, false, 0});
  double missed = 0, all = 0;
  for (const simulator::CacheState::Entry& e : simulator::after(p, m, others, where).recent)
    missed += e.missed;
  for (const simulator::Range& r : where) all += static_cast<double>(simulator::size_of(r));
  EXPECT_NEAR(missed, all, 1) << "nothing was cached";
}

TEST(Retention, IsTheChasesKneeElsewhere) {
  const hwdesc::Target t = with_cyclic_scan({});
  EXPECT_EQ(part_held(t, 16), 1);
  EXPECT_GT(part_held(t, 32), 0);
  EXPECT_EQ(part_held(t, 64), 0);
  hwdesc::HitCurve only_end;
  only_end.to = kib(768);
  EXPECT_EQ(part_held(with_cyclic_scan(only_end), 64), 0) << "an end alone is no edge";
}

TEST(Retention, PointsBeyondTheSweepAreAssumedAndReported) {
  const hwdesc::Target half = with_cyclic_scan({kib(128), kib(256), {}}),
                       first = with_cyclic_scan({kib(128), {}, {}});
  EXPECT_NEAR(part_held(half, 512), 0.1, 1e-9) << "as many octaves beyond the middle";
  EXPECT_NEAR(part_held(first, 128), 0.9, 1e-9);
  for (const hwdesc::Target& t : {half, first}) {
    const std::vector<std::string> said = machine(t).assumptions;
    EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const std::string& a) {
      return a.starts_with("memory.l3.cyclic_scan.to: ");
    }));
  }
}

TEST(Retention, FallsAsTheFootprintGrows) {
  for (const hwdesc::HitCurve& s : {hwdesc::HitCurve{},
                                    {kib(128), kib(256), kib(768)},
                                    {kib(128), kib(128), kib(128)},
                                    {kib(128), {}, kib(768)}}) {
    const hwdesc::Target t = with_cyclic_scan(s);
    double last = 1;
    for (double k = 4; k < 4096; k *= 1.05) {
      const double h = part_held(t, k);
      EXPECT_LE(h, last + 1e-12) << k;
      EXPECT_GE(h, 0);
      last = h;
    }
    EXPECT_EQ(last, 0);
  }
}

// t1 = max(t0, 0), 64 KiB each, run again and again.
ir::Program relu() {
  Result<ir::Program> p = ir::parse_program(R"yaml(schema: assay/program/1
name: walk
graph:
  name: walk
  tensors: {t0: "f32 64x256", t1: "f32 64x256"}
  inputs: [t0]
  outputs: [t1]
  nodes:
    - {name: walk, op: relu, out: "t1[i, j]", axes: {i: 64, j: 256}, body: "max(t0[i, j], 0)"}
layouts: {t0: "[0, 1]", t1: "[0, 1]"}
tiles:
  - {memory: l1, extent: {i: 64, j: 256}, order: [i, j]}
  - {memory: registers, extent: {i: 1, j: 4}, order: [i, j]}
vector: {axis: j, width: 4}
)yaml",
                                            "test");
  if (!p.ok()) throw std::runtime_error(render(p.diags()));
  return *p;
}

double far_bytes(const hwdesc::Target& t) {
  const ir::Program p = relu();
  const model::Machine m = machine(t);
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  const model::Estimate e = simulator::estimate(p, m, simulator::after(p, m, {}, where), where);
  for (const model::LevelUse& l : e.levels)
    if (l.boundary == "l3<-dram") return l.read_bytes + l.written_bytes;
  throw std::runtime_error("no far memory");
}

TEST(Retention, DataBetweenTheKneeAndTheScansEdgeStays) {
  EXPECT_GE(far_bytes(with_cyclic_scan({})), 2 * 64 * kKiB) << "by the chase, 128 KiB never hit";
  EXPECT_EQ(far_bytes(with_cyclic_scan({kib(256), kib(320), kib(400)})), 0);
}

// At the end a cache holds all of an operand that is scanned repeatedly. Of one that streams it
// holds the end, up to the free capacity.
TEST(Retention, TheDataUsedLastStays) {
  hwdesc::Target t = small_cpu(8, 1);
  t.profile.memory[1].capacity.value = hwdesc::Bytes{16 * kKiB};
  t.profile.memory[2].capacity.value = hwdesc::Bytes{4096 * kKiB};
  const model::Machine m = machine(t);
  const ir::Program p =
      product(8, 512, 128, 32);  // 4 KiB of rows, scanned for each 16 KiB of 256 KiB of columns
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  const simulator::CacheState left = simulator::after(p, m, {}, where);
  const auto beside = [&](size_t tensor) {
    for (const simulator::CacheState::Entry& e : left.recent)
      if (e.range == where[tensor]) return e.others_between;
    return -1.0;
  };
  EXPECT_LE(beside(0), 20 * kKiB) << "columns of one tile, and their results";
  EXPECT_GE(beside(0), 16 * kKiB);
  EXPECT_EQ(beside(1), 4 * kKiB + 16 * kKiB) << "all rows, all results: it streams once";
}

// Entries are kept up to the end of the hit curve, not up to its start.
TEST(Retention, ASoftEdgeRemembersUpToItsEnd) {
  const ir::Program p = relu();
  const model::Machine m = machine(with_cyclic_scan({kib(16), kib(400), kib(10000)}));
  simulator::CacheState state;
  for (int run = 0; run < 8; ++run)  // 1 MiB of other tensors
    state = simulator::after(p, m, state, simulator::separate_ranges(p, run << 20));
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  const auto read = [&](const simulator::CacheState& before) {
    for (const model::LevelUse& l : simulator::estimate(p, m, before, where).levels)
      if (l.boundary == "l3<-dram") return l.read_bytes;
    throw std::runtime_error("no far memory");
  };
  EXPECT_LT(read(state), 0.8 * read({}));
}

}  // namespace
}  // namespace assay::test
