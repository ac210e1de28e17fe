#include "probe/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/edit_distance.h"
#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/infer.h"
#include "probe/journal.h"
#include "probe/kernels.h"
#include "probe/system.h"
#include "probe/values.h"

namespace assay::probe {
namespace {

constexpr double kBuildLimit = 300;
constexpr double kSimulating = 60;  // s more: simulated time is not ours
constexpr int kProgressSteps = 1000;

std::string dialect_of(const runtime::DeviceInfo& info) { return info.dialect.empty() ? info.api : info.dialect; }

hwdesc::Target target_for(const runtime::DeviceInfo& info) {
  hwdesc::Target t;
  t.profile.name = "unprobed";
  t.api.name = info.api;
  t.api.dialect = t.dialect.name = dialect_of(info);
  hwdesc::Lanes& lanes = t.profile.execution.lanes;
  lanes.style = info.threads ? hwdesc::LaneStyle::simt : hwdesc::LaneStyle::simd;
  for (const int width : shape_of(info).lanes) {
    hwdesc::LaneMode mode;
    mode.width = known_value(hwdesc::Count{static_cast<double>(width)}, hwdesc::Origin::driver, "");
    lanes.modes.push_back(std::move(mode));
  }
  return t;
}

class Prober {  // invariant: everything in observations_ that was measured here is in the journal
 public:
  Prober(const std::string& device, const ProbeOptions& options, Journal journal, Observations earlier)
      : device_(device), options_(options), journal_(std::move(journal)), observations_(std::move(earlier)) {}

  Result<ProbeResult> run();

 private:
  Diags build();
  void run_experiments();
  void run_one(const Experiment& e, double seconds);
  std::string work(const Experiment& e, double seconds, const Send& send);
  void open();
  std::unique_ptr<runtime::Module> load(std::span<const ir::Kernel> kernels, bool one_by_one);
  void take(const std::string& line);
  void conclude(const Ending& e);
  bool wanted(const Experiment& e, int turn) const;
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }
  void report(double part, const std::string& what) const {
    if (options_.progress) options_.progress(static_cast<int64_t>(part * kProgressSteps), kProgressSteps, what);
  }
  void report_time(const std::string& experiment) const;

