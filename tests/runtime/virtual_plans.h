// Launches for simulated chips whose units have queues, and the random plans of such launches.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/codegen/kernels.h"
#include "tests/ir/commands.h"
#include "tests/runtime/host.h"
#include "tests/runtime/virtual_chip.h"

namespace assay::runtime::testing {

using namespace assay::testing;

// Adds to the last line of a small chip's profile, its api.
inline std::string with_api(std::string profile, const std::string& more) {
  return profile.insert(profile.rfind("launch:"), more + ", ");
}
inline std::string cores() {  // a barrier takes 1000 ticks
  return with_api(kSmallChip, "device_barrier: 1 us, coresident_groups: true");
}
// A barrier of 2 groups takes 1000 ticks, of 6 groups 3000.
inline constexpr const char* kStay =
    "coresident_groups: true, coresident_barrier: [{groups: 2, time: 1 us}, "
    "{groups: 6, time: 3 us}]";
// Its multiply-adds take 24 ticks, so that many groups on a unit are as fast as one.
inline std::string slow_waves() {
  std::string profile = kSmallWaves;
  return profile.replace(profile.find("latency: 6 cycles"), 17, "latency: 24 cycles");
}
// Four groups on two of its partitions keep these as busy as one group waits for its results.
inline std::string four_partitions() {
  std::string profile = kSmallWaves;
  return profile.replace(profile.find("partition, count: 2"), 19, "partition, count: 4");
}
inline std::string waves() { return with_api(slow_waves(), kStay); }

// A simulated chip without effects, and modules on it.
class Bench {
 public:
  explicit Bench(const std::string& profile, bool merges = true)
      : folder_(std::filesystem::temp_directory_path() /
                ("assay-queues-" + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directory(folder_);
    const std::string file = (folder_ / "chip.yaml").string();
    std::ofstream(file) << profile;
    auto device = open("virtual:" + file);
    if (!device.ok()) throw std::runtime_error(render(device.diags()));
    device_ = std::move(device).value();
    if (device_->info().threads) target_ = lanes_are_threads();
    target_.dialect.merges = merges;
  }
  ~Bench() { std::filesystem::remove_all(folder_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const DeviceInfo& info() const { return device_->info(); }
  std::unique_ptr<Module> load(const std::vector<ir::Kernel>& kernels) {
    auto m = device_->load(kernels, target_, {});
    if (!m.ok()) throw std::runtime_error(render(m.diags()));
    return std::move(m).value();
  }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<Device> device_;
  hwdesc::Target target_;
};

// Each group computes: so many multiply-adds, a multiple of 8, each of the one before. `own`:
// numbers of group memory.
inline ir::Kernel chain(std::string name, int64_t length, int64_t groups, int64_t own = 0) {
  ir::Kernel k;
  k.name = std::move(name);
  k.buffers = {output("y", 16 * groups)};
  if (own > 0) k.buffers.push_back(scratch("own", own));
  k.index_names = {"group", "i"};
  k.registers = {{"x", ir::DType::f32, 16}};
  k.groups = groups;
  const Stmt step =
      assign(0, op(ir::ValueOp::fma, {reg(0, 16), constant_of(0.5, 16), constant_of(1, 16)}));
  k.body = {declare({0}), assign(0, constant_of(1, 16)), loop(1, length / 8, Block(8, step)),
            store(0, variable(0, 16), reg(0, 16))};
  return k;
}

struct Plan {
  std::vector<ir::Kernel> kernels;
  struct Step {
    int kernel = 0, input = -1;  // a step, or -1: that of the plan
  };
  std::vector<Step> steps;
};

// `threads`: with kernels of several waves, group memory and barriers too.
inline Plan drawn_plan(std::mt19937& rng, bool threads) {
  Plan out;
  const int64_t n = 48 * (1 + static_cast<int64_t>(rng() % 9));
  out.kernels.push_back(elementwise("next", n, [](ir::Value v) {
    return op(ir::ValueOp::add, {v, constant_of(1, v.lanes)});
  }));
  out.kernels.push_back(elementwise("half", n, [](ir::Value v) {
    return op(ir::ValueOp::mul, {v, constant_of(0.5, v.lanes)});
  }));
  if (threads) out.kernels.push_back(rotate(1, n / 48, 3));
  const int steps = 2 + static_cast<int>(rng() % 7);
  for (int s = 0; s < steps; ++s)
    out.steps.push_back(
        {static_cast<int>(rng() % out.kernels.size()), static_cast<int>(rng() % (s + 1u)) - 1});
  return out;
}

// The plan's launches on a module of its own, each with a buffer of its own.
class Placed {
 public:
  Placed(Bench& bench, const Plan& plan) : module_(bench.load(plan.kernels)) {
    const int64_t n = plan.kernels[0].buffers[0].elements;
    std::vector<float> values(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97);
    const auto buffer = [&](const std::vector<float>& filled) {
      const BufferRange to{module_->allocate(n * 4).value(), 0};
      module_->write(to, std::as_bytes(std::span(filled)));
      return to;
    };
    buffers_.push_back(buffer(values));
    for (size_t s = 0; s < plan.steps.size(); ++s) buffers_.push_back(buffer(Host::poison(n)));
    for (size_t s = 0; s < plan.steps.size(); ++s)
      launches_.push_back(
          {plan.steps[s].kernel,
           {buffers_[static_cast<size_t>(plan.steps[s].input + 1)], buffers_[s + 1]},
           {}});
  }
  RunTimes run(const RunOptions& options) {
    auto times = module_->run(launches_, options);
    if (!times.ok()) throw std::runtime_error(render(times.diags()));
    return std::move(times).value();
  }
  std::vector<std::vector<float>> values(const Plan& plan) const {
    std::vector<std::vector<float>> out;
    for (const BufferRange& b : buffers_) {
      out.emplace_back(static_cast<size_t>(plan.kernels[0].buffers[0].elements));
      module_->read(b, std::as_writable_bytes(std::span(out.back())));
    }
    return out;
  }
  const std::vector<Launch>& launches() const { return launches_; }

 private:
  std::unique_ptr<Module> module_;
  std::vector<BufferRange> buffers_;
  std::vector<Launch> launches_;
};

}  // namespace assay::runtime::testing
