// Size limits of graphs. Parsers and verify enforce them, so that no later pass can overflow an
// int64_t or recurse without bound.
#pragma once

#include <cstdint>
#include <span>

namespace assay::ir {

inline constexpr int64_t kMaxExtent = int64_t{1} << 40;    // of a dimension or axis
inline constexpr int64_t kMaxElements = int64_t{1} << 56;  // of a tensor, points of a node
inline constexpr int kMaxIndexDepth = 32;                  // nested divisions and modulos
inline constexpr int kMaxBodyDepth = 256;                  // nested operations
inline constexpr int64_t kMostCounted = int64_t{1} << 24;  // positions that f32 holds exactly

// Every extent is in 1..kMaxExtent and their product is at most kMaxElements.
bool shape_fits(std::span<const int64_t> shape);

}  // namespace assay::ir
