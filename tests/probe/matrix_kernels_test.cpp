// Kernels of matrix instructions with opaque fragments: what they compute is what the probe expects
// of a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/dialect.h"
#include "codegen/interpret.h"
#include "codegen/isa.h"
#include "codegen/render.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/matrix.h"

namespace assay::probe {
namespace {

constexpr double kIterations = 3;

void check(const char* instruction, bool threads, const char* dialect, size_t kernels) {
  const auto i = codegen::find_instruction(instruction);
  ASSERT_TRUE(i.ok()) << render(i.diags());
  const auto language = codegen::parse_dialect(codegen::dialect_text(dialect), dialect);
  ASSERT_TRUE(language.ok());
  const std::vector<int> all = matrix_chains(i->computes);
  EXPECT_EQ(all.size(), kernels);
  KernelShape shape{threads, {threads ? 32 : 16}, int64_t{48} << 10, true};
  shape.matrix = {i->computes};
  std::vector<ir::Kernel> made = all_kernels(shape);
  for (const int chains : all) {
    const auto k = std::find_if(made.begin(), made.end(), [&](const ir::Kernel& one) {
      return one.name == matrix_kernel(instruction, chains);
    });
    ASSERT_NE(k, made.end()) << chains;
    const auto text = codegen::render(std::span(&*k, 1), *language, threads ? 32 : 1);
    ASSERT_TRUE(text.ok()) << render(text.diags());
    k->groups = 1;
    k->buffers[0].elements = kSlotFloats;
    std::vector<std::vector<double>> data;
    for (const ir::Buffer& b : k->buffers)
      if (b.scope == ir::Scope::global)
        data.emplace_back(static_cast<size_t>(b.elements), kIterations);
    const auto counts = codegen::interpret(*k, data);
    ASSERT_TRUE(counts.ok()) << render(counts.diags());
    EXPECT_EQ(counts->matrix, kIterations * matrix_steps(chains));
    const double steps = kIterations * matrix_steps(chains) / chains;
    EXPECT_EQ(data[0][0], steps * i->computes.k) << chains << " chains";
    EXPECT_EQ(data[0][0], matrix_result(i->computes, static_cast<int64_t>(steps)));
  }
}

TEST(MatrixKernels, of_opaque_fragments_compute_what_is_checked) {
  check("amx.tdpbf16ps.m16n16k32.bf16.f32", false, "cpp", 3);
  check("amx.tdpbssd.m16n16k64.i8.i32", false, "cpp", 3);
  check("amx.tdpbusd.m16n16k64.u8.i32", false, "cpp", 3);
  check("sm70.wmma.m16n16k16.f16.f32", true, "cuda", 5);
}

}  // namespace
}  // namespace assay::probe
