#include "toolkit/validate_schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "compiler/passes/place.h"
#include "compiler/schedule/draw.h"
#include "simulator/estimate.h"
#include "toolkit/chains.h"
#include "toolkit/compile.h"
#include "toolkit/placement.h"
#include "toolkit/profiles.h"
#include "toolkit/run.h"
#include "toolkit/statistics.h"

namespace assay::toolkit {
namespace {

constexpr double kSampleSeconds = 3e-3;  // of one round of a schedule, at least
constexpr int kMostRuns = 200;           // in a round

struct Prepared {  // a plan by one schedule, on the device
  ScheduleRow row;
  Bundle bundle;
  Placement placement;
  std::vector<double> samples = {};
  int runs = 1;  // of a round
  runtime::RunOptions options(int repeat, const CancelToken* cancel) const {
    runtime::RunOptions out{repeat, 1, cancel};
    out.schedule = placement.schedule;
    out.resident = resident_of(bundle.plan);
    return out;
  }
};

Result<ir::Graph> graph_of(const std::string& model, const CompileOptions& options) {
  if (!model.ends_with(".onnx")) return chain_of(model);
  Result<Model> read = read_model(model, options);
  if (!read) return read.diags();
  return std::move(read->graph);
}

class Bench {  // invariant: refers to a profile and options that outlive it
 public:
  Bench(const hwdesc::Profile& profile, const SchedulesOptions& options)
      : profile_(profile), options_(options) {}

  Diags measure(const std::string& model, std::vector<ScheduleRow>& rows) {
    Result<std::vector<Bundle>> bundles = bundles_of(model);
    if (!bundles) return bundles.diags();
    const Values inputs = generate_inputs(bundles->front().graph, options_.seed);
    std::vector<Prepared> all;
    for (size_t i = 0; i < bundles->size(); ++i) {
      Result<Prepared> p = prepare(std::move((*bundles)[i]), inputs);
      if (!p) return p.diags();
      p->row.model = model;
      p->row.schedule = i == 0   ? "one after the other"
                        : i == 1 ? "chosen"
                                 : fmt::format("drawn {}", i - 1);
      all.push_back(std::move(*p));
    }
    const Values expected = outputs_of(all.front());
    for (Prepared& p : all) p.row.wrong = !std::ranges::equal(outputs_of(p), expected, same_bits);
    for (int round = 0; round < options_.rounds; ++round)
      for (Prepared& p : all) {
        const auto ran =
            p.placement.module->run(p.placement.launches, p.options(p.runs, options_.cancel));
        if (!ran) return ran.diags();
        p.samples.push_back(quantile_of(ran->total, 0.5));
      }
    for (Prepared& p : all) {
      p.row.measured = quantile_of(p.samples, 0.5);
      rows.push_back(std::move(p.row));
    }
    return {};
  }

 private:
  // One plan by several schedules.
  Result<std::vector<Bundle>> bundles_of(const std::string& path) {
    CompileOptions compile;
    compile.api = options_.api;
    compile.build = false;
    compile.cancel = options_.cancel;
    compile.schedule = compiler::Schedule::always;
    const Result<ir::Graph> graph = graph_of(path, compile);
    if (!graph) return graph.diags();
    const Result<hwdesc::Target> target = target_of(profile_, options_.api);
    if (!target) return target.diags();
    const Result<model::Machine> machine = model::prepare(*target);
    if (!machine) return machine.diags();
    const Result<Bundle> chosen = compile_bundle(*graph, profile_, compile);
    if (!chosen) return chosen.diags();
    if (chosen->plan.steps.size() < 2)
      return error(path + " is one step: there is nothing to run beside it");
    if (chosen->plan.schedule.empty())
      return error(path + " has no schedule for " + profile_.name + ", whose units have no queues",
                   chosen->scheduled.why_not);
    std::vector<Bundle> out(2, *chosen);
    out[0].plan.schedule.clear();
    out[0].plan.resident = 0;
    for (std::vector<ir::Command>& drawn :
         compiler::draw_schedules(chosen->plan, *machine, options_.schedules, options_.seed)) {
      out.push_back(*chosen);
      out.back().plan.schedule = std::move(drawn);
    }
    for (Bundle& b : out) {
      compiler::place_arena(b.plan);
      b.total = simulator::simulate(b.plan, *machine, simulator::TermDetail::none).total;
    }
    return out;
  }

