// Runs checked launches on the device: one command buffer for all of them, with a barrier after
// each step, which is a launch or a phase, and timestamps around it.
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

// The driver schedules groups, and the units of queues are ignored. Boundaries are ends of launches
// by the device's clock; the first one is when the device started.
class Launcher {  // invariant: report_ is zero between runs
 public:
  static Result<std::unique_ptr<Launcher>> make(Loaded& loaded);

  // Errors: the driver's; a loop that ended early, with its launch; cancelled.
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options);

 private:
  Launcher(Loaded& loaded, Buffer report)
      : loaded_(loaded), session_(loaded.session), report_(std::move(report)) {}

  struct Bound {  // of one launch
    VkDescriptorSet set = VK_NULL_HANDLE;
    PushConstants constants;
  };
  Diags make_sets(std::span<const Launch> launches);
  void bind(const Launch& launch, Bound& bound);
  void bind(VkDescriptorSet set, uint32_t binding, const VkDescriptorBufferInfo& buffer,
            VkDescriptorType type);
  void bind(VkDescriptorSet set, uint32_t binding, const Image& image);
  Diags make_queries(size_t count);
  void record(VkCommandBuffer commands, std::span<const Launch> launches,
              std::span<const std::vector<int>> steps, bool stamped);  // with timestamps
  void record(VkCommandBuffer commands, const Launch& launch, const Bound& bound);
  Diags run_once(VkCommandBuffer commands, std::span<const Launch> launches, size_t steps,
                 RunTimes* times);
  Diags check_report(std::span<const Launch> launches);
  Diags read_times(size_t count, RunTimes& times);

  Loaded& loaded_;
  const Session& session_;
  Buffer report_;  // a word: the last launch (from 1) with a loop that ended early
  Owned<VkDescriptorPool> sets_;
  std::vector<Bound> bound_;
  Owned<VkQueryPool> queries_;  // start of the device; begin and end of each step
  size_t query_count_ = 0;
};

}  // namespace assay::runtime::vulkan
