#include "compiler/import/recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/import/indexing.h"
#include "compiler/import/unroll.h"

namespace assay::import {

using ir::number;
using ir::Scalar;

namespace {

// Inputs by position. LSTM alone has the last two.
enum Input { kX, kW, kR, kBias, kLengths, kHidden0, kCell0, kPeepholes };

// Whether each direction goes from the end.
std::vector<bool> directions_of(const Context& c) {
  const std::string direction = c.string_attribute("direction", "forward");
  if (direction == "forward") return {false};
  if (direction == "reverse") return {true};
  if (direction == "bidirectional") return {false, true};
  refuse(fmt::format("direction {} is not known", direction),
         "there are forward, reverse and bidirectional");
}

void expect_shape(const Context& c, int tensor, std::string_view name, const Shape& wanted) {
  if (tensor >= 0 && c.shape(tensor) != wanted)
    refuse(fmt::format("{} has the shape [{}], expected [{}]", name,
                       fmt::join(c.shape(tensor), ", "), fmt::join(wanted, ", ")));
}

// Extents, which x and R give, and the attributes that all directions share.
Recurrence read_extents(const Context& c, const Cell& cell) {
  const Shape x = c.shape(c.input(kX)), recurrent = c.shape(c.input(kR));
  if (x.size() != 3 || recurrent.size() != 3)
    refuse(fmt::format("X [{}] and R [{}] must have three dimensions", fmt::join(x, ", "),
                       fmt::join(recurrent, ", ")));
  Recurrence r;
  r.batch_first = c.int_attribute("layout", 0) != 0;
  r.steps = r.least = r.most = x[r.batch_first ? 1 : 0];
  r.batch = x[r.batch_first ? 0 : 1];
  r.hidden = recurrent[2];
  r.gates = cell.gates;
  r.input_forget = c.int_attribute("input_forget", 0) != 0;
  if (c.has_attribute("clip")) r.clip = c.float_attribute("clip", 0);
  if (c.has_attribute("clip") && !(r.clip > 0))
    refuse(fmt::format("clip is {}, expected a positive number", r.clip));
  if (const int64_t said = c.int_attribute("hidden_size", r.hidden); said != r.hidden)
    refuse(fmt::format("hidden_size is {}, R has {}", said, r.hidden));
  return r;
}

void check_shapes(const Context& c, const Cell& cell, const Recurrence& r, int64_t directions) {
  const int64_t rows = r.gates * r.hidden;
  const Shape states =
      r.batch_first ? Shape{r.batch, directions, r.hidden} : Shape{directions, r.batch, r.hidden};
  expect_shape(c, c.input(kW), "W", {directions, rows, c.shape(c.input(kX))[2]});
  expect_shape(c, c.input(kR), "R", {directions, rows, r.hidden});
  expect_shape(c, optional_input(c, kBias), "B", {directions, 2 * rows});
  expect_shape(c, optional_input(c, kLengths), "sequence_lens", {r.batch});
  expect_shape(c, optional_input(c, kHidden0), "initial_h", states);
  if (!cell.with_cell) return;
  expect_shape(c, optional_input(c, kCell0), "initial_c", states);
  expect_shape(c, optional_input(c, kPeepholes), "P", {directions, 3 * r.hidden});
}

void read_lengths(const Context& c, Recurrence& r) {
  const int lengths = optional_input(c, kLengths);
  if (lengths < 0) return;
  r.lengths = lengths;
  r.least = 0;
  if (!c.is_constant(lengths)) return;
  const Shape values = c.integers(lengths);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*least < 0 || *most > r.steps)
    refuse(fmt::format("sequence_lens [{}] must be from 0 to the {} time steps of X",
                       fmt::join(values, ", "), r.steps));
  r.least = *least;
  r.most = *most;
}

// Which parameters activations take from the attributes; the others have none.
constexpr auto kTakeAlpha = std::to_array<std::string_view>(
    {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "ScaledTanh", "ThresholdedRelu"});
constexpr auto kTakeBeta = std::to_array<std::string_view>({"Affine", "HardSigmoid", "ScaledTanh"});

bool holds(const auto& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Of all directions. An activation takes the next value of those that its parameters have left.
std::vector<Activation> read_activations(const Context& c, const Cell& cell, size_t directions) {
  std::vector<std::string> names = c.strings_attribute("activations");
  const std::vector<double> alpha = c.floats_attribute("activation_alpha"),
                            beta = c.floats_attribute("activation_beta");
  const size_t wanted = directions * cell.activations.size();
  for (size_t d = 0; d < directions && !c.has_attribute("activations"); ++d)
    names.insert(names.end(), cell.activations.begin(), cell.activations.end());
  if (names.size() != wanted)
    refuse(fmt::format("{} activations, expected {}", names.size(), wanted));
  std::vector<Activation> out;
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    Activation a{name, {}, {}, {}};
    if (holds(kTakeAlpha, name) && next_alpha < alpha.size()) a.alpha = alpha[next_alpha++];
    if (holds(kTakeBeta, name) && next_beta < beta.size()) a.beta = beta[next_beta++];
    out.push_back(std::move(a));
  }
  return out;
}

// The biases of W and R in one vector; of GRU's last gate that of W alone, where a gate's factor is
// between the two.
int joined_bias(Context& c, const Recurrence& r, bool adds_last) {
  const int64_t rows = r.gates * r.hidden;
  Expression e = pointwise("add", {rows}, c.tensor(r.bias).dtype, "bias");
  e.reads = {plain_read(r.bias, {ir::variable(0)}), plain_read(r.bias, {ir::variable(0) + rows})};
  Scalar second = ir::read(1);
  if (!adds_last)
    second = choose(less(axis_value(0), number(static_cast<double>(rows - r.hidden))),
                    std::move(second), number(0));
  e.body = add(ir::read(0), std::move(second));
  return emit_folded(c, std::move(e));
}

// x W^T + bias over the rows of x.
int input_product(Context& c, const Recurrence& r, int rows, int w, int bias) {
  Expression e;
  e.op = "matmul";
  e.suffix = "inputs";
  e.spatial = {{"m", r.steps * r.batch}, {"n", r.gates * r.hidden}};
  e.reduce = {{"k", c.shape(rows)[1]}};
  e.reads = {plain_read(rows, {ir::variable(0), ir::variable(2)}),
             plain_read(w, {ir::variable(1), ir::variable(2)})};
  e.body = mul(ir::read(0), ir::read(1));
  e.combine = ir::Combiner::sum;
  const int product = c.emit(std::move(e));
  return bias < 0 ? product : with_bias(c, product, bias);
}

// What direction number `d` reads, as tensors of its own.
void read_direction(Context& c, const Cell& cell, Recurrence& r, int64_t d, int rows) {
  const auto own = [&](int input, const std::string& suffix) {
    return c.has_input(input) ? element_of(c, c.input(input), 0, d, suffix) : -1;
  };
  r.bias = own(kBias, "biases");
  r.peepholes = cell.with_cell ? own(kPeepholes, "peepholes") : -1;
  const Shape by_gate = {r.gates, r.hidden, r.hidden};
  const int recurrent = reshaped_and_folded(c, own(kR, "recurrent"), by_gate, "gates");
  r.recurrent.clear();
  int64_t first = 0;
  for (const int64_t count : cell.products) {
    const size_t before = c.graph.nodes.size();
    r.recurrent.push_back(part_of(c, recurrent, 0, std::exchange(first, first + count), count));
    fold_constants(c, before);
  }
  const int bias = r.bias < 0 ? -1 : joined_bias(c, r, cell.adds_last);
  r.inputs = input_product(c, r, rows, own(kW, "weights"), bias);
}

bool is_zero(const Context& c, int tensor) {
  if (!c.is_constant(tensor)) return false;
  const std::vector<double> values = c.numbers(tensor);
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

// Exporters write zeros where there is no state.
State initial_state(Context& c, const Cell& cell, const Recurrence& r, int64_t d) {
  const auto own = [&](int input, const std::string& suffix) {
    if (!c.has_input(input) || is_zero(c, c.input(input))) return -1;
    return element_of(c, c.input(input), r.batch_first ? 1 : 0, d, suffix);
  };
  return {own(kHidden0, "initial_h"), cell.with_cell ? own(kCell0, "initial_c") : -1};
}

struct Results {
  std::vector<std::vector<int>> h;  // by time, of each direction
  std::vector<int> last_h, last_c;  // by direction
};

void run(Context& c, const Cell& cell, const Recurrence& r, State state, Results& to) {
  for (int64_t i = 0; i < r.most; ++i) {
    const int64_t time = r.reverse ? r.most - 1 - i : i;
    state = cell.step(c, r, time, state);
    to.h[static_cast<size_t>(time)].push_back(state.h);
  }
  to.last_h.push_back(state.h);
  to.last_c.push_back(state.c);
}

int zeros(Context& c, const Shape& shape) {
  Expression e = pointwise("zeros", shape, c.tensor(c.input(kX)).dtype, "zeros");
  e.body = number(0);
  return emit_folded(c, std::move(e));
}

// Y: [steps, directions, batch, hidden], or with batches first [batch, steps, directions, hidden].
// Where a sequence has ended it is 0.
int whole_sequence(Context& c, const Recurrence& r, const Results& results, int64_t directions) {
  const Shape shape = r.batch_first ? Shape{r.batch, r.steps, directions, r.hidden}
                                    : Shape{r.steps, directions, r.batch, r.hidden};
  if (r.most == 0) return zeros(c, shape);
  const int time = r.batch_first ? 1 : 0, batch = r.batch_first ? 0 : 2;
  std::vector<int> parts;
  for (const std::vector<int>& step : results.h)
    parts.insert(parts.end(), step.begin(), step.end());
  Expression e = stacked(c, std::move(parts),
                         {shape,
                          ir::variable(time, directions) + ir::variable(time + 1),
                          {ir::variable(batch), ir::variable(3)}});
  e.suffix = "sequence";
  if (r.least < r.most) {
    e.reads.push_back(plain_read(r.lengths, {ir::variable(batch)}));
    Scalar length = ir::read(static_cast<int>(e.reads.size()) - 1);
    e.body = choose(less(axis_value(static_cast<size_t>(time)), std::move(length)),
                    std::move(e.body), number(0));
  }
  return emit_folded(c, std::move(e));
}

// Y_h or Y_c: [directions, batch, hidden], or with batches first [batch, directions, hidden].
int last_states(Context& c, const Recurrence& r, std::vector<int> states,
                const std::string& suffix) {
  for (int& state : states)
    if (state < 0) state = zeros(c, {r.batch, r.hidden});
  return stacked_along(c, std::move(states), r.batch_first ? 1 : 0, suffix);
}

}  // namespace

void import_recurrence(Context& c, const Cell& cell) {
  Recurrence r = read_extents(c, cell);
  const std::vector<bool> reverse = directions_of(c);
  const auto directions = static_cast<int64_t>(reverse.size());
  check_shapes(c, cell, r, directions);
  read_lengths(c, r);
  const std::vector<Activation> activations = read_activations(c, cell, reverse.size());
  const int64_t each = cell.nodes * directions;
  count_unrolled(c, r.most * each, fmt::format("its {} time steps, {} nodes each,", r.most, each));
  const int rows =
      reshaped_and_folded(c, c.input(kX), {r.steps * r.batch, c.shape(c.input(kX))[2]}, "rows");
  Results results;
  results.h.resize(static_cast<size_t>(r.most));
  for (int64_t d = 0; d < directions; ++d) {
    r.reverse = reverse[static_cast<size_t>(d)];
    const auto first = activations.begin() + d * static_cast<int64_t>(cell.activations.size());
    r.activations.assign(first, first + static_cast<int64_t>(cell.activations.size()));
    read_direction(c, cell, r, d, rows);
    run(c, cell, r, initial_state(c, cell, r, d), results);
  }
  if (wants_output(c, 0)) c.bind(0, whole_sequence(c, r, results, directions));
  if (wants_output(c, 1)) c.bind(1, last_states(c, r, results.last_h, "last_h"));
  if (cell.with_cell && wants_output(c, 2)) c.bind(2, last_states(c, r, results.last_c, "last_c"));
}

}  // namespace assay::import
