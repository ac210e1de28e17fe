// The legal space: draws compute the right values and are uniform, neighbours are legal, and what
// construction considers.
#include "compiler/search/legal_space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "compiler/compile.h"
#include "compiler/search/point.h"
#include "compiler/search/space.h"
#include "compiler/search/tile_graphs.h"
#include "lower/legal.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

using compiler::LegalSpace;

model::Machine machine_of(const hwdesc::Target& target) { return *model::prepare(target); }

TEST(LegalSpace, DrawnProgramsComputeTheRightValues) {
  std::mt19937 rng(11);
  std::mt19937_64 draws(12);
  const hwdesc::Target target = small_cpu(4, 2);
  const model::Machine machine = machine_of(target);
  int judged = 0, staged = 0, swapped = 0;
  for (int i = 0; i < 150; ++i) {
    const compiler::Problem problem = random_problem(rng, 4);
    const LegalSpace space(problem, target, machine);
    const std::optional<ir::Program> p = space.draw(draws);
    ASSERT_TRUE(p.has_value());
    ASSERT_TRUE(lower::legal(*p, target).empty());
    if (!space.lowered(*p)) continue;
    const Comparison c = compare(*p, target, rng);
    ASSERT_EQ(c.fault, "") << ir::print_program(*p);
    ASSERT_LT(c.difference, 1e-3) << ir::print_program(*p);
    ++judged;
    staged += p->staging.empty() ? 0 : 1;
    swapped += std::is_sorted(p->tiles.back().order.begin(), p->tiles.back().order.end()) ? 0 : 1;
  }
  EXPECT_GT(judged, 100);
  EXPECT_GT(staged, 10);
  EXPECT_GT(swapped, 10);
}

// One axis of 6, scalar code: each chain of three extents that the rule allows is drawn equally
// often (chi-squared, five standard deviations).
TEST(LegalSpace, ExtentsAreDrawnUniformly) {
  hwdesc::Target target = small_cpu(1, 1);
  const model::Machine machine = machine_of(target);
  const auto graphs = *compiler::tile_graphs_of(*compiler::parse_operator("relu n=6"), target);
  const LegalSpace space(graphs.parts[0].problem, target, machine);
  const auto inside = [](int64_t inner, int64_t outer) {
    return inner <= outer && (outer == 6 || outer % inner == 0);
  };
  std::map<std::vector<int64_t>, int> drawn;
  for (int64_t a = 1; a <= 6; ++a)
    for (int64_t b = 1; b <= 6; ++b)
      for (int64_t c = 1; c <= 6; ++c)
        if (inside(b, a) && inside(c, b)) drawn[{a, b, c}] = 0;
  std::mt19937_64 rng(3);
  const int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    const std::optional<ir::Program> p = space.draw(rng);
    ASSERT_TRUE(p.has_value());
    std::vector<int64_t> chain;
    for (const ir::TileLevel& t : p->tiles) chain.push_back(t.extent[0]);
    ASSERT_TRUE(drawn.contains(chain));
    ++drawn[chain];
  }
  double chi2 = 0;
  const double expected = static_cast<double>(draws) / static_cast<double>(drawn.size());
  for (const auto& [chain, n] : drawn) chi2 += (n - expected) * (n - expected) / expected;
  const auto freedom = static_cast<double>(drawn.size() - 1);
  EXPECT_LT(chi2, freedom + 5 * std::sqrt(2 * freedom)) << drawn.size() << " chains";
}

TEST(LegalSpace, PointsAndProgramsConvertBothWays) {
  std::mt19937 rng(21);
  std::mt19937_64 draws(22);
  const hwdesc::Target target = small_cpu(4, 2);
  const model::Machine machine = machine_of(target);
  for (int i = 0; i < 60; ++i) {
    const compiler::Problem problem = random_problem(rng, 4);
    const compiler::Space s(problem, machine);
    const LegalSpace space(problem, target, machine);
    std::vector<ir::Program> programs = space.constructed();
    if (programs.size() > 5) programs.resize(5);
    if (auto drawn = space.draw(draws)) programs.push_back(*drawn);
    for (const ir::Program& p : programs) {
      const ir::Program back = compiler::program_of(s, compiler::point_of(s, p));
      const auto a = space.lowered(p), b = space.lowered(back);
      ASSERT_EQ(a.has_value(), b.has_value());
      if (!a) continue;
      ASSERT_EQ(ir::hash_of(*a), ir::hash_of(*b)) << ir::print_program(p);
    }
  }
}

