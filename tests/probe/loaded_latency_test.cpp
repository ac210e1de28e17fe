// Loaded latency, on synthetic launches: a memory with a known latency at each bandwidth.
#include "probe/inference/loaded_latency.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::probe {
namespace {

constexpr double kAlone = 100e-9, kPeak = 40e9;

// Of a queue: it rises as the bandwidth in use approaches the peak.
double latency_of(double bandwidth) {
  return kAlone * (1 + 0.4 * bandwidth / (1.02 * kPeak - bandwidth));
}

// What the three launches take, the chase `longer` times as long as the streams.
LoadedTimes launches(double bandwidth, double bytes, double longer) {
  const double streams = bytes / bandwidth, latency = latency_of(bandwidth),
               hops = std::round(longer * streams / latency);
  const double left = std::max(0.0, hops - streams / latency);
  return {hops * kAlone, streams,
          std::max(streams, hops * latency) > streams ? streams + left * kAlone : streams, hops};
}

void add(Observations& o, double level, double slower, double bandwidth, double longer,
         double noise = 0) {
  constexpr double kBytes = 16e6;
  const LoadedTimes b = launches(bandwidth, kBytes, longer);
  const Conditions at = {
      {"level", level}, {"others", 3}, {"slower", slower}, {"hops", b.hops}, {"bytes", kBytes}};
  const auto block = [&](const char* what, double seconds) {
    Observation x{"loaded_latency", what, at, "s", {}, {}, 0, {}};
    for (int i = -2; i <= 2; ++i) x.samples.push_back(seconds * (1 + noise * i));
    x.disturbed.assign(x.samples.size(), 0);
    return x;
  };
  for (auto&& x : {block("alone", b.alone), block("streams", b.streams), block("both", b.both)})
    o.points.push_back(x);
}

Observations curve() {
  Observations o;
  for (const double part : {0.95, 0.8, 0.6, 0.4, 0.2, 0.1}) add(o, 1, 1 / part, part * kPeak, 1.08);
  return o;
}

hwdesc::MemoryLevel memory(double read) {
  hwdesc::MemoryLevel l;
  l.latency.value = hwdesc::Latency{90e-9, ""};
  l.bandwidth.read.value = hwdesc::Bandwidth{read, ""};
  return l;
}

TEST(LoadedLatency, hops_after_the_streams_are_as_fast_as_alone) {
  for (const double longer : {1.02, 1.08, 1.5})
    for (const double part : {0.1, 0.5, 0.9}) {
      const auto found = latency_under_load(launches(part * kPeak, 16e6, longer));
      ASSERT_TRUE(found) << longer;
      EXPECT_NEAR(*found / latency_of(part * kPeak), 1, 0.01) << part << " " << longer;
    }
}

TEST(LoadedLatency, a_chase_that_ended_first_does_not_count) {
  EXPECT_FALSE(latency_under_load({1e-3, 2e-3, 1.9e-3, 100}));
  EXPECT_FALSE(latency_under_load({1e-3, 0, 1e-3, 100}));
  EXPECT_FALSE(latency_under_load(
      {1e-3, 1e-3, 3e-3, 100}));  // as if it had only begun when the streams ended
}

TEST(LoadedLatency, the_curve_begins_at_no_bandwidth_and_never_falls) {
  const auto c = loaded_curve(curve(), 1);
  ASSERT_EQ(c.size(), 7u);
  EXPECT_EQ(c.front().bandwidth, 0);
  EXPECT_NEAR(c.front().latency, kAlone, 1e-12);
  for (size_t i = 1; i < c.size(); ++i) {
    EXPECT_GE(c[i].latency, c[i - 1].latency);
    EXPECT_NEAR(c[i].latency / latency_of(c[i].bandwidth), 1, 0.01);
  }
  EXPECT_TRUE(loaded_curve(curve(), 0).empty());
}

TEST(LoadedLatency, latency_at_half_and_nine_tenths_of_the_bandwidth) {
  Known known;
  hwdesc::MemoryLevel l = memory(kPeak);
  add_loaded(curve(), known, 1, l);
  ASSERT_TRUE(l.loaded_latency.half.known() && l.loaded_latency.nine_tenths.known());
  const double added = latency_of(0.5 * kPeak) - kAlone, more = latency_of(0.9 * kPeak) - kAlone;
  EXPECT_NEAR(l.loaded_latency.half.value->v, 90e-9 + added, 0.1 * added);
  EXPECT_NEAR(l.loaded_latency.nine_tenths.value->v, 90e-9 + more,
              0.25 * more);  // between points of a steep curve
  EXPECT_GT(l.loaded_latency.nine_tenths.value->v, l.loaded_latency.half.value->v);
}

TEST(LoadedLatency, of_a_level_in_cycles_it_is_in_cycles) {
  Known known;
  known.clock_hz = 2e9;
  hwdesc::MemoryLevel l = memory(kPeak);
  l.latency.value = hwdesc::Latency{180, "core"};
  add_loaded(curve(), known, 1, l);
  ASSERT_TRUE(l.loaded_latency.half.known());
  EXPECT_EQ(l.loaded_latency.half.value->clock, "core");
  EXPECT_NEAR(l.loaded_latency.half.value->v, 180 + 2e9 * (latency_of(0.5 * kPeak) - kAlone), 8);
}

TEST(LoadedLatency, a_bandwidth_that_is_not_reached_is_unknown) {
  hwdesc::MemoryLevel l = memory(1.6 * kPeak);
  add_loaded(curve(), {}, 1, l);
  EXPECT_TRUE(l.loaded_latency.half.known());
  EXPECT_FALSE(l.loaded_latency.nine_tenths.known());
  EXPECT_NE(l.loaded_latency.nine_tenths.note.find("59 %"), std::string::npos)
      << l.loaded_latency.nine_tenths.note;
}

TEST(LoadedLatency, disturbed_samples_do_not_count) {
  Observations o = curve();
  for (Observation& x : o.points)
    for (int i = 0; i < 2; ++i) {
      x.samples.push_back(x.samples[0] * (x.what == "both" ? 1.9 : 1));
      x.disturbed.push_back(0.5);
    }
  EXPECT_EQ(loaded_at(loaded_curve(o, 1), 0.5 * kPeak)->latency,
            loaded_at(loaded_curve(curve(), 1), 0.5 * kPeak)->latency);
}

TEST(LoadedLatency, without_a_curve_the_reason_is_given) {
  Observations o;
  o.endings = {{"loaded_latency", Outcome::done, 1, ""}};
  Known known;
  known.levels.plateaus.resize(2);
  hwdesc::MemoryLevel far = memory(kPeak), near = memory(kPeak);
  add_loaded(o, known, 1, far);
  add_loaded(o, known, 0, near);
  EXPECT_NE(far.loaded_latency.half.note.find("one group at a time"), std::string::npos);
  EXPECT_EQ(near, memory(kPeak));
}

TEST(LoadedLatency, without_observations_nothing_is_reported) {
  hwdesc::MemoryLevel l = memory(kPeak);
  add_loaded({}, {}, 0, l);
  EXPECT_EQ(l, memory(kPeak));
}

}  // namespace
}  // namespace assay::probe
