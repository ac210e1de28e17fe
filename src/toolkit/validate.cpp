#include "toolkit/validate.h"

#include <algorithm>
#include <chrono>

#include "base/hash.h"
#include "compiler/compile.h"
#include "hwdesc/print.h"
#include "toolkit/bundle.h"
#include "toolkit/devices.h"
#include "toolkit/pace.h"
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

// The program's seed follows from the operator, so that a shorter suite draws the same.
uint64_t seed_of(const std::string& name, uint64_t seed) {
  return std::stoull(hash_hex(name + "/" + std::to_string(seed)).substr(0, 16), nullptr, 16);
}

Result<std::vector<Case>> cases_of(const Suite& suite, const hwdesc::Target& target,
                                   const model::Machine& machine) {
  std::vector<Case> out;
  for (const std::string& text : suite.operators) {
    const Result<ir::Graph> graph = compiler::parse_operator(text);
    if (!graph) return graph.diags();
    Result<compiler::Compiled> compiled = compiler::compile(*graph, target, {});
    if (!compiled) return compiled.diags();
    std::vector<compiler::TileGraph> parts = compiler::problems_of(*graph, target, machine).tile_graphs;
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

class Validator {  // invariant: refers to the parts of one validation, which outlive it
 public:
  Validator(runtime::Device& device, const hwdesc::Target& target, const model::Machine& machine,
            const ValidateOptions& options, Pace* pace, ValidationJournal& journal)
      : device_(device), target_(target), machine_(machine), options_(options), pace_(pace), journal_(journal) {}

  Result<OperatorRows> run(const Case& c, int64_t done, int64_t total) {
    name_ = c.name;
    done_ = done;
    total_ = total;
    OperatorRows out;
    out.name = c.name;
    Stopwatch watch;
    tell("drawing programs");
    TrialDrawer drawer(c.tile_graph, target_, machine_, seed_of(c.name, options_.seed));
    std::vector<Trial> trials = drawer.draw(c.first_choice, options_.programs);
    if (trials.empty()) return error(c.name + ": no program can be drawn");
    out.spent.choose = watch.lap();
    tell("reference");
    const Result<Expected> expected = expect(c.tile_graph.problem.graph, options_.seed);
    if (!expected) return expected.diags();
    out.spent.reference = watch.lap();
    if (Diags failed = measure(trials, *expected, out.spent); !failed.empty()) return failed;
    watch.lap();
    std::vector<Trial> near = drawer.neighbours(trials[fastest(trials)].program);
    out.spent.choose += watch.lap();
    if (Diags failed = measure(near, *expected, out.spent); !failed.empty()) return failed;
    for (std::vector<Trial>* part : {&trials, &near})
      for (Trial& t : *part) {
        journal_.measured(c.name, t.row);
        out.rows.push_back(std::move(t.row));
      }
    journal_.done(out);
    return out;
  }

 private:
  void tell(const std::string& what) const {
    report(options_.progress, done_, total_, name_ + ": " + what);
  }

  Diags measure(std::vector<Trial>& trials, const Expected& expected, Spent& spent) {
    if (trials.empty()) return {};
    for (const Trial& t : trials) journal_.predicted(name_, t.row);
    BenchOptions bench;
    bench.repeat = options_.repeat;
    bench.cache_dir = options_.cache_dir;
    bench.cancel = options_.cancel;
    bench.pace = pace_;
    bench.progress = [this](int64_t done, int64_t total, const std::string& what) {
      tell(what + " (" + std::to_string(done) + " of " + std::to_string(total) + ")");
    };
    Stopwatch watch;
    Result<TrialBench> loaded = TrialBench::load(device_, target_, trials, expected, bench);
    if (!loaded) return loaded.diags();
    spent.build += watch.lap();
    Diags failed = loaded->measure();
    spent.run += watch.lap();
    return failed;
  }

  runtime::Device& device_;
  const hwdesc::Target& target_;
  const model::Machine& machine_;
  const ValidateOptions& options_;
  Pace* pace_;
  ValidationJournal& journal_;
  std::string name_;
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
  const Result<std::vector<Case>> cases = cases_of(suite, *target, *machine);
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
  out.taken_over = static_cast<int>(kept.size());
  Result<ValidationJournal> journal = ValidationJournal::start(options.journal, run, kept);
  if (!journal) return journal.diags();
  const Result<std::unique_ptr<Pace>> pace = Pace::load(**device, *target, options.cache_dir);
  if (!pace) return pace.diags();
  Validator validator(**device, *target, *machine, options, pace->get(), *journal);
  for (size_t i = 0; i < cases->size(); ++i) {
    if (cancelled(options.cancel)) break;
    const Case& c = (*cases)[i];
    const auto known = std::find_if(kept.begin(), kept.end(),
                                    [&](const OperatorRows& o) { return o.name == c.name; });
    if (known != kept.end()) {
      out.operators.push_back(*known);
      continue;
    }
    Result<OperatorRows> rows = validator.run(c, static_cast<int64_t>(i), out.total);
    if (cancelled(options.cancel)) break;
    if (!rows) return rows.diags();
    out.operators.push_back(std::move(*rows));
  }
  return out;
}

}  // namespace assay::toolkit
