#include "ir/evaluate_product.h"

namespace assay::ir {
namespace {

double dot(const double* a, int64_t sa, const double* b, int64_t sb, int64_t n) {
  double sum[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int64_t k = 0; k < 4; ++k) sum[k] += a[(i + k) * sa] * b[(i + k) * sb];
  for (; i < n; ++i) sum[0] += a[i * sa] * b[i * sb];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

void multiply_add(double* out, int64_t so, const double* a, int64_t sa, const double* b, int64_t sb,
                  int64_t n) {
  if (so == 0) {
    *out += dot(a, sa, b, sb, n);
  } else if (so == 1 && sa == 1 && sb == 0) {
    const double factor = *b;
    for (int64_t i = 0; i < n; ++i) out[i] += a[i] * factor;
  } else if (so == 1 && sa == 0 && sb == 1) {
    multiply_add(out, 1, b, 1, a, 0, n);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * so] += a[i * sa] * b[i * sb];
  }
}

}  // namespace assay::ir
