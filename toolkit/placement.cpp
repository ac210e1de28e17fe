#include "toolkit/placement.h"

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

runtime::Launch launch_of(const ir::Step& step, const Bundle& bundle, const Placement& p,
                          int units) {
  runtime::Launch launch;
  launch.kernel = step.program;
  for (int argument : step.arguments) {
    const ir::PlanTensor& t = bundle.plan.tensors[static_cast<size_t>(argument)];
    launch.arguments.push_back(
        {t.kind == ir::TensorKind::constant ? p.weights : p.arena, t.offset});
  }
  if (units == bundle.plan.units) launch.queues = step.queues;
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

Diags allocate(Placement& p, const Bundle& bundle) {
  const Result<int> arena = p.module->allocate(std::max<int64_t>(bundle.plan.arena_bytes, 1));
  if (!arena) return arena.diags();
  const Result<int> weights = p.module->allocate(std::max<int64_t>(bundle.plan.weights_bytes, 1));
  if (!weights) return weights.diags();
  p.arena = *arena;
  p.weights = *weights;
  p.module->write({p.weights, 0}, bundle.weights);
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
  for (const ir::Step& step : bundle.plan.steps)
    p.launches.push_back(launch_of(step, bundle, p, p.device->info().units));
  return p;
}

void poison_arena(const Placement& p, const ir::Plan& plan) {
  p.module->write({p.arena, 0}, nan_bytes(plan.arena_bytes));
  for (const ir::PlanTensor& t : plan.tensors)
    if (t.cleared && t.kind != ir::TensorKind::constant)
      p.module->write({p.arena, t.offset}, padding(t.dtype, t.shape, t.layout));
}

void write_tensor(const Placement& p, const ir::PlanTensor& t, std::span<const float> values) {
  const auto bytes = bytes_from_floats(t.dtype, values);
  p.module->write({p.arena, t.offset}, pack(bytes, t.dtype, t.shape, t.layout));
}

std::vector<float> read_tensor(const Placement& p, const ir::PlanTensor& t) {
  const int width = ir::bytes_of(t.dtype);
  std::vector<std::byte> raw(static_cast<size_t>(ir::physical_elements(t.layout, t.shape) * width));
  p.module->read({t.kind == ir::TensorKind::constant ? p.weights : p.arena, t.offset}, raw);
  return floats_from_bytes(t.dtype, unpack(raw, width, t.shape, t.layout));
}

}  // namespace assay::toolkit
