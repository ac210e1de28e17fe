#include "toolkit/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "compiler/compile.h"
#include "hwdesc/print.h"
#include "probe/host_state.h"
#include "support/hash.h"
#include "toolkit/bundle.h"
#include "toolkit/devices.h"
#include "toolkit/profiles.h"
#include "toolkit/validate_bench.h"
#include "toolkit/validate_journal.h"

namespace assay::toolkit {
namespace {

class Stopwatch {  // invariant: start_ is when it was made or last read
 public:
  double lap() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

struct Case {  // one tile-graph and the program the compiler chose for it
  std::string name;
  compiler::TileGraph tile_graph;
  ir::Program first_choice;
};

// The seed depends on the operator alone, so that a shorter suite draws the same programs.
uint64_t seed_of(const std::string& name, uint64_t seed) {
  return std::stoull(hash_hex(name + "/" + std::to_string(seed)).substr(0, 16), nullptr, 16);
}

Result<std::vector<Case>> cases_of(const Suite& suite, const hwdesc::Target& target) {
  std::vector<Case> out;
  compiler::Options one_by_one;
  one_by_one.fuse = compiler::Fuse::elementwise;
  one_by_one.schedule = compiler::Schedule::off;
  for (const std::string& text : suite.operators) {
    const Result<ir::Graph> graph = compiler::operator_for_kernels(text);
    if (!graph) return graph.diags();
    Result<compiler::Compiled> compiled = compiler::compile(*graph, target, one_by_one);
    if (!compiled) return compiled.diags();
    Result<compiler::TileGraphs> graphs = compiler::tile_graphs_of(*graph, target);
    if (!graphs) return graphs.diags();
    std::vector<compiler::TileGraph>& parts = graphs->parts;
    const ir::Plan& plan = compiled->plan;
    ASSAY_CHECK(plan.steps.size() == parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string name = parts.size() == 1 ? text : text + " / " + parts[i].name;
      out.push_back(
          {name, std::move(parts[i]), plan.programs[static_cast<size_t>(plan.steps[i].program)]});
    }
  }
  return out;
}

size_t fastest(const std::vector<Trial>& trials) {
  return static_cast<size_t>(std::min_element(trials.begin(), trials.end(),
                                              [](const Trial& a, const Trial& b) {
                                                return a.row.measured < b.row.measured;
                                              }) -
                             trials.begin());
}

constexpr int kVisits = 3;         // of each operator
constexpr size_t kVisitEvery = 4;  // operators begun between two visits of one: some 30 s

struct PendingOperator {  // an operator with visits still to come
  OperatorRows rows;
  Expected expected;
  std::vector<Trial> trials, neighbours;
  std::vector<TrialBench> benches;
  int visits = 0;
};

class Validator {  // invariant: refers to the parts of one validation, which outlive it
 public:
  Validator(runtime::Device& device, const hwdesc::Target& target, const model::Machine& machine,
            const ValidateOptions& options, probe::HostState* host, ValidationJournal& journal)
      : device_(device),
        target_(target),
        machine_(machine),
        options_(options),
        host_(host),
        journal_(journal),
        visits_(device.info().simulated ? 1 : kVisits) {}

  // Draws, builds, and makes the first visit.
  Result<std::unique_ptr<PendingOperator>> begin(const Case& c, int64_t done, int64_t total) {
    done_ = done;
    total_ = total;
    auto out = std::make_unique<PendingOperator>();
    out->rows.name = c.name;
    Stopwatch watch;
    tell(*out, "drawing programs");
    TrialDrawer drawer(c.tile_graph, target_, machine_, seed_of(c.name, options_.seed));
    out->trials = drawer.draw(c.first_choice, options_.programs);
    if (out->trials.empty()) return error(c.name + ": no program can be drawn");
    out->rows.spent.choose = watch.lap();
    tell(*out, "reference");
    Result<Expected> expected = expect(c.tile_graph.problem.graph, options_.seed);
    if (!expected) return expected.diags();
    out->expected = std::move(*expected);
    out->rows.spent.reference = watch.lap();
    if (Diags failed = add(*out, out->trials); !failed.empty()) return failed;
    watch.lap();
    out->neighbours = drawer.neighbours(out->trials[fastest(out->trials)].program);
    out->rows.spent.choose += watch.lap();
    if (Diags failed = add(*out, out->neighbours); !failed.empty()) return failed;
    out->visits = 1;
    return out;
  }

