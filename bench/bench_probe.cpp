// Repeated probes of this CPU, compared with what the system declares and with hand-written loops.
// Samples of the loops follow the probe's own blocks within milliseconds.
//
//   bench_probe [--device cpu:0] [--runs 20] [--budget 40]
//
// Prints for each run: the structure (levels, L1, L2, line, units, lanes, latency and pipes of
// multiply-adds), rates as ours / native, and the last cache's effective size. Then in how many
// runs each was right. Exit code 1 if any structure was wrong.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "native.h"
#include "probe/inference/known.h"
#include "probe/inference/stats.h"
#include "probe/probe.h"

namespace assay::bench {
namespace {

using probe::Estimator;
using probe::Observation;
using probe::Observations;

constexpr int64_t kNativeBytes = int64_t{256} << 20;
constexpr double kNear = 0.05;
constexpr double kOwnLines = 1.04;  // tolerance of a knee: a kernel's own lines use the cache too

// Takes a native sample after each of the probe's blocks that has a counterpart.
class Reference {
 public:
  // Runs in each worker before the probe allocates: memory that is mapped later may take pages from
  // the probe's.
  void before() {
    native_ = Native::make(kNativeBytes);
    if (native_) native_->read_all_once();
  }

  void behind(const Observation& block, const std::function<void(const Observation&)>& keep) {
    if (!native_) return;
    const auto bytes = static_cast<int64_t>(block.value_at("bytes"));
    const bool one = block.value_at("units", 1) == 1;
    if (block.experiment == "clock" && block.what == "sentinel")
      take(
          block, "addition", {}, [&] { return native_->addition(); }, keep);
    if (block.experiment == "fma" && block.value_at("lanes") == native_->lanes())
      take(
          block, "fma", {}, [&] { return native_->multiply_add(); }, keep);
    if (block.experiment == "bandwidth" && one) {
      const probe::Conditions at = {{"level", block.value_at("level")},
                                    {"bytes", static_cast<double>(bytes)}};
      if (block.what == "read")
        take(
            block, "read", at, [&] { return native_->read(bytes); }, keep);
      if (block.what == "write")
        take(
            block, "write", at, [&] { return native_->write(bytes); }, keep);
      if (block.what == "copy")
        take(
            block, "copy", at, [&] { return native_->copy(bytes); }, keep);
    }
    if (block.experiment == "far" && block.what == "read" &&
        block.value_at("units") == native_->units())
      take(
          block, "far", {}, [&] { return native_->read_far(); }, keep);
  }

 private:
  template <class Sample>
  void take(const Observation& beside, const std::string& what, const probe::Conditions& at,
            const Sample& sample, const std::function<void(const Observation&)>& keep) {
    double before = native_->addition();
    std::vector<Observation> taken;  // kept after the last: writing them uses one of these cores
    for (int i = 0; i < 6; ++i) {
      Observation o{"reference", what,           at, "s", {sample()},
                    {0},         beside.foreign, {}};  // trusted like the probe's own
      const double behind = native_->addition();
      o.clock_hz = 1 / std::min(before, behind);
      before = behind;
      taken.push_back(std::move(o));
    }
    for (const Observation& o : taken) keep(o);
  }

