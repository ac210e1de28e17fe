// Schedules: what is proved of the order of commands, against all orders in which units can run
// them; and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/plan.h"
#include "ir/touched.h"
#include "tests/ir/commands.h"
#include "tests/ir/graph_samples.h"
#include "tests/ir/plan_samples.h"

namespace assay::ir {
namespace {

using Kind = Command::Kind;
using ::testing::HasSubstr;

using test::barrier;
using test::chain;
using test::run;
using test::signal;
using test::wait;

TEST(Deal, EveryGroupOnceAndEvenly) {
  for (const int units : {1, 2, 3, 7})
    for (const int64_t groups : {int64_t{1}, int64_t{2}, int64_t{13}, int64_t{64}}) {
      int64_t next = 5;
      const Command c = run(0, 2, 2 + units, 5, 5 + groups);
      for (int u = 2; u < 2 + units; ++u) {
        const auto [begin, end] = groups_of(c, u);
        EXPECT_EQ(begin, next);
        EXPECT_LE(end - begin, (groups + units - 1) / units);
        next = end;
      }
      EXPECT_EQ(next, 5 + groups);
    }
}

std::string faults(Plan plan, std::vector<Command> schedule) {
  plan.schedule = std::move(schedule);
  return render(verify(plan));
}

TEST(ScheduleFaults, GroupsRunOnceInAnOrderThatEnds) {
  const Plan plan = chain(true);
  EXPECT_EQ(faults(plan, {}), "");
  EXPECT_EQ(faults(plan, schedule_of(plan)), "");
  EXPECT_THAT(faults(plan, {run(0, 0, 2, 0, 4)}), HasSubstr("group 0 of step second never runs"));
  EXPECT_THAT(faults(plan, {run(0, 0, 2, 0, 3), barrier(2), run(1, 0, 2, 0, 4)}),
              HasSubstr("group 3 of step first never runs"));
  EXPECT_THAT(
      faults(plan, {run(0, 0, 2, 0, 3), run(0, 0, 1, 2, 4), barrier(2), run(1, 0, 2, 0, 4)}),
      HasSubstr("group 2 of step first runs twice"));
  EXPECT_THAT(faults(plan, {run(0, 0, 2, 0, 5), barrier(2), run(1, 0, 2, 0, 4)}),
              HasSubstr("step first has 4 groups, the schedule runs [0, 5)"));
  EXPECT_THAT(faults(plan, {run(0, 0, 3, 0, 4), barrier(2), run(1, 0, 2, 0, 4)}),
              HasSubstr("units [0, 3), there are 2"));
  EXPECT_THAT(faults(plan, {run(2, 0, 2, 0, 4)}), HasSubstr("runs step 2, there are 2"));
  EXPECT_THAT(faults(plan, {run(0, 0, 1, 0, 4), wait(0, 1, 0, 1), signal(0, 1, 2), wait(1, 1, 1, 2),
                            signal(1, 0, 1), wait(0, 2, 0, 1), run(1, 0, 1, 0, 4)}),
              HasSubstr("unit 0 waits for ever for counter 0 to reach 2, before it runs step 1"));
}

TEST(ScheduleFaults, ReadersWaitForWriters) {
  const Plan alike = chain(true), across = chain(false);
  const std::vector<Command> at_once = {run(0, 0, 2, 0, 4), run(1, 0, 2, 0, 4)};
  EXPECT_EQ(faults(alike, at_once), "") << "each unit reads the rows that it wrote";
  EXPECT_THAT(
      faults(across, at_once),
      HasSubstr("steps first on unit 0 and second on unit 1 may run at once, but the second "
                "reads what the first writes (tensor c1)"));
  EXPECT_THAT(faults(alike, {run(0, 0, 1, 0, 4), run(1, 1, 2, 0, 4)}),
              HasSubstr("may run at once"));
  EXPECT_EQ(
      faults(alike, {run(0, 0, 1, 0, 4), signal(0, 0, 1), wait(0, 1, 1, 2), run(1, 1, 2, 0, 4)}),
      "");
  EXPECT_EQ(
      faults(across, {run(0, 0, 2, 0, 4), signal(0, 0, 2), wait(0, 2, 0, 2), run(1, 0, 2, 0, 4)}),
      "");
  EXPECT_THAT(
      faults(across, {run(0, 0, 2, 0, 4), signal(0, 0, 2), wait(0, 1, 0, 2), run(1, 0, 2, 0, 4)}),
      HasSubstr("may run at once"))
      << "one of two signals may be a unit's own";
  EXPECT_THAT(faults(alike, {run(1, 0, 2, 0, 4), barrier(2), run(0, 0, 2, 0, 4)}),
              HasSubstr("may run at once"))
      << "the second runs first";
}

TEST(ScheduleFaults, StorageIsNotSharedByWhatRunsAtOnce) {
  Plan plan = chain(true);
  plan.steps[1].arguments = {0, 1, 3};  // both read a
  const std::vector<Command> at_once = {run(0, 0, 1, 0, 4), run(1, 1, 2, 0, 4)};
  EXPECT_EQ(faults(plan, at_once), "");
  plan.tensors[3].offset = plan.tensors[2].offset;
  EXPECT_THAT(faults(plan, at_once), HasSubstr("both write (tensors c1 and c2 share bytes)"));
}

TEST(ScheduleFaults, PartsOfATensorAreTouchedAtOnce) {
  Plan plan = chain(true);
  const std::vector<Command> at_once = {run(0, 0, 1, 0, 4), run(1, 1, 2, 0, 4)};
  plan.steps[1].arguments = {0, 1, 2};  // both read a and write c1
  EXPECT_THAT(faults(plan, at_once), HasSubstr("both write (tensor c1)"));
  const int64_t elements = physical_elements(plan.tensors[2].layout, plan.tensors[2].shape);
  plan.tensors[2].shape[0] *= 2;
  plan.tensors[2].bytes *= 2;
  plan.tensors[2].offset = plan.arena_bytes;
  plan.arena_bytes += plan.tensors[2].bytes;
  for (Step& s : plan.steps) s.begins = {0, 0, 0};
  EXPECT_THAT(faults(plan, at_once), HasSubstr("both write (tensor c1)"));
  plan.steps[1].begins[2] = elements;
  EXPECT_EQ(faults(plan, at_once), "");
  plan.steps[1].begins[2] = elements / 2;
  EXPECT_THAT(faults(plan, at_once), HasSubstr("both write (tensor c1)"));
}

TEST(ScheduleFaults, AConditionIsRead) {
  Plan plan = chain(true);
  plan.steps[1].arguments = {0, 1, 3};  // both read a
  const std::vector<Command> at_once = {run(0, 0, 1, 0, 4), run(1, 1, 2, 0, 4)};
  EXPECT_EQ(faults(plan, at_once), "");
  plan.steps[1].needed_if = NeededIf{2, true};  // what the first writes
  EXPECT_THAT(faults(plan, at_once), HasSubstr("the second reads what the first writes"));
  EXPECT_EQ(faults(plan, {run(0, 0, 2, 0, 4), barrier(2), run(1, 0, 2, 0, 4)}), "");
}

TEST(ScheduleText, ComesBack) {
  Plan plan = chain(true);
  plan.schedule = {run(0, 0, 1, 0, 3), run(0, 1, 2, 3, 4), signal(7, 0, 1),
                   barrier(2),         wait(7, 1, 1, 2),   run(1, 0, 2, 0, 4)};
  const std::string text = print_plan(plan);
  EXPECT_THAT(text, HasSubstr("schedule:\n"
                              "  - {run: 0, groups: [0, 3], units: [0, 1]}\n"
                              "  - {run: 0, groups: [3, 4], units: [1, 2]}\n"
                              "  - {signal: 7, units: [0, 1]}\n"
                              "  - barrier\n"
                              "  - {wait: 7, value: 1, units: [1, 2]}\n"
                              "  - {run: 1}\n"));
  const Result<Plan> back = parse_plan(text, "plan.yaml");
  ASSERT_TRUE(back.ok()) << render(back.diags());
  EXPECT_EQ(*back, plan);
  EXPECT_EQ(print_plan(*back), text);
}

TEST(ScheduleText, FaultsStandAtTheirCommands) {
  Plan plan = chain(true);
  plan.schedule = schedule_of(plan);
  const std::string whole = print_plan(plan);
  const auto with = [&](const std::string& command) {
    std::string text = whole;
    const std::string old = "{run: 1}";
    text.replace(text.find(old), old.size(), command);
    const Result<Plan> read = parse_plan(text, "plan.yaml");
    return read.ok() ? std::string("ok") : render(read.diags());
  };
  const std::string place =
      "plan.yaml:" +
      std::to_string(1 + std::count(whole.begin(),
                                    whole.begin() + static_cast<ptrdiff_t>(whole.find("{run: 1}")),
                                    '\n')) +
      ":";
  EXPECT_EQ(with("{run: 1}"), "ok");
  for (const auto& [command, why] : std::vector<std::pair<std::string, std::string>>{
           {"{run: 2}", "2"},
           {"{run: 1, groups: [2, 2]}", "`groups` is an empty range"},
           {"{run: 1, groups: [1]}", "`groups` is a range [begin, end)"},
           {"{run: 1, units: [0, 3]}", "3"},
           {"{run: 1, value: 3}", "`value` is not of this command"},
           {"{run: 1, wait: 3}", "one of run, signal and wait"},
           {"{wait: 1}", "value"},
           {"pause", "unknown command"},
           {"{run: 1, groups: [0, 3]}", "group 3 of step second never runs"}}) {
    const std::string said = with(command);
    EXPECT_THAT(said, HasSubstr(why)) << command;
    EXPECT_THAT(said, HasSubstr(place)) << command;
  }
}

// Written by hand: bytes, offsets and sizes of the arena follow from layouts.
TEST(TextPlan, PlacesWhatHasNoOffset) {
  Plan plan = chain(true);
  std::string text = print_plan(plan);
  for (const char* field : {", offset: ", ", bytes: "})
    for (size_t from; (from = text.find(field)) != std::string::npos;) {
      const size_t to = text.find_first_of(",}", from + 1);
      text.erase(from, to - from);
    }
  text.erase(text.find("arena_bytes"), text.find("tensors:") - text.find("arena_bytes"));
  const Result<Plan> read = parse_plan(text, "plan.yaml");
  ASSERT_TRUE(read.ok()) << render(read.diags()) << text;
  EXPECT_EQ(*read, plan);
}

// The boxes of a range of groups hold each element that one of its points touches, and of one tile
// no others.
TEST(Touched, BoxesHoldWhatGroupsRead) {
  Program p;
  p.name = "conv";
  p.graph = samples::conv({3, 8, 12, 3, 1, 1});
  const Node& n = p.graph.nodes[0];  // n, o, y, x; c, r, s
  for (const Tensor& t : p.graph.tensors)
    p.layouts.push_back(row_major(static_cast<int>(t.shape.size())));
  p.tiles = {{"l2", {1, 4, 5, 12, 3, 3, 3}, {2, 1}},
             {"registers", {1, 1, 1, 4, 1, 1, 1}, {0, 1, 2, 3, 4, 5, 6}}};
  ASSERT_EQ(render(verify(p)), "");
  ASSERT_EQ(group_count(p), 6);
  const TouchedBoxes touched(p);
  const std::vector<int> arguments = arguments_of(p);
  for (int64_t begin = 0; begin < 6; ++begin)
    for (int64_t end = begin + 1; end <= 6; ++end) {
      const std::vector<Box> boxes = touched.of(begin, end);
      ASSERT_EQ(boxes.size(), 3u);
      std::vector<Box> least(3);
      for (int64_t g = begin; g < end; ++g) {
        const int64_t ty = g / 2, to = g % 2;  // order: y outermost, then o
        for (int64_t y = 5 * ty; y < std::min<int64_t>(12, 5 * ty + 5); ++y)
          for (int64_t o = 4 * to; o < 4 * to + 4; ++o)
            for (int64_t r = 0; r < 3; ++r) {
              const int64_t row = std::clamp<int64_t>(y + r - 1, 0, 11);
              const std::vector<std::vector<int64_t>> points = {
                  {0, 0, row, 0}, {0, 2, row, 11}, {o, 0, r, 0}, {0, o, y, 0}, {0, o, y, 11}};
              const auto add = [](Box& box, const std::vector<int64_t>& at) {
                for (size_t d = 0; d < at.size(); ++d) {
                  if (box.size() <= d) box.push_back({at[d], at[d]});
                  box[d] = {std::min(box[d].low, at[d]), std::max(box[d].high, at[d])};
                }
              };
              add(least[0], points[0]);
              add(least[0], points[1]);
              add(least[1], points[2]);
              add(least[1], {o, 2, r, 2});
              add(least[2], points[3]);
              add(least[2], points[4]);
            }
      }
      for (size_t a = 0; a < 3; ++a) {
        EXPECT_EQ(overlap(boxes[a], least[a]), true);
        for (size_t d = 0; d < least[a].size(); ++d) {
          EXPECT_LE(boxes[a][d].low, least[a][d].low);
          EXPECT_GE(boxes[a][d].high, least[a][d].high);
          if (end == begin + 1) {
            EXPECT_EQ(boxes[a][d], least[a][d]) << "argument " << a << " " << d;
          }
        }
      }
    }
  EXPECT_EQ(n.axes.size(), 7u);
}

}  // namespace
}  // namespace assay::ir
