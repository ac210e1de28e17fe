#include "probe/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>

#include "probe/experiments/asked.h"
#include "probe/experiments/experiments.h"
#include "probe/inference/doubts.h"
#include "probe/inference/forms.h"
#include "probe/inference/infer.h"
#include "probe/inference/values.h"
#include "probe/journal.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/pages.h"
#include "probe/resume.h"
#include "probe/sampling/system.h"
#include "runtime/source.h"
#include "support/version.h"

namespace assay::probe {
namespace {

constexpr double kBuildLimit = 300;
constexpr double kSimulating = 40;  // times the patience: simulated time is not ours
constexpr double kLeast = 0.25;  // of its share, that an experiment has whatever the others overran
constexpr double kTurn = 40;  // s of budget for a turn through an experiment on a simulated device
constexpr int kProgressSteps = 1000;

hwdesc::Target target_for(const runtime::DeviceInfo& info, std::vector<hwdesc::NamedText> forms) {
  hwdesc::Target t;
  t.api.forms = std::move(forms);
  t.profile.name = "unprobed";
  t.api.name = info.api;
  t.api.dialect = t.dialect.name = runtime::dialect_of(info);
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
  Prober(const std::string& device, const ProbeOptions& options, Observations earlier)
      : device_(device), options_(options), observations_(std::move(earlier)) {}

  Result<ProbeResult> run();

 private:
  Diags build(Observations& said);
  Diags open_journal();
  Diags prepare();
  void run_experiments();
  void run_one(const Experiment& e, double seconds);
  void build_anew();
  std::string work(const Experiment& e, double seconds, const Send& send);
  Diags open();
  std::unique_ptr<runtime::Module> load(std::span<const ir::Kernel> kernels, bool one_by_one);
  std::unique_ptr<runtime::Module> load(std::span<const ir::Kernel> kernels, bool one_by_one,
                                        const hwdesc::Target& target);
  void take(const std::string& line);
  void conclude(const Ending& e);
  bool asked_for(const Experiment& e) const;
  int times_of(const Experiment& e) const;
  bool wanted(const Experiment& e, int turn) const;
  void share_out();
  std::string what_is_kept() const;
  // What building took is taken off, down to what a short probe has.
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
  std::unique_ptr<runtime::Device> opened_;  // in a child,
  std::vector<ir::Kernel> kernels_;          // with what it runs
  double build_seconds_ = 0, seconds_ = 0;
  double started_ = 0;  // when the first experiment began
  double allotted_ = 0,
         least_ = 0;  // of the budget, s: to what is still to be done; per weight, in any case
  double weight_ = 0, weights_ = 0;  // of what is still to be begun, of all that is to be done
  int turns_ = 1;
  Diags unbuilt_;    // why there are no kernels to measure with
  Diags unwritten_;  // why the journal is not kept: nothing more is measured
};

void Prober::take(const std::string& line) {
  if (!unwritten_.empty()) return;
  if (add_line(line, observations_).empty()) unwritten_ = journal_.append(line);
}

void Prober::conclude(const Ending& e) { take(to_line(e)); }

// What experiments overrun is not known before: those to come have their least in any case, and
// take as long for their weight as those did.
void Prober::report_time(const std::string& experiment) const {
  const double gone = now_seconds() - started_, done = weights_ - weight_;
  const double by_pace = done > 0 ? gone / done * weight_ : 0;
  const double left = std::max({0.0, allotted_ - gone, least_ * weight_, by_pace});
  report(1 - std::min(1.0, left / budget()),
         fmt::format("{}, {:.0f} s left", experiment, std::ceil(left)));
}

void send_facts(const runtime::DeviceInfo& info, const Send& send) {
  send(to_line("cpu", info.name));
  send(to_line("name", info.name));
  send(to_line("api", info.api));
  send(to_line("dialect", runtime::dialect_of(info)));
  send(to_line("units", std::to_string(info.units)));
  send(to_line("lanes", info.threads ? "threads" : "vectors"));
  send(to_line("widths", fmt::format("{}", fmt::join(shape_of(info).lanes, " "))));
  if (info.clock_hz > 0) send(to_line("clock_hz", fmt::format("{:.0f}", info.clock_hz)));
  if (info.simulated) send(to_line("simulated", "yes"));
  send(to_line("memory_bytes", std::to_string(info.memory_bytes)));
  for (const auto& [name, text] : info.facts) send(to_line(name, text));
}

// In the child. Errors: why the device can not be opened.
Diags Prober::open() {
  auto opened = runtime::open(device_);
  if (!opened) return opened.diags();
  opened_ = std::move(opened).value();
  kernels_ = all_kernels(shape_of(opened_->info()));
  return {};
}

std::unique_ptr<runtime::Module> Prober::load(std::span<const ir::Kernel> kernels,
                                              bool one_by_one) {
  return load(kernels, one_by_one, target_for(opened_->info(), unusual_forms(observations_)));
}

std::unique_ptr<runtime::Module> Prober::load(std::span<const ir::Kernel> kernels, bool one_by_one,
                                              const hwdesc::Target& target) {
  runtime::LoadOptions load;
  load.cache_dir = options_.cache_dir;
  load.one_by_one = one_by_one;
  auto module = opened_->load(kernels, target, load);
  if (!module) fail(module.diags());
  return std::move(module).value();
}

// Every kernel once, with no work to do: drivers put a part of compiling off to the first launch,
// and keep what comes of it for later processes.
void launch_all(runtime::Module& module, const std::vector<ir::Kernel>& kernels) {
  constexpr int64_t kBytes = 4 << 20;
  const auto zeros = module.allocate(kBytes), written = module.allocate(kBytes);
  if (!zeros || !written) return;
  std::vector<runtime::Launch> all;
  for (size_t k = 0; k < kernels.size(); ++k) {
    runtime::Launch l{static_cast<int>(k), {}, {{0, 0, 1}}};
    for (const ir::Buffer& b : kernels[k].buffers)
      if (b.scope == ir::Scope::global) l.arguments.push_back({b.written ? *written : *zeros, 0});
    all.push_back(std::move(l));
  }
  if (auto times = module.run(all, {}); !times) fail(times.diags());
}

// A fact of a device that could not be opened: what is to be said of it, a line for each field.
constexpr const char* kNotOpened = "not_opened";

std::string fields_of(const Diag& d) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", d.file, d.line, d.col, d.message, d.hint,
                     d.source_line);
}

