#include "probe/inference/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "probe/inference/capacity.h"
#include "probe/inference/cyclic_scan.h"

namespace assay::probe {
namespace {

constexpr int kWaiting = 4;           // times the groups that saturate arithmetic
constexpr double kSecondRound = 1.5;  // times one group's time: some unit ran two of them
constexpr double kNearlyAll = 1.03;   // times the shortest time per operation
constexpr double kWiderPays = 1.15;   // least speedup that makes a wider vector better,
constexpr double kAsFast = 0.85;      // and no worse, despite co-tenants: split vectors would
                                      // spill a third
constexpr double kOneState = 0.04;    // clocks within this are one
constexpr double kFilled = 0.75;      // of the registers, which split vectors would overflow
constexpr double kStep = 1.15;        // from touches of one line to those of two
constexpr double kSharpStep = 1.3;    // the same without neighbours
constexpr std::array<Isa, 6> kIsas = {{{"avx512f", 32, 64},
                                       {"avx2", 16, 32},
                                       {"avx", 16, 32},
                                       {"sse2", 16, 16},
                                       {"sve", 32, 0},
                                       {"asimd", 32, 16}}};

}  // namespace

std::vector<Observation> all_looks(const Observations& all, const std::string& experiment,
                                   const std::string& what, const Conditions& at) {
  std::vector<Observation> out = select(all, experiment, what, at);
  for (Observation& o : select(all, "looks", what, at)) out.push_back(std::move(o));
  return out;
}

namespace {

// The fastest block, since disturbance only slows down. Threads of a processor are as noisy as the
// load beside them: all of their samples.
double best_time(const Observations& all, const std::vector<Observation>& blocks) {
  if (all.fact("lanes") == "threads" && all.fact("class") != "gpu")
    return estimate(blocks, Estimator::latency).value();
  double best = std::numeric_limits<double>::infinity();
  for (const Observation& o : blocks)
    if (const auto s = estimate({&o, 1}, Estimator::latency)) best = std::min(best, *s);
  return best;
}

}  // namespace

LineSize line_by_pairs(const Observations& all) {
  std::vector<Observation> pairs = all_looks(all, "line", "pair");
  const std::vector<double> distances = values_of(pairs, "distance");
  // Of cores, all at one clock: it may fall between two distances. A GPU's touches wait for memory
  // that has a clock of its own.
  if (all.fact("lanes") != "threads") pairs = at_common_clock(pairs);
  std::vector<double> times;
  for (const double d : distances) {
    std::vector<Observation> blocks = pairs;
    std::erase_if(blocks, [&](const Observation& o) { return o.value_at("distance") != d; });
    times.push_back(best_time(all, blocks));
  }
  const auto step = find_step(times, kStep);
  const double before =
      step ? *std::max_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(*step)) : 0;
  const bool sharp = step && times[*step] >= kSharpStep * before;
  const std::string word = "line ", said = declared_cache(all, 0);
  const size_t at = said.find(word);
  const double declared =
      at == std::string::npos || times.empty() ? 0 : std::atof(said.c_str() + at + word.size());
  if (declared > 0 && !sharp && !(step && distances[*step] == declared))
    return {declared, true, step ? distances[*step] : 0};
  return {step ? distances[*step] : 0, false, 0};
}

std::vector<LaneRate> lane_rates(const Observations& all) {
  std::vector<LaneRate> out;
  const std::vector<Observation> blocks = select(all, "fma", "fma");
  for (const double lanes : values_of(blocks, "lanes")) {
    LaneRate best{static_cast<int>(lanes), 0, 0};
    for (const double chains : values_of(blocks, "chains")) {
      const auto s = estimate(select(all, "fma", "fma", {{"lanes", lanes}, {"chains", chains}}),
                              Estimator::throughput);
      if (s && lanes / *s > best.elements_per_second)
        best = {static_cast<int>(lanes), static_cast<int>(chains), lanes / *s};
    }
    out.push_back(best);
  }
  return out;
}

std::optional<Isa> isa_of(const Observations& all) {
  const auto isa = std::find_if(kIsas.begin(), kIsas.end(),
                                [&](const Isa& i) { return all.fact("isa") == i.name; });
  return isa == kIsas.end() ? std::nullopt : std::optional(*isa);
}

std::vector<LaneRate> lane_modes(const Observations& all) {
  std::vector<LaneRate> out;
  const std::optional<Isa> isa = isa_of(all);
  const int decided = std::atoi(all.fact(kVectorLanes).c_str());
  for (const LaneRate& r : lane_rates(all)) {
    if (decided > 0 && r.lanes > decided) break;
    const double best = out.empty() ? 0 : out.back().elements_per_second;
    if (r.lanes == decided || r.elements_per_second >= best * kWiderPays) {
      out.push_back(r);
      continue;
    }
    if (decided > 0 || !isa || r.lanes * 4 != isa->bytes) continue;
    const auto filled = estimate(
        select(all, "fma", "fma", {{"lanes", r.lanes}, {"chains", kFilled * isa->registers}}),
        Estimator::throughput);
    if (filled && r.lanes / *filled >= best * kAsFast) out.push_back(r);
  }
  return out;
}

