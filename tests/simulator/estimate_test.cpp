// Estimates: properties that hold for every program, and the causes of each term.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lower/lower.h"
#include "model/closed_form.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

TEST(Estimate, FasterHardwareIsNeverPredictedSlower) {
  std::mt19937 rng(11);
  for (int i = 0; i < 150; ++i) {
    Drawn d = draw(rng, i);
    for (size_t l = 0; l < 4 && i % 2 == 0; ++l)
      d.target.profile.memory[l].latency.value =
          hwdesc::Latency{std::pow(4.0, 1.0 + static_cast<double>(l)), "core"};
    d.target.profile.execution.issue.per = "unit";
    d.target.profile.execution.issue.rate.value = hwdesc::Rate{4, "core"};
    const double base = seconds(d.program, d.target);
    std::vector<const char*> changes = {"memory.dram.bandwidth*=2",
                                        "memory.l2.bandwidth.read*=1.5",
                                        "memory.l3.bandwidth.read*=1.5",
                                        "pipes.fma.rate*=2",
                                        "pipes.load.rate*=2",
                                        "pipes.store.rate*=2",
                                        "execution.issue.rate*=2",
                                        "clocks.core.max*=1.5"};
    if (i % 2 == 0)
      changes.insert(changes.end(), {"memory.l2.latency*=0.5", "memory.l3.latency*=0.5",
                                     "memory.dram.latency*=0.5"});
    for (const char* change : changes)
      EXPECT_LE(seconds(d.program, with(d.target, change)), base * (1 + 1e-9))
          << change << " for program " << i;
  }
}

// With the plan fixed, a core that overlaps more is never slower.
TEST(Estimate, MoreOverlapIsNeverPredictedSlower) {
  std::mt19937 rng(14);
  for (int i = 0; i < 100; ++i) {
    Drawn d = draw(rng, i);
    hwdesc::Profile& p = d.target.profile;
    if (p.execution.lanes.style == hwdesc::LaneStyle::simt) continue;
    for (size_t l = 0; l < 4; ++l)
      p.memory[l].latency.value =
          hwdesc::Latency{std::pow(4.0, 1.0 + static_cast<double>(l)), "core"};
    double before = std::numeric_limits<double>::max();
    for (const double window : {8.0, 64.0, 256.0, 1024.0}) {
      p.execution.window.value = hwdesc::Count{window};
      const double t = seconds(d.program, d.target);
      EXPECT_LE(t, before * (1 + 1e-9)) << "window " << window << " for program " << i;
      before = t;
    }
    for (const double overlap : {0.0, 0.5, 1.0}) {
      p.memory[3].overlap.value = hwdesc::Ratio{overlap};
      const double t = seconds(d.program, d.target);
      if (overlap > 0) {
        EXPECT_LE(t, before * (1 + 1e-9)) << "overlap for program " << i;
      }
      before = t;
    }
  }
}

TEST(Estimate, IsNeverBelowTheRoofline) {
  std::mt19937 rng(12);
  for (int i = 0; i < 300; ++i) {
    const Drawn d = draw(rng, i);
    const model::Machine m = machine(d.target);
    const double t = seconds(d.program, d.target);
    const lower::Counts c = model::closed_form(d.program);
    EXPECT_GE(t * (1 + 1e-9), c.fma / (m.fma_rate.value * m.units)) << i;
    EXPECT_GE(t * (1 + 1e-9), c.loads() / (m.load_rate.value * m.units)) << i;
    EXPECT_GE(t * (1 + 1e-9), c.stores() / (m.store_rate.value * m.units)) << i;
  }
}

TEST(Estimate, TheIntervalHoldsTheEstimate) {
  std::mt19937 rng(13);
  for (int i = 0; i < 100; ++i) {
    const Drawn d = draw(rng, i);
    const model::Estimate e = simulator::estimate(d.program, machine(d.target), {}, {});
    EXPECT_LT(e.low, e.seconds);
    EXPECT_GT(e.high, e.seconds);
    EXPECT_GE(e.balance, 0.1);
    EXPECT_LE(e.balance, 1 + 1e-9);
  }
}

TEST(Estimate, ConditionsCost) {
  const hwdesc::Target target = small_cpu(4, 1);
  const ir::Program p = walk(64, 1, 4, "j");
  lower::Counts counts = model::closed_form(p);
  const double without = simulator::estimate(p, machine(target), {}, {}, &counts).seconds;
  counts.branches = 20 * counts.stores();
  const double with = simulator::estimate(p, machine(target), {}, {}, &counts).seconds;
  EXPECT_GT(with, without);
  EXPECT_GT(with, counts.branches / machine(target).issue_rate.value) << "a slot each";
}

