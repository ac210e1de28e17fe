// What each unit does when, as a trace and as a chart.
#include "toolkit/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "model/machine.h"
#include "support/files/files.h"
#include "toolkit/estimate_json.h"
#include "toolkit/profiles.h"
#include "toolkit/schedule_chart.h"
#include "toolkit/schedule_limits.h"
#include "toolkit/simulate.h"

namespace assay::toolkit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ir::Plan example(const std::string& name) {
  const std::string path = ASSAY_SOURCE_DIR "/examples/schedule-" + name + ".yaml";
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const Result<ir::Plan> plan = ir::parse_plan(text, path);
  if (!plan) throw std::runtime_error(render(plan.diags()));
  return *plan;
}

Simulation simulated(const std::string& name) {
  const Result<hwdesc::Profile> profile = load_profile("x86-avx512-2core");
  const Result<Simulation> s =
      simulate(ASSAY_SOURCE_DIR "/examples/schedule-" + name + ".yaml", *profile, {});
  if (!s) throw std::runtime_error(render(s.diags()));
  return *s;
}

TEST(Trace, SlicesOfAUnitFollowEachOtherWithIdleTimeNamed) {
  const ir::Plan plan = example("side-by-side");
  // Unit 0 is busy from 0 to 3 and from 5 to 6, unit 1 from 0 to 4; it waits for 0.5 behind.
  const std::vector<runtime::Slice> slices = {
      {0, 0, 0, 3}, {0, 6, 5, 6}, {1, 1, 0, 4}, {1, 5, 4, 4.5}};
  const std::vector<TraceSlice> out = slices_of(plan, slices);
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(out[0].name, "left product");
  EXPECT_EQ(out[0].first_group, 0);
  EXPECT_EQ(out[0].last_group, 8);
  EXPECT_EQ(out[1].name, "idle");
  EXPECT_DOUBLE_EQ(out[1].begin, 3);
  EXPECT_DOUBLE_EQ(out[1].end, 5);
  EXPECT_EQ(out[2].name, "sum");
  EXPECT_EQ(out[2].last_group, 4) << "half of them";
  EXPECT_EQ(out[4].name, "wait for left product");
  EXPECT_EQ(out[5].name, "idle");
  EXPECT_DOUBLE_EQ(out[5].end, 6) << "until all units are done";
}

TEST(Trace, IsJsonOfATrackPerUnitWithCounters) {
  const Simulation s = simulated("side-by-side");
  const TraceProcess predicted{"predicted, a chip", s.slices, s.estimates};
  const Result<Json> json = parse_json(print_trace(std::span(&predicted, 1)), "trace.json");
  ASSERT_TRUE(json.ok()) << render(json.diags());
  std::map<int, double> busy, end;
  std::map<std::string, int> counters;
  bool named = false;
  for (const Json& e : (*json)["traceEvents"]) {
    if (e["ph"] == "M") named = named || e["args"]["name"] == "predicted, a chip";
    if (e["ph"] == "C") ++counters[e["name"].get<std::string>()];
    if (e["ph"] != "X") continue;
    const int unit = e["tid"].get<int>();
    EXPECT_NEAR(e["ts"].get<double>(), end[unit], 1e-6) << "no gaps, as idle time is named";
    end[unit] = e["ts"].get<double>() + e["dur"].get<double>();
    if (e.contains("args")) busy[unit] += e["dur"].get<double>();
  }
  EXPECT_TRUE(named);
  ASSERT_EQ(end.size(), 2u);
  for (const auto& [unit, at] : end) EXPECT_NEAR(at, s.total.seconds * 1e6, 1e-6) << unit;
  for (const auto& [unit, at] : busy) EXPECT_GT(at, 0.8 * s.total.seconds * 1e6) << unit;
  EXPECT_GE(counters["l1<-l2 GB/s"], 2);
}

TEST(Trace, APlanWithoutAScheduleHasOneAsWell) {
  ir::Plan plan = example("rows");
  plan.schedule.clear();
  const std::vector<simulator::Slice> slices = {{0, 2, 0, 0, 1}, {0, 2, 1, 1, 1.5}};
  const std::vector<TraceSlice> out = slices_of(plan, slices);
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0].name, "first product");
  EXPECT_EQ(out[1].name, "barrier");
  EXPECT_EQ(out[2].unit, 1);
}