  Result<Prepared> prepare(Bundle bundle, const Values& inputs) {
    runtime::LoadOptions load;
    load.cache_dir = options_.cache_dir;
    load.cancel = options_.cancel;
    Result<Placement> placement = place(bundle, options_.device, load);
    if (!placement) return placement.diags();
    if (placement->schedule != bundle.plan.schedule)
      return error(options_.device + " does not run steps side by side",
                   "`assay devices` says which devices have queues of units");
    Prepared out{{}, std::move(bundle), std::move(*placement)};
    out.row.predicted = out.bundle.total.seconds;
    if (Diags failed = write_inputs(out.placement, out.bundle, inputs); !failed.empty())
      return failed;
    const auto once =
        out.placement.module->run(out.placement.launches, out.options(1, options_.cancel));
    if (!once) return once.diags();
    out.runs = static_cast<int>(
        std::clamp(kSampleSeconds / once->total[0], 1.0, static_cast<double>(kMostRuns)));
    return out;
  }

  static Values outputs_of(const Prepared& p) {
    Values out;
    for (const ir::PlanTensor& t : p.bundle.plan.tensors)
      if (t.kind == ir::TensorKind::output) out.push_back(read_tensor(p.placement, t));
    return out;
  }

  const hwdesc::Profile& profile_;
  const SchedulesOptions& options_;
};

}  // namespace

SchedulesScore score_of(const SchedulesValidation& v) {
  SchedulesScore out;
  std::vector<double> errors, gains, ranks;
  std::map<std::string, std::array<std::vector<double>, 2>> times;  // predicted, measured
  for (const ScheduleRow& r : v.rows) {
    ++out.schedules;
    out.wrong += r.wrong ? 1 : 0;
    errors.push_back(std::abs(r.predicted / r.measured - 1));
    out.within += errors.back() <= kWithin ? 1 : 0;
    times[r.model][0].push_back(r.predicted);
    times[r.model][1].push_back(r.measured);
    if (times[r.model][1].size() == 2) gains.push_back(times[r.model][1][0] / times[r.model][1][1]);
  }
  out.within /= std::max(1, out.schedules);
  out.median_error = median(errors).value_or(0);
  for (const auto& [model, of] : times)
    if (const auto rank = spearman(of[0], of[1])) ranks.push_back(*rank);
  out.spearman = mean(ranks);
  out.in_turn_over_chosen = geometric_mean(gains);
  return out;
}

Json to_json(const SchedulesValidation& v, const SchedulesScore& s) {
  Json rows = Json::array();
  for (const ScheduleRow& r : v.rows)
    rows.push_back({{"model", r.model},
                    {"schedule", r.schedule},
                    {"predicted_s", r.predicted},
                    {"measured_s", r.measured},
                    {"wrong", r.wrong}});
  return {
      {"profile", v.profile},
      {"device", v.device},
      {"schedules", s.schedules},
      {"wrong", s.wrong},
      {"median_error", s.median_error},
      {"within", s.within},
      {"spearman", s.spearman ? Json(*s.spearman) : Json(nullptr)},
      {"in_turn_over_chosen", s.in_turn_over_chosen ? Json(*s.in_turn_over_chosen) : Json(nullptr)},
      {"rows", rows}};
}

std::string print_csv(const SchedulesValidation& v) {
  std::string out = "model,schedule,predicted_s,measured_s,wrong\n";
  for (const ScheduleRow& r : v.rows)
    out += fmt::format("{},{},{:.6g},{:.6g},{}\n", r.model, r.schedule, r.predicted, r.measured,
                       r.wrong ? 1 : 0);
  return out;
}

Result<SchedulesValidation> validate_schedules(const std::vector<std::string>& models,
                                               const hwdesc::Profile& profile,
                                               const SchedulesOptions& options) {
  Bench bench(profile, options);
  SchedulesValidation out{profile.name, options.device, {}};
  for (size_t i = 0; i < models.size(); ++i) {
    report(options.progress, static_cast<int64_t>(i), static_cast<int64_t>(models.size()),
           models[i]);
    const Diags failed = bench.measure(models[i], out.rows);
    if (cancelled(options.cancel)) {
      out.whole = false;
      break;
    }
    if (!failed.empty()) return failed;
  }
  return out;
}

}  // namespace assay::toolkit
