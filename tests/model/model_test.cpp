// The physics: each effect on its own, and properties that hold for every program.
#include <gtest/gtest.h>

#include <cmath>

#include "../lower/problems.h"
#include "hwdesc/override.h"
#include "model/bandwidth.h"
#include "model/closed_form.h"
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
    const Drawn d = draw(rng, i);
    const double base = seconds(d.program, d.target);
    for (const char* change : {"memory.dram.bandwidth*=2", "memory.l2.bandwidth.read*=1.5", "pipes.fma.rate*=2",
                               "pipes.load.rate*=2", "pipes.store.rate*=2", "clocks.core.max*=1.5"})
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

double output_bytes(const ir::Program& p) {
  return static_cast<double>(ir::elements(p.graph.tensors[static_cast<size_t>(p.graph.outputs[0])])) * 4;
}

model::Machine with_first_cache(model::Machine m, double capacity) {
  m.levels[0].capacity.value = capacity;
  m.levels[0].knee_end = capacity * 1.5;
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

}  // namespace
}  // namespace assay::test
