#include "compiler/passes/place.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "support/best_fit.h"
#include "support/check.h"

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
  std::vector<int> steps = {};  // that touch it
  ir::Order::Span span = {};    // of their commands, in a plan with a schedule
};

// Of tensors in host memory, the transfers that use them.
std::vector<Life> host_lives_of(const ir::Plan& plan) {
  std::vector<Life> out;
  const int last = static_cast<int>(plan.transfers.size());
  for (int t = 0; t < static_cast<int>(plan.tensors.size()); ++t) {
    const ir::PlanTensor& tensor = plan.tensors[static_cast<size_t>(t)];
    if (!tensor.host || tensor.kind == ir::TensorKind::constant) continue;
    Life life{t, last, -1, spaced(tensor.bytes)};
    for (int i = 0; i < last; ++i) {
      if (plan.transfers[static_cast<size_t>(i)].host != t) continue;
      life.first = std::min(life.first, i);
      life.last = i;
    }
    if (tensor.kind != ir::TensorKind::temporary) life.first = 0, life.last = last;
    out.push_back(life);
  }
  return out;
}

std::vector<Life> lives_of(const ir::Plan& plan) {
  std::vector<Life> out;
  const int steps = static_cast<int>(plan.steps.size());
  std::vector<std::vector<int>> touching(plan.tensors.size());  // steps
  for (int s = 0; s < steps; ++s)
    for (const int t : plan.steps[static_cast<size_t>(s)].arguments)
      if (std::vector<int>& of = touching[static_cast<size_t>(t)]; of.empty() || of.back() != s)
        of.push_back(s);
  for (int t = 0; t < static_cast<int>(plan.tensors.size()); ++t) {
    const ir::PlanTensor& tensor = plan.tensors[static_cast<size_t>(t)];
    if (tensor.kind == ir::TensorKind::constant || tensor.host) continue;
    Life life{t, steps, -1, spaced(tensor.bytes), std::move(touching[static_cast<size_t>(t)])};
    if (!life.steps.empty()) life.first = life.steps.front(), life.last = life.steps.back();
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

// Of a plan with a schedule, `order` says what is over before what begins.
bool overlap_in_time(const Life& a, const Life& b, const ir::Order* order) {
  if (a.first <= b.last && b.first <= a.last) return true;
  if (order == nullptr) return false;
  return a.last < b.first ? !order->before(a.span, b.span) : !order->before(b.span, a.span);
}

// Zeroed tensors that share storage have exactly the same offset.
int64_t find_offset(const ir::Plan& plan, const Life& life, const std::vector<Placed>& placed,
                    const ir::Order* order) {
  const ir::PlanTensor& tensor = plan.tensors[static_cast<size_t>(life.tensor)];
  std::vector<std::pair<int64_t, int64_t>> taken;  // [begin, end)
  std::vector<int64_t> same;
  for (const Placed& p : placed) {
    const ir::PlanTensor& other = plan.tensors[static_cast<size_t>(p.life.tensor)];
    if (tensor.cleared && may_share(tensor, other)) same.push_back(p.offset);
    const bool conflict = tensor.cleared || other.cleared || overlap_in_time(life, p.life, order);
    if (conflict) taken.emplace_back(p.offset, p.offset + p.life.bytes);
  }
  for (int64_t offset : same) {
    const bool free = std::none_of(placed.begin(), placed.end(), [&](const Placed& p) {
      return p.offset == offset && overlap_in_time(life, p.life, order);
    });
    if (free) return offset;
  }
  return best_gap(std::move(taken), life.bytes);
}

// Largest first. Returns the bytes of the arena.
int64_t place_lives(ir::Plan& plan, std::vector<Life> lives, const ir::Order* order = nullptr) {
  std::stable_sort(lives.begin(), lives.end(),
                   [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  std::vector<Placed> placed;
  int64_t arena = 0;
  for (const Life& life : lives) {
    const int64_t offset = find_offset(plan, life, placed, order);
    placed.push_back({life, offset});
    plan.tensors[static_cast<size_t>(life.tensor)].offset = offset;
    arena = std::max(arena, offset + life.bytes);
  }
  return arena;
}

void measure(ir::Plan& plan) {
  for (ir::PlanTensor& t : plan.tensors)
    t.bytes = aligned(ir::physical_elements(t.layout, t.shape) * ir::bytes_of(t.dtype));
}

int64_t place_in_file(ir::Plan& plan, bool host) {
  int64_t end = 0;
  for (ir::PlanTensor& t : plan.tensors) {
    if (t.kind != ir::TensorKind::constant || t.host != host) continue;
    t.offset = end;
    end += spaced(t.bytes);
  }
  return end;
}

}  // namespace

int64_t room_for(int64_t bytes) { return spaced(aligned(bytes)); }

void place(ir::Plan& plan) {
  place_constants(plan);
  place_arena(plan);
}

void place_constants(ir::Plan& plan) {
  measure(plan);
  plan.weights_bytes = place_in_file(plan, false);
}

void place_arena(ir::Plan& plan) {
  measure(plan);
  std::vector<Life> lives = lives_of(plan);
  if (plan.schedule.empty()) {
    plan.arena_bytes = place_lives(plan, std::move(lives));
    return;
  }
  const std::optional<ir::Order> order = ir::Order::of(plan.schedule, plan.units);
  ASSAY_CHECK(order.has_value());
  std::vector<std::vector<int>> runs(plan.steps.size());
  for (size_t c = 0; c < plan.schedule.size(); ++c)
    if (plan.schedule[c].kind == ir::Command::Kind::run)
      runs[static_cast<size_t>(plan.schedule[c].step)].push_back(static_cast<int>(c));
  for (Life& life : lives) {
    std::vector<int> commands;
    for (const int s : life.steps)
      commands.insert(commands.end(), runs[static_cast<size_t>(s)].begin(),
                      runs[static_cast<size_t>(s)].end());
    life.span = order->span_of(commands);
  }
  plan.arena_bytes = place_lives(plan, std::move(lives), &*order);
}

void place_host(ir::Plan& plan) {
  measure(plan);
  plan.host_weights_bytes = place_in_file(plan, true);
  plan.host_bytes = place_lives(plan, host_lives_of(plan));
}

}  // namespace assay::compiler