TEST(Estimate, GatheredLanesAreMergedExceptTheFirst) {
  const hwdesc::Target target = small_cpu(4, 1);
  const model::Machine m = machine(target);
  const ir::Program p = walk(64, 1, 4, "j", "j, i");
  const lower::Counts c = model::closed_form(p);
  EXPECT_DOUBLE_EQ(c.buffers[0].gathered_lanes, 64 * 64);
  EXPECT_NEAR(term(simulator::estimate(p, m, {}, {}), "vector"),
              (c.simple + 0.75 * 64 * 64) / m.alu_rate.value, 1e-15);
}

// The small machine with measured rates of gathers and scatters.
model::Machine probed() {
  model::Machine m = machine(small_cpu(4, 1));
  m.gather_rate.value = m.load_rate.value / 2;
  m.scatter_rate.value = m.store_rate.value / 2;
  return m;
}

TEST(Estimate, GathersHaveTheirOwnRate) {
  const ir::Program gathers = walk(64, 1, 4, "j", "j, i");
  model::Machine m = probed();
  const lower::Counts c = model::closed_form(gathers);
  const double whole = (c.loads() - 64 * 64) / m.load_rate.value;
  EXPECT_NEAR(term(simulator::estimate(gathers, m, {}, {}), "load"),
              whole + 64 * 64 / m.gather_rate.value, 1e-12);
  m.narrow_gathers = {{4, m.gather_rate.value * 3}};
  EXPECT_NEAR(term(simulator::estimate(gathers, m, {}, {}), "load"),
              whole + 64 * 64 / m.gather_rate.value / 3, 1e-12);
  m.narrow_gathers = {{8, m.gather_rate.value / 3}};
  EXPECT_NEAR(term(simulator::estimate(gathers, m, {}, {}), "load"),
              whole + (3.0 / 4) / (7.0 / 8) * 64 * 64 / m.gather_rate.value * 3, 1e-12)
      << "one lane of 4 is not inserted, as one of 8 is not";
}

// Rows of the left operand are read element by element, each for a whole vector of the output.
TEST(Estimate, BroadcastsAreLoadedAtTheirOwnRate) {
  hwdesc::Target target = small_cpu(8, 1);
  const ir::Program p = product(16, 64, 128, 64), narrow = product(16, 64, 128, 64, 4);
  const double vectors = machine(target).load_rate.value,
               without = term(simulator::estimate(p, machine(target), {}, {}), "load");
  hwdesc::ComputeOp splat{"splat", "f32", "load", {}, {}};
  splat.slots.value = hwdesc::Count{0.5};
  splat.slots.source = hwdesc::Origin::measured;
  target.profile.compute.push_back(splat);
  double splats = 0;
  for (const lower::AccessCount& a : model::closed_form(p).buffers) splats += a.splats;
  ASSERT_GT(splats, 0);
  EXPECT_NEAR(term(simulator::estimate(p, machine(target), {}, {}), "load"),
              without - splats / vectors / 2, 1e-12);
  EXPECT_EQ(machine(target).narrow_splats.size(), 0u);
  model::Machine m = machine(target);
  const double of_narrow = term(simulator::estimate(narrow, m, {}, {}), "load");
  m.narrow_splats = {{4, m.splat_rate.value / 2}};
  EXPECT_GT(term(simulator::estimate(narrow, m, {}, {}), "load"), 1.15 * of_narrow)
      << "vectors of 4 have a rate of their own";
}

TEST(Estimate, NarrowVectorsHaveTheRateOfTheirWidth) {
  const ir::Program p = walk(64, 1, 4, "j");
  model::Machine m = machine(small_cpu(8, 1));
  const double before = term(simulator::estimate(p, m, {}, {}), "store");
  m.narrow_stores = {{4, 2 * m.store_rate.value}};
  EXPECT_NEAR(term(simulator::estimate(p, m, {}, {}), "store"), before / 2, 1e-15);
  m.narrow_stores = {{2, 2 * m.store_rate.value}};
  EXPECT_NEAR(term(simulator::estimate(p, m, {}, {}), "store"), before, 1e-15)
      << "vectors of 4 are wider than 2";
}

