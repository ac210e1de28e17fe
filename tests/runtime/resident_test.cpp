// Groups of threads that stay on their units and share the groups of each command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/interpret.h"
#include "tests/codegen/kernels.h"
#include "tests/ir/commands.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ir::Command;
using test::run;
using test::signal;
using test::wait;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int64_t kGroups = 12;
constexpr int kUnits = 2;

// Row g of y from row kGroups - 1 - g of x.
ir::Kernel mirror() {
  ir::Kernel k;
  k.name = "mirror";
  k.buffers = {input("x", 16 * kGroups), output("y", 16 * kGroups)};
  k.index_names = {"group"};
  k.groups = kGroups;
  k.body = {store(1, variable(0, 16),
                  op(ir::ValueOp::add,
                     {load(0, variable(0, -16) + 16 * (kGroups - 1), 16), constant_of(1, 16)}))};
  return k;
}

// Waves read what the others staged, and nothing waits behind that.
ir::Kernel rotate_once(int waves) {
  ir::Kernel k = rotate(1, kGroups, waves);
  std::get<ir::For>(k.body[2].node).body.pop_back();
  return k;
}

class Resident : public ::testing::Test {
 protected:
  void SetUp() override {
    const DeviceInfo& info = host.device().info();
    if (info.scheduled_units < kUnits || !info.threads)
      GTEST_SKIP() << "no groups of threads that stay on units";
  }
  std::unique_ptr<Module> load(const std::vector<ir::Kernel>& kernels) {
    return host.load(kernels, lanes_are_threads());
  }
  BufferRange filled(Module& module, const std::vector<float>& values) {
    const BufferRange to{module.allocate(static_cast<int64_t>(values.size() * 4)).value(), 0};
    module.write(to, std::as_bytes(std::span(values)));
    return to;
  }
  static std::vector<float> read(const Module& module, BufferRange from, size_t count) {
    std::vector<float> out(count);
    module.read(from, std::as_writable_bytes(std::span(out)));
    return out;
  }
  static Result<RunTimes> run_it(Module& module, const std::vector<Launch>& launches,
                                 const std::vector<Command>& schedule, int resident) {
    RunOptions options;
    options.schedule = schedule;
    options.resident = resident;
    return module.run(launches, options);
  }
  // Why the first of `kernels` is not run so.
  std::string refused(const std::vector<ir::Kernel>& kernels, int resident) {
    const auto module = load(kernels);
    std::vector<Launch> launches;
    std::vector<Command> schedule;
    for (size_t k = 0; k < kernels.size(); ++k) {
      Launch l{static_cast<int>(k), {}, {}};
      for (const ir::Buffer& b : kernels[k].buffers)
        if (b.scope == ir::Scope::global)
          l.arguments.push_back({module->allocate(b.elements * 4).value(), 0});
      launches.push_back(l);
      schedule.push_back(run(static_cast<int>(k), 0, 1, 0, kernels[k].groups));
    }
    RunOptions options;
    options.schedule = schedule;
    options.resident = resident;
    const auto beforehand = module->prepare(launches, options);
    const auto times = module->run(launches, options);
    if (!beforehand.ok() || times.ok()) return "ran";
    EXPECT_THAT(render(times.diags()), HasSubstr(beforehand->reason));
    return render(times.diags());
  }
  Host host;
};

// Each waits for its own waves alone, and goes on to groups and kernels that use the same scratch.
TEST_F(Resident, kernels_of_few_waves_run_beside_wide_ones) {
  const std::vector<ir::Kernel> kernels{rotate_once(2), rotate_once(4), rotate_once(8),
                                        rotate(3, kGroups, 4)};
  for (const int resident : {1, 2, 3}) {
    const auto module = load(kernels);
    ASSERT_NE(module, nullptr);
    std::vector<Launch> launches;
    std::vector<std::vector<std::vector<float>>> values;
    for (int k = 0; k < 4; ++k) {
      const ir::Kernel& kernel = kernels[static_cast<size_t>(k)];
      values.push_back(
          {host.random(kernel.buffers[0].elements), Host::poison(kernel.buffers[1].elements)});
      launches.push_back(
          {k, {filled(*module, values.back()[0]), filled(*module, values.back()[1])}, {}});
    }
    std::vector<Command> schedule;
    for (int k = 0; k < 4; ++k) schedule.push_back(run(k, 0, kUnits, 0, kGroups));
    const auto times = run_it(*module, launches, schedule, resident);
    ASSERT_TRUE(times.ok()) << render(times.diags());
    for (size_t k = 0; k < 4; ++k) {
      ASSERT_TRUE(codegen::interpret(kernels[k], values[k]).ok());
      EXPECT_EQ(read(*module, launches[k].arguments[1], values[k][1].size()), values[k][1])
          << "kernel " << k << ", " << resident << " on a unit";
    }
  }
}

