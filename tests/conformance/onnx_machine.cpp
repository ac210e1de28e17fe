#include "tests/conformance/onnx_machine.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "compiler/compile.h"
#include "tests/conformance/conformance_device.h"
#include "toolkit/compile.h"
#include "toolkit/packing.h"

namespace assay::test {
namespace {

struct Compiled {
  compiler::Compiled made;
  int first_kernel = 0;  // position of its first program in the module
};

// Buffers of one case: an arena of NaN, with zeros where required, and the weights.
struct Buffers {
  int arena = -1, weights = -1;
};

class Runner {  // invariant: module_ holds the kernels of all cases, in their order
 public:
  Diags build(runtime::Device& device, const hwdesc::Target& target, std::span<MachineCase> cases) {
    Diags faults;
    std::vector<ir::Kernel> kernels;
    for (const MachineCase& c : cases) {
      compiled_.emplace_back();
      auto made = compiler::compile(*c.graph, target, {});
      auto lowered = made.ok() ? toolkit::lower_plan(made->plan, target)
                               : Result<std::vector<ir::Kernel>>(made.diags());
      if (!lowered.ok()) {
        faults.push_back(error(c.name + ": " + render(lowered.diags())));
        continue;
      }
      compiled_.back() = {std::move(*made), static_cast<int>(kernels.size())};
      kernels.insert(kernels.end(), lowered->begin(), lowered->end());
    }
    runtime::LoadOptions options;
    options.guarded = true;
    auto module = device.load(kernels, target, options);
    if (!module.ok())
      faults.insert(faults.end(), module.diags().begin(), module.diags().end());
    else
      module_ = std::move(*module);
    return faults;
  }

  Diags run(size_t i, MachineCase& c) {
    const compiler::Compiled& made = compiled_[i].made;
    const ir::Plan& plan = made.plan;
    if (plan.steps.empty()) return {};  // reported by build
    Buffers buffers;
    const auto arena = module_->allocate(std::max<int64_t>(plan.arena_bytes, 1));
    const auto weights = module_->allocate(std::max<int64_t>(plan.weights_bytes, 1));
    if (!arena.ok() || !weights.ok()) return {error(c.name + ": out of memory")};
    buffers = {*arena, *weights};
    for (size_t t = 0; t < plan.tensors.size(); ++t)
      if (plan.tensors[t].kind == ir::TensorKind::constant)
        write(buffers, plan.tensors[t], made.constants[t].bytes);
    for (MachineRun& run : c.runs)
      if (Diags faults = run_once(plan, compiled_[i].first_kernel, buffers, *c.graph, run);
          has_error(faults)) {
        faults.push_back(error(c.name + ": this case"));
        return faults;
      }
    return {};
  }

 private:
  static const ir::PlanTensor& tensor_of(const ir::Plan& plan, const ir::Graph& g, int id,
                                         ir::TensorKind kind) {
    const std::string& name = g.tensors[static_cast<size_t>(id)].name;
    const auto found =
        std::find_if(plan.tensors.begin(), plan.tensors.end(),
                     [&](const ir::PlanTensor& t) { return t.name == name && t.kind == kind; });
    if (found == plan.tensors.end()) throw std::runtime_error("the plan has no tensor " + name);
    return *found;
  }

  void write(const Buffers& b, const ir::PlanTensor& t, std::span<const std::byte> logical) {
    const int buffer = t.kind == ir::TensorKind::constant ? b.weights : b.arena;
    module_->write({buffer, t.offset}, toolkit::pack(logical, t.dtype, t.shape, t.layout));
  }

  void poison(const ir::Plan& plan, const Buffers& b) {
    const std::vector<float> nans(static_cast<size_t>(plan.arena_bytes) / sizeof(float),
                                  std::numeric_limits<float>::quiet_NaN());
    module_->write({b.arena, 0}, std::as_bytes(std::span(nans)));
    for (const ir::PlanTensor& t : plan.tensors)
      if (t.cleared && t.kind != ir::TensorKind::constant)
        module_->write({b.arena, t.offset}, toolkit::padding(t.dtype, t.shape, t.layout));
  }

  Diags run_once(const ir::Plan& plan, int first_kernel, const Buffers& b, const ir::Graph& g,
                 MachineRun& run) {
    poison(plan, b);
    for (size_t i = 0; i < g.inputs.size(); ++i)
      if (const auto input = input_of(plan, g, g.inputs[i]); input != nullptr)
        write(b, *input, toolkit::bytes_from_floats(input->dtype, run.inputs[i]));
    std::vector<runtime::Launch> launches;
    for (const ir::Step& step : plan.steps) {
      launches.push_back({first_kernel + step.program, {}, {}});
      for (size_t a = 0; a < step.arguments.size(); ++a) {
        const ir::PlanTensor& t = plan.tensors[static_cast<size_t>(step.arguments[a])];
        launches.back().arguments.push_back(
            {t.kind == ir::TensorKind::constant ? b.weights : b.arena,
             ir::bytes_of_argument(plan, step, a).first});
      }
    }
    const auto ran = module_->run(launches, {});
    if (!ran.ok()) return ran.diags();
    for (int id : g.outputs) {
      const ir::PlanTensor& t = tensor_of(plan, g, id, ir::TensorKind::output);
      std::vector<std::byte> physical(
          static_cast<size_t>(ir::physical_elements(t.layout, t.shape) * ir::bytes_of(t.dtype)));
      module_->read({b.arena, t.offset}, physical);
      const auto logical = toolkit::unpack(physical, ir::bytes_of(t.dtype), t.shape, t.layout);
      const std::vector<float> values = toolkit::floats_from_bytes(t.dtype, logical);
      run.outputs.emplace_back(values.begin(), values.end());
    }
    return {};
  }

  // Inputs that nothing reads need not be in the plan.
  static const ir::PlanTensor* input_of(const ir::Plan& plan, const ir::Graph& g, int id) {
    for (const ir::PlanTensor& t : plan.tensors)
      if (t.kind == ir::TensorKind::input && t.name == g.tensors[static_cast<size_t>(id)].name)
        return &t;
    return nullptr;
  }

  std::unique_ptr<runtime::Module> module_;
  std::vector<Compiled> compiled_;
};

}  // namespace

Diags run_in_machine_code(runtime::Device& device, std::span<MachineCase> cases) {
  const auto target = target_for(device.info().api);
  if (!target) return target.diags();
  Diags faults;
  for (size_t begin = 0; begin < cases.size(); begin += kBatch) {
    const auto batch = cases.subspan(begin, std::min(kBatch, cases.size() - begin));
    Runner runner;
    Diags failed = runner.build(device, *target, batch);
    for (size_t i = 0; i < batch.size() && !has_error(failed); ++i) {
      failed = runner.run(i, batch[i]);
      if (render(failed).find("a loop ended before its last iteration") != std::string::npos)
        batch[i].ended_early = render(std::exchange(failed, {}));
    }
    faults.insert(faults.end(), failed.begin(), failed.end());
  }
  return faults;
}

}  // namespace assay::test
