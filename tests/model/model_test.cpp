// The physics: each effect on its own, and properties that hold for every program.
#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "../lower/problems.h"
#include "hwdesc/override.h"
#include "model/bandwidth.h"
#include "lower/lower.h"
#include "model/closed_form.h"
#include "model/control.h"
#include "model/residual.h"
#include "model/streams.h"
#include "model/traffic.h"
#include "simulator/estimate.h"

namespace assay::test {
namespace {

model::Machine machine(const hwdesc::Target& t) {
  Result<model::Machine> m = model::prepare(t);
  if (!m.ok()) throw std::runtime_error(render(m.diags()));
  return *m;
}

TEST(Bandwidth, OneUserGetsAboutItsOwnAndManyReachTheLimit) {
  EXPECT_NEAR(model::shared_bandwidth(1, 10, 1000, 4), 10, 0.01);
  EXPECT_NEAR(model::shared_bandwidth(1000, 10, 1000, 4), 1000, 1);
  EXPECT_NEAR(model::shared_bandwidth(4, 10, 40, 4), 40 * std::pow(2.0, -0.25), 1e-9);
}

TEST(Bandwidth, MoreUsersNeverGetLessTogether) {
  for (double p : {1.0, 2.0, 4.0, 16.0})
    for (double n = 1; n < 300; ++n)
      EXPECT_LE(model::shared_bandwidth(n, 12, 500, p), model::shared_bandwidth(n + 1, 12, 500, p) * (1 + 1e-12));
}

TEST(Bandwidth, LittlesLaw) {
  EXPECT_DOUBLE_EQ(model::little_bound(640, 64e-9), 1e10);
  EXPECT_TRUE(std::isinf(model::little_bound(640, 0)));
}

TEST(Footprint, RowsInOneSetCrowdIt) {
  model::Footprint f;
  f.rows = f.near_rows = 14;
  f.run = 64;
  f.stride = 4096;
  EXPECT_DOUBLE_EQ(f.bytes(64), 14 * 64);
  EXPECT_DOUBLE_EQ(f.occupied(64, 64), 13 * 4096) << "14 lines in one of 64 sets";
  f.stride = 4096 + 64;
  EXPECT_DOUBLE_EQ(f.occupied(64, 64), 14 * 64) << "each row in a set of its own";
}

TEST(Control, LosesHalfAnIssueGroupWithEachJump) {
  EXPECT_DOUBLE_EQ(model::control_slots(0, 0, 4), 0);
  EXPECT_DOUBLE_EQ(model::control_slots(10, 0, 8) - model::control_slots(10, 0, 4), 10 * 2);
  EXPECT_GE(model::control_slots(0, 1, 4), model::control_slots(1, 0, 4)) << "a condition compares and jumps too";
  for (double group : {1.0, 2.0, 4.0, 8.0})  // in cycles, a wider group is never slower
    EXPECT_LE(model::control_slots(3, 5, 2 * group) / (2 * group), model::control_slots(3, 5, group) / group);
}

TEST(Latency, IsHiddenAsFarAsTheWindowReaches) {
  EXPECT_EQ(model::hidden_part(0), 1);
  EXPECT_EQ(model::hidden_part(model::kHiddenCycles), 1);
  EXPECT_DOUBLE_EQ(model::hidden_part(10 * model::kHiddenCycles), 0.1);
  for (double c = 1; c < 1000; c *= 1.5) EXPECT_GE(model::hidden_part(c), model::hidden_part(1.5 * c));
}

TEST(Residual, WidensWithWhatTheModelIsLessSureOf) {
  const auto width = [](const model::Certainty& c) {
    const model::Residual r = model::residual_of(c);
    EXPECT_LT(r.low, 1);
    EXPECT_GT(r.high, 1);
    return r.high - r.low;
  };
  for (double part : {0.0, 0.3, 0.7}) {
    EXPECT_LT(width({0.9, false, part, 0}), width({0.3, false, part, 0})) << "far from the best";
    EXPECT_LT(width({0.3, false, part, 0}), width({0.3, true, part, 0})) << "narrow vectors";
    EXPECT_LT(width({0.3, false, part, 0}), width({0.3, false, part + 0.3, 0})) << "memory";
    EXPECT_LT(width({0.3, false, 0, part}), width({0.3, false, 0, part + 0.3})) << "stores";
  }
  EXPECT_DOUBLE_EQ(width({0.3, false, 1, 1}), width({0.3, false, 9, 9})) << "parts of a whole";
  EXPECT_DOUBLE_EQ(width({0, false, 0, 0}), width({1e-9, false, 0, 0})) << "bad is bad";
}

// Every test below draws the same kind of programs as the tests of lowering.
struct Drawn {
  hwdesc::Target target;
  ir::Program program;
};

Drawn draw(std::mt19937& rng, int i) {
  const int width = i % 2 == 0 ? 8 : 16;
  Drawn d{small_cpu(width, 1 + i % 3), {}};
  d.program = random_program(random_problem(rng, width), d.target, rng);
  return d;
}

ir::Program parsed(const std::string& text) {
  Result<ir::Program> p = ir::parse_program(text, "test");
  if (!p.ok()) throw std::runtime_error(render(p.diags()));
  return *p;
}

// A matrix product whose columns are walked in tiles of `tile`, two rows of 16 columns at a time.
ir::Program product(int64_t m, int64_t n, int64_t k, int64_t tile) {
  return parsed(fmt::format(R"yaml(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {{t0: "f32 {0}x{2}", t1: "f32 {2}x{1}", t2: "f32 {0}x{1}"}}
  inputs: [t0, t1]
  outputs: [t2]
  nodes:
    - {{name: product, op: matmul, out: "t2[m, n]", axes: {{m: {0}, n: {1}, k: {2}}}, combine: sum, body: "t0[m, k] * t1[k, n]"}}
layouts: {{t0: "[0, 1]", t1: "[0, 1]", t2: "[0, 1]"}}
tiles:
  - {{memory: l2, extent: {{m: {0}, n: {3}, k: {2}}}, order: [n]}}
  - {{memory: registers, extent: {{m: 2, n: 16, k: 1}}, order: [m, n, k]}}
vector: {{axis: n, width: 8}}
)yaml", m, n, k, tile));
}

// t1[i, j] = max(t0[.., ..], 0): rows of `columns`, in register tiles of `rows` by `across`, lanes of 4 along
// `lanes`; `read`: the index of t0, of the same shape; `order`: of the loops over register tiles.
ir::Program walk(int64_t columns, int64_t rows, int64_t across, const char* lanes, const char* read = "i, j",
                 const char* order = "j, i") {
  return parsed(fmt::format(R"yaml(schema: assay/program/1
name: walk
graph:
  name: walk
  tensors: {{t0: "f32 64x{0}", t1: "f32 64x{0}"}}
  inputs: [t0]
  outputs: [t1]
  nodes:
    - {{name: walk, op: relu, out: "t1[i, j]", axes: {{i: 64, j: {0}}}, body: "max(t0[{4}], 0)"}}
layouts: {{t0: "[0, 1]", t1: "[0, 1]"}}
tiles:
  - {{memory: l1, extent: {{i: 64, j: {0}}}, order: [i, j]}}
  - {{memory: registers, extent: {{i: {1}, j: {2}}}, order: [{5}]}}
vector: {{axis: {3}, width: 4}}
)yaml", columns, rows, across, lanes, read, order));
}

double term(const model::Estimate& e, const std::string& name) {
  for (const model::Term& t : e.terms)
    if (t.name == name) return t.seconds;
  throw std::runtime_error("no term " + name);
}

double seconds(const ir::Program& p, const hwdesc::Target& t) { return simulator::estimate(p, machine(t), {}, {}).seconds; }

hwdesc::Target with(hwdesc::Target t, const std::string& change) {
  Result<hwdesc::Profile> p = hwdesc::apply_override(t.profile, change);
  if (!p.ok()) throw std::runtime_error(render(p.diags()));
  t.profile = *p;
  return t;
}

TEST(Estimate, FasterHardwareIsNeverPredictedSlower) {
  std::mt19937 rng(11);
  for (int i = 0; i < 150; ++i) {
    Drawn d = draw(rng, i);
    for (size_t l = 0; l < 4 && i % 2 == 0; ++l) d.target.profile.memory[l].latency.value = hwdesc::Latency{std::pow(4.0, 1.0 + static_cast<double>(l)), "core"};
    d.target.profile.execution.issue.per = "unit";
    d.target.profile.execution.issue.rate.value = hwdesc::Rate{4, "core"};
    const double base = seconds(d.program, d.target);
    std::vector<const char*> changes = {"memory.dram.bandwidth*=2", "memory.l2.bandwidth.read*=1.5", "memory.l3.bandwidth.read*=1.5", "pipes.fma.rate*=2",
                                        "pipes.load.rate*=2", "pipes.store.rate*=2", "execution.issue.rate*=2", "clocks.core.max*=1.5"};
    if (i % 2 == 0) changes.insert(changes.end(), {"memory.l2.latency*=0.5", "memory.l3.latency*=0.5", "memory.dram.latency*=0.5"});
    for (const char* change : changes)
      EXPECT_LE(seconds(d.program, with(d.target, change)), base * (1 + 1e-9)) << change << " for program " << i;
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
  EXPECT_GT(simulator::estimate(p, machine(target), {}, {}, &counts).seconds, 1.5 * without);
}

TEST(Estimate, LanesThatAreGatheredAreMergedButForTheFirst) {
  const hwdesc::Target target = small_cpu(4, 1);
  const model::Machine m = machine(target);
  const ir::Program p = walk(64, 1, 4, "j", "j, i");
  const lower::Counts c = model::closed_form(p);
  EXPECT_DOUBLE_EQ(c.buffers[0].gathered_lanes, 64 * 64);
  EXPECT_NEAR(term(simulator::estimate(p, m, {}, {}), "vector"), (c.simple + 0.75 * 64 * 64) / m.alu_rate.value, 1e-15);
}

// The small machine with what a probe may find out about moving lanes.
model::Machine probed() {
  model::Machine m = machine(small_cpu(4, 1));
  m.gather_rate.value = m.load_rate.value / 2;
  m.scatter_rate.value = m.store_rate.value / 2;
  return m;
}

TEST(Estimate, LanesThatLieApartMoveAtTheirOwnRate) {
  const ir::Program gathers = walk(64, 1, 4, "j", "j, i");
  model::Machine m = probed();
  const lower::Counts c = model::closed_form(gathers);
  const double whole = (c.loads() - 64 * 64) / m.load_rate.value;
  EXPECT_NEAR(term(simulator::estimate(gathers, m, {}, {}), "load"), whole + 64 * 64 / m.gather_rate.value, 1e-12);
  m.narrow_gathers = {{4, m.gather_rate.value * 3}};
  EXPECT_NEAR(term(simulator::estimate(gathers, m, {}, {}), "load"), whole + 64 * 64 / m.gather_rate.value / 3, 1e-12);
}

TEST(Estimate, NarrowVectorsHaveTheRateOfTheirWidth) {
  const ir::Program p = walk(64, 1, 4, "j");
  model::Machine m = machine(small_cpu(8, 1));
  const double before = term(simulator::estimate(p, m, {}, {}), "store");
  m.narrow_stores = {{4, 2 * m.store_rate.value}};
  EXPECT_NEAR(term(simulator::estimate(p, m, {}, {}), "store"), before / 2, 1e-15);
  m.narrow_stores = {{2, 2 * m.store_rate.value}};
  EXPECT_NEAR(term(simulator::estimate(p, m, {}, {}), "store"), before, 1e-15) << "vectors of 4 are wider than 2";
}

TEST(Estimate, PipesWorkSideBySideAndFunctionsTakeBoth) {
  const ir::Program p = walk(64, 1, 4, "j");
  model::Machine m = machine(small_cpu(4, 1));
  const auto vector_term = [&](double fma, double simple, double math) {
    lower::Counts c = model::closed_form(p);
    c.fma = fma;
    c.simple = simple;
    c.math = math;
    return term(simulator::estimate(p, m, {}, {}, &c), "vector");
  };
  const double f = 1e6 / m.fma_rate.value, a = 5e5 / m.alu_rate.value, x = 1e5 / m.math_rate.value;
  m.fma_pipe = m.alu_pipe = m.divide_pipe = m.math_pipe = "fma";
  EXPECT_NEAR(vector_term(1e6, 5e5, 1e5), f + a + x, 1e-9 * f);
  m.alu_pipe = "add";
  EXPECT_NEAR(vector_term(1e6, 5e5, 1e5), f + x, 1e-9 * f);
  EXPECT_NEAR(vector_term(0, 5e5, 1e5), a + x, 1e-9 * f) << "a function without a pipe of its own adds too";
  m.math_pipe = "sfu";
  EXPECT_NEAR(vector_term(1e6, 5e5, 1e5), std::max(f, x), 1e-9 * f);
}

TEST(Counts, AGuardIsAskedOncePerBlock) {
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

TEST(Counts, WhatAnOperationTakesTwiceIsComputedOnce) {
  const hwdesc::Target target = small_cpu(4, 1);
  const ir::Program p = parsed(R"yaml(schema: assay/program/1
name: squares
graph:
  name: squares
  tensors: {t0: "f32 8x16", t1: "f32 16", t2: "f32 16"}
  inputs: [t0, t1]
  outputs: [t2]
  nodes:
    - {name: squares, op: squares, out: "t2[i]", axes: {i: 16, j: 8}, combine: sum, body: "(t0[j, i] - t1[i]) * (t0[j, i] - t1[i])"}
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

double output_bytes(const ir::Program& p) {
  return static_cast<double>(ir::elements(p.graph.tensors[static_cast<size_t>(p.graph.outputs[0])])) * 4;
}

model::Machine with_first_cache(model::Machine m, double capacity) {
  m.levels[0].capacity.value = capacity;
  m.levels[0].end = capacity * 1.5;
  m.levels[0].sets = 1;
  return m;
}

TEST(Traffic, FallsOrStaysAsACacheGrows) {
  std::mt19937 rng(14);
  for (int i = 0; i < 200; ++i) {
    const Drawn d = draw(rng, i);
    const model::Streams s = model::streams_of(d.program);
    double last = 1e300;
    for (double capacity : {2048.0, 4096.0, 16384.0, 65536.0, 1e6}) {
      const auto t = model::traffic(d.program, s, with_first_cache(machine(d.target), capacity), {});
      const double bytes = t[0].read + t[0].written;
      EXPECT_LE(bytes, last * (1 + 1e-9)) << "program " << i << " capacity " << capacity;
      last = bytes;
    }
    EXPECT_GT(last, 0) << "operands that are in no cache must be read once, program " << i;
  }
}

double read_through_a_small_cache(const Drawn& d, const std::vector<double>& most) {
  const auto t = model::traffic(d.program, model::streams_of(d.program), with_first_cache(machine(d.target), 256), {}, most);
  return t[0].read + t[0].written;
}

TEST(Traffic, IsNeverMoreThanTheLinesItsAccessesTouch) {
  std::mt19937 rng(17);
  int bounded = 0;
  for (int i = 0; i < 200; ++i) {
    const Drawn d = draw(rng, i);
    const model::Streams s = model::streams_of(d.program);
    const std::vector<double> most = model::accessed_bytes(d.program, s, model::closed_form(d.program), 64);
    ASSERT_EQ(most.size(), s.streams.size());
    const double free = read_through_a_small_cache(d, {}), capped = read_through_a_small_cache(d, most);
    EXPECT_LE(capped, free * (1 + 1e-9)) << i;
    bounded += capped < 0.99 * free ? 1 : 0;
  }
  EXPECT_GT(bounded, 10) << "rows of a tile that share lines are counted apart without it";
}

// 64 rows written a column at a time. Rows 1 KiB apart fall into one of the two sets of this cache, rows 1 KiB
// and a line apart into both.
TEST(Traffic, StoresToRowsThatCrowdASetWaitForTheirLines) {
  const hwdesc::Target target = small_cpu(4, 1);
  const model::Machine m = machine(target);
  const auto held = [&](int64_t columns, int64_t rows) {
    const ir::Program p = walk(columns, rows, 4, "j");
    const model::Streams s = model::streams_of(p);
    return model::traffic(p, s, m, {}, model::accessed_bytes(p, s, model::closed_form(p), 64))[0].stores_held;
  };
  EXPECT_EQ(held(256, 4), 0) << "few rows fit";
  EXPECT_EQ(held(256 + 16, 32), 0) << "they drift over the sets";
  EXPECT_GT(held(256, 16), 0);
  EXPECT_GE(held(256, 32), held(256, 16)) << "they go little by little";
  EXPECT_DOUBLE_EQ(held(256, 64), 64 * 64) << "each store";

  hwdesc::Target slow = target;
  slow.profile.memory[1].latency.value = hwdesc::Latency{15, "core"};
  const ir::Program crowded = walk(256, 64, 4, "j");
  const model::Machine s = machine(slow);
  EXPECT_NEAR(term(simulator::estimate(crowded, s, {}, {}), "l1<-l2") - term(simulator::estimate(crowded, m, {}, {}), "l1<-l2"),
              64 * 64 * s.levels[1].latency.value, 1e-3 * 64 * 64 * s.levels[1].latency.value);
}

TEST(Traffic, ALineThatIsWrittenAgainLaterIsReadAgain) {
  hwdesc::Target target = small_cpu(4, 1);
  const ir::Program p = walk(256, 64, 4, "j");
  const auto read = [&](hwdesc::WritePolicy policy) {
    target.profile.memory[0].write = policy;
    const model::Streams s = model::streams_of(p);
    return model::traffic(p, s, machine(target), {}, model::accessed_bytes(p, s, model::closed_form(p), 64))[0].streams[1].read;
  };
  EXPECT_DOUBLE_EQ(read(hwdesc::WritePolicy::allocate), 64 * 64 * 64 - output_bytes(p));
  EXPECT_EQ(read(hwdesc::WritePolicy::around), 0);
}

// Twelve rows ahead, 1 KiB apart, fall into one of the two sets of this cache: they push each other out.
TEST(Traffic, PrefetchingRowsThatCrowdASetIsInVain) {
  const auto read = [](int64_t columns, int prefetch) {
    ir::Program p = product(64, columns, 64, columns);
    p.prefetch = prefetch;
    return model::traffic(p, model::streams_of(p), machine(small_cpu(8, 1)), {})[0].streams[1].read;
  };
  EXPECT_GT(read(256, 11), 1.3 * read(256, 0));
  EXPECT_GT(read(256, 13), read(256, 11)) << "little by little";
  EXPECT_LE(read(256, 15), 2 * read(256, 0));
  EXPECT_DOUBLE_EQ(read(256, 3), read(256, 0)) << "four rows stay";
  EXPECT_DOUBLE_EQ(read(256 + 16, 11), read(256 + 16, 0)) << "rows that drift over the sets";
}

TEST(Traffic, WhatTheCodePrefetchesIsForeseen) {
  const auto unforeseen = [](int prefetch) {
    ir::Program p = product(64, 256 + 16, 64, 256 + 16);
    p.prefetch = prefetch;
    return model::traffic(p, model::streams_of(p), machine(small_cpu(8, 1)), {})[0].unforeseen;
  };
  EXPECT_LT(unforeseen(8), 0.5 * unforeseen(0));
}

// Lines that no prefetcher knew of: one per run, however long it is.
TEST(Traffic, OnlyTheStartOfARunIsNotForeseen) {
  const model::Machine m = machine(small_cpu(4, 1));
  const auto starts = [&](int64_t rows, int64_t across) {
    const ir::Program p = walk(256, rows, across, "j", "i, j", "i, j");
    return model::traffic(p, model::streams_of(p), m, {})[0].unforeseen;
  };
  EXPECT_DOUBLE_EQ(starts(1, 16), 1) << "row after row is one run";
  EXPECT_DOUBLE_EQ(starts(4, 16), 64) << "four rows side by side, each a run";
  EXPECT_DOUBLE_EQ(starts(64, 16), 64 * 256 / 16) << "a column of lines: each jumps";
}

TEST(Estimate, LinesNotForeseenWaitForTheirLatency) {
  hwdesc::Target target = small_cpu(4, 1);
  const ir::Program columns = walk(256 + 16, 64, 16, "j"), rows = walk(256 + 16, 1, 16, "j", "i, j", "i, j");
  const auto dram = [&](const ir::Program& p, double cycles) {
    target.profile.memory[3].latency.value = hwdesc::Latency{cycles, "core"};
    return term(simulator::estimate(p, machine(target), {}, {}), "l3<-dram");
  };
  EXPECT_DOUBLE_EQ(dram(columns, 40), dram(columns, 80)) << "ten in flight hide what streaming takes anyway";
  EXPECT_GT(dram(columns, 1000), 2 * dram(columns, 80));
  EXPECT_LT(dram(rows, 1000), 1.05 * dram(rows, 80));
}

TEST(Sharing, EndsWhereUnitsShareTheColumnsOut) {
  const auto ends = [](const char* group) {
    ir::Program p = walk(256, 1, 16, "j");
    p.tiles[0].extent = group[0] == 'i' ? std::vector<int64_t>{16, 256} : std::vector<int64_t>{64, 64};
    return model::shared_ends(p, model::streams_of(p), 2);
  };
  EXPECT_EQ(ends("i"), 0) << "16 of 64 rows are one run";
  EXPECT_EQ(ends("j"), 64) << "each row is shared";
  EXPECT_EQ(model::shared_ends(walk(256, 1, 16, "j"), model::streams_of(walk(256, 1, 16, "j")), 2), 0) << "one group";
}

TEST(Footprint, RowsCloserThanALineShareIt) {
  model::Footprint f;
  f.rows = f.near_rows = 16;
  f.run = 256;
  f.stride = 1024;
  EXPECT_DOUBLE_EQ(f.bytes(64), 16 * 256) << "lines";
  EXPECT_DOUBLE_EQ(f.bytes(4096), 4 * 4096) << "pages: four rows in each";
  f.stride = 8192;
  EXPECT_DOUBLE_EQ(f.bytes(4096), 16 * 4096);
}

// Walks of 64 rows, a page each: again and again over all rows, or row by row.
TEST(Traffic, PagesAreMissedWhereMoreAreWalkedThanTheirTranslationsFit) {
  const ir::Program columns = walk(1024, 1, 4, "j"), rows = walk(1024, 1, 4, "j", "i, j", "i, j");
  model::Machine m = machine(small_cpu(4, 1));
  const auto missed = [&](const ir::Program& p) { return model::pages_missed(p, model::streams_of(p), m); };
  EXPECT_EQ(missed(columns), 0) << "unknown";
  m.translations = 1000;
  EXPECT_EQ(missed(columns), 0) << "all fit";
  m.translations = 16;
  EXPECT_GT(missed(columns), 64 * 100) << "each of 256 steps along the rows comes to each page anew";
  EXPECT_LE(missed(rows), 2 * 64 + 2);
  m.translation.value = 1e-6;
  EXPECT_GT(simulator::estimate(columns, m, {}, {}).seconds, missed(columns) * 0.9e-6);
}

// Half of each row of a power of two: one unit's part uses half of the sets.
TEST(Footprint, AUnitsPartOfTheColumnsCrowdsItsCache) {
  ir::Program p = walk(256, 1, 16, "j");
  p.tiles[0].extent = {64, 128};
  const model::Streams s = model::streams_of(p);
  const model::Footprint all = model::part_of_unit(p, s, s.streams[0], 1), part = model::part_of_unit(p, s, s.streams[0], 2);
  EXPECT_EQ(part.bytes(64), all.bytes(64) / 2);
  EXPECT_EQ(all.occupied(64, 64), all.bytes(64));
  EXPECT_GT(part.occupied(64, 64), 1.5 * part.bytes(64));
}

TEST(Estimate, SharingColumnsOutIsNeverFasterThanSharingRowsOut) {
  hwdesc::Target target = small_cpu(4, 2);
  target.profile.memory[2].latency.value = hwdesc::Latency{60, "core"};
  ir::Program rows = walk(256, 1, 16, "j"), columns = rows;
  rows.tiles[0].extent = {32, 256};
  columns.tiles[0].extent = {64, 128};
  EXPECT_LT(seconds(rows, target), seconds(columns, target));
}

// 80 columns are tiles of 48 and 32, five register tiles and not six: for operand t1, which moves with
// the columns, and for t0, which is read anew for each tile.
TEST(Traffic, APartialTileTouchesWhatIsInIt) {
  const auto lines_read = [](int64_t n, int64_t tile, int stream) {
    const ir::Program p = product(64, n, 64, tile);
    return model::traffic(p, model::streams_of(p), with_first_cache(machine(small_cpu(8, 1)), 256), {})[0].streams[static_cast<size_t>(stream)].read / 64;
  };
  for (int stream : {0, 1}) EXPECT_NEAR(lines_read(80, 48, stream) / lines_read(96, 48, stream), 5.0 / 6, 1e-9) << stream;
}

TEST(Traffic, AnOutputIsWrittenBackWhereItDoesNotFitAndStaysWhereItDoes) {
  std::mt19937 rng(16);
  int large = 0;
  for (int i = 0; i < 200; ++i) {
    const Drawn d = draw(rng, i);
    const model::Streams s = model::streams_of(d.program);
    const double units = std::min(machine(d.target).units, static_cast<double>(ir::group_count(d.program)));
    const double once = output_bytes(d.program);
    if (once / units > 2 * 1.5 * 256) {
      const auto small = model::traffic(d.program, s, with_first_cache(machine(d.target), 256), {});
      EXPECT_GE(small[0].written * (1 + 1e-9), once) << i;
      ++large;
    }
    const auto whole = model::traffic(d.program, s, with_first_cache(machine(d.target), 1e9), {});
    EXPECT_EQ(whole[0].written, 0) << i;
  }
  EXPECT_GT(large, 50);
}

TEST(Traffic, WhatIsResidentIsNotReadAgain) {
  std::mt19937 rng(15);
  for (int i = 0; i < 100; ++i) {
    const Drawn d = draw(rng, i);
    const model::Machine m = machine(d.target);
    const model::Streams s = model::streams_of(d.program);
    const model::Residency warm(d.program.graph.tensors.size(), std::vector<double>(m.levels.size(), 1));
    const auto cold_bytes = model::traffic(d.program, s, m, {}), warm_bytes = model::traffic(d.program, s, m, warm);
    for (size_t l = 0; l < cold_bytes.size(); ++l) EXPECT_LE(warm_bytes[l].read, cold_bytes[l].read * (1 + 1e-9));
  }
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

// Group memory that is a part of dram is as near as the caches make it; tiles that together are a memory count.
TEST(Machine, AMemoryThatLiesInAFartherOneIsNoLevel) {
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

// Steps inside one launch cost a barrier, and find their units awake.
TEST(Machine, AScheduleInsideOneLaunchPaysItsBarrier) {
  hwdesc::Target t = small_cpu(8, 2);
  t.api.launch.stream.value = hwdesc::Seconds{3e-6};
  t.api.unit_join.value = hwdesc::Seconds{20e-6};
  EXPECT_EQ(machine(t).launch.value, 3e-6);
  EXPECT_EQ(machine(t).unit_join.value, 20e-6);
  t.api.device_barrier.value = hwdesc::Seconds{2e-7};
  EXPECT_EQ(machine(t).launch.value, 2e-7);
  EXPECT_EQ(machine(t).unit_join.value, 0);
}

}  // namespace
}  // namespace assay::test
