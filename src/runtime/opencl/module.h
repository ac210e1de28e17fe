// The runtime::Module of an OpenCL device: built kernels, buffers, launches in order.
#pragma once

#include <memory>
#include <vector>

#include "runtime/memory.h"
#include "runtime/opencl/build.h"

namespace assay::runtime::opencl {

class OpenclModule final : public Module {  // invariant: kernels_[i] is of definitions_[i]
 public:
  // Errors: a kernel that needs more group memory than the device has.
  static Result<std::unique_ptr<Module>> make(std::shared_ptr<Session> session,
                                              std::span<const ir::Kernel> kernels, Build build,
                                              bool guarded, Diags warnings);

  Result<int> allocate(int64_t bytes) override;
  void write(BufferRange to, std::span<const std::byte> data) override;
  void write_words(int buffer, std::span<const Word> words) override;
  void read(BufferRange from, std::span<std::byte> data) const override;
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;
  const std::vector<KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return build_.seconds; }
  const Diags& warnings() const override { return warnings_; }

 private:
  struct QueueRange {  // of one launch, in queues_
    int64_t first = 0;
    cl_uint count = 0;  // of each unit
  };

  struct Buffer {
    Memory pages;  // its storage, where the device shares the host's memory
    Owned<cl_mem> memory;
    int64_t bytes = 0;  // without the guard zones
  };

  Result<Buffer> make_buffer(int64_t bytes, int64_t guard) const;
  // Work-items of a launch: more than units, since drivers deal out several at a time.
  size_t slots() const { return 2 * static_cast<size_t>(session_->units); }
  int64_t guard() const { return guarded_ ? kGuardBytes : 0; }
  Diags check(std::span<const Launch> launches) const;
  // Writes the launches' queues to the device, unless they are there.
  Diags write_queues(std::span<const Launch> launches);
  // Enqueues all, waits, and appends the times (unless null).
  Diags run_once(std::span<const Launch> launches, RunTimes* times);
  cl_int set_arguments(const Launch& launch, const QueueRange& queues);
  Diags read_times(std::span<const Owned<cl_event>> events, RunTimes& times) const;
  Diags check_guards() const;

  std::shared_ptr<Session> session_;
  std::vector<ir::Kernel> definitions_;
  Build build_;
  std::vector<Buffer> buffers_;
  Buffer claims_;               // a counter per unit, 64 bytes apart; never reset
  cl_uint claimed_ = 0;         // what each stands at
  Buffer queues_;               // begin and end of each queue of each unit of each launch
  std::vector<cl_long> written_queues_;
  std::vector<QueueRange> queue_ranges_;
  std::vector<KernelReport> reports_;
  bool guarded_ = false;
  Diags warnings_;
  mutable Diags lost_;  // a read or write that failed: the next run reports it
};

}  // namespace assay::runtime::opencl
