#include "probe/inference/stats.h"

#include <gtest/gtest.h>

#include "tests/probe/synthetic.h"

namespace assay::probe {
namespace {

Observation block_of(std::vector<double> samples, std::vector<double> disturbed,
                     double foreign = 0) {
  return {"e", "w", {}, "s", std::move(samples), std::move(disturbed), foreign, 3e9};
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({1, 2}, 0.25), 1.25);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
}

TEST(Summarize, NoSamplesNoEstimate) { EXPECT_FALSE(summarize({}, Estimator::latency)); }

TEST(Summarize, PrefersQuietThenUndisturbedSamples) {
  const std::vector<Observation> quiet = {block_of({1, 1, 1, 1, 1, 9}, {0, 0, 0, 0, 0, 0.5}),
                                          block_of({2, 2}, {0, 0}, 0.7)};
  EXPECT_EQ(summarize(quiet, Estimator::throughput)->trust, Trust::quiet);
  EXPECT_DOUBLE_EQ(summarize(quiet, Estimator::throughput)->high, 1);
  const std::vector<Observation> busy = {block_of({2, 2, 2, 2, 2, 9}, {0, 0, 0, 0, 0, 0.5}, 0.7)};
  EXPECT_EQ(summarize(busy, Estimator::throughput)->trust, Trust::undisturbed);
  EXPECT_EQ(summarize(busy, Estimator::throughput)->n, 5);
  const std::vector<Observation> awful = {block_of({3, 3, 9}, {0.5, 0.5, 0.5}, 0.7)};
  EXPECT_EQ(summarize(awful, Estimator::throughput)->trust, Trust::all);
  EXPECT_EQ(summarize(awful, Estimator::throughput)->n, 3);
}

// Eight undisturbed samples while a co-tenant's lines filled the cache: only more evictions explain
// them.
TEST(Summarize, AFewQuietSamplesThatAreMuchSlowerDoNotCount) {
  std::vector<Observation> blocks = {
      block_of({95, 100, 105, 98, 102, 96, 101, 99}, {0, 0, 0, 0, 0, 0, 0, 0})};
  for (int i = 0; i < 8; ++i) blocks.push_back(block_of({14, 13.5, 15}, {0.5, 0.5, 0.5}));
  const auto s = summarize(blocks, Estimator::latency);
  EXPECT_EQ(s->trust, Trust::all);
  EXPECT_LT(s->value, 14);
  blocks[0] = block_of({17, 18, 17.5, 18.5, 17, 18, 19, 17}, {0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(summarize(blocks, Estimator::latency)->trust, Trust::quiet);
}

TEST(Summarize, IntervalHoldsTheValueAndTheSpreadBetweenBlocks) {
  std::mt19937_64 random(7);
  std::vector<Observation> blocks;
  for (int b = 0; b < 20; ++b) {
    Observation o = block_of({}, {});
    const double level = b % 2 == 0 ? 1.0 : 1.1;  // two states of the machine
    for (int i = 0; i < 5; ++i) o.samples.push_back(test::noisy(level, 0.001, random));
    blocks.push_back(o);
  }
  const auto s = summarize(blocks, Estimator::throughput);
  EXPECT_LE(s->low, s->value);
  EXPECT_GE(s->high, s->value);
  EXPECT_NEAR(s->value, 1.0, 0.01);
  EXPECT_EQ(summarize(blocks, Estimator::throughput), s);  // same samples, same bytes
  EXPECT_DOUBLE_EQ(s->clock_hz, 3e9);
}

// Cycles per KiB of copies in a cache by two workers with different pages: one distribution by
// samples, two by blocks.
TEST(Summarize, BlocksOfTwoStatesAreTwoDistributions) {
  const std::vector<std::vector<double>> taken = {{18.18, 18.54, 18.16},
                                                  {18.37, 17.72, 18.08},
                                                  {18.04, 18.32, 18.81},
                                                  {16.80, 16.54, 17.10},
                                                  {16.53, 17.09, 17.01}};
  std::vector<Observation> blocks, dealt(taken[0].size(), block_of({}, {}));
  for (const std::vector<double>& samples : taken) {
    blocks.push_back(block_of(samples, {}));
    for (size_t i = 0; i < samples.size(); ++i) dealt[i].samples.push_back(samples[i]);
  }
  EXPECT_LT(summarize(blocks, Estimator::throughput)->value, 17.2);
  EXPECT_NEAR(summarize(dealt, Estimator::throughput)->value, 18.04, 0.01)
      << "the same samples, alike in all blocks: the median";
}

TEST(Summarize, ClocksThatChangeFromBlockToBlockDoNotWidenCycles) {
  constexpr double ticks = 12;
  std::mt19937_64 random(11);
  std::vector<Observation> blocks;
  for (const double hz : {2.99e9, 3.09e9, 3.19e9, 3.49e9, 2.99e9, 3.49e9}) {
    Observation o = block_of({}, {});
    o.clock_hz = hz;
    for (int i = 0; i < 5; ++i) o.samples.push_back(test::noisy(ticks / hz, 0.001, random));
    blocks.push_back(o);
  }
  const auto in_ticks = [](const Summary& s) { return s.value * s.clock_hz; };
  EXPECT_NEAR(in_ticks(*summarize(at_common_clock(blocks), Estimator::throughput)), ticks,
              0.002 * ticks);
  const auto width = [](const Summary& s) { return (s.high - s.low) / s.value; };
  EXPECT_LT(10 * width(*summarize(at_common_clock(blocks), Estimator::throughput)),
            width(*summarize(blocks, Estimator::throughput)));
  blocks[0].clock_hz.reset();  // without a sentinel
  EXPECT_EQ(at_common_clock(blocks)[0].samples, blocks[0].samples);
}

TEST(Summarize, OneSidedNoiseDoesNotMoveTheLatency) {
  std::mt19937_64 random(3);
  std::vector<Observation> blocks;
  for (int b = 0; b < 10; ++b) {
    Observation o = block_of({}, {});
    for (int i = 0; i < 6; ++i) o.samples.push_back(test::noisy(5e-9, 0.005, random));
    blocks.push_back(o);
  }
  EXPECT_NEAR(summarize(blocks, Estimator::latency)->value / 5e-9, 1.0, 0.01);
}

TEST(Stats, AnEstimateIsTheValueOfTheSummary) {
  std::vector<Observation> blocks;
  for (const double slow : {1.0, 1.3, 2.0})
    blocks.push_back({"x", "x", {}, "s", {slow, 1.01 * slow, 1.4 * slow, slow}, {}, 0.5, 3e9});
  for (const Estimator e : {Estimator::latency, Estimator::throughput})
    EXPECT_EQ(estimate(blocks, e).value(), summarize(blocks, e)->value);
  EXPECT_FALSE(estimate({}, Estimator::latency).has_value());
}

// Times of the same additions, one of them the luckiest, some at another clock or interrupted.
TEST(Stats, AClockIsNotThatOfTheLuckiestTime) {
  EXPECT_DOUBLE_EQ(of_one_clock({0.93, 0.99, 1.0, 1.01, 1.02, 1.7, 1.68, 3}), 1.0);
  EXPECT_DOUBLE_EQ(of_one_clock({1.7, 1.68, 1.66, 1}), 1) << "the fastest clock, however short";
  EXPECT_DOUBLE_EQ(of_one_clock({2}), 2);
}

// A GPU's host shows no neighbour. One of two blocks ran beside one, who took half of the slots.
TEST(Stats, ABlockBesideAnUnseenNeighbourDoesNotCount) {
  const auto block = [](double t) {
    return block_of({t, 1.01 * t, 0.99 * t, 1.02 * t, t, 2 * t}, {}, kNobody);
  };
  const std::vector<Observation> one = {block(1)}, both = {block(1), block(1.9)},
                                 near = {block(1), block(1.2)};
  EXPECT_EQ(summarize(both, Estimator::throughput), summarize(one, Estimator::throughput));
  EXPECT_GT(summarize(near, Estimator::throughput)->high, 1.1) << "both may be the device's own";
  const std::vector<Observation> differences = {block_of({-3, 1, 4, 9, 2}, {}, kNobody),
                                                block_of({6, 7, 8, 6, 7}, {}, kNobody)};
  EXPECT_EQ(summarize(differences, Estimator::throughput)->n, 10);
  EXPECT_EQ(summarize({{block_of({-1, -1, -1, -1, -1}, {}, kNobody)}}, Estimator::latency)->n, 5);
}

}  // namespace
}  // namespace assay::probe
