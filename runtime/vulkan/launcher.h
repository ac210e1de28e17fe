// Runs checked launches on the device, in order: one list of commands for all of them, a barrier
// after each, and timestamps around each.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/vulkan/buffers.h"
#include "runtime/vulkan/build.h"

namespace assay::runtime::vulkan {

struct Loaded {  // what a module is made of
  const Session& session;
  std::vector<ir::Kernel> definitions;
  Build build;  // build.kernels[i] is of definitions[i]
  Buffers buffers;
};

// The driver deals the groups out, whatever units the queues name. Boundaries are ends of launches
// by the device's clock; the first one is when the device began.
class Launcher {  // invariant: report_ is zero between runs
 public:
  static Result<std::unique_ptr<Launcher>> make(Loaded& loaded);

  // Errors: what the driver says; a loop that ended early, with its launch; cancelled.
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options);

 private:
  Launcher(Loaded& loaded, Buffer report)
      : loaded_(loaded), session_(loaded.session), report_(std::move(report)) {}

  struct Bound {  // of one launch
    VkDescriptorSet set = VK_NULL_HANDLE;
    Handed handed;
  };
  Diags make_sets(std::span<const Launch> launches);
  void bind(const Launch& launch, Bound& bound);
  void bind(VkDescriptorSet set, uint32_t binding, const VkDescriptorBufferInfo& shown,
            VkDescriptorType type);
  void bind(VkDescriptorSet set, uint32_t binding, const Image& image);
  Diags make_queries(size_t count);
  void record(VkCommandBuffer commands, std::span<const Launch> launches,
              bool stamped);  // `stamped`: with times of each
  void record(VkCommandBuffer commands, const Launch& launch, const Bound& bound);
  Diags run_once(VkCommandBuffer commands, std::span<const Launch> launches, RunTimes* times);
  Diags check_report(std::span<const Launch> launches);
  Diags read_times(size_t launches, RunTimes& times);

  Loaded& loaded_;
  const Session& session_;
  Buffer report_;  // a word: the last launch (from 1) with a loop that ended early
  Owned<VkDescriptorPool> sets_;
  std::vector<Bound> bound_;
  Owned<VkQueryPool> queries_;  // when the device began; each launch's begin and end
  size_t query_count_ = 0;
};

}  // namespace assay::runtime::vulkan
