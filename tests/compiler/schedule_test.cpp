// Steps side by side: schedules of drawn graphs, run in drawn orders; and how units are shared out.
#include "compiler/schedule/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "compiler/schedule/allotment.h"
#include "compiler/schedule/list_schedule.h"
#include "tests/compiler/scheduled_graphs.h"

namespace assay::test {
namespace {

using compiler::Assigned;
using compiler::ListProblem;
using Kind = ir::Command::Kind;

// `hand_off`: s, from a unit to another; steps of drawn graphs take less than usual ones.
hwdesc::Target units_with_queues(int width, int units, std::optional<double> hand_off) {
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
        at_barrier += c != nullptr && c->kind == Kind::barrier;
        if (c == nullptr || c->kind == Kind::barrier ||
            (c->kind == Kind::wait && counters_[c->counter] < c->value))
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
      if (c.kind == Kind::signal) ++counters_[c.counter];
      if (c.kind == Kind::run) {
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
std::vector<Floats> run_scheduled(const compiler::Compiled& c, const ir::Graph& g,
                                  const hwdesc::Target& target, const std::vector<Floats>& inputs,
                                  std::mt19937& rng) {
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

TEST(Schedule, DrawnGraphsAreRightInAllOrders) {
  std::mt19937 rng(17);
  int scheduled = 0, waits = 0, wrong = 0;
  const int rounds = rounds_of(150);
  for (int round = 0; round < rounds; ++round) {
    const ir::Graph g = drawn_graph(rng);
    ASSERT_EQ(render(ir::verify(g)), "");
    const hwdesc::Target target = units_with_queues(
        8, 2 + static_cast<int>(rng() % 4), round % 2 == 0 ? std::optional(20e-9) : std::nullopt);
    compiler::Options options;
    options.fuse = rng() % 2 == 0 ? compiler::Fuse::all : compiler::Fuse::none;
    options.schedule = compiler::Schedule::always;
    const auto c = compiler::compile(g, target, options);
    ASSERT_TRUE(c.ok()) << render(c.diags());
    ASSERT_EQ(render(ir::verify(c->plan)), "") << ir::print_plan(c->plan);
    scheduled += !c->plan.schedule.empty();
    for (const ir::Command& command : c->plan.schedule) waits += command.kind == Kind::wait;
    std::vector<Floats> inputs;
    for (const int t : g.inputs)
      inputs.push_back(random_floats(rng, ir::elements(g.tensors[static_cast<size_t>(t)])));
    const auto want = ir::evaluate(g, inputs);
    ASSERT_TRUE(want.ok());
    for (int order = 0; order < 2; ++order) {
      const std::vector<Floats> got = run_scheduled(*c, g, target, inputs, rng);
      for (size_t o = 0; o < got.size(); ++o)
        for (size_t i = 0; i < got[o].size(); ++i) {
          const double w = (*want)[static_cast<size_t>(g.outputs[o])][i];
          wrong += !(std::abs(static_cast<double>(got[o][i]) - w) < 2e-5 * (1 + std::abs(w)));
        }
    }
    ASSERT_EQ(wrong, 0) << "round " << round << "\n" << ir::print_plan(c->plan);
  }
  EXPECT_GT(scheduled, rounds / 2);
  EXPECT_GT(waits, rounds / 4);
}

// A step that takes `work` on one unit, and on more `work / units + overhead`.
std::vector<double> divided(double work, const std::vector<int>& widths, double overhead) {
  std::vector<double> out;
  for (const int w : widths) out.push_back(work / w + (w > 1 ? overhead : 0));
  return out;
}

TEST(ListSchedule, IndependentStepsRunSideBySide) {
  ListProblem p{2, {1, 2}, {}, {}, 0};
  for (int s = 0; s < 2; ++s) p.seconds.push_back(divided(10, p.widths, 2));
  p.dependencies.resize(2);
  const std::vector<Assigned> side = compiler::list_schedule(p, 1.01);
  EXPECT_DOUBLE_EQ(end_of(side), 10);
  EXPECT_NE(side[0].first, side[1].first);
  EXPECT_DOUBLE_EQ(end_of(compiler::list_schedule(p, 0)), 14) << "each as wide as it is fastest";
}

TEST(ListSchedule, AChainIsAsWideAsItIsFastest) {
  ListProblem p{4, {1, 2, 4}, {}, {{}, {0}, {1}}, 0};
  for (int s = 0; s < 3; ++s) p.seconds.push_back(divided(8, p.widths, 0.5));
  for (const double efficiency : {0.0, 0.8, 1.01})
    EXPECT_DOUBLE_EQ(end_of(compiler::list_schedule(p, efficiency)), 3 * 2.5) << efficiency;
}

TEST(ListSchedule, TheLongestPathGoesFirst) {
  // A long chain beside short steps, on two units.
  ListProblem p{2, {1, 2}, {}, {{}, {}, {}, {}, {3}, {4}}, 0};
  for (int s = 0; s < 6; ++s) p.seconds.push_back({1, 1});  // wide is no faster
  const std::vector<Assigned> all = compiler::list_schedule(p, 1.01);
  EXPECT_DOUBLE_EQ(all[3].begin, 0);
  EXPECT_DOUBLE_EQ(end_of(all), 3);
}

TEST(ListSchedule, KeepsToDependenciesUnitsAndBounds) {
  std::mt19937 rng(3);
  for (int round = 0; round < 500; ++round) {
    const int units = 1 + static_cast<int>(rng() % 9);
    ListProblem p;
    p.units = units;
    for (int w = 1; w < units; w *= 2) p.widths.push_back(w);
    p.widths.push_back(units);
    p.hand_off = 0.1 * static_cast<double>(rng() % 3);
    const int steps = 1 + static_cast<int>(rng() % 20);
    for (int s = 0; s < steps; ++s) {
      p.seconds.push_back(divided(1 + static_cast<double>(rng() % 9), p.widths,
                                  0.1 * static_cast<double>(rng() % 5)));
      p.dependencies.emplace_back();
      for (int b = 0; b < s; ++b)
        if (rng() % 4 == 0) p.dependencies.back().push_back(b);
    }
    const compiler::WidthOptions options = compiler::width_options(p);
    const double least =
        std::max({compiler::longest_path(p, options), compiler::least_work(p, options),
                  compiler::allotted(p, options).least});
    for (const double efficiency : {0.0, 0.8, 1.01}) {
      const std::vector<Assigned> all = compiler::list_schedule(p, efficiency);
      for (int s = 0; s < steps; ++s) {
        const Assigned& a = all[static_cast<size_t>(s)];
        ASSERT_TRUE(0 <= a.first && a.first < a.last && a.last <= units);
        for (const int b : p.dependencies[static_cast<size_t>(s)])
          ASSERT_GE(a.begin, all[static_cast<size_t>(b)].end - 1e-12);
        for (int o = 0; o < s; ++o) {
          const Assigned& other = all[static_cast<size_t>(o)];
          const bool meet = a.first < other.last && other.first < a.last;
          ASSERT_TRUE(!meet || a.begin >= other.end - 1e-12 || other.begin >= a.end - 1e-12);
        }
      }
      ASSERT_GE(end_of(all), least - 1e-9);
    }
  }
}

}  // namespace
}  // namespace assay::test
