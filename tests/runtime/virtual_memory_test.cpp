// Simulated memory: chases and streams measure the profile's values.
#include "tests/runtime/virtual_chip.h"

namespace assay::runtime {
namespace {

using testing::Chip;

constexpr double kLatency = 0.03, kBandwidth = 0.05;

void expect_near(double got, double wanted, double relative) {
  EXPECT_NEAR(got, wanted, relative * wanted);
}

TEST(VirtualMemory, a_chase_finds_each_level_up_to_its_capacity) {
  Chip chip;
  expect_near(chip.chase(4 << 10), 5, kLatency);
  expect_near(chip.chase(12 << 10), 5, kLatency);  // all of three ways of 64 sets
  expect_near(chip.chase(32 << 10), 20, kLatency);
  expect_near(chip.chase(64 << 10), 20, kLatency);
  expect_near(chip.chase(512 << 10), 100, kLatency);
}

TEST(VirtualMemory, fills_are_whole_lines) {
  Chip chip;
  expect_near(chip.chase(512 << 10, 512, 1, 8), (100 + 5) / 2.0, kLatency);
  expect_near(chip.chase(512 << 10, 512, 1, 56), (100 + 5) / 2.0, kLatency);
  expect_near(chip.chase(512 << 10, 512, 1, 64), 100, kLatency);
}

TEST(VirtualMemory, units_share_what_the_profile_says_they_share) {
  Chip chip;
  expect_near(chip.chase(8 << 10, 64, 2), 5, kLatency);
  expect_near(chip.chase(48 << 10, 64, 1), 20, kLatency);
  EXPECT_GT(chip.chase(48 << 10, 64, 2), 60) << "two times 48 KiB do not fit";
}

TEST(VirtualMemory, streams_reach_the_bandwidth_of_their_level) {
  Chip chip;
  expect_near(chip.stream("read_16", 2, 1, 2000), 128, kBandwidth);
  expect_near(chip.stream("write_16", 2, 1, 2000), 64, kBandwidth);
  expect_near(chip.stream("read_16", 12, 1), 32, kBandwidth);
  expect_near(chip.stream("read_16", 6, 2, 20), 40, kBandwidth);
  expect_near(chip.stream("write_16", 6, 2, 20), 16, kBandwidth);
  expect_near(chip.stream("read_16", 200, 1), 8, kBandwidth);
  expect_near(chip.stream("read_16", 100, 2), 10, kBandwidth);
  expect_near(chip.stream("write_16", 100, 2), 5, kBandwidth);
  expect_near(chip.stream("copy_16", 100, 2), 8, kBandwidth);
}

// Copying may be slower than reading and writing one after the other: the bus has turnarounds.
TEST(VirtualMemory, bus_turnarounds_cost_what_the_profile_says) {
  std::string turning = testing::kSmallChip;
  turning.replace(turning.find("copy: 8 GB/s"), 12, "copy: 5 GB/s");
  Chip chip(turning);
  expect_near(chip.stream("copy_16", 100, 2), 5, kBandwidth);
  expect_near(chip.stream("read_16", 100, 2), 10, kBandwidth);
  expect_near(chip.stream("write_16", 100, 2), 5, kBandwidth);
}

// Without prefetching, a core has 16 outstanding misses: 16 x 64 B per 100 ticks.
TEST(VirtualMemory, outstanding_misses_limit_unprefetched_streams) {
  std::string fast = testing::kSmallChip;
  fast.replace(fast.find("read: 10 GB/s"), 13, "read: 90 GB/s");
  fast.replace(fast.find("per_unit: 8 GB/s"), 16, "per_unit: 80 GB/s");
  Chip off(fast, "prefetch: off\n");
  expect_near(off.stream("read_16", 200, 1), 16 * 64 / 100.0, kBandwidth);
  Chip on(fast);
  EXPECT_GT(on.stream("read_16", 200, 1), 3 * 16 * 64 / 100.0);
}

TEST(VirtualMemory, replacement_policies_and_hashed_sets) {
  for (const char* effects : {"replacement: plru\n", "replacement: random\n", "hash: true\n"}) {
    Chip chip(testing::kSmallChip, effects);
    expect_near(chip.chase(4 << 10), 5, 0.5);
    EXPECT_GT(chip.chase(512 << 10), 80) << effects;
    const double beyond = chip.chase(80 << 10);  // partly cached, unlike with true LRU
    EXPECT_LT(beyond, 97) << effects;
    EXPECT_GT(beyond, 20) << effects;
  }
}

TEST(VirtualMemory, a_victim_cache_adds_to_the_one_before_it) {
  std::string own = testing::kSmallChip;
  own.replace(own.find("per: device, managed: automatic"), 31, "per: unit, managed: automatic");
  EXPECT_LT(Chip(own, "victim: l2\n").chase(72 << 10), 0.5 * Chip(own).chase(72 << 10));
}

// Stores that do not allocate in a nearer cache hit the victim cache repeatedly.
TEST(VirtualMemory, a_victim_cache_keeps_written_lines) {
  constexpr int64_t kBlocks = 12;
  std::string profile = testing::kSmallChip;
  profile.insert(profile.find("ways: 3"), "write: through, ");
  const auto written = [&](const char* effects) {
    Chip chip(profile, effects);
    const BufferRange all{chip.buffer(kBlocks * probe::kBlockBytes), 0},
        once = chip.parameters({1, kBlocks, 0}), often = chip.parameters({8, kBlocks, 0});
    const std::vector<ir::Queue> one = {{0, 0, 1}};
    for (int i = 0; i < 3; ++i) chip.ticks(chip.launch("read_16", {all, once}, one));
    return 8 * kBlocks * double(probe::kBlockBytes) /
           chip.ticks(chip.launch("write_16", {all, often}, one));
  };
  expect_near(written("victim: l2\n"), written(""), kBandwidth);
}

// A far cache without sectors fills whole lines, even if a nearer one fills sectors. The other
// sector then hits.
TEST(VirtualMemory, a_cache_without_sectors_fills_whole_lines) {
  std::string profile = testing::kSmallWaves;
  profile.insert(
      profile.find("  - {name: dram"),
      "  - {name: l2, per: device, managed: automatic, capacity: 64 KiB, latency: 100 cycles@core, "
      "line: 64 B, transaction: 64 B, bandwidth: {read: 64 B/cycle@core}}\n");
  Chip chip(profile);
  expect_near(chip.chase(512 << 10, 64, 1, 32), (300 + 30) / 2.0, kBandwidth);
}

// A wave's access that spans sectors fills all of them.
TEST(VirtualMemory, sectors_hit_the_second_time) {
  const auto time = [](int64_t first) {
    ir::Kernel k = probe::code::empty("across");
    k.groups = 1;
    k.buffers = {{"x", ir::DType::f32, 16, ir::Scope::global, false},
                 {"out", ir::DType::f32, 8, ir::Scope::global, true}};
    k.registers = {{"sum", ir::DType::f32, 8}};
    k.index_names = {"group", "i"};
    const ir::Value sum = probe::code::reg(k, 0);
    k.body = {
        probe::code::declare(0, 1), probe::code::set(0, probe::code::number(0, ir::DType::f32, 8)),
        probe::code::loop(
            1, 2000, ir::constant(2000),
            {probe::code::set(
                0, probe::code::apply(
                       ir::ValueOp::add,
                       {probe::code::load(0, ir::constant(first), ir::DType::f32, 8), sum}))}),
        probe::code::store(1, ir::constant(0), sum)};
    Chip chip(testing::kSmallWaves);
    chip.load({k});
    return chip.ticks({0, {{chip.buffer(64), 0}, {chip.buffer(32), 0}}, {}}) / 2000;
  };
  expect_near(time(4), time(0), kBandwidth);
}

// Rows of eight words: every lane of a wave in a bank of its own, or all of them in one.
TEST(VirtualMemory, bank_conflicts_are_serialised) {
  const auto kernel = [](int64_t stride) {
    ir::Kernel k = probe::code::empty("own");
    k.groups = 1;
    k.buffers = {{"out", ir::DType::f32, 8, ir::Scope::global, true},
                 {"own", ir::DType::f32, 1024, ir::Scope::scratch, false}};
    k.registers = {{"x", ir::DType::f32, 8}};
    k.index_names = {"group", "i", "j"};
    ir::Block body;
    probe::code::repeat(
        body, 16,
        {probe::code::set(0, probe::code::gather(1, ir::constant(0), ir::DType::f32, 8, stride)),
         probe::code::keep(0)});
    k.body = {probe::code::loop(2, 64, ir::constant(64),
                                {probe::code::store(1, ir::variable(2, 8),
                                                    probe::code::number(1, ir::DType::f32, 8))}),
              probe::code::declare(0, 1), probe::code::loop(1, 500, ir::constant(500), body),
              probe::code::store(0, ir::constant(0), probe::code::reg(k, 0))};
    return k;
  };
  const auto time = [&](int64_t stride) {
    Chip chip(testing::kSmallWaves);
    chip.load({kernel(stride)});
    return chip.ticks({0, {{chip.buffer(32), 0}}, {}}) / 8000;
  };
  EXPECT_LT(time(1), 1.5);
  expect_near(time(8), 8, kBandwidth);
  expect_near(time(2), 2, 0.2);
}

// Two alternating launches, three times: executed operations and ticks of each period.
std::vector<std::pair<int64_t, double>> periods_of(bool same_buffer) {
  Chip chip;
  constexpr int64_t kBlocks = 6;
  const int read = chip.buffer(kBlocks * probe::kBlockBytes),
            other = chip.buffer(kBlocks * probe::kBlockBytes);
  const BufferRange asked = chip.parameters({4, kBlocks, 0});
  const std::vector<Launch> period = {
      chip.launch("read_16", {{read, 0}, asked}, {{0, 0, 1}}),
      chip.launch("write_16", {{same_buffer ? read : other, 0}, asked}, {{0, 0, 1}})};
  std::vector<std::pair<int64_t, double>> out;
  for (int i = 0; i < 4; ++i) {
    const auto times = chip.module().run(period, {});
    if (!times.ok()) throw std::runtime_error(render(times.diags()));
    out.emplace_back(times->executed, times->busy[0][0] + times->busy[0][1]);
  }
  return out;
}

TEST(VirtualMemory, periods_of_equal_times_are_memoized) {
  const auto periods = periods_of(false);
  EXPECT_GT(periods[1].first, 0);
  EXPECT_EQ(periods[3].first, 0);
  EXPECT_DOUBLE_EQ(periods[3].second, periods[2].second);
  EXPECT_GT(periods_of(true)[3].first, 0) << "one writes what the other reads";
}

TEST(VirtualMemory, an_access_outside_a_buffer_is_an_error) {
  Chip chip;
  const int small = chip.buffer(64);
  const Launch l = chip.launch("read_16", {{small, 0}, chip.parameters({1, 1, 0})}, {{0, 0, 1}});
  const auto times = chip.module().run({&l, 1}, {});
  ASSERT_FALSE(times.ok());
  EXPECT_NE(render(times.diags()).find("the buffer has 16"), std::string::npos)
      << render(times.diags());
}

}  // namespace
}  // namespace assay::runtime
