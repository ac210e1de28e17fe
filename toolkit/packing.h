// Logical row-major values <-> a tensor's storage in its layout.
//
// Each physical dimension holds a part of one logical index, so the offset of a position is
// separable: offset(i) = sum over dimensions d of table_d[i_d]. A small table per dimension
// replaces an expression per element. Post-conditions: unpack(pack(v)) == v; storage that no
// element maps to holds the layout's pad value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/dtype.h"
#include "ir/layout.h"

namespace assay::toolkit {

// `logical`: row-major. Result: physical_elements(layout, shape) elements.
std::vector<std::byte> pack(std::span<const std::byte> logical, ir::DType type,
                            std::span<const int64_t> shape, const ir::Layout& layout);
std::vector<std::byte> unpack(std::span<const std::byte> physical, int element_bytes,
                              std::span<const int64_t> shape, const ir::Layout& layout);

// The storage of a tensor without elements: its pad value everywhere.
std::vector<std::byte> padding(ir::DType type, std::span<const int64_t> shape,
                               const ir::Layout& layout);

// float32 values as elements of `dtype` and back; integers are rounded towards zero and saturate.
std::vector<std::byte> bytes_from_floats(ir::DType dtype, std::span<const float> values);
std::vector<float> floats_from_bytes(ir::DType dtype, std::span<const std::byte> bytes);

}  // namespace assay::toolkit
