// Where tensors are placed: as the greedy method does that looks at all tensors one by one.
#include "compiler/passes/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "support/best_fit.h"

namespace assay::test {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

// Steps that read a few earlier results and write one, some of which need zeroed storage.
ir::Plan drawn_plan(std::mt19937& rng) {
  const auto draw = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  ir::Plan plan;
  plan.units = 4;
  ir::Program p;
  p.graph.tensors = {{"y", ir::DType::f32, {1}}};
  p.graph.outputs = {0};
  p.graph.nodes = {ir::Node{}};
  p.graph.nodes[0].output = 0;
  plan.programs = {p};
  const int steps = 3 + draw(40);
  for (int t = 0; t < steps + 2; ++t) {
    ir::PlanTensor tensor;
    tensor.name = "t" + std::to_string(t);
    tensor.shape = {int64_t{64} << draw(6)};
    tensor.layout = ir::row_major(1);
    tensor.cleared = draw(8) == 0;
    if (t < 2) tensor.kind = ir::TensorKind::input;
    if (t > 2 && draw(12) == 0) tensor.kind = ir::TensorKind::output;
    plan.tensors.push_back(tensor);
  }
  for (int s = 0; s < steps; ++s) {
    ir::Step step{"s" + std::to_string(s), 0, {}};
    for (int reads = draw(4); reads > 0; --reads)
      step.arguments.push_back(draw(3) == 0 ? draw(s + 2) : std::max(0, s + 1 - draw(3)));
    if (draw(20) > 0) step.arguments.push_back(s + 2);  // else nothing uses the tensor
    plan.steps.push_back(step);
  }
  return plan;
}

// Steps on one unit each, with a barrier now and then.
std::vector<ir::Command> drawn_schedule(const ir::Plan& plan, std::mt19937& rng) {
  std::vector<ir::Command> out;
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const int unit = static_cast<int>(rng() % 4);
    out.push_back({ir::Command::Kind::run, unit, unit + 1, s, 0, 1});
    if (rng() % 4 == 0) out.push_back({ir::Command::Kind::barrier, 0, 4});
  }
  return out;
}

class OneByOne {  // invariant: refers to a placed plan that outlives it
 public:
  explicit OneByOne(const ir::Plan& plan) : plan_(plan), commands_(plan.tensors.size()) {
    if (!plan.schedule.empty()) order_ = ir::Order::of(plan.schedule, plan.units);
    for (size_t c = 0; c < plan.schedule.size(); ++c)
      if (plan.schedule[c].kind == ir::Command::Kind::run)
        for (const int t : plan.steps[at(plan.schedule[c].step)].arguments)
          commands_[at(t)].push_back(static_cast<int>(c));
  }

  std::vector<int64_t> offsets() {
    std::vector<int> order;
    for (int t = 0; t < static_cast<int>(plan_.tensors.size()); ++t) order.push_back(t);
    std::ranges::stable_sort(order, std::ranges::greater(), [&](int t) { return room(t); });
    std::vector<int64_t> out(plan_.tensors.size(), 0);
    for (size_t i = 0; i < order.size(); ++i)
      out[at(order[i])] = offset(order[i], std::span(order).first(i), out);
    return out;
  }

 private:
  int64_t room(int t) const {
    const int64_t bytes = plan_.tensors[at(t)].bytes;
    return bytes < compiler::kPage
               ? bytes
               : (bytes + compiler::kPage - 1) / compiler::kPage * compiler::kPage +
                     compiler::kPageStagger;
  }

  std::pair<int, int> life(int t) const {
    const int steps = static_cast<int>(plan_.steps.size());
    if (plan_.tensors[at(t)].kind != ir::TensorKind::temporary) return {0, steps};
    std::pair<int, int> out{steps, -1};
    for (int s = 0; s < steps; ++s)
      if (std::ranges::count(plan_.steps[at(s)].arguments, t) > 0)
        out = {std::min(out.first, s), s};
    return out;
  }

  bool at_once(int a, int b) const {
    const auto x = life(a), y = life(b);
    if (x.first <= y.second && y.first <= x.second) return true;
    if (!order_) return false;
    const ir::Order::Span of_a = order_->span_of(commands_[at(a)]),
                          of_b = order_->span_of(commands_[at(b)]);
    return x.second < y.first ? !order_->before(of_a, of_b) : !order_->before(of_b, of_a);
  }

  int64_t offset(int t, std::span<const int> placed, const std::vector<int64_t>& offsets) const {
    const ir::PlanTensor& tensor = plan_.tensors[at(t)];
    std::vector<std::pair<int64_t, int64_t>> taken;
    std::vector<int64_t> same;
    for (const int o : placed) {
      const ir::PlanTensor& other = plan_.tensors[at(o)];
      if (tensor.cleared && other.cleared && tensor.shape == other.shape)
        same.push_back(offsets[at(o)]);
      if (tensor.cleared || other.cleared || at_once(t, o))
        taken.emplace_back(offsets[at(o)], offsets[at(o)] + room(o));
    }
    for (const int64_t offset : same)
      if (std::ranges::none_of(placed,
                               [&](int o) { return offsets[at(o)] == offset && at_once(t, o); }))
        return offset;
    return best_gap(taken, room(t));
  }

  const ir::Plan& plan_;
  std::vector<std::vector<int>> commands_;  // per tensor, those that touch it
  std::optional<ir::Order> order_;
};

TEST(Place, IsAsLookingAtAllTensorsOneByOne) {
  std::mt19937 rng(11);
  int shared = 0;
  for (int round = 0; round < 300; ++round) {
    ir::Plan plan = drawn_plan(rng);
    if (round % 2 == 0) plan.schedule = drawn_schedule(plan, rng);
    compiler::place(plan);
    const std::vector<int64_t> want = OneByOne(plan).offsets();
    int64_t sum = 0;
    for (size_t t = 0; t < plan.tensors.size(); ++t) {
      ASSERT_EQ(plan.tensors[t].offset, want[t]) << "round " << round << ", tensor " << t;
      sum += plan.tensors[t].bytes;
    }
    shared += 3 * plan.arena_bytes < 2 * sum;
  }
  EXPECT_GT(shared, 50);
}

}  // namespace
}  // namespace assay::test
