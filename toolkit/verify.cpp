#include "toolkit/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/computed_type.h"
#include "ir/element.h"
#include "toolkit/magnitude.h"

namespace assay::toolkit {
namespace {

using Wide = std::vector<std::vector<double>>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kStepOf8Bits = 0x1p-8;  // of the range
constexpr double kSmallestNormal = 0x1p-126;
constexpr double kOverflow = 0x1p128 - 0x1p103;  // from here on f32 rounds to infinity

// A number as f32 with denormals flushed would hold it, but not rounded.
double in_range(double v) {
  if (std::abs(v) < kSmallestNormal) return 0;
  return std::abs(v) >= kOverflow ? std::copysign(kInfinity, v) : v;
}

// Of a type that loads and stores convert: the unit roundoff, half of the least number, from where
// on numbers are rounded to infinity, and where they saturate.
struct Stored {
  double roundoff = 0, least = 0, overflow = kInfinity, largest = kInfinity;
};
Stored stored_as(ir::DType t) {
  if (t == ir::DType::f16) return {0x1p-11, 0x1p-25, 65520};
  if (t == ir::DType::bf16) return {0x1p-8, 0x1p-134, 0x1p128 - 0x1p119};
  if (t == ir::DType::f8e4m3) return {0x1p-4, 0x1p-10, kInfinity, 448};
  if (t == ir::DType::f8e5m2) return {0x1p-3, 0x1p-17, kInfinity, 57344};
  return {};
}

// Of the results that the graph's nodes store: how many, and the largest roundoff and least number.
struct Roundings {
  double count = 0;
  Stored worst;
};
Roundings roundings_of(const ir::Graph& graph) {
  Roundings out;
  for (const ir::Node& n : graph.nodes) {
    const Stored s = stored_as(graph.tensors[static_cast<size_t>(n.output)].dtype);
    if (s.roundoff <= 0) continue;
    ++out.count;
    out.worst.roundoff = std::max(out.worst.roundoff, s.roundoff);
    out.worst.least = std::max(out.worst.least, s.least);
  }
  return out;
}

double difference_of(float found, double reference) {
  const double a = in_range(static_cast<double>(found)), b = in_range(reference);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? 0 : kInfinity;
  return a == b ? 0 : std::abs(a - b);  // inf - inf would be NaN
}

double relative_error(const std::vector<float>& found, const std::vector<double>& reference) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    error = std::max(error, difference_of(found[i], reference[i]));
    const double size = std::abs(in_range(reference[i]));
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return largest > 0 ? error / largest : error;
}

int64_t wrong_values(const std::vector<float>& found, const std::vector<double>& reference,
                     const std::vector<double>* bound) {
  int64_t wrong = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double limit = bound != nullptr ? (*bound)[i] : std::numeric_limits<double>::max();
    if (!(difference_of(found[i], reference[i]) <= limit)) ++wrong;
  }
  return wrong;
}

}  // namespace

Wide outputs_of(const ir::Graph& graph, Wide all) {
  Wide out;
  for (const int id : graph.outputs) {
    out.push_back(std::move(all[static_cast<size_t>(id)]));
    const ir::DType type = graph.tensors[static_cast<size_t>(id)].dtype;
    if (ir::is_whole(type))  // as values of f32
      for (double& v : out.back()) v = static_cast<double>(static_cast<float>(v));
    const Stored stored = stored_as(type);
    for (double& v : out.back()) {
      if (std::abs(v) >= stored.overflow) v = std::copysign(kInfinity, v);
      if (std::abs(v) > stored.largest) v = std::copysign(stored.largest, v);
    }
  }
  return out;
}

bool has_steps_inside(const ir::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node& n) {
    return ir::computed_in(graph, n) != ir::DType::i32 &&
           ir::is_whole(graph.tensors[static_cast<size_t>(n.output)].dtype);
  });
}

double whole_model_limit(const ir::Graph& graph) {
  const double step = has_steps_inside(graph) ? kStepOf8Bits : 0;
  return std::max(kWholeModelLimit,
                  kRoundingsOfModel * std::max(step, roundings_of(graph).worst.roundoff));
}

