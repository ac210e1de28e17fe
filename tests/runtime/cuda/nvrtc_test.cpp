// Kernels for chips that are not present: printed and compiled to machine code by NVRTC, which
// reports their registers.
#include "runtime/cuda/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "codegen/dialect.h"
#include "codegen/interpret.h"
#include "codegen/isa.h"
#include "codegen/render.h"
#include "compiler/compile.h"
#include "compiler/search/construct.h"
#include "lower/lower.h"
#include "model/closed_form.h"
#include "model/slp.h"
#include "probe/kernels/barrier.h"
#include "probe/kernels/branches.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/matrix.h"
#include "probe/kernels/path.h"
#include "probe/kernels/residency.h"
#include "probe/kernels/types.h"
#include "runtime/cuda/build.h"
#include "tests/codegen/integer_kernels.h"
#include "tests/codegen/kernels.h"
#include "tests/codegen/narrow_reference.h"
#include "tests/codegen/space_kernels.h"
#include "tests/codegen/storage_kernels.h"
#include "tests/lower/problems.h"
#include "tests/runtime/cuda/disassembled.h"
#include "toolkit/profiles.h"

namespace assay::runtime::cuda {
namespace {

using ::testing::HasSubstr;

constexpr int kOperators = 600;

// All of them where every case is compiled.
std::vector<int> architectures() {
  return std::getenv("ASSAY_TEST_EVERY") != nullptr ? std::vector<int>{90}
                                                    : std::vector<int>{80, 90};
}

codegen::Dialect dialect() {
  auto d = codegen::parse_dialect(codegen::dialect_text("cuda"), "cuda.yaml");
  if (!d) throw std::runtime_error(render(d.diags()));
  return *d;
}

hwdesc::Target target_of(const std::string& profile) {
  const auto p = toolkit::load_profile(profile);
  if (!p) throw std::runtime_error(render(p.diags()));
  auto t = toolkit::target_of(*p, "cuda");
  if (!t) throw std::runtime_error(render(t.diags()));
  return *t;
}

// Skips if NVRTC is not installed; a broken NVRTC fails.
class Nvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("ASSAY_NVRTC_LIBRARY");
    if (named != nullptr && !std::filesystem::exists(named))
      GTEST_SKIP() << "scripts/nvrtc.sh has not brought " << named;
    const auto loaded = Compiler::load();
    if (!loaded && named == nullptr) GTEST_SKIP() << render(loaded.diags());
    ASSERT_TRUE(loaded.ok()) << render(loaded.diags());
    compiler_ = *loaded;
  }

  // Compiles for every architecture; a failure names the kernel.
  std::vector<Resources> compile(const ir::Kernel& kernel, int threads) {
    const auto text = codegen::render(std::span(&kernel, 1), dialect_, threads);
    EXPECT_TRUE(text.ok()) << render(text.diags());
    std::vector<Resources> out;
    if (!text.ok()) return out;
    for (const int architecture : architectures()) {
      const auto made = compiler_->compile(*text, architecture);
      EXPECT_TRUE(made.ok()) << kernel.name << ": " << render(made.diags()) << *text;
      if (!made.ok()) continue;
      EXPECT_EQ(made->cubin.substr(0, 4), "\177ELF");
      EXPECT_EQ(made->resources.size(), 1U) << kernel.name;
      for (const auto& [entry, resources] : made->resources) {
        EXPECT_EQ(entry, kernel.name);
        EXPECT_GT(resources.registers, 0);
        out.push_back(resources);
      }
    }
    return out;
  }

  const Compiler* compiler_ = nullptr;
  codegen::Dialect dialect_ = dialect();
};

TEST_F(Nvrtc, compiles_an_elementwise_kernel) {
  const ir::Kernel k = testing::elementwise("twice", 1000, [](ir::Value v) {
    return testing::op(ir::ValueOp::add, {v, v});
  });
  for (const Resources& r : compile(k, 16)) {
    EXPECT_LT(r.registers, 64);
    EXPECT_EQ(r.stack_bytes, 0);
  }
}