TEST(ScheduleChart, HasARowPerUnitAndItsBounds) {
  const Simulation s = simulated("side-by-side");
  ASSERT_TRUE(s.schedule.has_value());
  const std::vector<int> colours = {0, 1, 2};
  const std::string svg = schedule_svg({s.slices, colours, s.total.seconds,
                                        s.schedule->bounds.critical_path, s.schedule->bounds.work});
  EXPECT_THAT(svg, HasSubstr(">unit 0<"));
  EXPECT_THAT(svg, HasSubstr(">unit 1<"));
  EXPECT_THAT(svg, HasSubstr("<title>left product, groups 0 to 7: "));
  EXPECT_THAT(svg, HasSubstr("run step-colour-2"));
  EXPECT_THAT(svg, HasSubstr("longest path"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(schedule_svg({}), "");
}

TEST(ScheduleChart, UnitsThatDoAlikeAreOneRow) {
  const std::vector<TraceSlice> slices = {
      {0, "a & b", 0, 1, 0, 0, 4}, {1, "a & b", 0, 1, 0, 4, 8}, {2, "c", 0, 2, 1, 0, 1}};
  const std::vector<int> colours = {0, 1};
  const std::string svg = schedule_svg({slices, colours, 2, 0, 0});
  EXPECT_THAT(svg, HasSubstr(">0 to 1<"));
  EXPECT_THAT(svg, HasSubstr(">unit 2<"));
  EXPECT_THAT(svg, HasSubstr("a &amp; b"));
  EXPECT_THAT(svg, Not(HasSubstr("longest path"))) << "bounds are not known";
}

// A schedule for more than a chip has is refused, and says which steps are too large.
TEST(Simulate, SchedulesKeepToTheChip) {
  const Result<hwdesc::Profile> profile = load_profile("v100-pcie-16gb");
  const std::string path = ASSAY_SOURCE_DIR "/examples/schedule-side-by-side.yaml";
  const Result<Simulation> s = simulate(path, *profile, {});
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(render(s.diags()), HasSubstr("no `resident`"));
  ir::Plan plan = example("side-by-side");
  const Result<hwdesc::Target> target = target_of(*profile, "");
  ASSERT_TRUE(target.ok());
  model::Machine m = *model::prepare(*target);
  const int most = simulator::most_resident(plan, m);
  ASSERT_GT(most, 0);
  plan.resident = most;
  EXPECT_EQ(render(unschedulable(plan, m, "plan.yaml")), "");
  plan.resident = most + 1;
  const std::string many = render(unschedulable(plan, m, "plan.yaml"));
  EXPECT_THAT(many, HasSubstr("groups on a unit at once, and " + std::to_string(most) + " fit"));
  EXPECT_THAT(many, HasSubstr("threads in left product"));
  plan.resident = 1;
  m.resident_barriers.clear();
  EXPECT_THAT(render(unschedulable(plan, m, "plan.yaml")),
              HasSubstr("does not say what a barrier takes"));
}

TEST(Simulate, PhasesAreOfChipsThatLaunchThem) {
  const std::string path = ASSAY_SOURCE_DIR "/examples/phases.yaml";
  const Result<hwdesc::Profile> mali = load_profile("arm/mali-g76-mp5");
  const Result<Simulation> s = simulate(path, *mali, {});
  ASSERT_TRUE(s.ok()) << render(s.diags());
  ASSERT_TRUE(s->schedule.has_value());
  EXPECT_EQ(s->schedule->phases, 2U);
  EXPECT_LT(s->schedule->bounds.least(), s->total.seconds);
  const auto begin_of = [&](int step) {
    return std::ranges::find(s->slices, step, &TraceSlice::step)->begin;
  };
  EXPECT_EQ(begin_of(0), begin_of(1));
  EXPECT_GT(begin_of(2), begin_of(0));
  const Result<hwdesc::Target> target = target_of(*mali, "");
  ASSERT_TRUE(target.ok());
  model::Machine m = *model::prepare(*target);
  const Result<ir::Plan> plan = ir::parse_plan(*read_text(path), path);
  ASSERT_TRUE(plan.ok()) << render(plan.diags());
  EXPECT_EQ(render(unschedulable(*plan, m, path)), "");
  m.merges = false;
  EXPECT_THAT(render(unschedulable(*plan, m, path)),
              HasSubstr("what one more launch takes without a barrier"));
  m.beside_launch.value = 1e-6;
  EXPECT_EQ(render(unschedulable(*plan, m, path)), "");
  m.simt = false;
  EXPECT_THAT(render(unschedulable(*plan, m, path)), HasSubstr("a core works through a queue"));
}

}  // namespace
}  // namespace assay::toolkit