namespace {

// Of outputs that are whole numbers: how far the numbers on both sides of the error bound are from
// the reference.
Result<Wide> near_ties(const ir::Graph& graph, const Values& inputs, Wide bound) {
  const auto is_whole = [&](int id) {
    return ir::is_whole(graph.tensors[static_cast<size_t>(id)].dtype);
  };
  if (std::none_of(graph.outputs.begin(), graph.outputs.end(), is_whole)) return bound;
  const std::optional<ir::Graph> plain = unrounded_graph(graph);
  ASSAY_CHECK(plain.has_value());  // there is a magnitude graph
  const Result<Wide> exact = ir::evaluate(*plain, inputs), reference = ir::evaluate(graph, inputs);
  if (!exact) return exact.diags();
  if (!reference) return reference.diags();
  for (size_t i = 0; i < bound.size(); ++i) {
    const auto id = static_cast<size_t>(graph.outputs[i]);
    const ir::DType type = graph.tensors[id].dtype;
    if (!ir::is_whole(type)) continue;
    const int producer = ir::producer_of(graph, graph.outputs[i]);
    const bool sums =
        producer >= 0 &&
        ir::computed_in(graph, graph.nodes[static_cast<size_t>(producer)]) == ir::DType::i32;
    for (size_t j = 0; j < bound[i].size(); ++j) {
      const double v = (*exact)[id][j], e = sums || producer < 0 ? 0 : bound[i][j];
      bound[i][j] = std::max(std::abs(ir::converted(type, v + e) - (*reference)[id][j]),
                             std::abs(ir::converted(type, v - e) - (*reference)[id][j]));
    }
  }
  return bound;
}

}  // namespace

Result<Wide> bounds_of(const ir::Graph& graph, const Values& inputs) {
  const std::optional<ir::Graph> magnitudes = magnitude_graph(graph);
  if (!magnitudes) return Wide();
  Result<Wide> all = ir::evaluate(*magnitudes, magnitudes_of(graph, inputs));
  if (!all) return all;
  Wide out = outputs_of(graph, std::move(*all));
  const Roundings stored = roundings_of(graph);
  const double terms = terms_of(graph),
               factor = 4 * terms * std::numeric_limits<float>::epsilon() +
                        stored.count * stored.worst.roundoff,
               least = terms * kSmallestNormal + stored.count * stored.worst.least;
  for (std::vector<double>& values : out)
    for (double& v : values) v = std::min(v * factor, std::numeric_limits<double>::max()) + least;
  return near_ties(graph, inputs, std::move(out));
}

Verdict compare(const Values& found, const Wide& reference, const Wide& bound, double limit) {
  Verdict v;
  v.bounded = !bound.empty();
  for (size_t t = 0; t < reference.size(); ++t) {
    ASSAY_CHECK(found[t].size() == reference[t].size());
    v.values += static_cast<int64_t>(reference[t].size());
    v.wrong += wrong_values(found[t], reference[t], v.bounded ? &bound[t] : nullptr);
    const double e = relative_error(found[t], reference[t]);
    v.max_relative_error = std::max(v.max_relative_error, e);
  }
  v.verified = v.wrong == 0 && (v.bounded || v.max_relative_error < limit);
  return v;
}

Result<Verdict> check_outputs(const ir::Graph& graph, const Values& inputs, const Values& outputs,
                              std::optional<double> limit) {
  Result<Wide> all = ir::evaluate(graph, inputs);
  if (!all) return all.diags();
  Wide bound;
  if (graph.nodes.size() == 1) {
    Result<Wide> bounds = bounds_of(graph, inputs);
    if (!bounds) return bounds.diags();
    bound = std::move(*bounds);
  }
  Verdict v = compare(outputs, outputs_of(graph, std::move(*all)), bound,
                      limit.value_or(whole_model_limit(graph)));
  v.against = "float64 evaluation";
  return v;
}

Result<Verdict> check_reference(const ir::Graph& graph, const std::string& path,
                                const Values& outputs) {
  const Result<Values> reference = read_outputs(graph, path);
  if (!reference) return reference.diags();
  Wide wide;
  for (const std::vector<float>& values : *reference)
    wide.emplace_back(values.begin(), values.end());
  Verdict v = compare(outputs, wide, {}, whole_model_limit(graph));
  v.against = path;
  return v;
}

}  // namespace assay::toolkit
