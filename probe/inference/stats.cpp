#include "probe/inference/stats.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>

#include "support/check.h"

namespace assay::probe {
namespace {

constexpr int kResamples = 200;
constexpr size_t kEnough = 5;      // trusted samples that suffice without the others
constexpr double kBelieved = 1.5;  // ratio to the estimate over all samples

using Blocks = std::vector<std::vector<double>>;

size_t samples_of(const Blocks& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), size_t{0},
                         [](size_t n, const auto& b) { return n + b.size(); });
}

std::vector<double> pooled(const Blocks& blocks) {
  std::vector<double> all;
  for (const auto& b : blocks) all.insert(all.end(), b.begin(), b.end());
  return all;
}

double mean_of(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

constexpr size_t kShape = 8;       // samples that show a distribution's shape
constexpr double kClose = 0.15;    // of the median: four times a noise of a few per cent
constexpr double kLopsided = 1.7;  // times as far above as below
constexpr double kHeap =
    0.7;  // of the spread holds half of the samples at most; 0.53 where they are normal
// Variance of blocks' means over what samples within blocks let expect. By chance it is exceeded
// once in 1700 times, of six blocks of three.
constexpr double kOwnStates = 10;

bool symmetric(const std::vector<double>& v) {
  if (v.size() < kShape) return false;
  const double low = quantile(v, 0.1), middle = quantile(v, 0.5), high = quantile(v, 0.9);
  const bool one_heap = quantile(v, 0.75) - quantile(v, 0.25) <
                        kHeap * (high - low);  // not two states of the machine
  return one_heap && high - low < kClose * middle && high - middle < kLopsided * (middle - low);
}

// Blocks that differ by more than their own samples explain come from two states of the machine,
// such as another placement of pages. A one-way analysis of variance (Fisher 1925, chapter VII).
// Only for rates: latencies change from block to block with the clock, which is no such state.
bool alike(const Blocks& blocks) {
  const double n = static_cast<double>(samples_of(blocks)),
               groups = static_cast<double>(blocks.size());
  if (groups < 2 || n <= groups) return true;
  const double mean = mean_of(pooled(blocks));
  double between = 0, within = 0;
  for (const std::vector<double>& b : blocks) {
    const double m = mean_of(b);
    between += static_cast<double>(b.size()) * (m - mean) * (m - mean);
    for (const double v : b) within += (v - m) * (v - m);
  }
  return between / (groups - 1) <= kOwnStates * within / (n - groups);
}

double level_of(Estimator e, const Blocks& times) {
  if (symmetric(pooled(times)) && (e == Estimator::latency || alike(times))) return 0.5;
  return e == Estimator::latency ? 0.10 : 0.25;
}

// splitmix64: Steele, Lea and Flood, OOPSLA 2014.
struct Random {
  uint64_t state = 0x9e3779b97f4a7c15ULL;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return static_cast<size_t>(next() % n); }
};

bool is_trusted(const Observation& o, size_t i, Trust trust) {
  if (trust == Trust::all) return true;
  if (trust == Trust::quiet && o.foreign > kDisturbed) return false;
  return i >= o.disturbed.size() || o.disturbed[i] <= kDisturbed;
}

Blocks gather(std::span<const Observation> blocks, Trust trust) {
  Blocks out;
  for (const Observation& o : blocks) {
    std::vector<double> kept;
    for (size_t i = 0; i < o.samples.size(); ++i)
      if (std::isfinite(o.samples[i]) && is_trusted(o, i, trust)) kept.push_back(o.samples[i]);
    if (!kept.empty()) out.push_back(std::move(kept));
  }
  return out;
}

// Those that ran at the fastest clock, if they have enough trusted samples; else all.
std::vector<Observation> at_one_clock(std::span<const Observation> blocks) {
  double fastest = 0, slowest = std::numeric_limits<double>::infinity();
  for (const Observation& o : blocks)
    if (o.clock_hz)
      fastest = std::max(fastest, *o.clock_hz), slowest = std::min(slowest, *o.clock_hz);
  std::vector<Observation> all(blocks.begin(), blocks.end());
  if (slowest >= kOneClock * fastest) return all;
  std::vector<Observation> fast;
  std::copy_if(all.begin(), all.end(), std::back_inserter(fast), [&](const Observation& o) {
    return o.clock_hz && *o.clock_hz >= kOneClock * fastest;
  });
  return samples_of(gather(fast, Trust::undisturbed)) >= kEnough ? fast : all;
}

// Without the blocks that took so much longer than the others that somebody disturbed them: of two
// states, with none between them, the faster. Of a device whose host sees no neighbours; elsewhere
// low quantiles leave them out. Its timestamps deviate both ways, so blocks that differ by degrees
// all count, and those whose own samples differ as much, as differences of two launches do.
std::vector<Observation> undisturbed(std::vector<Observation> blocks) {
  const auto part = [](const Observation& o, double q) { return quantile(o.samples, q); };
  std::vector<double> middles;
  for (const Observation& o : blocks) {
    if (o.foreign != kNobody || o.samples.size() < kEnough) return blocks;
    middles.push_back(part(o, 0.5));
    if (part(o, 0.75) > kBelieved * middles.back()) return blocks;
  }
  std::sort(middles.begin(), middles.end());
  const auto gap = std::adjacent_find(middles.begin(), middles.end(),
                                      [](double a, double b) { return b > kBelieved * a; });
  if (gap == middles.end()) return blocks;
  std::erase_if(blocks, [&](const Observation& o) { return part(o, 0.5) > *gap; });
  return blocks;
}

