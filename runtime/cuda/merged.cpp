#include "runtime/cuda/merged.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "codegen/render.h"
#include "runtime/cuda/function.h"
#include "runtime/phases.h"

namespace assay::runtime::cuda {

std::vector<std::vector<int>> Merged::parts_of(std::span<const Launch> launches,
                                               std::span<const int> phase) const {
  constexpr int kWhole = 0;  // else the waves
  return runtime::parts_of(
      phase, {[&](int l) -> std::optional<int> {
        const ir::Kernel& k =
            kernels_[static_cast<size_t>(launches[static_cast<size_t>(l)].kernel)];
        if (threads_ == 1 || has_constants(k)) return std::nullopt;
        return threads_ * k.waves % kBarrierLanes == 0 ? kWhole : k.waves;
      }});
}

Result<Merged::Ready> Merged::load(std::span<const int> kernels) {
  const Api& api = session_.api;
  Ready out;
  std::vector<ir::Kernel> list;
  for (const int k : kernels) {
    list.push_back(kernels_[static_cast<size_t>(k)]);
    out.threads = std::max(out.threads, int64_t{threads_} * list.back().waves);
    out.group_bytes = std::max(out.group_bytes, codegen::scratch_bytes(list.back()));
  }
  auto built = build_(list);
  if (!built) return built.diags();
  build_seconds_ += built->seconds;
  out.numbers = std::move(built->numbers);
  const auto bytes = read_file(built->kernel.cubin);
  if (!bytes) return error(fmt::format("'{}' can not be read", built->kernel.cubin.string()));
  Code code = nullptr;
  if (const Status s = api.load_code(&code, bytes->data()))
    return failure(api, "cuModuleLoadData", s);
  out.code = {code, api.unload_code};
  if (const Status s = api.get_function(&out.function, code, built->kernel.entry.c_str()))
    return failure(api, "cuModuleGetFunction", s);
  const int share = group_memory_share(session_.limits, out.group_bytes, out.threads,
                                       registers_of(api, out.function));
  if (const Status s = set_group_memory(api, out.function, out.group_bytes, share))
    return failure(api, "cuFuncSetAttribute", s);
  return out;
}

Diags Merged::add(std::span<const Launch> launches, std::span<const int> part,
                  std::vector<Call>& calls, std::vector<int64_t>& words) {
  const auto at = [&](int l) -> const Launch& { return launches[static_cast<size_t>(l)]; };
  std::set<int> distinct;
  for (const int l : part) distinct.insert(at(l).kernel);
  const std::vector<int> kernels(distinct.begin(), distinct.end());
  auto known = ready_.find(kernels);
  if (known == ready_.end()) {
    auto made = load(kernels);
    if (!made) return made.diags();
    known = ready_.emplace(kernels, std::move(*made)).first;
  }
  const Ready& ready = known->second;
  std::vector<MergedLaunch> merged;
  for (const int l : part) {
    const auto place = std::ranges::lower_bound(kernels, at(l).kernel) - kernels.begin();
    merged.push_back({ranges_of(at(l), kernels_[static_cast<size_t>(at(l).kernel)].groups),
                      ready.numbers[static_cast<size_t>(place)],
                      {}});
    for (const BufferRange& r : at(l).arguments)
      merged.back().arguments.push_back(static_cast<int64_t>(buffers_.argument_of(r)));
  }
  for (const MergedTable& t : merged_tables(merged, kMostGroups)) {
    calls.push_back({ready.function, static_cast<unsigned>(ready.threads),
                     static_cast<unsigned>(ready.group_bytes), static_cast<unsigned>(t.groups),
                     words.size(), t.rows, t.stride});
    words.insert(words.end(), t.words.begin(), t.words.end());
  }
  return {};
}

Status Merged::launch(const Call& call, Address table) const {
  Address zero = 0, words = table + call.place * sizeof(int64_t);
  auto rows = static_cast<long long>(call.rows), stride = static_cast<long long>(call.stride);
  std::array<void*, 4> arguments{&zero, &words, &rows, &stride};
  return session_.api.launch(call.function, call.groups, 1, 1, call.threads, 1, 1, call.group_bytes,
                             session_.stream.get(), arguments.data(), nullptr);
}

}  // namespace assay::runtime::cuda
