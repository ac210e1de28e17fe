// Targets whose units have queues, and plans run in drawn orders of these.
#pragma once

#include <map>
#include <optional>

#include "tests/compiler/scheduled_graphs.h"

namespace assay::test {

// `hand_off`: s, from a unit to another; steps of drawn graphs take less than usual ones.
inline hwdesc::Target units_with_queues(int width, int units, std::optional<double> hand_off) {
  hwdesc::Target t = small_cpu(width, units);
  if (hand_off) t.api.device_barrier.value = hwdesc::Seconds{*hand_off};
  t.api.coresident_groups = hwdesc::Fact::yes;
  return t;
}

// The queues of a plan, in an order that is drawn command by command.
class DrawnOrder {
 public:
  explicit DrawnOrder(const ir::Plan& plan)
      : plan_(plan),
        schedule_(ir::schedule_of(plan)),
        position_(static_cast<size_t>(plan.units), 0) {}

  // Calls f(step, first group, last group) for each run. Returns whether all queues end.
  template <class F>
  bool run(std::mt19937& rng, const F& f) {
    while (true) {
      std::vector<int> able;
      int over = 0, at_barrier = 0;
      for (int u = 0; u < plan_.units; ++u) {
        const ir::Command* c = next(u);
        over += c == nullptr;
        at_barrier += c != nullptr && c->kind == ir::Command::Kind::barrier;
        if (c == nullptr || c->kind == ir::Command::Kind::barrier ||
            (c->kind == ir::Command::Kind::wait && counters_[c->counter] < c->value))
          continue;
        able.push_back(u);
      }
      if (over == plan_.units) return true;
      if (at_barrier == plan_.units) {
        for (int u = 0; u < plan_.units; ++u) ++position_[static_cast<size_t>(u)];
        continue;
      }
      if (able.empty()) return false;
      const int u = able[rng() % able.size()];
      const ir::Command& c = *next(u);
      if (c.kind == ir::Command::Kind::signal) ++counters_[c.counter];
      if (c.kind == ir::Command::Kind::run) {
        const auto [begin, end] = ir::groups_of(c, u);
        if (begin < end) f(c.step, begin, end);
      }
      ++position_[static_cast<size_t>(u)];
    }
  }

 private:
  const ir::Command* next(int unit) {
    size_t& p = position_[static_cast<size_t>(unit)];
    while (p < schedule_.size() && (unit < schedule_[p].first || unit >= schedule_[p].last)) ++p;
    return p < schedule_.size() ? &schedule_[p] : nullptr;
  }

  const ir::Plan& plan_;
  const std::vector<ir::Command> schedule_;
  std::vector<size_t> position_;
  std::map<int, int64_t> counters_;
};

// As run_plan has it, but in a drawn order of the units' queues.
inline std::vector<Floats> run_scheduled(const compiler::Compiled& c, const ir::Graph& g,
                                         const hwdesc::Target& target,
                                         const std::vector<Floats>& inputs, std::mt19937& rng) {
  const ir::Plan& plan = c.plan;
  Memory m{Floats(static_cast<size_t>(plan.arena_bytes) / sizeof(float), std::nanf("")),
           Floats(static_cast<size_t>(plan.weights_bytes) / sizeof(float), 0)};
  std::map<std::string, const ir::PlanTensor*> named;
  for (size_t t = 0; t < plan.tensors.size(); ++t) {
    const ir::PlanTensor& tensor = plan.tensors[t];
    if (tensor.cleared) std::fill_n(m.at(tensor), tensor.bytes / int64_t{sizeof(float)}, 0.0F);
    if (tensor.kind == ir::TensorKind::constant)
      write(m, tensor, reinterpret_cast<const float*>(c.constants[t].bytes.data()));
    else if (tensor.kind != ir::TensorKind::temporary)
      named[tensor.name] = &tensor;
  }
  for (size_t i = 0; i < g.inputs.size(); ++i)
    write(m, *named.at(g.tensors[static_cast<size_t>(g.inputs[i])].name), inputs[i].data());
  std::map<int, ir::Kernel> kernels;
  const bool ends = DrawnOrder(plan).run(rng, [&](int s, int64_t first, int64_t last) {
    const ir::Step& step = plan.steps[static_cast<size_t>(s)];
    const ir::Program& p = plan.programs[static_cast<size_t>(step.program)];
    if (!kernels.contains(step.program)) kernels.emplace(step.program, *lower::lower(p, target));
    const ir::Kernel& kernel = kernels.at(step.program);
    std::vector<Floats> buffers;
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      const float* from = m.at(plan, step, i);
      buffers.emplace_back(from, from + kernel.buffers[i].elements);
    }
    const auto ran = codegen::interpret(kernel, buffers, first, last);
    ASSERT_TRUE(ran.ok()) << render(ran.diags());
    for (size_t i = step.arguments.size() - p.graph.outputs.size(); i < buffers.size(); ++i)
      std::copy(buffers[i].begin(), buffers[i].end(), m.at(plan, step, i));
  });
  EXPECT_TRUE(ends);
  std::vector<Floats> out;
  for (const int o : g.outputs) {
    const ir::PlanTensor& t = *named.at(g.tensors[static_cast<size_t>(o)].name);
    Floats v(static_cast<size_t>(ir::elements(g.tensors[static_cast<size_t>(o)])));
    each_element(t.layout, t.shape, [&](size_t to, size_t from) { v[to] = m.at(t)[from]; });
    out.push_back(std::move(v));
  }
  return out;
}

// Of results of the graph's outputs, in order, how many are not those of the reference.
inline int wrong_of(const ir::Graph& g, const std::vector<Floats>& inputs,
                    const std::vector<Floats>& got) {
  const auto want = ir::evaluate(g, inputs);
  EXPECT_TRUE(want.ok());
  int wrong = 0;
  for (size_t o = 0; o < got.size(); ++o)
    for (size_t i = 0; i < got[o].size(); ++i) {
      const double w = (*want)[static_cast<size_t>(g.outputs[o])][i];
      wrong += !(std::abs(static_cast<double>(got[o][i]) - w) < 2e-5 * (1 + std::abs(w)));
    }
  return wrong;
}

}  // namespace assay::test
