// Tile registers of a core: printed kernels are compiled, and run on tiles that this test emulates
// as the manual describes them (Intel SDM volume 1, chapter 18): which registers, which rows, which
// strides. Where the processor has tiles, they run as they are (matrix_test.cpp).
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "ir/element.h"
#include "lower/lower.h"
#include "runtime/cpu/compiler.h"
#include "runtime/cpu/cpu_info.h"
#include "support/process/process.h"
#include "tests/lower/matrix_programs.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

constexpr int kPrograms = 8;

// Eight registers of 16 rows of 64 bytes, empty unless configured.
constexpr const char* kTiles = R"(
static unsigned char tile[8][16][64];
static int configured = 0;
static void load_tile(int t, const void* p, long stride) {
  if (configured == 0) __builtin_trap();
  for (int r = 0; r < 16; ++r) __builtin_memcpy(tile[t][r], (const char*)p + r * stride, 64);
}
static void store_tile(int t, void* p, long stride) {
  if (configured == 0) __builtin_trap();
  for (int r = 0; r < 16; ++r) __builtin_memcpy((char*)p + r * stride, tile[t][r], 64);
}
template <class A, class B> static void add_bytes(int b, int a, int c) {
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      int sum;
      __builtin_memcpy(&sum, &tile[c][m][4 * n], 4);
      for (int k = 0; k < 16; ++k)
        for (int i = 0; i < 4; ++i) sum += (A)tile[a][m][4 * k + i] * (B)tile[b][k][4 * n + i];
      __builtin_memcpy(&tile[c][m][4 * n], &sum, 4);
    }
}
static float of_bits(const unsigned char* p) {
  const unsigned bits = (unsigned)(p[0] | p[1] << 8) << 16;
  float v;
  __builtin_memcpy(&v, &bits, 4);
  return v;
}
static void add_pairs(int b, int a, int c) {
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      float sum;
      __builtin_memcpy(&sum, &tile[c][m][4 * n], 4);
      for (int k = 0; k < 16; ++k)
        for (int i = 0; i < 2; ++i)
          sum += of_bits(&tile[a][m][4 * k + 2 * i]) * of_bits(&tile[b][k][4 * n + 2 * i]);
      __builtin_memcpy(&tile[c][m][4 * n], &sum, 4);
    }
}
)";

// The text with calls of these in place of the instructions.
std::string emulated(std::string text) {
  const auto replace = [&](const char* from, const char* to) {
    text = std::regex_replace(text, std::regex(from), to);
  };
  const std::string memory = R"re( : : "r"\((.*)\), "r"\(\(int64_t\)([0-9]+)\) : "memory"\);)re";
  replace(R"re(asm volatile\("ldtilecfg %0".*;)re", "configured = 1;");
  replace(R"re(asm volatile\("tilerelease".*;)re", "configured = 0;");
  replace(R"re(asm volatile\("tilezero %%tmm([0-7])".*;)re",
          "__builtin_memset(tile[$1], 0, 1024);");
  replace((R"re(asm volatile\("tileloadd \(%0,%1,1\), %%tmm([0-7])")re" + memory).c_str(),
          "load_tile($1, $2, $3);");
  replace((R"re(asm volatile\("tilestored %%tmm([0-7]), \(%0,%1,1\)")re" + memory).c_str(),
          "store_tile($1, $2, $3);");
  const std::string three = R"re( %%tmm([0-7]), %%tmm([0-7]), %%tmm([0-7])".*;)re";
  for (const auto& [from, to] : {std::pair{"tdpbf16ps", "add_pairs($1, $2, $3);"},
                                 {"tdpbssd", "add_bytes<signed char, signed char>($1, $2, $3);"},
                                 {"tdpbusd", "add_bytes<unsigned char, signed char>($1, $2, $3);"}})
    replace((std::string(R"re(asm volatile\(")re") + from + three).c_str(), to);
  const size_t from = text.find("struct TileShapes");
  EXPECT_EQ(text.find("asm volatile(\"t"), std::string::npos) << text.substr(from, 9000);
  return text.substr(0, from) + kTiles + text.substr(from);
}

class Tiles : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (host_.device().info().id != "cpu:0") GTEST_SKIP() << "its instructions are of another kind";
    for (int i = 0; i < kPrograms; ++i) {
      programs_.push_back(test::random_matrix_program(GetParam(), target_, rng_));
      const auto kernel = lower::lower(programs_.back(), target_);
      ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
      kernels_.push_back(*kernel);
      kernels_.back().name = "product" + std::to_string(i);
    }
    const auto dialect = codegen::parse_dialect(codegen::dialect_text("cpp"), "cpp.yaml");
    ASSERT_TRUE(dialect.ok());
    const auto text = codegen::render(kernels_, *dialect, 1);
    ASSERT_TRUE(text.ok()) << render(text.diags());
    text_ = *text;
  }

  // Path of the shared object; "": it does not compile.
  std::string compile(const std::string& name, const std::string& text) {
    const auto compiler = cpu::find_compiler();
    if (!compiler) return "";
    const std::string at = (host_.folder() / name).string(), source = at + ".cpp",
                      log = at + ".log";
    std::filesystem::create_directories(host_.folder());
    std::ofstream(source) << text;
    std::vector<std::string> argv{compiler->path};
    for (const std::string& f : compiler->flags("-O2")) argv.push_back(f);
    for (const char* f : {"-shared", "-fPIC", "-x", "c++"}) argv.emplace_back(f);
    for (const std::string& f : {source, std::string("-o"), at + ".so"}) argv.push_back(f);
    const std::vector<process::Outcome> made = process::run_all({{argv, log}}, 1, nullptr);
    std::ifstream in(log);
    EXPECT_TRUE(made[0].good()) << std::string(std::istreambuf_iterator<char>(in), {});
    return made[0].good() ? at + ".so" : "";
  }

  Host host_;
  std::mt19937 rng_{41};
  const hwdesc::Target target_ = test::with_instruction(test::small_cpu(16, 2), GetParam());
  std::vector<ir::Program> programs_;
  std::vector<ir::Kernel> kernels_;
  std::string text_;
};

