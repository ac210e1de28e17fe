// Sums of products along one run of points, the inner loop of convolutions and matmuls.
#pragma once

#include <cstdint>

namespace assay::ir {

// out[i] += a[i] * b[i], i < n, each with its own stride.
void multiply_add(double* out, int64_t so, const double* a, int64_t sa, const double* b, int64_t sb,
                  int64_t n);

}  // namespace assay::ir