// One row and 16 columns at a time, their sums in memory while `depth` of 64 are added; the columns
// are walked in between.
struct Partial {
  int64_t columns = 32, depth = 1;
  int prefetch = 0;
  int64_t rows = 1, steps = 64;
  const char* order = "k, n";
};
ir::Program partial_sums(const Partial& x) {
  return parsed(fmt::format(R"yaml(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {{t0: "f32 {3}x{4}", t1: "f32 {4}x{0}", t2: "f32 {3}x{0}"}}
  inputs: [t0, t1]
  outputs: [t2]
  nodes:
    - {{name: product, op: matmul, out: "t2[m, n]", axes: {{m: {3}, n: {0}, k: {4}}}, combine: sum,
       body: "t0[m, k] * t1[k, n]"}}
layouts: {{t0: "[0, 1]", t1: "[0, 1]", t2: "[0, 1]"}}
tiles:
  - {{memory: l1, extent: {{m: {3}, n: {0}, k: {4}}}, order: [n]}}
  - {{memory: registers, extent: {{m: 1, n: 16, k: {1}}}, order: [{5}]}}
vector: {{axis: n, width: 8}}
prefetch: {2}
)yaml",
                            x.columns, x.depth, x.prefetch, x.rows, x.steps, x.order));
}

TEST(Estimate, SumsInMemoryAreADependenceChain) {
  model::Machine m = machine(small_cpu(8, 1));
  m.update_latency.value = 1e-6;  // so long that nothing else counts
  const auto chain = [&](const ir::Program& p) {
    return term(simulator::estimate(p, m, {}, {}), "chain");
  };
  EXPECT_NEAR(chain(partial_sums({32, 1})), 64e-6, 1e-9)
      << "two tiles a step, whose chains overlap";
  EXPECT_NEAR(chain(partial_sums({32, 4})), 16 * (1e-6 + 3 * m.fma_latency.value), 1e-9);
  EXPECT_NEAR(chain(partial_sums({32, 4, 16})), 16e-6, 1e-9) << "added at the end";
  EXPECT_NEAR(chain(partial_sums({64, 1})), 64e-6, 1e-9);
  EXPECT_GT(chain(partial_sums({4096, 1})), 2 * 64e-6) << "beyond any reorder window";
  const auto of_rows = [&](int64_t rows, const char* order) {
    return chain(
        partial_sums({.columns = 32, .depth = 4, .rows = rows, .steps = 8, .order = order}));
  };
  EXPECT_NEAR(of_rows(1, "m, k, n"), 2e-6, 1e-8);
  EXPECT_LT(of_rows(32, "m, k, n"), 0.75 * 64e-6)
      << "the next row's chain overlaps with this one's";
  EXPECT_NEAR(of_rows(32, "m, k, n"), 2 * of_rows(32, "k, m, n"), 0.02 * 64e-6)
      << "of two visits in a row one waits for the other";
  m.update_latency.value = 0;
  m.fma_latency.value = 1e-6;
  const double once = chain(partial_sums({32, 64}));
  EXPECT_GT(chain(partial_sums({32, 32, 16})), once / 2)
      << "a sum that is added to memory at the end was a chain before";
}

TEST(Estimate, NarrowVectorsMayTakePipesForLessTime) {
  const ir::Program p = walk(64, 1, 4, "j"), gathers = walk(64, 1, 4, "j", "j, i");
  model::Machine m = machine(small_cpu(8, 1));
  const double before = term(simulator::estimate(p, m, {}, {}), "vector");
  const double moved = term(simulator::estimate(gathers, m, {}, {}), "vector") - before;
  m.narrow_arithmetic = {{2, 4}, {4, 2}};
  EXPECT_NEAR(term(simulator::estimate(p, m, {}, {}), "vector"), before / 2, 1e-15);
  EXPECT_NEAR(term(simulator::estimate(gathers, m, {}, {}), "vector"), before / 2 + moved / 4,
              1e-15)
      << "lanes are moved one by one";
  m.narrow_arithmetic = {{2, 4}};
  EXPECT_NEAR(term(simulator::estimate(p, m, {}, {}), "vector"), before, 1e-15)
      << "vectors of 4 are wider than 2";
}

TEST(Estimate, FunctionsAndDivisionsOfNarrowVectorsHaveRatesOfTheirOwn) {
  hwdesc::Target target = small_cpu(8, 1);
  const ir::Program p = walk(64, 1, 4, "j");
  const auto seconds_of = [&](double lower::Counts::*what) {
    lower::Counts c = model::closed_form(p);
    c.fma = c.simple = 0;
    c.*what = 1e6;
    return term(simulator::estimate(p, machine(target), {}, {}, &c), "vector");
  };
  target.profile.compute.push_back({"exp", "f32", "fma", {}, {}});
  target.profile.compute.back().slots.value = hwdesc::Count{16};
  const double math = seconds_of(&lower::Counts::math), divide = seconds_of(&lower::Counts::divide);
  hwdesc::LaneMode half;
  half.name = "half";
  half.width.value = hwdesc::Count{4};
  target.profile.execution.lanes.modes.push_back(half);
  EXPECT_DOUBLE_EQ(seconds_of(&lower::Counts::math), math);
  target.profile.compute.push_back({"exp", "f32", "fma", {}, {}, "half"});
  target.profile.compute.back().slots.value = hwdesc::Count{12};
  EXPECT_NEAR(seconds_of(&lower::Counts::math), math * 4 / 8 * 12 / 16, 1e-9 * math)
      << "half as many lanes, each in three quarters of the time";
  EXPECT_DOUBLE_EQ(seconds_of(&lower::Counts::divide), divide);
}

