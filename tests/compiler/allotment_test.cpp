// Widths of steps: what no schedule beats, against all schedules of tiny problems; and schedules
// from widths.
#include "compiler/schedule/allotment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "compiler/schedule/improve.h"
#include "compiler/schedule/list_schedule.h"
#include "compiler/schedule/timed_list.h"

namespace assay::test {
namespace {

using compiler::Assigned;
using compiler::ListProblem;
using compiler::WidthOption;
using compiler::WidthOptions;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

size_t at(int i) { return static_cast<size_t>(i); }

// Times fall with the width, now and then not, and not all widths are offered.
ListProblem drawn_problem(std::mt19937& rng, int most_units, int most_steps) {
  const auto draw = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  ListProblem p;
  p.units = 1 + draw(most_units);
  for (int w = 1; w <= p.units; ++w) p.widths.push_back(w);
  p.hand_off = 0.5 * draw(4);
  const int steps = 1 + draw(most_steps);
  for (int s = 0; s < steps; ++s) {
    const double work = 1 + draw(12), overhead = 0.25 * draw(5);
    std::vector<double>& seconds = p.seconds.emplace_back();
    for (const int w : p.widths)
      seconds.push_back(w > 1 && w < p.units && draw(4) == 0
                            ? kInfinite
                            : std::ceil(4 * work / w) / 4 + (w > 1 ? overhead : 0));
    p.dependencies.emplace_back();
    p.own_parts.emplace_back();
    p.may_be_own.emplace_back();
    for (int b = 0; b < s; ++b) {
      if (draw(3) > 0) continue;
      p.dependencies.back().push_back(b);
      const uint64_t own = draw(3) == 0 ? (rng() & ((uint64_t{1} << p.widths.size()) - 2)) : 0;
      p.own_parts.back().push_back(own);
      p.may_be_own.back().push_back(own != 0 || draw(4) == 0);
    }
  }
  return p;
}

double begin_after(const ListProblem& p, size_t s, size_t width, int first, int last,
                   const std::vector<Assigned>& all) {
  double out = 0;
  for (size_t d = 0; d < p.dependencies[s].size(); ++d) {
    const Assigned& b = all[at(p.dependencies[s][d])];
    const bool own = b.first == first && b.last == last && needs_no_hand_off(p, s, d, width);
    out = std::max(out, b.end + (own ? 0 : p.hand_off));
  }
  return out;
}

// All orders, widths and places; in each order steps begin as early as they can.
class AllSchedules {
 public:
  explicit AllSchedules(const ListProblem& p)
      : p_(p), all_(p.seconds.size()), done_(p.seconds.size(), false), free_(at(p.units), 0) {}

  double shortest() {
    place(0, 0);
    return best_;
  }

 private:
  void place(size_t placed, double end) {
    if (end >= best_) return;
    if (placed == all_.size()) {
      best_ = end;
      return;
    }
    for (size_t s = 0; s < all_.size(); ++s) {
      const bool able =
          !done_[s] && std::ranges::all_of(p_.dependencies[s], [&](int b) { return done_[at(b)]; });
      for (size_t w = 0; able && w < p_.widths.size(); ++w)
        for (int first = 0; first + p_.widths[w] <= p_.units; ++first)
          if (p_.seconds[s][w] < kInfinite) place_on(s, w, first, placed, end);
    }
  }

  void place_on(size_t s, size_t w, int first, size_t placed, double end) {
    const int last = first + p_.widths[w];
    double begin = begin_after(p_, s, w, first, last, all_);
    for (int u = first; u < last; ++u) begin = std::max(begin, free_[at(u)]);
    const std::vector<double> before = free_;
    all_[s] = {first, last, begin, begin + p_.seconds[s][w]};
    for (int u = first; u < last; ++u) free_[at(u)] = all_[s].end;
    done_[s] = true;
    place(placed + 1, std::max(end, all_[s].end));
    done_[s] = false;
    free_ = before;
  }

