// GridSample: an image of one to three dimensions, read at the normalised positions that a grid
// holds. Each output is a weighted sum of its neighbours: one, 2 or 4 in each dimension.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/sampling.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::number;
using ir::Scalar;
using ir::ScalarOp;

enum class Mode { nearest, linear, cubic };
enum class Padding { zeros, border, reflection };

struct Grid {
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align = false;
  Shape image;  // extents of its dimensions

  int64_t neighbours() const { return mode == Mode::nearest ? 1 : mode == Mode::linear ? 2 : 4; }
  // Where an image begins and ends in a dimension, in elements.
  double low() const { return align ? 0 : -0.5; }
  double high(size_t d) const { return static_cast<double>(image[d]) - (align ? 1 : 0.5); }
  double last(size_t d) const { return static_cast<double>(image[d]) - 1; }
};

template <class T>
struct Word {
  std::string_view word;
  T value;
};

template <class T, size_t n>
T value_of(const std::array<Word<T>, n>& words, const char* attribute, const std::string& word) {
  for (const Word<T>& w : words)
    if (w.word == word) return w.value;
  std::vector<std::string_view> known;
  for (const Word<T>& w : words) known.push_back(w.word);
  refuse(fmt::format("{} {} is not known", attribute, word),
         fmt::format("there are {}", fmt::join(known, ", ")));
}

// The names changed with opset 20.
constexpr std::array<Word<Mode>, 5> kModes = {{{"nearest", Mode::nearest},
                                               {"linear", Mode::linear},
                                               {"bilinear", Mode::linear},
                                               {"cubic", Mode::cubic},
                                               {"bicubic", Mode::cubic}}};
constexpr std::array<Word<Padding>, 3> kPaddings = {
    {{"zeros", Padding::zeros}, {"border", Padding::border}, {"reflection", Padding::reflection}}};

Grid read_grid(const Context& c) {
  const Shape &x = c.shape(c.input(0)), &grid = c.shape(c.input(1));
  const size_t rank = x.size();
  if (rank < 3 || rank > 5 || grid.size() != rank || grid[0] != x[0] ||
      grid.back() != static_cast<int64_t>(rank) - 2)
    refuse(fmt::format("X has shape [{}] and grid [{}]", fmt::join(x, ", "), fmt::join(grid, ", ")),
           "expected one to three dimensions of an image, as many in the grid, and a position in "
           "them for each output");
  Grid g;
  g.mode = value_of(kModes, "mode", c.string_attribute("mode", "linear"));
  g.padding = value_of(kPaddings, "padding_mode", c.string_attribute("padding_mode", "zeros"));
  g.align = c.int_attribute("align_corners", 0) != 0;
  g.image.assign(x.begin() + 2, x.end());
  if (g.mode != Mode::nearest && ir::is_integer(c.tensor(c.input(0)).dtype))
    refuse("integers are not interpolated", "mode nearest reads them as they are");
  return g;
}

// Back and forth between both ends, until it is inside.
Scalar reflected(const Scalar& x, double low, double high) {
  const double length = high - low;
  if (length == 0) return number(low);
  const Scalar distance = call(ScalarOp::abs, sub(x, number(low)));
  const Scalar turns = call(ScalarOp::floor, mul(distance, number(0.5 / length)));
  const Scalar rest = sub(distance, mul(turns, number(2 * length)));
  Scalar inside =
      choose(less(number(length), rest), sub(number(high + length), rest), add(rest, number(low)));
  const Scalar stays =
      mul(equal(less(x, number(low)), number(0)), equal(less(number(high), x), number(0)));
  return choose(stays, x, std::move(inside));
}

Scalar clamped(const Scalar& x, double low, double high) {
  return max(number(low), min(number(high), x));
}

// Where a position lies in dimension d of the image, in elements.
Scalar coordinate(const Grid& g, size_t d, const Scalar& position) {
  const double length = static_cast<double>(g.image[d]);
  Scalar x = mul(add(position, number(1)), number(g.align ? (length - 1) / 2 : length / 2));
  if (!g.align) x = sub(std::move(x), number(0.5));
  if (g.mode == Mode::nearest) x = rounded(x);
  if (g.padding == Padding::reflection) return reflected(x, g.low(), g.high(d));
  if (g.padding == Padding::border && g.mode != Mode::cubic) return clamped(x, 0, g.last(d));
  return x;  // of a cubic only the neighbours are clamped, as PyTorch and ONNX Runtime do
}

