#include "toolkit/validate_fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>

#include "hwdesc/print.h"
#include "support/files/files.h"
#include "toolkit/chains.h"
#include "toolkit/compile.h"
#include "toolkit/placement.h"
#include "toolkit/profiles.h"
#include "toolkit/run.h"
#include "toolkit/statistics.h"
#include "toolkit/verify.h"

namespace assay::toolkit {
namespace {

constexpr double kSampleSeconds = 3e-3;  // of one round of a plan, at least
constexpr int kMostRuns = 200;           // in a round
constexpr const char* kSchema = "assay/fusion/1";

Json to_json(const FusionTimes& t) {
  return {{"steps", t.steps}, {"predicted_s", t.predicted}, {"measured_s", t.measured}};
}

Json to_json(const FusionRow& r) {
  return {{"chain", r.chain},
          {"separate", to_json(r.separate)},
          {"together", to_json(r.together)},
          {"chosen", to_json(r.chosen)},
          {"wrong", r.wrong}};
}

FusionTimes times_from(const Json& j) {
  return {j.at("steps").get<int>(), j.at("predicted_s").get<double>(),
          j.at("measured_s").get<double>()};
}

FusionRow row_from(const Json& j) {
  return {j.at("chain").get<std::string>(), times_from(j.at("separate")),
          times_from(j.at("together")), times_from(j.at("chosen")), j.at("wrong").get<bool>()};
}

// What rows of one journal have in common.
Json identity_of(const hwdesc::Profile& profile, const FusionOptions& o) {
  return {{"schema", kSchema},  {"profile", hwdesc::hash_of(profile)},
          {"device", o.device}, {"version", kVersion},
          {"rounds", o.rounds}, {"seed", o.seed}};
}

Diag at_line(const std::string& path, int line, const std::string& what, const char* hint = "") {
  Diag d = error(what, hint);
  d.file = path;
  d.line = line;
  return d;
}

// Rows by their chain. An incomplete last line is dropped.
Result<std::map<std::string, FusionRow>> read_journal(const std::string& path,
                                                      const Json& identity) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.diags();
  std::map<std::string, FusionRow> out;
  std::istringstream lines(text->substr(0, text->rfind('\n') + 1));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    try {
      ++number;
      const Json j = Json::parse(line);
      if (number > 1) {
        FusionRow row = row_from(j);
        out[row.chain] = std::move(row);
      } else if (j != identity) {
        return at_line(
            path, 1,
            fmt::format("is the journal of another run: {}, now {}", j.dump(), identity.dump()),
            "leave out --resume to measure anew, or write to another file");
      }
    } catch (const nlohmann::json::exception& e) {
      return at_line(path, number, std::string("is no line of such a journal: ") + e.what());
    }
  }
  if (number == 0) return at_line(path, 1, "is not such a journal: it has no whole line");
  return out;
}

struct Prepared {  // a plan on the device
  Bundle bundle;
  Placement placement;
  std::vector<double> samples = {};
  int runs = 1;  // of a round
};

class Bench {  // invariant: refers to a profile and options that outlive it
 public:
  Bench(const hwdesc::Profile& profile, const FusionOptions& options)
      : profile_(profile), options_(options) {}

  Result<FusionRow> measure(const std::string& chain) {
    const Result<ir::Graph> graph = chain_of(chain);
    if (!graph) return graph.diags();
    const Values inputs = generate_inputs(*graph, options_.seed);
    std::vector<Prepared> plans;
    for (const compiler::Fuse fuse :
         {compiler::Fuse::elementwise, compiler::Fuse::always, compiler::Fuse::all}) {
      Result<Prepared> p = prepare(*graph, fuse, inputs);
      if (!p) return p.diags();
      plans.push_back(std::move(*p));
    }
    FusionRow row{chain, {}, {}, {}, false};
    const Result<bool> wrong = is_wrong(plans[1], inputs);
    if (!wrong) return wrong.diags();
    row.wrong = *wrong;
    if (Diags failed = take_rounds(plans); !failed.empty()) return failed;
    row.separate = times_of(plans[0]);
    row.together = times_of(plans[1]);
    row.chosen = times_of(plans[2]);
    // Equal plans have one time.
    for (FusionTimes* same : {&row.together, &row.separate})
      if (const Prepared& of = plans[same == &row.separate ? 0 : 1];
          of.bundle.plan == plans[2].bundle.plan)
        row.chosen = *same;
    return row;
  }

 private:
  Result<Prepared> prepare(const ir::Graph& graph, compiler::Fuse fuse, const Values& inputs) {
    CompileOptions compile;
    compile.api = options_.api;
    compile.fuse = fuse;
    compile.schedule = compiler::Schedule::off;  // fusion alone is judged
    compile.build = false;
    compile.cancel = options_.cancel;
    Result<Bundle> bundle = compile_bundle(graph, profile_, compile);
    if (!bundle) return bundle.diags();
    runtime::LoadOptions load;
    load.cache_dir = options_.cache_dir;
    load.cancel = options_.cancel;
    Result<Placement> placement = place(*bundle, options_.device, load);
    if (!placement) return placement.diags();
    Prepared out{std::move(*bundle), std::move(*placement)};
    if (Diags failed = write_inputs(out.placement, out.bundle, inputs); !failed.empty())
      return failed;
    const auto once = out.placement.module->run(out.placement.launches, {1, 1, options_.cancel});
    if (!once) return once.diags();
    out.runs = static_cast<int>(
        std::clamp(kSampleSeconds / once->total[0], 1.0, static_cast<double>(kMostRuns)));
    return out;
  }