Diag diag_of(const std::string& fields) {
  std::istringstream in(fields);
  std::string line, col;
  Diag d = error("");
  std::getline(in, d.file);
  std::getline(in, line);
  std::getline(in, col);
  std::getline(in, d.message);
  std::getline(in, d.hint);
  std::getline(in, d.source_line);
  d.line = std::atoi(line.c_str());
  d.col = std::atoi(col.c_str());
  return d;
}

// What the device says of itself comes back in `said`.
Diags Prober::build(Observations& said) {
  report(0, "building kernels");
  const auto body = [&](const Send& send) {
    if (const Diags wrong = open(); !wrong.empty()) {
      for (const Diag& d : wrong) send(to_line(kNotOpened, fields_of(d)));
      fail(wrong);
    }
    const double start = now_seconds();
    const auto module = load(kernels_, false);
    if (!opened_->info().simulated) launch_all(*module, kernels_);
    send_facts(opened_->info(), send);
    send(to_line("build_seconds", fmt::format("{:.2f}", now_seconds() - start)));
    return std::string();
  };
  const auto on_line = [&](const std::string& line) { add_line(line, said); };
  const Ending e = run_worker("build", body, on_line, {kBuildLimit, [&] { return !cancelled(); }});
  Diags not_opened;
  for (const auto& [name, text] : said.facts)
    if (name == kNotOpened) not_opened.push_back(diag_of(text));
  if (!not_opened.empty()) return not_opened;
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
    auto opened = options_.resume ? Journal::go_on(options_.observations)
                                  : Journal::begin(options_.observations);
    if (!opened) return opened.diags();
    journal_ = std::move(opened).value();
  }
  take(to_line("journal", kJournalFormat));
  take(to_line("assay", kVersion));
  take(to_line("device", device_));
  return unwritten_;
}

