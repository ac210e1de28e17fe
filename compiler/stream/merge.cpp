#include "compiler/stream/merge.h"

#include <algorithm>

#include "compiler/passes/place.h"
#include "support/check.h"
#include "support/hash.h"

namespace assay::compiler {

namespace {

using Way = ir::Transfer::Way;

size_t at(int i) { return static_cast<size_t>(i); }

int find(const ir::Plan& plan, const ir::Tensor& t, ir::TensorKind kind) {
  const auto found =
      std::find_if(plan.tensors.begin(), plan.tensors.end(), [&](const ir::PlanTensor& p) {
        return p.kind == kind && p.name == t.name && p.shape == t.shape && p.dtype == t.dtype;
      });
  ASSAY_CHECK(found != plan.tensors.end());
  return static_cast<int>(found - plan.tensors.begin());
}

// Of steps that use the tensor: the first one; the one behind the last that writes it.
int first_use(const ir::Plan& plan, int tensor) {
  const auto uses = [&](const ir::Step& s) {
    return std::find(s.arguments.begin(), s.arguments.end(), tensor) != s.arguments.end();
  };
  return static_cast<int>(std::find_if(plan.steps.begin(), plan.steps.end(), uses) -
                          plan.steps.begin());
}
int after_writing(const ir::Plan& plan, int tensor) {
  for (size_t s = plan.steps.size(); s > 0; --s) {
    const std::span<const int> written = ir::written_by(plan, plan.steps[s - 1]);
    if (std::find(written.begin(), written.end(), tensor) != written.end())
      return static_cast<int>(s);
  }
  return 0;
}

std::string content_of(const ir::PlanTensor& t, const ir::Constant& value) {
  std::string out = hash_hex(
      std::string_view(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()));
  out += " " + std::string(ir::name_of(t.dtype)) + " " + ir::print(t.layout);
  for (const int64_t extent : t.shape) out += " " + std::to_string(extent);
  return out;
}

// Without the number that a plan of its own gave it.
std::string name_without_number(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  return end != std::string::npos && name[end] == '_' && end + 1 < name.size() ? name.substr(0, end)
                                                                               : name;
}

}  // namespace

CompiledStrip alone(Compiled made, const ir::Graph& g, std::vector<bool> kept) {
  CompiledStrip out;
  out.kept = std::move(kept);
  for (const int t : g.inputs)
    out.inputs.push_back(find(made.plan, g.tensors[at(t)], ir::TensorKind::input));
  for (const int t : g.outputs)
    out.outputs.push_back(find(made.plan, g.tensors[at(t)], ir::TensorKind::output));
  for (ir::PlanTensor& t : made.plan.tensors)
    if (t.kind != ir::TensorKind::constant) t.kind = ir::TensorKind::temporary;
  for (size_t i = 0; i < out.inputs.size(); ++i)  // is not placed
    if (out.kept[i]) made.plan.tensors[at(out.inputs[i])].kind = ir::TensorKind::constant;
  place_arena(made.plan);
  out.made = std::move(made);
  return out;
}

MergedPlan::MergedPlan(const ir::Graph& g, int64_t memory, bool resident)
    : g_(g), resident_(resident) {
  out_.plan.name = g.name;
  out_.plan.memory = memory;
  for (const int t : g.inputs) host_tensor(t);
  for (const int t : g.outputs) host_tensor(t);
}

int MergedPlan::host_tensor(int t) {
  const auto [it, fresh] = host_.emplace(t, static_cast<int>(out_.plan.tensors.size()));
  if (!fresh) return it->second;
  const ir::Tensor& from = g_.tensors[at(t)];
  const auto among = [&](const std::vector<int>& v) {
    return std::find(v.begin(), v.end(), t) != v.end();
  };
  ir::PlanTensor made;
  made.name = from.name;
  made.dtype = from.dtype;
  made.shape = from.shape;
  made.layout = ir::row_major(static_cast<int>(from.shape.size()));
  made.kind = from.constant >= 0  ? ir::TensorKind::constant
              : among(g_.inputs)  ? ir::TensorKind::input
              : among(g_.outputs) ? ir::TensorKind::output
                                  : ir::TensorKind::temporary;
  made.host = true;
  out_.plan.tensors.push_back(std::move(made));
  out_.constants.push_back(from.constant >= 0 ? g_.constants[at(from.constant)] : ir::Constant{});
  return it->second;
}

// On the device for good; or in host memory, and for this segment in the arena.
int MergedPlan::constant(const ir::PlanTensor& t, const ir::Constant& value) {
  const std::string content = content_of(t, value);
  const auto [it, fresh] = constants_.emplace(content, static_cast<int>(out_.plan.tensors.size()));
  if (fresh) {
    out_.plan.tensors.push_back(t);
    out_.plan.tensors.back().host = !resident_;
    if (!resident_) out_.plan.tensors.back().cleared = false;
    out_.constants.push_back(value);
  }
  if (resident_) return it->second;
  return for_segment(content, t, it->second, std::vector<int64_t>(t.shape.size(), 0));
}

// In the arena beside the segment's strips, uploaded before the first one with its padding.
int MergedPlan::for_segment(const std::string& content, const ir::PlanTensor& t, int host,
                            std::vector<int64_t> begin) {
  const auto [it, fresh] = weights_.emplace(content, static_cast<int>(out_.plan.tensors.size()));
  if (!fresh) return it->second;
  out_.plan.tensors.push_back(t);
  out_.plan.tensors.back().kind = ir::TensorKind::temporary;
  out_.plan.tensors.back().cleared = false;
  out_.constants.emplace_back();
  out_.plan.transfers.push_back({Way::upload, first_step_, it->second, host, std::move(begin)});
  return it->second;
}

// All strips read the same region of it.
int MergedPlan::kept_input(const ir::PlanTensor& t, int host, const std::vector<int64_t>& begin) {
  return for_segment("tensor " + std::to_string(host) + " " + ir::print(t.layout), t, host, begin);
}

int MergedPlan::program(const ir::Program& p) {
  ir::Program made = p;
  made.name = name_without_number(p.name);
  const auto [it, fresh] =
      programs_.emplace(ir::hash_of(made), static_cast<int>(out_.plan.programs.size()));
  if (fresh) {
    made.name += "_" + std::to_string(it->second);
    out_.plan.programs.push_back(std::move(made));
  }
  return it->second;
}

const std::vector<int>& MergedPlan::tensors_of(const Strip& strip, const CompiledStrip& s) {
  const auto [it, fresh] = parts_.emplace(&s, std::vector<int>{});
  if (!fresh) return it->second;
  const ir::Plan& plan = s.made.plan;
  for (size_t t = 0; t < plan.tensors.size(); ++t) {
    const ir::PlanTensor& tensor = plan.tensors[t];
    const auto input = std::find(s.inputs.begin(), s.inputs.end(), static_cast<int>(t));
    if (input != s.inputs.end() && s.kept[static_cast<size_t>(input - s.inputs.begin())]) {
      const size_t local = at(strip.graph.inputs[static_cast<size_t>(input - s.inputs.begin())]);
      it->second.push_back(
          kept_input(tensor, host_tensor(strip.tensors[local]), strip.begins[local]));
      continue;
    }
    if (tensor.kind == ir::TensorKind::constant) {
      it->second.push_back(constant(tensor, s.made.constants[t]));
      continue;
    }
    it->second.push_back(static_cast<int>(out_.plan.tensors.size()));
    arena_.push_back(it->second.back());
    out_.plan.tensors.push_back(tensor);
    out_.constants.emplace_back();
  }
  for (const std::string& line : s.made.considered)
    if (std::find(out_.considered.begin(), out_.considered.end(), line) == out_.considered.end())
      out_.considered.push_back(line);
  strip_arena_ = std::max(strip_arena_, plan.arena_bytes);
  out_.evaluated += s.made.evaluated;
  out_.pruned += s.made.pruned;
  return it->second;
}

void MergedPlan::begin_segment() {
  weights_.clear();
  parts_.clear();
  arena_.clear();
  strip_arena_ = 0;
  first_transfer_ = out_.plan.transfers.size();
  first_step_ = static_cast<int>(out_.plan.steps.size());
  before_ = nullptr;
}

void MergedPlan::add(const Strip& strip, const CompiledStrip& made) {
  const std::vector<int>& ids = tensors_of(strip, made);
  const ir::Plan& plan = made.made.plan;
  const int first = static_cast<int>(out_.plan.steps.size());
  out_.plan.units = plan.units;
  add_transfers(strip, made, ids, first);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    ir::Step step = plan.steps[s];
    step.program = program(plan.programs[at(step.program)]);
    for (int& argument : step.arguments) argument = ids[at(argument)];
    out_.plan.steps.push_back(std::move(step));
    out_.lost.push_back(made.made.lost[s]);
  }
  before_ = &made;
}

