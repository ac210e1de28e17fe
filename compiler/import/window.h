// Windows of convolutions and pools over the spatial dimensions (those after batch and channel).
#pragma once

#include <vector>

#include "compiler/import/context.h"

namespace assay::import {

struct Window {
  Shape kernel, stride, dilation;
  Shape before, after;  // padding
  Shape out;            // extents of the output
  bool ceil = false;    // the last window may begin inside and end outside
  bool padded() const;  // can a window leave the input
  Shape in;
};

// Attributes kernel_shape (or `kernel`, the weights' own), strides, dilations, pads, auto_pad and
// ceil_mode over the spatial extents `in`.
//
//   out = (in + before + after - (dilation * (kernel - 1) + 1)) / stride + 1
//
// It is rounded down, or up when ceil_mode is set, but no window begins beyond in + before.
Window read_window(const Context& c, const Shape& in, const Shape& kernel);

// stride * out_axis + dilation * kernel_axis - before, per spatial dimension.
std::vector<ir::Index> window_index(const Window& w, int first_out, int first_kernel);

std::vector<ir::Axis> window_axes(const Window& w);  // y x (or z y x): the output's
std::vector<ir::Axis> kernel_axes(const Window& w);  // r s (or q r s)

}  // namespace assay::import
