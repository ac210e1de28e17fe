#include "toolkit/packing.h"

#include <cstring>

#include "ir/element.h"
#include "support/check.h"

namespace assay::toolkit {
namespace {

using Tables =
    std::vector<std::vector<int64_t>>;  // [dimension][index]: share of the element offset

Tables offset_tables(std::span<const int64_t> shape, const ir::Layout& layout) {
  Tables tables;
  for (int64_t extent : shape) tables.emplace_back(static_cast<size_t>(extent), 0);
  const std::vector<int64_t> extents = ir::physical_shape(layout, shape);
  int64_t stride = 1;
  for (size_t p = layout.dims.size(); p-- > 0;) {
    const ir::PhysicalDim& d = layout.dims[p];
    std::vector<int64_t>& table = tables[static_cast<size_t>(d.dim)];
    for (size_t i = 0; i < table.size(); ++i) {
      const int64_t at = (static_cast<int64_t>(i) + ir::pad_of(layout, d.dim).before) / d.div;
      table[i] += (d.mod > 0 ? at % d.mod : at) * stride;
    }
    stride *= extents[p];
  }
  return tables;
}

// Calls copy(row-major position, storage position) for every element, row-major order.
template <class Copy>
void each_element(const Tables& tables, const Copy& copy) {
  if (tables.empty()) return copy(size_t{0}, size_t{0});
  for (const auto& table : tables)
    if (table.empty()) return;
  const std::vector<int64_t>& last = tables.back();
  std::vector<size_t> at(tables.size(), 0);
  size_t row = 0;
  for (;;) {
    int64_t base = 0;
    for (size_t d = 0; d + 1 < at.size(); ++d) base += tables[d][at[d]];
    for (int64_t offset : last) copy(row++, static_cast<size_t>(base + offset));
    size_t d = at.size() - 1;
    while (d-- > 0) {
      if (++at[d] < tables[d].size()) break;
      at[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

int64_t product(std::span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

}  // namespace

std::vector<std::byte> padding(ir::DType type, std::span<const int64_t> shape,
                               const ir::Layout& layout) {
  const auto width = static_cast<size_t>(ir::bytes_of(type));
  std::vector<std::byte> out(static_cast<size_t>(ir::physical_elements(layout, shape)) * width);
  if (layout.pad_value == 0) return out;
  for (size_t at = 0; at < out.size(); at += width)
    ir::store_element(type, &out[at], layout.pad_value);
  return out;
}

std::vector<std::byte> pack(std::span<const std::byte> logical, ir::DType type,
                            std::span<const int64_t> shape, const ir::Layout& layout) {
  const auto width = static_cast<size_t>(ir::bytes_of(type));
  ASSAY_CHECK(logical.size() == static_cast<size_t>(product(shape)) * width);
  std::vector<std::byte> out = padding(type, shape, layout);
  each_element(offset_tables(shape, layout), [&](size_t row, size_t at) {
    std::memcpy(&out[at * width], &logical[row * width], width);
  });
  return out;
}

std::vector<std::byte> unpack(std::span<const std::byte> physical, int element_bytes,
                              std::span<const int64_t> shape, const ir::Layout& layout) {
  const auto width = static_cast<size_t>(element_bytes);
  ASSAY_CHECK(physical.size() >= static_cast<size_t>(ir::physical_elements(layout, shape)) * width);
  std::vector<std::byte> out(static_cast<size_t>(product(shape)) * width);
  each_element(offset_tables(shape, layout), [&](size_t row, size_t at) {
    std::memcpy(&out[row * width], &physical[at * width], width);
  });
  return out;
}

std::vector<std::byte> bytes_from_floats(ir::DType dtype, std::span<const float> values) {
  if (dtype == ir::DType::f32) {
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
  }
  const std::vector<double> wide(values.begin(), values.end());
  return ir::bytes_of_doubles(dtype, wide);
}

std::vector<float> floats_from_bytes(ir::DType dtype, std::span<const std::byte> bytes) {
  if (dtype == ir::DType::f32) {
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
    return out;
  }
  std::vector<float> out;
  for (double v : ir::doubles_of(dtype, bytes)) out.push_back(static_cast<float>(v));
  return out;
}

}  // namespace assay::toolkit
