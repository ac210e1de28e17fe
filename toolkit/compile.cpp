#include "toolkit/compile.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "ir/computed_type.h"
#include "lower/lower.h"
#include "support/quantity.h"
#include "toolkit/devices.h"
#include "toolkit/model_type.h"
#include "toolkit/packing.h"
#include "toolkit/passed_tiles.h"
#include "toolkit/profiles.h"

namespace assay::toolkit {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<std::byte> pack_weights(const ir::Plan& plan,
                                    const std::vector<ir::Constant>& constants) {
  std::vector<std::byte> out(static_cast<size_t>(plan.weights_bytes + plan.host_weights_bytes));
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const ir::PlanTensor& t = plan.tensors[i];
    if (t.kind != ir::TensorKind::constant) continue;
    const std::vector<std::byte> packed = pack(constants[i].bytes, t.dtype, t.shape, t.layout);
    const auto at = static_cast<size_t>(t.offset + (t.host ? plan.weights_bytes : 0));
    ASSAY_CHECK(at + packed.size() <= out.size());
    std::memcpy(out.data() + at, packed.data(), packed.size());
  }
  return out;
}

// One file per kernel, for people; the runtime builds from the plan.
Result<std::vector<KernelSource>> render_sources(std::span<const ir::Kernel> kernels,
                                                 const hwdesc::Target& target) {
  const std::string& dialect_name = target.dialect.name;
  const Result<codegen::Dialect> dialect = codegen::dialect_for(target);
  if (!dialect) return dialect.diags();
  std::vector<KernelSource> out;
  for (const ir::Kernel& k : kernels) {
    Result<std::string> text =
        codegen::render(std::span(&k, 1), *dialect, hwdesc::threads_of(target));
    if (!text) return text.diags();
    out.push_back({k.name + "." + dialect_name, std::move(*text)});
  }
  return out;
}

Diag not_built(Diag why) {
  why.message = "kernels were printed, not built: " + why.message;
  why.severity = Severity::note;
  return why;
}

// Fills the cache of built kernels by loading them once on the first device that runs this api.
Diags build_kernels(Bundle& bundle, std::span<const ir::Kernel> kernels,
                    const hwdesc::Target& target, const CompileOptions& options) {
  const Result<std::string> id = first_device(target.api.name);
  if (!id) {
    bundle.notes = {not_built(id.diags().front())};
    return {};
  }
  Result<std::unique_ptr<runtime::Device>> device = open_ready(*id, target);
  if (!device) {
    bundle.notes = device.diags();
    for (Diag& d : bundle.notes) d.severity = Severity::warning;
    return {};
  }
  runtime::LoadOptions load;
  load.cache_dir = options.cache_dir;
  load.progress = options.progress;
  load.cancel = options.cancel;
  Result<std::unique_ptr<runtime::Module>> module = (*device)->load(kernels, target, load);
  if (!module) return module.diags();
  bundle.build_s = (*module)->build_seconds();
  bundle.notes = (*module)->warnings();
  return {};
}

Diags add_kernels(Bundle& bundle, const hwdesc::Target& target, const CompileOptions& options) {
  bundle.no_kernels = why_no_kernels(target);
  if (!bundle.no_kernels.empty()) {
    Diag note = error("kernels were not printed, not built: " + bundle.no_kernels);
    note.severity = Severity::note;
    bundle.notes = {note};
    return {};
  }
  const Result<std::vector<ir::Kernel>> kernels = lower_plan(bundle.plan, target);
  if (!kernels) return kernels.diags();
  Result<std::vector<KernelSource>> sources = render_sources(*kernels, target);
  if (!sources) return sources.diags();
  bundle.kernels = std::move(*sources);
  return options.build ? build_kernels(bundle, *kernels, target, options) : Diags{};
}

}  // namespace

Result<ir::Graph> operator_model(const std::string& text) {
  Result<ir::Graph> g = compiler::operator_for_kernels(text);
  if (!g) return g;
  for (const int t : g->inputs) {
    const ir::DType type = g->tensors[static_cast<size_t>(t)].dtype;
    if (type == ir::DType::f64)
      return error(fmt::format("kernels compute f32, f16, bf16, f8e4m3, f8e5m2 and i8, not {}",
                               ir::name_of(type)),
                   "`assay estimate --op '" + text + "' --software library` prices it");
  }
  return g;
}

