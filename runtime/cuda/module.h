// The runtime::Module of a CUDA device: loaded code and buffers, on which launches run step after
// step (steps.h) or by a schedule (scheduled.h).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/cuda/buffers.h"
#include "runtime/cuda/build.h"
#include "runtime/cuda/function.h"
#include "runtime/cuda/nvml.h"
#include "runtime/cuda/scheduled.h"
#include "runtime/cuda/steps.h"

namespace assay::runtime::cuda {

// Errors: every kernel with more constants than the device allows.
Diags check_constants(const Session& session, std::span<const ir::Kernel> kernels);

struct ModuleOptions {
  int threads = 1;  // of a wave
  bool guarded = false;
  ScheduleBuilder build_schedule;
  CombinedBuilder build_merged;
};

class CudaModule final : public Module {  // invariant: kernels_ is loaded
 public:
  // Errors: a kernel that needs more group memory than the device has; code that the driver
  // rejects.
  static Result<std::unique_ptr<Module>> make(std::shared_ptr<Session> session,
                                              std::span<const ir::Kernel> kernels,
                                              const Build& build, ModuleOptions options,
                                              Diags warnings);
  CudaModule(std::shared_ptr<Session> session, std::span<const ir::Kernel> kernels,
             ModuleOptions options);

  Result<int> allocate(int64_t bytes) override { return buffers_.allocate(bytes); }
  Result<int> allocate_image(const ImageShape& shape) override {
    return buffers_.allocate_image(shape);
  }
  void write(BufferRange to, std::span<const std::byte> data) override { buffers_.write(to, data); }
  void write_words(int buffer, std::span<const Word> words) override {
    buffers_.write_words(buffer, words);
  }
  void read(BufferRange from, std::span<std::byte> data) const override {
    buffers_.read(from, data);
  }
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;
  Result<Refusal> prepare(std::span<const Launch> launches, const RunOptions& options) override;
  Result<double> joules() const override { return read_joules(session_->bus); }
  const std::vector<KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override {
    return build_seconds_ + steps_.build_seconds() + scheduled_.build_seconds();
  }
  const Diags& warnings() const override { return warnings_; }

 private:
  Diags load(const Build& build);
  Diags check(std::span<const Launch> launches) const;
  Diags load(size_t kernel, const BuiltKernel& built,
             std::map<std::filesystem::path, Code>& loaded);
  Diags find_constants(size_t kernel, Code code, const std::string& entry);

  std::shared_ptr<Session> session_;
  std::vector<Owned<Code>> code_;
  Kernels kernels_;
  Buffers buffers_;
  std::vector<KernelReport> reports_;
  Steps steps_;
  Scheduled scheduled_;
  double build_seconds_ = 0;
  Diags warnings_;
};

}  // namespace assay::runtime::cuda