bool is_chase(const Observation& o) {
  return o.what == "chase" &&
         (o.experiment == "chase" || o.experiment == "knees" || o.experiment == "looks");
}

std::vector<CurvePoint> latency_curve(const Observations& all) {
  if (all.fact("lanes") == "threads") return curve_of(chase_blocks(all), Estimator::latency);
  std::map<double, double> best;
  for (const Observation& o : at_common_clock(chase_blocks(with_fastest_clocks(all))))
    if (const auto s = estimate({&o, 1}, Estimator::latency)) {
      const auto [at, fresh] = best.emplace(o.value_at("bytes"), *s);
      if (!fresh) at->second = std::min(at->second, *s);
    }
  std::vector<CurvePoint> out;
  for (const auto& [bytes, seconds] : best) out.push_back({bytes, seconds});
  return out;
}

std::vector<Observation> chase_blocks(const Observations& all) {
  std::vector<Observation> out;
  std::copy_if(all.points.begin(), all.points.end(), std::back_inserter(out), is_chase);
  // A chip that throttles has other times from then on. The blocks at another clock than most show
  // another state, and are left out.
  const auto at_clock = [&](const Observation& o, double hz) {
    return !o.clock_hz || std::abs(*o.clock_hz / hz - 1) < kOneState;
  };
  size_t most = 0;
  double clock = 0;
  for (const Observation& o : out)
    if (o.clock_hz)
      if (const size_t n =
              std::count_if(out.begin(), out.end(),
                            [&](const Observation& b) { return at_clock(b, *o.clock_hz); });
          n > most)
        most = n, clock = *o.clock_hz;
  if (2 * most > out.size())
    std::erase_if(out, [&](const Observation& o) { return !at_clock(o, clock); });
  return out;
}

namespace {

constexpr double kFromAfar = 0.85;  // of far memory's time per byte: above it, hardly anything hits

// The most bytes that the last cache held while all units streamed; 0: no sweep. A single fast
// footprint may be fast far memory by chance, so it does not count.
double scan_capacity(const Observations& all) {
  const Sweep sweep = sweep_of(all);
  double most = 0;
  for (const CurvePoint& p : rising(sweep.curve))
    if (p.seconds < kFromAfar * sweep.curve.back().seconds) most = p.bytes * sweep.units;
  return most;
}

constexpr double kQuiet = 0.1;  // noise in a sweep

size_t levels_scanned(const Observations& all) {
  const Sweep sweep = sweep_of(all);
  return noise_in(sweep) < kQuiet ? find_levels(sweep.curve).plateaus.size() : 0;
}

// The latency curve's levels: as many as the system declares, or at least as many as streaming
// shows. Co-tenants of a cache hide part of it, and add steps.
Levels levels_from(const Observations& all) {
  std::vector<double> declared;
  for (size_t i = 0; i < declared_caches(all); ++i) declared.push_back(declared_bytes(all, i));
  return find_levels(latency_curve(all),
                     declared.empty() ? levels_scanned(all) : declared.size() + 1, declared);
}

}  // namespace

std::optional<double> size_in(const std::string& text) {
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == std::string::npos) return std::nullopt;
  const size_t unit = text.find_first_not_of(' ', end);
  const char letter = unit == std::string::npos ? ' ' : text[unit];
  const double factor = letter == 'K' || letter == 'k' ? 1024
                        : letter == 'M'                ? 1048576
                        : letter == 'G'                ? 1073741824
                        : letter == 'B'                ? 1
                                                       : 0;
  if (factor == 0) return std::nullopt;
  return std::stod(text.substr(0, end)) * factor;
}

double declared_bytes(const Observations& all, size_t i) {
  return size_in(declared_cache(all, i)).value_or(0);
}

size_t declared_caches(const Observations& all) {
  size_t n = 0;
  while (declared_bytes(all, n) > 0) ++n;
  return n;
}

bool units_are_real(const Observations& all) {
  const std::vector<double> counts = values_of(select(all, "units", "fma"), "units");
  const auto reach = units_speedup(all);
  return !reach || *reach >= kRealUnits * counts.back();
}

std::optional<double> units_speedup(const Observations& all) {
  const std::vector<double> counts = values_of(select(all, "units", "fma"), "units");
  if (counts.empty() || counts.front() != 1) return std::nullopt;
  const auto with = [&](double n) {
    return estimate(select(all, "units", "fma", {{"units", n}}), Estimator::throughput);
  };
  const auto one = with(1), most = with(counts.back());
  if (!one || !most) return std::nullopt;
  return counts.back() * *one / *most;
}

std::string declared_cache(const Observations& all, size_t i) {
  return all.fact("class") == "cpu" ? all.fact(fmt::format("declared.l{}", i + 1)) : "";
}