  std::unique_ptr<Native> native_;
};

// Of the best footprint. Seconds are by the probe's estimator. Ticks use the faster of the two
// clocks around each sample, since it may change within one; the median of the samples' faster
// half.
struct NativeTime {
  double seconds = 0, ticks = 0;
};

std::optional<NativeTime> native_time(const Observations& all, const std::string& what,
                                      double level) {
  probe::Conditions at;
  if (level >= 0) at["level"] = level;
  std::optional<NativeTime> best;
  const std::vector<Observation> blocks = probe::select(all, "reference", what, at);
  std::vector<double> sizes = probe::values_of(blocks, "bytes");
  if (sizes.empty()) sizes.push_back(0);
  for (const double bytes : sizes) {
    probe::Conditions here = at;
    if (bytes > 0) here["bytes"] = bytes;
    const std::vector<Observation> taken = probe::select(all, "reference", what, here);
    const auto s = probe::summarize(taken, Estimator::throughput);
    if (!s) continue;
    std::vector<double> ticks;
    for (const Observation& o : taken)
      ticks.push_back(*std::min_element(o.samples.begin(), o.samples.end()) *
                      o.clock_hz.value_or(0));
    const NativeTime t{s->value, probe::quantile(std::move(ticks), 0.25)};
    best =
        best ? NativeTime{std::min(best->seconds, t.seconds), std::min(best->ticks, t.ticks)} : t;
  }
  return best;
}

// Time of native samples over that of the probe's block right before them, the median of all such
// blocks; nullopt: there are none.
std::optional<double> times_as_long_behind(const Observations& all,
                                           const std::function<bool(const Observation&)>& is_ours,
                                           const std::string& what, Estimator estimator) {
  std::vector<std::pair<Observation, std::vector<Observation>>> pairs;
  for (const Observation& o : all.points) {
    if (is_ours(o)) pairs.emplace_back(o, std::vector<Observation>());
    if (o.experiment == "reference" && o.what == what && !pairs.empty())
      pairs.back().second.push_back(o);
  }
  std::vector<double> out;
  for (const auto& [ours, behind] : pairs) {
    const auto mine = probe::summarize(std::span(&ours, 1), estimator),
               native = probe::summarize(behind, estimator);
    if (mine && native) out.push_back(native->value / mine->value);
  }
  return out.empty() ? std::nullopt : std::optional(probe::quantile(std::move(out), 0.5));
}

// Of far memory, relative to the probe's own blocks: on some hosts its speed changes between two
// states every few seconds.
std::optional<NativeTime> native_far_time(const Observations& all) {
  const std::vector<Observation> read = probe::select(all, "far", "read");
  const std::vector<double> units = probe::values_of(read, "units");
  if (units.empty()) return std::nullopt;
  const auto times = times_as_long_behind(
      all,
      [&](const Observation& o) {
        return o.experiment == "far" && o.what == "read" && o.value_at("units") == units.back();
      },
      "far", Estimator::throughput);
  const auto ours = probe::summarize(probe::select(all, "far", "read", {{"units", units.back()}}),
                                     Estimator::throughput);
  return times && ours ? std::optional(NativeTime{ours->value * *times, 0}) : std::nullopt;
}

// A host may change the clock by a tenth within seconds. So the clock is the probe's, times the
// ratio of additions right after its blocks; or the median clock of all native samples, if that is
// faster.
double native_clock(const Observations& all) {
  const auto ours = probe::summarize(probe::select(all, "clock", "sentinel"), Estimator::latency);
  const auto times = times_as_long_behind(
      all, [](const Observation& o) { return o.experiment == "clock" && o.what == "sentinel"; },
      "addition", Estimator::latency);
  std::vector<double> beside_all;
  for (const Observation& o : all.points)
    if (o.experiment == "reference" && o.clock_hz) beside_all.push_back(*o.clock_hz);
  return std::max(ours && times ? 1 / (ours->value * *times) : 0,
                  beside_all.empty() ? 0 : probe::quantile(std::move(beside_all), 0.5));
}

template <class Q>
double value_or_zero(const hwdesc::Value<Q>& v) {
  return v.known() ? v.value->v : 0;
}

struct Run {
  std::vector<std::string> wrong;                // of the structure
  std::map<std::string, double> ratios;          // ours / native
  double last = 0, last_low = 0, last_high = 0;  // effective size of the last cache
};

void expect(Run& to, const std::string& what, double found, double truth) {
  if (found != truth) to.wrong.push_back(fmt::format("{} {:g}, not {:g}", what, found, truth));
}

// The most vector multiply-adds that a unit issues in a tick, over the vector widths: the widest
// may take two passes through a pipe.
double at_most_a_tick(const hwdesc::Profile& p) {
  double most = 0;
  for (const hwdesc::LaneMode& mode : p.execution.lanes.modes)
    for (const hwdesc::Pipe& pipe : mode.pipes)
      if (pipe.name == "fma" && mode.width.known())
        most = std::max(most, value_or_zero(pipe.rate) / mode.width.value->v);
  return most;
}

Run judge(const probe::ProbeResult& result) {
  Run run;
  const hwdesc::Profile& p = result.profile;
  const Observations& all = result.observations;
  std::vector<const hwdesc::MemoryLevel*> caches;
  for (const hwdesc::MemoryLevel& l : p.memory)
    if (l.managed == hwdesc::Managed::automatic) caches.push_back(&l);
  size_t declared = 0;
  while (!probe::declared_cache(all, declared).empty()) ++declared;
  expect(run, "caches", static_cast<double>(caches.size()), static_cast<double>(declared));
  for (size_t i = 0; i < std::min(caches.size(), declared); ++i) {
    const hwdesc::MemoryLevel& c = *caches[i];
    const double size = probe::declared_bytes(all, i);
    expect(run, c.name + " line", value_or_zero(c.line), 64);
    expect(run, c.name + " is shared", c.per == "device", i + 1 == declared);
    if (i + 1 < declared &&
        (c.knee.from.value->v > size * kOwnLines || c.knee.to.value->v * kOwnLines < size))
      run.wrong.push_back(fmt::format("{} from {:.0f} to {:.0f} B, declared {:.0f} B", c.name,
                                      c.knee.from.value->v, c.knee.to.value->v, size));
    if (i + 1 < declared) expect(run, c.name + " capacity", value_or_zero(c.capacity), size);
  }
  if (!caches.empty() && caches.back()->capacity.known()) {
    run.last = caches.back()->cyclic_scan.from.known() ? caches.back()->cyclic_scan.from.value->v
                                                       : caches.back()->capacity.value->v;
    run.last_low = caches.back()->capacity.low->v;
    run.last_high = caches.back()->capacity.high->v;
  }
  const std::unique_ptr<Native> here = Native::make(int64_t{8} << 20);
  expect(run, "units", value_or_zero(p.topology.back().count), here->units());
  const double lanes =
      p.execution.lanes.modes.empty() ? 0 : value_or_zero(p.execution.lanes.modes.back().width);
  expect(run, "lanes", lanes, here->lanes());
  for (const hwdesc::ComputeOp& c : p.compute)
    if (c.op == "fma" && c.dtype == "f32")
      expect(run, "latency of multiply-adds", std::round(value_or_zero(c.latency)), 4);
  for (const hwdesc::Pipe& pipe : p.pipes)
    if (pipe.name == "fma") {
      expect(
          run, "pipes of multiply-adds",
          std::round(std::max(value_or_zero(pipe.rate) / std::max(1.0, lanes), at_most_a_tick(p))),
          2);
      if (const auto t = native_time(all, "fma", -1))
        run.ratios["multiply-adds"] = value_or_zero(pipe.rate) * t->ticks / lanes;
    }
  run.ratios["clock"] = value_or_zero(p.clocks.at(0).max) / native_clock(all);
  const auto compare = [&](const hwdesc::MemoryLevel& l, const char* what,
                           const hwdesc::Value<hwdesc::Bandwidth>& v,
                           const std::optional<NativeTime>& t) {
    if (t && v.known())
      run.ratios[l.name + " " + what] =
          v.value->v * (v.value->clock.empty() ? t->seconds : t->ticks);
  };
  for (size_t i = 0; i < caches.size() && i < 2; ++i) {
    compare(*caches[i], "read", caches[i]->bandwidth.read, native_time(all, "read", double(i)));
    compare(*caches[i], "write", caches[i]->bandwidth.write, native_time(all, "write", double(i)));
    compare(*caches[i], "copy", caches[i]->bandwidth.copy, native_time(all, "copy", double(i)));
  }
  for (const hwdesc::MemoryLevel& l : p.memory)
    if (l.name == "dram") compare(l, "read", l.bandwidth.read, native_far_time(all));
  return run;
}

void print(int index, const Run& run) {
  fmt::print("{:>3}  {}", index,
             run.wrong.empty() ? "structure as declared"
                               : fmt::format("WRONG: {}", fmt::join(run.wrong, "; ")));
  fmt::print("; last cache {:.1f} MiB ({:.1f} .. {:.1f})\n    ", run.last / 1048576,
             run.last_low / 1048576, run.last_high / 1048576);
  for (const auto& [what, ratio] : run.ratios)
    fmt::print(" {} {:.3f}{}", what, ratio, std::abs(ratio - 1) <= kNear ? "" : "!");
  fmt::print("\n");
  std::fflush(stdout);
}

double quantile(std::vector<double> v, double q) { return probe::quantile(std::move(v), q); }

void summarise(const std::vector<Run>& runs) {
  const auto n = runs.size();
  const auto right =
      std::count_if(runs.begin(), runs.end(), [](const Run& r) { return r.wrong.empty(); });
  fmt::print("\nstructure as declared: {} of {}\n", right, n);
  std::map<std::string, std::vector<double>> ratios;
  for (const Run& r : runs)
    for (const auto& [what, ratio] : r.ratios) ratios[what].push_back(ratio);
  fmt::print("{:<16} {:>7} {:>7} {:>7} {:>14}\n", "ours / native", "median", "least", "most",
             "within 5 %");
  for (const auto& [what, v] : ratios) {
    const auto near =
        std::count_if(v.begin(), v.end(), [](double r) { return std::abs(r - 1) <= kNear; });
    fmt::print("{:<16} {:>7.3f} {:>7.3f} {:>7.3f} {:>8} of {}\n", what, quantile(v, 0.5),
               quantile(v, 0), quantile(v, 1), near, v.size());
  }
  size_t covered = 0, narrow = 0;
  for (const Run& a : runs) {
    narrow += a.last_high <= 3 * a.last_low ? 1 : 0;
    covered +=
        std::all_of(runs.begin(), runs.end(),
                    [&](const Run& b) { return a.last_low <= b.last && b.last <= a.last_high; })
            ? 1
            : 0;
  }
  fmt::print(
      "last cache: the interval covers all other runs' values in {} of {}, and is at most a factor "
      "of 3 wide in {} of {}\n",
      covered, n, narrow, n);
}

int bench(int argc, char** argv) {
  CLI::App app("The probe of this CPU against declared figures and hand-written loops.");
  std::string device = "cpu:0";
  int runs = 20;
  double budget = 40;
  std::string keep, from;
  app.add_option("--device", device, "cpu:0 or opencl:0");
  app.add_option("--runs", runs, "probes, one after the other")->check(CLI::PositiveNumber);
  app.add_option("--budget", budget, "of each, s")->check(CLI::PositiveNumber);
  app.add_option("--observations", keep, "directory that keeps the raw samples of every probe");
  app.add_option("--from", from, "such a directory, to judge its samples without a device")
      ->excludes("--observations");
  CLI11_PARSE(app, argc, argv);
  if (!Native::make(int64_t{8} << 20)) {
    fmt::print(stderr,
               "this processor has neither AVX-512 nor AVX2 with FMA: no native reference runs on "
               "it\n");
    return 3;
  }
  std::vector<Run> all;
  for (int i = 1; i <= runs; ++i) {
    Reference reference;
    probe::ProbeOptions options;
    options.budget_s = budget;
    options.before = [&] { reference.before(); };
    options.beside = [&](const Observation& block, const auto& sink) {
      reference.behind(block, sink);
    };
    const std::string folder = fmt::format("{}/{}", from.empty() ? keep : from, i);
    if (!from.empty() && !std::filesystem::exists(folder)) break;
    if (!keep.empty()) options.observations = folder;
    const auto result = from.empty() ? probe::probe(device, options) : probe::infer_from(folder);
    if (!result) {
      fmt::print(stderr, "{}", render(result.diags()));
      return 3;
    }
    all.push_back(judge(*result));
    print(i, all.back());
    std::fflush(stdout);
  }
  summarise(all);
  return std::all_of(all.begin(), all.end(), [](const Run& r) { return r.wrong.empty(); }) ? 0 : 1;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) { return assay::bench::bench(argc, argv); }
