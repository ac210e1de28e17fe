// Launches by queues of the units, where signals and waits alone order them. Where lanes are
// threads, two groups stay on each unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/codegen/kernels.h"
#include "tests/ir/commands.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ir::Command;

constexpr int64_t kElements = 1000;

ir::Kernel half_of_next() {
  return elementwise("half_of_next", kElements, [](ir::Value v) {
    return op(ir::ValueOp::mul,
              {op(ir::ValueOp::add, {v, constant_of(1, v.lanes)}), constant_of(0.5, v.lanes)});
  });
}

int64_t groups() {
  static const int64_t n = half_of_next().groups;
  return n;
}

using test::barrier;
using test::run;
using test::signal;
using test::wait;
Command run(int step, int first, int last) { return run(step, first, last, 0, groups()); }

// Launches that alternate between two buffers.
struct Chain {
  std::unique_ptr<Module> module;
  std::vector<Launch> launches;
  BufferRange last;

  Chain(Host& host, size_t length)
      : module(host.load({half_of_next()},
                         host.device().info().threads ? lanes_are_threads() : hwdesc::Target())) {
    const int a = module->allocate(kElements * 4).value(),
              b = module->allocate(kElements * 4).value();
    for (size_t l = 0; l < length; ++l) {
      const BufferRange from{l % 2 == 0 ? a : b, 0}, to{l % 2 == 0 ? b : a, 0};
      launches.push_back({0, {from, to}, {}});
      last = to;
    }
  }
  void expect_values(size_t steps) const {
    float x = 0;
    for (size_t s = 0; s < steps; ++s) x = (x + 1.0F) * 0.5F;
    std::vector<float> y(kElements);
    module->read(last, std::as_writable_bytes(std::span(y)));
    for (const float v : y) ASSERT_EQ(v, x);
  }
};

class Scheduled : public ::testing::Test {
 protected:
  void SetUp() override {
    const DeviceInfo& info = host.device().info();
    if (info.scheduled_units < 2) GTEST_SKIP() << "not two units with queues";
  }
  RunOptions options_for(const std::vector<Command>& schedule, int repeat = 1, int warm_up = 0) {
    RunOptions out{repeat, warm_up};
    out.schedule = schedule;
    out.resident = host.device().info().threads ? 2 : 1;
    return out;
  }
  Host host;
};

// Where launches are left out, the one before is the last.
TEST_F(Scheduled, launches_that_are_not_needed_are_left_out) {
  if (host.device().info().api != "cpp") GTEST_SKIP() << "no conditions";
  for (const bool value : {true, false})
    for (const float condition : {0.0F, 1.0F})
      for (const bool scheduled : {true, false}) {
        Chain c(host, 2);
        const int flag = c.module->allocate(64).value();
        c.module->write({flag, 0}, std::as_bytes(std::span(&condition, 1)));
        const std::vector<float> before(kElements, 7);
        c.module->write(c.last, std::as_bytes(std::span(before)));
        c.launches[1].needed_if = {{flag, 0}, 4, value};
        RunOptions options;
        const std::vector<Command> schedule = {run(0, 0, 2), barrier(2), run(1, 0, 2)};
        if (scheduled) options = options_for(schedule);
        const auto times = c.module->run(c.launches, options);
        ASSERT_TRUE(times.ok()) << render(times.diags());
        std::vector<float> y(kElements);
        c.module->read(c.last, std::as_writable_bytes(std::span(y)));
        const bool left_out = (condition != 0) != value;
        EXPECT_EQ(times->left_out,
                  left_out ? std::vector<bool>({false, true}) : std::vector<bool>());
        const float want = (condition != 0) == value ? 2.5F : 7;
        for (const float v : y) ASSERT_EQ(v, want);
      }
}

TEST_F(Scheduled, a_chain_goes_from_unit_to_unit) {
  constexpr size_t kLength = 200;
  Chain c(host, kLength);
  std::vector<Command> schedule;
  for (int s = 0; s < static_cast<int>(kLength); ++s) {
    const int unit = s % 2;
    if (s > 0) schedule.push_back(wait(s - 1, 1, unit, unit + 1));
    schedule.push_back(run(s, unit, unit + 1));
    schedule.push_back(signal(s, unit, unit + 1));
  }
  constexpr int kRepeats = 20;
  const RunOptions options = options_for(schedule, kRepeats, 2);
  const auto times = c.module->run(c.launches, options);
  ASSERT_TRUE(times.ok()) << render(times.diags());
  EXPECT_EQ(times->total.size(), size_t{kRepeats});
  EXPECT_TRUE(times->steps.empty()) << "no clock between steps was asked for";
  c.expect_values(kLength * (kRepeats + 2));
}

