// Elements of i8, u8 and i32 whose loads, stores and registers convert, in the interpreter; how
// they are printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/interpret.h"
#include "ir/element.h"
#include "tests/codegen/integer_kernels.h"
#include "tests/codegen/printed.h"

namespace assay::codegen {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;
using Buffers = std::vector<std::vector<double>>;

constexpr size_t kN = 1021;

TEST(Integers, the_interpreter_loads_every_element) {
  std::mt19937 rng(3);
  std::uniform_int_distribution<int> any(0, static_cast<int>(kN) - 1);
  for (const Pair& p : integer_pairs())
    for (const int lanes : {3, 16}) {
      const std::vector<double> x = all_whole(p.stored, rng, kN);
      std::vector<int> at(kN);
      for (int& i : at) i = any(rng);
      Buffers data = {x, {at.begin(), at.end()}};
      data.resize(2 + kReads, std::vector<double>(kN, static_cast<double>(kUntouched)));
      const auto counts =
          interpret(computed_in(reads_kernel(p.stored, lanes, kN), p.computed), data);
      ASSERT_TRUE(counts.ok()) << render(counts.diags());
      for (int r = 0; r < kReads; ++r)
        for (size_t i = 0; i < kN; ++i)
          ASSERT_EQ(data[static_cast<size_t>(2 + r)][i],
                    whole_read_at(p, static_cast<ReadForm>(r), x, at, lanes, i))
              << ir::name_of(p.stored) << " as " << ir::name_of(p.computed) << " read " << r
              << " element " << i;
    }
}

TEST(Integers, the_interpreter_stores_the_nearest_elements) {
  std::mt19937 rng(4);
  for (const Pair& p : integer_pairs()) {
    const std::vector<double> w = all_whole(p.stored, rng, kN), v = values_to_store(p, rng, kN);
    Buffers data = {v, w};
    for (int o = 0; o < kWrites; ++o)
      data.emplace_back(kN * (o == kScattered ? 2 : 1), static_cast<double>(kUntouched));
    const auto counts = interpret(computed_in(writes_kernel(p.stored, 16, kN), p.computed), data);
    ASSERT_TRUE(counts.ok()) << render(counts.diags());
    for (int o = 0; o < kWrites; ++o)
      for (size_t i = 0; i < data[static_cast<size_t>(2 + o)].size(); ++i)
        ASSERT_EQ(data[static_cast<size_t>(2 + o)][i],
                  whole_written_at(p, static_cast<WriteForm>(o), v, w, 16, i))
            << ir::name_of(p.computed) << " to " << ir::name_of(p.stored) << " write " << o
            << " element " << i << " of " << v[o == kScattered ? i / 2 : i];
  }
}

TEST(Integers, the_interpreter_converts_registers) {
  std::mt19937 rng(5);
  constexpr size_t kMany = 1024;
  const std::vector<double> v = values_to_store({DType::i32, DType::f32}, rng, kMany),
                            w = all_whole(DType::i32, rng, kMany);
  Buffers data = {v, w};
  data.resize(6, std::vector<double>(kMany));
  const auto counts = interpret(register_conversions(16, kMany), data);
  ASSERT_TRUE(counts.ok()) << render(counts.diags());
  for (int o = 2; o < 6; ++o)
    for (size_t i = 0; i < kMany; ++i)
      ASSERT_EQ(data[static_cast<size_t>(o)][i], register_converted(o, v[i], w[i]))
          << o << " of " << v[i] << ", " << w[i];
}

TEST(Integers, arithmetic_on_u8_wraps) {
  Buffers data = {{250}, {9}, {0}, {0}};
  const auto counts = interpret(ternary("sum", ValueOp::add, DType::u8, 1, 1), data);
  ASSERT_TRUE(counts.ok()) << render(counts.diags());
  EXPECT_EQ(data[3][0], 3);
}

TEST(Integers, what_converts) {
  using D = DType;
  for (const D from : {D::f32, D::f64, D::f16, D::bf16, D::i8, D::u8, D::i32, D::i64, D::boolean})
    for (const D to : {D::f32, D::f64, D::f16, D::bf16, D::i8, D::u8, D::i32, D::i64}) {
      const bool small = from == D::i8 || from == D::u8;
      const bool expected = (small && (to == D::i32 || to == D::f32)) ||
                            ((from == D::i32 || from == D::f16 || from == D::bf16) && to == D::f32);
      EXPECT_EQ(ir::converts(from, to), expected) << ir::name_of(from) << ir::name_of(to);
    }
}

TEST(Integers, registers_convert_between_i32_and_f32_only) {
  Kernel k = register_conversions(16, 64);
  EXPECT_TRUE(verify(k).empty()) << render(verify(k));
  Value& value = std::get<Store>(k.body[2].node).value;
  value.args[0].dtype = DType::i8;
  value.args[0].id = 5;
  EXPECT_THAT(render(verify(k)), HasSubstr("u8"));
  Kernel other = register_conversions(16, 64);
  std::get<Store>(other.body[2].node).value.dtype = DType::i64;
  EXPECT_THAT(render(verify(other)), HasSubstr("registers are converted between i32 and f32 only"));
}

TEST(Integers, the_listing_says_what_converts) {
  const std::string text = print_kernel(register_conversions(16, 64));
  EXPECT_THAT(text, HasSubstr("to_i32[16*group] = i32x16(f32x16 v[16*group])\n"));
  EXPECT_THAT(text, HasSubstr("rounded[16*group] = round(f32x16 v[16*group])\n"));
  EXPECT_THAT(text, HasSubstr("scaled[16*group] as u8 = mul(f32x16("));
  EXPECT_THAT(print_kernel(computed_in(reads_kernel(DType::u8, 16, 40), DType::i32)),
              HasSubstr("i32x16 from u8 x[16*group]\n"));
}

TEST(Integers, every_dialect_spells_it) {
  for (const std::string& name : dialect_names()) {
    const auto d = parse_dialect(dialect_text(name), name);
    ASSERT_TRUE(d.ok());
    std::vector<Kernel> all = {register_conversions(16, 64)};
    for (const Pair& p : integer_pairs()) {
      all.push_back(computed_in(reads_kernel(p.stored, 16, 40), p.computed));
      all.push_back(computed_in(writes_kernel(p.stored, 16, 40), p.computed));
    }
    for (const Kernel& k : all) {
      const auto text = codegen::render(std::vector{k}, *d, name == "cuda" ? 16 : 1);
      EXPECT_TRUE(text.ok()) << name << render(text.diags());
    }
  }
}

TEST(Integers, a_dialect_without_the_keys_refuses_with_a_reason) {
  auto d = parse_dialect(dialect_text("cpp"), "cpp.yaml");
  ASSERT_TRUE(d.ok());
  d->types.at(DType::i32).loaded.reset();
  d->types.at(DType::u8).stored.reset();
  const auto text = codegen::render(std::vector{register_conversions(16, 64)}, *d);
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(render(text.diags()),
              AllOf(HasSubstr("loads of i32 as f32: types.i32.loaded is not in it"),
                    HasSubstr("stores of f32 to u8: types.u8.stored is not in it")));
}

// Storage alone: no arithmetic on 8 bits is asked for.
TEST(Integers, what_glsl_says) {
  EXPECT_THAT(printed_in(computed_in(writes_kernel(DType::i8, 16, 40), DType::i32), "glsl"),
              AllOf(HasSubstr("int8_t p1_w[]"), HasSubstr("GL_EXT_shader_8bit_storage"),
                    ::testing::Not(HasSubstr("explicit_arithmetic_types_int8"))));
}

TEST(Integers, conversion_rounds_to_even_and_saturates) {
  EXPECT_EQ(ir::converted(DType::i8, 2.5), 2);
  EXPECT_EQ(ir::converted(DType::i8, -200), -128);
  EXPECT_EQ(ir::converted(DType::u8, 254.5), 254);
  EXPECT_EQ(ir::converted(DType::u8, -0.75), 0);
  EXPECT_EQ(ir::converted(DType::i32, 3e9), 2147483647);
  EXPECT_EQ(ir::converted(DType::f32, 16777217), 16777216);
  EXPECT_EQ(ir::rounded(DType::i8, 2.75), 2);  // a graph's constants are cut off
}

}  // namespace
}  // namespace assay::codegen