TEST(Estimate, PipesOverlapAndFunctionsUseBoth) {
  const ir::Program p = walk(64, 1, 4, "j");
  model::Machine m = machine(small_cpu(4, 1));
  const auto vector_term = [&](double fma, double simple, double math) {
    lower::Counts c = model::closed_form(p);
    c.fma = fma;
    c.simple = simple;
    c.math = math;
    return term(simulator::estimate(p, m, {}, {}, &c), "vector");
  };
  // A reorder window does not let pipes overlap perfectly: they join by a p-norm, whose exponent
  // two equally busy ones show.
  const auto exponent = [&] {
    const double both = vector_term(1e6 * m.fma_rate.value, 1e6 * m.alu_rate.value, 0);
    return std::log(2) / std::log(both / 1e6);
  };
  const double f = 1e6 / m.fma_rate.value, a = 5e5 / m.alu_rate.value, x = 1e5 / m.math_rate.value;
  m.fma_pipe = m.alu_pipe = m.divide_pipe = m.math_pipe = "fma";
  EXPECT_NEAR(vector_term(1e6, 5e5, 1e5), f + a + x, 1e-9 * f);
  m.alu_pipe = "add";
  const double norm = exponent();
  EXPECT_GT(norm, 2) << "much of the shorter time overlaps";
  EXPECT_LT(norm, 16) << "but not all of it";
  const auto joined = [&](std::initializer_list<double> pipes) {
    double sum = 0;
    for (const double seconds : pipes) sum += std::pow(seconds, norm);
    return std::pow(sum, 1 / norm);
  };
  EXPECT_NEAR(vector_term(1e6, 5e5, 1e5), joined({f + x, a}), 1e-9 * f);
  EXPECT_NEAR(vector_term(0, 5e5, 1e5), a + x, 1e-9 * f)
      << "a function without a pipe of its own adds too";
  m.math_pipe = "sfu";
  EXPECT_NEAR(vector_term(1e6, 5e5, 1e5), joined({f, a, x}), 1e-9 * f);
}

TEST(Counts, AGuardIsEvaluatedOncePerBlock) {
  const auto branches = [](const std::vector<int64_t>& bounds) {
    ir::Kernel k;
    k.name = "guards";
    k.index_names = {"group"};
    k.groups = 3;
    k.buffers = {{"x", ir::DType::f32, 64, ir::Scope::global, false}};
    k.registers = {{"r", ir::DType::f32, 1}};
    k.body.push_back({ir::Declare{{0}}});
    for (const int64_t bound : bounds) {
      ir::Value load, zero, guard;
      load.op = ir::ValueOp::load;
      load.id = 0;
      load.count = 1;
      load.index = ir::variable(0);
      zero.op = ir::ValueOp::constant;
      guard.op = ir::ValueOp::guard;
      guard.conditions = {{ir::variable(0), 0, bound}};
      guard.args = {load, zero};
      k.body.push_back({ir::Assign{0, guard}});
    }
    return lower::count(k).branches;
  };
  EXPECT_EQ(branches({1, 1, 1}), 3) << "one of each of three groups";
  EXPECT_EQ(branches({1, 0, 1}), 6);
}

TEST(Counts, ARepeatedOperandIsComputedOnce) {
  const hwdesc::Target target = small_cpu(4, 1);
  const ir::Program p = parsed(R"yaml(schema: assay/program/1
name: squares
graph:
  name: squares
  tensors: {t0: "f32 8x16", t1: "f32 16", t2: "f32 16"}
  inputs: [t0, t1]
  outputs: [t2]
  nodes:
    - {name: squares, op: squares, out: "t2[i]", axes: {i: 16, j: 8}, combine: sum,
       body: "(t0[j, i] - t1[i]) * (t0[j, i] - t1[i])"}
layouts: {t0: "[0, 1]", t1: "[0]", t2: "[0]"}
tiles:
  - {memory: l1, extent: {i: 16, j: 8}, order: [i]}
  - {memory: registers, extent: {i: 4, j: 1}, order: [i, j]}
vector: {axis: i, width: 4}
)yaml");
  const Result<ir::Kernel> kernel = lower::lower(p, target);
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  const lower::Counts exact = lower::count(*kernel), closed = model::closed_form(p);
  EXPECT_DOUBLE_EQ(exact.fma, 4 * 8);
  EXPECT_DOUBLE_EQ(exact.simple, 4 * 8);
  EXPECT_DOUBLE_EQ(exact.buffers[0].vector_loads, 4 * 8);
  EXPECT_EQ(exact.fma, closed.fma);
  EXPECT_EQ(exact.simple, closed.simple);
  EXPECT_EQ(exact.buffers, closed.buffers);
}

