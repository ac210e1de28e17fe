// Steps launched together: how they are dealt to phases, and drawn graphs that run so.
#include "compiler/schedule/phases.h"

#include <gtest/gtest.h>

#include <numeric>

#include "compiler/schedule/schedule.h"
#include "tests/compiler/scheduled_graphs.h"

namespace assay::test {
namespace {

using compiler::PhaseProblem;
using Phases = std::vector<std::vector<int>>;

// s; what the search itself takes a phase for.
double seconds_of(const PhaseProblem& p, const Phases& phases) {
  double out = 0;
  for (const std::vector<int>& phase : phases) {
    double longest = 0, work = 0;
    for (const int s : phase) {
      longest = std::max(longest, p.steps[static_cast<size_t>(s)].seconds);
      work += p.steps[static_cast<size_t>(s)].work;
    }
    out += p.launch + p.beside * static_cast<double>(phase.size() - 1) + std::max(longest, work);
  }
  return out;
}

TEST(PhaseSearch, IndependentSmallStepsAreOneLaunch) {
  PhaseProblem p{{{5, 1, 0}, {4, 1, 0}, {3, 1, 0}}, {{}, {}, {}}, 2, 0};
  EXPECT_EQ(compiler::phases(p), (Phases{{0, 1, 2}}));
  p.steps[1].kind = 1;
  EXPECT_EQ(compiler::phases(p), (Phases{{1}, {0, 2}}));
}

TEST(PhaseSearch, AChainIsALaunchForEach) {
  const PhaseProblem p{{{5, 1, 0}, {4, 1, 0}, {3, 1, 0}}, {{}, {0}, {1}}, 2, 0};
  EXPECT_EQ(compiler::phases(p), (Phases{{0}, {1}, {2}}));
  EXPECT_DOUBLE_EQ(compiler::longest_path(p), 3 * 2 + 12);
  EXPECT_DOUBLE_EQ(compiler::least_work(p), 3 * 2 + 3);
}

TEST(PhaseSearch, AShortStepHidesBehindALongOne) {
  // A chain of a long and a short step beside one that is as long as the first.
  const PhaseProblem p{{{9, 1, 0}, {2, 1, 0}, {9, 1, 0}}, {{}, {0}, {}}, 1, 0};
  EXPECT_EQ(compiler::phases(p), (Phases{{0, 2}, {1}}));
}

TEST(PhaseSearch, LaunchesThatCostMoreThanTheySaveStayApart) {
  const PhaseProblem p{{{5, 5, 0}, {5, 5, 0}}, {{}, {}}, 2, 3};
  EXPECT_EQ(compiler::phases(p).size(), 2u);
}

TEST(PhaseSearch, OtherProgramsStandWhereWorkDecides) {
  // Two steps that fill the chip, and a third behind them alone.
  PhaseProblem p{{{5, 4, 0}, {5, 4, 0}, {5, 4, 0}}, {{}, {}, {0, 1}}, 2, 0};
  p.others = {{6, 3, 1}, {6, 3, 1}, {6, 3, 1}};
  const Phases phases = compiler::phases(p);
  EXPECT_EQ(phases, (Phases{{0, 1}, {2}}));
  EXPECT_DOUBLE_EQ(compiler::beyond_longest(p, phases), 4 + 4 - 5);
  EXPECT_TRUE(compiler::takes_others(p, phases[0]));
  EXPECT_FALSE(compiler::takes_others(p, phases[1]));
  EXPECT_DOUBLE_EQ(compiler::longest_path(p), 2 * (2 + 5));
  EXPECT_DOUBLE_EQ(compiler::least_work(p), 2 * 2 + 3 * 3);
  EXPECT_DOUBLE_EQ(compiler::beyond_longest(p, {{0}, {1}, {2}}), 0);
}

TEST(PhaseSearch, StepsAreOfOneKindByEitherOfTheirPrograms) {
  PhaseProblem p{{{5, 1, 0}, {5, 1, 1}}, {{}, {}}, 2, 0};
  p.others = {{6, 1, 0}, {6, 1, 0}};
  const Phases together{{0, 1}};
  EXPECT_EQ(compiler::phases(p), together);
  EXPECT_TRUE(compiler::takes_others(p, together[0]));
  p.others[1].kind = 1;
  EXPECT_EQ(compiler::phases(p).size(), 2u);
}

PhaseProblem drawn_problem(std::mt19937& rng, int most) {
  PhaseProblem p;
  const int steps = 1 + static_cast<int>(rng() % static_cast<unsigned>(most));
  for (int s = 0; s < steps; ++s) {
    const double seconds = 1 + static_cast<double>(rng() % 9);
    p.steps.push_back(
        {seconds, seconds * static_cast<double>(1 + rng() % 4) / 4, static_cast<int>(rng() % 2)});
    p.dependencies.emplace_back();
    for (int b = 0; b < s; ++b)
      if (rng() % 4 == 0) p.dependencies.back().push_back(b);
  }
  p.launch = 0.5 * static_cast<double>(rng() % 8);
  p.beside = rng() % 2 == 0 ? 0 : 0.3 * p.launch;
  return p;
}

TEST(PhaseSearch, KeepsToDependenciesKindsAndBounds) {
  std::mt19937 rng(11);
  for (int round = 0; round < 500; ++round) {
    const PhaseProblem p = drawn_problem(rng, 25);
    const Phases phases = compiler::phases(p);
    std::vector<int> phase(p.steps.size(), -1);
    for (size_t i = 0; i < phases.size(); ++i)
      for (const int s : phases[i]) {
        ASSERT_EQ(phase[static_cast<size_t>(s)], -1);
        phase[static_cast<size_t>(s)] = static_cast<int>(i);
        ASSERT_EQ(p.steps[static_cast<size_t>(s)].kind,
                  p.steps[static_cast<size_t>(phases[i][0])].kind);
      }
    double in_turn = 0;
    for (size_t s = 0; s < p.steps.size(); ++s) {
      ASSERT_GE(phase[s], 0);
      in_turn += p.launch + p.steps[s].seconds;
      for (const int b : p.dependencies[s]) ASSERT_LT(phase[static_cast<size_t>(b)], phase[s]);
    }
    ASSERT_LE(seconds_of(p, phases), in_turn + 1e-9);
    ASSERT_GE(seconds_of(p, phases), compiler::longest_path(p) - 1e-9);
    ASSERT_GE(seconds_of(p, phases), compiler::least_work(p) - 1e-9);
  }
}

// Against all ways of putting few steps into phases.
TEST(PhaseSearch, IsNearTheBestOfSmallProblems) {
  std::mt19937 rng(29);
  double sum = 0, best_sum = 0;
  for (int round = 0; round < 200; ++round) {
    const PhaseProblem p = drawn_problem(rng, 6);
    const size_t n = p.steps.size();
    double best = seconds_of(p, compiler::phases(p));
    sum += best;
    std::vector<size_t> phase(n, 0);
    for (;;) {
      Phases phases(n);
      bool sound = true;
      for (size_t s = 0; s < n; ++s) {
        for (const int b : p.dependencies[s])
          sound = sound && phase[static_cast<size_t>(b)] < phase[s];
        std::vector<int>& of = phases[phase[s]];
        sound =
            sound && (of.empty() || p.steps[static_cast<size_t>(of[0])].kind == p.steps[s].kind);
        of.push_back(static_cast<int>(s));
      }
      std::erase(phases, std::vector<int>{});
      if (sound) best = std::min(best, seconds_of(p, phases));
      size_t s = 0;
      while (s < n && ++phase[s] == n) phase[s++] = 0;
      if (s == n) break;
    }
    best_sum += best;
  }
  EXPECT_LT(sum, 1.05 * best_sum);
}

hwdesc::Target launching(int units, bool merges) {
  hwdesc::Target t = small_gpu(4);
  t.profile.topology[0].count.value->v = units;
  t.dialect.merges = merges;
  t.api.launch.stream.value = hwdesc::Seconds{2e-6};
  if (!merges) t.api.launch.beside.value = hwdesc::Seconds{0.5e-6};
  return t;
}

TEST(Phases, OfDrawnGraphsAreSoundAndFaster) {
  std::mt19937 rng(23);
  int phased = 0;
  const int rounds = rounds_of(40);
  for (int round = 0; round < rounds; ++round) {
    const ir::Graph g = drawn_graph(rng);
    const hwdesc::Target target = launching(2 + static_cast<int>(rng() % 30), rng() % 2 == 0);
    compiler::Options options;
    options.fuse = rng() % 2 == 0 ? compiler::Fuse::all : compiler::Fuse::none;
    const auto c = compiler::compile(g, target, options);
    ASSERT_TRUE(c.ok()) << render(c.diags());
    ASSERT_EQ(render(ir::verify(c->plan)), "") << ir::print_plan(c->plan);
    EXPECT_TRUE(c->plan.schedule.empty());
    phased += !c->plan.phases.empty();
    if (c->plan.phases.empty()) continue;
    EXPECT_LT(c->plan.phases.size(), c->plan.steps.size());
    EXPECT_LT(c->scheduled.seconds, c->scheduled.in_turn);
  }
  EXPECT_GT(phased, rounds / 2);
}

TEST(Phases, NothingIsTriedWhereStepsRunOneAfterTheOther) {
  std::mt19937 rng(23);
  const ir::Graph g = drawn_graph(rng);
  compiler::Options options;
  options.schedule = compiler::Schedule::off;
  const auto off = compiler::compile(g, launching(16, true), options);
  ASSERT_TRUE(off.ok()) << render(off.diags());
  EXPECT_TRUE(off->plan.phases.empty());
  EXPECT_EQ(off->scheduled.considered, std::vector<std::string>{});
  const auto on = compiler::compile(g, launching(16, true), {});
  ASSERT_TRUE(on.ok()) << render(on.diags());
  ASSERT_FALSE(on->plan.phases.empty());
  EXPECT_FALSE(on->scheduled.considered.empty());
}

TEST(Phases, AreNotChosenWhereNothingIsKnownOfThem) {
  std::mt19937 rng(23);
  const ir::Graph g = drawn_graph(rng);
  hwdesc::Target target = launching(16, false);
  target.api.launch.beside.value.reset();
  const auto c = compiler::compile(g, target, {});
  ASSERT_TRUE(c.ok()) << render(c.diags());
  EXPECT_TRUE(c->plan.phases.empty());
  EXPECT_NE(c->scheduled.why_not.find("launch.beside"), std::string::npos) << c->scheduled.why_not;
  EXPECT_EQ(c->scheduled.considered, std::vector<std::string>{});
}

}  // namespace
}  // namespace assay::test