int units_that_ran(const Observations& all) {
  // A GPU's clock may change between two numbers of groups. Threads of a processor have sentinels
  // as noisy as the load beside them.
  const std::vector<Observation> alone = select(all, "units", "alone"),
                                 blocks =
                                     all.fact("class") == "gpu" ? at_common_clock(alone) : alone;
  const std::vector<double> groups = values_of(blocks, "groups");
  std::vector<double> times;
  for (const double n : groups) {
    std::vector<Observation> here = blocks;
    std::erase_if(here, [&](const Observation& o) { return o.value_at("groups") != n; });
    times.push_back(estimate(here, Estimator::throughput).value());
  }
  for (size_t i = 1; i < groups.size(); ++i) {
    if (times[i] <= kSecondRound * times[0]) continue;
    return static_cast<int>(groups[i - 1]);
  }
  return 0;
}

// Where a group may not use all of a unit's memory, several groups fit: a multiple of the declared
// units.
int units_from(const Observations& all) {
  const int found = units_that_ran(all), said = std::atoi(all.fact("compute_units").c_str());
  return said > 0 && found % said == 0 ? said : found;
}

int saturating_groups(const Observations& all) {
  const std::vector<double> groups = values_of(select(all, "waves", "fma"), "groups");
  std::vector<double> times;
  for (const double n : groups)
    times.push_back(
        estimate(select(all, "waves", "fma", {{"groups", n}}), Estimator::throughput).value());
  for (size_t i = 0; i < groups.size(); ++i)
    if (times[i] < *std::min_element(times.begin(), times.end()) * kNearlyAll)
      return static_cast<int>(groups[i]);
  return 1;
}

int streaming_groups(const Observations& all) {
  const std::vector<Observation> reads = select(all, "far", "read");
  const auto time_of = [&](double n) {
    return estimate(select(all, "far", "read", {{"units", n}}), Estimator::throughput).value();
  };
  const std::vector<double> groups = values_of(reads, "units");
  double best = 0;
  for (const double n : groups) best = best == 0 ? time_of(n) : std::min(best, time_of(n));
  const auto enough = std::find_if(groups.begin(), groups.end(),
                                   [&](double n) { return time_of(n) < best * kNearlyAll; });
  return enough == groups.end() ? 0 : static_cast<int>(*enough);
}

std::optional<size_t> Known::own_cache() const {
  std::optional<size_t> out;
  for (size_t i = 0; i < levels.knees.size() && i < sharing.size(); ++i)
    if (sharing[i].always_private()) out = i;
  return out;
}

int Known::even(int n) const {
  const int all = static_cast<int>(units), round = resident > 0 && n > resident ? resident
                                                   : n > all                    ? all
                                                                                : 1;
  return n / round * round;
}

int Known::level(int n) const {
  const int all = static_cast<int>(units), busy = groups / all;
  int each = n / all;
  if (each >= busy || each < 1) return n;
  while (busy % each != 0) --each;
  return each * all;
}

Known known_from(const Observations& all) {
  Known k;
  k.threads = all.fact("lanes") == "threads";
  if (const std::string most = all.fact("loop_limit"); !most.empty())
    k.most_iterations = std::stoll(most);
  if (k.threads) {
    k.lanes = std::atoi(all.fact("widths").c_str());
    k.units = std::max(1, units_from(all));
    k.most_units = std::max(1, units_that_ran(all));
    if (const auto plain = select(all, "residency", "plain"); !plain.empty())
      k.resident = static_cast<int>(plain.back().samples.at(0));
    const int units = static_cast<int>(k.units),
              enough = (saturating_groups(all) + units - 1) / units * units;
    k.groups = k.even(k.resident >= units ? std::min(enough, k.resident)
                                          : enough);  // more would only wait
    k.memory_groups = k.even(kWaiting * enough);
    k.streaming_groups = streaming_groups(all);
  }
  if (const auto clock = free_clock(all)) k.clock_hz = clock->value;
  if (const std::vector<LaneRate> modes = lane_modes(all); !modes.empty()) {
    k.lanes = modes.back().lanes;
    k.chains = modes.back().chains;
  }
  if (const double line = line_by_pairs(all).bytes; line > 0) k.line = line;
  k.levels = levels_from(all);
  const std::vector<CurvePoint> curve = latency_curve(all);
  for (size_t i = 0; i < k.levels.knees.size(); ++i) {
    // A chase shows little of a cache that co-tenants use.
    const double streamed = i + 1 == k.levels.knees.size() ? scan_capacity(all) : 0;
    Sharing s = sharing_of(all, i, std::max(k.levels.knees[i].to, streamed), curve);
    // Shared caches lie behind the private ones.
    if (!s.shared && i > 0 && k.sharing.back().shared)
      s = {true, "it lies beyond a shared one; alone: " + s.why, true, s.declared};
    k.sharing.push_back(std::move(s));
  }
  k.held = scan_capacity(all);
  if (!k.levels.knees.empty()) k.cached = std::max(k.levels.knees.back().to, k.held);
  for (size_t i = 0; i < declared_caches(all); ++i)
    k.cached = std::max(k.cached, declared_bytes(all, i));
  return k;
}

}  // namespace assay::probe