TEST_F(Nvrtc, compiles_every_operation_of_every_type) {
  using enum ir::ValueOp;
  for (const ir::ValueOp o : {add, sub, mul, div, max, min, less, equal, pow})
    compile(testing::elementwise("two", 100,
                                 [&](ir::Value v) {
                                   return testing::op(o, {v, testing::constant_of(0.5, v.lanes)});
                                 }),
            16);
  for (const ir::ValueOp o : {neg, abs, exp, log, sqrt, tanh, erf, floor, ceil, opaque})
    compile(testing::elementwise("one", 100, [&](ir::Value v) { return testing::op(o, {v}); }), 16);
}

TEST_F(Nvrtc, compiles_narrow_types) {
  using enum ir::ValueOp;
  for (const ir::DType type : {ir::DType::f16, ir::DType::bf16, ir::DType::i8})
    for (const ir::ValueOp o : {add, sub, mul, div, fma, neg, max, min, less, select})
      compile(testing::ternary("narrow", o, type, 32, 320), 32);
  for (const ir::DType type : {ir::DType::f16x2, ir::DType::bf16x2})
    for (const ir::ValueOp o : {add, sub, mul, fma, neg})
      compile(testing::ternary("pairs", o, type, 32, 320), 32);
  for (const ir::DType type : {ir::DType::f16, ir::DType::bf16})
    for (const ir::ValueOp o : {abs, exp, log, sqrt, tanh, erf, floor, ceil, opaque}) {
      ir::Kernel k = testing::ternary("function", neg, type, 32, 320);
      std::get<ir::Store>(k.body[0].node).value.op = o;
      compile(k, 32);
    }
}

TEST_F(Nvrtc, compiles_narrow_storage) {
  for (const ir::DType type : {ir::DType::f16, ir::DType::bf16})
    for (const ir::Kernel& k :
         {testing::reads_kernel(type, 32, 1000), testing::writes_kernel(type, 32, 1000),
          testing::reads_kernel(type, 32, 1000, ir::Space::constant),
          testing::positions_kernel(type, 6, 7)}) {
      compile(k, 32);
      // Chips before sm_80 have no conversion to bf16.
      const auto text = codegen::render(std::span(&k, 1), dialect_, 32);
      ASSERT_TRUE(text.ok()) << render(text.diags());
      const auto made = compiler_->compile(*text, 75);
      EXPECT_TRUE(made.ok()) << k.name << ": " << render(made.diags());
    }
}

TEST_F(Nvrtc, compiles_integers) {
  std::vector<ir::Kernel> all = {testing::register_conversions(32, 1024)};
  for (const testing::Pair& p : testing::integer_pairs())
    for (const ir::Space space : {ir::Space::plain, ir::Space::constant})
      all.push_back(
          testing::computed_in(testing::reads_kernel(p.stored, 32, 1000, space), p.computed));
  for (const testing::Pair& p : testing::integer_pairs())
    all.push_back(testing::computed_in(testing::writes_kernel(p.stored, 32, 1000), p.computed));
  for (const ir::Kernel& k : all) compile(k, 32);
}

TEST_F(Nvrtc, compiles_the_probes_kernels) {
  probe::KernelShape shape{true, {32}, int64_t{48} << 10, true};
  shape.types = {"f16", "f16x2", "bf16", "bf16x2", "i8", "dot"};
  const std::vector<ir::Kernel> all = probe::all_kernels(shape);
  for (const ir::Kernel& k : all) compile(k, 32);
  for (const ir::Kernel& k : probe::branch_kernels(128)) compile(k, 128);
  for (const int threads : {32, 1024}) compile(probe::barrier_kernel(), threads);
  compile(probe::meet_memory_kernel(32, 2, int64_t{48} << 10), 32);
  compile(probe::device_barrier_kernel(), 32);
}