// Builds the kernels and opens the journal. An earlier one is touched only when the device is there
// and is the one that it speaks of; where there is none, it begins at once.
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
    if (asked_for(e)) asked.emplace_back(e.name);
  for (const std::string& name : stale(observations_, experiments(), asked)) take(again_line(name));
  return unwritten_;
}

// Time of ours means nothing there.
int turns_of(int times, const runtime::DeviceInfo& info, double budget_s) {
  return info.simulated ? std::max(1, static_cast<int>(std::lround(budget_s / kTurn / times))) : 0;
}

std::string Prober::work(const Experiment& e, double seconds, const Send& send) {
  const double started = now_seconds();
  if (const Diags wrong = open(); !wrong.empty()) fail(wrong);
  if (options_.before) options_.before();
  const auto module = load(kernels_, false);
  Bench bench(*module, kernels_, opened_->info());
  runtime::DeviceInfo info = opened_->info();
  const int64_t most =
      std::min({options_.max_bytes, info.memory_bytes / 8, bench.largest_buffer() / kPage * kPage});
  const auto turn = static_cast<uint64_t>(observations_.endings.size());
  info.units = std::min<int>(info.units, static_cast<int>(kSlots));
  const auto one_by_one = [&](std::span<const ir::Kernel> kernels) { return load(kernels, true); };
  Session s{bench,
            info,
            observations_,
            known_from(evidence(observations_)),
            seconds,
            turns_of(times_of(e), info, options_.budget_s),
            started,
            most,
            shape_of(info).lanes,
            kernels_,
            one_by_one,
            send,
            std::mt19937_64(turn + 1)};
  bench.limit_loops(s.known.most_iterations);
  if (!s.known.threads && observations_.finished("fma") && observations_.fact(kVectorLanes).empty())
    s.fact(kVectorLanes, std::to_string(s.known.lanes));
  s.in_groups_of = [&](std::span<const ir::Kernel> kernels, int threads) {
    runtime::DeviceInfo wide = info;
    wide.widths = {threads};
    return load(kernels, false, target_for(wide, unusual_forms(observations_)));
  };
  s.in_form = [&](std::span<const ir::Kernel> kernels, const hwdesc::NamedText& form) {
    return load(kernels, false, target_for(info, {form}));
  };
  if (options_.beside)
    s.behind = [&](const Observation& block) {
      options_.beside(block, [&](const Observation& o) { send(to_line(o)); });
    };
  e.run(s);
  if (bench.taken_again() > 0)
    send(to_line(kDoubted + std::string(e.name),
                 fmt::format("{} of {}", bench.taken_again(), bench.samples())));
  return "";
}

void Prober::run_one(const Experiment& e, double seconds) {
  const auto body = [&](const Send& send) { return work(e, seconds, send); };
  const double patience = options_.patience_s.value_or(
      kPatience * (observations_.fact("simulated").empty() ? 1 : kSimulating));
  const auto go_on = [&] {
    report_time(e.name);
    return !stopped();
  };
  const auto on_line = [&](const std::string& line) { take(line); };
  conclude(run_worker(e.name, body, on_line, {3 * seconds + patience, go_on}));
}

// What kernels may not do is found out in any case.
bool Prober::asked_for(const Experiment& e) const {
  return options_.only.empty() || e.run == run_checks ||
         std::find(options_.only.begin(), options_.only.end(), e.name) != options_.only.end();
}

// What others leave of a cache does not change on simulated devices, and of threads it is not
// measured.
int Prober::times_of(const Experiment& e) const {
  const bool once = e.run == run_cyclic_scan && (observations_.fact("lanes") == "threads" ||
                                                 !observations_.fact("simulated").empty());
  return once ? 1 : e.times;
}

bool Prober::wanted(const Experiment& e, int turn) const {
  return turn < times_of(e) && observations_.times_done(e.name) <= turn && asked_for(e);
}

