// Resampling along one dimension as a table of taps.
//
//   out[x] = sum(t) weight[x][t] * input[base(x) + t],   base(x) = (slope_p * x + offset) / slope_d
//
// The base is rounded down, which makes it an index that a tensor expression can hold.
//
// Source: ONNX Resize (its coordinate transformations, nearest modes and Keys' cubic weights, Cubic
// convolution interpolation for digital image processing, 1981).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::import {

struct Sampling {
  std::string mode = "nearest";            // nearest, linear, cubic
  std::string coordinates = "half_pixel";  // coordinate_transformation_mode
  std::string nearest = "round_prefer_floor";
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;  // when shrinking, the weights are stretched by 1 / scale
};

// One dimension: extents, scale = out / in up to rounding, and the part of the input that is seen
// (tf_crop_and_resize), as fractions of it.
struct Stretch {
  int64_t in = 1, out = 1;
  double scale = 1, start = 0, end = 1;
};

struct Taps {
  int64_t slope_p = 1, slope_d = 1, offset = 0;
  int64_t count = 1;            // taps per output
  std::vector<double> weights;  // [out][count]; 0 outside the input
  bool plain() const;           // one tap of weight 1 each: nothing but a move
};

// Pre: the names in `s` are known ones (`fault_of` is empty).
Taps taps_of(const Sampling& s, const Stretch& d);

// What is not known in `s`; empty: nothing.
std::string fault_of(const Sampling& s);

}  // namespace assay::import
