// Several programs for a step: which are sought, which of them a schedule takes, and that what they
// compute side by side is right.
#include "compiler/schedule/programs.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/schedule/schedule.h"
#include "compiler/schedule/widths.h"
#include "compiler/search/few_units.h"
#include "lower/legal.h"
#include "simulator/beside.h"
#include "simulator/estimate.h"
#include "simulator/range.h"
#include "simulator/unit_range.h"
#include "tests/compiler/drawn_order.h"

namespace assay::test {
namespace {

using compiler::Schedule;

size_t at(int i) { return static_cast<size_t>(i); }

enum class Chip { cores, resident, merged, launched };

hwdesc::Target chip_of(Chip chip, int units) {
  if (chip == Chip::cores) return units_with_queues(8, units, 20e-9);
  hwdesc::Target t = small_gpu(4);
  t.profile.topology[0].count.value->v = units;
  t.api.launch.stream.value = hwdesc::Seconds{2e-6};
  t.dialect.merges = chip == Chip::merged;
  if (chip == Chip::launched) t.api.launch.beside.value = hwdesc::Seconds{0.2e-6};
  if (chip != Chip::resident) return t;
  t.api.coresident_groups = hwdesc::Fact::yes;
  hwdesc::BarrierPoint barrier;
  barrier.groups.value = hwdesc::Count{static_cast<double>(units)};
  barrier.time.value = hwdesc::Seconds{0.2e-6};
  t.api.coresident_barrier = {barrier};
  return t;
}

compiler::Ways ways_of(Chip chip, compiler::OtherPrograms others) {
  const bool queues = chip == Chip::cores || chip == Chip::resident;
  return {queues ? "" : "not asked", queues ? "not asked" : "", std::move(others)};
}

model::Machine machine_of(const hwdesc::Target& target) {
  auto m = model::prepare(target);
  EXPECT_TRUE(m.ok()) << render(m.diags());
  return *m;
}

compiler::Compiled in_turn(const ir::Graph& g, const hwdesc::Target& target) {
  compiler::Options options;
  options.fuse = compiler::Fuse::none;
  options.schedule = Schedule::off;
  auto c = compiler::compile(g, target, options);
  EXPECT_TRUE(c.ok()) << render(c.diags());
  return std::move(*c);
}

// Products of one matrix with several.
ir::Graph products(int n, int64_t rows, int64_t depth, int64_t columns) {
  std::mt19937 rng(5);
  Builder b;
  const int x = b.input({rows, depth});
  for (int i = 0; i < n; ++i) b.g.outputs.push_back(b.product(x, columns, rng));
  b.g.name = "products";
  return b.g;
}

double seconds_of(const ir::Program& p, const model::Machine& m) {
  const auto where = simulator::separate_ranges(p);
  return simulator::estimate(p, m, simulator::after(p, m, {}, where), where).seconds;
}

// Steps of the plan that have none of these programs.
size_t others_of(const ir::Plan& plan, const std::vector<ir::Program>& programs) {
  size_t out = 0;
  for (const ir::Step& s : plan.steps)
    out += std::ranges::find(programs, plan.programs[at(s.program)]) == programs.end();
  return out;
}

TEST(FewUnits, ProgramsTakeLessWorkThere) {
  const hwdesc::Target target = chip_of(Chip::resident, 64);
  const model::Machine m = machine_of(target);
  compiler::FewUnits few(target, m, {});
  const compiler::Compiled c = in_turn(products(2, 64, 256, 64), target);
  size_t found = 0;
  for (const ir::Program& fast : c.plan.programs)
    for (const ir::Program& other : few.beside(fast)) {
      ++found;
      EXPECT_EQ(render(lower::legal(other, target)), "");
      EXPECT_EQ(other.graph, fast.graph);
      EXPECT_EQ(other.layouts, fast.layouts);
      const double work = seconds_of(other, simulator::part_of(m, 0, 4)),
                   of_fast = seconds_of(fast, simulator::part_of(m, 0, 4)),
                   quarter = seconds_of(other, simulator::part_of(m, 0, 16)),
                   quarter_of_fast = seconds_of(fast, simulator::part_of(m, 0, 16));
      EXPECT_TRUE(work < of_fast || quarter < quarter_of_fast);
      EXPECT_GE(seconds_of(other, m), 0.99 * seconds_of(fast, m));
    }
  EXPECT_GT(found, 0u);
}

// On a chip whose far memory is as fast as its units want, so that their work decides.
TEST(Programs, OneThatIsSlowerAloneIsFasterBesideOthers) {
  for (const Chip chip : {Chip::resident, Chip::merged}) {
    hwdesc::Target target = chip_of(chip, 16);
    for (hwdesc::MemoryLevel& level : target.profile.memory) level.bandwidth.read.value->v *= 1000;
    const model::Machine m = machine_of(target);
    compiler::FewUnits few(target, m, {});
    const compiler::Compiled c = in_turn(products(16, 64, 256, 128), target);
    ir::Plan with = c.plan, without = c.plan;
    const auto own = compiler::schedule(without, m, Schedule::always, ways_of(chip, {}));
    const auto all =
        compiler::schedule(with, m, Schedule::always,
                           ways_of(chip, [&](const ir::Program& p) { return few.beside(p); }));
    EXPECT_LT(all.seconds, 0.9 * own.seconds);
    EXPECT_EQ(others_of(without, c.plan.programs), 0u);
    EXPECT_GT(others_of(with, c.plan.programs), 0u);
    for (const ir::Program& other : with.programs)
      EXPECT_GE(seconds_of(other, m), 0.99 * seconds_of(c.plan.programs[0], m));
    ASSERT_GE(all.considered.size(), 2u);
    EXPECT_NE(all.considered[all.considered.size() - 2].find("another program than alone"),
              std::string::npos);
    EXPECT_EQ(render(ir::verify(with)), "");
  }
}

TEST(Programs, AChainAsksForNone) {
  std::mt19937 rng(5);
  Builder b;
  int x = b.input({64, 64});
  for (int i = 0; i < 4; ++i) x = b.product(x, 64, rng);
  b.g.outputs = {x};
  for (const Chip chip : {Chip::cores, Chip::resident, Chip::merged}) {
    const hwdesc::Target target = chip_of(chip, 16);
    compiler::Compiled c = in_turn(b.g, target);
    int asked = 0;
    compiler::schedule(c.plan, machine_of(target), Schedule::always,
                       ways_of(chip, [&](const ir::Program&) {
                         ++asked;
                         return std::vector<ir::Program>{};
                       }));
    EXPECT_EQ(asked, 0);
  }
}

// Programs of the same graph in the same layouts, of any speed.
std::vector<ir::Program> drawn_programs(const ir::Program& p, int n, const hwdesc::Target& target,
                                        std::mt19937& rng) {
  const compiler::Problem problem{p.graph, p.layouts, std::vector<bool>(p.layouts.size(), false)};
  std::vector<ir::Program> out;
  for (int i = 0; i < n; ++i) {
    out.push_back(random_program(problem, target, rng));
    out.back().name = p.name;
  }
  return out;
}

TEST(Programs, AreTheFastestOfEachWidth) {
  const hwdesc::Target target = chip_of(Chip::cores, 8);
  const model::Machine m = machine_of(target);
  const ir::Plan plan = in_turn(products(2, 64, 256, 64), target).plan;
  std::mt19937 rng(3);
  const compiler::Offered o = compiler::offered(
      plan, m, [&](const ir::Program& p) { return drawn_programs(p, 2, target, rng); });
  compiler::TouchedParts parts(o.plan);
  const compiler::ListProblem all = compiler::list_problem(o.plan, m, &parts, o.steps);
  for (size_t s = 0; s < o.steps.size(); ++s) {
    std::vector<std::vector<int>> one = o.steps;
    for (std::vector<int>& of : one) of.resize(1);
    std::vector<double> least(static_cast<size_t>(plan.units) + 1,
                              std::numeric_limits<double>::infinity());
    std::vector<int> which(least.size(), -1);
    for (const int p : o.steps[s]) {
      one[s] = {p};
      const compiler::ListProblem own = compiler::list_problem(o.plan, m, &parts, one);
      for (size_t w = 0; w < own.widths.size(); ++w)
        if (own.seconds[s][w] < least[at(own.widths[w])])
          least[at(own.widths[w])] = own.seconds[s][w], which[at(own.widths[w])] = p;
    }
    for (size_t w = 0; w < all.widths.size(); ++w) {
      if (all.seconds[s][w] == std::numeric_limits<double>::infinity()) continue;
      EXPECT_NEAR(all.seconds[s][w], least[at(all.widths[w])], 0.1 * all.seconds[s][w]);
      EXPECT_TRUE(std::ranges::find(o.steps[s], all.programs[s][w]) != o.steps[s].end());
    }
    EXPECT_EQ(all.programs[s].back(), which[at(plan.units)]);
  }
}

TEST(Programs, StayOnUnitsOnlyWhereAllOfThemFit) {
  std::mt19937 rng(9);
  const model::Machine m = machine_of(chip_of(Chip::resident, 16));
  size_t left_out = 0;
  for (int round = 0; round < 200; ++round) {
    compiler::Offered o;
    for (int p = 0; p < 8; ++p)
      o.needs.push_back({4.0 * static_cast<double>(1 + rng() % 32),
                         static_cast<double>(16 + rng() % 128),
                         512.0 * static_cast<double>(rng() % 16)});
    for (int s = 0; s < 3; ++s)
      o.steps.push_back({static_cast<int>(rng() % 8), static_cast<int>(rng() % 8)});
    const std::vector<int> residents = compiler::residents_of(o, m);
    for (const int resident : residents) {
      const auto fits = compiler::fitting(o, m, resident);
      ASSERT_EQ(fits.size(), o.steps.size());
      model::GroupNeeds all;
      for (size_t s = 0; s < fits.size(); ++s) {
        ASSERT_FALSE(fits[s].empty());
        left_out += o.steps[s].size() - fits[s].size();
        for (const int p : fits[s]) all = simulator::larger(all, o.needs[at(p)]);
      }
      EXPECT_GE(simulator::residents(all, m), resident);
    }
    const int most = residents.empty() ? 0 : residents.front();
    EXPECT_TRUE(compiler::fitting(o, m, most + 1).empty());
  }
  EXPECT_GT(left_out, 100u);
}

// Groups of a part of the rows or columns.
ir::Program cut_along(ir::Program p, size_t axis, int64_t parts) {
  for (ir::TileLevel& tile : p.tiles)
    for (size_t a = 0; a < tile.extent.size(); ++a) {
      const int64_t group = p.graph.nodes[0].axes[a].extent / (a == axis ? parts : 1);
      tile.extent[a] = &tile == &p.tiles[0] ? group : std::min(tile.extent[a], group);
    }
  EXPECT_EQ(render(ir::verify(p)), "");
  return p;
}

TEST(Programs, UnitsNeedNothingOfEachOtherWhereStepsAreCutAlike) {
  Builder b;
  b.g.outputs = {b.unary(ir::ScalarOp::tanh, b.unary(ir::ScalarOp::tanh, b.input({16, 64})))};
  ir::Plan plan = in_turn(b.g, chip_of(Chip::cores, 2)).plan;
  ASSERT_EQ(plan.steps.size(), 2u);
  const ir::Program p = plan.programs[0];
  plan.programs = {cut_along(p, 0, 2), cut_along(p, 1, 2)};
  plan.steps[0].program = plan.steps[1].program = 0;
  compiler::TouchedParts parts(plan);
  EXPECT_TRUE(parts.are_own(0, 1, 2));
  parts.take(std::vector{0, 1});
  EXPECT_FALSE(parts.are_own(0, 1, 2));
  EXPECT_TRUE(parts.meet(0, 0, 1, 1, 2));
  parts.take(std::vector{1, 1});
  EXPECT_TRUE(parts.are_own(0, 1, 2));
  EXPECT_FALSE(parts.meet(0, 0, 1, 1, 2));
}

// Elementwise operators on one shape, whose units need nothing of each other where programs cut it
// alike.
ir::Graph elementwise_graph(std::mt19937& rng) {
  Builder b;
  std::vector<int> values = {b.input({48, 64})};
  for (int i = 0; i < 8; ++i)
    values.push_back(b.unary(ir::ScalarOp::tanh, values[rng() % values.size()]));
  for (size_t i = 1; i < values.size(); ++i)
    if (ir::consumers_of(b.g, values[i]).empty()) b.g.outputs.push_back(values[i]);
  b.g.name = "elementwise";
  return b.g;
}

// Each program of the plan is drawn, and so are others for it, so that many steps change theirs.
TEST(Programs, OfDrawnGraphsAreRightInAllOrders) {
  std::mt19937 rng(41);
  size_t others = 0, wrong = 0;
  const int rounds = rounds_of(80);
  for (int round = 0; round < rounds; ++round) {
    const auto chip = static_cast<Chip>(round % 4);
    const ir::Graph g = round % 8 < 4 ? drawn_graph(rng) : elementwise_graph(rng);
    const hwdesc::Target target = chip_of(chip, 2 + static_cast<int>(rng() % 4));
    const model::Machine m = machine_of(target);
    compiler::Compiled c = in_turn(g, target);
    for (ir::Program& p : c.plan.programs) p = drawn_programs(p, 1, target, rng)[0];
    const std::vector<ir::Program> own = c.plan.programs;
    ir::Plan without = c.plan;
    const double alone =
        compiler::schedule(without, m, Schedule::always, ways_of(chip, {})).seconds;
    const auto made = compiler::schedule(
        c.plan, m, Schedule::always,
        ways_of(chip, [&](const ir::Program& p) { return drawn_programs(p, 3, target, rng); }));
    EXPECT_LE(made.seconds, alone);
    ASSERT_EQ(render(ir::verify(c.plan)), "") << ir::print_plan(c.plan);
    others += others_of(c.plan, own);
    std::set<int> used;
    std::set<std::string> names;
    for (const ir::Step& s : c.plan.steps) used.insert(s.program);
    for (const ir::Program& p : c.plan.programs) names.insert(p.name);
    EXPECT_EQ(used.size(), c.plan.programs.size()) << "programs that no step has";
    EXPECT_EQ(names.size(), c.plan.programs.size()) << "kernels are told apart by their names";
    std::vector<Floats> inputs;
    for (const int t : g.inputs)
      inputs.push_back(random_floats(rng, ir::elements(g.tensors[at(t)])));
    for (int order = 0; order < 2; ++order)
      wrong += at(wrong_of(g, inputs, run_scheduled(c, g, target, inputs, rng)));
    ASSERT_EQ(wrong, 0u) << "round " << round << "\n" << ir::print_plan(c.plan);
  }
  EXPECT_GT(others, static_cast<size_t>(rounds));
}

}  // namespace
}  // namespace assay::test
