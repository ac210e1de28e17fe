// What later experiments need of earlier ones, inferred from the observations at hand. Everything
// has a usable default, so that one failed experiment does not take the others with it.
#pragma once

#include <vector>

#include "probe/knee.h"
#include "probe/observation.h"

namespace assay::probe {

struct Known {
  double clock_hz = 0;       // 0: not measured yet
  int lanes = 4;             // f32 lanes of the vectors with the highest multiply-add rate
  int chains = 8;            // independent chains that reach it
  double line = 64;          // bytes
  Levels levels;             // from the chase; empty before it
  std::vector<bool> shared;  // per cache of `levels`: all units share one; the first two are not
                             // taken for shared before that was measured
};

Known known_from(const Observations& all);

// Rates by lanes, best over the number of chains: elements per second.
struct LaneRate {
  int lanes = 0, chains = 0;
  double elements_per_second = 0;
};
std::vector<LaneRate> lane_rates(const Observations& all);

// How much slower all units are than one, each chasing through 0.7 of the capacity of level `i`;
// 0: not measured.
double crowding(const Observations& all, size_t i);
inline constexpr double kCrowded = 1.3;  // from here on they share it

// The curve of the chase: every node a line, random single cycle. All strides but the line's left out.
std::vector<Observation> chase_blocks(const Observations& all);

}  // namespace assay::probe
