#include "toolkit/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "ir/element.h"
#include "support/files/files.h"
#include "toolkit/counter_rng.h"
#include "toolkit/input_ranges.h"
#include "toolkit/packing.h"
#include "toolkit/placement.h"
#include "toolkit/profile_rates.h"
#include "toolkit/profiles.h"
#include "toolkit/statistics.h"
#include "toolkit/transfers.h"

namespace assay::toolkit {
namespace {

const ir::Tensor& tensor_of(const ir::Graph& graph, int id) {
  return graph.tensors[static_cast<size_t>(id)];
}

Result<Values> read_values(const ir::Graph& graph, const std::vector<int>& tensors,
                           const std::string& path, const char* what) {
  const Result<std::vector<std::byte>> bytes = read_bytes(path);
  if (!bytes) return bytes.diags();
  int64_t expected = 0;
  for (int id : tensors) expected += ir::elements(tensor_of(graph, id)) * int64_t{sizeof(float)};
  if (static_cast<int64_t>(bytes->size()) != expected) {
    Diag d = error("holds " + std::to_string(bytes->size()) + " bytes, the " + what + " of " +
                       graph.name + " are " + std::to_string(expected),
                   "raw little-endian float32, one tensor after the other");
    d.file = path;
    return d;
  }
  Values out;
  size_t at = 0;
  for (int id : tensors) {
    const size_t size = static_cast<size_t>(ir::elements(tensor_of(graph, id))) * sizeof(float);
    out.push_back(floats_from_bytes(ir::DType::f32, std::span(*bytes).subspan(at, size)));
    at += size;
  }
  return out;
}

// As a device stores them.
void round_to(ir::DType type, std::vector<float>& values) {
  if (type == ir::DType::f32) return;
  for (float& v : values) v = static_cast<float>(ir::rounded(type, static_cast<double>(v)));
}

// The plan's tensors that stand for the graph's inputs (outputs), by name.
Result<std::vector<int>> plan_tensors(const Bundle& bundle, const std::vector<int>& graph_ids,
                                      ir::TensorKind kind) {
  std::vector<int> out;
  for (int id : graph_ids) {
    const ir::Tensor& wanted = tensor_of(bundle.graph, id);
    const auto& all = bundle.plan.tensors;
    const auto it = std::find_if(all.begin(), all.end(), [&](const ir::PlanTensor& t) {
      return t.kind == kind && t.name == wanted.name && t.shape == wanted.shape;
    });
    if (it == all.end())
      return error("the plan of " + bundle.plan.name + " has no tensor '" + wanted.name + "'");
    out.push_back(static_cast<int>(it - all.begin()));
  }
  return out;
}

struct Ends {  // plan tensors by position of Graph::inputs and outputs
  std::vector<int> inputs, outputs;
};

Result<Ends> ends_of(const Bundle& bundle) {
  Result<std::vector<int>> inputs =
      plan_tensors(bundle, bundle.graph.inputs, ir::TensorKind::input);
  if (!inputs) return inputs.diags();
  Result<std::vector<int>> outputs =
      plan_tensors(bundle, bundle.graph.outputs, ir::TensorKind::output);
  if (!outputs) return outputs.diags();
  return Ends{std::move(*inputs), std::move(*outputs)};
}

void write_ends(const Placement& p, const Bundle& bundle, const Ends& ends, const Values& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    write_tensor(p, bundle.plan.tensors[static_cast<size_t>(ends.inputs[i])], inputs[i]);
}

void take_times(const PlanTimes& plan, RunResult& out) {
  const runtime::RunTimes& times = plan.times;
  for (size_t way = 0; !plan.transfers.empty() && way < plan.transfers[0].size(); ++way) {
    std::vector<double> samples;
    for (const auto& repeat : plan.transfers) samples.push_back(repeat[way]);
    out.transfers.push_back(times_of(std::move(samples)));
  }
  for (size_t s = 0; s < times.steps[0].size(); ++s) {
    std::vector<double> samples;
    for (const std::vector<double>& repeat : times.steps) samples.push_back(repeat[s]);
    out.steps.push_back(times_of(std::move(samples)));
  }
  out.total = times_of(times.total);
  out.moved = times.moved;
  out.left_out = times.left_out;
}

// The outputs of one run on a poisoned arena.
Result<Values> outputs_of(const Placement& p, const Bundle& bundle, const Ends& ends,
                          const Values& inputs, const runtime::RunOptions& once) {
  write_ends(p, bundle, ends, inputs);
  if (once.recorded) {
    runtime::RunOptions phased = once;
    phased.phases = p.phases;
    const auto recorded = p.module->run(p.launches, phased);
    if (!recorded) return recorded.diags();
  } else {
    const auto ran = run_plan(p, bundle.plan, once);
    if (!ran) return ran.diags();
  }
  Values out;
  for (int id : ends.outputs)
    out.push_back(read_tensor(p, bundle.plan.tensors[static_cast<size_t>(id)]));
  return out;
}

Result<Times> time_recorded(const Placement& p, const Bundle& bundle, const Ends& ends,
                            const Values& inputs, const RunOptions& options,
                            const Values& expected) {
  report(options.progress, 0, 1, "running the recorded graph");
  poison_arena(p, bundle.plan);
  const Result<Values> got = outputs_of(p, bundle, ends, inputs, {1, 0, options.cancel, true});
  if (!got) return got.diags();
  for (size_t i = 0; i < got->size(); ++i)
    if (!same_bits((*got)[i], expected[i]))
      return error("output '" + bundle.plan.tensors[static_cast<size_t>(ends.outputs[i])].name +
                       "' differs when launches are recorded",
                   "a fault of the driver: leave --recorded out");
  write_ends(p, bundle, ends, inputs);
  runtime::RunOptions again{options.repeat, options.warm_up, options.cancel, true};
  again.phases = p.phases;
  const auto times = p.module->run(p.launches, again);
  if (!times) return times.diags();
  return times_of(times->total);
}

// What each unit does when, in one more run.
Diags trace(const Placement& p, const ir::Plan& plan, const RunOptions& options, RunResult& out) {
  const runtime::DeviceInfo& info = p.device->info();
  const bool launched = info.threads && p.schedule.empty();  // step by step
  if (info.scheduled_units < plan.units || !plan.transfers.empty() || launched) {
    Diag d = error(info.id + " does not say what each unit does when");
    d.severity = Severity::warning;
    out.notes.push_back(std::move(d));
    return {};
  }
  runtime::RunOptions once{1, options.warm_up, options.cancel};
  const std::vector<ir::Command> schedule = ir::schedule_of(plan);
  once.schedule = schedule;
  once.traced = true;
  once.resident = resident_of(plan);
  const auto times = p.module->run(p.launches, once);
  if (!times) return times.diags();
  out.slices = slices_of(plan, times->slices);
  return {};
}

Diag transfers_not_simulated() {
  Diag d = error("simulated chips have no copy times: transfers are not in the measured total");
  d.severity = Severity::note;
  return d;
}

Diag kept_waiting_by_others(double share) {
  Diag d = error(fmt::format("other programs kept this one waiting for {:.0f} % of the measured "
                             "time: the device itself is faster",
                             100 * share),
                 "run it again when nothing else runs");
  d.severity = Severity::warning;
  return d;
}

struct Batch {  // of timed runs
  PlanTimes times;
  double kept_waiting = 0;
  std::optional<probe::AsProbed> as_probed;
};

probe::AsProbed worse_of(const probe::AsProbed& a, const probe::AsProbed& b) {
  return {std::min(a.multiply_adds, b.multiply_adds),
          std::min(a.dirty_remote_read, b.dirty_remote_read), std::min(a.upgrade, b.upgrade),
          std::max(a.cross_die_ratio, b.cross_die_ratio)};
}

// 1: undisturbed and as probed.
double worth(const Batch& b) {
  const double waiting = probe::disturbed(b.kept_waiting) ? 1 - b.kept_waiting : 1;
  return waiting * (b.as_probed ? likeness(*b.as_probed) : 1);
}

Result<Batch> batch_of(const Placement& p, const ir::Plan& plan, const hwdesc::Target& target,
                       probe::HostState* host, const RunOptions& options) {
  Batch out;
  const auto look = [&]() -> Diags {
    if (host == nullptr) return {};
    const Result<probe::ProfileRates> rates = unit_rates(target);
    if (!rates) return rates.diags();
    const Result<probe::AsProbed> now = as_probed(*host, *rates, options.cancel);
    if (!now) return now.diags();
    out.as_probed = out.as_probed ? worse_of(*out.as_probed, *now) : *now;
    return {};
  };
  if (Diags failed = look(); !failed.empty()) return failed;
  const probe::ContentionWatch watch;
  auto times = run_plan(p, plan, {options.repeat, options.warm_up, options.cancel});
  if (!times) return times.diags();
  if (probe::computes_here(p.device->info())) out.kept_waiting = watch.share();
  out.times = std::move(*times);
  if (Diags failed = look(); !failed.empty()) return failed;
  return out;
}

// The first undisturbed batch, or the least disturbed one when patience has run out.
Result<Batch> timed(const Placement& p, const Bundle& bundle, const RunOptions& options,
                    int& batches) {
  const Result<hwdesc::Target> target = target_of(bundle.profile, bundle.api);
  if (!target) return target.diags();
  Result<std::unique_ptr<probe::HostState>> host = std::unique_ptr<probe::HostState>();
  if (!p.device->info().simulated && probe::was_probed(*target))
    host = probe::HostState::load(*p.device, *target, options.cache_dir);
  if (!host) return host.diags();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(options.patience);
  std::optional<Batch> best;
  for (batches = 1;; ++batches) {
    report(options.progress, 0, 1,
           batches == 1
               ? "running"
               : fmt::format(
                     "running batch {}: others disturb it, or the device is not as it was probed",
                     batches));
    Result<Batch> batch = batch_of(p, bundle.plan, *target, host->get(), options);
    if (!batch) return batch;
    if (!best || worth(*batch) > worth(*best)) best = std::move(*batch);
    if (worth(*best) >= 1 || std::chrono::steady_clock::now() >= until) return std::move(*best);
  }
}

}  // namespace

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Values generate_inputs(const ir::Graph& graph, uint64_t seed) {
  const std::vector<std::optional<ir::Range>> ranges = input_ranges(graph);
  Values out;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ir::Tensor& t = tensor_of(graph, graph.inputs[i]);
    const std::string name = "input/" + t.name;
    out.push_back(
        ranges[i] ? uniform_integers(seed, name, ir::elements(t), ranges[i]->low, ranges[i]->high)
                  : uniform(seed, name, ir::elements(t)));
    round_to(t.dtype, out.back());
  }
  return out;
}

