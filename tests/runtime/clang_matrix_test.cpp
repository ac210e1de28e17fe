// Programs with matrix instructions, printed as OpenCL C and compiled by clang, for devices that
// need not be here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "lower/lower.h"
#include "support/process/process.h"
#include "tests/lower/matrix_programs.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::runtime {
namespace {

using ::testing::HasSubstr;

constexpr int kPrograms = 6;

struct Compiled {
  const char* instruction;
  const char* processor;
  int wave;
  const char* opcode;
};

std::string read(const std::string& path) {
  std::ifstream in(path);
  return std::string{std::istreambuf_iterator(in), {}};
}

class ClangMatrix : public ::testing::TestWithParam<Compiled> {
 protected:
  // The newest that knows the processor; "": none does.
  std::string compiler() const {
    for (const char* name : {"clang-17", "clang-16", "clang-15", "clang"}) {
      const std::string path = process::find_program(name);
      if (!path.empty() && compiles(path, "__kernel void k() {}")) return path;
    }
    return "";
  }

  bool compiles(const std::string& clang, const std::string& text) const {
    std::ofstream(dir_.at("k.cl")) << text;
    std::vector<std::string> argv{clang,           "-x", "cl",          "-w",
                                  "-O2",           "-S", "-Xclang",     "-finclude-default-header",
                                  dir_.at("k.cl"), "-o", dir_.at("k.s")};
    const std::string processor = GetParam().processor;
    if (processor.empty())  // of any device, in an intermediate language
      argv.insert(argv.end(), {"-cl-std=CL3.0", "-target", "spir64", "-emit-llvm"});
    else
      argv.insert(argv.end(), {"-cl-std=CL1.2", "-target", "amdgcn-amd-amdhsa", "-nogpulib",
                               "-mcpu=" + processor});
    const process::Command c{argv, dir_.at("log")};
    return process::run_all({c}, 1, nullptr)[0].good();
  }

  const test::ScratchDirectory dir_;
};

TEST_P(ClangMatrix, compiles_random_products) {
  const std::string clang = compiler();
  if (clang.empty()) GTEST_SKIP() << "no clang here compiles for it: " << GetParam().processor;
  const auto dialect = codegen::parse_dialect(codegen::dialect_text("opencl"), "opencl.yaml");
  ASSERT_TRUE(dialect.ok());
  std::mt19937 rng(51);
  const int wave = GetParam().wave;
  const hwdesc::Target target =
      test::with_instruction(test::small_gpu(wave), GetParam().instruction);
  std::vector<ir::Kernel> kernels;
  for (int i = 0; i < kPrograms; ++i) {
    const ir::Program p = test::random_matrix_program(GetParam().instruction, target, rng);
    const auto kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    kernels.push_back(*kernel);
    kernels.back().name = "k" + std::to_string(i);
  }
  const auto text = codegen::render(kernels, *dialect, wave);
  ASSERT_TRUE(text.ok()) << render(text.diags());
  ASSERT_TRUE(compiles(clang, *text)) << read(dir_.at("log")).substr(0, 4000) << *text;
  EXPECT_THAT(read(dir_.at("k.s")), HasSubstr(GetParam().opcode));
}

INSTANTIATE_TEST_SUITE_P(
    Instructions, ClangMatrix,
    ::testing::Values(
        Compiled{"gfx908.mfma.f32.32x32x8.f16", "gfx908", 64, "v_mfma_f32_32x32x8f16"},
        Compiled{"gfx908.mfma.f32.32x32x4.bf16", "gfx908", 64, "v_mfma_f32_32x32x4bf16"},
        Compiled{"gfx908.mfma.f32.32x32x2.f32", "gfx908", 64, "v_mfma_f32_32x32x2f32"},
        Compiled{"gfx908.mfma.i32.32x32x8.i8", "gfx908", 64, "v_mfma_i32_32x32x8i8"},
        Compiled{"gfx90a.mfma.f32.32x32x8.f16", "gfx90a", 64, "v_mfma_f32_32x32x8f16"},
        Compiled{"gfx90a.mfma.f32.32x32x8.bf16", "gfx90a", 64, "v_mfma_f32_32x32x8bf16_1k"},
        Compiled{"gfx90a.mfma.f32.32x32x2.f32", "gfx90a", 64, "v_mfma_f32_32x32x2f32"},
        Compiled{"gfx90a.mfma.i32.32x32x8.i8", "gfx90a", 64, "v_mfma_i32_32x32x8i8"},
        Compiled{"gfx942.mfma.f32.32x32x8.f16", "gfx940", 64, "v_mfma_f32_32x32x8_f16"},
        Compiled{"gfx942.mfma.f32.32x32x8.bf16", "gfx940", 64, "v_mfma_f32_32x32x8_bf16"},
        Compiled{"gfx942.mfma.f32.32x32x2.f32", "gfx940", 64, "v_mfma_f32_32x32x2_f32"},
        Compiled{"gfx942.mfma.f32.32x32x4.xf32", "gfx940", 64, "v_mfma_f32_32x32x4_xf32"},
        Compiled{"gfx942.mfma.i32.32x32x16.i8", "gfx940", 64, "v_mfma_i32_32x32x16_i8"},
        Compiled{"lane.dot.m1n1k4.i8.i32", "", 16, "dot_4x8packed_ss_int"},
        Compiled{"lane.dot.m1n1k4.u8.i32", "", 32, "dot_4x8packed_uu_uint"},
        Compiled{"gfx11.wmma.m16n16k16.f16.f32", "gfx1100", 32, "v_wmma_f32_16x16x16_f16"},
        Compiled{"gfx11.wmma.m16n16k16.bf16.f32", "gfx1100", 32, "v_wmma_f32_16x16x16_bf16"},
        Compiled{"gfx11.wmma.m16n16k16.i8.i32", "gfx1100", 32, "v_wmma_i32_16x16x16_iu8"}));

}  // namespace
}  // namespace assay::runtime
