// Small simulated chips, and the times of the probe's kernels on them, in ticks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "runtime/device.h"

namespace assay::testing {

using namespace runtime;

// Two units with a cache each, a shared cache, and memory. All are small, so that they fill
// quickly.
inline constexpr const char* kSmallChip = R"(schema: assay/profile/1
name: small
source: assumed
clocks: {core: 1 GHz}
topology: [{name: unit, count: 2}]
execution:
  lanes: {style: simd, modes: [{name: narrow, width: 4}, {name: wide, width: 16}]}
  registers: {per: unit, count: 16, width: 64 B}
  issue: {per: unit, rate: 4 /cycle@core}
pipes: [{name: fma, per: unit, rate: 32 /cycle@core}, {name: load, per: unit, rate: 32 /cycle@core},
  {name: store, per: unit, rate: 16 /cycle@core}]
memory:
  - {name: l1, per: unit, managed: automatic, capacity: 12 KiB, latency: 5 cycles@core,
     ways: 3, line: 64 B,
     bandwidth: {read: 128 B/cycle@core, write: 64 B/cycle@core}}
  - {name: l2, per: device, managed: automatic, capacity: 64 KiB, latency: 20 cycles@core,
     ways: 8, line: 64 B,
     bandwidth: {read: 40 B/cycle@core, write: 16 B/cycle@core, per_unit: 32 B/cycle@core}}
  - {name: dram, per: device, managed: explicit, capacity: 64 MiB, latency: 100 ns, line: 64 B,
     bandwidth: {read: 10 GB/s, write: 5 GB/s, copy: 8 GB/s, per_unit: 8 GB/s}}
compute: [{op: fma, dtype: f32, pipe: fma, latency: 4 cycles@core}]
apis: {cpp: {dialect: cpp, launch: {eager: 5 us, stream: 2 us}, group_start: 0 s}}
)";

// Units of two partitions with waves of 8, and group memory of 8 banks.
inline constexpr const char* kSmallWaves = R"(schema: assay/profile/1
name: waves
source: assumed
clocks: {core: 1 GHz}
topology: [{name: unit, count: 2}, {name: partition, count: 2}]
execution:
  lanes: {style: simt, modes: [{name: wave8, width: 8}]}
  resident: {per: unit, waves: 16}
  issue: {per: partition, rate: 1 /cycle@core}
pipes: [{name: fma, per: partition, rate: 8 /cycle@core},
  {name: lsu, per: partition, rate: 8 /cycle@core}]
memory:
  - {name: shared, per: unit, managed: explicit, capacity: 32 KiB, latency: 25 cycles@core,
     bandwidth: {read: 32 B/cycle@core}, banks: {count: 8, width: 4 B}}
  - {name: l1, per: unit, managed: automatic, capacity: 16 KiB, latency: 30 cycles@core, line: 64 B,
     transaction: 32 B, bandwidth: {read: 32 B/cycle@core}}
  - {name: dram, per: device, managed: explicit, capacity: 64 MiB, latency: 300 ns, line: 64 B,
     transaction: 32 B, bandwidth: {read: 20 GB/s}}
compute: [{op: fma, dtype: f32, pipe: fma, latency: 6 cycles@core}]
apis: {opencl: {dialect: opencl, launch: {stream: 5 us}}}
)";

class Chip {
 public:
  // `effects`: lines of `assay/virtual/1` besides schema and profile.
  explicit Chip(const std::string& profile = kSmallChip, const std::string& effects = "")
      : folder_(std::filesystem::temp_directory_path() /
                ("assay-virtual-" + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "chip.yaml") << profile;
    std::ofstream(folder_ / "virtual.yaml") << "schema: assay/virtual/1\nprofile: chip\n"
                                            << effects;
    auto device = open("virtual:" + (folder_ / "virtual.yaml").string());
    if (!device.ok()) throw std::runtime_error(render(device.diags()));
    device_ = std::move(device).value();
    kernels_ = probe::all_kernels(probe::shape_of(device_->info()));
  }
  ~Chip() { std::filesystem::remove_all(folder_); }

  Device& device() { return *device_; }
  Module& load(const std::vector<ir::Kernel>& kernels) {
    auto m = device_->load(kernels, {}, {});
    if (!m.ok()) throw std::runtime_error(render(m.diags()));
    kernels_ = kernels;
    module_ = std::move(m).value();
    return *module_;
  }
  Module& module() { return module_ ? *module_ : load(kernels_); }
  int buffer(int64_t bytes) { return module().allocate(bytes).value(); }

