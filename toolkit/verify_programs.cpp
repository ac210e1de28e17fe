#include "toolkit/verify_programs.h"

#include <algorithm>
#include <cstring>

#include "ir/producers.h"
#include "toolkit/compile.h"
#include "toolkit/packing.h"
#include "toolkit/placement.h"
#include "toolkit/profiles.h"
#include "toolkit/transfers.h"

namespace assay::toolkit {
namespace {

// The program's graph with every operand an input, in the order of the kernel's arguments.
ir::Graph open_graph(const ir::Program& p) {
  ir::Graph g = ir::whole_graph(p);
  g.inputs = ir::arguments_of(p);
  g.inputs.resize(g.inputs.size() -
                  g.outputs.size());  // outputs come last, the program's own behind
  std::rotate(g.outputs.begin(), g.outputs.begin() + 1, g.outputs.end());
  g.constants.clear();
  for (ir::Tensor& t : g.tensors) t.constant = -1;
  return g;
}

std::vector<std::byte> not_a_number(size_t bytes) {
  return std::vector<std::byte>(bytes, std::byte{0xFF});  // in every type of real numbers
}

struct Operands {
  runtime::Launch launch;
  const ir::Program& program;
  runtime::Module& module;

  Diags add(int tensor, const std::vector<float>* values) {
    const ir::Tensor& t = program.graph.tensors[static_cast<size_t>(tensor)];
    const ir::Layout& layout = program.layouts[static_cast<size_t>(tensor)];
    const auto size =
        static_cast<size_t>(ir::physical_elements(layout, t.shape) * ir::bytes_of(t.dtype));
    const Result<int> buffer = module.allocate(static_cast<int64_t>(size));
    if (!buffer) return buffer.diags();
    launch.arguments.push_back({*buffer, 0});
    module.write({*buffer, 0}, values == nullptr ? not_a_number(size)
                                                 : pack(bytes_from_floats(t.dtype, *values),
                                                        t.dtype, t.shape, layout));
    return {};
  }

  // The argument of this number.
  std::vector<float> output(size_t argument, int id) const {
    const ir::Tensor& t = program.graph.tensors[static_cast<size_t>(id)];
    const ir::Layout& layout = program.layouts[static_cast<size_t>(id)];
    std::vector<std::byte> raw(
        static_cast<size_t>(ir::physical_elements(layout, t.shape) * ir::bytes_of(t.dtype)));
    module.read(launch.arguments[argument], raw);
    return floats_from_bytes(t.dtype, unpack(raw, ir::bytes_of(t.dtype), t.shape, layout));
  }
};

Result<Verdict> judge(const ir::Graph& graph, const Values& inputs,
                      std::vector<std::vector<float>> found) {
  Result<std::vector<std::vector<double>>> all = ir::evaluate(graph, inputs);
  if (!all) return all.diags();
  const Result<std::vector<std::vector<double>>> bound = bounds_of(graph, inputs);
  if (!bound) return bound.diags();
  Verdict v = compare(found, outputs_of(graph, std::move(*all)), *bound, whole_model_limit(graph));
  v.against = "float64 evaluation";
  return v;
}

Result<Verdict> verify_one(const ir::Program& p, int kernel, runtime::Module& module,
                           const CancelToken* cancel) {
  const ir::Graph graph = open_graph(p);
  Values inputs = generate_inputs(graph, static_cast<uint64_t>(kernel));
  Operands operands{{kernel, {}, {}}, p, module};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Diags failed = operands.add(graph.inputs[i], &inputs[i]);
    if (!failed.empty()) return failed;
  }
  for (const int output : graph.outputs) {
    const Diags failed = operands.add(output, nullptr);
    if (!failed.empty()) return failed;
  }
  const auto ran = module.run(std::span(&operands.launch, 1), {1, 0, cancel});
  if (!ran) return ran.diags();
  std::vector<std::vector<float>> found;
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    found.push_back(operands.output(inputs.size() + i, graph.outputs[i]));
  return judge(graph, inputs, std::move(found));
}

Result<Placement> placed(const Bundle& bundle, const RunOptions& options) {
  runtime::LoadOptions load;
  load.cache_dir = options.cache_dir;
  load.cancel = options.cancel;
  load.guarded = true;
  return place(bundle, options.device, load);
}

Result<Verdict> check_step(const Bundle& bundle, const Placement& placement, size_t step,
                           const CancelToken* cancel) {
  const ir::Step& s = bundle.plan.steps[step];
  const ir::Program& program = bundle.plan.programs[static_cast<size_t>(s.program)];
  const std::vector<int> wanted = ir::arguments_of(program);
  const auto tensor = [&](size_t argument) {
    ir::PlanTensor t = bundle.plan.tensors[static_cast<size_t>(s.arguments[argument])];
    if (s.begins.empty()) return t;
    const auto w = static_cast<size_t>(wanted[argument]);
    t.offset = ir::bytes_of_argument(bundle.plan, s, argument).first;
    t.shape = program.graph.tensors[w].shape;
    t.layout = program.layouts[w];
    return t;
  };
  const ir::Graph graph = open_graph(program);
  Values inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    inputs.push_back(read_tensor(placement, tensor(i)));
  runtime::Launch launch = placement.launches[step];
  launch.needed_if.reset();  // also where its values do not matter
  const auto ran = placement.module->run(std::span(&launch, 1), {1, 0, cancel});
  if (!ran) return ran.diags();
  std::vector<std::vector<float>> found;
  for (size_t i = inputs.size(); i < s.arguments.size(); ++i)
    found.push_back(read_tensor(placement, tensor(i)));
  return judge(graph, inputs, std::move(found));
}

}  // namespace