  Diags visit(PendingOperator& op) {
    Stopwatch watch;
    for (TrialBench& b : op.benches)
      if (Diags failed = b.visit(visits_); !failed.empty()) return failed;
    ++op.visits;
    op.rows.spent.run += watch.lap();
    return {};
  }

  bool is_done(const PendingOperator& op) const { return op.visits >= visits_; }

  // An interrupted operator keeps its visits: no sample is lost.
  OperatorRows conclude(PendingOperator& op) {
    for (TrialBench& b : op.benches) b.conclude();
    for (std::vector<Trial>* part : {&op.trials, &op.neighbours})
      for (Trial& t : *part) {
        journal_.measured(op.rows.name, t.row);
        op.rows.rows.push_back(std::move(t.row));
      }
    journal_.done(op.rows);
    return std::move(op.rows);
  }

 private:
  void tell(const PendingOperator& op, const std::string& what) const {
    report(options_.progress, done_, total_, op.rows.name + ": " + what);
  }

  Diags add(PendingOperator& op, std::vector<Trial>& trials) {
    if (trials.empty()) return {};
    for (const Trial& t : trials) journal_.predicted(op.rows.name, t.row);
    BenchOptions bench;
    bench.repeat = options_.repeat;
    bench.cache_dir = options_.cache_dir;
    bench.cancel = options_.cancel;
    bench.host = host_;
    bench.progress = [this, &op](int64_t done, int64_t total, const std::string& what) {
      const std::string visit =
          op.visits == 0 ? "" : fmt::format(", visit {} of {}", op.visits + 1, visits_);
      tell(op, fmt::format("{}{} ({} of {})", what, visit, done, total));
    };
    Stopwatch watch;
    Result<TrialBench> loaded = TrialBench::load(device_, target_, trials, op.expected, bench);
    if (!loaded) return loaded.diags();
    op.rows.spent.build += watch.lap();
    op.benches.push_back(std::move(*loaded));
    TrialBench& added = op.benches.back();
    if (Diags failed = added.look(); !failed.empty()) return failed;
    if (Diags failed = added.visit(visits_); !failed.empty()) return failed;
    added.conclude();  // preliminary: which program is fastest
    op.rows.spent.run += watch.lap();
    return {};
  }

