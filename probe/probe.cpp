#include "probe/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>

#include "probe/errand.h"
#include "probe/experiments/experiments.h"
#include "probe/experiments/selection.h"
#include "probe/inference/budget.h"
#include "probe/inference/doubts.h"
#include "probe/inference/forms.h"
#include "probe/inference/infer.h"
#include "probe/journal.h"
#include "probe/opened_device.h"
#include "probe/resume.h"
#include "probe/sampling/system.h"
#include "probe/schedule.h"
#include "support/version.h"

namespace assay::probe {
namespace {

constexpr double kBuildLimit = 300;
constexpr double kSimulating = 40;  // times the patience: simulated time is not ours
// Of the budget: inferring and writing at the end, and how much later an experiment is ended that
// does not end by itself.
constexpr double kConcluding = 0.04, kGrace = 0.06;
// Seconds of budget for a round of an experiment on a simulated device.
constexpr double kSecondsPerRound = 40;
constexpr int kProgressSteps = 1000;
constexpr int kSimulatedLooks = 2;

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
  void run_one(const Turn& turn, Schedule& schedule);
  void take(const std::string& line);
  void conclude(Ending e, double limit);
  bool selected(const Experiment& e) const;
  int times_of(const Experiment& e) const;
  bool wanted(const Experiment& e, int repetition) const;
  std::vector<Step> steps();
  std::string resume_hint() const;
  // A simulated device's time is not ours, unless its kernels take some to build.
  bool by_the_clock() const {
    return observations_.fact("simulated").empty() || !observations_.fact("builds").empty();
  }
  double end() const { return started_ + (1 - kConcluding) * options_.budget_s; }
  double left(const Schedule& schedule) const;
  // A simulated device's rounds do not depend on our clock.
  int rounds_of(int times) const {
    return std::max(1, static_cast<int>(std::lround(options_.budget_s / kSecondsPerRound / times)));
  }
  bool stopped() const { return cancelled() || !unwritten_.empty() || !unbuilt_.empty(); }
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }
  void report(double part, const std::string& what) const {
    if (options_.progress)
      options_.progress(static_cast<int64_t>(part * kProgressSteps), kProgressSteps, what);
  }
  void report_time(const std::string& experiment, double left) const;

  const std::string& device_;  // its id
  const ProbeOptions& options_;
  Journal journal_;
  Observations observations_;
  double build_seconds_ = 0, seconds_ = 0;
  const double started_ = now_seconds();
  double asked_ = 0;  // weights of all that was ever to run
  Diags unbuilt_;     // why there are no kernels to measure with
  Diags unwritten_;   // why the journal is not kept: nothing more is measured
};

void Prober::take(const std::string& line) {
  if (!unwritten_.empty()) return;
  if (add_line(line, observations_).empty()) unwritten_ = journal_.append(line);
}

// One that was given up, or ended, because its time was over.
void Prober::conclude(Ending e, double limit) {
  const bool given_up = e.outcome == Outcome::failed && e.reason == kOutOfBudget,
             ended = e.outcome == Outcome::timed_out && now_seconds() >= limit;
  if (given_up || ended) e.outcome = Outcome::out_of_budget, e.reason = kBudget;
  take(to_line(e));
}

void Prober::report_time(const std::string& experiment, double left) const {
  report(1 - std::min(1.0, left / options_.budget_s),
         fmt::format("{}, {:.0f} s left", experiment, std::ceil(std::max(0.0, left))));
}

