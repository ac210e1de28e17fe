#include "compiler/import/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/limits.h"

namespace assay::import {
namespace {

Shape spatial_attribute(const Context& c, std::string_view name, size_t rank, int64_t otherwise,
                        int64_t least) {
  Shape values = c.ints_attribute(name, Shape(rank, otherwise));
  if (values.size() != rank)
    refuse(fmt::format("{} has {} values for {} spatial dimensions", name, values.size(), rank));
  for (int64_t v : values)
    if (v < least || v > ir::kMaxExtent)
      refuse(fmt::format("{} [{}] is out of bounds", name, fmt::join(values, ", ")));
  return values;
}

int64_t reach(const Window& w, size_t d) { return w.dilation[d] * (w.kernel[d] - 1) + 1; }

// SAME: out = ceil(in / stride), the odd padding element after (upper) or before (lower).
void pad_same(Window& w, bool upper) {
  for (size_t d = 0; d < w.in.size(); ++d) {
    const int64_t out = (w.in[d] + w.stride[d] - 1) / w.stride[d];
    const int64_t total = std::max<int64_t>(0, (out - 1) * w.stride[d] + reach(w, d) - w.in[d]);
    w.before[d] = upper ? total / 2 : total - total / 2;
    w.after[d] = total - w.before[d];
  }
}

void read_padding(const Context& c, Window& w) {
  const size_t rank = w.in.size();
  w.before = w.after = Shape(rank, 0);
  const std::string automatic = c.string_attribute("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
    return pad_same(w, automatic == "SAME_UPPER");
  if (automatic == "VALID") return;
  if (automatic != "NOTSET" && !automatic.empty())
    refuse(fmt::format("auto_pad {} is not known", automatic));
  if (!c.has_attribute("pads")) return;
  const Shape pads = spatial_attribute(c, "pads", 2 * rank, 0, 0);
  std::copy_n(pads.begin(), rank, w.before.begin());
  std::copy_n(pads.begin() + static_cast<std::ptrdiff_t>(rank), rank, w.after.begin());
}

int64_t out_extent(const Window& w, size_t d) {
  const int64_t room = w.in[d] + w.before[d] + w.after[d] - reach(w, d);
  if (room < 0)
    refuse(fmt::format(
        "the window reaches {} elements in spatial dimension {}, the padded input has {}",
        reach(w, d), d, w.in[d] + w.before[d] + w.after[d]));
  int64_t out = (room + (w.ceil ? w.stride[d] - 1 : 0)) / w.stride[d] + 1;
  if (w.ceil && (out - 1) * w.stride[d] >= w.in[d] + w.before[d]) --out;
  return out;
}

}  // namespace

bool Window::padded() const {
  for (size_t d = 0; d < in.size(); ++d)
    if (before[d] > 0 ||
        (out[d] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) - before[d] >= in[d])
      return true;
  return false;
}

Window read_window(const Context& c, const Shape& in, const Shape& kernel) {
  Window w;
  w.in = in;
  const size_t rank = in.size();
  if (rank < 1 || rank > 3)
    refuse(fmt::format("{} spatial dimensions, 1 to 3 are supported", rank));
  w.kernel = kernel;
  if (c.has_attribute("kernel_shape")) w.kernel = spatial_attribute(c, "kernel_shape", rank, 1, 1);
  if (w.kernel.empty()) refuse("attribute kernel_shape is missing");
  if (!kernel.empty() && w.kernel != kernel)
    refuse(fmt::format("kernel_shape [{}] differs from the weights' [{}]",
                       fmt::join(w.kernel, ", "), fmt::join(kernel, ", ")));
  w.stride = spatial_attribute(c, "strides", rank, 1, 1);
  w.dilation = spatial_attribute(c, "dilations", rank, 1, 1);
  for (size_t d = 0; d < rank; ++d)
    if (w.dilation[d] > ir::kMaxExtent / w.kernel[d]) refuse("the dilated window is too large");
  w.ceil = c.int_attribute("ceil_mode", 0) != 0;
  read_padding(c, w);
  for (size_t d = 0; d < rank; ++d) w.out.push_back(out_extent(w, d));
  return w;
}

std::vector<ir::Index> window_index(const Window& w, int first_out, int first_kernel) {
  std::vector<ir::Index> index;
  for (size_t d = 0; d < w.in.size(); ++d) {
    const int at = static_cast<int>(d);
    ir::Index i = ir::variable(first_out + at, w.stride[d]);
    if (w.kernel[d] > 1) i = std::move(i) + ir::variable(first_kernel + at, w.dilation[d]);
    index.push_back(std::move(i) + -w.before[d]);
  }
  return index;
}

std::vector<ir::Axis> window_axes(const Window& w) {
  static constexpr const char* kNames[] = {"z", "y", "x"};
  std::vector<ir::Axis> axes;
  for (size_t d = 0; d < w.out.size(); ++d)
    axes.push_back({kNames[d + 3 - w.out.size()], w.out[d]});
  return axes;
}

std::vector<ir::Axis> kernel_axes(const Window& w) {
  static constexpr const char* kNames[] = {"q", "r", "s"};
  std::vector<ir::Axis> axes;
  for (size_t d = 0; d < w.out.size(); ++d)
    axes.push_back({kNames[d + 3 - w.out.size()], w.kernel[d]});
  return axes;
}

}  // namespace assay::import
