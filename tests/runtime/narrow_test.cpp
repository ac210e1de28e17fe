// f16, i8, pairs and dot products, compiled and run, against the reference. Types that a device or
// dialect does not have are errors, and a device computes all types that it lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "codegen/dialect.h"
#include "codegen/interpret.h"
#include "codegen/isa.h"
#include "hwdesc/target.h"
#include "ir/element.h"
#include "runtime/source.h"
#include "tests/codegen/matrix_kernel.h"
#include "tests/codegen/narrow_reference.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using ir::DType;
using ir::ValueOp;
using testing::Format;
using Numbers = std::vector<std::vector<double>>;

constexpr int64_t kElements = 960;  // whole vectors of every width

bool has_type(const DeviceInfo& info, const std::string& type) {
  for (const auto& [fact, text] : info.facts) {
    std::istringstream words(fact == "types" ? text : "");
    for (std::string w; words >> w;)
      if (w == type) return true;
  }
  return false;
}

// Runs the kernel on elements of its type; the last buffer is read back.
std::vector<double> run(Module& module, const ir::Kernel& k, const Numbers& data) {
  Launch launch{0, {}, {}};
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    const DType t = k.buffers[b].dtype;
    launch.arguments.push_back(
        {module.allocate(k.buffers[b].elements * ir::bytes_of(t)).value(), 0});
    if (b < data.size()) module.write(launch.arguments[b], ir::bytes_of_doubles(t, data[b]));
  }
  const auto times = module.run(std::vector{launch}, {});
  EXPECT_TRUE(times.ok()) << render(times.diags());
  const DType t = k.buffers.back().dtype;
  std::vector<std::byte> bytes(static_cast<size_t>(k.buffers.back().elements * ir::bytes_of(t)));
  module.read(launch.arguments.back(), bytes);
  return ir::doubles_of(t, bytes);
}

// Lanes are vectors, or threads.
class Narrow : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && host_.device().info().id == "cpu:0")
      GTEST_SKIP() << "no kernels of a thread per lane there";
    if (!GetParam() && host_.device().info().simulated && host_.device().info().threads)
      GTEST_SKIP() << "vectors are its threads'";
    if (!GetParam() && host_.device().info().id.starts_with("cuda"))
      GTEST_SKIP() << "no kernels of vectors there";
  }
  Result<std::unique_ptr<Module>> load(const ir::Kernel& k) {
    return host_.device().load(
        std::vector{k}, GetParam() ? lanes_are_threads(16) : hwdesc::Target{}, host_.options());
  }
  // Normal numbers whose products are normal, since some devices flush denormals.
  Numbers numbers(DType type, int buffers) {
    std::uniform_real_distribution<double> any(0.25, 4);
    std::uniform_int_distribution<int> sign(0, 1);
    Numbers out(static_cast<size_t>(buffers), std::vector<double>(kElements));
    for (auto& b : out)
      for (double& v : b) v = ir::rounded(type, sign(rng_) != 0 ? any(rng_) : -any(rng_));
    return out;
  }
  Host host_;
  std::mt19937 rng_{11};
};

TEST_P(Narrow, f16_is_rounded_after_every_operation) {
  const Format format = Format::of(DType::f16);
  const Numbers data = numbers(DType::f16, 3);
  int ran = 0;
  for (const ValueOp op :
       {ValueOp::add, ValueOp::sub, ValueOp::mul, ValueOp::div, ValueOp::fma, ValueOp::neg,
        ValueOp::max, ValueOp::min, ValueOp::less, ValueOp::select}) {
    const ir::Kernel k = testing::ternary("f16_" + std::to_string(static_cast<int>(op)), op,
                                          DType::f16, 32, kElements);
    const auto module = load(k);
    if (!module.ok() && !has_type(host_.device().info(), "f16"))
      GTEST_SKIP() << render(module.diags());
    ASSERT_TRUE(module.ok()) << render(module.diags());
    const std::vector<double> got = run(**module, k, data);
    for (size_t i = 0; i < got.size(); ++i) {
      const double x = data[0][i], y = data[1][i], z = data[2][i];
      const double once = format.nearest(testing::exactly(op, x, y, z));
      if (got[i] == once) continue;
      // Languages do not define whether a multiply-add is fused, and a quotient may be off by one
      // ulp.
      const double twice =
          format.nearest(testing::Wide(format.nearest(testing::exactly(ValueOp::mul, x, y, 0))) +
                         testing::Wide(z));
      const double ulp = std::abs(once) / 1024;
      ASSERT_TRUE((op == ValueOp::fma && (got[i] == twice || std::abs(got[i] - once) <= ulp)) ||
                  (op == ValueOp::div && std::abs(got[i] - once) <= ulp))
          << k.name << " of " << x << ", " << y << ", " << z << ": " << got[i] << ", expected "
          << once;
    }
    ++ran;
  }
  EXPECT_EQ(ran, 10);
}

