#include "toolkit/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "toolkit/magnitude.h"

namespace assay::toolkit {
namespace {

using Wide = std::vector<std::vector<double>>;

Wide outputs_of(const ir::Graph& graph, Wide all) {
  Wide out;
  for (int id : graph.outputs) out.push_back(std::move(all[static_cast<size_t>(id)]));
  return out;
}

// Where the reference is undefined (the root of a negative sum), only NaN is correct.
bool both_undefined(float found, double reference) {
  return std::isnan(found) && std::isnan(reference);
}

double relative_error(const std::vector<float>& found, const std::vector<double>& reference) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    if (both_undefined(found[i], reference[i])) continue;
    const double difference = std::abs(static_cast<double>(found[i]) - reference[i]);
    error = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                   : std::max(error, difference);
    largest = std::max(largest, std::abs(reference[i]));
  }
  return largest > 0 ? error / largest : error;
}

int64_t wrong_values(const std::vector<float>& found, const std::vector<double>& reference,
                     const std::vector<double>* bound) {
  int64_t wrong = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double difference = std::abs(static_cast<double>(found[i]) - reference[i]);
    const double limit = bound != nullptr ? (*bound)[i] : std::numeric_limits<double>::max();
    if (!(difference <= limit) && !both_undefined(found[i], reference[i])) ++wrong;
  }
  return wrong;
}

}  // namespace

Result<Wide> bounds_of(const ir::Graph& graph, Values inputs) {
  const std::optional<ir::Graph> magnitudes = magnitude_graph(graph);
  if (!magnitudes) return Wide();
  for (std::vector<float>& values : inputs)
    for (float& v : values) v = std::abs(v);
  Result<Wide> all = ir::evaluate(*magnitudes, inputs);
  if (!all) return all;
  Wide out = outputs_of(graph, std::move(*all));
  const double factor = 4 * terms_of(graph) * std::numeric_limits<float>::epsilon();
  for (std::vector<double>& values : out)
    for (double& v : values) v *= factor;
  return out;
}

Verdict compare(const Values& found, const Wide& reference, const Wide& bound) {
  Verdict v;
  v.bounded = !bound.empty();
  for (size_t t = 0; t < reference.size(); ++t) {
    ASSAY_CHECK(found[t].size() == reference[t].size());
    v.values += static_cast<int64_t>(reference[t].size());
    v.wrong += wrong_values(found[t], reference[t], v.bounded ? &bound[t] : nullptr);
    const double e = relative_error(found[t], reference[t]);
    v.max_relative_error = std::max(v.max_relative_error, e);
  }
  v.verified = v.wrong == 0 && (v.bounded || v.max_relative_error < kWholeModelLimit);
  return v;
}

Result<Verdict> check_outputs(const ir::Graph& graph, const Values& inputs, const Values& outputs) {
  Result<Wide> all = ir::evaluate(graph, inputs);
  if (!all) return all.diags();
  Wide bound;
  if (graph.nodes.size() == 1) {
    Result<Wide> bounds = bounds_of(graph, inputs);
    if (!bounds) return bounds.diags();
    bound = std::move(*bounds);
  }
  Verdict v = compare(outputs, outputs_of(graph, std::move(*all)), bound);
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
  Verdict v = compare(outputs, wide, {});
  v.against = path;
  return v;
}

}  // namespace assay::toolkit
