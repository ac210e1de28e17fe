#include "toolkit/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "toolkit/compile.h"
#include "toolkit/devices.h"
#include "toolkit/packing.h"
#include "toolkit/profiles.h"

namespace assay::toolkit {
namespace {

std::vector<std::byte> nan_bytes(int64_t bytes) {
  return std::vector<std::byte>(static_cast<size_t>(bytes), std::byte{0xFF});
}

runtime::Launch launch_of(const ir::Step& step, const Bundle& bundle, const Placement& p) {
  runtime::Launch launch;
  launch.kernel = step.program;
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const ir::PlanTensor& t = bundle.plan.tensors[static_cast<size_t>(step.arguments[i])];
    launch.arguments.push_back({t.kind == ir::TensorKind::constant ? p.weights : p.arena,
                                ir::bytes_of_argument(bundle.plan, step, i).first});
  }
  if (step.needed_if) {
    const ir::PlanTensor& t = bundle.plan.tensors[static_cast<size_t>(step.needed_if->tensor)];
    launch.needed_if = {{t.kind == ir::TensorKind::constant ? p.weights : p.arena, t.offset},
                        ir::bytes_of(t.dtype),
                        step.needed_if->value};
  }
  return launch;
}

// Kernels are built from the plan. A warning says that a source was edited or is of another
// version, and is not used.
Diags compare_sources(const Bundle& bundle, std::span<const ir::Kernel> kernels,
                      const hwdesc::Target& target) {
  const std::string& dialect_name = target.dialect.name;
  const auto dialect = codegen::dialect_for(target);
  if (!dialect || bundle.kernels.size() != kernels.size()) return {};
  for (const ir::Kernel& k : kernels) {
    const Result<std::string> text =
        codegen::render(std::span(&k, 1), *dialect, hwdesc::threads_of(target));
    for (const KernelSource& source : bundle.kernels) {
      if (source.name != k.name + "." + dialect_name || !text || *text == source.text) continue;
      Diag d =
          error("kernels/" + source.name +
                " differs from what this version prints for its program, which is used instead");
      d.severity = Severity::warning;
      return {d};
    }
  }
  return {};
}

Diag in_turn(const std::string& why, const std::string& hint = "") {
  Diag d = error(why + ": steps run one after the other", hint);
  d.severity = Severity::warning;
  return d;
}

// What the device does with the plan's schedule. Errors: what it needs can not be built.
Diags take_schedule(Placement& p, const ir::Plan& plan) {
  const runtime::DeviceInfo& info = p.device->info();
  if (!plan.phases.empty()) {
    if (info.phased)
      p.phases = plan.phases;
    else
      p.notes.push_back(in_turn(info.id + " does not launch steps together"));
  }
  if (plan.schedule.empty()) return {};
  if (info.scheduled_units < plan.units) {
    p.notes.push_back(in_turn(info.scheduled_units > 0
                                  ? fmt::format("the schedule is for {} units and {} has {}",
                                                plan.units, info.id, info.scheduled_units)
                                  : info.id + " does not run steps side by side"));
    return {};
  }
  runtime::RunOptions options;
  options.schedule = plan.schedule;
  options.resident = resident_of(plan);
  const Result<runtime::Refusal> refusal = p.module->prepare(p.launches, options);
  if (!refusal) return refusal.diags();
  if (refusal->reason.empty())
    p.schedule = plan.schedule;
  else
    p.notes.push_back(in_turn(refusal->reason, refusal->hint));
  return {};
}

Diags allocate(Placement& p, const Bundle& bundle) {
  const ir::Plan& plan = bundle.plan;
  for (const auto& [bytes, buffer] :
       {std::pair{plan.arena_bytes, &p.arena}, std::pair{plan.weights_bytes, &p.weights}}) {
    if (bytes == 0) continue;
    const Result<int> made = p.module->allocate(bytes);
    if (!made) return made.diags();
    *buffer = *made;
  }
  const auto on_device = static_cast<size_t>(plan.weights_bytes);
  if (on_device > 0) p.module->write({p.weights, 0}, std::span(bundle.weights).first(on_device));
  p.host_weights.assign(bundle.weights.begin() + plan.weights_bytes, bundle.weights.end());
  Result<runtime::Memory> host = runtime::Memory::allocate(plan.host_bytes, false);
  if (!host) return host.diags();
  p.host = std::move(*host);
  poison_arena(p, bundle.plan);
  return {};
}

}  // namespace

