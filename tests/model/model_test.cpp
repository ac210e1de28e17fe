// The physics, each effect on its own, and the fields a profile needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "model/alignment.h"
#include "model/bandwidth.h"
#include "model/issue_slots.h"
#include "model/overlap.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

TEST(Bandwidth, OneUserReachesItsOwnAndManyTheLimit) {
  EXPECT_NEAR(model::shared_bandwidth(1, 10, 1000, 4), 10, 0.01);
  EXPECT_NEAR(model::shared_bandwidth(1000, 10, 1000, 4), 1000, 1);
  EXPECT_NEAR(model::shared_bandwidth(4, 10, 40, 4), 40 * std::pow(2.0, -0.25), 1e-9);
}

TEST(Bandwidth, MoreUsersNeverGetLessTogether) {
  for (double p : {1.0, 2.0, 4.0, 16.0})
    for (double n = 1; n < 300; ++n)
      EXPECT_LE(model::shared_bandwidth(n, 12, 500, p),
                model::shared_bandwidth(n + 1, 12, 500, p) * (1 + 1e-12));
}

TEST(Bandwidth, LittlesLaw) {
  EXPECT_DOUBLE_EQ(model::little_bound(640, 64e-9), 1e10);
  EXPECT_TRUE(std::isinf(model::little_bound(640, 0)));
}

TEST(Control, CoresLoadOneMemoryOperandPerOperation) {
  const double alone = model::core_slots({.operations = 100});
  EXPECT_GE(alone, 100);
  EXPECT_DOUBLE_EQ(model::core_slots({.operations = 100, .loads = 100, .operands = 100}), alone);
  const double first = model::core_slots({.operations = 100, .loads = 100});
  EXPECT_GT(first, alone) << "to a register first";
  EXPECT_LE(first, 2 * alone);
  EXPECT_DOUBLE_EQ(model::core_slots({.operations = 100, .loads = 200, .operands = 200}), first)
      << "one memory operand per operation";
  EXPECT_DOUBLE_EQ(model::core_slots({.loads = 100, .operands = 100}), first - alone)
      << "they are no memory operands";
  EXPECT_GE(model::core_slots({.stores = 1}), 1);
  EXPECT_GT(model::core_slots({.scattered = 1}), model::core_slots({.stores = 1}))
      << "an element is extracted from its vector first";
  EXPECT_GT(model::core_slots({.functions = 1}), 10) << "a polynomial";
}

TEST(Latency, IsHiddenWithinTheReorderWindow) {
  EXPECT_EQ(model::hidden_fraction(0, 20e-9), 1);
  EXPECT_EQ(model::hidden_fraction(19e-9, 20e-9), 1);
  for (const double times : {1.5, 4.0, 10.0})
    EXPECT_NEAR(model::hidden_fraction(times * 20e-9, 20e-9), 1 / times, 1e-12)
        << "as much of any longer one";
  hwdesc::Target t = small_cpu(4, 1);
  t.profile.memory[3].latency.value = hwdesc::Latency{448, "core"};
  EXPECT_EQ(machine(t).levels[1].overlap.value, 1) << "no latency is known";
  t.profile.execution.window.value = hwdesc::Count{224};
  const auto overlap = [&] { return machine(t).levels[3].overlap.value; };
  EXPECT_NEAR(overlap(), 224.0 / 4 / 448, 1e-9) << "four instructions a cycle";
  t.profile.execution.window.value->v *= 2;
  EXPECT_NEAR(overlap(), 448.0 / 4 / 448, 1e-9);
  t.profile.memory[3].overlap.value = hwdesc::Ratio{0.4};
  EXPECT_EQ(overlap(), 0.4) << "the profile knows better";
}

TEST(Latency, ACoreWithoutReorderingHidesLittle) {
  hwdesc::Target wide = small_cpu(4, 1), narrow = wide;
  for (hwdesc::Target* t : {&wide, &narrow}) t->profile.execution.issue.per = "unit";
  wide.profile.execution.issue.rate.value = hwdesc::Rate{4, "core"};
  narrow.profile.execution.issue.rate.value = hwdesc::Rate{2, "core"};
  EXPECT_LT(machine(narrow).hidden_latency, 0.5 * machine(wide).hidden_latency);
  EXPECT_GT(machine(narrow).hidden_latency, 0);
}

TEST(Overlap, LiesBetweenTheLongestAndTheSum) {
  std::mt19937 rng(5);
  std::uniform_real_distribution<double> any(0, 1);
  for (int i = 0; i < 100; ++i) {
    std::array<double, 4> parts = {any(rng), any(rng), any(rng), any(rng)};
    const double all = model::overlapped(parts), most = std::ranges::max(parts);
    EXPECT_GE(all, most * (1 - 1e-12));
    EXPECT_LE(all, std::accumulate(parts.begin(), parts.end(), 0.0));
    parts[1] *= 1.5;
    EXPECT_GE(model::overlapped(parts), all) << "monotone";
  }
  EXPECT_EQ(model::overlapped(std::array{0.0, 0.0}), 0);
  EXPECT_DOUBLE_EQ(model::overlapped(std::array{0.0, 3e-9}), 3e-9);
}

// Columns in blocks of 16, of which register tiles cover 16 or 4.
TEST(Alignment, TilesOfPartsOfBlocksLieInsideOfThem) {
  const auto inside = [](int64_t across, bool blocks) {
    ir::Program p = walk(256, 4, across, "j");
    if (blocks) p.layouts[0].dims = {{.dim = 0}, {.dim = 1, .div = 16}, {.dim = 1, .mod = 16}};
    return model::inside_blocks(p, p.layouts[0], p.graph.nodes[0].reads[0].index);
  };
  EXPECT_TRUE(inside(4, true));
  EXPECT_FALSE(inside(16, true));
  EXPECT_FALSE(inside(4, false));
}