Result<Values> read_inputs(const ir::Graph& graph, const std::string& path) {
  Result<Values> out = read_values(graph, graph.inputs, path, "inputs");
  for (size_t i = 0; out.ok() && i < out->size(); ++i)
    round_to(tensor_of(graph, graph.inputs[i]).dtype, (*out)[i]);
  return out;
}

Result<Values> read_outputs(const ir::Graph& graph, const std::string& path) {
  return read_values(graph, graph.outputs, path, "outputs");
}

Diags write_inputs(const Placement& p, const Bundle& bundle, const Values& inputs) {
  const Result<Ends> ends = ends_of(bundle);
  if (!ends) return ends.diags();
  write_ends(p, bundle, *ends, inputs);
  return {};
}

Times times_of(std::vector<double> samples) {
  ASSAY_CHECK(!samples.empty());
  return {quantile_of(samples, 0.5), quantile_of(samples, 0.25), quantile_of(samples, 0.75)};
}

Result<RunResult> run_bundle(const Bundle& bundle, const Values& inputs,
                             const RunOptions& options) {
  const Result<Ends> ends = ends_of(bundle);
  if (!ends) return ends.diags();
  if (options.recorded && !bundle.plan.transfers.empty())
    return error("the plan has transfers between its steps: it can not be recorded as one launch",
                 "leave --recorded out");
  runtime::LoadOptions load;
  load.cache_dir = options.cache_dir;
  load.progress = options.progress;
  load.cancel = options.cancel;
  load.guarded = options.guarded;
  Result<Placement> placement = place(bundle, options.device, load);
  if (!placement) return placement.diags();
  RunResult out;
  out.device = placement->device->info().id + " " + placement->device->info().name;
  out.build_s = placement->module->build_seconds();
  out.notes = placement->notes;
  if (placement->device->info().simulated && !bundle.plan.transfers.empty())
    out.notes.push_back(transfers_not_simulated());
  Result<Values> outputs = outputs_of(*placement, bundle, *ends, inputs, {1, 0, options.cancel});
  if (!outputs) return outputs.diags();
  out.outputs = std::move(*outputs);
  write_ends(*placement, bundle, *ends, inputs);
  const Result<Batch> batch = timed(*placement, bundle, options, out.batches);
  if (!batch) return batch.diags();
  out.kept_waiting = batch->kept_waiting;
  out.as_probed = batch->as_probed;
  if (probe::disturbed(out.kept_waiting))
    out.notes.push_back(kept_waiting_by_others(out.kept_waiting));
  if (out.as_probed)
    for (Diag& d : differences(*out.as_probed)) out.notes.push_back(std::move(d));
  take_times(batch->times, out);
  out.phased = !placement->phases.empty();
  if (options.traced)
    if (Diags failed = trace(*placement, bundle.plan, options, out); !failed.empty()) return failed;
  if (options.recorded) {
    const auto recorded = time_recorded(*placement, bundle, *ends, inputs, options, out.outputs);
    if (!recorded) return recorded.diags();
    out.recorded = *recorded;
  }
  report(options.progress, 1, 1, "running");
  return out;
}

}  // namespace assay::toolkit
