// The runtime::Module of a CUDA device: loaded code, buffers, and launches enqueued in one stream,
// with an event after each.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/cuda/buffers.h"
#include "runtime/cuda/build.h"
#include "runtime/cuda/function.h"
#include "runtime/cuda/nvml.h"
#include "runtime/cuda/scheduled.h"

namespace assay::runtime::cuda {

// Errors: every kernel with more constants than the device allows.
Diags check_constants(const Session& session, std::span<const ir::Kernel> kernels);

struct ModuleOptions {
  int threads = 1;  // of a wave
  bool guarded = false;
  ScheduleBuilder build_schedule;
};

class CudaModule final : public Module {  // invariant: functions_[i] runs definitions_[i]
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
  double build_seconds() const override { return build_seconds_ + scheduled_.build_seconds(); }
  const Diags& warnings() const override { return warnings_; }

 private:
  struct Constant {
    size_t argument = 0;
    Address address = 0;  // where the kernel reads it
    size_t bytes = 0;
  };
  Diags load(const Build& build);
  Diags check(std::span<const Launch> launches) const;
  Diags load(size_t kernel, const BuiltKernel& built,
             std::map<std::filesystem::path, Code>& loaded);
  Diags make_events(size_t count);
  Diags run_once(std::span<const Launch> launches, RunTimes* times);
  Status capture(std::span<const Launch> launches, Graph& graph, const char*& call);
  Result<RunTimes> run_in_turn(std::span<const Launch> launches, const RunOptions& options);
  Result<RunTimes> run_recorded(std::span<const Launch> launches, const RunOptions& options);
  Diags find_constants(size_t kernel, Code code, const std::string& entry);
  bool has_constants(const Launch& launch) const {
    return !constants_[static_cast<size_t>(launch.kernel)].empty();
  }
  Status fill_constants(const Launch& launch, Event filled);
  Status enqueue(const Launch& launch);
  Diags read_times(std::span<const Launch> launches, RunTimes& times) const;
  Diag failure_at(std::span<const Launch> launches, size_t at, const char* call,
                  Status status) const;

  std::shared_ptr<Session> session_;
  std::vector<Owned<Code>> code_;
  std::vector<Function> functions_;
  const std::vector<ir::Kernel> definitions_;
  std::vector<std::vector<Constant>> constants_;  // of each kernel
  Buffers buffers_;
  std::vector<Owned<Event>>
      events_;  // one before the first launch; per launch: constants filled, and finished
  std::vector<KernelReport> reports_;
  const int threads_;
  Scheduled scheduled_;
  double build_seconds_ = 0;
  Diags warnings_;
};

}  // namespace assay::runtime::cuda