TEST(Machine, AProfileWithoutUnitsOrMemoryIsRefusedWithAHint) {
  hwdesc::Target t = small_cpu(8, 2);
  t.profile.topology.clear();
  t.profile.memory.clear();
  const Result<model::Machine> m = model::prepare(t);
  ASSERT_FALSE(m.ok());
  const std::string text = render(m.diags());
  EXPECT_NE(text.find("has no topology level `unit`"), std::string::npos) << text;
  EXPECT_NE(text.find("has no memory"), std::string::npos) << text;
}

// A device without a counter is measured in seconds.
TEST(Machine, AClockIsNeededOnlyWhereTicksAreCounted) {
  hwdesc::Target t = small_cpu(8, 2);
  const model::Machine known = machine(t);
  const double hz = t.profile.clocks[0].max.value->v;
  t.profile.clocks.clear();
  const Result<model::Machine> none = model::prepare(t);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(render(none.diags()).find("counts ticks of `core`, which is no clock of it"),
            std::string::npos)
      << render(none.diags());
  const auto in_seconds = [&](auto& v) {
    if (v.known() && v.value->clock == "core") v.value = {v.value->v * hz, ""};
  };
  for (hwdesc::Pipe& p : t.profile.pipes) in_seconds(p.rate);
  for (hwdesc::MemoryLevel& l : t.profile.memory) {
    in_seconds(l.bandwidth.read);
    in_seconds(l.bandwidth.write);
    if (l.latency.known() && !l.latency.value->clock.empty())
      l.latency.value = {l.latency.value->v / hz, ""};
  }
  const Result<model::Machine> seconds = model::prepare(t);
  ASSERT_TRUE(seconds.ok()) << render(seconds.diags());
  EXPECT_DOUBLE_EQ(seconds->fma_rate.value, known.fma_rate.value);
  EXPECT_DOUBLE_EQ(seconds->levels[0].read.value, known.levels[0].read.value);
  EXPECT_NE(std::find_if(seconds->assumptions.begin(), seconds->assumptions.end(),
                         [](const std::string& a) { return a.starts_with("clocks.core"); }),
            seconds->assumptions.end());
}

TEST(Machine, ATlbMissCostsTheOverlappedMissWhereThatIsKnown) {
  hwdesc::Target t = small_cpu(8, 2);
  hwdesc::TlbLevel first;
  first.entries.value = hwdesc::Count{64};
  first.miss.value = hwdesc::Latency{7e-9, ""};
  t.profile.tlb = {first};
  EXPECT_DOUBLE_EQ(machine(t).tlb_miss.value, 7e-9)
      << "dependent loads, where nothing else is known";
  t.profile.tlb[0].overlapped_miss.value = hwdesc::Latency{1e-9, ""};
  EXPECT_DOUBLE_EQ(machine(t).tlb_miss.value, 1e-9);
}

// One unit of a device with a single unit reaches its own bandwidth, not the memory's limit.
TEST(Machine, TheDevicesMemoryIsSharedThoughOnlyOneUnitWorks) {
  for (const int units : {1, 2}) {
    hwdesc::Target t = small_cpu(8, units);
    const auto far = std::find_if(t.profile.memory.begin(), t.profile.memory.end(),
                                  [](const auto& l) { return l.per == "device"; });
    ASSERT_NE(far, t.profile.memory.end());
    far->bandwidth.per_unit.value = hwdesc::Bandwidth{10e9, ""};
    const model::Machine m = machine(t);
    const auto level = std::find_if(m.levels.begin(), m.levels.end(),
                                    [&](const model::Level& l) { return l.name == far->name; });
    ASSERT_NE(level, m.levels.end());
    EXPECT_TRUE(level->shared) << units;
    EXPECT_DOUBLE_EQ(level->per_unit_read.value, 10e9) << units;
    EXPECT_FALSE(m.levels[0].shared) << units;
  }
}

// Group memory that is a part of dram is as fast as its caches. A scratchpad counts, even where far
// memory is declared a part of it.
TEST(Machine, AMemoryThatIsAPartOfAFartherOneIsNoLevel) {
  hwdesc::Target t = small_cpu(8, 2);
  const size_t levels = machine(t).levels.size();
  hwdesc::MemoryLevel own;
  own.name = "local";
  own.per = "unit";
  own.managed = hwdesc::Managed::explicit_;
  own.capacity.value = hwdesc::Bytes{65536};
  t.profile.memory.insert(t.profile.memory.begin(), own);
  EXPECT_EQ(machine(t).levels.size(), levels + 1);
  t.profile.memory.front().backed_by = t.profile.memory.back().name;
  EXPECT_EQ(machine(t).levels.size(), levels);
  std::swap(t.profile.memory.front().backed_by, t.profile.memory.back().backed_by);
  t.profile.memory.back().backed_by = "local";
  EXPECT_EQ(machine(t).levels.size(), levels + 1);
}

// Steps inside one launch cost a barrier, and no wake-up skew.
TEST(Machine, AScheduleInsideOneLaunchPaysItsBarrier) {
  hwdesc::Target t = small_cpu(8, 2);
  t.api.launch.stream.value = hwdesc::Seconds{3e-6};
  t.api.wakeup_skew.value = hwdesc::Seconds{20e-6};
  EXPECT_EQ(machine(t).launch.value, 3e-6);
  EXPECT_EQ(machine(t).wakeup_skew.value, 20e-6);
  t.api.device_barrier.value = hwdesc::Seconds{2e-7};
  EXPECT_EQ(machine(t).launch.value, 2e-7);
  EXPECT_EQ(machine(t).wakeup_skew.value, 0);
}

}  // namespace
}  // namespace assay::test