// What is resumed has the part of the budget that it would have had.
void Prober::share_out() {
  double asked = 0;
  for (const Experiment& e : experiments()) turns_ = std::max(turns_, times_of(e));
  for (int turn = 0; turn < turns_; ++turn)
    for (const Experiment& e : experiments()) {
      const double own = e.weight / times_of(e);
      if (wanted(e, turn)) weight_ += own;
      if (turn < times_of(e) && asked_for(e)) asked += own;
    }
  weights_ = weight_;
  allotted_ = asked > 0 ? budget() * weight_ / asked : 0;
  least_ = asked > 0 ? kLeast * budget() / asked : 0;
}

// Kernels in another form than the usual one take their time to build, which is not an
// experiment's.
void Prober::build_anew() {
  if (unusual_forms(observations_).empty() || stopped()) return;
  const double start = now_seconds(), before = build_seconds_;
  Observations said;
  unbuilt_ = build(said);
  build_seconds_ += before;
  started_ += now_seconds() - start;  // none of it is taken off what is to come
}

// What an experiment overran, the later ones have less; at least a quarter of their fair share.
// Those that run several times do so once in each turn.
void Prober::run_experiments() {
  share_out();
  started_ = now_seconds();
  for (int turn = 0; turn < turns_; ++turn)
    for (const Experiment& e : experiments()) {
      if (!wanted(e, turn) || stopped()) continue;
      const double left = allotted_ - (now_seconds() - started_), own = e.weight / times_of(e);
      const double share = std::max(left / weight_, least_) * own;
      weight_ -= own;
      run_one(e, share);
      if (e.run == run_forms) build_anew();
    }
  seconds_ = now_seconds() - started_;
  report(1, "inferring");
}

// Of what did not end well and was not made good, the last attempt.
Diags warnings_of(const Observations& all) {
  std::map<std::string, const Ending*> last;
  for (const Ending& e : all.endings) last[e.experiment] = &e;
  Diags out;
  for (const auto& [name, e] : last)
    if (!all.finished(name))
      out.push_back({Severity::warning, "", 0, 0,
                     fmt::format("experiment '{}' did not end well: {}", name, e->reason), "", ""});
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

std::string Prober::what_is_kept() const {
  return journal_.is_open() ? fmt::format("what was measured is kept in {}: go on with --resume",
                                          options_.observations)
                            : "";
}

Result<ProbeResult> Prober::run() {
  const Diags unprepared = prepare();
  if (unprepared.empty()) run_experiments();
  if (cancelled()) return error("cancelled", what_is_kept());
  if (!unprepared.empty()) return unprepared;
  if (!unwritten_.empty()) return unwritten_;
  if (!unbuilt_.empty()) return unbuilt_;
  if (const std::string why = last_failure(observations_, "checks");
      !why.empty() && !observations_.finished("checks"))
    return error(fmt::format("the device failed the checks: {}", why));
  if (observations_.points.empty() && !options_.only.empty() && warnings_of(observations_).empty())
    return error(
        "there was nothing that these experiments could measure by themselves: they begin with "
        "what others found",
        "--only with compute, memory or control runs what they need, too");
  auto profile = infer(observations_);
  if (!profile) return with(profile.diags(), warnings_of(observations_));
  Diags warnings = warnings_of(observations_);
  return ProbeResult{std::move(profile).value(), std::move(observations_), std::move(warnings),
                     seconds_, build_seconds_};
}

}  // namespace

Result<ProbeResult> probe(const std::string& device, const ProbeOptions& given) {
  ProbeOptions options = given;
  Result<std::vector<std::string>> asked = experiments_asked(given.only);
  if (!asked) return asked.diags();
  options.only = std::move(*asked);
  if (!options.resume || options.observations.empty()) return Prober(device, options, {}).run();
  auto earlier = read_journal(options.observations);
  if (!earlier) return earlier.diags();
  if (Diags other = check_same_device(*earlier, device, options.observations); !other.empty())
    return other;
  return Prober(device, options, std::move(earlier).value()).run();
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