TEST_F(Nvrtc, compiles_constants_and_images) {
  std::mt19937 rng(5);
  const std::vector<ir::Space> all = {ir::Space::constant, ir::Space::image, ir::Space::plain};
  for (int i = 0; i < 4; ++i)
    compile(testing::random_reading(rng, all, i % 2 == 0 ? ir::DType::f32 : ir::DType::i32, 32),
            32);
  for (const ir::DType type :
       {ir::DType::f64, ir::DType::i64, ir::DType::f16, ir::DType::bf16, ir::DType::i8})
    compile(testing::random_reading(rng, {ir::Space::constant, ir::Space::plain}, type, 32), 32);
}

// Each operation of a chain is one machine instruction, as the probe counts them per iteration.
TEST_F(Nvrtc, chains_have_the_counted_instructions) {
  if (!testing::has_disassembler()) GTEST_SKIP() << "ASSAY_NVDISASM names no disassembler";
  probe::KernelShape shape{true, {32}, int64_t{48} << 10, true};
  shape.types = {"f16", "f16x2", "bf16", "bf16x2", "i8", "dot"};
  for (const std::string& name : codegen::instruction_names()) {
    const auto i = codegen::find_instruction(name);
    if (i->spellings.contains("cuda") && i->computes.c.number != ir::DType::f64 &&
        !i->computes.opaque() &&               // wmma is several
        !ir::is_float8(i->computes.a.number))  // products of f16 where a chip has no such unit
      shape.matrix.push_back(i->computes.workers() == 1 ? ir::widened(i->computes, 32)
                                                        : i->computes);
  }
  struct Chain {
    std::string kernel, instruction;
    int count;
  };
  std::vector<Chain> chains;
  for (const int n : probe::kOpChains)
    for (const auto& [op, type, instruction] : {std::tuple{"fma", ir::DType::f16, "HFMA2"},
                                                {"fma", ir::DType::f16x2, "HFMA2"},
                                                {"fma", ir::DType::bf16, "HFMA2"},
                                                {"fma", ir::DType::bf16x2, "HFMA2"},
                                                {"dot", ir::DType::i32, "IDP.4A"}}) {
      // The assembler packs single numbers of several chains into pairs: half as many instructions.
      const bool paired = n > 1 && (type == ir::DType::f16 || type == ir::DType::bf16);
      chains.push_back({probe::typed_kernel(probe::typed_name({op, type}), 32, n), instruction,
                        probe::typed_steps(n) / (paired ? 2 : 1)});
    }
  for (const ir::MatrixInstruction& i : shape.matrix) {
    const int n = probe::kMatrixChains.back();
    chains.push_back({probe::matrix_kernel(i.name, n),
                      i.k == 4 && i.m == 1           ? "IDP.4A"
                      : i.c.number == ir::DType::i32 ? "IMMA."
                                                     : "HMMA.",
                      probe::matrix_steps(n)});
  }
  const std::vector<ir::Kernel> all = probe::all_kernels(shape);
  for (const Chain& c : chains) {
    const auto k = std::find_if(all.begin(), all.end(),
                                [&](const ir::Kernel& one) { return one.name == c.kernel; });
    ASSERT_NE(k, all.end()) << c.kernel;
    const auto text = codegen::render(std::span(&*k, 1), dialect_, 32);
    ASSERT_TRUE(text.ok()) << render(text.diags());
    for (const int architecture : architectures()) {
      const auto made = compiler_->compile(*text, architecture);
      ASSERT_TRUE(made.ok()) << render(made.diags());
      // A few more instructions may set up the operands.
      const int found = testing::occurrences(made->cubin, c.instruction);
      EXPECT_GE(found, c.count) << c.kernel << " sm_" << architecture;
      EXPECT_LE(found, c.count + 4) << c.kernel << " sm_" << architecture;
    }
  }
}

