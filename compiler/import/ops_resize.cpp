// Resize and Upsample: dimension by dimension, each a sum over a few taps with constant weights, or
// a plain move when every output is one input element.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/resampling.h"

namespace assay::import {
namespace {

constexpr int64_t kMostResized = int64_t{1} << 20;  // outputs along a dimension, each with weights

std::optional<std::vector<double>> numbers_of(const Context& c, int input) {
  if (!c.has_input(input) || ir::elements(c.tensor(c.input(input))) == 0) return std::nullopt;
  return c.numbers(c.input(input));
}

std::vector<size_t> resized_axes(const Context& c, size_t rank) {
  Shape axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::vector<size_t> normal;
  for (int64_t axis : c.ints_attribute("axes", axes)) normal.push_back(normal_axis(axis, rank));
  return normal;
}

void check_counts(const char* what, size_t count, size_t axes) {
  if (count != axes) refuse(fmt::format("{} has {} values for {} dimensions", what, count, axes));
}

// The extent floor(in * scale), or the one given.
void stretch_by_scales(std::vector<Stretch>& all, const std::vector<size_t>& axes,
                       const std::vector<double>& scales) {
  check_counts("scales", scales.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    Stretch& d = all[axes[i]];
    const double out = std::floor(static_cast<double>(d.in) * scales[i]);
    if (!(out >= 1 && out < 0x1p24))
      refuse(fmt::format("scale {} of {} elements is out of bounds", scales[i], d.in));
    d.scale = scales[i];
    d.out = static_cast<int64_t>(out);
  }
}

void stretch_to_sizes(std::vector<Stretch>& all, const std::vector<size_t>& axes,
                      const Shape& sizes) {
  check_counts("sizes", sizes.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    Stretch& d = all[axes[i]];
    if (sizes[i] < 1 || sizes[i] >= (int64_t{1} << 24))
      refuse(fmt::format("size {} is out of bounds", sizes[i]));
    d.out = sizes[i];
    d.scale = static_cast<double>(d.out) / static_cast<double>(d.in);
  }
}

// The same scale in all dimensions: the smallest that the sizes ask for, or the largest.
void keep_aspect_ratio(std::vector<Stretch>& all, const std::vector<size_t>& axes,
                       const std::string& policy) {
  if (policy == "stretch" || axes.empty()) return;
  if (policy != "not_larger" && policy != "not_smaller")
    refuse(fmt::format("keep_aspect_ratio_policy {} is not known", policy));
  double scale = all[axes[0]].scale;
  for (size_t axis : axes)
    scale = policy == "not_larger" ? std::min(scale, all[axis].scale)
                                   : std::max(scale, all[axis].scale);
  for (size_t axis : axes) {
    Stretch& d = all[axis];
    d.scale = scale;
    d.out = std::max<int64_t>(
        1, static_cast<int64_t>(std::floor(scale * static_cast<double>(d.in) + 0.5)));
  }
}

ir::Index base_of(const Taps& t, int axis, const std::vector<ir::Range>& ranges) {
  return ir::divide(ir::variable(axis, t.slope_p) + t.offset, t.slope_d, ranges);
}

int move(Context& c, int x, const Shape& to, const std::vector<Taps>& taps) {
  Expression e = pointwise("resize", to, c.tensor(x).dtype);
  const std::vector<ir::Range> ranges = ranges_of(e.spatial);
  std::vector<ir::Index> at;
  for (size_t d = 0; d < to.size(); ++d)
    at.push_back(base_of(taps[d], static_cast<int>(d), ranges));
  e.reads = {plain_read(x, std::move(at))};
  e.body = ir::read(0);
  return c.emit(std::move(e));
}

// Outputs that no tap reaches are outside the cropped input: they are `value`.
int extrapolate(Context& c, int x, size_t d, const Taps& taps, double value) {
  std::vector<double> addend;
  for (auto at = taps.weights.begin(); at != taps.weights.end(); at += taps.count)
    addend.push_back(std::all_of(at, at + taps.count, [](double w) { return w == 0; }) ? value : 0);
  if (value == 0 || std::all_of(addend.begin(), addend.end(), [](double v) { return v == 0; }))
    return x;
  const Shape shape = c.shape(x);
  Expression e = pointwise("extrapolate", shape, c.tensor(x).dtype, fmt::format("outside{}", d));
  const int outside = c.add_numbers(ir::DType::f32, {shape[d]}, addend, "addend");
  e.reads = {plain_read(x, identity_index(shape.size())),
             plain_read(outside, {ir::variable(static_cast<int>(d))})};
  e.body = add(ir::read(0), ir::read(1));
  return c.emit(std::move(e));
}

int interpolate(Context& c, int x, size_t d, int64_t out, const Taps& taps) {
  Shape to = c.shape(x);
  to[d] = out;
  Expression e = pointwise("resize", to, c.tensor(x).dtype, fmt::format("resize{}", d));
  const int axis = static_cast<int>(d), tap = static_cast<int>(to.size());
  const std::vector<ir::Range> ranges = ranges_of(e.spatial);
  e.reduce = {{"t", taps.count}};
  e.combine = ir::Combiner::sum;
  std::vector<ir::Index> at = identity_index(to.size());
  at[d] = base_of(taps, axis, ranges) + ir::variable(tap);
  const int weights = c.add_numbers(ir::DType::f32, {out, taps.count}, taps.weights, "weights");
  e.reads = {guarded_read(x, std::move(at), 0),
             plain_read(weights, {ir::variable(axis), ir::variable(tap)})};
  e.body = mul(ir::read(0), ir::read(1));
  return c.emit(std::move(e));
}

void resample(Context& c, const Sampling& s, const std::vector<Stretch>& all, double value = 0) {
  int x = c.input(0);
  if (const std::string fault = fault_of(s); !fault.empty()) refuse(fault + " is not known");
  Shape to;
  std::vector<Taps> taps;
  for (const Stretch& d : all) {
    to.push_back(d.out);
    const bool same = d.in == d.out && d.scale == 1 && d.start == 0 && d.end == 1;
    if (!same && std::max(d.in, d.out) > kMostResized)
      refuse(fmt::format("a dimension of {} elements is too large to resize to {}: {} at most",
                         d.in, d.out, kMostResized));
    taps.push_back(same ? Taps{1, 1, 0, 1, {}} : taps_of(s, d));
  }
  c.check_shape(to);
  if (std::all_of(taps.begin(), taps.end(), [](const Taps& t) { return t.plain(); }))
    return c.bind(0, move(c, x, to, taps));
  for (size_t d = 0; d < taps.size(); ++d)
    if (!taps[d].weights.empty())
      x = extrapolate(c, interpolate(c, x, d, all[d].out, taps[d]), d, taps[d], value);
  c.bind(0, x);
}

std::vector<Stretch> unchanged(const Shape& shape) {
  std::vector<Stretch> all;
  for (int64_t extent : shape) all.push_back({extent, extent, 1, 0, 1});
  return all;
}

// Until opset 10: linear or nearest, positions divided by the scale and rounded down.
Sampling old_sampling(const Context& c) {
  Sampling s;
  s.mode = c.string_attribute("mode", "nearest");
  s.coordinates = "asymmetric";
  s.nearest = "floor";
  return s;
}

}  // namespace

void import_resize(Context& c) {
  std::vector<Stretch> all = unchanged(c.shape(c.input(0)));
  const std::vector<size_t> axes = resized_axes(c, all.size());
  if (c.opset < 11) {
    stretch_by_scales(all, axes, c.numbers(c.input(1)));
    return resample(c, old_sampling(c), all);
  }
  Sampling s;
  s.mode = c.string_attribute("mode", s.mode);
  s.coordinates = c.string_attribute("coordinate_transformation_mode", s.coordinates);
  s.nearest = c.string_attribute("nearest_mode", s.nearest);
  s.cubic_a = c.float_attribute("cubic_coeff_a", s.cubic_a);
  s.exclude_outside = c.int_attribute("exclude_outside", 0) != 0;
  s.antialias = c.int_attribute("antialias", 0) != 0;
  if (const auto scales = numbers_of(c, 2))
    stretch_by_scales(all, axes, *scales);
  else if (c.has_input(3))
    stretch_to_sizes(all, axes, c.integers(c.input(3)));
  else
    refuse("neither scales nor sizes are given");
  if (c.has_input(3))
    keep_aspect_ratio(all, axes, c.string_attribute("keep_aspect_ratio_policy", "stretch"));
  if (s.coordinates == "tf_crop_and_resize") {
    const auto roi = numbers_of(c, 1);
    check_counts("roi", roi ? roi->size() : 0, 2 * axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      all[axes[i]].start = (*roi)[i];
      all[axes[i]].end = (*roi)[axes.size() + i];
    }
  }
  resample(c, s, all, c.float_attribute("extrapolation_value", 0));
}

void import_upsample(Context& c) {
  std::vector<Stretch> all = unchanged(c.shape(c.input(0)));
  const std::vector<size_t> axes = resized_axes(c, all.size());
  stretch_by_scales(all, axes,
                    c.has_input(1) ? c.numbers(c.input(1)) : c.floats_attribute("scales"));
  resample(c, old_sampling(c), all);
}

}  // namespace assay::import