  runtime::Device& device_;
  const hwdesc::Target& target_;
  const model::Machine& machine_;
  const ValidateOptions& options_;
  probe::HostState* host_;
  ValidationJournal& journal_;
  const int visits_;
  int64_t done_ = 0, total_ = 0;
};

RunIdentity identity_of(const hwdesc::Profile& profile, const Suite& suite,
                        const hwdesc::Target& target, const ValidateOptions& o) {
  std::string operators;
  for (const std::string& text : suite.operators) operators += text + "\n";
  return {hash_hex(hwdesc::print_profile(profile)),
          hash_hex(operators),
          o.device,
          target.api.name,
          kVersion,
          o.programs,
          o.repeat,
          o.seed};
}

Diag cross_die_note(const probe::HostState& host) {
  Diag d = error(fmt::format("the host ran the units on dies with a last cache each in {:.0f} % of "
                             "{} looks, though they shared one when they were probed: samples of "
                             "that time count only where there are too few others",
                             100 * host.part_cross_die(), host.looks()),
                 "validate again when it keeps them on one die for longer, or probe again for a "
                 "profile of the placement of now");
  d.severity = Severity::warning;
  return d;
}

}  // namespace

const char* name_of(Drawn d) {
  switch (d) {
    case Drawn::uniform:
      return "uniform";
    case Drawn::best_tenth:
      return "best_tenth";
    case Drawn::neighbour:
      return "neighbour";
  }
  ASSAY_CHECK(false);
}

Result<Validation> validate(const hwdesc::Profile& profile, const Suite& suite,
                            const ValidateOptions& options) {
  const Result<hwdesc::Target> target = target_of(profile, options.api);
  if (!target) return target.diags();
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return machine.diags();
  Result<std::unique_ptr<runtime::Device>> device = open_ready(options.device, *target);
  if (!device) return device.diags();
  const Result<std::vector<Case>> cases = cases_of(suite, *target);
  if (!cases) return cases.diags();

  Validation out;
  out.suite = suite.name;
  out.profile = profile.name;
  out.api = target->api.name;
  out.fma_rate = machine->fma_rate.value;
  out.device = (*device)->info().id + " " + (*device)->info().name;
  out.total = static_cast<int>(cases->size());
  const RunIdentity run = identity_of(profile, suite, *target, options);
  std::vector<OperatorRows> kept;
  if (options.resume) {
    Result<std::vector<OperatorRows>> read = read_validation(options.journal, run);
    if (!read) return read.diags();
    kept = std::move(*read);
  }
  out.resumed = static_cast<int>(kept.size());
  Result<ValidationJournal> journal = ValidationJournal::start(options.journal, run, kept);
  if (!journal) return journal.diags();
  const Result<std::unique_ptr<probe::HostState>> host =
      probe::HostState::load(**device, *target, options.cache_dir);
  if (!host) return host.diags();
  Validator validator(**device, *target, *machine, options, host->get(), *journal);
  std::vector<std::optional<OperatorRows>> rows(cases->size());
  std::deque<std::pair<size_t, std::unique_ptr<PendingOperator>>> under_way;  // by case
  // Visits the operators that are due when `begun` operators have begun; concludes finished ones.
  const auto visit_again = [&](size_t begun) -> Diags {
    for (auto& [i, op] : under_way)
      if (!cancelled(options.cancel) && !validator.is_done(*op) &&
          begun >= i + kVisitEvery * static_cast<size_t>(op->visits))
        if (Diags failed = validator.visit(*op); !failed.empty() && !cancelled(options.cancel))
          return failed;
    while (!under_way.empty() &&
           (validator.is_done(*under_way.front().second) || cancelled(options.cancel))) {
      rows[under_way.front().first] = validator.conclude(*under_way.front().second);
      under_way.pop_front();
    }
    return {};
  };
  for (size_t i = 0; i < cases->size() && !cancelled(options.cancel); ++i) {
    const Case& c = (*cases)[i];
    const auto known = std::find_if(kept.begin(), kept.end(),
                                    [&](const OperatorRows& o) { return o.name == c.name; });
    if (known != kept.end()) {
      rows[i] = *known;
      continue;
    }
    Result<std::unique_ptr<PendingOperator>> begun =
        validator.begin(c, static_cast<int64_t>(i), out.total);
    if (cancelled(options.cancel)) break;
    if (!begun) return begun.diags();
    under_way.emplace_back(i, std::move(*begun));
    if (Diags failed = visit_again(i); !failed.empty()) return failed;
  }
  // The visits that are left; a cancelled run only concludes.
  for (size_t begun = cases->size(); !under_way.empty(); begun += kVisitEvery)
    if (Diags failed = visit_again(begun); !failed.empty()) return failed;
  if (*host != nullptr && (*host)->part_cross_die() > 0)
    out.notes.push_back(cross_die_note(**host));
  for (std::optional<OperatorRows>& r : rows)
    if (r) out.operators.push_back(std::move(*r));
  return out;
}

}  // namespace assay::toolkit
