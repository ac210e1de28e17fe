// SLP vectorisation and load merging, from synthetic times.
#include "probe/inference/vectorisation.h"

#include <gtest/gtest.h>

#include "probe/kernels/vectorisation.h"
#include "tests/probe/synthetic.h"

namespace assay::probe {
namespace {

// Seconds per element where up to `lanes` are one operation.
Observations runs(double lanes, double rest = 0) {
  Observations o;
  for (const int run : kNeighbourRuns)
    o.points.push_back(test::block("vectorisation", "neighbours", {{"run", run}},
                                   1e-9 / std::min<double>(run, lanes) + rest));
  return o;
}

TEST(Vectorisation, lanes_are_the_longest_run_that_gains) {
  EXPECT_EQ(slp_lanes(runs(1), 16).value->v, 1);
  EXPECT_EQ(slp_lanes(runs(4), 16).value->v, 4);
  EXPECT_EQ(slp_lanes(runs(16), 16).value->v, 16);
  EXPECT_EQ(slp_lanes(runs(16, 0.02e-9), 16).value->v, 16);
  EXPECT_EQ(slp_lanes(runs(16), 8).value->v, 8) << "no longer than the device's vectors";
  EXPECT_FALSE(slp_lanes({}, 16).known());
}

// Faster at 2 already decides; 4 gains nothing and 8 does: not over 4, but over both.
TEST(Vectorisation, a_step_that_gains_nothing_does_not_end_it) {
  Observations o;
  const double times[] = {1e-9, 0.5e-9, 0.48e-9, 0.2e-9, 0.2e-9};
  for (size_t i = 0; i < kNeighbourRuns.size(); ++i)
    o.points.push_back(
        test::block("vectorisation", "neighbours", {{"run", kNeighbourRuns[i]}}, times[i]));
  EXPECT_EQ(slp_lanes(o, 16).value->v, 8);
}

// A part of the time of separate words: a quarter, half, nearly all.
TEST(Vectorisation, words_are_merged_where_they_take_a_part_of_the_time) {
  const auto loads = [](double part) {
    Observations o;
    o.points = {test::block("vectorisation", "words", {{"step", kWordSteps[0]}}, part * 1e-9),
                test::block("vectorisation", "words", {{"step", kWordSteps[1]}}, 1e-9)};
    return merged_loads(o);
  };
  EXPECT_EQ(loads(0.3).value->v, 4);
  EXPECT_EQ(loads(0.6).value->v, 2);
  EXPECT_EQ(loads(0.9).value->v, 1);
  EXPECT_FALSE(merged_loads({}).known());
}

TEST(Vectorisation, loops_are_unrolled_where_a_step_takes_less_than_a_load) {
  const auto turns = [](double seconds) {
    Observations o;
    o.points = {test::block("vectorisation", "unroll", {}, seconds)};
    return unrolled_iterations(o, 20e-9);
  };
  EXPECT_EQ(turns(25e-9).value->v, 1);
  EXPECT_EQ(turns(5e-9).value->v, 4);
  EXPECT_EQ(turns(0.5e-9).value->v, 16) << "no more than there are registers for";
  EXPECT_FALSE(unrolled_iterations({}, 20e-9).known());
}

}  // namespace
}  // namespace assay::probe
