// Kernels on the CPU, end to end: results against plain loops.
#include <gtest/gtest.h>

#include "tests/codegen/kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;

TEST(Cpu, copies_with_a_tail) {
  Host host;
  for (const int64_t n : {1, 15, 16, 64, 100, 1000}) {
    const auto x = host.random(n);
    EXPECT_EQ(host.run(copy(n), {x, host.poison(n)})[1], x) << n;
  }
}

TEST(Cpu, multiplies_tiles) {
  Host host;
  const int64_t k = 37, groups = 5;
  const auto a = host.random(groups * k * 14), b = host.random(k * 32);
  const Kernel kernel = matmul_tile(14, 2, k, groups);
  const auto c = host.run(kernel, {a, b, host.poison(groups * 14 * 32)})[2];
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t r = 0; r < 14; ++r)
      for (int64_t j = 0; j < 32; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i)
          sum += double{a[static_cast<size_t>((g * k + i) * 14 + r)]} *
                 double{b[static_cast<size_t>(i * 32 + j)]};
        ASSERT_NEAR(c[static_cast<size_t>((g * 14 + r) * 32 + j)], sum, 1e-4);
      }
}

}  // namespace
}  // namespace assay::runtime