TEST_P(Narrow, i8_wraps_after_every_operation) {
  std::uniform_int_distribution<int> any(-128, 127);
  Numbers data(3, std::vector<double>(kElements));
  for (auto& b : data)
    for (double& v : b) v = any(rng_) | 1;  // no division by 0
  for (const ValueOp op :
       {ValueOp::add, ValueOp::sub, ValueOp::mul, ValueOp::div, ValueOp::fma, ValueOp::neg,
        ValueOp::max, ValueOp::min, ValueOp::less, ValueOp::select}) {
    const ir::Kernel k = testing::ternary("i8_" + std::to_string(static_cast<int>(op)), op,
                                          DType::i8, 64, kElements);
    const auto module = load(k);
    if (!module.ok() && !has_type(host_.device().info(), "i8"))
      GTEST_SKIP() << render(module.diags());
    ASSERT_TRUE(module.ok()) << render(module.diags());
    const std::vector<double> got = run(**module, k, data);
    for (size_t i = 0; i < got.size(); ++i) {
      if (op == ValueOp::div && data[0][i] == -128) continue;
      ASSERT_EQ(got[i],
                testing::exactly_i8(op, static_cast<int>(data[0][i]), static_cast<int>(data[1][i]),
                                    static_cast<int>(data[2][i])))
          << k.name << " of " << data[0][i] << ", " << data[1][i];
    }
  }
}

// The half of a sum that wraps: with more bits it would not wrap.
TEST_P(Narrow, i8_has_no_more_than_8_bits) {
  ir::Kernel k = testing::ternary("i8_both", ValueOp::div, DType::i8, 32, kElements);
  ir::Value& quotient = std::get<ir::Store>(k.body[0].node).value;
  ir::Value sum = quotient;
  sum.op = ValueOp::add;
  quotient.args[0] = sum;
  Numbers data(3, std::vector<double>(kElements, 100));
  data[1].assign(kElements, 2 * 50);  // 100 + 100 wraps to -56; -56 / 100
  const auto module = load(k);
  if (!module.ok() && !has_type(host_.device().info(), "i8"))
    GTEST_SKIP() << render(module.diags());
  ASSERT_TRUE(module.ok()) << render(module.diags());
  for (const double v : run(**module, k, data)) ASSERT_EQ(v, 0);
}

TEST_P(Narrow, pairs_are_two_numbers) {
  if (!GetParam()) GTEST_SKIP() << "pairs are what a thread has";
  const Format format = Format::of(DType::f16);
  const Numbers halves = numbers(DType::f16, 6);
  Numbers data(3, std::vector<double>(kElements));
  for (size_t b = 0; b < 3; ++b)
    for (size_t i = 0; i < data[b].size(); ++i)
      data[b][i] = ir::pack(DType::f16, ir::pack(DType::f16, 0, 0, halves[2 * b][i]), 1,
                            halves[2 * b + 1][i]);
  for (const ValueOp op : {ValueOp::add, ValueOp::sub, ValueOp::mul}) {
    const ir::Kernel k = testing::ternary("f16x2_" + std::to_string(static_cast<int>(op)), op,
                                          DType::f16x2, 32, kElements);
    const auto module = load(k);
    if (!module.ok() && !has_type(host_.device().info(), "f16x2"))
      GTEST_SKIP() << render(module.diags());
    ASSERT_TRUE(module.ok()) << render(module.diags());
    const std::vector<double> got = run(**module, k, data);
    for (size_t i = 0; i < got.size(); ++i)
      for (const int place : {0, 1})
        ASSERT_EQ(ir::unpack(DType::f16, static_cast<uint32_t>(got[i]), place),
                  format.nearest(testing::exactly(op, halves[static_cast<size_t>(place)][i],
                                                  halves[static_cast<size_t>(2 + place)][i], 0)));
  }
}

