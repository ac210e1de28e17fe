#include "runtime/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/schedule.h"

namespace assay::runtime {

Diags check_phases_of(const RunOptions& options, size_t launches) {
  if (options.phases.empty()) return {};
  if (!options.schedule.empty())
    return {error("launches run by a schedule or in phases, not by both")};
  return check_phases(options.phases, launches);
}

Diags refuse_phases(const std::string& device, const RunOptions& options) {
  if (options.phases.empty()) return {};
  return {error(fmt::format("{} does not run phases: its units have queues of their own", device),
                "a schedule says what runs side by side there")};
}

std::vector<std::vector<int>> steps_of(const RunOptions& options, size_t launches) {
  if (!options.phases.empty()) return {options.phases.begin(), options.phases.end()};
  std::vector<std::vector<int>> out;
  for (size_t l = 0; l < launches; ++l) out.push_back({static_cast<int>(l)});
  return out;
}

std::string name_of_step(std::span<const Launch> launches, std::span<const ir::Kernel> kernels,
                         const RunOptions& options, size_t step) {
  const auto name = [&](int launch) {
    const Launch& l = launches[static_cast<size_t>(launch)];
    return fmt::format("'{}'", kernels[static_cast<size_t>(l.kernel)].name);
  };
  if (options.phases.empty())
    return fmt::format("launch {} ({})", step, name(static_cast<int>(step)));
  std::string all;
  std::set<std::string> seen;
  for (const int l : options.phases[step])
    if (seen.insert(name(l)).second) all += (all.empty() ? "" : ", ") + name(l);
  return fmt::format("phase {} ({})", step, all);
}

std::vector<std::vector<int>> parts_of(std::span<const int> phase, const MergeRule& rule) {
  std::vector<std::vector<int>> out;
  std::vector<std::optional<int>> kinds;  // of each part
  for (const int l : phase) {
    const std::optional<int> kind = rule.kind(l);
    size_t at = 0;
    while (at < out.size() && (!kind || kinds[at] != kind || (rule.fits && !rule.fits(out[at], l))))
      ++at;
    if (at == out.size()) {
      out.emplace_back();
      kinds.push_back(kind);
    }
    out[at].push_back(l);
  }
  return out;
}

std::vector<MergedTable> merged_tables(std::span<const MergedLaunch> launches, int64_t most) {
  constexpr int64_t kFixedWords = 3;
  int64_t stride = 0;
  for (const MergedLaunch& l : launches)
    stride = std::max(stride, kFixedWords + static_cast<int64_t>(l.arguments.size()));
  std::vector<MergedTable> out;
  for (const MergedLaunch& l : launches)
    for (const GroupRange& r : l.ranges)
      for (int64_t begin = r.begin; begin < r.end;) {
        if (out.empty() || out.back().groups == most) out.push_back({{}, 0, stride, 0});
        MergedTable& t = out.back();
        t.words.insert(t.words.end(), {t.groups, l.kernel, begin});
        t.words.insert(t.words.end(), l.arguments.begin(), l.arguments.end());
        t.words.resize(static_cast<size_t>(++t.rows * stride));
        const int64_t groups = std::min(r.end - begin, most - t.groups);
        t.groups += groups;
        begin += groups;
      }
  return out;
}

}  // namespace assay::runtime