std::vector<std::string> operator_names() { return compiler::operator_names(); }

Result<std::vector<ir::Kernel>> lower_plan(const ir::Plan& plan, const hwdesc::Target& target) {
  std::vector<ir::Kernel> kernels;
  for (const ir::Program& p : plan.programs) {
    Result<ir::Kernel> kernel = lower::lower(p, target);
    if (!kernel) return kernel.diags();
    kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

namespace {

// Everything lies in the largest memory of the device. Unknown capacity: no check.
Diags room_for(const ir::Plan& plan, const hwdesc::Profile& profile) {
  const hwdesc::MemoryLevel* largest = nullptr;
  for (const hwdesc::MemoryLevel& m : profile.memory)
    if (m.per == "device" && m.managed == hwdesc::Managed::explicit_ && m.capacity.known() &&
        (largest == nullptr || m.capacity.value->v > largest->capacity.value->v))
      largest = &m;
  const auto needed = static_cast<double>(plan.arena_bytes + plan.weights_bytes);
  if (largest == nullptr || needed <= largest->capacity.value->v) return {};
  const auto text = [](double bytes) {
    return print_quantity(std::ceil(bytes / 1024) * 1024, "", Dimension::bytes);
  };
  return {error(
      fmt::format("intermediate values and weights take {}, memory.{} of {} has {}", text(needed),
                  largest->name, profile.name, text(largest->capacity.value->v)),
      fmt::format("--memory '{}' streams what does not fit from the host",
                  text(largest->capacity.value->v)))};
}

}  // namespace

std::string why_no_kernels(const hwdesc::Target& target) {
  if (target.dialect.known) return "";
  if (target.api.name.empty()) return "the profile has no api";
  return "no dialect file '" + target.api.dialect +
         "' that prints kernels for the lanes of this chip";
}

Result<compiler::Compiled> choose_programs(const ir::Graph& graph, const hwdesc::Target& target,
                                           const CompileOptions& options) {
  compiler::Options o;
  o.keep = options.keep;
  o.fuse = options.fuse;
  o.schedule = options.schedule;
  o.memory = options.memory;
  o.cancel = options.cancel;
  o.progress = [&](int done, int total, const std::string& what) {
    report(options.progress, done, total, what);
  };
  o.each = [](size_t n, const std::function<void(size_t)>& f) {
    tbb::parallel_for(size_t{0}, n, f);
  };
  Result<compiler::Compiled> compiled = compiler::compile(graph, target, o);
  if (!compiled) return compiled;
  if (Diags diags = room_for(compiled->plan, target.profile); !diags.empty()) return diags;
  return compiled;
}

Result<Bundle> compile_bundle(ir::Graph graph, const hwdesc::Profile& profile,
                              const CompileOptions& options) {
  const Result<hwdesc::Target> target = target_of(profile, options.api);
  if (!target) return target.diags();
  Diags notes = options.type == "any" ? widen(graph, *target) : Diags{};
  const Diags sums = ir::overflow_notes(graph);
  notes.insert(notes.end(), sums.begin(), sums.end());
  const auto start = std::chrono::steady_clock::now();
  Result<compiler::Compiled> compiled = choose_programs(graph, *target, options);
  if (!compiled) return compiled.diags();
  Bundle bundle;
  bundle.plan_s = seconds_since(start);
  bundle.graph = std::move(graph);
  bundle.profile = profile;
  bundle.api = target->api.name;
  bundle.plan = std::move(compiled->plan);
  bundle.estimates = std::move(compiled->estimates);
  bundle.transfers = std::move(compiled->transfers);
  bundle.streamed = std::move(compiled->streamed);
  bundle.total = std::move(compiled->total);
  bundle.considered = std::move(compiled->considered);
  bundle.scheduled = std::move(compiled->scheduled);
  bundle.traffic = traffic_lines(compiled->traffic, compiled->separate_traffic);
  bundle.weights = pack_weights(bundle.plan, compiled->constants);
  const Diags diags = add_kernels(bundle, *target, options);
  if (!diags.empty()) return diags;
  for (Diag& d : notes_of_storage(bundle.graph, bundle.plan)) notes.push_back(std::move(d));
  bundle.notes.insert(bundle.notes.begin(), notes.begin(), notes.end());
  return bundle;
}

}  // namespace assay::toolkit
