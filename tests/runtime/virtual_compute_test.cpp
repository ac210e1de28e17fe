// Simulated arithmetic: rates, latencies, latency hiding between waves, and values after skipped
// iterations.
#include "tests/runtime/virtual_chip.h"

namespace assay::runtime {
namespace {

using testing::Chip;

TEST(VirtualCompute, one_chain_is_bound_by_latency_many_by_rate) {
  Chip chip;
  const int out = chip.buffer(probe::kSlots * probe::kSlotFloats * 4);
  const auto per_op = [&](int lanes, int chains) {
    return chip.counted(probe::op_name("fma", lanes, chains), 20000, {{out, 0}}) /
           probe::op_steps("fma", chains, false);
  };
  EXPECT_NEAR(per_op(16, 1), 4, 0.04);
  EXPECT_NEAR(per_op(16, 4), 1, 0.02);
  EXPECT_NEAR(per_op(16, 12), 0.5, 0.01);
  EXPECT_NEAR(per_op(4, 12), 0.5, 0.01) << "narrow vectors take whole slots";
  EXPECT_NEAR(chip.counted("sentinel", 5000), probe::kSentinelSteps, 0.1);
}

TEST(VirtualCompute, values_are_those_of_every_iteration) {
  Chip chip;
  const int out = chip.buffer(probe::kSlots * probe::kSlotFloats * 4);
  const auto first = [&](const char* op, int chains, int64_t iterations) {
    chip.counted(probe::op_name(op, 16, chains), iterations, {{out, 0}});
    float v = 0;
    chip.module().read({out, 0}, std::as_writable_bytes(std::span(&v, 1)));
    return v;
  };
  const auto steps = static_cast<float>(probe::op_steps("fma", 12, false) / 12);
  EXPECT_EQ(first("fma", 12, 1000), 1000 * steps);
  EXPECT_EQ(first("fma", 12, 1000000), 1000000 * steps);
  EXPECT_EQ(first("fma", 12, 30000000), 16777216.0F) << "where adding 1 no longer counts";
  float product = 1.5F;
  for (int i = 0; i < probe::op_steps("mul", 10, false) / 10 * 5000; ++i)
    product *= static_cast<float>(1.0 + 1e-7);
  EXPECT_EQ(first("mul", 10, 5000), product);
}

TEST(VirtualCompute, the_report_has_spills) {
  Chip chip;
  const auto stack_of = [&](const std::string& kernel) {
    for (const KernelReport& r : chip.module().reports())
      if (r.kernel == kernel) return r.stack_bytes;
    return int64_t{-2};
  };
  EXPECT_EQ(stack_of(probe::op_name("fma", 16, 15)), 0);
  EXPECT_EQ(stack_of(probe::op_name("fma", 16, 16)), 64);
}

// One wave waits for each result; many waves of a partition saturate its pipe.
TEST(VirtualCompute, waves_hide_each_others_latency) {
  ir::Kernel k = probe::code::empty("chain");
  k.groups = 64;
  k.buffers = {{"out", ir::DType::f32, 64 * 8, ir::Scope::global, true}};
  k.registers = {{"x", ir::DType::f32, 8}};
  k.index_names = {"group", "i"};
  const ir::Value x = probe::code::reg(k, 0);
  ir::Block body;
  probe::code::repeat(body, 32,
                      {probe::code::set(0, probe::code::apply(ir::ValueOp::fma, {x, x, x}))});
  k.body = {probe::code::declare(0, 1),
            probe::code::set(0, probe::code::number(0, ir::DType::f32, 8)),
            probe::code::loop(1, 2000, ir::constant(2000), body),
            probe::code::store(0, ir::variable(0, 8), x)};
  Chip chip(testing::kSmallWaves);
  chip.load({k});
  EXPECT_TRUE(chip.device().info().threads);
  EXPECT_EQ(chip.device().info().units, 1);
  const int out = chip.buffer(64 * 8 * 4);
  const auto ticks = [&](int64_t waves) {
    return chip.ticks({0, {{out, 0}}, {{0, 0, waves}}}) / (2000 * 32);
  };
  EXPECT_NEAR(ticks(1), 6, 0.2);
  EXPECT_NEAR(ticks(4), 6, 0.2) << "four partitions, a wave each";
  EXPECT_NEAR(ticks(16), 6, 0.6);
  EXPECT_NEAR(ticks(32), 8 * 34 / 32.0, 0.3)
      << "eight to a partition, one begins per tick; two of 34 count";
  EXPECT_NEAR(ticks(64), 16 * 34 / 32.0, 0.6) << "half of them wait until others have ended";
}

// Eight chains of `rounds` multiply-adds per iteration of a loop, whose variable is the last of
// `k`, then a store.
void add_chains(ir::Kernel& k, int rounds, int64_t iterations) {
  const int loop = static_cast<int>(k.index_names.size()) - 1;
  ir::Block step, body;
  for (int r = 0; r < 8; ++r) {
    k.registers.push_back({"x" + std::to_string(r), ir::DType::f32, 8});
    const ir::Value x = probe::code::reg(k, r);
    step.push_back(probe::code::set(r, probe::code::apply(ir::ValueOp::fma, {x, x, x})));
  }
  probe::code::repeat(body, rounds, step);
  k.body = {probe::code::declare(0, 8)};
  for (int r = 0; r < 8; ++r)
    k.body.push_back(probe::code::set(r, probe::code::number(0, ir::DType::f32, 8)));
  k.body.push_back(probe::code::loop(loop, iterations, ir::constant(iterations), body));
  k.body.push_back(probe::code::store(0, ir::variable(loop - 1, 8), probe::code::reg(k, 0)));
}

// Skipped iterations do not change times, even if partitions have different numbers of waves, whose
// loops settle at different times.
TEST(VirtualCompute, uneven_waves_take_as_long_for_each_iteration) {
  const auto ticks = [](int64_t waves, int64_t iterations) {
    ir::Kernel k = probe::code::empty("long");
    k.groups = waves;
    k.buffers = {{"out", ir::DType::f32, waves * 8, ir::Scope::global, true}};
    k.index_names = {"group", "i"};
    add_chains(k, 48, iterations);
    std::string profile =
        testing::kSmallWaves;  // eight waves of four ticks to each of four partitions
    const auto replace = [&](const std::string& what, const std::string& by) {
      profile.replace(profile.find(what), what.size(), by);
    };
    replace("{name: partition, count: 2}", "{name: partition, count: 4}");
    replace("{name: fma, per: partition, rate: 8 /cycle@core}",
            "{name: fma, per: partition, rate: 2 /cycle@core}");
    replace("{name: unit, count: 2}", "{name: unit, count: 1}");
    replace("waves: 16", "waves: 32");
    Chip chip(profile);
    chip.load({k});
    return chip.ticks({0, {{chip.buffer(waves * 8 * 4), 0}}, {}});
  };
  for (const int64_t waves : {3, 10, 11, 23, 40})
    for (const int64_t iterations : {9, 17, 22, 30}) {
      const double one = ticks(waves, 2) - ticks(waves, 1), few = ticks(waves, 2);
      EXPECT_NEAR(ticks(waves, iterations) - few, static_cast<double>(iterations - 2) * one,
                  0.02 * static_cast<double>(iterations) * one)
          << waves << " waves, " << iterations << " iterations";
    }
}

// Eight chains in a group of waves on both partitions of its unit.
TEST(VirtualCompute, waves_of_a_group_use_all_partitions) {
  const auto ticks = [](int waves) {
    ir::Kernel k = probe::code::empty("chains");
    k.groups = 1;
    k.waves = waves;
    k.wave = 1;
    k.buffers = {{"out", ir::DType::f32, int64_t{8} * waves, ir::Scope::global, true}};
    k.index_names = {"group", "wave", "i"};
    add_chains(k, 4, 2000);
    Chip chip(testing::kSmallWaves);
    chip.load({k});
    return chip.ticks({0, {{chip.buffer(int64_t{32} * waves), 0}}, {}}) / (2000 * 32);
  };
  EXPECT_NEAR(ticks(1), 34 / 32.0, 0.05);
  EXPECT_NEAR(ticks(2), 34 / 32.0, 0.05);
  EXPECT_NEAR(ticks(8), 4 * 34 / 32.0, 0.2);
}

// Eight loads and eight additions per step, the same for all threads. If the compiler merges the
// loads of four steps, two of ten instructions are loads, not eight of sixteen.
TEST(VirtualCompute, compilers_merge_neighbouring_loads_of_unrolled_steps) {
  const auto ticks = [](const char* joined, int64_t first, int unroll) {
    ir::Kernel k = probe::code::empty("rows");
    k.groups = 16;
    k.waves = 2;
    k.wave = 1;
    k.buffers = {{"out", ir::DType::f32, 256, ir::Scope::global, true},
                 {"own", ir::DType::f32, 8 * 64 + 1, ir::Scope::scratch, true}};
    k.index_names = {"group", "wave", "i", "k"};
    ir::For steps;
    steps.var = 3;
    steps.limit = 64;
    steps.unroll = unroll;
    k.body = {probe::code::declare(0, 16)};
    for (int r = 0; r < 16; ++r)
      k.registers.push_back({"x" + std::to_string(r), ir::DType::f32, 8});
    for (int r = 0; r < 8; ++r)
      k.body.push_back(probe::code::set(r, probe::code::number(0, ir::DType::f32, 8)));
    for (int r = 0; r < 8; ++r)
      steps.body.push_back(probe::code::set(
          8 + r, probe::code::splat(1, ir::variable(3) + (r * 64 + first), ir::DType::f32, 8)));
    for (int r = 0; r < 8; ++r)
      steps.body.push_back(probe::code::set(
          r, probe::code::apply(ir::ValueOp::add,
                                {probe::code::reg(k, r), probe::code::reg(k, 8 + r)})));
    k.body.push_back(probe::code::loop(2, 200, ir::constant(200), {{steps}}));
    ir::Value sum = probe::code::reg(k, 0);
    for (int r = 1; r < 8; ++r)
      sum = probe::code::apply(ir::ValueOp::add, {sum, probe::code::reg(k, r)});
    k.body.push_back(probe::code::store(0, ir::variable(0, 16) + ir::variable(1, 8), sum));
    std::string profile = testing::kSmallWaves;
    profile.insert(profile.find("launch:"), std::string("merged_loads: ") + joined + ", ");
    Chip chip(profile);
    chip.load({k});
    return chip.ticks({0, {{chip.buffer(1024), 0}}, {}}) / (200 * 64);
  };
  const double alone = ticks("1", 0, 4);
  EXPECT_NEAR(ticks("4", 0, 4), alone * 12 / 18, 0.06 * alone) << "with the loop's own two slots";
  EXPECT_NEAR(ticks("2", 0, 4), alone * 14 / 18, 0.04 * alone);
  EXPECT_DOUBLE_EQ(ticks("4", 1, 4), ticks("1", 1, 4)) << "rows begin anywhere";
  EXPECT_DOUBLE_EQ(ticks("4", 0, 0), alone) << "steps one by one";
}

// Some lanes load, the others are 0 immediately. The sum waits for the loads.
TEST(VirtualCompute, a_value_is_ready_when_all_its_lanes_are) {
  ir::Kernel k = probe::code::empty("part");
  k.groups = 1;
  k.buffers = {{"x", ir::DType::f32, 8, ir::Scope::global, false},
               {"out", ir::DType::f32, 8, ir::Scope::global, true}};
  k.registers = {{"sum", ir::DType::f32, 8}};
  k.index_names = {"group", "i"};
  ir::Value part = probe::code::load(0, ir::constant(0), ir::DType::f32, 8);
  part.count = 5;
  const ir::Value sum = probe::code::reg(k, 0);
  k.body = {
      probe::code::declare(0, 1), probe::code::set(0, probe::code::number(0, ir::DType::f32, 8)),
      probe::code::loop(1, 2000, ir::constant(2000),
                        {probe::code::set(0, probe::code::apply(ir::ValueOp::add, {part, sum}))}),
      probe::code::store(1, ir::constant(0), sum)};
  Chip chip(testing::kSmallWaves);
  chip.load({k});
  EXPECT_GT(chip.ticks({0, {{chip.buffer(32), 0}, {chip.buffer(32), 0}}, {}}) / 2000, 30)
      << "the first cache's latency";
}

TEST(VirtualCompute, launches_cost_what_the_api_says) {
  Chip chip;
  const std::vector<Launch> steps(10, chip.launch("nothing", {}, {{0, 0, 1}, {1, 1, 2}}));
  const auto times = chip.module().run(steps, {3, 1});
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->steps.size(), 3u);
  EXPECT_NEAR(times->steps[2][0], 5e-6, 1e-8);
  EXPECT_NEAR(times->steps[2][9], 2e-6, 1e-8);
  EXPECT_NEAR(times->total[1], 23e-6, 1e-7);
  EXPECT_EQ(times->steps[0], times->steps[1]);
}

}  // namespace
}  // namespace assay::runtime