// Before a step what is finished leaves first, since what comes may take its place.
void MergedPlan::add_transfers(const Strip& strip, const CompiledStrip& made,
                               const std::vector<int>& ids, int first_step) {
  const ir::Plan& plan = made.made.plan;
  std::vector<ir::Transfer> all;
  for (size_t i = 0; i < made.outputs.size(); ++i) {
    const size_t t = at(strip.graph.outputs[i]);
    all.push_back({Way::download, first_step + after_writing(plan, made.outputs[i]),
                   ids[at(made.outputs[i])], host_tensor(strip.tensors[t]), strip.begins[t]});
  }
  const auto is_input = [&](int t) {
    return std::find(made.inputs.begin(), made.inputs.end(), t) != made.inputs.end();
  };
  for (int t = 0; t < static_cast<int>(plan.tensors.size()); ++t)
    if (before_ != &made && plan.tensors[at(t)].cleared && !is_input(t) &&
        plan.tensors[at(t)].kind != ir::TensorKind::constant)
      all.push_back({Way::clear, first_step, ids[at(t)], -1, {}});
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    if (made.kept[i]) continue;
    const size_t t = at(strip.graph.inputs[i]);
    const int use = first_use(plan, made.inputs[i]);
    if (use == static_cast<int>(plan.steps.size())) continue;
    all.push_back({Way::upload, first_step + use, ids[at(made.inputs[i])],
                   host_tensor(strip.tensors[t]), strip.begins[t]});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const ir::Transfer& a, const ir::Transfer& b) { return a.step < b.step; });
  out_.plan.transfers.insert(out_.plan.transfers.end(), all.begin(), all.end());
}

// The segment's weights lie before its strips. Those of later strips were found last, and are
// uploaded with the first ones.
void MergedPlan::end_segment() {
  const auto from = out_.plan.transfers.begin() + static_cast<ptrdiff_t>(first_transfer_);
  std::stable_sort(from, out_.plan.transfers.end(),
                   [](const ir::Transfer& a, const ir::Transfer& b) { return a.step < b.step; });
  int64_t base = 0;
  for (const auto& [content, t] : weights_) {
    out_.plan.tensors[at(t)].offset = base;
    base += room_for(out_.plan.tensors[at(t)].bytes);
  }
  for (const int t : arena_) out_.plan.tensors[at(t)].offset += base;
  out_.plan.arena_bytes = std::max(out_.plan.arena_bytes, base + strip_arena_);
}

Compiled MergedPlan::finish() {
  place_constants(out_.plan);
  place_host(out_.plan);
  return std::move(out_);
}

}  // namespace assay::compiler