TEST_P(Tiles, kernels_compile) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "another assembler";
#endif
  EXPECT_NE(compile("tiles", text_), "");
}

std::vector<std::byte> bytes_of(const ir::Program& p, int tensor, const std::vector<float>& v) {
  return ir::bytes_of_doubles(p.graph.tensors[static_cast<size_t>(tensor)].dtype,
                              std::vector<double>(v.begin(), v.end()));
}

TEST_P(Tiles, kernels_compute_their_products_on_emulated_tiles) {
  const std::string object = compile("emulated", emulated(text_));
  ASSERT_NE(object, "");
  void* library = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (size_t i = 0; i < programs_.size(); ++i) {
    const ir::Program& p = programs_[i];
    const auto inputs = test::small_inputs(p.graph, rng_);
    const std::vector<int> tensors = ir::arguments_of(p);
    std::vector<std::vector<std::byte>> data;
    for (const std::vector<float>& a : test::arguments_for(p, inputs))
      data.push_back(bytes_of(p, tensors[data.size()], a));
    std::vector<void*> args;
    for (std::vector<std::byte>& d : data) args.push_back(d.data());
    std::vector<std::byte> room(static_cast<size_t>(codegen::scratch_bytes(kernels_[i])) + 64,
                                std::byte{0xff});
    void* scratch = room.data();
    size_t left = room.size();
    std::align(64, left - 64, scratch, left);
    using Entry = void (*)(void* const*, void*, int64_t, int64_t);
    const auto entry = reinterpret_cast<Entry>(dlsym(library, kernels_[i].name.c_str()));
    ASSERT_NE(entry, nullptr);
    entry(args.data(), scratch, 0, kernels_[i].groups);
    const std::vector<double> out =
        ir::doubles_of(p.graph.tensors[static_cast<size_t>(tensors.back())].dtype, data.back());
    const test::Comparison c = test::compare_output(p, inputs, {out.begin(), out.end()});
    ASSERT_EQ(c.fault, "");
    ASSERT_LE(c.difference, test::tolerance(p))
        << ir::print_program(p) << ir::print_kernel(kernels_[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(of_every_kind, Tiles,
                         ::testing::Values("amx.tdpbf16ps.m16n16k32.bf16.f32",
                                           "amx.tdpbssd.m16n16k64.i8.i32",
                                           "amx.tdpbusd.m16n16k64.u8.i32"));

TEST(TileFeatures, are_there_where_the_system_permits_them) {
  EXPECT_EQ(cpu::usable_features("avx512_bf16 amx_bf16 amx_tile amx_int8 sve", false),
            "avx512_bf16 sve");
  EXPECT_EQ(cpu::usable_features("avx512_bf16 amx_bf16 amx_tile", true),
            "avx512_bf16 amx_bf16 amx_tile");
  EXPECT_EQ(cpu::usable_features("", true), "");
}

}  // namespace
}  // namespace assay::runtime
