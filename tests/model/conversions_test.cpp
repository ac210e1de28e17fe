// What loads and stores that convert cost: as the profile says, else one operation or two.
#include "model/conversions.h"

#include <gtest/gtest.h>

#include "model/closed_form.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

using ir::DType;
using model::Access;

// 64 x 64 elements in vectors of 4 lanes, each loaded and stored once.
constexpr double kVectors = 64 * 64 / 4;

ir::Program converting(DType from, DType to) {
  ir::Program p = walk(64, 1, 4, "j");
  p.graph.tensors[0].dtype = from;
  p.graph.tensors[1].dtype = to;
  return p;
}

double operations(const model::Machine& m, DType from, DType to) {
  const ir::Program p = converting(from, to);
  const lower::Counts plain = model::closed_form(p);
  return (model::with_conversions(p, m, plain).simple - plain.simple) / kVectors;
}

TEST(Conversions, TakeAnOperationOrTwoWhereTheyAreNotKnown) {
  const model::Machine m = machine(small_cpu(4, 1));
  EXPECT_EQ(operations(m, DType::f32, DType::f32), 0);
  EXPECT_EQ(operations(m, DType::f16, DType::f32), 1);
  EXPECT_EQ(operations(m, DType::f32, DType::bf16), 1);
  EXPECT_EQ(operations(m, DType::i8, DType::f32), 2);
  EXPECT_EQ(operations(m, DType::f32, DType::i8), 2);
}

hwdesc::Target with_conversion(hwdesc::Target t, const std::string& op, const std::string& dtype,
                               double slots) {
  hwdesc::ComputeOp c{op, dtype, t.profile.pipes.front().name, {}, {}};
  c.slots.value = hwdesc::Count{slots};
  t.profile.compute.push_back(c);
  return t;
}

TEST(Conversions, TakeWhatTheProfileSays) {
  hwdesc::Target t = small_cpu(4, 1);
  ASSERT_EQ(t.profile.pipes.front().name, "fma") << "additions have one slot of it";
  t = with_conversion(t, "convert_load", "f16", 3);
  t = with_conversion(t, "convert_store", "i8", 7);
  const model::Machine m = machine(t);
  EXPECT_DOUBLE_EQ(operations(m, DType::f16, DType::f32), 3);
  EXPECT_DOUBLE_EQ(operations(m, DType::f32, DType::i8), 7);
  EXPECT_DOUBLE_EQ(operations(m, DType::f16, DType::i8), 3 + 7);
  EXPECT_EQ(operations(m, DType::bf16, DType::f32), 1) << "not known";
  EXPECT_EQ(operations(m, DType::f32, DType::f16), 1) << "loads are known, stores are not";
}

TEST(Conversions, OfWholeNumbersAreTheirOwn) {
  const model::Machine m = machine(with_conversion(small_cpu(4, 1), "convert_load_i32", "i8", 5));
  EXPECT_DOUBLE_EQ(model::conversion_operations(m, Access::load, DType::i8, DType::i32), 5);
  EXPECT_EQ(model::conversion_operations(m, Access::load, DType::i8, DType::f32), 2);
}

TEST(Conversions, OfBroadcastElementsAreThoseOfLoadsUnlessTheyAreKnown) {
  hwdesc::Target t = with_conversion(small_cpu(4, 1), "convert_load", "f16", 3);
  const auto of_splat = [](const hwdesc::Target& target) {
    return model::conversion_operations(machine(target), Access::splat, DType::f16, DType::f32);
  };
  EXPECT_DOUBLE_EQ(of_splat(t), 3);
  EXPECT_DOUBLE_EQ(of_splat(with_conversion(t, "convert_splat", "f16", 6)), 6);
}

// Slow conversions are the limit, on cores and on waves of threads alike.
TEST(Conversions, LimitProgramsThatConvertAndNoOthers) {
  const ir::Program half = converting(DType::f16, DType::f32),
                    plain = converting(DType::f32, DType::f32);
  for (const hwdesc::Target& t : {small_cpu(4, 1), small_gpu(4)}) {
    SCOPED_TRACE(t.profile.name);
    const hwdesc::Target slow = with_conversion(t, "convert_load", "f16", 500);
    const model::Machine m = machine(slow);
    EXPECT_EQ(seconds(plain, slow), seconds(plain, t));
    EXPECT_GT(seconds(half, slow), seconds(half, t));
    EXPECT_GE(seconds(half, slow) * (1 + 1e-9), kVectors * 500 / (m.alu_rate.value * m.units));
  }
}

}  // namespace
}  // namespace assay::test