  const std::string& device_;  // its id
  const ProbeOptions& options_;
  Journal journal_;
  Observations observations_;
  std::unique_ptr<runtime::Device> opened_;  // in a child,
  std::vector<ir::Kernel> kernels_;          // with what it runs
  double build_seconds_ = 0, seconds_ = 0;
  double started_ = 0;  // when the first experiment began
};

void Prober::take(const std::string& line) {
  if (add_line(line, observations_).empty()) journal_.append(line);
}

void Prober::conclude(const Ending& e) { take(to_line(e)); }

// What experiments overrun is not known before, so the last ones may find no time left.
void Prober::report_time(const std::string& experiment) const {
  const double left = std::max(0.0, options_.budget_s - (now_seconds() - started_));
  report(1 - left / options_.budget_s, fmt::format("{}, {:.0f} s left", experiment, std::ceil(left)));
}

void send_facts(const runtime::DeviceInfo& info, const Send& send) {
  send(to_line("cpu", info.name));
  send(to_line("name", info.name));
  send(to_line("api", info.api));
  send(to_line("dialect", dialect_of(info)));
  send(to_line("units", std::to_string(info.units)));
  send(to_line("lanes", info.threads ? "threads" : "vectors"));
  send(to_line("widths", fmt::format("{}", fmt::join(shape_of(info).lanes, " "))));
  if (info.clock_hz > 0) send(to_line("clock_hz", fmt::format("{:.0f}", info.clock_hz)));
  if (info.simulated) send(to_line("simulated", "yes"));
  send(to_line("memory_bytes", std::to_string(info.memory_bytes)));
  for (const auto& [name, text] : info.facts) send(to_line(name, text));
}

// In the child.
void Prober::open() {
  auto opened = runtime::open(device_);
  if (!opened) fail(opened.diags());
  opened_ = std::move(opened).value();
  kernels_ = all_kernels(shape_of(opened_->info()));
}

std::unique_ptr<runtime::Module> Prober::load(std::span<const ir::Kernel> kernels, bool one_by_one) {
  runtime::LoadOptions load;
  load.cache_dir = options_.cache_dir;
  load.one_by_one = one_by_one;
  auto module = opened_->load(kernels, target_for(opened_->info()), load);
  if (!module) fail(module.diags());
  return std::move(module).value();
}

Diags Prober::build() {
  report(0, "building kernels");
  const auto body = [&](const Send& send) {
    open();
    const auto module = load(kernels_, false);
    send_facts(opened_->info(), send);
    send(to_line("build_seconds", fmt::format("{:.2f}", module->build_seconds())));
    return std::string();
  };
  const auto on_line = [&](const std::string& line) { take(line); };
  const Ending e = run_worker("build", body, on_line, {kBuildLimit, options_.cancel});
  if (e.outcome != Outcome::done) {
    constexpr std::string_view kError = "error: ";  // of the child's own message
    const std::string why = e.reason.starts_with(kError) ? e.reason.substr(kError.size()) : e.reason;
    return {error("the probe's kernels could not be built: " + why)};
  }
  build_seconds_ = std::stod(observations_.fact("build_seconds"));
  return {};
}

std::string Prober::work(const Experiment& e, double seconds, const Send& send) {
  const double started = now_seconds();
  open();
  const auto module = load(kernels_, false);
  Bench bench(*module, kernels_, opened_->info());
  runtime::DeviceInfo info = opened_->info();
  const int64_t most = std::min(options_.max_bytes, info.memory_bytes / 8);
  const auto turn = static_cast<uint64_t>(observations_.endings.size());
  info.units = std::min<int>(info.units, static_cast<int>(kSlots));
  const auto one_by_one = [&](std::span<const ir::Kernel> kernels) { return load(kernels, true); };
  Session s{bench, info, observations_, known_from(observations_), seconds, started, most, shape_of(info).lanes, kernels_, one_by_one, send,
            std::mt19937_64(turn + 1)};
  bench.limit_loops(s.known.most_iterations);
  if (options_.beside)
    s.behind = [&](const Observation& block) { options_.beside(block, [&](const Observation& o) { send(to_line(o)); }); };
  e.run(s);
  return "";
}

void Prober::run_one(const Experiment& e, double seconds) {
  const auto body = [&](const Send& send) { return work(e, seconds, send); };
  const double slow = observations_.fact("simulated").empty() ? 0 : kSimulating;
  const WorkerOptions limits{3 * seconds + 15 + slow, options_.cancel};
  const auto on_line = [&](const std::string& line) {
    take(line);
    report_time(e.name);
  };
  conclude(run_worker(e.name, body, on_line, limits));
}

bool Prober::wanted(const Experiment& e, int turn) const {
  if (turn >= e.times || observations_.times_done(e.name) > turn) return false;
  return options_.only.empty() || std::find(options_.only.begin(), options_.only.end(), e.name) != options_.only.end();
}

// What an experiment overran, the later ones have less; at least a quarter of their fair share. Those that run several
// times do so once in each turn.
void Prober::run_experiments() {
  double weight = 0;
  int turns = 1;
  for (const Experiment& e : experiments()) turns = std::max(turns, e.times);
  for (int turn = 0; turn < turns; ++turn)
    for (const Experiment& e : experiments()) weight += wanted(e, turn) ? e.weight / e.times : 0;
  const double total = weight;
  started_ = now_seconds();
  for (int turn = 0; turn < turns; ++turn)
    for (const Experiment& e : experiments()) {
      if (!wanted(e, turn) || cancelled()) continue;
      const double left = options_.budget_s - (now_seconds() - started_), own = e.weight / e.times;
      const double share = std::max(left / weight, 0.25 * options_.budget_s / total) * own;
      report_time(e.name);
      run_one(e, share);
      weight -= own;
    }
  seconds_ = now_seconds() - started_;
  report(1, "inferring");
}

Diags warnings_of(const Observations& all) {
  Diags out;
  for (const Ending& e : all.endings)
    if (e.outcome != Outcome::done && !all.finished(e.experiment))
      out.push_back({Severity::warning, "", 0, 0,
                     fmt::format("experiment '{}' did not end well: {}", e.experiment, e.reason), "", ""});
  return out;
}

Result<ProbeResult> Prober::run() {
  for (const auto& [name, text] : declared_facts()) take(to_line(name, text));
  take(to_line("device", device_));
  take(to_line("budget_s", fmt::format("{:g}", options_.budget_s)));
  if (Diags diags = build(); !diags.empty()) return diags;
  run_experiments();
  if (cancelled()) return error("cancelled", "what was measured is kept: go on with --resume");
  for (const Ending& e : observations_.endings)
    if (e.experiment == "checks" && e.outcome == Outcome::failed)
      return error(fmt::format("the device does not run what it is asked to: {}", e.reason));
  auto profile = infer(observations_);
  if (!profile) return profile.diags();
  Diags warnings = warnings_of(observations_);
  return ProbeResult{std::move(profile).value(), std::move(observations_), std::move(warnings), seconds_, build_seconds_};
}

Diags check_names(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Experiment& e : experiments()) known.emplace_back(e.name);
  Diags out;
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = nearest(name, known);
    out.push_back(error(fmt::format("there is no experiment '{}'; there are: {}", name, fmt::join(known, ", ")),
                        near.empty() ? "" : fmt::format("did you mean '{}'?", near)));
  }
  return out;
}

}  // namespace

Result<ProbeResult> probe(const std::string& device, const ProbeOptions& options) {
  if (Diags diags = check_names(options.only); !diags.empty()) return diags;
  Observations earlier;
  Journal journal;
  if (!options.observations.empty()) {
    if (options.resume) {
      auto read = read_journal(options.observations);
      if (!read) return read.diags();
      earlier = std::move(read).value();
    }
    auto opened = Journal::open(options.observations, !options.resume);
    if (!opened) return opened.diags();
    return Prober(device, options, std::move(opened).value(), std::move(earlier)).run();
  }
  return Prober(device, options, std::move(journal), std::move(earlier)).run();
}

Result<ProbeResult> infer_from(const std::string& observations) {
  auto read = read_journal(observations);
  if (!read) return read.diags();
  auto profile = infer(*read);
  if (!profile) return profile.diags();
  Diags warnings = warnings_of(*read);
  return ProbeResult{std::move(profile).value(), std::move(read).value(), std::move(warnings), 0, 0};
}

}  // namespace assay::probe
