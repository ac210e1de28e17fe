// Steps side by side: schedules of drawn graphs, run in drawn orders; and how units are shared out.
#include "compiler/schedule/schedule.h"

#include <gtest/gtest.h>

#include <optional>

#include "compiler/schedule/allotment.h"
#include "compiler/schedule/list_schedule.h"
#include "tests/compiler/drawn_order.h"

namespace assay::test {
namespace {

using compiler::Assigned;
using compiler::ListProblem;
using Kind = ir::Command::Kind;

TEST(Schedule, DrawnGraphsAreRightInAllOrders) {
  std::mt19937 rng(17);
  int scheduled = 0, waits = 0, wrong = 0;
  const int rounds = rounds_of(80);
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
    for (int order = 0; order < 2; ++order)
      wrong += wrong_of(g, inputs, run_scheduled(*c, g, target, inputs, rng));
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