Result<Verdict> check_steps(const Bundle& bundle, const Values& inputs, const Values& outputs,
                            const RunOptions& options) {
  const Result<Verdict> whole = check_outputs(bundle.graph, inputs, outputs, kRoundingModelLimit);
  if (!whole || !whole->verified) return whole;
  const Result<Placement> placement = placed(bundle, options);
  if (!placement) return placement.diags();
  if (const Diags failed = write_inputs(*placement, bundle, inputs); !failed.empty()) return failed;
  Verdict all;
  all.verified = all.bounded = true;
  all.max_relative_error = whole->max_relative_error;
  all.against = "float64 evaluation of each step";
  const auto count = static_cast<int64_t>(bundle.plan.steps.size());
  for (int64_t i = 0; i < count; ++i) {
    const std::string& name = ir::display_name(bundle.plan.steps[static_cast<size_t>(i)]);
    report(options.progress, i, count, "checking " + name);
    if (cancelled(options.cancel)) return error("cancelled");
    const auto [first, last] = ir::transfers_before(bundle.plan, static_cast<size_t>(i));
    for (size_t t = first; t < last; ++t)
      transfer(*placement, bundle.plan, bundle.plan.transfers[t]);
    const Result<Verdict> v =
        check_step(bundle, *placement, static_cast<size_t>(i), options.cancel);
    if (!v) return v.diags();
    if (all.verified && !v->verified) all.where = name;
    all.verified = all.verified && v->verified;
    all.bounded = all.bounded && v->bounded;
    all.values += v->values;
    all.wrong += v->wrong;
  }
  return all;
}

Result<std::vector<ProgramVerdict>> verify_programs(const Bundle& bundle,
                                                    const RunOptions& options) {
  Result<Placement> placement = placed(bundle, options);
  if (!placement) return placement.diags();
  std::vector<ProgramVerdict> out;
  const auto count = static_cast<int64_t>(bundle.plan.programs.size());
  for (int64_t i = 0; i < count; ++i) {
    const ir::Program& p = bundle.plan.programs[static_cast<size_t>(i)];
    report(options.progress, i, count, "checking " + p.name);
    if (cancelled(options.cancel)) return error("cancelled");
    Result<Verdict> v = verify_one(p, static_cast<int>(i), *placement->module, options.cancel);
    if (!v) return v.diags();
    out.push_back({p.name, std::move(*v)});
  }
  return out;
}

}  // namespace assay::toolkit
