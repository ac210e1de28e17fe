// The tree behind an estimate adds up to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/model/programs.h"

namespace assay::test {
namespace {

using model::Part;

// By the parts' meaning, from the leaves alone.
double added_up(const Part& p) {
  double sum = 0, most = 0, cubes = 0;
  for (const Part& child : p.parts) {
    const double t = added_up(child);
    sum += t;
    most = std::max(most, t);
    cubes += std::pow(t, 3);
  }
  switch (p.joins) {
    case Part::Joins::leaf:
      return p.seconds;
    case Part::Joins::sum:
      return p.times * sum;
    case Part::Joins::longest:
      return p.times * most;
    case Part::Joins::overlap:
      return p.times * std::pow(cubes, 1.0 / 3);
  }
  return 0;
}

size_t leaves(const Part& p) {
  size_t n = p.parts.empty() ? 1 : 0;
  for (const Part& child : p.parts) n += leaves(child);
  return n;
}

bool rests_on(const Part& p, const std::string& path) {
  return std::ranges::any_of(p.basis, [&](const model::Basis& b) { return b.path == path; }) ||
         std::ranges::any_of(p.parts, [&](const Part& child) { return rests_on(child, path); });
}

// Every third for a chip whose lanes are threads.
Drawn drawn(std::mt19937& rng, int i) {
  if (i % 3 != 0) return draw(rng, i);
  Drawn d{small_gpu(4), {}};
  d.program = random_wave_program(random_problem(rng, 4), d.target, rng);
  return d;
}

TEST(Tree, AddsUpToTheEstimate) {
  std::mt19937 rng(23);
  for (int i = 0; i < 300; ++i) {
    Drawn d = drawn(rng, i);
    hwdesc::Profile& p = d.target.profile;
    if (i % 2 == 0) {
      p.power.cap.value = hwdesc::Watts{1e-3};
      p.power.energy = {{p.memory.back().name, {}}};
      p.power.energy[0].second.value = hwdesc::Joules{1e-12};
    }
    for (size_t l = 0; l < p.memory.size(); ++l)
      p.memory[l].latency.value = hwdesc::Latency{std::pow(4.0, 1.0 + double(l)), "core"};
    if (i % 3 == 0) p.memory.back().overlap.value = hwdesc::Ratio{0.25};
    const model::Machine m = machine(d.target);
    const model::Estimate e = simulator::estimate(d.program, m, {}, {});
    EXPECT_NEAR(added_up(e.tree), e.seconds, 1e-9 * e.seconds) << "program " << i << "\n"
                                                               << simulator::explain(e);
    EXPECT_NEAR(model::time_of(e.tree), e.seconds, 1e-9 * e.seconds) << "program " << i;
    EXPECT_GT(leaves(e.tree), 3U) << "program " << i;
  }
}

TEST(Tree, NamesTheProfileValuesAndWhichAreAssumed) {
  std::mt19937 rng(29);
  Drawn d = draw(rng, 0);
  const model::Estimate e = simulator::estimate(d.program, machine(d.target), {}, {});
  const std::string api = "apis." + d.target.api.name;
  EXPECT_TRUE(rests_on(e.tree, api + ".launch.stream"));
  const std::string text = simulator::explain(e);
  EXPECT_NE(text.find(api + ".launch.stream"), std::string::npos) << text;
  d.target.api.launch.stream.value.reset();
  const std::string unknown =
      simulator::explain(simulator::estimate(d.program, machine(d.target), {}, {}));
  EXPECT_NE(unknown.find("(assumed)"), std::string::npos) << unknown;
}

TEST(Tree, IsLeftOutWhereNobodyReadsIt) {
  std::mt19937 rng(31);
  const Drawn d = draw(rng, 0);
  const model::Estimate e = simulator::estimate(d.program, machine(d.target), {}, {}, nullptr,
                                                simulator::TermDetail::none);
  EXPECT_TRUE(e.tree.parts.empty());
}

}  // namespace
}  // namespace assay::test