// Constants are read from the constant bank, and texels by texture instructions.
TEST_F(Nvrtc, paths_have_their_own_instructions) {
  if (!testing::has_disassembler()) GTEST_SKIP() << "ASSAY_NVDISASM names no disassembler";
  struct Read {
    ir::Kernel kernel;
    int constants, texels;  // instructions that read them
  };
  const int hops = probe::kPathHops, reads = static_cast<int>(probe::kPathReads);
  for (const Read& r : {Read{probe::path_chase(ir::Space::constant, 4096, 32), hops, 0},
                        {probe::path_chase(ir::Space::image, 4096, 32), 0, hops},
                        {probe::path_chase(ir::Space::plain, 4096, 32), 0, 0},
                        {probe::path_read(4, 4096, 32), 0, reads}}) {
    const auto text = codegen::render(std::span(&r.kernel, 1), dialect_, 32);
    ASSERT_TRUE(text.ok()) << render(text.diags());
    for (const int architecture : architectures()) {
      const auto made = compiler_->compile(*text, architecture);
      ASSERT_TRUE(made.ok()) << render(made.diags());
      EXPECT_EQ(testing::occurrences(made->cubin, ", c[0x3][R"), r.constants)
          << *text << "sm_" << architecture;
      EXPECT_EQ(testing::occurrences(made->cubin, " TLD."), r.texels)
          << *text << "sm_" << architecture;
      EXPECT_EQ(testing::occurrences(made->cubin, ", 2D"), r.texels)
          << *text << "sm_" << architecture;
    }
  }
}

// apis.cuda.merged_loads: four neighbouring words are one load, one per row of the register tile.
TEST_F(Nvrtc, merges_loads_of_neighbouring_words) {
  if (!testing::has_disassembler()) GTEST_SKIP() << "ASSAY_NVDISASM names no disassembler";
  const hwdesc::Target target = target_of("nvidia/a100-sxm4-40gb");
  const auto graph = compiler::parse_operator("matmul m=2048 n=2048 k=2048");
  ASSERT_TRUE(graph.ok()) << render(graph.diags());
  const auto compiled = compiler::compile(*graph, target, {});
  ASSERT_TRUE(compiled.ok()) << render(compiled.diags());
  ASSERT_EQ(compiled->plan.programs.size(), 1U);
  const ir::Program& p = compiled->plan.programs[0];
  const lower::Counts all = model::closed_form(p), joined = model::with_merged_loads(p, 4, all);
  ASSERT_LT(joined.loads(), all.loads());
  ASSERT_EQ(p.vector_axis, 1);
  const auto kernel = lower::lower(p, target);
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  const auto text = codegen::render(std::span(&*kernel, 1), dialect_, 32);
  ASSERT_TRUE(text.ok()) << render(text.diags());
  for (const int architecture : architectures()) {
    const auto made = compiler_->compile(*text, architecture);
    ASSERT_TRUE(made.ok()) << render(made.diags());
    EXPECT_GE(testing::occurrences(made->cubin, "LDS.128"), p.tiles.back().extent[0])
        << "sm_" << architecture;
  }
}

// 272 live values are more than a thread has registers.
TEST_F(Nvrtc, keeps_live_values_live) {
  for (const Resources& r : compile(probe::live_kernel(32, 272), 32)) EXPECT_GT(r.stack_bytes, 0);
  for (const Resources& r : compile(probe::live_kernel(32, 128), 32)) EXPECT_EQ(r.stack_bytes, 0);
  for (const Resources& r : compile(probe::meet_registers_kernel(32, 128), 32))
    EXPECT_GE(r.registers, 128);
}

// Chains with equal starts, or with unused results, would be merged or removed.
TEST_F(Nvrtc, keeps_every_chain) {
  size_t seen = 0;
  for (const ir::Kernel& k : probe::all_kernels({true, {32}, int64_t{48} << 10, true})) {
    if (k.name != probe::op_name("fma", 32, 32)) continue;
    for (const Resources& r : compile(k, 32)) {
      EXPECT_GE(r.registers, 32);
      ++seen;
    }
  }
  EXPECT_EQ(seen, architectures().size());
}

TEST_F(Nvrtc, errors_have_their_place_in_the_source) {
  const auto made =
      compiler_->compile("extern \"C\" __global__ void k(float* p) {\n  *p = nothing;\n}\n", 80);
  ASSERT_FALSE(made.ok());
  const Diag& d = made.diags()[0];
  EXPECT_EQ(d.line, 2);
  EXPECT_EQ(d.col, 8);
  EXPECT_THAT(d.message, HasSubstr("identifier \"nothing\" is undefined"));
}

