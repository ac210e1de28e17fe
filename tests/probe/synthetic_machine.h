// A synthetic machine's observations, and the profile inferred from observations.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "hwdesc/profile.h"
#include "probe/inference/infer.h"
#include "probe/kernels/kernels.h"
#include "tests/probe/synthetic.h"

namespace assay::probe::test {

inline constexpr double kKiB = 1024, kMiB = 1024 * 1024, kClock = 3e9;

// 4 units at 3 GHz (2.5 GHz under 16-lane multiply-adds), two multiply-adds of 16 lanes per cycle.
inline Observations synthetic_machine() {
  Observations o;
  o.facts = {{"name", "Made (R) Up"}, {"cpu", "Made Up"}, {"api", "cpp"},
             {"units", "4"},          {"isa", "avx512f"}, {"memory_bytes", "8589934592"}};
  o.points = chase_observations({{48 * kKiB, 5 / kClock, 0},
                                 {1 * kMiB, 15 / kClock, 0},
                                 {16 * kMiB, 60 / kClock, 0},
                                 {0, 100e-9, 0}},
                                0.005, 5);
  o.points.push_back(block("clock", "sentinel", {}, 1 / kClock));
  for (const int lanes : {4, 8, 16}) {
    const double clock = lanes == 16 ? 2.5e9 : kClock;
    o.points.push_back(block("clock", "fma", {{"lanes", lanes}}, 1 / clock));
    o.points.push_back(block("clock", "read", {{"lanes", lanes}}, 1 / kClock));
    for (const int c : kFmaChains) {
      o.points.push_back(
          block("fma", "fma", {{"lanes", lanes}, {"chains", c}}, std::max(0.5, 4.0 / c) / clock));
      o.points.push_back({"fma",
                          "stack",
                          {{"lanes", lanes}, {"chains", c}},
                          "B",
                          {c >= 32 ? 136.0 : 8.0},
                          {},
                          0,
                          {}});
    }
  }
  o.points.push_back(block("access", "read", {{"lanes", 16}}, 1 / (128 * kClock)));
  o.points.push_back(block("operations", "div", {{"lanes", 16}, {"chains", 1}}, 17 / 2.5e9));
  o.points.push_back(block("operations", "div", {{"lanes", 16}, {"chains", 10}}, 16 / 2.5e9));
  o.points.push_back(block("sustained", "fma", {{"lanes", 16}, {"units", 4}}, 1 / 2.4e9));
  for (const double n : {1, 2, 4}) o.points.push_back(block("units", "fma", {{"units", n}}, 1e-10));
  for (const double d : {8, 16, 32, 64, 128})
    o.points.push_back(block("line", "pair", {{"distance", d}}, d < 64 ? 10e-9 : 15e-9));
  for (const double level : {0, 1, 2})
    for (const double n : {1, 4})
      for (int i = 0; i < 3; ++i)
        o.points.push_back(block("sharing", "chase", {{"level", level}, {"units", n}},
                                 n == 4 && level == 2 ? 2e-8 : 1e-8));
  for (const double n : {1, 2, 3, 4})
    o.points.push_back(block("far", "read", {{"level", 3}, {"units", n}, {"bytes", 1e8}},
                             1 / std::min(n * 15e9, 40e9)));
  return o;
}

inline hwdesc::Profile inferred(const Observations& o) {
  auto p = infer(o);
  EXPECT_TRUE(p.ok());
  return p.value();
}

}  // namespace assay::probe::test
