#include "toolkit/model_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ir/element.h"
#include "toolkit/run.h"

namespace assay::toolkit {
namespace {

constexpr uint64_t kSeed = 1;

double relative_error(const std::vector<double>& found, const std::vector<double>& wanted) {
  double difference = 0, largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(found[i]) && std::isnan(wanted[i])) continue;
    if (found[i] != wanted[i]) {
      const double d = std::abs(found[i] - wanted[i]);
      difference =
          std::max(difference, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
    }
    if (std::isfinite(wanted[i])) largest = std::max(largest, std::abs(wanted[i]));
  }
  return largest > 0 ? difference / largest : difference;
}

}  // namespace

Result<std::vector<OutputError>> errors_of_type(const ir::Graph& exact, const ir::Graph& typed) {
  const Values inputs = generate_inputs(exact, kSeed);
  const auto wanted = ir::evaluate(exact, inputs);
  if (!wanted) return wanted.diags();
  const auto found = ir::evaluate_stored(typed, generate_inputs(typed, kSeed));
  if (!found) return found.diags();
  std::vector<OutputError> out;
  for (size_t i = 0; i < exact.outputs.size(); ++i) {
    const auto a = static_cast<size_t>(exact.outputs[i]), b = static_cast<size_t>(typed.outputs[i]);
    out.push_back({exact.tensors[a].name, relative_error((*found)[b], (*wanted)[a])});
  }
  return out;
}

Diags notes_of(const std::vector<OutputError>& errors, const std::string& type) {
  Diags out;
  for (const OutputError& e : errors) {
    Diag note = error(fmt::format("stored in {}, output {} differs by {:.2g} of its largest value",
                                  type, e.output, e.relative));
    note.severity = Severity::note;
    out.push_back(std::move(note));
  }
  return out;
}

std::string types_of(const ir::Graph& graph) {
  std::string out;
  for (const ir::DType t : {ir::DType::f8e4m3, ir::DType::f8e5m2, ir::DType::f16, ir::DType::bf16,
                            ir::DType::f32, ir::DType::f64}) {
    const auto is_one = [&](int id) { return graph.tensors[static_cast<size_t>(id)].dtype == t; };
    if (std::any_of(graph.inputs.begin(), graph.inputs.end(), is_one) ||
        std::any_of(graph.outputs.begin(), graph.outputs.end(), is_one))
      out += (out.empty() ? "" : " ") + std::string(ir::name_of(t));
  }
  return out;
}

Diags notes_of_storage(const ir::Graph& graph, const ir::Plan& plan) {
  std::map<std::string, ir::DType> narrow;  // by name
  for (const ir::Tensor& t : graph.tensors)
    if (t.dtype == ir::DType::f16 || t.dtype == ir::DType::bf16) narrow.emplace(t.name, t.dtype);
  int weights = 0, between = 0;
  std::string type;
  for (const ir::PlanTensor& t : plan.tensors) {
    const auto was = narrow.find(t.name);
    if (was == narrow.end() || t.dtype != ir::DType::f32) continue;
    ++(t.kind == ir::TensorKind::constant ? weights : between);
    type = ir::name_of(was->second);
  }
  if (weights + between == 0) return {};
  Diag note = error(
      fmt::format("stored as f32 instead of {}, which is estimated faster: {} weights, {} tensors "
                  "between operators",
                  type, weights, between));
  note.severity = Severity::note;
  return {note};
}

Diags widen(ir::Graph& graph, const hwdesc::Target& target) {
  int64_t widened = 0;
  const auto stores = [&](ir::DType t) {
    const std::vector<std::string>& all = target.dialect.dtypes;
    return t == ir::DType::f32 || !target.dialect.known ||
           ir::accumulation_of(t) != ir::DType::f32 ||
           std::find(all.begin(), all.end(), ir::name_of(t)) != all.end();
  };
  for (ir::Tensor& t : graph.tensors) {
    if (stores(t.dtype)) continue;
    if (t.constant >= 0) {
      std::vector<std::byte>& bytes = graph.constants[static_cast<size_t>(t.constant)].bytes;
      bytes = ir::bytes_of_doubles(ir::DType::f32, ir::doubles_of(t.dtype, bytes));
    }
    t.dtype = ir::DType::f32;
    ++widened;
  }
  if (widened == 0) return {};
  Diag note = error(fmt::format("{} values are stored in f32: {} kernels can not store their type",
                                widened, target.dialect.name));
  note.severity = Severity::note;
  return {note};
}

}  // namespace assay::toolkit
