// Floats of 8 bits, against the tables of "FP8 Formats for Deep Learning" (Micikevicius et al.,
// 2022) and ONNX's rules for Cast.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ir/element.h"

namespace assay::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double of_code(DType t, int code) {
  const auto byte = static_cast<std::byte>(code);
  return load_element(t, &byte);
}

int code_of(DType t, double v) {
  std::byte byte{};
  store_element(t, &byte, v);
  return std::to_integer<int>(byte);
}

TEST(Float8, codes_are_those_of_the_paper) {
  EXPECT_EQ(of_code(DType::f8e4m3, 0x7e), 448);
  EXPECT_EQ(of_code(DType::f8e4m3, 0x08), 0x1p-6);
  EXPECT_EQ(of_code(DType::f8e4m3, 0x07), 0.875 * 0x1p-6);
  EXPECT_EQ(of_code(DType::f8e4m3, 0x01), 0x1p-9);
  EXPECT_EQ(of_code(DType::f8e4m3, 0x38), 1);
  EXPECT_EQ(of_code(DType::f8e4m3, 0xb9), -1.125);
  EXPECT_TRUE(std::isnan(of_code(DType::f8e4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(of_code(DType::f8e4m3, 0xff)));
  EXPECT_EQ(of_code(DType::f8e5m2, 0x7b), 57344);
  EXPECT_EQ(of_code(DType::f8e5m2, 0x04), 0x1p-14);
  EXPECT_EQ(of_code(DType::f8e5m2, 0x03), 0.75 * 0x1p-14);
  EXPECT_EQ(of_code(DType::f8e5m2, 0x01), 0x1p-16);
  EXPECT_EQ(of_code(DType::f8e5m2, 0x3c), 1);
  EXPECT_EQ(of_code(DType::f8e5m2, 0xfc), -kInfinity);
  for (const int nan : {0x7d, 0x7e, 0x7f}) EXPECT_TRUE(std::isnan(of_code(DType::f8e5m2, nan)));
}

TEST(Float8, stores_round_to_even_and_saturate) {
  EXPECT_EQ(rounded(DType::f8e4m3, 1.0625), 1) << "halfway between 1 and 1.125";
  EXPECT_EQ(rounded(DType::f8e4m3, 1.1875), 1.25) << "halfway between 1.125 and 1.25";
  EXPECT_EQ(rounded(DType::f8e4m3, 1.99), 2);
  EXPECT_EQ(rounded(DType::f8e4m3, 0x1p-10), 0);
  EXPECT_EQ(rounded(DType::f8e4m3, 0x1.8p-9), 0x1p-8);
  for (const double v : {449.0, 464.0, 479.0, 480.0, 1e30, kInfinity}) {
    EXPECT_EQ(rounded(DType::f8e4m3, v), 448) << v;
    EXPECT_EQ(rounded(DType::f8e4m3, -v), -448) << v;
  }
  EXPECT_EQ(rounded(DType::f8e5m2, 1.125), 1);
  EXPECT_EQ(rounded(DType::f8e5m2, 1.375), 1.5);
  EXPECT_EQ(rounded(DType::f8e5m2, 61440), 57344);
  EXPECT_EQ(rounded(DType::f8e5m2, kInfinity), 57344);
  EXPECT_EQ(rounded(DType::f8e5m2, 0x1p-17), 0);
  for (const DType t : {DType::f8e4m3, DType::f8e5m2}) {
    EXPECT_TRUE(std::isnan(rounded(t, std::numeric_limits<double>::quiet_NaN())));
    EXPECT_EQ(code_of(t, -0.0), 0x80);
    EXPECT_EQ(code_of(t, 0.0), 0);
    EXPECT_TRUE(is_small_float(t));
    EXPECT_EQ(accumulation_of(t), DType::f32);
    EXPECT_TRUE(packs(DType::i32, t));
    EXPECT_EQ(parse_dtype(name_of(t)), t);
  }
}

// The nearest of all 256, found by looking at each.
TEST(Float8, stores_the_nearest) {
  std::mt19937 rng(8);
  for (const DType t : {DType::f8e4m3, DType::f8e5m2}) {
    const double most = t == DType::f8e4m3 ? 448 : 57344;
    std::uniform_real_distribution<double> exponent(-18, std::log2(most)), unit(1, 2);
    for (int i = 0; i < 20000; ++i) {
      const double v =
          std::min(most, unit(rng) * std::exp2(std::floor(exponent(rng)))) * (i % 2 != 0 ? 1 : -1);
      double best = kInfinity;
      for (int code = 0; code < 256; ++code) {
        const double x = of_code(t, code);
        if (std::isfinite(x)) best = std::min(best, std::abs(x - v));
      }
      ASSERT_EQ(std::abs(rounded(t, v) - v), best) << v;
    }
    for (int code = 0; code < 256; ++code)
      if (const double x = of_code(t, code); std::isfinite(x)) {
        ASSERT_EQ(code_of(t, x), code) << x;
      }
  }
}

TEST(Float8, words_of_four_are_packed) {
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits = pack(DType::f8e4m3, bits, i, i + 0.5);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(unpack(DType::f8e4m3, bits, i), i + 0.5);
  EXPECT_EQ(bits & 0xff, 0x30U);
  EXPECT_EQ(pack(DType::f8e5m2, 0, 1, -kInfinity), 0xfc00U) << "as it is";
}

}  // namespace
}  // namespace assay::ir
