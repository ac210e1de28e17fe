// Single-use data is evicted where the synthetic cache evicts it; pauses show the eviction by
// co-tenants.
#include "probe/inference/retention.h"

#include <gtest/gtest.h>

#include "tests/probe/synthetic.h"
#include "tests/probe/synthetic_caches.h"

namespace assay::probe {
namespace {

using namespace hwdesc;
using namespace test;

// Single-use data, read after so many other bytes of all units, of a cache that evicts it earlier
// than reused data.
const SyntheticCache kOnce = {1 * kMiB, 24 * kMiB, 150e9};

double once_behind(double bytes) {
  const double hit = hit_rate_of(kOnce, std::max(bytes, 1.0));
  return hit / kOnce.bandwidth + (1 - hit) / kFarBandwidth;
}

constexpr double kKeptLonger = 2;  // reused data, after so many times as much
const std::vector<double> kPauses = {0.03e-3, 0.3e-3, 1e-3, 3e-3, 10e-3, 30e-3};

// Co-tenants read `foreign` bytes a second.
Observations used_once(double foreign, const std::vector<double>& pauses = kPauses) {
  Observations out;
  for (const double pause : pauses)
    out.points.push_back(test::block("retention", "pause", {{"units", kUnits}, {"idle", pause}},
                                     once_behind(foreign * pause)));
  for (double bytes = kMiB; bytes <= 64 * kMiB; bytes *= 2)
    out.points.push_back(test::block("retention", "single_use",
                                     {{"units", kUnits}, {"bytes", bytes}}, once_behind(bytes)));
  for (double bytes = kMiB; bytes <= 64 * kMiB; bytes *= 2)
    out.points.push_back(test::block("retention", "reused", {{"units", kUnits}, {"bytes", bytes}},
                                     once_behind(bytes / kKeptLonger)));
  return out;
}

MemoryLevel last_cache(const Observations& all, const char* per = "device") {
  MemoryLevel l = levels()[2];
  l.per = per;
  add_single_use(all, kUnits, l);
  return l;
}

TEST(Retention, IsWhereSingleUseDataIsEvicted) {
  const MemoryLevel l = last_cache(used_once(0));
  EXPECT_LT(octaves_between(l.single_use_retention.from, footprint_of(kOnce, 0.9)), 0.3);
  EXPECT_LT(octaves_between(l.single_use_retention.middle, footprint_of(kOnce, 0.5)), 0.1);
  EXPECT_LT(octaves_between(l.single_use_retention.to, footprint_of(kOnce, 0.1)), 0.1);
  for (const Value<hwdesc::Bytes>* v :
       {&l.single_use_retention.middle, &l.reuse_retention.middle}) {
    EXPECT_LE(v->low->v, v->value->v / 4 + 1) << "others come and go";
    EXPECT_GE(v->high->v, v->value->v * 4 - 1);
  }
  EXPECT_LT(octaves_between(l.reuse_retention.from, kKeptLonger * footprint_of(kOnce, 0.9)), 0.3);
  EXPECT_LT(octaves_between(l.reuse_retention.middle, kKeptLonger * footprint_of(kOnce, 0.5)), 0.1);
  EXPECT_LT(octaves_between(l.reuse_retention.to, kKeptLonger * footprint_of(kOnce, 0.1)), 0.1);
  EXPECT_LT(octaves_between(last_cache(used_once(0), "unit").single_use_retention.middle,
                            footprint_of(kOnce, 0.5) / kUnits),
            0.1)
      << "each unit's own";
  EXPECT_FALSE(last_cache({}).single_use_retention.middle.known());
}

// Far memory is twice as fast in one of two visits, and the cache retains four times as much.
// Pooled, far data of one would seem half cached in the other.
TEST(Retention, OfSeveralVisitsTheMedianCounts) {
  Observations all;
  const auto visit = [&](double times, double faster) {
    all.points.push_back(test::block("latency", "chase", {{"level", 2}}, 1e-8));
    for (Observation o : used_once(0).points) {
      if (o.at.contains("bytes")) o.at["bytes"] *= times;
      for (double& s : o.samples) s /= faster;
      all.points.push_back(std::move(o));
    }
  };
  visit(1, 1);
  visit(4, 2);
  EXPECT_EQ(visits_of(all, "retention").size(), 2U);
  const MemoryLevel l = last_cache(all);
  EXPECT_LT(octaves_between(l.single_use_retention.middle, 2 * footprint_of(kOnce, 0.5)), 0.15);
  EXPECT_LT(octaves_between(l.single_use_retention.to, 2 * footprint_of(kOnce, 0.1)), 0.15);
  EXPECT_LT(octaves_between(l.reuse_retention.middle, 2 * kKeptLonger * footprint_of(kOnce, 0.5)),
            0.15);
}

// Mostly co-tenants have evicted it by then: the few fast samples do not count.
TEST(Retention, IsThatOfMostSamples) {
  Observations all = used_once(0);
  for (Observation& o : all.points)
    if (o.what == "single_use") {
      std::vector<double> samples(4, once_behind(1.0));
      samples.resize(12, o.samples.front());
      o.samples = samples;
      o.disturbed.assign(samples.size(), 0);
    }
  EXPECT_LT(octaves_between(last_cache(all).single_use_retention.middle, footprint_of(kOnce, 0.5)),
            0.1);
}

// The shortest pause was disturbed: longer pauses, after which nothing is slower, show the time of
// a hit.
TEST(Retention, OneSlowPauseIsNotTheTimeOfAHit) {
  Observations all = used_once(0);
  for (Observation& o : all.points)
    if (o.what == "pause" && o.value_at("idle") == kPauses.front())
      for (double& s : o.samples) s = once_behind(64 * kMiB);
  EXPECT_LT(octaves_between(last_cache(all).single_use_retention.to, footprint_of(kOnce, 0.1)),
            0.3);
}

TEST(CoTenantEviction, IsTheRateAtWhichUnusedDataIsEvicted) {
  for (const double rate : {1e9, 5e9, 12e9}) {
    const Value<Bandwidth> v = last_cache(used_once(rate)).co_tenant_eviction;
    ASSERT_TRUE(v.known()) << rate << ": " << v.note;
    EXPECT_NEAR(v.value->v, rate, 0.15 * rate);
    EXPECT_LE(v.low->v, v.value->v);
    EXPECT_GE(v.high->v, v.value->v);
  }
}

TEST(CoTenantEviction, IsNoneWhereTheLongestPauseEvictsNothing) {
  const Value<Bandwidth> v = last_cache(used_once(0)).co_tenant_eviction;
  ASSERT_TRUE(v.known());
  EXPECT_EQ(v.value->v, 0);
  EXPECT_GT(v.high->v, 0);
  EXPECT_LT(v.high->v, footprint_of(kOnce, 0.5) / kPauses.back());
}

TEST(CoTenantEviction, IsUnknownBetweenAPauseThatEvictsNothingAndOneThatEvictsAll) {
  const Value<Bandwidth> v = last_cache(used_once(5e9, {0.03e-3, 30e-3})).co_tenant_eviction;
  EXPECT_FALSE(v.known());
  EXPECT_NE(v.note, "");
  EXPECT_FALSE(last_cache({}).co_tenant_eviction.known());
}

}  // namespace
}  // namespace assay::probe