  Launch launch(const std::string& kernel, std::vector<BufferRange> arguments,
                std::vector<ir::Queue> queues) {
    module();
    for (size_t i = 0; i < kernels_.size(); ++i)
      if (kernels_[i].name == kernel)
        return {static_cast<int>(i), std::move(arguments), std::move(queues)};
    throw std::runtime_error("no kernel " + kernel);
  }
  // The parameters of a probe kernel, in a buffer.
  BufferRange parameters(const std::vector<double>& all) {
    if (const auto found = placed_.find(all); found != placed_.end()) return found->second;
    const std::vector<float> values(all.begin(), all.end());
    const BufferRange at{
        buffer(std::max<int64_t>(64, static_cast<int64_t>(values.size() * sizeof(float)))), 0};
    module().write(at, std::as_bytes(std::span(values)));
    placed_[all] = at;
    return at;
  }

  // Ticks of a clock of 1 GHz.
  double ticks(const Launch& l) {
    const auto times = module().run({&l, 1}, {});
    if (!times.ok()) throw std::runtime_error(render(times.diags()));
    moved_ = times->moved.at(0);
    return times->busy[0][0] * 1e9;
  }

  // Over each boundary, by the last launch.
  const std::vector<Crossing>& moved() const { return moved_; }

  // Ticks per hop of a warm random chase through `bytes`, with a node per `stride`. `second` > 0:
  // every node is two elements at this distance.
  double chase(int64_t bytes, int64_t stride = 64, int units = 1, int64_t second = 0) {
    const int64_t nodes = bytes / stride,
                  hops =
                      std::max<int64_t>(second > 0 ? 2 * nodes : nodes, 2048) / probe::kChaseSteps +
                      1;
    const int area = buffer(bytes * units), state = buffer(probe::kSlots * 64);
    std::vector<ir::Queue> queues;
    for (int u = 0; u < units; ++u) {
      std::vector<int64_t> order(static_cast<size_t>(nodes));
      std::iota(order.begin(), order.end(), int64_t{0});
      std::shuffle(order.begin(), order.end(), random_);
      std::vector<Word> words;
      for (size_t i = 0; i < order.size(); ++i) {
        const int64_t at = u * bytes + order[i] * stride;
        if (second > 0) words.push_back({at, (at + second) / 8});
        words.push_back({at + second, (u * bytes + order[(i + 1) % order.size()] * stride) / 8});
      }
      module().write_words(area, words);
      const Word start{u * 64, (u * bytes + order[0] * stride) / 8};
      module().write_words(state, {&start, 1});
      queues.push_back({u, u, u + 1});
    }
    const Launch l =
        launch("chase", {{area, 0}, {state, 0}, parameters({static_cast<double>(hops)})}, queues);
    ticks(l);
    return ticks(l) / static_cast<double>(hops * probe::kChaseSteps);
  }

  // Bytes per tick of a warm stream, `blocks` of 4 KiB per unit.
  double stream(const std::string& access, int64_t blocks, int units, int64_t passes = 8) {
    std::vector<BufferRange> arguments;
    for (int i = 0; i < (access.starts_with("copy") ? 2 : 1); ++i)
      arguments.push_back({buffer(blocks * units * probe::kBlockBytes), 0});
    const auto buffers = static_cast<double>(arguments.size());
    std::vector<ir::Queue> queues;
    std::vector<double> asked = {static_cast<double>(passes), static_cast<double>(blocks)};
    for (int u = 0; u < units; ++u) {
      asked.push_back(static_cast<double>(blocks * u * (probe::kBlockBytes / probe::kPlaceBytes)));
      queues.push_back({u, u, u + 1});
    }
    arguments.push_back(parameters(asked));
    const Launch l = launch(access, arguments, queues);
    ticks(l);
    const auto moved = static_cast<double>(blocks * units * passes * probe::kBlockBytes) * buffers;
    return moved / ticks(l);
  }

  double counted(const std::string& kernel, int64_t iterations,
                 std::vector<BufferRange> arguments = {}) {
    arguments.push_back(parameters({static_cast<double>(iterations)}));
    return ticks(launch(kernel, std::move(arguments), {{0, 0, 1}})) /
           static_cast<double>(iterations);
  }

 private:
  std::filesystem::path folder_;
  std::vector<ir::Kernel> kernels_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Module> module_;
  std::vector<Crossing> moved_;
  std::map<std::vector<double>, BufferRange> placed_;
  std::mt19937_64 random_{1};
};

}  // namespace assay::testing