// Co-tenants only slow samples down. Trusted ones that are so much slower than the rest were
// disturbed in a way that no clock shows, such as a co-tenant's lines in a shared cache.
bool believed(const Blocks& trusted, const Blocks& all, Estimator e) {
  return quantile(pooled(trusted), level_of(e, trusted)) <=
         kBelieved * quantile(pooled(all), level_of(e, all));
}

double resample(const Blocks& blocks, double level, Random& random) {
  std::vector<double> drawn;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto& b = blocks[random.below(blocks.size())];
    for (size_t j = 0; j < b.size(); ++j) drawn.push_back(b[random.below(b.size())]);
  }
  return quantile(std::move(drawn), level);
}

}  // namespace

std::vector<double> all_samples(std::span<const Observation> blocks) {
  std::vector<double> out;
  for (const Observation& o : blocks) out.insert(out.end(), o.samples.begin(), o.samples.end());
  return out;
}

double quantile(std::vector<double> v, double q) {
  ASSAY_CHECK(!v.empty());
  std::sort(v.begin(), v.end());
  const double at = q * static_cast<double>(v.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, v.size() - 1);
  return v[below] + (at - static_cast<double>(below)) * (v[above] - v[below]);
}

double of_one_clock(std::vector<double> times) {
  ASSAY_CHECK(!times.empty());
  const double slowest = *std::min_element(times.begin(), times.end()) / kOneClock;
  std::erase_if(times, [&](double t) { return t > slowest; });
  return quantile(std::move(times), 0.5);
}

std::vector<Observation> at_common_clock(std::span<const Observation> blocks) {
  std::vector<Observation> out(blocks.begin(), blocks.end());
  const double common = clock_of(blocks);
  for (Observation& o : out) {
    if (!o.clock_hz || *o.clock_hz <= 0) continue;
    for (double& seconds : o.samples) seconds *= *o.clock_hz / common;
    o.clock_hz = common;
  }
  return out;
}

namespace {

struct Used {  // samples that count
  Blocks blocks;
  Trust trust = Trust::quiet;
  double level = 0;  // the quantile of them that counts
};

Used used_of(std::span<const Observation> blocks, Estimator estimator) {
  const Blocks every = gather(blocks, Trust::all);
  Used out;
  for (const Trust trust : {Trust::quiet, Trust::undisturbed, Trust::all}) {
    out.blocks = gather(blocks, trust);
    out.trust = trust;
    if (samples_of(out.blocks) >= kEnough && believed(out.blocks, every, estimator)) break;
  }
  if (samples_of(out.blocks) == samples_of(gather(blocks, Trust::quiet))) out.trust = Trust::quiet;
  const bool alone = std::all_of(blocks.begin(), blocks.end(),
                                 [](const Observation& o) { return o.foreign == kNobody; });
  if (!out.blocks.empty()) out.level = alone ? 0.5 : level_of(estimator, out.blocks);
  return out;
}

}  // namespace

std::optional<double> estimate(std::span<const Observation> taken, Estimator estimator) {
  const Used used = used_of(undisturbed(at_one_clock(taken)), estimator);
  if (used.blocks.empty()) return std::nullopt;
  return quantile(pooled(used.blocks), used.level);
}

std::optional<Summary> summarize(std::span<const Observation> taken, Estimator estimator) {
  const std::vector<Observation> blocks = undisturbed(at_one_clock(taken));
  const auto [used, trust, level] = used_of(blocks, estimator);
  const std::vector<double> all = pooled(used);
  if (all.empty()) return std::nullopt;
  Summary s;
  s.trust = trust;
  Random random;
  std::vector<double> estimates;
  for (int i = 0; i < kResamples; ++i) estimates.push_back(resample(used, level, random));
  s.value = quantile(all, level);
  s.low = std::min(s.value, quantile(estimates, 0.05));
  s.high = std::max(s.value, quantile(estimates, 0.95));
  s.n = static_cast<int64_t>(all.size());
  s.clock_hz = clock_of(blocks);
  return s;
}

std::vector<Observations> visits_of(const Observations& all, const std::string& experiment) {
  std::vector<Observations> out;
  bool within = false;
  for (const Observation& o : all.points) {
    const bool one = o.experiment == experiment;
    if (one && !within) out.emplace_back();
    if (one) out.back().points.push_back(o);
    within = one;
  }
  return out;
}

std::vector<Observation> select(const Observations& all, const std::string& experiment,
                                const std::string& what, const Conditions& at) {
  std::vector<Observation> out;
  for (const Observation& o : all.points) {
    if (o.experiment != experiment || o.what != what) continue;
    const bool same = std::all_of(at.begin(), at.end(), [&](const auto& c) {
      const auto it = o.at.find(c.first);
      return it != o.at.end() && it->second == c.second;
    });
    if (same) out.push_back(o);
  }
  return out;
}

std::vector<double> values_of(std::span<const Observation> blocks, const std::string& name) {
  std::vector<double> out;
  for (const Observation& o : blocks)
    if (const auto it = o.at.find(name); it != o.at.end()) out.push_back(it->second);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

double clock_of(std::span<const Observation> blocks) {
  std::vector<double> clocks;
  for (const Observation& o : blocks)
    if (o.clock_hz) clocks.push_back(*o.clock_hz);
  return clocks.empty() ? 0 : quantile(clocks, symmetric(clocks) ? 0.5 : 0.75);
}

}  // namespace assay::probe