TEST(Estimate, UnprefetchedMissesWaitForTheirLatency) {
  hwdesc::Target target = small_cpu(4, 1);
  target.profile.memory[3].per = "unit";  // so that a core has its own share of the bandwidth
  const ir::Program columns = walk(256 + 16, 64, 16, "j"),
                    rows = walk(256 + 16, 1, 16, "j", "i, j", "i, j");
  const auto dram = [&](const ir::Program& p, double cycles) {
    target.profile.memory[3].latency.value = hwdesc::Latency{cycles, "core"};
    return term(simulator::estimate(p, machine(target), {}, {}), "l3<-dram");
  };
  EXPECT_DOUBLE_EQ(dram(columns, 40), dram(columns, 70))
      << "ten outstanding misses cover the streaming time";
  EXPECT_GT(dram(columns, 1000), 2 * dram(columns, 70));
  EXPECT_LT(dram(rows, 1000), 1.05 * dram(rows, 70));
}

TEST(Estimate, UnprefetchedMissesWaitNoLongerThanShortRunsShowed) {
  hwdesc::Target target = small_cpu(4, 1);
  hwdesc::MemoryLevel& far = target.profile.memory[3];
  far.per = "unit";
  far.latency.value = hwdesc::Latency{1000, "core"};
  const ir::Program columns = walk(256 + 16, 64, 16, "j");
  const auto dram = [&] {
    return term(simulator::estimate(columns, machine(target), {}, {}), "l3<-dram");
  };
  const double by_latency = dram();
  const auto with_fraction = [&](double part) {
    far.bandwidth.short_run_read = far.bandwidth.read;
    far.bandwidth.short_run_read.value->v *= part;
    return dram();
  };
  const double none = with_fraction(1), little = with_fraction(0.9);
  EXPECT_LT(none, 0.5 * by_latency) << "a prefetcher foresaw some of them";
  EXPECT_GT(little, none);
  EXPECT_LT(little, by_latency);
}

TEST(Estimate, SplittingColumnsIsNeverFasterThanSplittingRows) {
  hwdesc::Target target = small_cpu(4, 2);
  target.profile.memory[2].latency.value = hwdesc::Latency{60, "core"};
  ir::Program rows = walk(256, 1, 16, "j"), columns = rows;
  rows.tiles[0].extent = {32, 256};
  columns.tiles[0].extent = {64, 128};
  EXPECT_LT(seconds(rows, target), seconds(columns, target));
}

// 3 MiB of numbers in tiles of `rows` of 768 rows, which two units split.
TEST(Estimate, TransfersAreOfTheBusiestUnit) {
  const auto transfers = [](int64_t rows) {
    const ir::Program p = parsed(fmt::format(R"yaml(schema: assay/program/1
name: rows
graph:
  name: rows
  tensors: {{t0: "f32 768x1024", t1: "f32 768x1024"}}
  inputs: [t0]
  outputs: [t1]
  nodes:
    - {{name: rows, op: relu, out: "t1[i, j]", axes: {{i: 768, j: 1024}}, body: "max(t0[i, j], 0)"}}
layouts: {{t0: "[0, 1]", t1: "[0, 1]"}}
tiles:
  - {{memory: l1, extent: {{i: {0}, j: 1024}}, order: [i, j]}}
  - {{memory: registers, extent: {{i: 1, j: 16}}, order: [i, j]}}
vector: {{axis: j, width: 4}}
)yaml",
                                             rows));
    return term(simulator::estimate(p, machine(small_cpu(4, 2)), {}, {}), "l1<-l2");
  };
  const double even = transfers(384);
  EXPECT_NEAR(transfers(192), even, 1e-9 * even) << "two groups each";
  EXPECT_NEAR(transfers(256), even * 4 / 3, 1e-9 * even) << "three groups: one has two of them";
  EXPECT_NEAR(transfers(576), even * 3 / 2, 1e-9 * even) << "three quarters and one";
}

}  // namespace
}  // namespace assay::test
