#include "compiler/passes/place.h"

#include <algorithm>
#include <limits>

namespace assay::compiler {

namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes, int64_t to = kAlignment) { return (bytes + to - 1) / to * to; }

// Bytes to the next tensor, which begins at another page offset.
int64_t spaced(int64_t bytes) {
  return bytes < kPage ? bytes : aligned(bytes, kPage) + kPageStagger;
}

struct Life {
  int tensor = -1;
  int first = 0, last = 0;  // steps
  int64_t bytes = 0;
};

std::vector<Life> lives_of(const ir::Plan& plan) {
  std::vector<Life> out;
  const int steps = static_cast<int>(plan.steps.size());
  for (int t = 0; t < static_cast<int>(plan.tensors.size()); ++t) {
    const ir::PlanTensor& tensor = plan.tensors[static_cast<size_t>(t)];
    if (tensor.kind == ir::TensorKind::constant) continue;
    Life life{t, steps, -1, spaced(tensor.bytes)};
    for (int s = 0; s < steps; ++s) {
      const std::vector<int>& args = plan.steps[static_cast<size_t>(s)].arguments;
      if (std::find(args.begin(), args.end(), t) == args.end()) continue;
      life.first = std::min(life.first, s);
      life.last = s;
    }
    if (tensor.kind != ir::TensorKind::temporary) life.first = 0, life.last = steps;
    out.push_back(life);
  }
  return out;
}

bool may_share(const ir::PlanTensor& a, const ir::PlanTensor& b) {
  if (!a.cleared && !b.cleared) return true;
  return a.cleared && b.cleared && a.shape == b.shape && a.layout == b.layout;
}

struct Placed {
  Life life;
  int64_t offset = 0;
};

bool overlap_in_time(const Life& a, const Life& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Zeroed tensors that share storage have exactly the same offset.
int64_t find_offset(const ir::Plan& plan, const Life& life, const std::vector<Placed>& placed) {
  const ir::PlanTensor& tensor = plan.tensors[static_cast<size_t>(life.tensor)];
  std::vector<std::pair<int64_t, int64_t>> taken;  // [begin, end)
  std::vector<int64_t> same;
  for (const Placed& p : placed) {
    const ir::PlanTensor& other = plan.tensors[static_cast<size_t>(p.life.tensor)];
    if (tensor.cleared && may_share(tensor, other)) same.push_back(p.offset);
    const bool conflict = overlap_in_time(life, p.life) || tensor.cleared || other.cleared;
    if (conflict) taken.emplace_back(p.offset, p.offset + p.life.bytes);
  }
  for (int64_t offset : same) {
    const bool free = std::none_of(placed.begin(), placed.end(), [&](const Placed& p) {
      return p.offset == offset && overlap_in_time(life, p.life);
    });
    if (free) return offset;
  }
  std::sort(taken.begin(), taken.end());
  int64_t best = -1, best_gap = std::numeric_limits<int64_t>::max(), end = 0;
  for (const auto& [begin, stop] : taken) {
    if (begin - end >= life.bytes && begin - end < best_gap) best = end, best_gap = begin - end;
    end = std::max(end, stop);
  }
  return best >= 0 ? best : end;
}

}  // namespace

void place(ir::Plan& plan) {
  int64_t weights = 0;
  for (ir::PlanTensor& t : plan.tensors) {
    t.bytes = aligned(ir::physical_elements(t.layout, t.shape) * ir::bytes_of(t.dtype));
    if (t.kind != ir::TensorKind::constant) continue;
    t.offset = weights;
    weights += spaced(t.bytes);
  }
  plan.weights_bytes = weights;
  std::vector<Life> lives = lives_of(plan);
  std::stable_sort(lives.begin(), lives.end(),
                   [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  std::vector<Placed> placed;
  plan.arena_bytes = 0;
  for (const Life& life : lives) {
    const int64_t offset = find_offset(plan, life, placed);
    placed.push_back({life, offset});
    plan.tensors[static_cast<size_t>(life.tensor)].offset = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + life.bytes);
  }
}

}  // namespace assay::compiler
