// The bench on a fake device: it interprets kernels, takes the test's times, and writes wrong
// values in one kernel.
#include "toolkit/validate_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "codegen/interpret.h"
#include "compiler/compile.h"
#include "lower/legal.h"
#include "tests/probe/scripted_device.h"
#include "toolkit/profiles.h"
#include "toolkit/validate_score.h"

namespace assay::toolkit {
namespace {

struct Made {  // behaviour of kernel i
  double seconds = 10e-6;
  bool wrong = false;
  bool silent = false;  // writes nothing
};

class MadeModule final : public runtime::Module {  // invariant: made_[i] belongs to kernels_[i]
 public:
  MadeModule(std::vector<ir::Kernel> kernels, const std::vector<Made>& made,
             std::vector<int64_t>& launches)
      : kernels_(std::move(kernels)), made_(made), launches_(launches) {
    launches_.assign(kernels_.size(), 0);
  }

  Result<int> allocate(int64_t bytes) override {
    buffers_.emplace_back(static_cast<size_t>(bytes) / sizeof(float), 0.0F);
    return static_cast<int>(buffers_.size()) - 1;
  }
  void write(runtime::BufferRange to, std::span<const std::byte> data) override {
    std::memcpy(
        reinterpret_cast<std::byte*>(buffers_[static_cast<size_t>(to.buffer)].data()) + to.offset,
        data.data(), data.size());
  }
  void write_words(int buffer, std::span<const runtime::Word> words) override {
    for (const runtime::Word& w : words)
      write({buffer, w.offset}, std::as_bytes(std::span(&w.value, 1)));
  }
  void read(runtime::BufferRange from, std::span<std::byte> data) const override {
    std::memcpy(
        data.data(),
        reinterpret_cast<const std::byte*>(buffers_[static_cast<size_t>(from.buffer)].data()) +
            from.offset,
        data.size());
  }

  Result<runtime::RunTimes> run(std::span<const runtime::Launch> launches,
                                const runtime::RunOptions& options) override {
    const auto k = static_cast<size_t>(launches[0].kernel);
    const auto in_list = static_cast<int64_t>(launches.size());
    launches_[k] += in_list * (options.repeat + options.warm_up);
    std::vector<std::vector<float>> arguments;
    std::set<int64_t> places;
    for (const runtime::BufferRange& b : launches[0].arguments) {
      const std::vector<float>& whole = buffers_[static_cast<size_t>(b.buffer)];
      arguments.emplace_back(whole.begin() + b.offset / int64_t{sizeof(float)}, whole.end());
      places.insert(b.offset % 4096);
    }
    EXPECT_EQ(places.size(), arguments.size()) << "they begin at different offsets in their pages";
    const auto ran = codegen::interpret(kernels_[k], arguments);
    if (!ran) return ran.diags();
    if (made_[k].wrong) arguments.back()[arguments.back().size() / 2] += 0.5F;
    const runtime::BufferRange& to = launches[0].arguments.back();
    if (!made_[k].silent) write(to, std::as_bytes(std::span(arguments.back())));
    runtime::RunTimes times;
    times.steps.assign(static_cast<size_t>(options.repeat),
                       std::vector<double>(launches.size(), made_[k].seconds));
    times.busy = times.steps;
    times.total.assign(static_cast<size_t>(options.repeat),
                       made_[k].seconds * static_cast<double>(in_list));
    return times;
  }

  const std::vector<runtime::KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return 0; }
  const Diags& warnings() const override { return warnings_; }

 private:
  std::vector<ir::Kernel> kernels_;
  const std::vector<Made>& made_;  // the device's, which a test may change
  std::vector<int64_t>& launches_;
  std::vector<std::vector<float>> buffers_;
  std::vector<runtime::KernelReport> reports_;
  Diags warnings_;
};

class MadeDevice final : public runtime::Device {
 public:
  std::vector<Made> made;
  std::vector<int64_t> launches;  // of each kernel, warm-up included

  const runtime::DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<runtime::Module>> load(std::span<const ir::Kernel> kernels,
                                                const hwdesc::Target&,
                                                const runtime::LoadOptions&) override {
    made.resize(kernels.size());
    return std::unique_ptr<runtime::Module>(std::make_unique<MadeModule>(
        std::vector<ir::Kernel>(kernels.begin(), kernels.end()), made, launches));
  }

