#include "runtime/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace assay::runtime {
namespace {

std::vector<const ir::Buffer*> arguments_of(const ir::Kernel& k) {
  std::vector<const ir::Buffer*> out;
  for (const ir::Buffer& b : k.buffers)
    if (b.scope == ir::Scope::global) out.push_back(&b);
  return out;
}

}  // namespace

Diags check_launches(std::span<const Launch> launches, std::span<const ir::Kernel> kernels,
                     size_t buffers, const std::function<int64_t(int)>& bytes_of) {
  Diags diags;
  const auto fail = [&](size_t launch, const std::string& what) {
    diags.push_back(error(fmt::format("launch {}: {}", launch, what)));
  };
  for (size_t l = 0; l < launches.size(); ++l) {
    const Launch& launch = launches[l];
    if (launch.kernel < 0 || static_cast<size_t>(launch.kernel) >= kernels.size()) {
      fail(l, fmt::format("there is no kernel {}, there are {}", launch.kernel, kernels.size()));
      continue;
    }
    const ir::Kernel& k = kernels[static_cast<size_t>(launch.kernel)];
    const auto wanted = arguments_of(k);
    if (wanted.size() != launch.arguments.size())
      fail(l, fmt::format("kernel '{}' takes {} arguments, not {}", k.name, wanted.size(),
                          launch.arguments.size()));
    for (size_t i = 0; i < std::min(wanted.size(), launch.arguments.size()); ++i) {
      const BufferRange& r = launch.arguments[i];
      const int64_t width = ir::bytes_of(wanted[i]->dtype),
                    needed = wanted[i]->elements * wanted[i]->texel * width;
      if (r.buffer < 0 || static_cast<size_t>(r.buffer) >= buffers)
        fail(l, fmt::format("argument '{}' names buffer {}, there are {}", wanted[i]->name,
                            r.buffer, buffers));
      else if (const int64_t size = bytes_of(r.buffer);
               r.offset < 0 || needed > size || r.offset > size - needed || r.offset % width != 0)
        fail(l, fmt::format("argument '{}' needs {} bytes at {}, buffer {} has {}", wanted[i]->name,
                            needed, r.offset, r.buffer, size));
    }
    for (const ir::Queue& q : launch.queues)
      if (q.unit < 0 || q.begin < 0 || q.end > k.groups || q.begin > q.end)
        fail(l, fmt::format("a queue of unit {} holds groups {} to {} of {}", q.unit, q.begin,
                            q.end, k.groups));
  }
  return diags;
}

Diags check_images(std::span<const Launch> launches, std::span<const ir::Kernel> kernels,
                   const std::function<const ImageShape*(int)>& shape_of) {
  Diags diags;
  for (const Launch& l : launches) {
    const ir::Kernel& k = kernels[static_cast<size_t>(l.kernel)];
    size_t argument = 0;
    for (const ir::Buffer* b : arguments_of(k)) {
      const int buffer = l.arguments[argument++].buffer;
      const ImageShape* is = shape_of(buffer);
      const bool wanted = b->space == ir::Space::image;
      if (wanted != (is != nullptr))
        diags.push_back(
            error(fmt::format("argument '{}' of kernel '{}' is {}image, buffer {} is {}", b->name,
                              k.name, wanted ? "an " : "no ", buffer, wanted ? "none" : "one")));
      else if (wanted && (is->width != b->row || is->texel != b->texel || is->dtype != b->dtype))
        diags.push_back(error(fmt::format(
            "image '{}' of kernel '{}' has rows of {} texels of {} {}, buffer {} has {} of {} {}",
            b->name, k.name, b->row, b->texel, ir::name_of(b->dtype), buffer, is->width, is->texel,
            ir::name_of(is->dtype))));
    }
  }
  return diags;
}

std::vector<GroupRange> ranges_of(const Launch& launch, int64_t groups) {
  if (launch.queues.empty()) return {{0, groups}};
  std::vector<GroupRange> out;
  for (const ir::Queue& q : launch.queues)
    if (q.begin < q.end) out.push_back({q.begin, q.end});
  std::sort(out.begin(), out.end(),
            [](const GroupRange& a, const GroupRange& b) { return a.begin < b.begin; });
  std::vector<GroupRange> joined;
  for (const GroupRange& r : out)
    if (!joined.empty() && joined.back().end == r.begin)
      joined.back().end = r.end;
    else
      joined.push_back(r);
  return joined;
}

Result<RunTimes> time_repeats(const RunOptions& options,
                              const std::function<Diags(RunTimes*)>& once) {
  RunTimes times;
  for (int i = 0; i < options.warm_up + options.repeat; ++i) {
    if (options.cancel != nullptr && options.cancel->load()) return error("cancelled");
    if (Diags faults = once(i < options.warm_up ? nullptr : &times); has_error(faults))
      return faults;
  }
  return times;
}

Result<RunTimes> time_recorded(const RunOptions& options, const std::function<Diags()>& once) {
  return time_repeats(options, [&](RunTimes* times) {
    const auto start = std::chrono::steady_clock::now();
    Diags faults = once();
    if (times != nullptr && !has_error(faults))
      times->total.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return faults;
  });
}

}  // namespace assay::runtime
