#include "runtime/opencl/merged.h"

#include <algorithm>
#include <limits>
#include <set>

#include "codegen/render.h"
#include "runtime/phases.h"

namespace assay::runtime::opencl {

// Distinct ones, in the order of the launches' arguments.
std::vector<cl_mem> Merged::buffers_of(std::span<const Launch> launches,
                                       std::span<const int> part) const {
  std::vector<cl_mem> out;
  for (const int l : part)
    for (const BufferRange& r : launches[static_cast<size_t>(l)].arguments) {
      const cl_mem memory = buffers_.memory_of(r.buffer);
      if (std::ranges::find(out, memory) == out.end()) out.push_back(memory);
    }
  return out;
}

std::vector<std::vector<int>> Merged::parts_of(std::span<const Launch> launches,
                                               std::span<const int> phase) const {
  const auto kind = [&](int l) -> std::optional<int> {
    const ir::Kernel& k = kernel_of(launches[static_cast<size_t>(l)]);
    const bool plain = std::ranges::all_of(
        k.buffers, [](const ir::Buffer& b) { return b.space == ir::Space::plain; });
    const int one[] = {l};
    if (!plain || buffers_of(launches, one).size() > kBuffers) return std::nullopt;
    return k.waves;
  };
  const auto fits = [&](std::span<const int> part, int l) {
    std::vector<int> both(part.begin(), part.end());
    both.push_back(l);
    return buffers_of(launches, both).size() <= kBuffers;
  };
  return runtime::parts_of(phase, {kind, fits});
}

Diags Merged::add(std::span<const Launch> launches, std::span<const int> part,
                  std::vector<Call>& calls, std::vector<cl_long>& words) {
  const auto at = [&](int l) -> const Launch& { return launches[static_cast<size_t>(l)]; };
  std::set<int> distinct;
  for (const int l : part) distinct.insert(at(l).kernel);
  const std::vector<int> kernels(distinct.begin(), distinct.end());
  Call call;
  call.threads = static_cast<size_t>(threads_ * kernel_of(at(part[0])).waves);
  std::vector<ir::Kernel> list;
  for (const int k : kernels) {
    list.push_back(kernels_[static_cast<size_t>(k)]);
    call.group_bytes =
        std::max(call.group_bytes, static_cast<size_t>(codegen::scratch_bytes(list.back())));
  }
  auto known = built_.find(kernels);
  if (known == built_.end()) {
    auto made = build_(list);
    if (!made) return made.diags();
    build_seconds_ += made->seconds;
    known = built_.emplace(kernels, std::move(*made)).first;
  }
  const std::vector<BuiltKernel>& built = known->second.kernels;
  call.kernel = &built[0];
  const std::vector<cl_mem> buffers = buffers_of(launches, part);
  call.buffers.fill(buffers[0]);
  std::ranges::copy(buffers, call.buffers.begin());
  std::vector<MergedLaunch> merged;
  for (const int l : part) {
    const ir::Kernel& kernel = kernel_of(at(l));
    const auto place = std::ranges::lower_bound(kernels, at(l).kernel) - kernels.begin();
    merged.push_back(
        {ranges_of(at(l), kernel.groups), built[static_cast<size_t>(place)].number, {}});
    size_t argument = 0;
    for (const ir::Buffer& b : kernel.buffers) {
      if (b.scope == ir::Scope::scratch) continue;
      const BufferRange& r = at(l).arguments[argument++];
      const auto number =
          std::ranges::find(buffers, buffers_.memory_of(r.buffer)) - buffers.begin();
      merged.back().arguments.insert(merged.back().arguments.end(),
                                     {number, buffers_.offset_of(r) / ir::bytes_of(b.dtype)});
    }
  }
  for (const MergedTable& t : merged_tables(merged, std::numeric_limits<int64_t>::max())) {
    call.groups = static_cast<size_t>(t.groups);
    call.place = static_cast<cl_long>(words.size());
    call.rows = static_cast<cl_int>(t.rows);
    call.stride = static_cast<cl_int>(t.stride);
    calls.push_back(call);
    words.insert(words.end(), t.words.begin(), t.words.end());
  }
  return {};
}

Diags Merged::upload(std::span<const cl_long> words) {
  if (words.empty()) return {};
  return opencl::upload(session_, table_, words.data(), words.size_bytes());
}

cl_int Merged::set_arguments(const Call& call, cl_kernel kernel) const {
  const cl_mem table = table_.memory.get();
  std::vector<std::pair<size_t, const void*>> all{{sizeof table, &table},
                                                  {sizeof call.place, &call.place},
                                                  {sizeof call.rows, &call.rows},
                                                  {sizeof call.stride, &call.stride}};
  for (const cl_mem& b : call.buffers) all.emplace_back(sizeof b, &b);
  all.emplace_back(std::max<size_t>(call.group_bytes, 1), nullptr);
  cl_uint position = 0;
  for (const auto& [size, value] : all)
    if (const cl_int s = session_.api.clSetKernelArg(kernel, position++, size, value)) return s;
  return CL_SUCCESS;
}

}  // namespace assay::runtime::opencl
