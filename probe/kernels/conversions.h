// Kernels of loads and stores that convert (ir::converts), over a few vectors that any first cache
// holds.
//
//   converted_<access>_<stored>_<computed>_<w>
//     load    a vector of the stored type, as one of the computed type;
//     splat   an element of it in all lanes of one;
//     store   a vector of the computed type to the stored one. Its value is hidden before each
//             store, so that none is converted once for all.
//
// Where both types are the same, nothing is converted: what the access itself takes.
#pragma once

#include <string>
#include <vector>

#include "ir/dtype.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {

struct Conversion {
  const char* access;  // load, splat, store
  ir::DType stored = ir::DType::f32, computed = ir::DType::f32;
};

// Each access of each pair of types that converts. Of threads without splats: each lane loads its
// own element.
std::vector<Conversion> conversions(bool threads);
// The same access of f32.
Conversion plain_access(const Conversion& c);

// Operation of the profile: convert_load, convert_splat, convert_store; of whole numbers with _i32.
std::string operation_of(const Conversion& c);
std::string conversion_name(const Conversion& c);  // "load f16 f32"

inline constexpr int kConvertedVectors = 32;  // accesses of one iteration

std::string conversion_kernel_name(const Conversion& c, int lanes);
// Each group has vectors of its own, one after the other.
ir::Kernel conversion_kernel(const Conversion& c, int lanes);
int64_t conversion_bytes(int lanes);  // of a group's vectors, at most

}  // namespace assay::probe