  Diags take_rounds(std::vector<Prepared>& plans) const {
    for (int round = 0; round < options_.rounds; ++round)
      for (Prepared& p : plans) {
        const auto ran =
            p.placement.module->run(p.placement.launches, {p.runs, 1, options_.cancel});
        if (!ran) return ran.diags();
        p.samples.push_back(quantile_of(ran->total, 0.5));
      }
    return {};
  }

  Result<bool> is_wrong(const Prepared& p, const Values& inputs) const {
    Values outputs;
    for (const ir::PlanTensor& t : p.bundle.plan.tensors)
      if (t.kind == ir::TensorKind::output) outputs.push_back(read_tensor(p.placement, t));
    const Result<Verdict> v = check_outputs(p.bundle.graph, inputs, outputs);
    if (!v) return v.diags();
    return !v->verified;
  }

  static FusionTimes times_of(const Prepared& p) {
    return {static_cast<int>(p.bundle.plan.steps.size()), p.bundle.total.seconds,
            quantile_of(p.samples, 0.5)};
  }

  const hwdesc::Profile& profile_;
  const FusionOptions& options_;
};

double faster_of(const FusionRow& r) { return std::min(r.separate.measured, r.together.measured); }

bool differs(const FusionRow& r) {
  return r.together.steps < r.separate.steps &&
         std::max(r.separate.measured, r.together.measured) >= kAlikeTimes * faster_of(r);
}

}  // namespace

FusionScore score_of(const FusionValidation& v) {
  FusionScore s;
  std::vector<double> lost;
  for (const FusionRow& r : v.rows) {
    ++s.chains;
    s.wrong += r.wrong ? 1 : 0;
    lost.push_back(r.chosen.measured / faster_of(r));
    if (!differs(r)) {
      ++s.alike;
      continue;
    }
    ++s.differing;
    s.together += r.together.measured < r.separate.measured ? 1 : 0;
    s.right += r.chosen.measured < kAlikeTimes * faster_of(r) ? 1 : 0;
  }
  s.lost = geometric_mean(lost).value_or(1);
  return s;
}

Json to_json(const FusionValidation& v, const FusionScore& s) {
  Json rows = Json::array();
  for (const FusionRow& r : v.rows) rows.push_back(to_json(r));
  return {{"profile", v.profile},
          {"device", v.device},
          {"chains", s.chains},
          {"alike", s.alike},
          {"differing", s.differing},
          {"right", s.right},
          {"together_faster", s.together},
          {"chosen_over_faster", s.lost},
          {"wrong", s.wrong},
          {"rows", rows}};
}

std::string print_csv(const FusionValidation& v) {
  std::string out =
      "chain,separate_steps,separate_predicted_s,separate_measured_s,together_steps,"
      "together_predicted_s,together_measured_s,chosen_steps,chosen_predicted_s,chosen_measured_s,"
      "wrong\n";
  for (const FusionRow& r : v.rows) {
    out += r.chain;
    for (const FusionTimes& t : {r.separate, r.together, r.chosen})
      out += fmt::format(",{},{:.6g},{:.6g}", t.steps, t.predicted, t.measured);
    out += r.wrong ? ",1\n" : ",0\n";
  }
  return out;
}

Result<FusionValidation> validate_fusion(const hwdesc::Profile& profile,
                                         const FusionOptions& options) {
  const Json identity = identity_of(profile, options);
  std::map<std::string, FusionRow> kept;
  if (options.resume) {
    Result<std::map<std::string, FusionRow>> read = read_journal(options.journal, identity);
    if (!read) return read.diags();
    kept = std::move(*read);
  }
  std::string text = identity.dump() + "\n";
  for (const auto& [chain, row] : kept) text += to_json(row).dump() + "\n";
  if (Diags unwritten = write_text(options.journal, text); !unwritten.empty()) return unwritten;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> journal(
      std::fopen(options.journal.c_str(), "a"), std::fclose);
  if (!journal) return error(options.journal + " can not be written");
  Bench bench(profile, options);
  FusionValidation out{profile.name, options.device, {}};
  const std::vector<std::string> chains = draw_chains(options.chains, options.seed);
  for (size_t i = 0; i < chains.size(); ++i) {
    report(options.progress, static_cast<int64_t>(i), static_cast<int64_t>(chains.size()),
           chains[i]);
    if (const auto known = kept.find(chains[i]); known != kept.end()) {
      out.rows.push_back(known->second);
      continue;
    }
    Result<FusionRow> row = bench.measure(chains[i]);
    if (cancelled(options.cancel)) break;
    if (!row) return row.diags();
    std::fputs((to_json(*row).dump() + "\n").c_str(), journal.get());
    std::fflush(journal.get());
    out.rows.push_back(std::move(*row));
  }
  return out;
}

}  // namespace assay::toolkit
