// Packing against ir::physical_offset, by which kernels address.
#include "toolkit/packing.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

namespace assay::toolkit {
namespace {

struct Case {
  std::vector<int64_t> shape;
  ir::Layout layout;
};

// A random order of dimensions, some split into blocks, some padded.
Case random_case() {
  Case c;
  const int rank = *rc::gen::inRange(0, 5);
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[*rc::gen::inRange<size_t>(0, i)]);
  for (int d = 0; d < rank; ++d) {
    c.shape.push_back(*rc::gen::inRange<int64_t>(1, 8));
    c.layout.pad.push_back({*rc::gen::inRange<int64_t>(0, 3), *rc::gen::inRange<int64_t>(0, 3)});
  }
  std::vector<ir::PhysicalDim> inner;
  for (int d : order) {
    const int64_t block = *rc::gen::inRange<int64_t>(1, 5);
    c.layout.dims.push_back({d, block, 0});
    if (block > 1) inner.push_back({d, 1, block});
  }
  c.layout.dims.insert(c.layout.dims.end(), inner.begin(), inner.end());
  return c;
}

std::vector<float> counting(int64_t count) {
  std::vector<float> v(static_cast<size_t>(count));
  std::iota(v.begin(), v.end(), 1.0F);
  return v;
}

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> position(int64_t row, const std::vector<int64_t>& shape) {
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = row % shape[d];
    row /= shape[d];
  }
  return at;
}

std::vector<float> packed(const Case& c, const std::vector<float>& values) {
  return floats_from_bytes(
      ir::DType::f32, pack(std::as_bytes(std::span(values)), ir::DType::f32, c.shape, c.layout));
}

TEST(Packing, UnpackUndoesPack) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case();
    const std::vector<float> values = counting(product(c.shape));
    const auto bytes = pack(std::as_bytes(std::span(values)), ir::DType::f32, c.shape, c.layout);
    RC_ASSERT(floats_from_bytes(ir::DType::f32, unpack(bytes, 4, c.shape, c.layout)) == values);
  }));
}

TEST(Packing, ElementsLieWhereKernelsLookForThem) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case();
    const std::vector<float> values = counting(product(c.shape));
    const std::vector<float> storage = packed(c, values);
    for (int64_t row = 0; row < product(c.shape); ++row) {
      std::vector<ir::Index> index;
      for (int64_t i : position(row, c.shape)) index.push_back(ir::constant(i));
      const ir::Index offset = ir::physical_offset(c.layout, c.shape, index, {});
      RC_ASSERT(storage.at(static_cast<size_t>(ir::evaluate(offset, {}))) ==
                values[static_cast<size_t>(row)]);
    }
  }));
}

TEST(Packing, EverythingElseIsZero) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case();
    const std::vector<float> storage = packed(c, counting(product(c.shape)));
    RC_ASSERT(static_cast<int64_t>(storage.size()) == ir::physical_elements(c.layout, c.shape));
    RC_ASSERT(std::count(storage.begin(), storage.end(), 0.0F) ==
              static_cast<int64_t>(storage.size()) - product(c.shape));
  }));
}

TEST(Packing, ElementsOfAnyWidth) {
  const std::vector<float> values = {1, -2, 3, 4, 5, 6};
  for (ir::DType type : {ir::DType::f64, ir::DType::i8, ir::DType::i64, ir::DType::f16}) {
    const auto bytes = bytes_from_floats(type, values);
    const ir::Layout layout = ir::blocked(2, 1, 2);
    const std::vector<int64_t> shape = {2, 3};
    const auto back = unpack(pack(bytes, type, shape, layout), ir::bytes_of(type), shape, layout);
    EXPECT_EQ(floats_from_bytes(type, back), values) << ir::name_of(type);
  }
}

TEST(Packing, PaddingHoldsItsValue) {
  const ir::Layout layout{ir::row_major(1).dims, {{1, 2}}, -3};
  const std::vector<float> values = {5, 6};
  const auto bytes = pack(bytes_from_floats(ir::DType::i8, values), ir::DType::i8,
                          std::vector<int64_t>{2}, layout);
  EXPECT_EQ(floats_from_bytes(ir::DType::i8, bytes), (std::vector<float>{-3, 5, 6, -3, -3}));
}

}  // namespace
}  // namespace assay::toolkit
