// RoiAlign: each region is divided into bins, each bin sampled at a grid of points between the
// elements of the image; their mean or maximum is the output.
#include <fmt/format.h>

#include "compiler/import/compose.h"
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/sampling.h"

namespace assay::import {
namespace {

using ir::number;
using ir::Scalar;
using ir::ScalarOp;

struct Bins {
  int64_t rows = 1, columns = 1, samples = 1;  // samples of a bin in each dimension
  double scale = 1, shift = 0;
  bool largest = false;
};

int64_t extent_of(const Context& c, const char* name) {
  const int64_t extent = c.int_attribute(name, 1);
  if (extent < 1 || extent > 1 << 20) refuse(fmt::format("{} = {} is out of bounds", name, extent));
  return extent;
}

Bins read_bins(const Context& c) {
  Bins b;
  b.rows = extent_of(c, "output_height");
  b.columns = extent_of(c, "output_width");
  b.samples = c.int_attribute("sampling_ratio", 0);
  if (b.samples < 1 || b.samples > 64)
    refuse(fmt::format("sampling_ratio = {} is not supported, only 1 to 64", b.samples),
           "with 0 the number of samples depends on the regions' values");
  b.scale = c.float_attribute("spatial_scale", 1);
  const std::string mode = c.string_attribute("mode", "avg");
  if (mode != "avg" && mode != "max")
    refuse(fmt::format("mode {} is not known", mode), "the modes are avg and max");
  b.largest = mode == "max";
  // Until opset 16 there is no shift.
  const std::string coordinates = c.string_attribute(
      "coordinate_transformation_mode", c.opset >= 16 ? "half_pixel" : "output_half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    refuse(fmt::format("coordinate_transformation_mode {} is not known", coordinates),
           "the modes are half_pixel and output_half_pixel");
  b.shift = coordinates == "half_pixel" ? 0.5 : 0;
  return b;
}

void check_operands(const Context& c) {
  const Shape &x = c.shape(c.input(0)), &rois = c.shape(c.input(1)), &batch = c.shape(c.input(2));
  if (x.size() != 4 || rois.size() != 2 || rois[1] != 4 || batch != Shape{rois[0]})
    refuse(fmt::format("X has shape [{}], rois [{}] and batch_indices [{}]", fmt::join(x, ", "),
                       fmt::join(rois, ", "), fmt::join(batch, ", ")),
           "expected four dimensions, [n, 4] and [n]");
}

// The points of a dimension, [regions, bins, samples]; corners of a region are x1 y1 x2 y2.
int points(Context& c, const Bins& b, int64_t bins, int64_t corner) {
  const int rois = c.input(1);
  Expression e = pointwise("points", {c.shape(rois)[0], bins, b.samples}, ir::DType::f32,
                           corner == 0 ? "columns" : "rows");
  Scalar ends[2];
  for (const int i : {0, 1}) {
    e.reads.push_back(plain_read(rois, {ir::variable(0), ir::constant(corner + 2 * i)}));
    ends[i] = sub(mul(ir::read(i), number(b.scale)), number(b.shift));
  }
  Scalar size = sub(ends[1], ends[0]);
  if (b.shift == 0) size = max(std::move(size), number(1));
  const Scalar bin = div(std::move(size), number(static_cast<double>(bins)));
  Scalar sample =
      mul(add(axis_value(2), number(0.5)), div(bin, number(static_cast<double>(b.samples))));
  e.body = add(add(ends[0], mul(axis_value(1), bin)), std::move(sample));
  return c.emit(std::move(e));
}

// The taps of an output: four neighbours of each of its points.
struct Taps {
  int rows = -1, columns = -1;  // points
  int steps = -1;               // [taps, 2] to the neighbour
  int64_t count = 1;
};

Taps taps_of(Context& c, const Bins& b) {
  Taps t{points(c, b, b.rows, 1), points(c, b, b.columns, 0), -1, 4 * b.samples * b.samples};
  std::vector<double> steps;
  for (int64_t tap = 0; tap < t.count; ++tap) {
    steps.push_back(static_cast<double>(tap / 2 % 2));
    steps.push_back(static_cast<double>(tap % 2));
  }
  t.steps = c.add_numbers(ir::DType::f32, {t.count, 2}, steps, "steps");
  return t;
}

// Over [regions, bins, bins, taps]: reads 0 and 1 are the point's row and column, 2 and 3 the
// steps.
Expression over_taps(Context& c, const Bins& b, const Taps& t, std::string name) {
  const Shape shape = {c.shape(c.input(1))[0], b.rows, b.columns, t.count};
  Expression e = pointwise(name, shape, ir::DType::f32, name);
  const std::vector<ir::Range> ranges = ranges_of(e.spatial);
  const auto sample = [&](int64_t divisor, int64_t period) {
    return ir::simplify(ir::Index{{ir::Term{1, 3, {}, divisor, period}}, 0}, ranges);
  };
  e.reads = {plain_read(t.rows, {ir::variable(0), ir::variable(1), sample(4 * b.samples, 0)}),
             plain_read(t.columns, {ir::variable(0), ir::variable(2), sample(4, b.samples)}),
             plain_read(t.steps, {ir::variable(3), ir::constant(0)}),
             plain_read(t.steps, {ir::variable(3), ir::constant(1)})};
  return e;
}

double last(const Context& c, int d) {
  return static_cast<double>(c.shape(c.input(0))[static_cast<size_t>(2 + d)] - 1);
}

Scalar clamped(const Context& c, int d) {
  return max(number(0), min(number(last(c, d)), ir::read(d)));
}

int places(Context& c, const Bins& b, const Taps& t) {
  Expression e = over_taps(c, b, t, "places");
  Scalar place[2];
  for (const int d : {0, 1})
    place[d] = min(add(call(ScalarOp::floor, clamped(c, d)), ir::read(2 + d)), number(last(c, d)));
  e.body = add(mul(std::move(place[0]), number(last(c, 1) + 1)), std::move(place[1]));
  if (c.shape(c.input(0))[0] > 1) {
    e.reads.push_back(plain_read(c.input(2), {ir::variable(0)}));
    e.body = add(mul(ir::read(4), number((last(c, 0) + 1) * (last(c, 1) + 1))), std::move(e.body));
  }
  return c.emit(std::move(e));
}

// Points further than an element from the image weigh nothing.
int weights(Context& c, const Bins& b, const Taps& t) {
  Expression e = over_taps(c, b, t, "weights");
  Scalar weight = number(b.largest ? 1 : 1 / static_cast<double>(b.samples * b.samples));
  Scalar outside = number(0);
  for (const int d : {0, 1}) {
    const Scalar at = clamped(c, d), fraction = sub(at, call(ScalarOp::floor, at));
    weight = mul(std::move(weight), choose(ir::read(2 + d), fraction, sub(number(1), fraction)));
    outside = max(std::move(outside),
                  max(less(ir::read(d), number(-1)), less(number(last(c, d) + 1), ir::read(d))));
  }
  e.body = choose(std::move(outside), number(0), std::move(weight));
  return c.emit(std::move(e));
}

}  // namespace

void import_roi_align(Context& c) {
  check_operands(c);
  const Bins b = read_bins(c);
  const Shape x = c.shape(c.input(0));
  Samples s;
  s.rows = reshaped(c, image_rows(c, c.input(0)), {1, x[0] * x[2] * x[3], x[1]}, "images");
  s.shared = true;
  const Taps t = taps_of(c, b);
  s.places = places(c, b, t);
  s.weights = weights(c, b, t);
  if (b.largest) s.combine = ir::Combiner::max;
  c.bind(0, transposed(c, sampled(c, s), {0, 3, 1, 2}));
}

}  // namespace assay::import
