// Instruction files and their errors, and the semantics of instructions: compared
// with a plain product of matrices.
#include "codegen/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "codegen/dialect.h"
#include "codegen/interpret.h"
#include "codegen/render.h"
#include "hwdesc/library.h"
#include "ir/element.h"
#include "tests/codegen/matrix_kernel.h"

namespace assay::codegen {
namespace {

using ir::DType;
using ::testing::HasSubstr;
using testing::single;

TEST(Isa, all_of_the_library_parse_and_are_named_as_their_files) {
  EXPECT_THAT(instruction_names(), ::testing::Contains("sm80.mma.m16n8k16.f16.f32"));
  for (const std::string& name : instruction_names()) {
    const auto i = find_instruction(name);
    ASSERT_TRUE(i.ok()) << render(i.diags());
    EXPECT_EQ(i->computes.name, name);
    EXPECT_TRUE(i->computes.has_fragments() || i->spellings.empty()) << name;
  }
  EXPECT_THAT(render(find_instruction("sm80.mma.m16n8k16.f16.f33").diags()),
              HasSubstr("did you mean 'sm80.mma.m16n8k16.f16.f32'?"));
}

TEST(Isa, every_instruction_of_a_profile_has_shape_and_types) {
  int seen = 0;
  for (const hwdesc::LibraryEntry& e : hwdesc::library()) {
    if (e.kind != hwdesc::LibraryKind::profile) continue;
    const auto profile = hwdesc::load_from_library(e.name);
    ASSERT_TRUE(profile.ok()) << render(profile.diags());
    for (const hwdesc::Instruction& use : profile->instructions) {
      ASSERT_TRUE(use.use.starts_with("isa/")) << e.name << ": " << use.use;
      const auto i = find_instruction(use.use.substr(4));
      ASSERT_TRUE(i.ok()) << e.name << ": " << render(i.diags());
      const ir::MatrixInstruction& c = i->computes;
      EXPECT_GT(c.m * c.n * c.k, c.has_fragments() ? c.workers() : 15) << c.name;
      EXPECT_EQ(ir::is_integer(c.a.number), ir::is_integer(c.c.number)) << c.name;
      EXPECT_GE(ir::bytes_of(c.c.number), ir::bytes_of(c.a.number)) << c.name;
      EXPECT_TRUE(use.rate.known()) << e.name << ": " << c.name;
      ++seen;
    }
  }
  EXPECT_GE(seen, 30);
}

std::string complaints(const std::string& from, const std::string& to,
                       const char* name = "sm80.mma.m16n8k16.f16.f32") {
  std::string text(instruction_text(name));
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto i = parse_instruction(text.replace(at, from.size(), to), "i.yaml");
  return i.ok() ? "" : render(i.diags());
}

TEST(Isa, faults_are_named_with_their_place) {
  EXPECT_THAT(
      complaints("shape: {m: 16", "shape: {mm: 16"),
      AllOf(HasSubstr("i.yaml:20:9"), HasSubstr("unknown key 'mm'"), HasSubstr("'m' is missing")));
  EXPECT_THAT(complaints("m: 16", "m: 0"), HasSubstr("'0', expected a number from 1 to 1024"));
  EXPECT_THAT(complaints("n: 8", "n: 16"),
              AllOf(HasSubstr("i.yaml:23:"),
                    HasSubstr("the mapping is of a matrix of 16 x 8, expected 16 x 16")));
  EXPECT_THAT(complaints("dtype: f16, in: f16x2", "dtype: f17, in: f16x2"),
              HasSubstr("unknown element type 'f17'"));
  EXPECT_THAT(complaints("dtype: f16, in: f16x2", "dtype: f16, in: bf16x2"),
              HasSubstr("elements of type bf16x2 do not hold f16"));
  EXPECT_THAT(complaints("dtype: f16, in: f16x2", "dtype: f16x2"),
              HasSubstr("f16x2 holds two numbers"));
  EXPECT_THAT(
      complaints("repeat(1, 2) * repeat(2, 1) * spatial(8, 4)",
                 "repeat(1, 4) * repeat(2, 1) * spatial(8, 2)", "sm80.mma.m16n8k8.tf32.f32"),
      HasSubstr("it is held by 16 workers, c by 32"));
  EXPECT_THAT(complaints("repeat(1, 2) * repeat(2, 1)", "repeat(1, 2) * repat(2, 1)"),
              HasSubstr("did you mean 'repeat'?"));
  EXPECT_THAT(
      complaints(", mapping: \"repeat(1, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)\"", ""),
      AllOf(HasSubstr("i.yaml:21:"), HasSubstr("only some have a mapping")));
  EXPECT_THAT(complaints("({d3})", "({d4})"),
              AllOf(HasSubstr("unknown hole {d4}"), HasSubstr("{d3} is missing in the text")));
  EXPECT_THAT(complaints("  cuda:", "  cudda:"),
              AllOf(HasSubstr("there is no dialect 'cudda'"), HasSubstr("did you mean 'cuda'?")));
  EXPECT_THAT(complaints("schema: assay/isa/1", "schema: assay/isa/2"),
              HasSubstr("'assay/isa/2', expected one of: assay/isa/1"));
}

// Runs that do not cover their fragment, share lanes, or have no text.
TEST(Isa, faults_of_runs_are_named) {
  EXPECT_THAT(complaints("spatial_by_column(16, 2)", "spatial_by_column(16, 3)"),
              AllOf(HasSubstr("i.yaml:22:13"),
                    HasSubstr("16 x 3 runs, where the fragment has 16 lines of 16 elements")));
  EXPECT_THAT(complaints("by_row: \"spatial(16, 1)\"", "by_row: \"spatial(8, 1)\""),
              HasSubstr("8 x 1 runs, where the fragment has 16 lines of 8 elements"));
  EXPECT_THAT(complaints("by_row: \"spatial(16, 1)\"", "by_row: \"repeat(2, 1) * spatial(8, 1)\""),
              HasSubstr("each run has a lane of its own"));
  EXPECT_THAT(complaints("spatial_by_column(16, 2)", "spatial_by_column(16, 4)"),
              HasSubstr("64 runs, of 32 lanes"));
  EXPECT_THAT(complaints("    b_by_row:", "    b_by_rows:"), HasSubstr("did you mean 'b_by_row'?"));
  EXPECT_THAT(complaints("by_row: \"spatial(16, 1)\", ", ""),
              HasSubstr("the operand has no such runs"));
}

// A wave's loads deal the elements of runs as the mapping says: written out by hand for lane 5.
TEST(Isa, runs_are_dealt_to_registers) {
  const ir::Fragment b = find_instruction("sm80.mma.m16n8k16.f16.f32")->computes.b;
  EXPECT_EQ(ir::run_elements(b, true), 8);
  EXPECT_EQ(ir::run_elements(b, false), 8);
  std::vector<double> matrix;
  for (int i = 0; i < 16 * 8; ++i) matrix.push_back(i);
  const std::vector<double> registers = ir::registers_of(b, matrix);
  ASSERT_EQ(registers.size(), 64U);
  // Lane 5 holds rows 2 and 3, then 10 and 11, of column 1.
  const auto number = [&](size_t at, int place) {
    return ir::unpack(DType::f16, ir::bits_of(DType::f16x2, registers[at]), place);
  };
  EXPECT_EQ(number(5, 0), 2 * 8 + 1);
  EXPECT_EQ(number(5, 1), 3 * 8 + 1);
  EXPECT_EQ(number(32 + 5, 0), 10 * 8 + 1);
  EXPECT_EQ(number(32 + 5, 1), 11 * 8 + 1);
}

TEST(Isa, without_mappings_it_is_priced_only) {
  const std::string text =
      "schema: assay/isa/1\nname: array\nshape: {m: 64, n: 256, k: 16}\n"
      "a: {dtype: bf16}\nb: {dtype: bf16}\nc: {dtype: f32}\n";
  const auto i = parse_instruction(text, "i.yaml");
  ASSERT_TRUE(i.ok()) << render(i.diags());
  EXPECT_FALSE(i->computes.has_fragments());
  EXPECT_EQ(i->computes.n, 256);
  EXPECT_EQ(i->computes.a.number, DType::bf16);
  EXPECT_EQ(i->computes.c.number, DType::f32);
  EXPECT_THAT(render(parse_instruction(text + "spellings: {cuda: {text: ''}}\n", "i.yaml").diags()),
              AllOf(HasSubstr("i.yaml:7:12"),
                    HasSubstr("a text names the registers of a, b and c, which have no mappings"),
                    HasSubstr("priced only")));
}

TEST(Isa, needs_are_numbers_or_words) {
  const std::vector<std::pair<std::string, std::string>> facts = {
      {"capability", "9.0"}, {"features", "avx512_vnni avx512_bf16"}};
  EXPECT_TRUE(has_needs({{"capability", "8.0"}}, facts));
  EXPECT_FALSE(has_needs({{"capability", "10.0"}}, facts));
  EXPECT_TRUE(has_needs({{"features", "avx512_bf16"}}, facts));
  EXPECT_FALSE(has_needs({{"features", "avx512"}}, facts));
  EXPECT_FALSE(has_needs({{"other", "1"}}, facts));
}

// Where an operand holds an element.
struct Place {
  int lane, reg, in_reg;
};

// Lane 4 g + t of a wave, as in the PTX ISA (Matrix Fragments for mma).
struct Mma {
  static Place a(int row, int k, int per) {
    return {4 * (row % 8) + k / per % 4, row / 8 + 2 * (k / (4 * per)), k % per};
  }
  static Place b(int k, int n, int per) { return {4 * n + k / per % 4, k / (4 * per), k % per}; }
  static Place c(int row, int n, int per) {
    return per == 1 ? Place{4 * (row % 8) + n / 2, n % 2 + 2 * (row / 8), 0}
                    : Place{4 * (row % 8) + n / 2, row / 8, n % 2};
  }
};

// 32 x 32, as in AMD's CDNA ISA documents: two halves of a wave share the reduction.
struct Mfma {
  int half;  // steps of the reduction that one half has
  Place a(int row, int k, int per) const {
    return {row + 32 * (k / half), k % half / per, k % per};
  }
  Place b(int k, int n, int per) const { return a(n, k, per); }
  static Place c(int row, int n, int) {
    return {n + 32 * (row / 4 % 2), 4 * (row / 8) + row % 4, 0};
  }
};

// 2 x 2 in 128 bits, as in Arm's manual: rows of a and columns of b lie one after the other.
struct Mmla {
  static Place a(int row, int k, int per) { return {2 * row + k / per, 0, k % per}; }
  static Place b(int k, int n, int per) { return a(n, k, per); }
  static Place c(int row, int n, int) { return {2 * row + n, 0, 0}; }
};

// A row of a in all lanes, a column of b in each: as an outer product.
struct Outer {
  static Place b(int k, int n, int) { return {n, 0, k}; }
  static Place c(int, int n, int) { return {n, 0, 0}; }
};

// 16 x 16 in a wave of 32, as AMD publishes it of RDNA 3: both halves have the same rows of a and
// columns of b; a register of d is two rows.
struct Wmma {
  static Place a(int row, int k, int per, int half) { return {row + 16 * half, k / per, k % per}; }
  static Place c(int row, int n, int) { return {n + 16 * (row % 2), row / 2, 0}; }
};

enum class Family { mma, mfma, mmla, wmma, outer };
Family family_of(const std::string& name) {
  if (name.find(".mma.") != std::string::npos) return Family::mma;
  if (name.find(".mfma.") != std::string::npos) return Family::mfma;
  if (name.find(".wmma.") != std::string::npos) return Family::wmma;
  return name.find("mmla.") != std::string::npos ? Family::mmla : Family::outer;
}

std::vector<Place> places_of_a(const ir::MatrixInstruction& i, int row, int k) {
  const int per = i.a.per_register();
  std::vector<Place> all;
  switch (family_of(i.name)) {
    case Family::mma:
      return {Mma::a(row, k, per)};
    case Family::mfma:
      return {Mfma{i.k / 2}.a(row, k, per)};
    case Family::mmla:
      return {Mmla::a(row, k, per)};
    case Family::wmma:
      return {Wmma::a(row, k, per, 0), Wmma::a(row, k, per, 1)};
    case Family::outer:
      for (int l = 0; l < i.workers(); ++l) all.push_back({l, 0, k});
  }
  return all;
}

std::vector<Place> places_of_b(const ir::MatrixInstruction& i, int k, int n) {
  const int per = i.b.per_register();
  switch (family_of(i.name)) {
    case Family::mma:
      return {Mma::b(k, n, per)};
    case Family::mfma:
      return {Mfma{i.k / 2}.b(k, n, per)};
    case Family::mmla:
      return {Mmla::b(k, n, per)};
    case Family::wmma:
      return {Wmma::a(n, k, per, 0), Wmma::a(n, k, per, 1)};
    case Family::outer:
      break;
  }
  return {Outer::b(k, n, per)};
}

Place place_of_c(const ir::MatrixInstruction& i, int row, int n) {
  const int per = i.c.per_register();
  switch (family_of(i.name)) {
    case Family::mma:
      return Mma::c(row, n, per);
    case Family::mfma:
      return Mfma::c(row, n, per);
    case Family::mmla:
      return Mmla::c(row, n, per);
    case Family::wmma:
      return Wmma::c(row, n, per);
    case Family::outer:
      break;
  }
  return Outer::c(row, n, per);
}

double any_number(const ir::Fragment& f, std::mt19937& rng) {
  if (f.number == DType::u8) return std::uniform_int_distribution<int>(0, 255)(rng);
  if (ir::is_integer(f.number)) return std::uniform_int_distribution<int>(-128, 127)(rng);
  return ir::rounded(f.number, std::uniform_real_distribution<double>(-2, 2)(rng));
}

double as_read(const ir::Fragment& f, double v) {
  if (!f.tf32) return v;
  int exponent = 0;
  const double fraction = std::frexp(v, &exponent);  // 11 bits of it are left
  return std::ldexp(std::trunc(std::ldexp(fraction, 11)), exponent - 11);
}

void put(std::vector<double>& registers, const ir::Fragment& f, int lanes, const Place& p,
         double v) {
  double& at = registers[static_cast<size_t>(p.reg * lanes + p.lane)];
  if (f.per_register() == 1)
    at = v;
  else {
    const auto bits =
        ir::pack(f.number, static_cast<uint32_t>(static_cast<int64_t>(at)), p.in_reg, v);
    at = f.element == DType::i32 ? static_cast<double>(static_cast<int32_t>(bits))
                                 : static_cast<double>(bits);
  }
}

double get(const std::vector<double>& registers, const ir::Fragment& f, int lanes, const Place& p) {
  const double at = registers[static_cast<size_t>(p.reg * lanes + p.lane)];
  return f.per_register() == 1
             ? at
             : ir::unpack(f.number, static_cast<uint32_t>(static_cast<int64_t>(at)), p.in_reg);
}

TEST(Isa, instructions_multiply_matrices) {
  std::mt19937 rng(3);
  std::set<Family> checked;
  for (const std::string& name : instruction_names()) {
    const auto parsed = find_instruction(name);
    ASSERT_TRUE(parsed.ok()) << render(parsed.diags());
    if (!parsed->computes.has_fragments() || parsed->computes.opaque()) continue;
    const ir::MatrixInstruction i = parsed->computes;
    const int lanes = i.workers();
    std::vector<std::vector<double>> data;
    for (const ir::Fragment* f : {&i.a, &i.b, &i.c, &i.c})
      data.emplace_back(static_cast<size_t>(f->registers() * lanes), 0.0);
    std::map<std::pair<int, int>, double> a, b, c;
    for (int row = 0; row < i.m; ++row)
      for (int k = 0; k < i.k; ++k) {
        const double v = a[{row, k}] = any_number(i.a, rng);
        for (const Place& p : places_of_a(i, row, k)) put(data[0], i.a, lanes, p, v);
      }
    for (int k = 0; k < i.k; ++k)
      for (int n = 0; n < i.n; ++n) {
        const double v = b[{k, n}] = any_number(i.b, rng);
        for (const Place& p : places_of_b(i, k, n)) put(data[1], i.b, lanes, p, v);
      }
    for (int row = 0; row < i.m; ++row)
      for (int n = 0; n < i.n; ++n)
        put(data[2], i.c, lanes, place_of_c(i, row, n), c[{row, n}] = any_number(i.c, rng));
    const auto counts = interpret(single(i), data);
    ASSERT_TRUE(counts.ok()) << render(counts.diags());
    EXPECT_EQ(counts->matrix, 1);
    for (int row = 0; row < i.m; ++row)
      for (int n = 0; n < i.n; ++n) {
        double expected = c[{row, n}];
        for (int k = 0; k < i.k; ++k)
          expected += as_read(i.a, a[{row, k}]) * as_read(i.b, b[{k, n}]);
        const double found = get(data[3], i.c, lanes, place_of_c(i, row, n));
        ASSERT_EQ(found, ir::is_integer(i.c.number) ? expected : ir::rounded(i.c.number, expected))
            << name << " " << row << ", " << n;
      }
    checked.insert(family_of(name));
  }
  EXPECT_EQ(checked.size(), 5U);
}

// A wave of any width: lane l has column l, and all have the same row.
TEST(Isa, a_fragment_of_a_single_lane_is_widened_to_waves) {
  std::mt19937 rng(5);
  const ir::MatrixInstruction one = find_instruction("lane.dot.m1n1k4.i8.i32")->computes;
  EXPECT_EQ(one.workers(), 1);
  EXPECT_EQ(ir::widened(one, 1), one);
  const ir::MatrixInstruction mma = find_instruction("sm80.mma.m16n8k16.f16.f32")->computes;
  EXPECT_EQ(ir::widened(mma, 64), mma);
  for (const int lanes : {2, 7, 32}) {
    const ir::MatrixInstruction i = ir::widened(one, lanes);
    EXPECT_EQ(i.n, lanes);
    EXPECT_EQ(i.workers(), lanes);
    std::vector<std::vector<double>> data(4, std::vector<double>(static_cast<size_t>(lanes), 0));
    std::vector<double> expected(static_cast<size_t>(lanes), 0);
    std::vector<double> row(4);
    for (double& v : row) v = any_number(one.a, rng);
    for (int l = 0; l < lanes; ++l) {
      const auto lane = static_cast<size_t>(l);
      expected[lane] = data[2][lane] = any_number(one.c, rng);
      for (int k = 0; k < 4; ++k) {
        const double v = any_number(one.b, rng);
        put(data[0], i.a, lanes, {l, 0, k}, row[static_cast<size_t>(k)]);
        put(data[1], i.b, lanes, {l, 0, k}, v);
        expected[lane] += row[static_cast<size_t>(k)] * v;
      }
    }
    ASSERT_TRUE(interpret(single(i), data).ok());
    EXPECT_EQ(data[3], expected);
  }
}

TEST(Isa, a_kernel_is_printed_if_its_file_has_the_text) {
  const auto render_in = [](const std::string& dialect, const std::string& name, int threads) {
    const auto d = parse_dialect(dialect_text(dialect), dialect);
    const ir::Kernel k = single(find_instruction(name)->computes);
    return codegen::render(std::span(&k, 1), *d, threads);
  };
  const auto cuda = render_in("cuda", "sm80.mma.m16n8k16.f16.f32", 32);
  ASSERT_TRUE(cuda.ok()) << render(cuda.diags());
  EXPECT_THAT(*cuda,
              HasSubstr("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}"));
  EXPECT_THAT(
      render(render_in("glsl", "sm80.mma.m16n8k16.f16.f32", 32).diags()),
      HasSubstr("dialect 'glsl' can not spell matrix instruction 'sm80.mma.m16n8k16.f16.f32'"));
  EXPECT_THAT(render(render_in("cuda", "sm80.mma.m16n8k16.f16.f32", 16).diags()),
              HasSubstr("vectors of 32 elements can not be dealt to 16 threads"));
  const auto cpp = render_in("cpp", "avx512bf16.dot.m1n16k2.bf16.f32", 1);
  ASSERT_TRUE(cpp.ok()) << render(cpp.diags());
  EXPECT_THAT(*cpp, HasSubstr("vdpbf16ps"));
}

TEST(Isa, registers_that_do_not_fit_are_refused) {
  ir::Kernel k = single(find_instruction("sm80.mma.m16n8k16.f16.f32")->computes);
  for (ir::Stmt& s : k.body)
    if (auto* m = std::get_if<ir::MatrixMultiply>(&s.node)) {
      m->a.pop_back();
      m->b[0] = m->c[0];
      m->instruction = 0;
    }
  const std::string faults = render(ir::verify(k));
  EXPECT_THAT(faults, HasSubstr("sm80.mma.m16n8k16.f16.f32 has 4 registers of a, was given 3"));
  EXPECT_THAT(faults, HasSubstr("register 'c0' is no part of b"));
}

}  // namespace
}  // namespace assay::codegen
