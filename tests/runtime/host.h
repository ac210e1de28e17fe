// A device with its own kernel cache, and one-call runs of a kernel on vectors of floats.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace assay::runtime {

// The same tests run on every kind of device; ctest has one entry for each.
inline std::string tested_device() {
  const char* named = std::getenv("ASSAY_TEST_DEVICE");
  return named == nullptr ? "cpu:0" : named;
}

// A target whose waves have this many threads.
inline hwdesc::Target lanes_are_threads(int threads = 16) {
  hwdesc::Target t;
  t.profile.execution.lanes.style = hwdesc::LaneStyle::simt;
  hwdesc::LaneMode mode;
  mode.width.value = hwdesc::Count{static_cast<double>(threads)};
  t.profile.execution.lanes.modes.push_back(mode);
  return t;
}

class Host {
 public:
  Host()
      : folder_(std::filesystem::temp_directory_path() /
                ("assay-test-" + std::to_string(std::random_device{}()))) {
    auto device = open(tested_device());
    if (!device.ok()) throw std::runtime_error(render(device.diags()));
    device_ = std::move(device).value();
    options_.cache_dir = folder_.string();
    options_.guarded = true;
  }
  ~Host() { std::filesystem::remove_all(folder_); }

  Device& device() { return *device_; }
  LoadOptions& options() { return options_; }
  const std::filesystem::path& folder() const { return folder_; }

  std::unique_ptr<Module> load(const std::vector<ir::Kernel>& kernels,
                               const hwdesc::Target& target = {}) {
    auto m = device_->load(kernels, target, options_);
    if (m.ok()) return std::move(m).value();
    ADD_FAILURE() << render(m.diags());
    return nullptr;
  }

  // Allocates and fills a buffer per vector, runs once, and reads the buffers back.
  static std::vector<std::vector<float>> run(Module& module, int kernel,
                                             std::vector<std::vector<float>> buffers,
                                             const std::vector<ir::Queue>& queues = {}) {
    Launch launch{kernel, {}, queues};
    for (const auto& b : buffers)
      launch.arguments.push_back({module.allocate(static_cast<int64_t>(b.size() * 4)).value(), 0});
    for (size_t i = 0; i < buffers.size(); ++i)
      module.write(launch.arguments[i], std::as_bytes(std::span(buffers[i])));
    const auto times = module.run(std::vector{launch}, {});
    if (!times.ok()) ADD_FAILURE() << render(times.diags());
    for (size_t i = 0; i < buffers.size(); ++i)
      module.read(launch.arguments[i], std::as_writable_bytes(std::span(buffers[i])));
    return buffers;
  }
  std::vector<std::vector<float>> run(const ir::Kernel& kernel,
                                      std::vector<std::vector<float>> buffers) {
    const auto module = load({kernel});
    return module ? run(*module, 0, std::move(buffers)) : buffers;
  }

  std::vector<float> random(int64_t n, float low = -1, float high = 1) {
    std::uniform_real_distribution<float> d(low, high);
    std::vector<float> v(static_cast<size_t>(n));
    for (float& x : v) x = d(generator_);
    return v;
  }
  static std::vector<float> poison(int64_t n) {
    return std::vector<float>(static_cast<size_t>(n), std::numeric_limits<float>::quiet_NaN());
  }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<Device> device_;
  LoadOptions options_;
  std::mt19937 generator_{1};
};

}  // namespace assay::runtime