TEST_F(Resident, each_group_runs_once) {
  for (const int resident : {1, 2, 5}) {
    const auto module = load({elementwise("next", 1000, [](ir::Value v) {
      return op(ir::ValueOp::add, {v, constant_of(1, v.lanes)});
    })});
    const BufferRange a = filled(*module, std::vector<float>(1000, 0));
    const auto times =
        run_it(*module, {{0, {a, a}, {}}}, {run(0, 0, kUnits, 0, 1000 / 64 + 1)}, resident);
    ASSERT_TRUE(times.ok()) << render(times.diags());
    EXPECT_EQ(read(*module, a, 1000), std::vector<float>(1000, 1)) << resident << " on a unit";
  }
}

// What one of a unit's groups wrote, another one reads in the unit's next command.
TEST_F(Resident, a_unit_ends_a_run_before_the_next) {
  constexpr int kLength = 51;
  for (const int resident : {1, 2, 4}) {
    const auto module = load({mirror()});
    const BufferRange a = filled(*module, std::vector<float>(16 * kGroups, 0)),
                      b = filled(*module, Host::poison(16 * kGroups));
    std::vector<Launch> launches;
    std::vector<Command> schedule;
    for (int s = 0; s < kLength; ++s) {
      launches.push_back({0, {s % 2 == 0 ? a : b, s % 2 == 0 ? b : a}, {}});
      schedule.push_back(run(s, 0, 1, 0, kGroups));
    }
    const auto times = run_it(*module, launches, schedule, resident);
    ASSERT_TRUE(times.ok()) << render(times.diags());
    EXPECT_EQ(read(*module, b, 16 * kGroups), std::vector<float>(16 * kGroups, kLength))
        << resident << " on a unit";
  }
}

// Unit 0 signals twice, and its first signal is all that unit 1 waits for.
TEST_F(Resident, a_signal_counts_when_all_groups_of_its_unit_have_come) {
  for (const int resident : {1, 2, 4}) {
    const auto module = load({mirror()});
    const std::vector<float> zeros(16 * kGroups, 0);
    const BufferRange x = filled(*module, zeros), y = filled(*module, Host::poison(16 * kGroups)),
                      z = filled(*module, Host::poison(16 * kGroups));
    const std::vector<Launch> launches{{0, {x, y}, {}}, {0, {y, z}, {}}};
    const std::vector<Command> schedule{run(0, 0, 1, 0, kGroups), signal(0, 0, 1), signal(0, 0, 1),
                                        wait(0, 1, 1, 2), run(1, 1, 2, 0, kGroups)};
    for (int round = 0; round < 20; ++round) {
      module->write(y, std::as_bytes(std::span(zeros)));
      const auto times = run_it(*module, launches, schedule, resident);
      ASSERT_TRUE(times.ok()) << render(times.diags());
      ASSERT_EQ(read(*module, z, 16 * kGroups), std::vector<float>(16 * kGroups, 2))
          << resident << " on a unit";
    }
  }
}

TEST_F(Resident, more_than_fit_are_refused) {
  ir::Kernel staged = mirror();
  staged.name = "staged";
  staged.buffers.push_back(scratch("row", 8 * 1024));
  EXPECT_THAT(refused({mirror(), staged}, 64),
              AllOf(HasSubstr("of the schedule's groups fit a unit of"),
                    HasSubstr("the plan has `resident: 64`: kernel 'staged' needs 32768 bytes of "
                              "group memory"),
                    HasSubstr("hint: `resident: ")));
  EXPECT_THAT(refused({rotate(3, kGroups, 32)}, 64),
              AnyOf(HasSubstr("kernel 'rotate' needs 512 threads"),
                    ContainsRegex("kernel 'rotate' needs [0-9]+ registers in each thread")));
}

TEST_F(Resident, what_needs_a_launch_of_its_own_is_refused) {
  ir::Kernel fixed = mirror();
  fixed.buffers[0].space = ir::Space::constant;
  EXPECT_THAT(refused({fixed}, 1),
              HasSubstr("kernel 'mirror' reads constants, which are filled before a launch"));
  EXPECT_THAT(refused({rotate(3, kGroups, 2), rotate(3, kGroups, 3)}, 1),
              HasSubstr("kernel 'rotate' has groups of 48 threads"));
  EXPECT_THAT(refused({mirror(), rotate(3, kGroups, 2)}, 1),
              HasSubstr("kernel 'mirror' has groups of 16 threads"));
  EXPECT_EQ(refused({mirror()}, 1), "ran");
}

}  // namespace
}  // namespace assay::runtime
