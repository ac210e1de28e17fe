// The interpreter on f16, bf16, i8, pairs and bytes of words, against a reference of its own.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "codegen/interpret.h"
#include "tests/codegen/narrow_reference.h"

namespace assay::codegen {
namespace {

using ir::DType;
using ir::ValueOp;
using testing::Format;
using Buffers = std::vector<std::vector<double>>;

constexpr ValueOp kOps[] = {ValueOp::add,  ValueOp::sub,   ValueOp::mul, ValueOp::div,
                            ValueOp::fma,  ValueOp::neg,   ValueOp::max, ValueOp::min,
                            ValueOp::less, ValueOp::select};
constexpr int64_t kNumbers = 40'000;

// Random bits without infinities and NaN. A third have similar magnitudes, where rounding is hard.
std::vector<double> random_numbers(const Format& f, std::mt19937& rng) {
  std::uniform_int_distribution<int> any(0, f.count() - 1),
      near(f.count() / 2 - 40, f.count() / 2 + 40), pick(0, 5);
  std::vector<double> out;
  for (int64_t i = 0; i < kNumbers; ++i) {
    const int how = pick(rng);
    const double v = f.number(how < 2 ? near(rng) : any(rng));
    out.push_back(how % 2 == 0 ? v : -v);
  }
  return out;
}

TEST(Narrow, rounds_every_operation_to_the_nearest_number) {
  std::mt19937 rng(7);
  for (const DType type : {DType::f16, DType::bf16}) {
    const Format format = Format::of(type);
    Buffers data = {random_numbers(format, rng), random_numbers(format, rng),
                    random_numbers(format, rng), std::vector<double>(kNumbers)};
    for (const ValueOp op : kOps) {
      const auto counts = interpret(testing::ternary("k", op, type, 8, kNumbers), data);
      ASSERT_TRUE(counts.ok()) << render(counts.diags());
      for (size_t i = 0; i < data[0].size(); ++i) {
        if (op == ValueOp::div && data[1][i] == 0) continue;
        const double expected =
            format.nearest(testing::exactly(op, data[0][i], data[1][i], data[2][i]),
                           testing::lost(op, data[0][i], data[1][i], data[2][i]));
        ASSERT_EQ(data[3][i], expected)
            << ir::name_of(type) << " op " << static_cast<int>(op) << " of " << data[0][i] << ", "
            << data[1][i] << ", " << data[2][i];
      }
    }
  }
}

// c is next to the middle of two numbers and a b is tiny, so rounding the sum to f64 first loses
// it.
TEST(Narrow, multiply_adds_are_rounded_once) {
  const Format format = Format::of(DType::bf16);
  const double half = std::ldexp(1.0, 64) * (1 + std::ldexp(1.0, -4));
  // (1 + 2^-4)^2 2^64 = (1 + 2^-3 + 2^-8) 2^64: the middle of two, on either side by the smallest
  // number.
  const double tiny = std::ldexp(1.0, -100);
  Buffers data = {
      {half, half}, {1 + std::ldexp(1.0, -4), 1 + std::ldexp(1.0, -4)}, {tiny, -tiny}, {0, 0}};
  ASSERT_TRUE(interpret(testing::ternary("k", ValueOp::fma, DType::bf16, 2, 2), data).ok());
  EXPECT_EQ(data[3][0], format.nearest(testing::Wide(half) * testing::Wide(data[1][0]), 1));
  EXPECT_EQ(data[3][1], format.nearest(testing::Wide(half) * testing::Wide(data[1][0]), -1));
  EXPECT_NE(data[3][0], data[3][1]);
}

TEST(Narrow, whole_numbers_wrap) {
  std::mt19937 rng(8);
  std::uniform_int_distribution<int> any(-128, 127);
  Buffers data(4, std::vector<double>(4096));
  for (size_t b = 0; b < 3; ++b)
    for (double& v : data[b]) v = any(rng);
  for (const ValueOp op : kOps) {
    ASSERT_TRUE(interpret(testing::ternary("k", op, DType::i8, 16, 4096), data).ok());
    for (size_t i = 0; i < data[0].size(); ++i)
      ASSERT_EQ(data[3][i],
                testing::exactly_i8(op, static_cast<int>(data[0][i]), static_cast<int>(data[1][i]),
                                    static_cast<int>(data[2][i])))
          << static_cast<int>(op);
  }
}

TEST(Narrow, pairs_are_computed_as_two_numbers) {
  std::mt19937 rng(9);
  for (const auto& [pair, type] :
       {std::pair{DType::f16x2, DType::f16}, {DType::bf16x2, DType::bf16}}) {
    const Format format = Format::of(type);
    std::uniform_int_distribution<uint32_t> any(0, static_cast<uint32_t>(format.count() - 1));
    Buffers data(4, std::vector<double>(4096));
    for (size_t b = 0; b < 3; ++b)
      for (double& v : data[b]) v = any(rng) | any(rng) << 16;
    const auto number = [&](size_t b, size_t i, int place) {
      return format.number(
          static_cast<int>(static_cast<uint32_t>(data[b][i]) >> (16 * place) & 0xffff));
    };
    for (const ValueOp op : {ValueOp::add, ValueOp::mul, ValueOp::fma}) {
      ASSERT_TRUE(interpret(testing::ternary("k", op, pair, 4, 4096), data).ok());
      for (size_t i = 0; i < data[0].size(); ++i)
        for (const int place : {0, 1}) {
          const double a = number(0, i, place), b = number(1, i, place), c = number(2, i, place);
          const double expected =
              format.nearest(testing::exactly(op, a, b, c), testing::lost(op, a, b, c));
          const auto bits =
              static_cast<int>(static_cast<uint32_t>(data[3][i]) >> (16 * place) & 0xffff);
          if (std::isinf(expected))
            ASSERT_EQ(bits, format.count());
          else
            ASSERT_EQ(format.number(bits), expected);
        }
    }
  }
}

TEST(Narrow, pairs_have_no_functions) {
  const auto result = ir::verify(testing::ternary("k", ValueOp::div, DType::f16x2, 1, 1));
  ASSERT_FALSE(result.empty());
  EXPECT_NE(render(result).find("an operation that f16x2 does not have"), std::string::npos);
}

TEST(Narrow, dot_adds_four_products) {
  std::mt19937 rng(10);
  std::uniform_int_distribution<int32_t> any(std::numeric_limits<int32_t>::min(),
                                             std::numeric_limits<int32_t>::max());
  Buffers data(4, std::vector<double>(1024));
  for (size_t b = 0; b < 3; ++b)
    for (double& v : data[b]) v = any(rng);
  ir::Kernel k = testing::ternary("k", ValueOp::fma, DType::i32, 4, 1024);
  std::get<ir::Store>(k.body[0].node).value.op = ValueOp::dot;
  ASSERT_TRUE(interpret(k, data).ok());
  for (size_t i = 0; i < data[0].size(); ++i) {
    auto sum = static_cast<uint32_t>(static_cast<int32_t>(data[2][i]));
    for (int at = 0; at < 32; at += 8) {
      const auto byte = [&](size_t b) {
        return static_cast<int8_t>(static_cast<uint32_t>(static_cast<int32_t>(data[b][i])) >> at);
      };
      sum += static_cast<uint32_t>(byte(0) * byte(1));
    }
    ASSERT_EQ(data[3][i], static_cast<int32_t>(sum));
  }
}

}  // namespace
}  // namespace assay::codegen
