// Random kernels that read constants, images and plain memory.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ir/element.h"
#include "tests/codegen/kernels.h"

namespace assay::testing {

inline int between(std::mt19937& rng, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(rng);
}

// An argument to read: an image with rows of 2^a texels, or constants.
inline Buffer random_source(std::mt19937& rng, Space space, DType dtype, size_t number, int lanes) {
  Buffer b = input("x" + std::to_string(number), between(rng, lanes, 700));
  b.dtype = dtype;
  b.space = space;
  if (space != Space::image) return b;
  b.row = 1 << between(rng, 0, 8);
  b.texel = 1 << between(rng, 0, 2);
  b.elements = b.row * std::max<int64_t>(between(rng, 1, 9), (lanes + b.row - 1) / b.row);
  return b;
}

// Random columns and rows inside of an image.
inline Value random_places(std::mt19937& rng, const Buffer& b, int buffer, int lanes) {
  const auto along = [&](int64_t extent) {
    Value v;
    v.op = ValueOp::lane_index;
    v.dtype = DType::i32;
    v.lanes = lanes;
    v.stride = std::uniform_int_distribution<int64_t>(0, (extent - 1) / (lanes - 1))(rng);
    v.index = constant(
        std::uniform_int_distribution<int64_t>(0, extent - 1 - v.stride * (lanes - 1))(rng));
    return v;
  };
  Value v;
  v.op = ValueOp::indirect;
  v.dtype = b.dtype;
  v.lanes = lanes;
  v.id = buffer;
  v.args = {along(b.row), along(b.elements / b.row)};
  return v;
}

// A random read in bounds: contiguous, strided, reversed, a splat, or of an image by column and
// row.
inline Value random_read(std::mt19937& rng, const Kernel& k, int buffer, int lanes) {
  const Buffer& b = k.buffers[static_cast<size_t>(buffer)];
  if (b.space == Space::image && between(rng, 0, 3) == 0)
    return random_places(rng, b, buffer, lanes);
  const auto any = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(0, std::max<int64_t>(0, most))(rng);
  };
  const int64_t last = b.elements - 1, stride = any(last / (lanes - 1)), form = between(rng, 0, 3);
  const int64_t reach = form == 0 ? lanes - 1 : form == 3 ? 0 : stride * (lanes - 1);
  const int64_t step = any(k.groups > 1 ? (last - reach) / (k.groups - 1) : 0),
                first = any(last - reach - step * (k.groups - 1));
  const Index at = variable(0, step) + first;
  Value v = form == 0   ? load(buffer, at, lanes)
            : form == 1 ? gather(buffer, at, stride, lanes)
            : form == 2 ? gather(buffer, at + reach, -stride, lanes)
                        : splat(buffer, at, lanes);
  v.dtype = b.dtype;
  return v;
}

// y = sum of reads of one to four arguments, three vectors per group.
inline Kernel random_reading(std::mt19937& rng, const std::vector<Space>& spaces, DType dtype,
                             int lanes) {
  Kernel k;
  k.name = "reading";
  k.index_names = {"group"};
  k.groups = between(rng, 1, 4);
  const size_t sources = static_cast<size_t>(between(rng, 1, 4));
  for (size_t i = 0; i < sources; ++i)
    k.buffers.push_back(random_source(
        rng, spaces[static_cast<size_t>(between(rng, 0, static_cast<int>(spaces.size()) - 1))],
        dtype, i, lanes));
  const auto out = static_cast<int>(k.buffers.size());
  k.buffers.push_back(output("y", 3 * lanes * k.groups));
  k.buffers.back().dtype = dtype;
  for (int part = 0; part < 3; ++part) {
    Value sum = random_read(rng, k, 0, lanes);
    for (int i = 1; i < out; ++i)
      sum = op(ValueOp::add, {std::move(sum), random_read(rng, k, i, lanes)});
    k.body.push_back(store(out, variable(0, 3 * lanes) + part * lanes, std::move(sum)));
  }
  return k;
}

// Numbers whose sums are exact in the type; outputs are poisoned.
inline std::vector<std::vector<double>> random_numbers(std::mt19937& rng, const Kernel& k) {
  std::vector<std::vector<double>> out;
  for (const Buffer& b : k.buffers) {
    out.emplace_back(static_cast<size_t>(b.elements * b.texel));
    for (double& v : out.back())
      v = b.written ? 77 : is_integer(b.dtype) ? between(rng, -7, 7) : between(rng, -7, 7) / 4.0;
  }
  return out;
}

}  // namespace assay::testing
