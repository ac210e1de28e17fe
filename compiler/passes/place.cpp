#include "compiler/passes/place.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "ir/phases.h"
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
  std::vector<int> steps = {};           // that touch it
  ir::Order::Span span = {};             // of their commands, in a plan with a schedule
  int first_phase = 0, last_phase = -1;  // of a plan with phases
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
  const auto touch = [&](int t, int s) {
    if (std::vector<int>& of = touching[static_cast<size_t>(t)]; of.empty() || of.back() != s)
      of.push_back(s);
  };
  for (int s = 0; s < steps; ++s) {
    const ir::Step& step = plan.steps[static_cast<size_t>(s)];
    for (const int t : step.arguments) touch(t, s);
    if (step.needed_if) touch(step.needed_if->tensor, s);
  }
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

void find_phases(const ir::Plan& plan, std::vector<Life>& lives) {
  const std::vector<int> phases = ir::phase_of_steps(plan);
  for (Life& life : lives) {
    life.first_phase = static_cast<int>(plan.phases.size());
    for (const int s : life.steps) {
      life.first_phase = std::min(life.first_phase, phases[static_cast<size_t>(s)]);
      life.last_phase = std::max(life.last_phase, phases[static_cast<size_t>(s)]);
    }
  }
}

bool may_share(const ir::PlanTensor& a, const ir::PlanTensor& b) {
  if (!a.cleared && !b.cleared) return true;
  return a.cleared && b.cleared && a.shape == b.shape && a.layout == b.layout;
}

// Of a plan with a schedule, `order` says what is over before what begins. With phases, the one
// that is first in the plan has to be over in an earlier phase; without, all are before all.
bool overlap_in_time(const Life& a, const Life& b, const ir::Order* order) {
  if (a.first <= b.last && b.first <= a.last) return true;
  if (a.last_phase >= 0 && b.last_phase >= 0)
    return a.last < b.first ? a.last_phase >= b.first_phase : b.last_phase >= a.first_phase;
  if (order == nullptr) return false;
  return a.last < b.first ? !order->before(a.span, b.span) : !order->before(b.span, a.span);
}

// Tensors on the same bytes, whose times do not overlap: each is over before the next one begins,
// so that a further one meets one of them only if it meets a neighbour of its own time.
class Slot {
 public:
  // Pre: it meets none of the others; it has bytes.
  void add(const Life& life) { by_time_.insert(place_of(life), &life); }

  bool meets(const Life& life, const ir::Order* order) const {
    const auto next = place_of(life);
    return (next != by_time_.end() && overlap_in_time(life, **next, order)) ||
           (next != by_time_.begin() && overlap_in_time(life, **std::prev(next), order));
  }

 private:
  std::vector<const Life*>::const_iterator place_of(const Life& life) const {
    return std::ranges::lower_bound(by_time_, life.first, {}, &Life::first);
  }

  std::vector<const Life*> by_time_;
};

// What has a place in the arena. Why slots: most tensors of a deep model share few places.
class Arena {  // invariant: refers to a plan, an order and lives that outlive it
 public:
  Arena(const ir::Plan& plan, const ir::Order* order) : plan_(plan), order_(order) {}

  // Zeroed tensors that share storage have exactly the same offset.
  int64_t find_offset(const Life& life) const {
    const ir::PlanTensor& tensor = tensor_of(life);
    for (const auto& [zeroed, offset] : cleared_)
      if (tensor.cleared && may_share(tensor, tensor_of(*zeroed)) && is_free(offset, life))
        return offset;
    std::vector<std::pair<int64_t, int64_t>> taken;  // [begin, end)
    for (const auto& [bytes, slot] : slots_)
      if (tensor.cleared || slot.meets(life, order_)) taken.push_back(bytes);
    for (const auto& [zeroed, offset] : cleared_)
      taken.emplace_back(offset, offset + zeroed->bytes);
    return best_gap(std::move(taken), life.bytes);
  }

  void put(const Life& life, int64_t offset) {
    if (tensor_of(life).cleared)
      cleared_.emplace_back(&life, offset);
    else if (life.bytes > 0)
      slots_[{offset, offset + life.bytes}].add(life);
    end_ = std::max(end_, offset + life.bytes);
  }

  int64_t bytes() const { return end_; }

 private:
  const ir::PlanTensor& tensor_of(const Life& life) const {
    return plan_.tensors[static_cast<size_t>(life.tensor)];
  }

  bool is_free(int64_t offset, const Life& life) const {
    return std::ranges::none_of(cleared_, [&](const std::pair<const Life*, int64_t>& other) {
      return other.second == offset && overlap_in_time(life, *other.first, order_);
    });
  }

  const ir::Plan& plan_;
  const ir::Order* order_;
  std::map<std::pair<int64_t, int64_t>, Slot> slots_;  // by their bytes
  std::vector<std::pair<const Life*, int64_t>> cleared_;
  int64_t end_ = 0;
};

// Largest first. Returns the bytes of the arena.
int64_t place_lives(ir::Plan& plan, std::vector<Life> lives, const ir::Order* order = nullptr) {
  std::stable_sort(lives.begin(), lives.end(),
                   [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  Arena arena(plan, order);
  for (const Life& life : lives) {
    const int64_t offset = arena.find_offset(life);
    arena.put(life, offset);
    plan.tensors[static_cast<size_t>(life.tensor)].offset = offset;
  }
  return arena.bytes();
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
  if (!plan.phases.empty()) find_phases(plan, lives);
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
