// What the caches hold between programs: tensors in order of last use.
#include <algorithm>

#include "simulator/residency.h"

namespace assay::simulator {

namespace {

double storage_bytes(const ir::Program& p, int tensor) {
  const ir::Tensor& t = p.graph.tensors[static_cast<size_t>(tensor)];
  return static_cast<double>(ir::physical_elements(p.layouts[static_cast<size_t>(tensor)], t.shape)) *
         ir::bytes_of(t.dtype);
}

// The part of `bytes` that lies within the `capacity` most recent bytes when `newer` bytes were used
// after it.
double part_within(double capacity, double newer, double bytes) {
  return bytes <= 0 ? 0 : std::clamp((capacity - newer) / bytes, 0.0, 1.0);
}

}  // namespace

model::Residency residency_of(const ir::Program& p, const model::Machine& m, const CacheState& before,
                              std::span<const int> keys) {
  model::Residency out(p.graph.tensors.size(), std::vector<double>(m.levels.size(), 0));
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    if (t >= keys.size() || keys[t] < 0) continue;
    double newer = 0;
    for (const CacheState::Entry& e : before.recent) {
      if (e.key != keys[t]) {
        newer += e.bytes;
        continue;
      }
      for (size_t l = 0; l < m.levels.size(); ++l) {
        const model::Level& level = m.levels[l];
        const double within = part_within(level.capacity.value * level.instances, newer, e.bytes);
        // A private cache holds what its own unit used. The schedule gives a unit the same part of
        // the output's axes from step to step, so half of it (a convention) is taken to be its own.
        out[t][l] = level.shared || level.instances <= 1 ? within : within / 2;
      }
      break;
    }
  }
  return out;
}

CacheState after(const ir::Program& p, const model::Machine& m, CacheState before, std::span<const int> keys) {
  double limit = 0;
  for (const model::Level& l : m.levels)
    if (!l.last) limit = std::max(limit, 2 * l.capacity.value * l.instances);
  for (int t : ir::arguments_of(p)) {
    const auto i = static_cast<size_t>(t);
    if (i >= keys.size() || keys[i] < 0) continue;
    std::erase_if(before.recent, [&](const CacheState::Entry& e) { return e.key == keys[i]; });
    before.recent.insert(before.recent.begin(), CacheState::Entry{keys[i], storage_bytes(p, t)});
  }
  double sum = 0;
  size_t keep = 0;
  while (keep < before.recent.size() && sum <= limit) sum += before.recent[keep++].bytes;
  before.recent.resize(keep);
  return before;
}

}  // namespace assay::simulator
