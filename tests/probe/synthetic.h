// Synthetic devices: latency curves with known levels, and whole sets of observations.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "probe/inference/knee.h"
#include "probe/observation.h"

namespace assay::probe::test {

struct SyntheticLevel {
  double capacity = 0;  // bytes; the last level's is not used
  double seconds = 0;
  double smear = 0;  // octaves over which the hit rate falls
};

// Share of accesses that miss a cache at `bytes`: 0 below it, 1 `smear` octaves above.
inline double miss_share(const SyntheticLevel& l, double bytes) {
  const double over = std::log2(bytes / l.capacity);
  if (over <= 0) return 0;
  return l.smear <= 0 ? 1 : std::min(1.0, over / l.smear);
}

inline double latency_at(const std::vector<SyntheticLevel>& levels, double bytes) {
  double t = levels.back().seconds;
  for (size_t i = levels.size() - 1; i-- > 0;) {
    const double miss = miss_share(levels[i], bytes);
    t = miss * t + (1 - miss) * levels[i].seconds;
  }
  return t;
}

inline std::vector<double> footprints(double from, double to, double per_octave) {
  std::vector<double> out;
  for (double b = from; b <= to; b *= std::exp2(1 / per_octave))
    out.push_back(std::round(b / 64) * 64);
  return out;
}

// Noise that only slows down: most samples by a little, some by a lot.
inline double noisy(double t, double relative, std::mt19937_64& random) {
  std::exponential_distribution<double> little(1.0);
  const bool hit = random() % 12 == 0;
  return t * (1 + relative * little(random) + (hit ? 0.5 : 0.0));
}

inline std::vector<Observation> chase_observations(const std::vector<SyntheticLevel>& levels,
                                                   double noise, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Observation> out;
  for (int block = 0; block < 4; ++block)
    for (const double bytes : footprints(8192, 256.0 * (1 << 20), 4)) {
      Observation o{"chase", "chase", {{"bytes", bytes}}, "s", {}, {0, 0, 0}, 0, 3e9};
      for (int i = 0; i < 3; ++i)
        o.samples.push_back(noisy(latency_at(levels, bytes), noise, random));
      out.push_back(std::move(o));
    }
  return out;
}

inline Observation block(const std::string& experiment, const std::string& what,
                         const Conditions& at, double seconds) {
  return {
      experiment,      what, at, "s", {seconds, seconds * 1.001, seconds * 1.002, seconds, seconds},
      {0, 0, 0, 0, 0}, 0,    3e9};
}

}  // namespace assay::probe::test