 private:
  runtime::DeviceInfo info_;
};

struct Prepared {
  hwdesc::Target target;
  model::Machine machine;
  compiler::TileGraph tile_graph;
};

Prepared prepared(const std::string& op) {
  Prepared p;
  p.target = *target_of(*load_profile("generic/x86-avx512-2core"), "");
  p.machine = *model::prepare(p.target);
  p.tile_graph = compiler::tile_graphs_of(*compiler::parse_operator(op), p.target)->parts.at(0);
  return p;
}

ir::Program some_choice(const Prepared& p) {
  return compiler::LegalSpace(p.tile_graph.problem, p.target, p.machine).constructed().at(0);
}

TEST(TrialDrawer, DrawsDistinctProgramsInHalvesAndTheSameAgain) {
  for (const char* op :
       {"matmul m=20 n=37 k=9", "depthwise c=16 h=6 w=6", "transpose rows=19 columns=32"}) {
    const Prepared p = prepared(op);
    const ir::Program choice = some_choice(p);
    TrialDrawer drawer(p.tile_graph, p.target, p.machine, 5);
    const std::vector<Trial> trials = drawer.draw(choice, 20);
    ASSERT_EQ(trials.size(), 20U) << op;
    std::set<std::string> ids;
    int uniform = 0;
    for (const Trial& t : trials) {
      ids.insert(t.row.id);
      uniform += t.row.drawn == Drawn::uniform ? 1 : 0;
      EXPECT_GT(t.row.estimate.seconds, 0);
      EXPECT_TRUE(lower::legal(t.program, p.target).empty());
      const Result<ir::Program> back = ir::parse_program(t.row.program, "row");
      ASSERT_TRUE(back.ok());
      EXPECT_EQ(*back, t.program);
    }
    EXPECT_EQ(ids.size(), 20U) << op;
    EXPECT_GE(uniform, 10) << op;
    EXPECT_TRUE(trials[0].row.first);
    for (const Trial& t : drawer.neighbours(trials[3].program))
      EXPECT_TRUE(ids.insert(t.row.id).second) << op;

    TrialDrawer again(p.tile_graph, p.target, p.machine, 5),
        other(p.tile_graph, p.target, p.machine, 6);
    const std::vector<Trial> same = again.draw(choice, 20), others = other.draw(choice, 20);
    for (size_t i = 0; i < same.size(); ++i) EXPECT_EQ(same[i].row.id, trials[i].row.id) << op;
    int differ = 0;
    for (size_t i = 0; i < others.size(); ++i)
      differ += others[i].row.id != trials[i].row.id ? 1 : 0;
    EXPECT_GT(differ, 10) << op;
  }
}

TEST(TrialBench, MeasuresWhatTheDeviceTakesAndFindsWrongValues) {
  const Prepared p = prepared("matmul m=20 n=37 k=9");
  TrialDrawer drawer(p.tile_graph, p.target, p.machine, 1);
  std::vector<Trial> trials = drawer.draw(some_choice(p), 8);
  ASSERT_EQ(trials.size(), 8U);
  const Result<Expected> expected = expect(p.tile_graph.problem.graph, 1);
  ASSERT_TRUE(expected.ok());
  MadeDevice device;
  device.made.resize(8);
  for (size_t i = 0; i < 8; ++i) device.made[i].seconds = 20e-6 * static_cast<double>(i + 1);
  device.made[2].wrong = true;
  device.made[4].silent = true;
  device.made[7].seconds = 0.3;
  BenchOptions options;
  options.repeat = 3;
  Result<TrialBench> bench = TrialBench::load(device, p.target, trials, *expected, options);
  ASSERT_TRUE(bench.ok()) << render(bench.diags());
  ASSERT_EQ(bench->measure(), Diags{});
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_DOUBLE_EQ(trials[i].row.measured, device.made[i].seconds) << i;
    EXPECT_EQ(trials[i].row.wrong, i == 2 || i == 4) << i;
  }
  EXPECT_EQ(device.launches[7], 2) << "one check, one sample: it is very slow";
  EXPECT_GE(device.launches[0], 3 * 50) << "samples of a millisecond";
}

TEST(TrialBench, VisitsMeetMoreThanOneStateOfAHost) {
  const Prepared p = prepared("relu n=100");
  TrialDrawer drawer(p.tile_graph, p.target, p.machine, 1);
  std::vector<Trial> trials = drawer.draw(some_choice(p), 2);
  ASSERT_EQ(trials.size(), 2U);
  const Expected expected = *expect(p.tile_graph.problem.graph, 1);
  MadeDevice device;
  device.made.resize(2);
  device.made[1].seconds = 0.3;
  BenchOptions options;
  options.repeat = 3;
  Result<TrialBench> bench = TrialBench::load(device, p.target, trials, expected, options);
  ASSERT_TRUE(bench.ok());
  ASSERT_EQ(bench->look(), Diags{});
  for (const double seconds : {20e-6, 40e-6, 10e-6}) {
    device.made[0].seconds = seconds;
    ASSERT_EQ(bench->visit(3), Diags{});
    bench->conclude();
    if (seconds == 20e-6) {
      EXPECT_DOUBLE_EQ(trials[0].row.measured, 20e-6) << "so far";
    }
  }
  EXPECT_EQ(trials[0].row.samples, 3);
  EXPECT_DOUBLE_EQ(trials[0].row.quick, 10e-6);
  EXPECT_DOUBLE_EQ(trials[0].row.measured, 15e-6) << "a quarter of the way from the fastest";
  EXPECT_DOUBLE_EQ(trials[0].row.slow, 40e-6);
  EXPECT_EQ(trials[1].row.samples, 1) << "very slow: in the first visit alone";
}

