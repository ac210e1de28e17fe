// The price of a launch: figures by hand on a small made-up chip, and what must hold on any.
#include "model/price.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::test {
namespace {

using model::LaunchPrice;
using model::LaunchWork;
using model::Machine;

model::Level level(const std::string& name, double capacity, double rate, double latency) {
  model::Level l;
  l.name = name;
  l.capacity.value = capacity;
  l.end = 2 * capacity;
  l.read.value = l.write.value = rate;
  l.latency.value = latency;
  return l;
}

// 10 units of 4 partitions at 1 GHz: 128 multiply-adds and 4 instructions a cycle, 64 KiB of
// scratchpad, 32 KiB of own cache, 1 MB shared, and 100 GB/s of far memory.
Machine chip() {
  Machine c;
  Machine& m = c;
  m.simt = true;
  m.units = 10;
  m.native_width = 32;
  m.resident_groups = 16;
  m.resident_waves = 64;
  m.vector_registers = 2048;  // of 32 lanes
  c.partitions = c.issuers = 4;
  m.fma_rate.parts = 4;
  m.fma_rate.value = m.alu_rate.value = 4e9;
  m.divide_rate.value = m.math_rate.value = 0.5e9;
  m.fma_pipe = m.alu_pipe = "fma";
  m.divide_pipe = m.math_pipe = "sfu";
  m.issue_rate.value = 4e9;
  m.fma_latency.value = 4e-9;
  c.types.resize(1);
  c.types[0].multiply_adds.value = 128e9;
  model::Level scratch = level("scratch", 65536, 128e9, 20e-9);
  scratch.is_scratchpad = true;
  model::Level shared = level("l2", 1e6, 1e12, 200e-9);
  shared.shared = true;
  model::Level far = level("dram", 1e12, 100e9, 400e-9);
  far.shared = far.last = true;
  m.levels = {scratch, level("l1", 32768, 128e9, 30e-9), shared, far};
  return c;
}

// 1000 groups that move 1 MB each way and nearly nothing else.
LaunchWork moving() {
  LaunchWork w;
  w.groups = 1000;
  w.threads = 128;
  w.read = w.written = 1e9;
  w.near_traffic = 2e6;
  return w;
}

LaunchWork computing() {
  LaunchWork w;
  w.groups = 1000;
  w.threads = 256;
  w.registers_per_thread = 64;
  w.products.multiply_adds = 1e6;
  w.instructions = 1e6 / 32;
  return w;
}

TEST(Price, FarMemoryBoundsWhatOnlyMoves) {
  const LaunchPrice p = model::price(moving(), chip());
  EXPECT_DOUBLE_EQ(p.far, 2e9 / 100e9);
  EXPECT_EQ(model::bound_of(p), "far memory");
  EXPECT_GT(p.seconds, p.far);
  EXPECT_LT(p.seconds, 1.05 * p.far);
}

TEST(Price, TurningTheBusCosts) {
  Machine c = chip();
  c.levels.back().read_write_turnaround = 1.1;
  EXPECT_NEAR(model::price(moving(), c).far, 1.1 * 2e9 / 100e9, 1e-12);
}

TEST(Price, MultiplyAddsOfTheBusiestUnit) {
  LaunchWork w = computing();
  EXPECT_DOUBLE_EQ(model::price(w, chip()).unit.multiply_adds, 100 * 1e6 / 128e9);
  w.groups = 1001;
  EXPECT_DOUBLE_EQ(model::price(w, chip()).unit.multiply_adds, 101 * 1e6 / 128e9)
      << "one unit runs one more";
}

// A partition of 512 wave registers holds 8 waves of 64: 32 waves a unit, 4 groups of 8.
TEST(Price, OccupancyByEachLimit) {
  LaunchWork w = computing();
  EXPECT_EQ(model::price(w, chip()).occupancy, 4);
  w.registers_per_thread = 32;
  EXPECT_EQ(model::price(w, chip()).occupancy, 8) << "64 waves of a unit";
  w.threads = 32;
  EXPECT_EQ(model::price(w, chip()).occupancy, 16) << "groups of a unit";
  w.scratch_bytes = 30000;
  EXPECT_EQ(model::price(w, chip()).occupancy, 2);
  w.scratch_bytes = 65537;
  EXPECT_TRUE(std::isinf(model::price(w, chip()).seconds)) << "it does not fit";
}

// Code and parameters come from the shared cache, and the last store goes there: 3 times 200 ns.
// Cold data wants its page's entry first: 400 ns.
constexpr double kStart = 3 * 200e-9 + 400e-9;

TEST(Price, OneGroupAloneIsBusyAndThenWaits) {
  LaunchWork w = computing();
  w.groups = 1;
  w.instructions = 0;
  w.waits.far = 3;
  w.waits.barriers = 1;  // its waves meet; 20 ns, as long as the scratchpad takes
  EXPECT_NEAR(model::price(w, chip()).seconds, 1e6 / 128e9 + 3 * 400e-9 + 20e-9 + kStart, 1e-12);
}

// Eight waves without barriers, two on each partition: one computes while the other waits.
TEST(Price, WavesThatDoNotMeetFillEachOthersWaits) {
  LaunchWork w = computing();
  w.groups = 1;
  w.instructions = 0;
  w.waits.far = 3;
  const double busy = 1e6 / 128e9, waits = 3 * 400e-9;
  const double apart = model::price(w, chip()).seconds - kStart;
  EXPECT_LT(apart, busy + waits);
  EXPECT_GT(apart, busy / 2 + waits) << "each waits after its own part";
}

// One wave computes on one of four partitions.
TEST(Price, ALoneWaveUsesOnePartition) {
  LaunchWork w = computing();
  w.groups = 1;
  w.threads = 32;
  w.instructions = 0;
  EXPECT_NEAR(model::price(w, chip()).seconds, 4 * 1e6 / 128e9 + kStart, 1e-12);
}

// 1000 dependent operations of 4 ns; 500 of the wave's own instructions issue meanwhile.
TEST(Price, AChainLeavesSlotsFree) {
  LaunchWork w = computing();
  w.groups = 1;
  w.threads = 32;
  w.products.multiply_adds = 0;
  w.instructions = 500;
  w.chain = 1000;
  const double issued = 500 / 1e9;  // of one partition
  EXPECT_NEAR(model::price(w, chip()).seconds, issued + (4000e-9 - issued) + kStart, 1e-12);
  w.chain = 100;
  EXPECT_NEAR(model::price(w, chip()).seconds, issued + kStart, 1e-12) << "hidden";
}

TEST(Price, LoadsAndStoresTakeTheirPort) {
  LaunchWork w = moving();
  Machine c = chip();
  c.load_rate.value = 2e9;
  w.near_traffic = 0;
  w.loads = 1e6;
  EXPECT_NEAR(model::price(w, c).unit.port, 100 * 1e6 / 2e9, 1e-12);
}

// Bytes that were counted are taken as they are.
TEST(Price, TakesBytesOverEachBoundary) {
  LaunchWork w = moving();
  w.moved = {{3e9, 1e9}, {2e9, 0.5e9}};
  const LaunchPrice p = model::price(w, chip());
  EXPECT_DOUBLE_EQ(p.shared_bytes, 4e9);
  EXPECT_DOUBLE_EQ(p.far_read, 2e9);
  EXPECT_DOUBLE_EQ(p.far_written, 0.5e9);
}

TEST(Price, GroupsOfAUnitFillEachOthersWaits) {
  LaunchWork w = computing();
  w.instructions = 0;
  w.waits.far = 10;
  w.waits.barriers = 1;
  w.groups = 40;  // four at once on each unit
  const double busy = 1e6 / 128e9, waits = 10 * 400e-9 + 20e-9;
  const double all = model::price(w, chip()).seconds;
  EXPECT_GT(all, 4 * busy);
  EXPECT_LT(all, 4 * busy + waits + kStart);
}

TEST(Price, LoadsAheadHideTheirLatency) {
  LaunchWork w = computing();
  w.groups = 10;
  w.products.multiply_adds = 1e4;
  w.steps = {100, 1};
  const double one = model::price(w, chip()).seconds;
  w.steps.ahead = 2;
  const double two = model::price(w, chip()).seconds;
  EXPECT_NEAR(one - two, 100 * 100e-9, 1e-9) << "half of the shared cache's 200 ns each";
}

// Eight resident groups of 1 KB each fit the unit's cache; of 64 KB they fit no cache.
TEST(Price, ASecondPassIsFreeOnlyWhereTheRowsFit) {
  LaunchWork w = moving();
  w.passes = 2;
  w.threads = 256;
  w.group_read = w.group_written = 100;
  EXPECT_NEAR(model::price(w, chip()).far_read, 1e9, 1e7);
  w.group_read = w.group_written = 65536;
  EXPECT_NEAR(model::price(w, chip()).far_read, 2e9, 1e7);
}

TEST(Price, SmallHandedDataStaysInTheSharedCache) {
  LaunchWork w = moving();
  w.read = 0;
  w.written = w.handed_written = 1e4;
  EXPECT_LT(model::price(w, chip()).far_written, 500);
  w.written = w.handed_written = 1e9;
  EXPECT_NEAR(model::price(w, chip()).far_written, 1e9, 1e6);
}

// 8 x 8 tiles on 10 units with one group each: blocks of tiles share rows and columns.
TEST(Price, TilesThatRunAtOnceShareOperands) {
  Machine c = chip();
  c.levels[2].capacity.value = 1000;
  c.units = 16;
  c.resident_groups = 1;
  LaunchWork w = computing();
  w.groups = 64;
  w.grid = {8, 8, 1, 1, 1000, 1000, 8000, 8000};
  EXPECT_DOUBLE_EQ(model::price(w, c).far_read, 64 * 2 * 1000 / 4.0) << "blocks of 4 x 4";
  c.levels[2].capacity.value = 16000;
  EXPECT_DOUBLE_EQ(model::price(w, c).far_read, 16000) << "both fit the cache";
}

// 60 MB of a product's operands are asked of two caches: the second sees what the first lacks.
TEST(Price, EachCacheIsAskedForWhatTheNearerOnesLack) {
  Machine c = chip();
  model::Level outer = level("slc", 1e8, 1e10, 250e-9);
  outer.shared = true;
  c.levels.insert(c.levels.begin() + 3, outer);
  LaunchWork w = computing();
  w.fills = 60e3;
  w.grid = {50, 20, 1, 1, 1e4, 1e4, 5e5, 2e5};
  EXPECT_NEAR(model::price(w, c).shared_cache, 7e5 / 1e10, 1e-9) << "both operands once";
  c.levels[3].read.value = 1e13;
  EXPECT_NEAR(model::price(w, c).shared_cache, 60e6 / 1e12, 1e-9) << "the nearer one";
}

TEST(Price, WarmInputsAreNotReadAgain) {
  LaunchWork w = moving();
  w.read = w.written = 1e4;
  EXPECT_NEAR(model::price(w, chip(), model::Caches::cold).far_read, 1e4, 1);
  EXPECT_LT(model::price(w, chip(), model::Caches::warm).far_read, 500);
}

TEST(Price, AddsUpWhatOneInstructionComputes) {
  Machine c = chip();
  ir::MatrixInstruction i;
  i.name = "mma";
  c.instructions.resize(1);
  c.instructions[0].instruction = i;
  c.instructions[0].multiply_adds.value = 1024e9;
  LaunchWork w = computing();
  w.products.instruction = "mma";
  EXPECT_DOUBLE_EQ(model::price(w, c).unit.multiply_adds, 100 * 1e6 / 1024e9);
}

// Nothing gets slower where the chip gets better, and no time is below the roofline.
TEST(Price, MonotoneAndAboveTheRoofline) {
  const auto better = [](int which, double by) {
    Machine c = chip();
    Machine& m = c;
    if (which == 0) c.types[0].multiply_adds.value *= by;
    if (which == 1) m.issue_rate.value *= by;
    if (which >= 2 && which <= 5) m.levels[static_cast<size_t>(which - 2)].read.value *= by;
    if (which >= 6 && which <= 9) m.levels[static_cast<size_t>(which - 6)].latency.value /= by;
    if (which >= 10 && which <= 11) m.levels[static_cast<size_t>(which - 9)].capacity.value *= by;
    if (which == 12) m.math_rate.value *= by;
    return c;
  };
  LaunchWork w = computing();
  w.read = 4e8, w.written = 1e8;
  w.passes = 3;
  w.group_read = 8192;
  w.near_traffic = 1e5;
  w.scratch_traffic = 1e5;
  w.operations.functions = 1e4;
  w.waits.far = 2, w.waits.rereads = 4, w.waits.scratch = 10, w.waits.barriers = 3;
  w.waits.multiply_adds = 100;
  w.steps = {50, 1};
  for (const bool product : {false, true}) {
    if (product) w.grid = {50, 20, 1, 1, 1e5, 1e5, 5e6, 2e6};
    const double roofline = std::max(1e9 / (10 * 128e9), (product ? 1e8 : 5e8) / 100e9);
    for (int which = 0; which <= 12; ++which)
      for (double by = 1; by < 16; by *= 1.5) {
        const double now = model::price(w, better(which, by)).seconds,
                     then = model::price(w, better(which, 1.5 * by)).seconds;
        EXPECT_LE(then, now * (1 + 1e-12)) << which << " times " << by;
        if (which >= 6) {
          EXPECT_GE(now, roofline) << which;
        }
      }
  }
}

// One issuer may serve four parts of the pipes by turns, each for four cycles. Four waves that meet
// fill all of them, one wave a quarter.
TEST(Price, WavesShareAnIssuerAndComputeSideBySide) {
  Machine c = chip();
  c.issuers = 1;
  LaunchWork w = computing();
  w.groups = c.units;  // one each
  w.threads = 128;     // four waves
  w.instructions = 0;
  w.waits = {};
  w.waits.barriers = 1;
  const double together = model::joined(model::price(w, c).alone);
  EXPECT_DOUBLE_EQ(together, 1e6 / 128e9);
  w.threads = 32;
  EXPECT_DOUBLE_EQ(model::joined(model::price(w, c).alone), 4 * together);
}

// Products whose operands come from the scratchpad meanwhile are a pipeline: the slower part
// counts.
TEST(Price, ProductsThatReadTheScratchpadTakeTheLongerOfBoth) {
  LaunchWork w = computing();
  w.instructions = w.waits.scratch = 0;
  w.scratch_traffic = 1e6 / 128e9 * 128e9 * 0.9;  // s of products x bytes/s, nine tenths of them
  const double apart = model::price(w, chip()).seconds;
  w.products.reads_scratch = true;
  const double one = model::price(w, chip()).seconds;
  w.scratch_traffic = 0;
  const double alone = model::price(w, chip()).seconds;
  EXPECT_DOUBLE_EQ(one, alone);
  EXPECT_GT(apart, 1.15 * one);
}

// 1000 groups of 1e6 multiply-adds of 10 pJ, 2 MB at 100 pJ a byte: 0.01 J and 0.0002 J, at 5 W.
TEST(Price, ACapOnPowerIsOneMoreRoof) {
  LaunchWork w = computing();
  w.read = w.written = 1e6;
  Machine c = chip();
  const double without = model::price(w, c).seconds;
  EXPECT_EQ(model::price(w, c).power, 0);
  c.types[0].energy.value = 10e-12;
  c.levels.back().energy.value = 100e-12;
  EXPECT_EQ(model::price(w, c).power, 0) << "no cap is known";
  c.power.value = 5;
  const LaunchPrice p = model::price(w, c);
  EXPECT_NEAR(p.power, (1000 * 1e6 * 10e-12 + 2e6 * 100e-12) / 5, 1e-12);
  EXPECT_DOUBLE_EQ(p.seconds, std::max(without, p.start + p.power));
  EXPECT_GT(p.seconds, without);
  c.power.value = 1e6;
  EXPECT_DOUBLE_EQ(model::price(w, c).seconds, without);
  w.operations.functions = 1e4;
  c.math_energy.value = 50e-12;
  EXPECT_NEAR(model::price(w, c).power * 1e6, 0.01 + 0.0002 + 1000 * 1e4 * 50e-12, 1e-9);
}

}  // namespace
}  // namespace assay::test
