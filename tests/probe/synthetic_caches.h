// Synthetic caches for tests of streamed data.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::probe::test {

constexpr double kKiB = 1024, kMiB = 1024 * 1024;
constexpr double kUnits = 2;
constexpr double kFarBandwidth = 40e9;

// A cache whose hit rate falls from 1 to 0 between two footprints, with the logarithm.
struct SyntheticCache {
  double all = 0, none = 0;  // bytes of one unit's part
  double bandwidth = 0;      // of all units, in it
};

inline double hit_rate_of(const SyntheticCache& c, double bytes) {
  return std::clamp(std::log(c.none / bytes) / std::log(c.none / c.all), 0.0, 1.0);
}

// Bytes of one part of which `part` hits.
inline double footprint_of(const SyntheticCache& c, double part) {
  return c.all * std::pow(c.none / c.all, 1 - part);
}

inline hwdesc::MemoryLevel cache(const std::string& name, const std::string& per, double bytes) {
  hwdesc::MemoryLevel l;
  l.name = name;
  l.per = per;
  l.managed = hwdesc::Managed::automatic;
  l.capacity.value = hwdesc::Bytes{bytes};
  return l;
}

// As a chase sees them: the last one looks far smaller than it is.
inline std::vector<hwdesc::MemoryLevel> levels() {
  std::vector<hwdesc::MemoryLevel> m = {cache("l1", "unit", 50 * kKiB),
                                        cache("l2", "unit", 870 * kKiB),
                                        cache("l3", "device", 7 * kMiB)};
  m.push_back(cache("dram", "device", 8192 * kMiB));
  m.back().managed = hwdesc::Managed::explicit_;
  return m;
}

inline double octaves_between(const hwdesc::Value<hwdesc::Bytes>& v, double bytes) {
  EXPECT_TRUE(v.known()) << v.note;
  return v.known() ? std::abs(std::log2(v.value->v / bytes)) : 99;
}

}  // namespace assay::probe::test