TEST_F(Nvrtc, reports_spills) {
  std::string body;
  for (int i = 0; i < 300; ++i)
    body += "  float a" + std::to_string(i) + " = p[" + std::to_string(i) + " * s];\n";
  body += "  for (int n = 0; n < s; ++n) {\n";
  for (int i = 0; i < 300; ++i)
    body += "    a" + std::to_string(i) + " = a" + std::to_string(i) + " * a" +
            std::to_string((i + 1) % 300) + " + n;\n";
  body += "  }\n";
  for (int i = 0; i < 300; ++i)
    body += "  p[" + std::to_string(i) + " * s] = a" + std::to_string(i) + ";\n";
  const auto made =
      compiler_->compile("extern \"C\" __global__ void k(float* p, int s) {\n" + body + "}\n", 80);
  ASSERT_TRUE(made.ok()) << render(made.diags());
  EXPECT_GT(made->resources.at("k").spill_bytes, 0);
  EXPECT_GT(made->resources.at("k").stack_bytes, 0);
  EXPECT_GT(made->resources.at("k").registers, 200);
}

TEST_F(Nvrtc, chooses_the_newest_architecture_of_a_device) {
  EXPECT_EQ(compiler_->architecture_for(80).value(), 80);
  EXPECT_EQ(compiler_->architecture_for(90).value(), 90);
  const auto none = compiler_->architecture_for(10);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(render(none.diags()), HasSubstr("compute capability 1.0"));
}

TEST_F(Nvrtc, compiles_random_operators) {
  const hwdesc::Target target = target_of("nvidia/a100-sxm4-40gb");
  const model::Machine m = *model::prepare(target);
  const char* named = std::getenv("ASSAY_TEST_EVERY");
  const int every = named == nullptr ? 1 : std::stoi(named);
  int compiled = 0;
  for (int i = 0; i < kOperators; i += every) {
    std::seed_seq seed{2026, i};  // as tests/conformance draws them
    std::mt19937 rng(seed);
    const compiler::Problem problem = test::random_problem(rng, 32);
    auto made = compiler::construct(problem, target, m, {}, {}, 2);
    ASSERT_TRUE(made.ok()) << render(made.diags());
    for (ir::Program p :
         {made->best.front().program, test::random_wave_program(problem, target, rng)}) {
      p.name = "operator_" + std::to_string(i);
      const auto kernel = lower::lower(p, target);
      ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
      compiled += static_cast<int>(compile(*kernel, 32).size());
    }
  }
  EXPECT_EQ(compiled, std::ssize(architectures()) * 2 * ((kOperators + every - 1) / every));
}

// The compiler's first choices must not spill.
TEST_F(Nvrtc, first_choices_do_not_spill) {
  for (const std::string profile : {"nvidia/a100-sxm4-40gb", "nvidia/h100-sxm5-80gb"}) {
    const hwdesc::Target target = target_of(profile);
    const model::Machine m = *model::prepare(target);
    for (const std::string text : {"matmul m=512 n=512 k=512", "matmul m=2048 n=2048 k=2048",
                                   "conv n=1 c=64 h=56 w=56 o=64 r=3 s=3 pad=1"}) {
      const auto graph = compiler::parse_operator(text);
      ASSERT_TRUE(graph.ok()) << render(graph.diags());
      const auto compiled = compiler::compile(*graph, target, {});
      ASSERT_TRUE(compiled.ok()) << render(compiled.diags());
      for (const ir::Program& p : compiled->plan.programs) {
        const auto kernel = lower::lower(p, target);
        ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
        if (text.starts_with("matmul m=2048")) {
          EXPECT_GT(kernel->waves, 1) << profile;
        }
        for (const Resources& r : compile(*kernel, 32)) {
          EXPECT_EQ(r.spill_bytes, 0) << profile << " " << text << " " << kernel->name << ": "
                                      << r.registers << " registers";
          RecordProperty((kernel->name + "_registers").c_str(), r.registers);
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::runtime::cuda