Result<Placement> place(const Bundle& bundle, const std::string& device,
                        const runtime::LoadOptions& options) {
  if (!bundle.no_kernels.empty())
    return error("the bundle of " + bundle.plan.name + " has no kernels: " + bundle.no_kernels);
  const Result<hwdesc::Target> target = target_of(bundle.profile, bundle.api);
  if (!target) return target.diags();
  const Result<std::vector<ir::Kernel>> kernels = lower_plan(bundle.plan, *target);
  if (!kernels) return kernels.diags();
  Placement p;
  Result<std::unique_ptr<runtime::Device>> opened = open_ready(device, *target);
  if (!opened) return opened.diags();
  p.device = std::move(*opened);
  Result<std::unique_ptr<runtime::Module>> module = p.device->load(*kernels, *target, options);
  if (!module) return module.diags();
  p.module = std::move(*module);
  p.notes = p.module->warnings();
  const Diags edited = compare_sources(bundle, *kernels, *target);
  p.notes.insert(p.notes.end(), edited.begin(), edited.end());
  const Diags failed = allocate(p, bundle);
  if (!failed.empty()) return failed;
  for (const ir::Step& step : bundle.plan.steps) p.launches.push_back(launch_of(step, bundle, p));
  if (Diags unbuilt = take_schedule(p, bundle.plan); !unbuilt.empty()) return unbuilt;
  return p;
}

int resident_of(const ir::Plan& plan) { return std::max(1, plan.resident); }

void poison_arena(const Placement& p, const ir::Plan& plan) {
  std::ranges::fill(p.host.bytes(), std::byte{0xFF});
  if (p.arena < 0) return;
  p.module->write({p.arena, 0}, nan_bytes(plan.arena_bytes));
  for (const ir::PlanTensor& t : plan.tensors)
    if (t.cleared && t.kind != ir::TensorKind::constant)
      p.module->write({p.arena, t.offset}, padding(t.dtype, t.shape, t.layout));
}

std::byte* host_bytes(const Placement& p, const ir::PlanTensor& t) {
  ASSAY_CHECK(t.host);
  return (t.kind == ir::TensorKind::constant ? const_cast<std::byte*>(p.host_weights.data())
                                             : p.host.bytes().data()) +
         t.offset;
}

void write_tensor(const Placement& p, const ir::PlanTensor& t, std::span<const float> values) {
  const auto bytes = bytes_from_floats(t.dtype, values);
  if (t.host) {  // row-major
    std::memcpy(host_bytes(p, t), bytes.data(), bytes.size());
    return;
  }
  p.module->write({p.arena, t.offset}, pack(bytes, t.dtype, t.shape, t.layout));
}

std::vector<float> read_tensor(const Placement& p, const ir::PlanTensor& t) {
  const int width = ir::bytes_of(t.dtype);
  std::vector<std::byte> raw(static_cast<size_t>(ir::physical_elements(t.layout, t.shape) * width));
  if (t.host) {  // row-major
    std::memcpy(raw.data(), host_bytes(p, t), raw.size());
    return floats_from_bytes(t.dtype, raw);
  }
  p.module->read({t.kind == ir::TensorKind::constant ? p.weights : p.arena, t.offset}, raw);
  return floats_from_bytes(t.dtype, unpack(raw, width, t.shape, t.layout));
}

}  // namespace assay::toolkit
