// From noisy samples to one number with an interval.
//
// Noise on a shared machine is one-sided (it only slows down), hence the estimators:
//   - latency: the 10 % quantile of the times;
//   - throughput: the median of the faster half of the times (the 25 % quantile);
//   - either: the median, where the times are narrow and symmetric, so that nothing slowed them.
//
// Samples are used in three steps of trust, the first that leaves enough: no co-tenant on the
// machine; none that kept our own threads waiting; all. Of blocks at several clocks (a chip that
// throttles) those at the fastest count, if they are enough. Where no host shows co-tenants (GPUs),
// blocks of two states, with none between them, count where they are of the faster.
//
// The interval is the 5 % .. 95 % quantile of the estimator over bootstrap resamples, of whole
// blocks first and samples second, so that it has the spread between blocks (cluster bootstrap;
// Efron and Tibshirani, An Introduction to the Bootstrap, ch. 8). The random numbers are seeded:
// the same observations give the same bytes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probe/observation.h"

namespace assay::probe {

inline constexpr double kDisturbed = 0.02;
inline constexpr double kOneClock = 0.9;  // clocks within that part of the fastest are the same one

enum class Trust { quiet, undisturbed, all };

enum class Estimator { latency, throughput };

struct Summary {
  double value = 0, low = 0, high = 0;  // unit of the samples
  int64_t n = 0;                        // samples used
  double clock_hz = 0;                  // of the blocks used; 0: no sentinel ran
  Trust trust = Trust::quiet;           // which samples were used
  bool operator==(const Summary&) const = default;
};

// Of all blocks, trusted or not.
std::vector<double> all_samples(std::span<const Observation> blocks);

// Linear interpolation between order statistics (type 7 of Hyndman and Fan). `v` must not be empty.
double quantile(std::vector<double> v, double q);

// `blocks`, with samples scaled to clock_of(blocks): for what scales with the core's clock, where
// that changes from block to block. Blocks without a sentinel stay as they are.
std::vector<Observation> at_common_clock(std::span<const Observation> blocks);

// nullopt: no samples at all.
std::optional<Summary> summarize(std::span<const Observation> blocks, Estimator estimator);
// Its value alone, which costs no resampling.
std::optional<double> estimate(std::span<const Observation> blocks, Estimator estimator);

// The time at the fastest clock among times of the same work: the median of those that may be of
// one clock with the fastest, which by itself is the luckiest. `times` must not be empty.
double of_one_clock(std::vector<double> times);

// The observations of each run of an experiment, since co-tenants come and go between them.
std::vector<Observations> visits_of(const Observations& all, const std::string& experiment);

// The observations of one experiment and quantity whose conditions hold all of `at`.
std::vector<Observation> select(const Observations& all, const std::string& experiment,
                                const std::string& what, const Conditions& at = {});

// The distinct values of condition `name`, ascending.
std::vector<double> values_of(std::span<const Observation> blocks, const std::string& name);

// The clock under which `blocks` ran: the 75 % quantile of their sentinels, since a disturbed
// sentinel only ever looks slower. 0 when none ran.
double clock_of(std::span<const Observation> blocks);

}  // namespace assay::probe
