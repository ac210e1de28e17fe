// A new C-like language needs only YAML: a small OpenCL C dialect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "tests/codegen/kernels.h"

namespace assay::codegen {
namespace {

using namespace assay::testing;

constexpr const char* kDialect = R"yaml(schema: assay/dialect/1
name: opencl
capabilities: {vector_widths: [1, 2, 4, 8, 16], group_barrier: true, group_memory: false,
  prefetch: false, math: [exp], dtypes: [f32]}
structure: {parameters: pointers, group_memory: body, ids: call, mixed_operands: true}
types: {f32: {scalar: float, literal: "{digits}f", infinity: INFINITY, nan: NAN}}
index_type: long
vector_type: "{scalar}{lanes}"
vector_header: ""
spellings:
  add: {text: "{a:12} + {b:13}", level: 12}
  sub: {text: "{a:12} - {b:13}", level: 12}
  mul: {text: "{a:13} * {b:15}", level: 13}
  div: {text: "{a:13} / {b:15}", level: 13}
  neg: {text: "-{a:16}", level: 15}
  less: {text: "{a:12} < {b:12}", level: 10}
  equal: {text: "{a:12} == {b:12}", level: 9}
  nonzero: {text: "{a:12} != {zero:12}", level: 9}
  select: {text: "{mask:5} ? {a:5} : {b:5}", level: 3}
  choose: {text: "{condition:5} ? {a:5} : {b:5}", level: 3}
  max: "fmax({a}, {b})"
  min: "fmin({a}, {b})"
  exp: "exp({a})"
  broadcast: "({type})({a})"
  list: "({type})({items})"
  lane: "{a:16}.s{hex}"
  element: "{buffer}[{index}]"
  address: {text: "{buffer} + {index:13}", level: 12}
  load: "vload{lanes}(0, {pointer})"
  store: "vstore{lanes}({value}, 0, {pointer});"
  index_to_number: {text: "({scalar})({index})", level: 15}
  index_min: "min({a}, (long)({b}))"
  index_divide: {text: "{a:13} / {d}", level: 13}
  index_modulo: {text: "{a:13} % {d}", level: 13}
  index_floor_divide: "floor_divide({a}, {d})"
  index_floor_modulo: "floor_modulo({a}, {d})"
  parameter_in: "__global const {scalar}* restrict {name}"
  parameter_out: "__global {scalar}* restrict {name}"
  parameter_scratch: "__global {scalar}* restrict {name}"
  parameter_group: "long {name}"
  body: "void {name}({parameters})"
  argument_in: "{name}"
  argument_out: "{name}"
  argument_scratch: "{name}"
  entry: "__kernel void {name}({entry_parameters}long first) {{ )yaml"
                                 R"yaml({body}({arguments}first + get_group_id(0)); }}\n"
headers: []
)yaml";

TEST(OpenclLike, a_copy_with_a_tail) {
  const auto d = parse_dialect(kDialect, "opencl.yaml");
  ASSERT_TRUE(d.ok()) << assay::render(d.diags());
  const auto text = codegen::render(std::vector{copy(50)}, *d);
  ASSERT_TRUE(text.ok()) << assay::render(text.diags());
  EXPECT_EQ(*text,
            R"(
void copy_body(__global const float* restrict p0_x, __global float* restrict p1_y, long i0_group) {
  for (long i1_i = 0; i1_i < 4; ++i1_i) {
    if (i0_group * 64 + i1_i * 16 <= 47) {
      vstore16(vload16(0, p0_x + (i0_group * 64 + i1_i * 16)), 0, )"
            R"(p1_y + (i0_group * 64 + i1_i * 16));
    } else {
      const float16 t0 = (float16)(p0_x[i0_group * 64 + i1_i * 16], )"
            R"(p0_x[i0_group * 64 + i1_i * 16 + 1], )"
            "0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f);\n"
            R"(      p1_y[i0_group * 64 + i1_i * 16] = t0.s0;
      p1_y[i0_group * 64 + i1_i * 16 + 1] = t0.s1;
    }
  }
}

__kernel void copy(__global const float* restrict p0_x, __global float* restrict p1_y, )"
            R"(long first) { )"
            "copy_body(p0_x, p1_y, first + get_group_id(0)); }\n");
}

// With separate_displacements a constant is added to an address. If that address could be outside
// of the array, the constant is added to the index.
TEST(OpenclLike, constants_are_separate_displacements) {
  std::string text_of_dialect = kDialect;
  const std::string before = "mixed_operands: true";
  text_of_dialect.insert(text_of_dialect.find(before) + before.size(),
                         ", separate_displacements: true");
  const auto d = parse_dialect(text_of_dialect, "opencl.yaml");
  ASSERT_TRUE(d.ok()) << assay::render(d.diags());
  const auto text = codegen::render(std::vector{copy(50)}, *d);
  ASSERT_TRUE(text.ok()) << assay::render(text.diags());
  EXPECT_THAT(*text, ::testing::HasSubstr("(float16)(p0_x[i0_group * 64 + i1_i * 16], (p0_x + "
                                          "(i0_group * 64 + i1_i * 16))[1], 0.0f,"));
  EXPECT_THAT(*text, ::testing::HasSubstr("(p1_y + (i0_group * 64 + i1_i * 16))[1] = t0.s1;"));

  ir::Kernel k;
  k.name = "around";
  k.buffers = {input("x", 100), output("y", 100)};
  k.index_names = {"group", "i"};
  const auto from = [](const ir::Index& at) { return splat(0, at, 1); };
  const Value before_it = guard({{variable(1), 5, 89}}, from(variable(1) + -5), constant_of(0, 1));
  k.body = {loop(
      1, 90, {store(1, variable(1), op(ValueOp::add, {before_it, from(variable(1) * -1 + 95)}))})};
  const auto around = codegen::render(std::vector{k}, *d);
  ASSERT_TRUE(around.ok()) << assay::render(around.diags());
  EXPECT_THAT(*around, ::testing::HasSubstr("p0_x[i1_i - 5]"));
  EXPECT_THAT(*around, ::testing::HasSubstr("p0_x[i1_i * -1 + 95]"));
}

}  // namespace
}  // namespace assay::codegen
