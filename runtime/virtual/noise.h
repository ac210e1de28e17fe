// Counter-based random numbers: the n-th draw depends on the seed and n only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace assay::runtime::simulated {

class Noise {
 public:
  Noise(uint64_t seed, double sigma) : seed_(seed), sigma_(sigma) {}

  double uniform() {  // in [0, 1)
    uint64_t x =
        seed_ * 0x9E3779B97F4A7C15 + ++count_ * 0xD1B54A32D192ED03;  // splitmix64 of a counter
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
  }

  // Factor on a time: Gaussian around 1, and longer in one of kRare cases, as by an interrupt.
  double factor() {
    if (sigma_ <= 0) return 1;
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    const double normal = radius * std::cos(2 * std::numbers::pi * uniform());
    const double rare = uniform() < 1.0 / kRare ? 1 + kInterruption * uniform() : 1;
    return std::max(0.1, 1 + sigma_ * normal) * rare;
  }

 private:
  static constexpr double kRare = 50, kInterruption = 2;
  uint64_t seed_, count_ = 0;
  double sigma_;
};

}  // namespace assay::runtime::simulated