// A burst precedes each round and each sample.
TEST(TrialBench, RecordsTheMultiplyAddRateBeforeTheSamplesThatCount) {
  const Prepared p = prepared("relu n=100");
  TrialDrawer drawer(p.tile_graph, p.target, p.machine, 1);
  std::vector<Trial> trials = drawer.draw(some_choice(p), 1);
  ASSERT_EQ(trials.size(), 1U);
  const Expected expected = *expect(p.tile_graph.problem.graph, 1);
  const auto rate_with = [&](std::vector<double> bursts) {
    probe::test::ScriptedDevice scripted(std::move(bursts));
    const Result<std::unique_ptr<probe::HostState>> host =
        probe::HostState::load(scripted, p.target, "");
    MadeDevice device;
    BenchOptions options;
    options.repeat = 3;
    options.host = host->get();
    Result<TrialBench> bench = TrialBench::load(device, p.target, trials, expected, options);
    EXPECT_TRUE(bench.ok() && bench->measure().empty());
    return trials[0].row.fma_rate;
  };
  const double steady = rate_with({1e-4});
  EXPECT_GT(steady, 0);
  EXPECT_DOUBLE_EQ(rate_with({1e-4, 1.1e-4, 1e-4, 1.1e-4, 1e-4, 1.1e-4}), steady / 1.1);
  EXPECT_DOUBLE_EQ(
      rate_with({1e-4, 1e-4, 1e-4, 2e-4, 1e-4, 2e-4, 1e-4, 2e-4, 1e-4, 2e-4, 1e-4, 2e-4}),
      steady / 2)
      << "all but one slow: those count, too";
}

// One of two visits meets cross-die placement. Its samples count as disturbed, and are not used
// where there are three others.
TEST(TrialBench, CrossDieSamplesAreDisturbed) {
  Prepared p = prepared("relu n=100");
  for (hwdesc::MemoryLevel& l : p.target.profile.memory)
    if (l.name == "l2") l.bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{10e9, ""};
  TrialDrawer drawer(p.tile_graph, p.target, p.machine, 1);
  std::vector<Trial> trials = drawer.draw(some_choice(p), 1);
  ASSERT_EQ(trials.size(), 1U);
  const Expected expected = *expect(p.tile_graph.problem.graph, 1);
  probe::test::ScriptedDevice scripted({1e-4});
  const Result<std::unique_ptr<probe::HostState>> host =
      probe::HostState::load(scripted, p.target, "");
  ASSERT_TRUE(host.ok());
  MadeDevice device;
  BenchOptions options;
  options.repeat = 9;
  options.host = host->get();
  Result<TrialBench> bench = TrialBench::load(device, p.target, trials, expected, options);
  ASSERT_TRUE(bench.ok());
  ASSERT_EQ(bench->look(), Diags{});
  device.made.at(0).seconds = 10e-6;
  ASSERT_EQ(bench->visit(3), Diags{});
  bench->conclude();
  EXPECT_EQ(trials[0].row.disturbed, 0);
  const int shared = trials[0].row.samples;
  scripted.script.cross_die_ratio = 4;
  device.made.at(0).seconds = 30e-6;
  ASSERT_EQ(bench->visit(9), Diags{});
  bench->conclude();
  EXPECT_EQ(trials[0].row.samples, shared);
  EXPECT_DOUBLE_EQ(trials[0].row.slow, 10e-6);
  EXPECT_GT(trials[0].row.disturbed, 0.2);
}

TEST(TrialBench, JudgesByTheExpectedValues) {
  const Prepared p = prepared("relu n=100");
  TrialDrawer drawer(p.tile_graph, p.target, p.machine, 1);
  std::vector<Trial> trials = drawer.draw(some_choice(p), 2);
  Expected expected = *expect(p.tile_graph.problem.graph, 1);
  expected.inputs[0].assign(100, 1.0F);  // not what the expected outputs were made of
  MadeDevice device;
  Result<TrialBench> bench = TrialBench::load(device, p.target, trials, expected, {});
  ASSERT_TRUE(bench.ok());
  ASSERT_EQ(bench->measure(), Diags{});
  for (const Trial& t : trials) EXPECT_TRUE(t.row.wrong);
}

}  // namespace
}  // namespace assay::toolkit