TEST_P(Narrow, dot_adds_four_products) {
  std::uniform_int_distribution<int32_t> any(std::numeric_limits<int32_t>::min(),
                                             std::numeric_limits<int32_t>::max());
  Numbers data(3, std::vector<double>(kElements));
  for (auto& b : data)
    for (double& v : b) v = any(rng_);
  ir::Kernel k = testing::ternary("dot", ValueOp::fma, DType::i32, 16, kElements);
  std::get<ir::Store>(k.body[0].node).value.op = ValueOp::dot;
  const auto module = load(k);
  if (!module.ok() && !has_type(host_.device().info(), "dot"))
    GTEST_SKIP() << render(module.diags());
  ASSERT_TRUE(module.ok()) << render(module.diags());
  const std::vector<double> got = run(**module, k, data);
  for (size_t i = 0; i < got.size(); ++i) {
    auto sum = static_cast<uint32_t>(static_cast<int32_t>(data[2][i]));
    for (int at = 0; at < 32; at += 8) {
      const auto byte = [&](size_t b) {
        return static_cast<int8_t>(static_cast<uint32_t>(static_cast<int32_t>(data[b][i])) >> at);
      };
      sum += static_cast<uint32_t>(byte(0) * byte(1));
    }
    ASSERT_EQ(got[i], static_cast<int32_t>(sum));
  }
}

// Random matrices for each instruction of the device; it refuses all others.
TEST_P(Narrow, matrix_instructions_agree_with_the_interpreter) {
  const DeviceInfo& info = host_.device().info();
  for (const std::string& name : codegen::instruction_names()) {
    const auto i = codegen::find_instruction(name);
    ASSERT_TRUE(i.ok());
    if (!i->computes.has_fragments() || i->computes.opaque()) continue;
    ir::Kernel k = testing::single(i->computes);
    const int threads_asked = GetParam() ? i->computes.workers() : 1;
    const auto module = host_.device().load(
        std::vector{k}, GetParam() ? lanes_are_threads(threads_asked) : hwdesc::Target{},
        host_.options());
    const auto spelling = i->spellings.find(dialect_of(info));
    const bool has = info.simulated || (spelling != i->spellings.end() &&
                                        codegen::has_needs(spelling->second.needs, info.facts));
    if (!has || !module.ok()) {
      EXPECT_FALSE(has && !info.simulated) << render(module.diags());
      ASSERT_FALSE(module.ok()) << name;
      EXPECT_THAT(render(module.diags()),
                  ::testing::AnyOf(::testing::HasSubstr(name), ::testing::HasSubstr("dealt to")));
      continue;
    }
    Numbers data;
    for (const ir::Fragment* f : {&i->computes.a, &i->computes.b, &i->computes.c, &i->computes.c}) {
      data.emplace_back(static_cast<size_t>(f->registers() * i->computes.workers()));
      std::uniform_int_distribution<uint32_t> bits(0, ~0U);
      std::uniform_int_distribution<int> eighth(-16, 16);
      for (double& v : data.back()) {
        // Sums of products of eighths are exact in any order.
        uint32_t word = bits(rng_);
        if (!ir::is_integer(f->number))
          for (int p = 0; p < f->per_register(); ++p)
            word = ir::pack(f->number, word, p, eighth(rng_) / 8.0);
        v = f->element == DType::f32   ? eighth(rng_) / 8.0
            : f->element == DType::i32 ? static_cast<double>(static_cast<int32_t>(word))
                                       : static_cast<double>(word);
      }
    }
    // If the mapping replicates, a row of a is the same in all lanes.
    if (i->computes.m == 1)
      for (double& v : data[0]) v = data[0][0];
    Numbers expected = data;
    ASSERT_TRUE(codegen::interpret(k, expected).ok());
    EXPECT_EQ(run(**module, k, {data[0], data[1], data[2]}), expected[3]) << name;
  }
}

TEST_P(Narrow, the_dialect_spells_all_types_of_a_device) {
  const DeviceInfo& info = host_.device().info();
  const std::string name = dialect_of(info);
  const auto dialect = codegen::parse_dialect(codegen::dialect_text(name), name);
  if (info.simulated) GTEST_SKIP() << "nothing is spelled there";
  ASSERT_TRUE(dialect.ok());
  for (const char* type : {"f16", "bf16", "i8", "f16x2", "bf16x2"})
    EXPECT_TRUE(!has_type(info, type) || dialect->types.contains(*ir::parse_element_type(type)))
        << type;
  EXPECT_EQ(has_type(info, "dot"), dialect->find("dot") != nullptr);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Narrow, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "threads" : "vectors"; });

}  // namespace
}  // namespace assay::runtime
