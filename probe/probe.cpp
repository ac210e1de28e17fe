#include "probe/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "probe/experiments/experiments.h"
#include "probe/experiments/selection.h"
#include "probe/inference/doubts.h"
#include "probe/inference/forms.h"
#include "probe/inference/infer.h"
#include "probe/journal.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/pages.h"
#include "probe/opened_device.h"
#include "probe/resume.h"
#include "probe/sampling/system.h"
#include "support/version.h"

namespace assay::probe {
namespace {

constexpr double kBuildLimit = 300;
constexpr double kSimulating = 40;  // times the patience: simulated time is not ours
constexpr double kMinShare = 0.25;  // of its share, which an experiment has even if others overran
// Seconds of budget for a round of an experiment on a simulated device.
constexpr double kSecondsPerRound = 40;
constexpr int kProgressSteps = 1000;

class Prober {  // invariant: everything in observations_ that was measured here is in the journal
 public:
  Prober(const std::string& device, const ProbeOptions& options, Observations earlier)
      : device_(device), options_(options), observations_(std::move(earlier)) {}

  Result<ProbeResult> run();

 private:
  Diags build(Observations& said);
  Diags open_journal();
  Diags prepare();
  void run_experiments();
  void run_one(const Experiment& e, double seconds);
  void rebuild();
  std::string work(const Experiment& e, double seconds, const Send& send);
  Diags open();
  std::unique_ptr<runtime::Module> load(std::span<const ir::Kernel> kernels, bool one_by_one) const;
  void take(const std::string& line);
  void conclude(const Ending& e);
  bool selected(const Experiment& e) const;
  int times_of(const Experiment& e) const;
  bool wanted(const Experiment& e, int repetition) const;
  void allot_budget();
  std::string resume_hint() const;
  // Building is deducted, but a short probe's budget remains.
  double budget() const {
    return std::max(std::min(options_.budget_s, ProbeOptions().budget_s),
                    options_.budget_s - build_seconds_);
  }
  bool stopped() const { return cancelled() || !unwritten_.empty() || !unbuilt_.empty(); }
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }
  void report(double part, const std::string& what) const {
    if (options_.progress)
      options_.progress(static_cast<int64_t>(part * kProgressSteps), kProgressSteps, what);
  }
  void report_time(const std::string& experiment) const;

