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
#include "runtime/virtual/noise.h"
#include "runtime/virtual/paths.h"
#include "runtime/virtual/products.h"
#include "runtime/virtual/storage.h"
#include "runtime/virtual/streams.h"

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
  // `threads`: of a wave, where lanes are threads; `merges`: launches of a phase are one; `in_two`:
  // as price() takes them. Errors: kernels that can not be simulated; more group memory than the
  // chip has.
  static Result<std::unique_ptr<Module>> make(std::shared_ptr<Simulated> on,
                                              std::span<const ir::Kernel> kernels, int threads,
                                              bool in_sequence, bool merges,
                                              std::span<const ir::DType> in_two = {});

  VirtualModule(std::shared_ptr<Simulated> on, bool in_sequence, bool merges);

  Result<int> allocate(int64_t bytes) override;
  Result<int> allocate_image(const ImageShape& shape) override;
  void write(BufferRange to, std::span<const std::byte> data) override;
  void write_words(int buffer, std::span<const Word> words) override;
  void read(BufferRange from, std::span<std::byte> data) const override;
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;
  Result<Refusal> prepare(std::span<const Launch> launches, const RunOptions& options) override;

  const std::vector<KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return build_seconds_; }
  const Diags& warnings() const override { return warnings_; }

 private:
  struct Repeat {  // what RunTimes has of it
    std::vector<double> steps, busy;
    double total = 0;
    std::vector<std::vector<Crossing>> moved;
    std::vector<Slice> slices;
    int64_t executed = 0;
  };
  struct Call {  // of run()
    std::span<const Launch> launches;
    const RunOptions& options;
    std::vector<std::vector<int>> phases;
    bool lies = false;
  };
  struct Charge {  // seconds
    double said = 0, took = 0;
  };

  Diags check_memory() const;
  Diags check(std::span<const Launch> launches, const RunOptions& options) const;
  Refusal refusal(std::span<const Launch> launches, const RunOptions& options) const;
  Refusal too_many(std::span<const Launch> launches, int resident) const;
  Job job_of(const Launch& launch);
  Machine start(double hz, int active);
  Charge charge(double seconds, bool lies);
  Diags run_phases(const Call& call, Repeat& to);
  Diags run_schedule(const Call& call, Repeat& to);
  // Ticks, and what each launch of the phase moved.
  Result<double> run_phase(const Call& call, const std::vector<int>& phase, double hz, Repeat& to);
  Result<LaunchMemo::Took> busy(const Launch& launch, double clock, int64_t& executed);
  std::vector<Crossing> crossings(std::span<const Hierarchy::Bytes> bytes) const;
  double clock() const;  // now
  bool fails_now(int64_t run);
  bool is_disturbed() const;  // now
  State& state() { return disturbed_ ? *beside_ : alone_; }
  const State& state() const { return disturbed_ ? *beside_ : alone_; }
  void follow_neighbour();
  void fill_caches(int buffer, int64_t offset, int64_t bytes);

  std::shared_ptr<Simulated> on_;
  bool in_sequence_, merges_;
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
