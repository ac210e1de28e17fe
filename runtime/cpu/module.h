// The CPU's runtime::Module: loaded kernels, buffers, one scratch piece per unit.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cpu/build.h"
#include "runtime/cpu/launches.h"

namespace assay::runtime::cpu {

class CpuModule final : public Module {  // invariant: kernels_ point into libraries_
 public:
  // The pool is shared with the device, which may be destroyed first.
  static Result<std::unique_ptr<Module>> make(std::shared_ptr<Pool> pool,
                                              std::span<const ir::Kernel> kernels,
                                              const Build& build, bool guarded, Diags warnings);

  Result<int> allocate(int64_t bytes) override;
  void write(BufferRange to, std::span<const std::byte> data) override;
  void write_words(int buffer, std::span<const Word> words) override;
  void read(BufferRange from, std::span<std::byte> data) const override;
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;
  const std::vector<KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return build_seconds_; }
  const Diags& warnings() const override { return warnings_; }

 private:
  Diags load(std::span<const ir::Kernel> kernels, const Build& build);
  Diags allocate_scratch();
  Result<RunTimes> run_in_order(std::span<const Launch> launches, const RunOptions& options);

  std::shared_ptr<Pool> pool_;
  std::vector<Library> libraries_;
  std::vector<LoadedKernel> kernels_;
  std::vector<Memory> buffers_, scratch_;
  std::vector<KernelReport> reports_;
  double build_seconds_ = 0;
  bool guarded_ = false;
  Diags warnings_;
};

}  // namespace assay::runtime::cpu
