#include "runtime/vulkan/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "codegen/computed_types.h"
#include "codegen/render.h"
#include "runtime/launch.h"
#include "runtime/phases.h"

namespace assay::runtime::vulkan {
namespace {

bool has_16_bits(const ir::Buffer& b) {
  return b.dtype == ir::DType::f16 || b.dtype == ir::DType::bf16;
}

bool has_8_bits(const ir::Buffer& b) {
  return b.dtype == ir::DType::i8 || b.dtype == ir::DType::u8;
}

// Group memory: the dialect has words for narrow types there, unless the kernel computes in them.
int64_t group_bytes_of(const ir::Kernel& k, const std::set<ir::DType>& computed) {
  ir::Kernel words = k;
  for (ir::Buffer& b : words.buffers)
    if ((has_16_bits(b) || has_8_bits(b)) && !computed.contains(b.dtype)) b.dtype = ir::DType::i32;
  return codegen::scratch_bytes(words);
}

// Why a kernel's buffer exceeds the limits; "" if it does not.
std::string misfit(const Limits& limits, const ir::Buffer& b, const std::set<ir::DType>& computed) {
  if (b.dtype == ir::DType::f64 && !limits.has_f64)
    return "computes with f64, which the device does not";
  if (b.dtype == ir::DType::i64 && !limits.has_i64)
    return "computes with i64, which the device does not";
  const bool storable = has_16_bits(b)  ? limits.has_16_bits
                        : has_8_bits(b) ? limits.has_8_bits
                                        : true;
  if (b.scope == ir::Scope::global && !storable)
    return fmt::format("loads or stores {}, which the device does not", ir::name_of(b.dtype));
  if ((b.dtype == ir::DType::f16x2 || (b.dtype == ir::DType::f16 && computed.contains(b.dtype))) &&
      !limits.has_f16)
    return "computes with f16, which the device does not";
  if (b.dtype == ir::DType::i8 && computed.contains(b.dtype) && !limits.has_i8)
    return "computes with i8, which the device does not";
  if (b.scope == ir::Scope::scratch || b.space == ir::Space::image) return "";
  if (const int64_t bytes = b.elements * ir::bytes_of(b.dtype); b.space == ir::Space::constant)
    return bytes <= limits.constant_bytes
               ? ""
               : fmt::format("has {} bytes of constants in argument '{}', of {} at most", bytes,
                             b.name, limits.constant_bytes);
  const int64_t bytes = b.elements * ir::bytes_of(b.dtype) + limits.alignment;
  if (bytes > limits.range_bytes)
    return fmt::format("is bound {} bytes by argument '{}', of {} at most", bytes, b.name,
                       limits.range_bytes);
  if (b.elements > std::numeric_limits<int32_t>::max())
    return fmt::format("counts elements of '{}' in 32 bits", b.name);
  return "";
}

// Constants must begin at the device's alignment.
Diags check_constant_alignment(const Session& session, std::span<const Launch> launches,
                               std::span<const ir::Kernel> kernels) {
  Diags diags;
  const int64_t step = session.limits().constant_alignment;
  for (const Launch& l : launches) {
    const ir::Kernel& k = kernels[static_cast<size_t>(l.kernel)];
    size_t argument = 0;
    for (const ir::Buffer& b : k.buffers) {
      if (b.scope == ir::Scope::scratch) continue;
      const int64_t begin = l.arguments[argument++].offset;
      if (b.space == ir::Space::constant && begin % step != 0)
        diags.push_back(error(
            fmt::format("constants '{}' of kernel '{}' begin at {}: {} needs multiples of {} bytes",
                        b.name, k.name, begin, session.id(), step)));
    }
  }
  return diags;
}

}  // namespace

Diags check_kernels(const Session& session, std::span<const ir::Kernel> kernels) {
  const Limits& limits = session.limits();
  Diags diags;
  const auto fail = [&](const ir::Kernel& k, const std::string& what) {
    diags.push_back(error(fmt::format("{}: kernel '{}' {}", session.id(), k.name, what)));
  };
  for (const ir::Kernel& k : kernels) {
    const std::set<ir::DType> computed = codegen::computed_types(k);
    const int64_t needed = group_bytes_of(k, computed),
                  most = std::min<int64_t>(limits.arguments, PushConstants::kArguments);
    if (needed > limits.group_bytes)
      fail(k, fmt::format("needs {} bytes of group memory, of {}", needed, limits.group_bytes));
    const auto arguments =
        std::count_if(k.buffers.begin(), k.buffers.end(),
                      [](const ir::Buffer& b) { return b.scope == ir::Scope::global; });
    if (arguments > most) fail(k, fmt::format("has {} arguments, of {} at most", arguments, most));
    for (const auto& [space, things, allowed] :
         {std::tuple{ir::Space::constant, "constant", limits.constants},
          {ir::Space::image, "image", limits.images}})
      if (const auto n = std::count_if(k.buffers.begin(), k.buffers.end(),
                                       [&](const ir::Buffer& b) { return b.space == space; });
          n > allowed)
        fail(k, fmt::format("has {} {} arguments, of {} at most", n, things, allowed));
    for (const ir::Buffer& b : k.buffers)
      if (const std::string what = misfit(limits, b, computed); !what.empty()) fail(k, what);
  }
  return diags;
}

Result<std::unique_ptr<Module>> VulkanModule::make(std::shared_ptr<Session> session,
                                                   std::span<const ir::Kernel> kernels, Build build,
                                                   bool guarded, Diags warnings) {
  auto m = std::make_unique<VulkanModule>();
  m->session_ = std::move(session);
  const Session& s = *m->session_;
  for (const ir::Kernel& k : kernels) m->reports_.push_back({k.name, 0, -1});
  m->loaded_ = std::make_unique<Loaded>(
      Loaded{s, {kernels.begin(), kernels.end()}, std::move(build), {s, guarded}});
  m->warnings_ = std::move(warnings);
  auto launcher = Launcher::make(*m->loaded_);
  if (!launcher) return launcher.diags();
  m->launcher_ = std::move(launcher).value();
  return std::unique_ptr<Module>(std::move(m));
}

Result<RunTimes> VulkanModule::run(std::span<const Launch> launches, const RunOptions& options) {
  if (options.repeat < 0 || options.warm_up < 0)
    return error("repeat and warm_up can not be negative");
  Buffers& buffers = loaded_->buffers;
  Diags faults = buffers.take_lost();
  if (has_error(faults)) return faults;
  faults = check_launches(launches, loaded_->definitions, buffers.size(),
                          [&](int b) { return buffers.bytes_of(b); });
  if (has_error(faults)) return faults;
  if (faults = check_images(launches, loaded_->definitions,
                            [&](int b) {
                              return buffers.image_of(b) == nullptr ? nullptr
                                                                    : &buffers.image_of(b)->shape;
                            });
      has_error(faults))
    return faults;
  if (faults = check_constant_alignment(*session_, launches, loaded_->definitions);
      has_error(faults))
    return faults;
  if (faults = check_phases_of(options, launches.size()); has_error(faults)) return faults;
  Result<RunTimes> times = launcher_->run(launches, options);
  if (!times) return times;
  faults = buffers.check_guards();
  if (has_error(faults)) return faults;
  return times;
}

}  // namespace assay::runtime::vulkan