// Coordinates in dimension d, [batch, points..]. The grid holds the last dimension first.
int coordinates(Context& c, const Grid& g, size_t d) {
  Shape points = c.shape(c.input(1));
  points.pop_back();
  Expression e = pointwise("coordinate", points, ir::DType::f32, fmt::format("coordinate{}", d));
  std::vector<ir::Index> at = identity_index(points.size());
  at.push_back(ir::constant(static_cast<int64_t>(g.image.size() - 1 - d)));
  e.reads = {plain_read(c.input(1), std::move(at))};
  e.body = coordinate(g, d, ir::read(0));
  return c.emit(std::move(e));
}

// An expression over [batch, points.., taps] that reads the coordinates, and after them the steps
// from the neighbour below to that of each tap.
Expression over_taps(Context& c, const Grid& g, const std::vector<int>& at, int steps,
                     std::string name) {
  Shape shape = c.shape(at[0]);
  const int tap = static_cast<int>(shape.size());
  shape.push_back(c.shape(steps)[0]);
  Expression e = pointwise(name, shape, ir::DType::f32, name);
  for (int coordinate : at)
    e.reads.push_back(plain_read(coordinate, identity_index(static_cast<size_t>(tap))));
  for (size_t d = 0; d < g.image.size(); ++d)
    e.reads.push_back(
        plain_read(steps, {ir::variable(tap), ir::constant(static_cast<int64_t>(d))}));
  return e;
}

int steps_of(Context& c, const Grid& g) {
  const int64_t n = g.neighbours();
  std::vector<double> steps;
  int64_t taps = 1;
  for (size_t d = 0; d < g.image.size(); ++d) taps *= n;
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t stride = taps;
    for (size_t d = 0; d < g.image.size(); ++d) {
      stride /= n;
      steps.push_back(static_cast<double>(tap / stride % n - (n == 4 ? 1 : 0)));
    }
  }
  return c.add_numbers(ir::DType::f32, {taps, static_cast<int64_t>(g.image.size())}, steps,
                       "steps");
}

Scalar step_of(const Grid& g, size_t d) { return ir::read(static_cast<int>(g.image.size() + d)); }

// The place of each tap in the image; outside, the number of places, which none has.
int places(Context& c, const Grid& g, const std::vector<int>& at, int steps) {
  Expression e = over_taps(c, g, at, steps, "places");
  Scalar place = number(0), inside = number(1);
  double count = 1;
  for (size_t d = 0; d < g.image.size(); ++d) {
    const double length = static_cast<double>(g.image[d]);
    Scalar i = add(call(ScalarOp::floor, ir::read(static_cast<int>(d))), step_of(g, d));
    if (g.padding == Padding::border) i = clamped(i, 0, g.last(d));
    if (g.padding == Padding::reflection) i = reflected(i, g.low(), g.high(d));
    Scalar fits = mul(less(number(-1), i), less(i, number(length)));
    place = d == 0 ? i : add(mul(std::move(place), number(length)), i);
    inside = d == 0 ? std::move(fits) : mul(std::move(inside), std::move(fits));
    count *= length;
  }
  e.body = choose(std::move(inside), std::move(place), number(count));
  return c.emit(std::move(e));
}

// Keys' kernel with a = -0.75, at a distance below 2.
Scalar cubic(const Scalar& t) {
  constexpr double a = -0.75;
  Scalar near = add(mul(mul(sub(mul(number(a + 2), t), number(a + 3)), t), t), number(1));
  Scalar far =
      sub(mul(add(mul(sub(mul(number(a), t), number(5 * a)), t), number(8 * a)), t), number(4 * a));
  return choose(less(number(1), t), std::move(far), std::move(near));
}

int weights(Context& c, const Grid& g, const std::vector<int>& at, int steps) {
  Expression e = over_taps(c, g, at, steps, "weights");
  for (size_t d = 0; d < g.image.size(); ++d) {
    const Scalar x = ir::read(static_cast<int>(d));
    const Scalar distance =
        call(ScalarOp::abs, sub(sub(x, call(ScalarOp::floor, x)), step_of(g, d)));
    Scalar weight = g.mode == Mode::cubic ? cubic(distance) : sub(number(1), distance);
    e.body = d == 0 ? std::move(weight) : mul(std::move(e.body), std::move(weight));
  }
  return c.emit(std::move(e));
}

}  // namespace

void import_grid_sample(Context& c) {
  const Grid g = read_grid(c);
  const size_t rank = g.image.size();
  Samples s;
  s.rows = image_rows(c, c.input(0));
  std::vector<int> at;
  for (size_t d = 0; d < rank; ++d) at.push_back(coordinates(c, g, d));
  const int steps = steps_of(c, g);
  s.places = places(c, g, at, steps);
  if (g.mode != Mode::nearest) s.weights = weights(c, g, at, steps);
  std::vector<size_t> order = {0, rank + 1};
  for (size_t d = 1; d <= rank; ++d) order.push_back(d);
  c.bind(0, transposed(c, sampled(c, s), order));
}

}  // namespace assay::import
