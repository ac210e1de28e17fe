// The runtime::Module of an OpenCL device: built kernels, buffers, launches in order.
#pragma once

#include <memory>
#include <vector>

#include "runtime/opencl/launcher.h"

namespace assay::runtime::opencl {

// How launches are submitted to the driver.
struct LaunchMode {
  int threads = 1;                  // of a wave, where lanes are threads
  bool in_sequence = false;         // one kernel for many launches
  MergedBuilder build_merged = {};  // where lanes are threads
};

class OpenclModule final : public Module {  // invariant: launcher_ runs what loaded_ holds
 public:
  // `how`: as the build was made. Errors: a kernel that needs more group memory than the
  // device has.
  static Result<std::unique_ptr<Module>> make(std::shared_ptr<Session> session,
                                              std::span<const ir::Kernel> kernels, Build build,
                                              LaunchMode how, bool guarded, Diags warnings);

  Result<int> allocate(int64_t bytes) override { return loaded_->buffers.allocate(bytes); }
  Result<int> allocate_image(const ImageShape& shape) override {
    return loaded_->buffers.allocate_image(shape);
  }
  void write(BufferRange to, std::span<const std::byte> data) override {
    loaded_->buffers.write(to, data);
  }
  void write_words(int buffer, std::span<const Word> words) override {
    loaded_->buffers.write_words(buffer, words);
  }
  std::optional<double> map(BufferRange range, int64_t bytes) override {
    return loaded_->buffers.map(range, bytes);
  }
  void read(BufferRange from, std::span<std::byte> data) const override {
    loaded_->buffers.read(from, data);
  }
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;
  Result<Refusal> prepare(std::span<const Launch> launches, const RunOptions& options) override;
  const std::vector<KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override {
    return loaded_->build.seconds + launcher_->build_seconds();
  }
  const Diags& warnings() const override { return warnings_; }

 private:
  Diags check(std::span<const Launch> launches, const RunOptions& options) const;

  std::shared_ptr<Session> session_;
  std::unique_ptr<Loaded> loaded_;
  std::unique_ptr<Launcher> launcher_;
  std::vector<KernelReport> reports_;
  Diags warnings_;
};

}  // namespace assay::runtime::opencl
