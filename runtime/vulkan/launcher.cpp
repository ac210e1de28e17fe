#include "runtime/vulkan/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/launch.h"
#include "runtime/phases.h"

namespace assay::runtime::vulkan {
Result<std::unique_ptr<Launcher>> Launcher::make(Loaded& loaded) {
  auto report = make_buffer(loaded.session, sizeof(uint32_t), 0, Place::host);
  if (!report) return report.diags();
  std::memset(report->mapped, 0, sizeof(uint32_t));
  return std::unique_ptr<Launcher>(new Launcher(loaded, std::move(report).value()));
}

Diags Launcher::make_sets(std::span<const Launch> launches) {
  const Api& api = session_.api();
  bound_.assign(launches.size(), {});
  std::map<VkDescriptorType, uint32_t> needed;
  std::vector<VkDescriptorSetLayout> layouts;
  for (const Launch& l : launches) {
    ++needed[VK_DESCRIPTOR_TYPE_STORAGE_BUFFER];  // the report
    for (const ir::Buffer& b : loaded_.definitions[static_cast<size_t>(l.kernel)].buffers)
      if (b.scope == ir::Scope::global) ++needed[descriptor_of(b)];
    layouts.push_back(loaded_.build.kernels[static_cast<size_t>(l.kernel)]->set.get());
  }
  std::vector<VkDescriptorPoolSize> sizes;
  for (const auto& [type, count] : needed) sizes.push_back({type, count});
  auto pool = made<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  pool.maxSets = static_cast<uint32_t>(launches.size());
  pool.poolSizeCount = static_cast<uint32_t>(sizes.size());
  pool.pPoolSizes = sizes.data();
  VkDescriptorPool handle = VK_NULL_HANDLE;
  if (const VkResult s = api.vkCreateDescriptorPool(session_.device(), &pool, nullptr, &handle))
    return {failure("vkCreateDescriptorPool", s)};
  sets_ = {session_.device(), handle, api.vkDestroyDescriptorPool};
  auto wanted = made<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  wanted.descriptorPool = handle;
  wanted.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  wanted.pSetLayouts = layouts.data();
  std::vector<VkDescriptorSet> sets(launches.size());
  if (const VkResult s = api.vkAllocateDescriptorSets(session_.device(), &wanted, sets.data()))
    return {failure("vkAllocateDescriptorSets", s)};
  for (size_t l = 0; l < launches.size(); ++l) {
    bound_[l].set = sets[l];
    bound_[l].constants.number = static_cast<int32_t>(l) + 1;
    bind(launches[l], bound_[l]);
  }
  return {};
}

void Launcher::bind(const Launch& launch, Bound& bound) {
  const ir::Kernel& kernel = loaded_.definitions[static_cast<size_t>(launch.kernel)];
  bind(bound.set, 0, {report_.handle.get(), 0, sizeof(uint32_t)},
       VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
  uint32_t argument = 0;
  for (const ir::Buffer& b : kernel.buffers) {
    if (b.scope == ir::Scope::scratch) continue;
    const BufferRange& range = launch.arguments[argument];
    const int64_t width = ir::bytes_of(b.dtype);
    if (b.space == ir::Space::image) {
      bind(bound.set, argument + 1, *loaded_.buffers.image_of(range.buffer));
    } else if (b.space == ir::Space::constant) {
      bind(bound.set, argument + 1, loaded_.buffers.bind_constants(range, b.elements * width),
           descriptor_of(b));
    } else {
      const Buffers::Binding at = loaded_.buffers.bind(range);
      ASSAY_CHECK(at.begin % width == 0);
      bound.constants.at[argument] = static_cast<int32_t>(at.begin / width);
      bind(bound.set, argument + 1, at.bound, descriptor_of(b));
    }
    ++argument;
  }
}

namespace {

VkWriteDescriptorSet one_descriptor(VkDescriptorSet set, uint32_t binding, VkDescriptorType type) {
  auto one = made<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
  one.dstSet = set;
  one.dstBinding = binding;
  one.descriptorType = type;
  one.descriptorCount = 1;
  return one;
}

}  // namespace

void Launcher::bind(VkDescriptorSet set, uint32_t binding, const VkDescriptorBufferInfo& buffer,
                    VkDescriptorType type) {
  VkWriteDescriptorSet one = one_descriptor(set, binding, type);
  one.pBufferInfo = &buffer;
  session_.api().vkUpdateDescriptorSets(session_.device(), 1, &one, 0, nullptr);
}

void Launcher::bind(VkDescriptorSet set, uint32_t binding, const Image& image) {
  const VkDescriptorImageInfo shown{VK_NULL_HANDLE, image.view.get(),
                                    VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
  VkWriteDescriptorSet one = one_descriptor(set, binding, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE);
  one.pImageInfo = &shown;
  session_.api().vkUpdateDescriptorSets(session_.device(), 1, &one, 0, nullptr);
}

Diags Launcher::make_queries(size_t count) {
  if (query_count_ >= count) return {};
  auto wanted = made<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  wanted.queryType = VK_QUERY_TYPE_TIMESTAMP;
  wanted.queryCount = static_cast<uint32_t>(count);
  VkQueryPool handle = VK_NULL_HANDLE;
  if (const VkResult s =
          session_.api().vkCreateQueryPool(session_.device(), &wanted, nullptr, &handle))
    return {failure("vkCreateQueryPool", s)};
  queries_ = {session_.device(), handle, session_.api().vkDestroyQueryPool};
  query_count_ = count;
  return {};
}

// Nothing orders the launches of a step.
void Launcher::record(VkCommandBuffer commands, std::span<const Launch> launches,
                      std::span<const std::vector<int>> steps, bool stamped) {
  const Api& api = session_.api();
  const auto stamp = [&](size_t query, VkPipelineStageFlagBits stage) {
    if (stamped)
      api.vkCmdWriteTimestamp(commands, stage, queries_.get(), static_cast<uint32_t>(query));
  };
  if (stamped)
    api.vkCmdResetQueryPool(commands, queries_.get(), 0,
                            static_cast<uint32_t>(2 * steps.size() + 1));
  stamp(0, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
  for (size_t s = 0; s < steps.size(); ++s) {
    stamp(2 * s + 1, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
    for (const int l : steps[s])
      record(commands, launches[static_cast<size_t>(l)], bound_[static_cast<size_t>(l)]);
    wait_for_writes(
        api, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    stamp(2 * s + 2, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
  }
}

void Launcher::record(VkCommandBuffer commands, const Launch& launch, const Bound& bound) {
  const Api& api = session_.api();
  const Pipeline& p = *loaded_.build.kernels[static_cast<size_t>(launch.kernel)];
  api.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p.pipeline.get());
  api.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p.layout.get(), 0, 1,
                              &bound.set, 0, nullptr);
  const int64_t most = session_.limits().groups;
  for (const GroupRange& r :
       ranges_of(launch, loaded_.definitions[static_cast<size_t>(launch.kernel)].groups))
    for (int64_t first = r.begin; first < r.end; first += most) {
      PushConstants constants = bound.constants;
      constants.first = static_cast<int32_t>(first);
      api.vkCmdPushConstants(commands, p.layout.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof constants, &constants);
      api.vkCmdDispatch(commands, static_cast<uint32_t>(std::min(most, r.end - first)), 1, 1);
    }
}

Diags Launcher::check_report(std::span<const Launch> launches) {
  uint32_t number = 0;
  std::memcpy(&number, report_.mapped, sizeof number);
  if (number == 0) return {};
  std::memset(report_.mapped, 0, sizeof number);
  const size_t launch = std::min<size_t>(number, launches.size()) - 1;
  return {error(
      fmt::format(
          "{}: launch {} ('{}'): a loop ended before its last iteration, so its results are wrong",
          session_.id(), launch,
          loaded_.definitions[static_cast<size_t>(launches[launch].kernel)].name),
      "this driver ends loops early; kernels with more groups run shorter ones")};
}

Diags Launcher::read_times(size_t count, RunTimes& times) {
  std::vector<uint64_t> ticks(2 * count + 1);
  const VkResult status = session_.api().vkGetQueryPoolResults(
      session_.device(), queries_.get(), 0, static_cast<uint32_t>(ticks.size()),
      ticks.size() * sizeof ticks[0], ticks.data(), sizeof ticks[0],
      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (status != VK_SUCCESS) return {failure("vkGetQueryPoolResults", status)};
  const Limits& limits = session_.limits();
  // Ticks since the device started; the counter may wrap once.
  const auto since = [&](uint64_t t) { return (t - ticks[0]) & limits.tick_mask; };
  std::vector<double> steps, busy;
  uint64_t before = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t end = since(ticks[2 * i + 2]);
    const uint64_t begin = std::max(since(ticks[2 * i + 1]),
                                    before);  // its timestamp does not wait for the previous step
    if (end < begin) return {error(fmt::format("{}: its clock runs backwards", session_.id()))};
    steps.push_back(static_cast<double>(end - before) * limits.tick_seconds);
    busy.push_back(static_cast<double>(end - begin) * limits.tick_seconds);
    before = end;
  }
  double total = 0;
  for (const double s : steps) total += s;
  times.total.push_back(total);
  times.steps.push_back(std::move(steps));
  times.busy.push_back(std::move(busy));
  return {};
}

Diags Launcher::run_once(VkCommandBuffer commands, std::span<const Launch> launches, size_t steps,
                         RunTimes* times) {
  if (Diags faults = session_.submit(commands); has_error(faults)) {
    for (Diag& d : faults)
      d.message =
          fmt::format("{}: {} launches from '{}' on: {}", session_.id(), launches.size(),
                      loaded_.definitions[static_cast<size_t>(launches[0].kernel)].name, d.message);
    return faults;
  }
  if (Diags faults = check_report(launches); has_error(faults)) return faults;
  return times == nullptr ? Diags{} : read_times(steps, *times);
}

Result<RunTimes> Launcher::run(std::span<const Launch> launches, const RunOptions& options) {
  if (launches.empty()) return RunTimes{};
  if (Diags faults = make_sets(launches); has_error(faults)) return faults;
  const std::vector<std::vector<int>> steps = steps_of(options, launches.size());
  if (Diags faults = make_queries(2 * steps.size() + 1); has_error(faults)) return faults;
  const Result<VkCommandBuffer> commands = session_.begin();
  if (!commands) return commands.diags();
  record(*commands, launches, steps, !options.recorded);
  if (Diags faults = session_.end(*commands); has_error(faults)) return faults;
  if (options.recorded)
    return time_recorded(options,
                         [&] { return run_once(*commands, launches, steps.size(), nullptr); });
  return time_repeats(
      options, [&](RunTimes* times) { return run_once(*commands, launches, steps.size(), times); });
}

}  // namespace assay::runtime::vulkan
