// Which pointers of a loop are opaque, and how a dialect spells them.
#include "codegen/opaque_pointers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernels.h"
#include "tests/codegen/printed.h"

namespace assay::codegen {
namespace {

using namespace assay::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kLanes = 8;

Value row(int64_t at) { return splat(0, variable(1) + at, kLanes); }
Stmt added(int reg_id, Value from) {
  return assign(reg_id, op(ValueOp::fma, {std::move(from), load(1, variable(1, kLanes), kLanes),
                                          reg(reg_id, kLanes)}));
}

// y = sums over i < 90 of what `body` adds to registers 0 and 1.
Kernel sums(Block body) {
  Kernel k;
  k.name = "sums";
  k.buffers = {input("x", 800), input("v", 800), output("y", 16)};
  k.index_names = {"group", "i"};
  k.registers = {{"a", DType::f32, kLanes}, {"b", DType::f32, kLanes}};
  k.body = {declare({0, 1}),
            assign(0, constant_of(0, kLanes)),
            assign(1, constant_of(0, kLanes)),
            loop(1, 90, std::move(body)),
            store(2, {}, reg(0, kLanes)),
            store(2, ir::constant(kLanes), reg(1, kLanes))};
  return k;
}

std::vector<OpaquePointer> found(const Kernel& k) {
  return opaque_pointers(k, std::get<For>(k.body[3].node));
}

TEST(OpaquePointer, LoadsAtTwoConstantOffsets) {
  EXPECT_THAT(found(sums({added(0, row(0)), added(1, row(100))})),
              ElementsAre(OpaquePointer{0, variable(1)}));
  EXPECT_THAT(found(sums({added(0, row(700)), added(1, row(100))})),
              ElementsAre(OpaquePointer{0, variable(1) + 100}))
      << "the lowest of them";
}

TEST(OpaquePointer, NotSingleOffsetsOrLoopInvariants) {
  EXPECT_THAT(found(sums({added(0, row(3)), added(1, row(3))})), IsEmpty());
  EXPECT_THAT(found(sums({added(0, splat(0, ir::constant(1), kLanes)),
                          added(1, splat(0, ir::constant(2), kLanes))})),
              IsEmpty());
  EXPECT_THAT(found(sums({added(0, row(0)), added(1, splat(0, variable(1, 2), kLanes))})),
              IsEmpty())
      << "different strides";
}

TEST(OpaquePointer, NotGuardedLoadsOrWrittenBuffers) {
  const Value inside = guard({{variable(1), 0, 50}}, row(100), constant_of(0, kLanes));
  EXPECT_THAT(found(sums({added(0, row(0)), added(1, inside)})), IsEmpty());
  EXPECT_THAT(found(sums({added(0, row(0)), added(1, row(100)), store(2, {}, reg(0, kLanes))})),
              IsEmpty());
  Kernel own = sums({added(0, row(0)), added(1, row(100))});
  own.buffers[0].written = true;
  EXPECT_THAT(found(own), IsEmpty());
}

TEST(OpaquePointer, OnlyInInnermostLoops) {
  Kernel k = sums({added(0, row(0)), added(1, row(100))});
  k.index_names.push_back("j");
  k.body[3] = loop(2, 3, {k.body[3]});
  EXPECT_THAT(found(k), IsEmpty());
}

TEST(OpaquePointer, IsPrintedIfTheDialectSpellsIt) {
  const Kernel k = sums({added(0, row(0)), added(1, row(100))});
  const std::string opencl = printed_in(k, "opencl");
  EXPECT_THAT(opencl, HasSubstr("OPAQUE(w0)"));
  EXPECT_THAT(opencl, HasSubstr("w0[0]"));
  EXPECT_THAT(opencl, HasSubstr("w0[100]"));
  EXPECT_THAT(opencl, HasSubstr("p1_v + ")) << "a single load keeps its address";
  EXPECT_THAT(printed_in(k, "cpp"), Not(HasSubstr("w0")));
}

// A pointer is to an element that the loop loads, so it is never outside of its array.
TEST(OpaquePointer, IsToTheLowestLoadedElement) {
  const std::string opencl = printed_in(sums({added(0, row(700)), added(1, row(100))}), "opencl");
  EXPECT_THAT(opencl, HasSubstr("w0 = (p0_x + i1_i) + 100; OPAQUE(w0);"));
  EXPECT_THAT(opencl, HasSubstr("w0[0]"));
  EXPECT_THAT(opencl, HasSubstr("w0[600]"));
}

TEST(OpaquePointer, AlsoInGroupMemory) {
  const auto own = [](int64_t at) { return splat(3, variable(1) + at, kLanes); };
  Kernel k = sums({added(0, own(0)), added(1, own(100))});
  k.buffers.push_back(scratch("s", 800));
  const std::string opencl = printed_in(k, "opencl");
  EXPECT_THAT(opencl, HasSubstr("__local const float* w0 = p3_s + i1_i; OPAQUE(w0);"));
  EXPECT_THAT(opencl, HasSubstr("w0[100]"));
}

TEST(OpaquePointer, EachLoopHasItsOwnPointers) {
  Kernel k = sums({added(0, row(0)), added(1, row(100))});
  k.index_names.push_back("j");
  const auto other = [](int64_t at) {
    return assign(0, op(ValueOp::fma, {splat(0, variable(2) + at, kLanes),
                                       load(1, variable(2, kLanes), kLanes), reg(0, kLanes)}));
  };
  k.body.insert(k.body.begin() + 4, loop(2, 90, {other(300), other(500)}));
  const std::string opencl = printed_in(k, "opencl");
  EXPECT_THAT(opencl, HasSubstr("w1 = (p0_x + i2_j) + 300; OPAQUE(w1);"));
  EXPECT_THAT(opencl, HasSubstr("w1[200]"));
}

}  // namespace
}  // namespace assay::codegen