// The kernels of the checks; the others are built when an experiment needs them. What the device
// says of itself is returned in `said`.
Diags Prober::build(Observations& said) {
  report(0, "building kernels");
  const auto body = [&](const Send& send) {
    return load_first_kernels(device_, options_.cache_dir, unusual_forms(observations_), send);
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
  const bool simulated = !said.fact("simulated").empty();  // the host's caches are not its own
  for (const auto& [name, text] : declared_facts())
    if (!simulated || !name.starts_with("declared.")) take(to_line(name, text));
  take(to_line("budget_s", fmt::format("{:g}", options_.budget_s)));
  for (const auto& [name, text] : said.facts) take(to_line(name, text));
  std::vector<std::string> asked;
  for (const Experiment& e : experiments())
    if (selected(e)) asked.emplace_back(e.name);
  for (const std::string& name : stale(observations_, experiments(), asked)) take(again_line(name));
  return unwritten_;
}

// It counts as hung some time after its kernels were loaded. It is ended when more useful ones need
// what is left, or soon after the probe's time is over.
void Prober::run_one(const Turn& turn, Schedule& schedule) {
  const Experiment& e = *turn.step.experiment;
  const bool real = observations_.fact("simulated").empty();
  const double patience = options_.patience_s.value_or(kPatience * (real ? 1 : kSimulating)),
               begun = now_seconds();
  const std::string loading = kLoading + std::string(e.name);
  double ready = 0;  // when its kernels were loaded
  const double limit =
      by_the_clock() ? end() - turn.reserved : std::numeric_limits<double>::infinity();
  const Errand errand{
      device_, options_, observations_, e, turn.share, limit, real ? 0 : rounds_of(times_of(e))};
  const auto body = [&](const Send& send) { return run_errand(errand, send); };
  const auto keep_running = [&] {
    report_time(e.name, left(schedule));
    return !stopped();
  };
  const auto on_line = [&](const std::string& line) {
    take(line);
    if (ready == 0 && line.find(loading) != std::string::npos) ready = now_seconds();
  };
  const auto until = [&] {
    const double hung = (ready > 0 ? ready : begun + kBuildLimit) + 3 * turn.share + patience;
    return std::min(hung, limit + (turn.reserved > 0 ? 0 : kGrace * options_.budget_s));
  };
  conclude(run_worker(e.name, body, on_line,
                      {std::numeric_limits<double>::infinity(), keep_running, until}),
           limit);
  double loaded = 0, round = 0;
  if (std::sscanf(observations_.fact(loading).c_str(), "%lf s, one round %lf", &loaded, &round) ==
      2)
    schedule.learn(turn.step, std::max(loaded, ready - begun), round);
}

// The limits of kernels are checked in any case.
bool Prober::selected(const Experiment& e) const {
  return options_.only.empty() || e.run == run_checks ||
         std::find(options_.only.begin(), options_.only.end(), e.name) != options_.only.end();
}

// Simulated devices have no co-tenants, and of threads they are not measured.
int Prober::times_of(const Experiment& e) const {
  const bool threads = observations_.fact("lanes") == "threads",
             simulated = !observations_.fact("simulated").empty();
  // Cores look until a neighbour has gone. Samples of threads are too short for that on simulators,
  // and capacities are better known at the second visit.
  if (e.run == run_sharing || e.run == run_transfer) return threads ? e.times : 1;
  if (e.run == run_looks) return threads ? 1 : simulated ? kSimulatedLooks : e.times;
  return e.run == run_cyclic_scan && (threads || simulated) ? 1 : e.times;
}

bool Prober::wanted(const Experiment& e, int repetition) const {
  return repetition < times_of(e) && observations_.times_done(e.name) <= repetition && selected(e);
}

// What is to run: first repetitions in the table's order, later ones after them.
std::vector<Step> Prober::steps() {
  std::vector<Step> out, looks;
  int most = 1;
  const std::string fresh = ", " + observations_.fact(kKernels);
  for (const Experiment& e : experiments()) most = std::max(most, times_of(e));
  for (int repetition = 0; repetition < most; ++repetition)
    for (const Experiment& e : experiments()) {
      const double own = e.weight / times_of(e);
      if (repetition < times_of(e) && selected(e)) asked_ += own;
      if (!wanted(e, repetition)) continue;
      const size_t at = fresh.find(fmt::format(", {} ", e.name));
      const int kernels = repetition > 0 || at == std::string::npos
                              ? 0
                              : std::atoi(fresh.c_str() + at + 3 + std::string(e.name).size());
      (e.run == run_looks ? looks : out).push_back({&e, repetition, own, kernels});
    }
  return steps_of(std::move(out), std::move(looks));
}

// Of a simulated device each experiment has its share, however long it takes.
double Prober::left(const Schedule& schedule) const {
  const double part = asked_ > 0 ? schedule.weight() / asked_ : 0;
  return by_the_clock() ? end() - now_seconds() : part * options_.budget_s;
}

void Prober::run_experiments() {
  const double began = now_seconds();
  Schedule schedule(steps(), (1 - kConcluding) * options_.budget_s);
  while (!stopped()) {
    const double remains =
        by_the_clock() ? left(schedule) : std::numeric_limits<double>::infinity();
    auto turn = schedule.next(remains);
    if (!turn) break;
    if (!by_the_clock()) turn->share = options_.budget_s * turn->step.weight / asked_;
    run_one(*turn, schedule);
  }
  if (!stopped())
    for (const Step& s : schedule.left_out())
      if (s.repetition == 0)
        take(to_line(Ending{s.experiment->name, Outcome::out_of_budget, 0, kBudget}));
  seconds_ = now_seconds() - began;
  report(1, "inferring");
}

// The last attempt at each experiment that never succeeded.
Diags warnings_of(const Observations& all) {
  std::map<std::string, const Ending*> last;
  for (const Ending& e : all.endings) last[e.experiment] = &e;
  Diags out;
  for (const auto& [name, e] : last)
    if (!all.finished(name) && e->outcome != Outcome::out_of_budget)
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
  std::vector<std::string> without = left_out(observations_);
  return ProbeResult{std::move(profile).value(),
                     std::move(observations_),
                     std::move(warnings),
                     std::move(without),
                     seconds_,
                     build_seconds_};
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
  std::vector<std::string> without = left_out(*read);
  return ProbeResult{std::move(profile).value(),
                     std::move(read).value(),
                     std::move(warnings),
                     std::move(without),
                     0,
                     0};
}

}  // namespace assay::probe
