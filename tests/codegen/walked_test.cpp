// Which pointers a loop walks, and how a dialect names them.
#include "codegen/walked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/dialect.h"
#include "codegen/kernels.h"
#include "codegen/render.h"

namespace assay::codegen {
namespace {

using namespace assay::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kLanes = 8;

Value row(int64_t at) { return splat(0, variable(1) + at, kLanes); }
Stmt added(int reg_id, Value from) { return assign(reg_id, op(ValueOp::fma, {std::move(from), load(1, variable(1, kLanes), kLanes), reg(reg_id, kLanes)})); }

// y = sums over i < 90 of what `body` adds to registers 0 and 1.
Kernel sums(Block body) {
  Kernel k;
  k.name = "sums";
  k.buffers = {input("x", 800), input("v", 800), output("y", 16)};
  k.index_names = {"group", "i"};
  k.registers = {{"a", DType::f32, kLanes}, {"b", DType::f32, kLanes}};
  k.body = {declare({0, 1}), assign(0, constant_of(0, kLanes)), assign(1, constant_of(0, kLanes)), loop(1, 90, std::move(body)),
            store(2, {}, reg(0, kLanes)), store(2, ir::constant(kLanes), reg(1, kLanes))};
  return k;
}

std::vector<Walked> found(const Kernel& k) { return walked_pointers(k, std::get<For>(k.body[3].node)); }

std::string printed(const Kernel& kernel, const char* dialect) {
  const auto d = parse_dialect(dialect_text(dialect), dialect);
  EXPECT_TRUE(d.ok());
  const auto text = render(std::vector{kernel}, *d);
  return text.ok() ? *text : assay::render(text.diags());
}

TEST(Walked, WhatIsLoadedAtTwoConstants) {
  EXPECT_THAT(found(sums({added(0, row(0)), added(1, row(100))})), ElementsAre(Walked{0, variable(1)}));
  EXPECT_THAT(found(sums({added(0, row(100)), added(1, row(700))})), ElementsAre(Walked{0, variable(1)})) << "its constants are not the place's";
}

TEST(Walked, NotOnePlaceNorWhatStands) {
  EXPECT_THAT(found(sums({added(0, row(3)), added(1, row(3))})), IsEmpty());
  EXPECT_THAT(found(sums({added(0, splat(0, ir::constant(1), kLanes)), added(1, splat(0, ir::constant(2), kLanes))})), IsEmpty());
  EXPECT_THAT(found(sums({added(0, row(0)), added(1, splat(0, variable(1, 2), kLanes))})), IsEmpty()) << "two places";
}

TEST(Walked, NotWhatMayLieOutsideOrIsWritten) {
  const Value inside = guard({{variable(1), 0, 50}}, row(100), constant_of(0, kLanes));
  EXPECT_THAT(found(sums({added(0, row(0)), added(1, inside)})), IsEmpty());
  EXPECT_THAT(found(sums({added(0, row(0)), added(1, row(100)), store(2, {}, reg(0, kLanes))})), IsEmpty());
  Kernel own = sums({added(0, row(0)), added(1, row(100))});
  own.buffers[0].written = true;
  EXPECT_THAT(found(own), IsEmpty());
}

TEST(Walked, NotALoopAroundAnother) {
  Kernel k = sums({added(0, row(0)), added(1, row(100))});
  k.index_names.push_back("j");
  k.body[3] = loop(2, 3, {k.body[3]});
  EXPECT_THAT(found(k), IsEmpty());
}

TEST(Walked, HasANameWhereTheDialectHasAWordForIt) {
  const Kernel k = sums({added(0, row(0)), added(1, row(100))});
  const std::string opencl = printed(k, "opencl");
  EXPECT_THAT(opencl, HasSubstr("WALKED(w0)"));
  EXPECT_THAT(opencl, HasSubstr("w0[0]"));
  EXPECT_THAT(opencl, HasSubstr("w0[100]"));
  EXPECT_THAT(opencl, HasSubstr("p1_v + ")) << "what is loaded at one place only keeps its address";
  EXPECT_THAT(printed(k, "cpp"), Not(HasSubstr("w0")));
}

}  // namespace
}  // namespace assay::codegen
