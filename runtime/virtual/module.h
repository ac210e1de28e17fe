// Kernels loaded on a simulated chip, their buffers, and the simulated clock.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/virtual/chip.h"
#include "runtime/virtual/code.h"
#include "runtime/virtual/hierarchy.h"
#include "runtime/virtual/launch_memo.h"
#include "runtime/virtual/launcher.h"
#include "runtime/virtual/noise.h"
#include "runtime/virtual/paths.h"
#include "runtime/virtual/products.h"
#include "runtime/virtual/storage.h"

namespace assay::runtime::simulated {

struct Simulated {  // shared by a device and its modules
  std::string id;
  Effects effects;
  Chip chip, beside;  // the second: what a neighbour leaves
  int64_t runs = 0;   // so far, of all modules
  double worked = 0;  // simulated seconds of all runs
};

// The chip, its caches and the prices of kernels, as they are alone or beside a neighbour.
struct State {
  const Chip& chip;
  std::unique_ptr<Hierarchy> hierarchy;
  std::vector<Code> codes;
};

class VirtualModule final : public Module {  // invariant: beside_ exists if a neighbour comes
 public:
  // `threads`: of a wave, where lanes are threads; `in_two`: as price() takes them. Errors: kernels
  // that can not be simulated; more group memory than the chip has.
  static Result<std::unique_ptr<Module>> make(std::shared_ptr<Simulated> on,
                                              std::span<const ir::Kernel> kernels, int threads,
                                              bool in_sequence,
                                              std::span<const ir::DType> in_two = {});

  VirtualModule(std::shared_ptr<Simulated> on, bool in_sequence);

  Result<int> allocate(int64_t bytes) override;
  Result<int> allocate_image(const ImageShape& shape) override;
  void write(BufferRange to, std::span<const std::byte> data) override;
  void write_words(int buffer, std::span<const Word> words) override;
  void read(BufferRange from, std::span<std::byte> data) const override;
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;

  const std::vector<KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return build_seconds_; }
  const Diags& warnings() const override { return warnings_; }

 private:
  Diags check_memory() const;
  Result<LaunchMemo::Took> busy(const Launch& launch, double clock, int64_t& executed);
  std::vector<Crossing> moved() const;  // by the last launch that was simulated
  double clock() const;                 // now
  bool fails_now(int64_t run);
  bool is_disturbed() const;  // now
  State& state() { return disturbed_ ? *beside_ : alone_; }
  const State& state() const { return disturbed_ ? *beside_ : alone_; }
  void follow_neighbour();
  void fill_caches(int buffer, int64_t offset, int64_t bytes);

  std::shared_ptr<Simulated> on_;
  bool in_sequence_;
  Storage storage_;
  State alone_;
  std::unique_ptr<State> beside_;
  bool disturbed_ = false;
  double build_seconds_ = 0;
  Paths paths_;
  Products products_;
  Noise noise_;
  LaunchMemo memo_;
  std::vector<ir::Kernel> kernels_;
  std::vector<KernelReport> reports_;
  Diags warnings_;
};

}  // namespace assay::runtime::simulated