  const ListProblem& p_;
  std::vector<Assigned> all_;
  std::vector<bool> done_;
  std::vector<double> free_;
  double best_ = kInfinite;
};

std::vector<int> drawn_choice(const WidthOptions& options, std::mt19937& rng) {
  std::vector<int> out;
  for (const std::vector<WidthOption>& of : options)
    out.push_back(static_cast<int>(rng() % of.size()));
  return out;
}

void expect_sound(const ListProblem& p, const std::vector<Assigned>& all) {
  ASSERT_EQ(all.size(), p.seconds.size());
  for (size_t s = 0; s < all.size(); ++s) {
    const Assigned& a = all[s];
    ASSERT_TRUE(0 <= a.first && a.first < a.last && a.last <= p.units);
    const auto width = std::ranges::find(p.widths, a.last - a.first);
    ASSERT_NE(width, p.widths.end());
    const auto w = static_cast<size_t>(width - p.widths.begin());
    ASSERT_NEAR(a.end - a.begin, p.seconds[s][w], 1e-9);
    ASSERT_GE(a.begin, begin_after(p, s, w, a.first, a.last, all) - 1e-9) << "step " << s;
    for (size_t o = 0; o < s; ++o) {
      const bool meet = a.first < all[o].last && all[o].first < a.last;
      ASSERT_TRUE(!meet || a.begin >= all[o].end - 1e-9 || all[o].begin >= a.end - 1e-9);
    }
  }
}

TEST(Allotment, IsNeverAboveTheShortestOfAllSchedules) {
  std::mt19937 rng(5);
  int above_path_and_work = 0, tight = 0, found = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    const ListProblem p = drawn_problem(rng, 3, 4);
    const WidthOptions options = width_options(p);
    const double shortest = AllSchedules(p).shortest();
    const compiler::Allotment a = allotted(p, options);
    const double path = longest_path(p, options), work = least_work(p, options);
    ASSERT_LE(path, shortest + 1e-9) << "round " << round;
    ASSERT_LE(work, shortest + 1e-9) << "round " << round;
    ASSERT_LE(a.least, shortest + 1e-9) << "round " << round;
    ASSERT_GE(a.least, std::max(path, work));
    above_path_and_work += a.least > 1.001 * std::max(path, work);
    tight += a.least > 0.99 * shortest;
    const std::vector<Assigned> best =
        improved(p, options, {std::vector<int>(options.size(), 0)}, a.least);
    expect_sound(p, best);
    ASSERT_GE(end_of(best), shortest - 1e-9);
    found += end_of(best) < shortest + 1e-9;
  }
  EXPECT_GT(above_path_and_work, kRounds / 20);
  EXPECT_GT(tight, kRounds / 2);
  EXPECT_GT(found, kRounds * 3 / 4);
}

// A path that needs wide steps, which take more unit seconds than there are.
TEST(Allotment, KnowsThatAWideStepIsNotWideForFree) {
  ListProblem p{4, {1, 4}, {}, {}, 0};
  for (int chain = 0; chain < 4; ++chain) {
    p.seconds.push_back({8, 4});  // 8 unit seconds, or 16
    p.dependencies.emplace_back();
    p.seconds.push_back({8, 4});
    p.dependencies.push_back({2 * chain});
  }
  const WidthOptions options = width_options(p);
  EXPECT_DOUBLE_EQ(longest_path(p, options), 8);
  EXPECT_DOUBLE_EQ(least_work(p, options), 16);
  // And one more chain of two such steps behind all: 8 with all units, or 16.
  p.seconds.push_back({8, 4});
  p.dependencies.push_back({1, 3, 5, 7});
  p.seconds.push_back({8, 4});
  p.dependencies.push_back({8});
  const WidthOptions more = width_options(p);
  EXPECT_DOUBLE_EQ(longest_path(p, more), 16);
  EXPECT_DOUBLE_EQ(least_work(p, more), 20);
  const compiler::Allotment a = allotted(p, more);
  EXPECT_GT(a.least, 23.8) << "16 for all chains, then 8";
  EXPECT_LE(a.least, 24 + 1e-9);
  EXPECT_DOUBLE_EQ(end_of(improved(p, more, {a.choice}, a.least)), 24);
}

TEST(Allotment, CountsHandOffsThatNoWidthAvoids) {
  ListProblem p{4, {1, 4}, {{9, 1}, {9, 1}, {9, 1}}, {{}, {0}, {1}}, 0.5};
  EXPECT_DOUBLE_EQ(longest_path(p, width_options(p)), 4);
  EXPECT_DOUBLE_EQ(allotted(p, width_options(p)).least, 4);
  p.own_parts = {{}, {0}, {2}};
  p.may_be_own = {{}, {false}, {true}};
  EXPECT_DOUBLE_EQ(longest_path(p, width_options(p)), 3.5);
  const WidthOptions options = width_options(p);
  compiler::TimedList list(p, options);
  EXPECT_DOUBLE_EQ(list.run(std::vector{1, 1, 1}), 3.5);
}

TEST(Priced, APriceMakesStepsNarrow) {
  const ListProblem p{8, {1, 2, 4, 8}, {{16, 8.5, 4.5, 3}}, {{}}, 0};
  EXPECT_EQ(priced(p, width_options(p), 0.1), std::vector{3});
  EXPECT_EQ(priced(p, width_options(p), 3), std::vector{2});
  EXPECT_EQ(priced(p, width_options(p), 100), std::vector{0});
}

TEST(TimedList, KeepsToDependenciesUnitsAndHandOffs) {
  std::mt19937 rng(9);
  for (int round = 0; round < 300; ++round) {
    const ListProblem p = drawn_problem(rng, 9, 30);
    const WidthOptions options = width_options(p);
    compiler::TimedList list(p, options);
    const double least = allotted(p, options).least;
    for (int draw = 0; draw < 3; ++draw) {
      const double end = list.run(drawn_choice(options, rng));
      expect_sound(p, list.assigned());
      ASSERT_DOUBLE_EQ(end, end_of(list.assigned()));
      ASSERT_GE(end, least - 1e-9);
      // Each critical step begins when the next one lets it, the last one at once.
      const std::vector<int> critical = list.critical();
      for (size_t i = 0; i + 1 < critical.size(); ++i)
        ASSERT_GE(list.assigned()[at(critical[i])].begin,
                  list.assigned()[at(critical[i + 1])].end - 1e-9);
      ASSERT_DOUBLE_EQ(list.assigned()[at(critical.front())].end, end);
      ASSERT_DOUBLE_EQ(list.assigned()[at(critical.back())].begin, 0);
    }
    for (const double efficiency : {0.0, 0.95}) expect_sound(p, list_schedule(p, efficiency));
  }
}

TEST(TimedList, ShortStepsFillUnitsThatAWideOneWaitsFor) {
  // Units are busy for 2 and 4 s; the wide step has the longest way to go.
  const ListProblem p{
      2, {1, 2}, {{2, 2}, {4, 4}, {9, 3}, {1, 1}, {1, 1}}, {{}, {}, {0}, {0}, {0}}, 0};
  const WidthOptions options = width_options(p);
  compiler::TimedList list(p, options);
  EXPECT_DOUBLE_EQ(list.run(std::vector{0, 0, 1, 0, 0}), 7);
  EXPECT_DOUBLE_EQ(list.assigned()[3].begin, 2);
  EXPECT_DOUBLE_EQ(list.assigned()[4].begin, 3);
  EXPECT_DOUBLE_EQ(list.assigned()[2].begin, 4);
}

TEST(Improved, FindsWidthsThatFitBesideEachOther) {
  // Five steps of twelve groups on ten units: all beside each other are best.
  ListProblem p;
  p.units = 10;
  for (int w = 1; w <= 10; ++w) p.widths.push_back(w);
  for (int s = 0; s < 5; ++s) {
    p.dependencies.emplace_back();
    p.seconds.emplace_back();
    for (int w = 1; w <= 10; ++w) p.seconds.back().push_back(std::ceil(12.0 / w) + (w > 2 ? 1 : 0));
  }
  const WidthOptions options = width_options(p);
  const compiler::Allotment a = allotted(p, options);
  EXPECT_DOUBLE_EQ(a.least, 6);
  EXPECT_DOUBLE_EQ(end_of(improved(p, options, {std::vector<int>(5, 0)}, a.least)), 6);
}

}  // namespace
}  // namespace assay::test