  const std::string& device_;  // its id
  const ProbeOptions& options_;
  Journal journal_;
  Observations observations_;
  std::optional<OpenedDevice> opened_;  // in a child
  double build_seconds_ = 0, seconds_ = 0;
  double started_ = 0;  // when the first experiment began
  double allotted_ = 0,
         least_ = 0;                 // s of the budget: for what remains; the minimum per weight
  double weight_ = 0, weights_ = 0;  // of what has not begun, of all that is to run
  int repetitions_ = 1;
  Diags unbuilt_;    // why there are no kernels to measure with
  Diags unwritten_;  // why the journal is not kept: nothing more is measured
};

void Prober::take(const std::string& line) {
  if (!unwritten_.empty()) return;
  if (add_line(line, observations_).empty()) unwritten_ = journal_.append(line);
}

void Prober::conclude(const Ending& e) { take(to_line(e)); }

// Later experiments have their minimum in any case. They are assumed to take as long for their
// weight as earlier ones did.
void Prober::report_time(const std::string& experiment) const {
  const double gone = now_seconds() - started_, done = weights_ - weight_;
  const double by_pace = done > 0 ? gone / done * weight_ : 0;
  const double left = std::max({0.0, allotted_ - gone, least_ * weight_, by_pace});
  report(1 - std::min(1.0, left / budget()),
         fmt::format("{}, {:.0f} s left", experiment, std::ceil(left)));
}

// In the child. Errors: the device can not be opened.
Diags Prober::open() {
  auto opened = OpenedDevice::open(device_, options_.cache_dir);
  if (!opened) return opened.diags();
  opened_ = std::move(opened).value();
  return {};
}

std::unique_ptr<runtime::Module> Prober::load(std::span<const ir::Kernel> kernels,
                                              bool one_by_one) const {
  return opened_->load(kernels, one_by_one, unusual_forms(observations_));
}

// What the device says of itself is returned in `said`.
Diags Prober::build(Observations& said) {
  report(0, "building kernels");
  const auto body = [&](const Send& send) {
    if (const Diags wrong = open(); !wrong.empty()) {
      send_not_opened(wrong, send);
      fail(wrong);
    }
    const double start = now_seconds();
    const auto module = load(opened_->kernels, false);
    if (!opened_->info().simulated) launch_all(*module, opened_->kernels);
    send_facts(opened_->info(), send);
    send(to_line("build_seconds", fmt::format("{:.2f}", now_seconds() - start)));
    return std::string();
  };
  const auto on_line = [&](const std::string& line) { add_line(line, said); };
  const Ending e = run_worker("build", body, on_line, {kBuildLimit, [&] { return !cancelled(); }});
  if (Diags why = not_opened(said); !why.empty()) return why;
  if (e.outcome != Outcome::done) {
    constexpr std::string_view kError = "error: ";  // of the child's own message
    const std::string why =
        e.reason.starts_with(kError) ? e.reason.substr(kError.size()) : e.reason;
    return {error("the probe's kernels could not be built: " + why)};
  }
  build_seconds_ = std::stod(said.fact("build_seconds"));
  return {};
}

Diags Prober::open_journal() {
  if (!options_.observations.empty()) {
    auto opened = options_.resume ? Journal::resume(options_.observations)
                                  : Journal::begin(options_.observations);
    if (!opened) return opened.diags();
    journal_ = std::move(opened).value();
  }
  take(to_line("journal", kJournalFormat));
  take(to_line("assay", kVersion));
  take(to_line("device", device_));
  return unwritten_;
}

// Builds the kernels and opens the journal. An earlier journal is written to only if the device
// opens and is the same one. Without one, a new journal begins at once.
Diags Prober::prepare() {
  const bool earlier = has_journal(options_.observations);
  if (!earlier)
    if (Diags diags = open_journal(); !diags.empty()) return diags;
  Observations said;
  if (Diags diags = build(said); !diags.empty()) return diags;
  if (options_.resume)
    if (Diags other = check_same_driver(observations_, said, options_.observations); !other.empty())
      return other;
  if (earlier)
    if (Diags diags = open_journal(); !diags.empty()) return diags;
  for (const auto& [name, text] : declared_facts()) take(to_line(name, text));
  take(to_line("budget_s", fmt::format("{:g}", options_.budget_s)));
  for (const auto& [name, text] : said.facts) take(to_line(name, text));
  std::vector<std::string> asked;
  for (const Experiment& e : experiments())
    if (selected(e)) asked.emplace_back(e.name);
  for (const std::string& name : stale(observations_, experiments(), asked)) take(again_line(name));
  return unwritten_;
}

// A simulated device's rounds do not depend on our clock.
int rounds_of(int times, const runtime::DeviceInfo& info, double budget_s) {
  return info.simulated
             ? std::max(1, static_cast<int>(std::lround(budget_s / kSecondsPerRound / times)))
             : 0;
}

std::string Prober::work(const Experiment& e, double seconds, const Send& send) {
  const double started = now_seconds();
  if (const Diags wrong = open(); !wrong.empty()) fail(wrong);
  if (options_.before) options_.before();
  const auto module = load(opened_->kernels, false);
  Bench bench(*module, opened_->kernels, opened_->info());
  runtime::DeviceInfo info = opened_->info();
  const int64_t most =
      std::min({options_.max_bytes, info.memory_bytes / 8, bench.largest_buffer() / kPage * kPage});
  const auto seed = static_cast<uint64_t>(observations_.endings.size());
  info.units = std::min<int>(info.units, static_cast<int>(kSlots));
  const auto one_by_one = [&](std::span<const ir::Kernel> kernels) { return load(kernels, true); };
  Session s{bench,
            info,
            observations_,
            known_from(usable_observations(observations_)),
            seconds,
            rounds_of(times_of(e), info, options_.budget_s),
            started,
            most,
            shape_of(info).lanes,
            opened_->kernels,
            one_by_one,
            send,
            std::mt19937_64(seed + 1)};
  bench.limit_loops(s.known.most_iterations);
  if (!s.known.threads && observations_.finished("fma") && observations_.fact(kVectorLanes).empty())
    s.fact(kVectorLanes, std::to_string(s.known.lanes));
  s.load_with_group_size = [&](std::span<const ir::Kernel> kernels, int threads) {
    runtime::DeviceInfo wide = info;
    wide.widths = {threads};
    return opened_->load_for(wide, kernels, unusual_forms(observations_));
  };
  s.load_in_form = [&](std::span<const ir::Kernel> kernels, const hwdesc::NamedText& form) {
    return opened_->load_for(info, kernels, {form});
  };
  if (options_.beside)
    s.after_block = [&](const Observation& block) {
      options_.beside(block, [&](const Observation& o) { send(to_line(o)); });
    };
  e.run(s);
  if (bench.repeated_samples() > 0)
    send(to_line(kDoubted + std::string(e.name),
                 fmt::format("{} of {}", bench.repeated_samples(), bench.samples())));
  return "";
}

void Prober::run_one(const Experiment& e, double seconds) {
  const auto body = [&](const Send& send) { return work(e, seconds, send); };
  const double patience = options_.patience_s.value_or(
      kPatience * (observations_.fact("simulated").empty() ? 1 : kSimulating));
  const auto keep_running = [&] {
    report_time(e.name);
    return !stopped();
  };
  const auto on_line = [&](const std::string& line) { take(line); };
  conclude(run_worker(e.name, body, on_line, {3 * seconds + patience, keep_running}));
}

// The limits of kernels are checked in any case.
bool Prober::selected(const Experiment& e) const {
  return options_.only.empty() || e.run == run_checks ||
         std::find(options_.only.begin(), options_.only.end(), e.name) != options_.only.end();
}

// Simulated devices have no co-tenants, and of threads they are not measured.
int Prober::times_of(const Experiment& e) const {
  const bool once = e.run == run_cyclic_scan && (observations_.fact("lanes") == "threads" ||
                                                 !observations_.fact("simulated").empty());
  return once ? 1 : e.times;
}

bool Prober::wanted(const Experiment& e, int repetition) const {
  return repetition < times_of(e) && observations_.times_done(e.name) <= repetition && selected(e);
}

// A resumed probe has the part of the budget that is left.
void Prober::allot_budget() {
  double asked = 0;
  for (const Experiment& e : experiments()) repetitions_ = std::max(repetitions_, times_of(e));
  for (int repetition = 0; repetition < repetitions_; ++repetition)
    for (const Experiment& e : experiments()) {
      const double own = e.weight / times_of(e);
      if (wanted(e, repetition)) weight_ += own;
      if (repetition < times_of(e) && selected(e)) asked += own;
    }
  weights_ = weight_;
  allotted_ = asked > 0 ? budget() * weight_ / asked : 0;
  least_ = asked > 0 ? kMinShare * budget() / asked : 0;
}

// Builds kernels in another form than the first, outside of the experiments' budget.
void Prober::rebuild() {
  if (unusual_forms(observations_).empty() || stopped()) return;
  const double start = now_seconds(), before = build_seconds_;
  Observations said;
  unbuilt_ = build(said);
  build_seconds_ += before;
  started_ += now_seconds() - start;  // not deducted from what remains
}

// Later experiments share what earlier ones left, at least a quarter of their fair share. Repeated
// experiments run once in each repetition.
void Prober::run_experiments() {
  allot_budget();
  started_ = now_seconds();
  for (int repetition = 0; repetition < repetitions_; ++repetition)
    for (const Experiment& e : experiments()) {
      if (!wanted(e, repetition) || stopped()) continue;
      const double left = allotted_ - (now_seconds() - started_), own = e.weight / times_of(e);
      const double share = std::max(left / weight_, least_) * own;
      weight_ -= own;
      run_one(e, share);
      if (e.run == run_forms) rebuild();
    }
  seconds_ = now_seconds() - started_;
  report(1, "inferring");
}

// The last attempt at each experiment that never succeeded.
Diags warnings_of(const Observations& all) {
  std::map<std::string, const Ending*> last;
  for (const Ending& e : all.endings) last[e.experiment] = &e;
  Diags out;
  for (const auto& [name, e] : last)
    if (!all.finished(name))
      out.push_back({Severity::warning, "", 0, 0,
                     fmt::format("experiment '{}' failed: {}", name, e->reason), "", ""});
  return out;
}

Diags with(Diags diags, const Diags& more) {
  diags.insert(diags.end(), more.begin(), more.end());
  return diags;
}

std::string last_failure(const Observations& all, const std::string& experiment) {
  for (auto e = all.endings.rbegin(); e != all.endings.rend(); ++e)
    if (e->experiment == experiment && e->outcome == Outcome::failed) return e->reason;
  return "";
}

std::string Prober::resume_hint() const {
  return journal_.is_open() ? fmt::format("what was measured is kept in {}: continue with --resume",
                                          options_.observations)
                            : "";
}

Result<ProbeResult> Prober::run() {
  const Diags unprepared = prepare();
  if (unprepared.empty()) run_experiments();
  if (cancelled()) return error("cancelled", resume_hint());
  if (!unprepared.empty()) return unprepared;
  if (!unwritten_.empty()) return unwritten_;
  if (!unbuilt_.empty()) return unbuilt_;
  if (const std::string why = last_failure(observations_, "checks");
      !why.empty() && !observations_.finished("checks"))
    return error(fmt::format("the device failed the checks: {}", why));
  if (observations_.points.empty() && !options_.only.empty() && warnings_of(observations_).empty())
    return error("these experiments measured nothing: they need the results of others",
                 "--only with compute, memory or control also runs what they need");
  auto profile = infer(observations_);
  if (!profile) return with(profile.diags(), warnings_of(observations_));
  Diags warnings = warnings_of(observations_);
  return ProbeResult{std::move(profile).value(), std::move(observations_), std::move(warnings),
                     seconds_, build_seconds_};
}

}  // namespace

Result<ProbeResult> probe(const std::string& device, const ProbeOptions& given) {
  ProbeOptions options = given;
  Result<std::vector<std::string>> asked = select_experiments(given.only);
  if (!asked) return asked.diags();
  options.only = std::move(*asked);
  if (!options.resume || options.observations.empty()) return Prober(device, options, {}).run();
  auto earlier = read_journal(options.observations);
  if (!earlier) return earlier.diags();
  if (Diags other = check_same_device(*earlier, device, options.observations); !other.empty())
    return other;
  return Prober(device, options, std::move(earlier).value()).run();
}

Diags check_experiments(const std::vector<std::string>& only) {
  const auto selected = select_experiments(only);
  return selected ? Diags{} : selected.diags();
}

Result<ProbeResult> infer_from(const std::string& observations) {
  auto read = read_journal(observations);
  if (!read) return read.diags();
  auto profile = infer(*read);
  if (!profile) return profile.diags();
  Diags warnings = warnings_of(*read);
  return ProbeResult{std::move(profile).value(), std::move(read).value(), std::move(warnings), 0,
                     0};
}

}  // namespace assay::probe
