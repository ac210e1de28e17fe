// Scan: a body once per element of its inputs along an axis.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/import/importer.h"
#include "compiler/import/indexing.h"
#include "compiler/import/trips.h"
#include "compiler/import/unroll.h"

namespace assay::import {
namespace {

// Of the inputs or of the outputs that have an axis of trips.
struct Sides {
  std::vector<size_t> axes;
  std::vector<bool> reverse;
};

Sides sides_of(const Context& c, const std::string& axes, const std::string& directions,
               const std::vector<size_t>& ranks) {
  const Shape at = c.ints_attribute(axes, Shape(ranks.size(), 0)),
              reverse = c.ints_attribute(directions, Shape(ranks.size(), 0));
  if (at.size() != ranks.size() || reverse.size() != ranks.size())
    refuse(fmt::format("{} of {} and {} of {}, expected {} of each", at.size(), axes,
                       reverse.size(), directions, ranks.size()));
  Sides sides;
  for (size_t i = 0; i < ranks.size(); ++i) {
    sides.axes.push_back(normal_axis(at[i], ranks[i]));
    sides.reverse.push_back(reverse[i] != 0);
  }
  return sides;
}

std::vector<size_t> ranks_of(const Context& c, const std::vector<int>& tensors, size_t more) {
  std::vector<size_t> ranks;
  for (const int tensor : tensors) ranks.push_back(c.shape(tensor).size() + more);
  return ranks;
}

// The extent that all inputs have along their axes.
int64_t trips_of(const Context& c, const std::vector<int>& inputs, const Sides& sides) {
  Shape extents;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_empty(c.shape(inputs[i])))
      refuse(fmt::format("input {} has no elements", c.tensor(inputs[i]).name));
    extents.push_back(c.shape(inputs[i])[sides.axes[i]]);
  }
  if (std::any_of(extents.begin(), extents.end(), [&](int64_t e) { return e != extents[0]; }))
    refuse(fmt::format("its inputs have the extents [{}] along their axes, expected one",
                       fmt::join(extents, ", ")));
  return extents[0];
}

std::vector<int> elements_of(Context& c, const std::vector<int>& from, int64_t position) {
  std::vector<int> elements;
  for (const int tensor : from) {
    if (c.shape(tensor).empty() || c.shape(tensor)[0] <= position)
      refuse(fmt::format("{} of shape [{}] has no batch {}", c.tensor(tensor).name,
                         fmt::join(c.shape(tensor), ", "), position));
    elements.push_back(element_of(c, tensor, 0, position, "batch"));
  }
  return elements;
}

// Before opset 9 sequences may be shorter than their tensor.
void check_lengths(const Context& c, int64_t batches, int64_t trips) {
  if (!c.has_input(0)) return;
  const int lengths = c.input(0);
  if (!c.is_constant(lengths) || c.integers(lengths) != Shape(static_cast<size_t>(batches), trips))
    refuse(fmt::format("sequence_lens {} must be a constant of {} times {}, the extent of its "
                       "inputs",
                       c.tensor(lengths).name, batches, trips),
           "the values of a longer tensor's rest are not defined");
}

}  // namespace

// All trips on the states and inputs: the last states, then the gathered outputs.
std::vector<int> Importer::scan(Trips& trips, std::vector<int> states,
                                const std::vector<int>& inputs, const std::string& directions) {
  const Sides from = sides_of(c_, "scan_input_axes", directions, ranks_of(c_, inputs, 0));
  const int64_t count = trips_of(c_, inputs, from);
  std::vector<std::vector<int>> gathered(
      trips.check_counts(states.size() + inputs.size(), states.size()));
  for (int64_t t = 0; t < count; ++t) {
    std::vector<int> values = states;
    for (size_t i = 0; i < inputs.size(); ++i)
      values.push_back(
          element_of(c_, inputs[i], from.axes[i], from.reverse[i] ? count - 1 - t : t, "element"));
    const std::vector<int> results = trips.add(values);
    std::copy_n(results.begin(), states.size(), states.begin());
    for (size_t i = 0; i < gathered.size(); ++i) gathered[i].push_back(results[states.size() + i]);
  }
  std::vector<int> first;
  for (const std::vector<int>& parts : gathered) first.push_back(parts[0]);
  const Sides to =
      sides_of(c_, "scan_output_axes", "scan_output_directions", ranks_of(c_, first, 1));
  for (size_t i = 0; i < gathered.size(); ++i) {
    if (to.reverse[i]) std::reverse(gathered[i].begin(), gathered[i].end());
    states.push_back(stacked_along(c_, std::move(gathered[i]), to.axes[i], "trips"));
  }
  return states;
}

// Inputs: before opset 9 the sequences' lengths, then states, then what is scanned.
void Importer::add_scan(const onnx::NodeProto& n) {
  Trips trips(*this, n);
  const bool batched = c_.opset < 9;
  const int first = batched ? 1 : 0;
  const int64_t scanned = c_.int_attribute("num_scan_inputs", 0);
  if (scanned < 1 || scanned > n.input_size() - first)
    refuse(fmt::format("num_scan_inputs is {}, it has {} inputs", scanned, n.input_size() - first));
  std::vector<int> states, inputs;
  for (int i = first; i < n.input_size(); ++i)
    (i < n.input_size() - scanned ? states : inputs).push_back(c_.input(i));
  if (!batched) {
    const std::vector<int> results = scan(trips, states, inputs, "scan_input_directions");
    for (size_t i = 0; i < results.size(); ++i) trips.bind(static_cast<int>(i), results[i]);
    return;
  }
  add_batched_scan(trips, states, inputs);
}

// Before opset 9 the first dimension of each input and output is that of batches.
void Importer::add_batched_scan(Trips& trips, const std::vector<int>& states,
                                const std::vector<int>& inputs) {
  if (c_.shape(inputs[0]).size() < 2)
    refuse(fmt::format("its input {} has the shape [{}], expected batches and trips",
                       c_.tensor(inputs[0]).name, fmt::join(c_.shape(inputs[0]), ", ")));
  const int64_t batches = c_.shape(inputs[0])[0];
  check_lengths(c_, batches, c_.shape(inputs[0])[1]);
  std::vector<std::vector<int>> results;  // by output, of each batch
  for (int64_t b = 0; b < batches; ++b) {
    const std::vector<int> own = elements_of(c_, states, b);
    const std::vector<int> made = scan(trips, own, elements_of(c_, inputs, b), "directions");
    results.resize(made.size());
    for (size_t i = 0; i < made.size(); ++i) results[i].push_back(made[i]);
  }
  for (size_t i = 0; i < results.size(); ++i)
    c_.bind(static_cast<int>(i), stacked_along(c_, results[i], 0, "batches"));
}

}  // namespace assay::import
