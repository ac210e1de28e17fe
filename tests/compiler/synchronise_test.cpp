// What units wait for: steps, or the parts of them that they read.
#include "compiler/schedule/synchronise.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/passes/place.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/draw.h"
#include "model/machine.h"
#include "tests/compiler/drawn_order.h"

namespace assay::test {
namespace {

using compiler::WaitsFor;
using Kind = ir::Command::Kind;

// Sums of three neighbouring rows.
int row_sums(Builder& b, int x) {
  const Shape s = b.shape(x);
  return b.node("sums", {s[0] - 2, s[1]}, {3},
                {Builder::at(x, {ir::variable(0) + ir::variable(2), ir::variable(1)})}, ir::read(0),
                ir::Combiner::sum);
}

ir::Graph of_row_sums(int64_t rows, int steps) {
  Builder b;
  int x = b.input({rows, 16});
  for (int i = 0; i < steps; ++i) x = row_sums(b, x);
  b.g.outputs = {x};
  b.g.name = "rows";
  return b.g;
}

compiler::Compiled compiled(const ir::Graph& g, const hwdesc::Target& target) {
  compiler::Options options;
  options.fuse = compiler::Fuse::none;
  options.schedule = compiler::Schedule::off;
  auto c = compiler::compile(g, target, options);
  EXPECT_TRUE(c.ok()) << render(c.diags());
  return *std::move(c);
}

// All steps on all units.
void synchronise(ir::Plan& plan, WaitsFor waits) {
  std::vector<compiler::Assigned> wide;
  for (size_t s = 0; s < plan.steps.size(); ++s)
    wide.push_back({0, plan.units, static_cast<double>(s), static_cast<double>(s) + 1});
  compiler::TouchedParts parts(plan);
  plan.schedule = compiler::synchronised(plan, wide, compiler::dependencies_of(plan), parts, waits);
  compiler::place_arena(plan);
}

int count(const ir::Plan& plan, Kind kind) {
  return static_cast<int>(std::ranges::count(plan.schedule, kind, &ir::Command::kind));
}

// Position in the schedule of the run of a step.
int run_of(const ir::Plan& plan, int step) {
  const auto run = std::ranges::find_if(
      plan.schedule, [&](const ir::Command& c) { return c.kind == Kind::run && c.step == step; });
  return static_cast<int>(run - plan.schedule.begin());
}

TEST(Synchronise, NeighboursWaitForNeighbours) {
  constexpr int kUnits = 8;
  const hwdesc::Target target = units_with_queues(8, kUnits, std::nullopt);
  compiler::Compiled c = compiled(of_row_sums(130, 3), target);
  ASSERT_EQ(c.plan.steps.size(), 3u);
  for (const ir::Program& p : c.plan.programs) ASSERT_GE(ir::group_count(p), kUnits);

  synchronise(c.plan, WaitsFor::steps);
  EXPECT_EQ(render(ir::verify(c.plan)), "");
  EXPECT_EQ(count(c.plan, Kind::barrier), 2);

  synchronise(c.plan, WaitsFor::parts);
  EXPECT_EQ(render(ir::verify(c.plan)), "") << ir::print_plan(c.plan);
  EXPECT_EQ(count(c.plan, Kind::barrier), 0);
  EXPECT_GT(count(c.plan, Kind::wait), 0);
  const auto order = ir::Order::of(c.plan.schedule, kUnits);
  ASSERT_TRUE(order.has_value());
  const int first = run_of(c.plan, 0), second = run_of(c.plan, 1);
  for (int y = 0; y < kUnits; ++y) {
    int awaited = 0;  // of the other units
    for (int x = 0; x < kUnits; ++x) awaited += x != y && order->before(first, x, second, y);
    EXPECT_LE(awaited, 2) << "unit " << y;
  }
  EXPECT_TRUE(order->before(first, 1, second, 0));  // the rows below are another unit's
}

TEST(Synchronise, WhatAllUnitsWroteIsWaitedForAsOne) {
  Builder b;
  const int x = row_sums(b, b.input({66, 64}));
  b.g.outputs = {b.node("square", {64, 64}, {64},
                        {Builder::at(x, {ir::variable(0), ir::variable(2)}),
                         Builder::at(x, {ir::variable(2), ir::variable(1)})},
                        ir::apply(ir::ScalarOp::mul, {ir::read(0), ir::read(1)}),
                        ir::Combiner::sum)};
  b.g.name = "square";
  compiler::Compiled c = compiled(b.g, units_with_queues(8, 4, std::nullopt));
  ASSERT_EQ(c.plan.steps.size(), 2u);
  synchronise(c.plan, WaitsFor::parts);
  EXPECT_EQ(render(ir::verify(c.plan)), "");
  EXPECT_EQ(count(c.plan, Kind::barrier), 1) << ir::print_plan(c.plan);
}

TEST(Synchronise, DrawnSchedulesAreRightInDrawnOrders) {
  std::mt19937 rng(29);
  int of_parts = 0;
  for (int round = 0; round < rounds_of(40); ++round) {
    const ir::Graph g = round % 2 == 0 ? drawn_graph(rng)
                                       : of_row_sums(9 + static_cast<int64_t>(rng() % 60),
                                                     2 + static_cast<int>(rng() % 3));
    const hwdesc::Target target =
        units_with_queues(8, 3 + static_cast<int>(rng() % 6), std::nullopt);
    compiler::Compiled c = compiled(g, target);
    std::vector<Floats> inputs;
    for (const int t : g.inputs)
      inputs.push_back(random_floats(rng, ir::elements(g.tensors[static_cast<size_t>(t)])));
    for (std::vector<ir::Command>& drawn :
         compiler::draw_schedules(c.plan, *model::prepare(target), 4, rng())) {
      c.plan.schedule = std::move(drawn);
      compiler::place_arena(c.plan);
      ASSERT_EQ(render(ir::verify(c.plan)), "") << ir::print_plan(c.plan);
      of_parts += std::ranges::any_of(c.plan.schedule, [&](const ir::Command& command) {
        return command.counter >= static_cast<int>(c.plan.steps.size());
      });
      ASSERT_EQ(wrong_of(g, inputs, run_scheduled(c, g, target, inputs, rng)), 0)
          << "round " << round << "\n"
          << ir::print_plan(c.plan);
    }
  }
  EXPECT_GT(of_parts, 10);
}

}  // namespace
}  // namespace assay::test