TEST(LegalSpace, NeighboursAreLegalAndRight) {
  std::mt19937 rng(31);
  std::mt19937_64 draws(32);
  const hwdesc::Target target = small_cpu(4, 2);
  const model::Machine machine = machine_of(target);
  int judged = 0;
  for (int i = 0; i < 12; ++i) {
    const compiler::Problem problem = random_problem(rng, 4);
    const LegalSpace space(problem, target, machine);
    const std::optional<ir::Program> p = space.draw(draws);
    ASSERT_TRUE(p.has_value());
    const std::vector<ir::Program> near = space.neighbours(*p);
    EXPECT_GE(near.size(), 4U);
    // A fifth of them, since interpreting is slow.
    for (size_t n = static_cast<size_t>(i) % 5; n < near.size(); n += 5) {
      const ir::Program& q = near[n];
      EXPECT_NE(q, *p);
      if (!space.lowered(q)) continue;
      const Comparison c = compare(q, target, rng);
      ASSERT_EQ(c.fault, "") << ir::print_program(q);
      ASSERT_LT(c.difference, 1e-3) << ir::print_program(q);
      ++judged;
    }
  }
  EXPECT_GT(judged, 40);
}

// Widths that construction considers for an operator on a machine of 4, 8 and 16 lanes.
std::set<int> widths_for(const std::string& op) {
  hwdesc::Target target = small_cpu(16, 1);
  for (double width : {4.0, 8.0})
    target.profile.execution.lanes.modes.emplace_back().width.value = hwdesc::Count{width};
  const model::Machine machine = machine_of(target);
  const auto graphs = *compiler::tile_graphs_of(*compiler::parse_operator(op), target);
  std::set<int> out;
  for (const ir::Program& p : LegalSpace(graphs.parts[0].problem, target, machine).constructed())
    out.insert(p.vector_width);
  return out;
}

TEST(Construct, ConsidersNarrowVectorsWhereLanesAreGathered) {
  EXPECT_EQ(widths_for("reduce_sum rows=64 columns=63"), (std::set<int>{4, 8, 16}));
  EXPECT_EQ(widths_for("column_sum rows=64 columns=64"), (std::set<int>{16}));
}

TEST(Construct, ConsidersScalarCodeForShortSumsThatGather) {
  EXPECT_EQ(widths_for("reduce_sum rows=64 columns=12"), (std::set<int>{1, 4, 8, 16}));
  EXPECT_EQ(widths_for("reduce_sum rows=64 columns=63").count(1), 0u) << "too long to unroll";
  EXPECT_EQ(widths_for("column_sum rows=12 columns=64").count(1), 0u) << "nothing is gathered";
}

// A scratchpad serves several waves of a group, which kernels of vectors do not have.
TEST(Construct, PrintsVectorKernelsOnAMachineWithAScratchpad) {
  hwdesc::Target target = small_cpu(8, 2);
  hwdesc::MemoryLevel own = target.profile.memory[0];
  own.name = "local";
  own.managed = hwdesc::Managed::explicit_;
  target.profile.memory.insert(target.profile.memory.begin(), own);
  const model::Machine machine = machine_of(target);
  const auto graphs =
      *compiler::tile_graphs_of(*compiler::parse_operator("matmul m=64 n=64 k=64"), target);
  const compiler::Space space(graphs.parts[0].problem, machine);
  const auto with_waves = [&](bool printed) {
    const std::vector<compiler::Choice> all = compiler::choices_for(space, printed);
    EXPECT_FALSE(all.empty());
    return std::count_if(all.begin(), all.end(),
                         [](const compiler::Choice& c) { return c.wave_groups; });
  };
  EXPECT_EQ(with_waves(true), 0);
  EXPECT_GT(with_waves(false), 0);
}

TEST(Construct, ConsidersNoPrefetchForUnpackedRows) {
  const hwdesc::Target target = small_cpu(8, 1);
  const model::Machine machine = machine_of(target);
  const auto graphs =
      *compiler::tile_graphs_of(*compiler::parse_operator("matmul m=32 n=256 k=64"), target);
  std::set<int> distances;
  for (const ir::Program& p : LegalSpace(graphs.parts[0].problem, target, machine).constructed())
    if (p.staging.empty()) distances.insert(p.prefetch);
  EXPECT_EQ(distances, (std::set<int>{0, 16}));
}

}  // namespace
}  // namespace assay::test
