// NaN, infinities and denormals in machine code: the rule of docs/validating.md.
#include <gtest/gtest.h>

#include "tests/codegen/kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kNegativeNaN = -kNaN;  // what x86 itself makes of inf - inf

const std::vector<float> kSpecial = {kNaN, kNegativeNaN, kInf, -kInf, 0.0f, 1.5f, -2.0f, 3e38f};

// Every pair of them, 64 in all.
std::vector<std::vector<float>> pairs() {
  std::vector<std::vector<float>> out(2);
  for (const float a : kSpecial)
    for (const float b : kSpecial) {
      out[0].push_back(a);
      out[1].push_back(b);
    }
  return out;
}

float expected(ValueOp o, float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return kNaN;
  return (o == ValueOp::max) == (a > b) ? a : b;
}

void expect_same(float found, float wanted, const std::string& what) {
  if (std::isnan(wanted))
    EXPECT_TRUE(std::isnan(found)) << what << ": " << found;
  else
    EXPECT_EQ(found, wanted) << what;
}

// z[i] = f(x[i], y[i]) for 64 elements.
Kernel of_pairs(int lanes, const std::function<Value(Value, Value)>& f) {
  Kernel k;
  k.name = "pairs";
  k.buffers = {input("x", 64), input("y", 64), output("z", 64)};
  k.index_names = {"group", "i"};
  const Index at = variable(1, lanes);
  k.body = {loop(1, 64 / lanes, {store(2, at, f(load(0, at, lanes), load(1, at, lanes)))})};
  return k;
}

// The same whether the operands are loaded or one is a number, for every size of register.
TEST(SpecialValues, not_a_number_goes_through_max_and_min) {
  Host host;
  const auto data = pairs();
  for (const ValueOp o : {ValueOp::max, ValueOp::min})
    for (const int lanes : {1, 4, 8, 16, 32}) {
      const auto module = host.load({of_pairs(lanes,
                                              [&](Value x, Value y) {
                                                return op(o, {std::move(x), std::move(y)});
                                              }),
                                     of_pairs(lanes,
                                              [&](Value x, Value) {
                                                return op(o, {x, constant_of(1, lanes)});
                                              }),
                                     of_pairs(lanes, [&](Value x, Value) {
                                       return op(o, {constant_of(1, lanes), x});
                                     })});
      ASSERT_NE(module, nullptr);
      for (int kernel = 0; kernel < 3; ++kernel) {
        const auto z = Host::run(*module, kernel, {data[0], data[1], host.poison(64)})[2];
        for (size_t i = 0; i < z.size(); ++i) {
          const float x = data[0][i], y = kernel == 0 ? data[1][i] : 1;
          expect_same(z[i], expected(o, x, y),
                      std::string(o == ValueOp::max ? "max" : "min") + " of " + std::to_string(x) +
                          " and " + std::to_string(y) + " in kernel " + std::to_string(kernel) +
                          ", lanes " + std::to_string(lanes));
        }
      }
    }
}

// y[lane] = the running maximum of 8 rows, from -inf. In lane l, row l is NaN; lane 8 has none.
TEST(SpecialValues, a_running_maximum_keeps_a_nan_that_entered) {
  Host host;
  for (const ValueOp o : {ValueOp::max, ValueOp::min}) {
    const float start = o == ValueOp::max ? -kInf : kInf;
    Kernel k;
    k.name = "running";
    k.buffers = {input("x", 128), output("y", 16)};
    k.index_names = {"group", "i"};
    k.registers = {{"acc", DType::f32, 16}};
    k.body = {declare({0}), assign(0, constant_of(double{start}, 16)),
              loop(1, 8, {assign(0, op(o, {reg(0, 16), load(0, variable(1, 16), 16)}))}),
              store(1, {}, reg(0, 16))};
    std::vector<float> x(128);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / 16) - 3;  // -3 .. 4
    for (size_t l = 0; l < 8; ++l) x[l * 16 + l] = l % 2 == 0 ? kNaN : kNegativeNaN;
    const auto y = host.run(k, {x, host.poison(16)})[1];
    for (size_t l = 0; l < 16; ++l)
      expect_same(y[l],
                  l < 8               ? kNaN
                  : o == ValueOp::max ? 4.0f
                                      : -3.0f,
                  "lane " + std::to_string(l));
  }
}

// Infinities and NaN are not optimised away in comparisons either.
TEST(SpecialValues, nothing_equals_a_nan) {
  Host host;
  const auto data = pairs();
  const auto z = host.run(of_pairs(16,
                                   [](Value x, Value y) {
                                     return op(ValueOp::equal, {x, y});
                                   }),
                          {data[0], data[1], host.poison(64)})[2];
  for (size_t i = 0; i < z.size(); ++i)
    EXPECT_EQ(z[i], i % 9 == 0 && i > 9 ? 1.0f : 0.0f) << data[0][i] << " " << data[1][i];
  const auto self = host.run(of_pairs(16,
                                      [](Value x, Value) {
                                        return op(ValueOp::equal, {x, x});
                                      }),
                             {data[0], data[1], host.poison(64)})[2];
  for (size_t i = 0; i < self.size(); ++i)
    EXPECT_EQ(self[i], std::isnan(data[0][i]) ? 0.0f : 1.0f) << data[0][i];
}

// Below the smallest normal number a result is itself or zero.
TEST(SpecialValues, a_result_below_the_smallest_normal_may_be_zero) {
  Host host;
  const std::vector<float> x(16, 3e-20f);
  const auto y = host.run(elementwise("tiny", 16,
                                      [](Value v) {
                                        return op(ValueOp::mul, {v, v});
                                      }),
                          {x, host.poison(16)})[1];  // 9e-40
  for (const float v : y) EXPECT_TRUE(v == 0 || std::abs(v - 9e-40f) < 1e-44f) << v;
}

}  // namespace
}  // namespace assay::runtime