// Each unit has its own half of every launch, so none waits for the other.
TEST_F(Scheduled, halves_need_no_barrier) {
  constexpr size_t kLength = 300;
  Chain c(host, kLength);
  std::vector<Command> schedule;
  for (int s = 0; s < static_cast<int>(kLength); ++s) schedule.push_back(run(s, 0, 2));
  RunOptions options = options_for(schedule, 5, 1);
  options.traced = true;
  const auto times = c.module->run(c.launches, options);
  ASSERT_TRUE(times.ok()) << render(times.diags());
  c.expect_values(kLength * 6);
  ASSERT_EQ(times->steps.size(), 5u);
  ASSERT_EQ(times->steps[0].size(), kLength);
  ASSERT_EQ(times->slices.size(), 2 * kLength);
  std::map<int, double> now;
  for (const Slice& s : times->slices) {
    EXPECT_GE(s.begin, now[s.unit]) << "slices of a unit follow each other";
    EXPECT_GE(s.end, s.begin);
    EXPECT_LE(s.end, times->total.back());
    now[s.unit] = s.end;
  }
  EXPECT_EQ(now.size(), 2u);
}

TEST_F(Scheduled, steps_of_a_trace_reach_from_the_first_unit_to_the_last) {
  Chain c(host, 2);
  const std::vector<Command> schedule = {run(0, 0, 2), barrier(2), run(1, 1, 2)};
  RunOptions options = options_for(schedule);
  options.traced = true;
  const auto times = c.module->run(c.launches, options);
  ASSERT_TRUE(times.ok()) << render(times.diags());
  c.expect_values(2);
  double begin = 1, end = 0;
  for (const Slice& s : times->slices)
    if (s.command == 0) begin = std::min(begin, s.begin), end = std::max(end, s.end);
  EXPECT_DOUBLE_EQ(times->steps[0][0], end - begin);
  const auto second = std::ranges::find(times->slices, 2, &Slice::command);
  ASSERT_NE(second, times->slices.end());
  EXPECT_EQ(second->unit, 1);
  EXPECT_GE(second->begin, end) << "behind the barrier";
}

// A plan may be for fewer units than the device has; the others do not take part in its barriers.
TEST_F(Scheduled, some_units_of_the_device_are_enough) {
  Chain c(host, 2);
  const std::vector<Command> schedule = {run(0, 0, 1), barrier(1), run(1, 0, 1)};
  const RunOptions options = options_for(schedule, 7, 1);
  const auto times = c.module->run(c.launches, options);
  ASSERT_TRUE(times.ok()) << render(times.diags());
  c.expect_values(2 * 8);
}

TEST_F(Scheduled, what_can_not_end_is_refused) {
  Chain c(host, 2);
  const auto said = [&](const std::vector<Command>& schedule) {
    const auto times = c.module->run(c.launches, options_for(schedule));
    return times.ok() ? std::string("ok") : render(times.diags());
  };
  const auto has = [&](const std::vector<Command>& schedule, const char* part) {
    const std::string text = said(schedule);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has({wait(0, 1, 0, 1), run(0, 0, 1)}, "unit 0 waits for ever for counter 0");
  has({run(0, 0, 100)}, "units 0 to 100");
  has({run(0, 0, 2), barrier(1)}, "a barrier of units 0 to 1, the schedule has 2");
  has({run(2, 0, 1)}, "there is no launch 2, there are 2");
  has({run(0, 0, 1, 0, groups() + 1)}, "it runs groups 0 to");
  EXPECT_EQ(said({run(0, 0, 1), run(1, 0, 1)}), "ok");
}

TEST_F(Scheduled, a_run_can_be_cancelled) {
  Chain c(host, 2);
  const std::vector<Command> schedule = {run(0, 0, 2), run(1, 0, 2)};
  const CancelToken cancel = true;
  RunOptions options = options_for(schedule, 1000000);
  options.cancel = &cancel;
  const auto times = c.module->run(c.launches, options);
  ASSERT_FALSE(times.ok());
  EXPECT_NE(render(times.diags()).find("cancelled"), std::string::npos);
}

}  // namespace
}  // namespace assay::runtime
