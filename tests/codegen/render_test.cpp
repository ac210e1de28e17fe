// Printed kernels: whole texts of small ones, and errors where a dialect can not spell.
#include "codegen/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/dialect.h"
#include "tests/codegen/kernels.h"

namespace assay::codegen {
namespace {

using namespace assay::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Dialect cpp() {
  auto d = parse_dialect(dialect_text("cpp"), "cpp.yaml");
  EXPECT_TRUE(d.ok());
  return std::move(d).value();
}

// The printed kernels without the headers before them.
std::string printed(const std::vector<ir::Kernel>& kernels, const Dialect& dialect = cpp()) {
  const auto text = codegen::render(kernels, dialect);
  if (!text.ok()) return assay::render(text.diags());
  return text->substr(text->rfind("static ", text->find("void " + kernels[0].name + "_body(")));
}

TEST(Render, a_copy_with_a_tail) {
  EXPECT_EQ(printed({copy(100)}),
            R"(static __attribute__((noinline)) void copy_body(const float* __restrict p0_x, )"
            R"(float* __restrict p1_y, )"
            R"(int64_t i0_group) {
  const int64_t i1_i_end = min_index(4, i0_group * -4 + 7);
  for (int64_t i1_i = 0; i1_i < i1_i_end; ++i1_i) {
    if (i0_group * 64 + i1_i * 16 <= 95) {
      *(f32x16_mem*)(p1_y + (i0_group * 64 + i1_i * 16)) = )"
            R"(*(const f32x16_mem*)(p0_x + (i0_group * 64 + i1_i * 16));
    } else {
      store_part<f32x16, 4>(p1_y + (i0_group * 64 + i1_i * 16), )"
            R"(load_part<f32x16, 4>(p0_x + (i0_group * 64 + i1_i * 16), 0.0f));
    }
  }
}

extern "C" __attribute__((visibility("default")))
void copy(void* const* args, void* scratch, int64_t group_begin, int64_t group_end) {
  (void)args;
  (void)scratch;
  for (int64_t group = group_begin; group < group_end; ++group)
    copy_body((const float*)args[0], (float*)args[1], group);
  
}
)");
}

// One statement `y[0] = value` of a kernel with inputs x and w.
std::string statement(const Value& value, std::vector<std::string> names = {"group"}) {
  Kernel k;
  k.name = "k";
  k.buffers = {input("x", 1000), input("w", 1000), output("y", 1000)};
  k.index_names = std::move(names);
  k.groups = 10;
  k.body = {store(2, {}, value)};
  const std::string text = printed({k});
  const size_t from = text.find("{\n") + 4;
  return text.substr(from, text.find('\n', from) - from);
}

TEST(Render, values) {
  const Value x = load(0, {}, 1), w = load(1, variable(0), 1);
  EXPECT_EQ(statement(op(ValueOp::sub, {x, op(ValueOp::add, {w, x})})),
            "p2_y[0] = p0_x[0] - (p1_w[i0_group] + p0_x[0]);");
  EXPECT_EQ(statement(op(ValueOp::mul, {op(ValueOp::neg, {x}), constant_of(-2.5, 1)})),
            "p2_y[0] = -p0_x[0] * -2.5f;");
  EXPECT_EQ(statement(op(ValueOp::less, {x, w})),
            "p2_y[0] = p0_x[0] < p1_w[i0_group] ? 1.0f : 0.0f;");
  EXPECT_EQ(statement(op(ValueOp::select, {op(ValueOp::less, {x, w}), x, w})),
            "p2_y[0] = p0_x[0] < p1_w[i0_group] ? p0_x[0] : p1_w[i0_group];");
  EXPECT_EQ(statement(guard({{variable(0) + (-1), 0, 100}}, x, constant_of(0, 1))),
            "p2_y[0] = i0_group - 1 >= 0 ? p0_x[0] : 0.0f;");
  EXPECT_EQ(statement(constant_of(-std::numeric_limits<double>::infinity(), 1)),
            "p2_y[0] = -__builtin_inff();");
}

TEST(Render, scalars_are_broadcast_by_the_language_but_never_multiplied_as_scalars) {
  const Value v = load(0, {}, 16), s = splat(1, {}, 16);
  EXPECT_THAT(statement(op(ValueOp::fma, {s, v, v})),
              HasSubstr("= p1_w[0] * *(const f32x16_mem*)(p0_x + 0) + "));
  EXPECT_THAT(statement(op(ValueOp::mul, {s, s})),
              HasSubstr("= (p1_w[0] - (f32x16){}) * (p1_w[0] - (f32x16){});"));
}

TEST(Render, indices_use_plain_division_where_the_range_allows_it) {
  const auto divided = [](Index base) {
    return load(0, ir::Index{{{1, -1, {std::move(base)}, 3, 2}}, 0}, 1);
  };
  EXPECT_THAT(statement(divided(variable(0))), HasSubstr("(uint64_t)"));
  EXPECT_THAT(statement(divided(variable(0) + (-1))),
              HasSubstr("floor_modulo(floor_divide(i0_group - 1, 3), 2)"));
}

TEST(Render, sums_begin_with_terms_of_outer_loops) {
  Kernel k = copy(100);
  auto& inside = std::get<ir::If>(std::get<ir::For>(k.body[0].node).body[0].node);
  for (ir::Block* b : {&inside.then_body, &inside.else_body}) {
    auto& stored = std::get<ir::Store>((*b)[0].node);
    for (Index* i : {&stored.index, &stored.value.index})
      std::reverse(i->terms.begin(), i->terms.end());
  }
  ASSERT_NE(k.body, copy(100).body);
  EXPECT_EQ(printed({k}), printed({copy(100)}));
  std::get<ir::Store>(inside.then_body[0].node).index =
      Index{{{1, -1, {variable(1)}, 2, 0}, {64, 0, {}, 1, 0}}, 5};
  EXPECT_THAT(printed({k}),
              HasSubstr("(p1_y + (i0_group * 64 + (int64_t)((uint64_t)(i1_i) / 2u) + 5))"));
}

TEST(Render, names_are_free_text) {
  Kernel k = copy(16);
  k.buffers[0].name = "conv1/weight:0";
  EXPECT_THAT(printed({k}), HasSubstr("p0_conv1_weight_0"));
  k.name = "conv1/weight";
  EXPECT_THAT(assay::render(codegen::render(std::vector{k}, cpp()).diags()),
              HasSubstr("kernel name 'conv1/weight' is no identifier"));
}

TEST(Render, wide_vectors_are_split) {
  Kernel k;
  k.name = "wide";
  k.buffers = {input("x", 100), output("y", 100)};
  k.index_names = {"group"};
  k.registers = {{"v", ir::DType::f32, 32}};
  k.body = {declare({0}), assign(0, load(0, {}, 32, 20)), store(1, {}, reg(0, 32), 20)};
  EXPECT_THAT(printed({k}), AllOf(HasSubstr("f32x16 r0_v_0, r1_v_16;"),
                                  HasSubstr("r1_v_16 = load_part<f32x16, 4>(p0_x + 16"),
                                  HasSubstr("store_part<f32x16, 4>(p1_y + 16, r1_v_16);")));
  k.registers[0].lanes = 3;
  k.body = {declare({0})};
  EXPECT_THAT(printed({k}),
              HasSubstr("kernel 'wide': dialect 'cpp' can not spell vectors of 3 lanes"));
}

TEST(Render, missing_spellings_are_lowered_or_unsupported) {
  Dialect d = cpp();
  d.spellings.erase("erf");
  d.spellings.erase("fma");
  const auto k = [](ValueOp o, size_t args) {
    return elementwise("k", 16, [=](Value v) { return op(o, std::vector<Value>(args, v)); });
  };
  EXPECT_THAT(printed({k(ValueOp::erf, 1)}, d),
              HasSubstr("kernel 'k': dialect 'cpp' can not spell 'erf'"));
  EXPECT_THAT(printed({k(ValueOp::fma, 3)}, d), Not(HasSubstr("can not")));
  d.structure.parameters = Parameters::blocks;
  EXPECT_THAT(printed({copy(16)}, d), HasSubstr("what is printed is `parameters: pointers`"));
}

// Without pointers: buffers at file scope, a body with parameters for the group (and the lane), and
// a check of every loop's variable after it.
TEST(Render, languages_of_blocks_declare_buffers_and_check_loops) {
  auto glsl = parse_dialect(dialect_text("glsl"), "glsl.yaml");
  ASSERT_TRUE(glsl.ok()) << assay::render(glsl.diags());
  const auto text = codegen::render(std::vector{copy(128)}, *glsl, 16);
  ASSERT_TRUE(text.ok()) << assay::render(text.diags());
  EXPECT_EQ(text->substr(text->find("\nlayout(std430, set = 0, binding = 1")),
            R"(
layout(std430, set = 0, binding = 1 + 0) restrict readonly buffer p0_x_block { float p0_x[]; };
#define p0_x_at launch.at[0]
layout(std430, set = 0, binding = 1 + 1) restrict buffer p1_y_block { float p1_y[]; };
#define p1_y_at launch.at[1]
void copy_body(int i0_group, int i2_lane) {
  int i1_i = 0;
  for (; i1_i < 4; ++i1_i) {
    {
      p1_y[p1_y_at + int(i0_group * 64 + i1_i * 16 + i2_lane)] = )"
            R"(p0_x[p0_x_at + int(i0_group * 64 + i1_i * 16 + i2_lane)];
    }
  }
  stopped = stopped || (i1_i ^ launch.zero) < 4;
}

layout(local_size_x = 16) in;
void main() {
  copy_body(launch.first + int(gl_WorkGroupID.x), int(gl_LocalInvocationID.x));
  tell_stops();
}
)");
  EXPECT_THAT(printed({copy(16), elementwise("other", 16, [](Value v) { return v; })}, *glsl),
              HasSubstr("dialect 'glsl' declares buffers for a whole text: one kernel each"));
}

TEST(Render, the_dialects_loop_text_precedes_every_loop) {
  const auto opencl = parse_dialect(dialect_text("opencl"), "opencl.yaml");
  ASSERT_TRUE(opencl.ok()) << assay::render(opencl.diags());
  EXPECT_THAT(printed({copy(128)}, *opencl), HasSubstr("  AS_WRITTEN\n  for (long i1_i"));
  EXPECT_THAT(printed({copy(128)}, cpp()), Not(HasSubstr("AS_WRITTEN")));
}

// Functions of vectors need a number broadcast to a vector; operators accept scalars.
TEST(Render, an_operation_is_printed_in_the_chosen_form) {
  const auto opencl = parse_dialect(dialect_text("opencl"), "opencl.yaml");
  ASSERT_TRUE(opencl.ok()) << assay::render(opencl.diags());
  const Kernel k = elementwise("twice", 64, [](const Value& v) {
    return op(ValueOp::fma, {v, constant_of(2, v.lanes), constant_of(3, v.lanes)});
  });
  EXPECT_THAT(printed({k}, *opencl), HasSubstr(" * 2.0f + 3.0f"));
  const auto mad = in_forms(*opencl, std::vector<hwdesc::NamedText>{{"fma.f32", "mad"}});
  ASSERT_TRUE(mad.ok()) << assay::render(mad.diags());
  EXPECT_THAT(printed({k}, *mad),
              ::testing::ContainsRegex(
                  "mad\\(.*, \\(float16?8?4?\\)\\(2.0f\\), \\(float16?8?4?\\)\\(3.0f\\)\\)"));
}

// A kernel of several waves decides the threads of all.
TEST(Render, queues_have_a_case_for_each_kernel) {
  const auto cuda = parse_dialect(dialect_text("cuda"), "cuda.yaml");
  ASSERT_TRUE(cuda.ok()) << assay::render(cuda.diags());
  const auto text = [&](const std::vector<ir::Kernel>& kernels, const Dialect& dialect) {
    const auto t = render_queues(kernels, dialect, "run_all", 16, 5);
    return t.ok() ? *t : assay::render(t.diags());
  };
  EXPECT_THAT(
      text({copy(64), rotate(2, 3)}, *cuda),
      AllOf(HasSubstr("__launch_bounds__(48, 5) run_all("), HasSubstr("if (threadIdx.x < 16)"),
            HasSubstr("rotate_body((const float*)(memory + launch[1 + 0]), (float*)(memory + "
                      "launch[1 + 1]), (float*)(group_memory + 0), group, threadIdx.x, kept);"),
            HasSubstr("case 1:"), Not(HasSubstr("case 2:"))));
  EXPECT_THAT(text({copy(64)}, cpp()), HasSubstr("dialect 'cpp' has no `queues`"));
  const auto opencl = parse_dialect(dialect_text("opencl"), "opencl.yaml");
  ASSERT_TRUE(opencl.ok());
  EXPECT_THAT(text({copy(64)}, *opencl), HasSubstr("has no `queues` without `sequence`"));
  Kernel fixed = copy(64);
  fixed.buffers[0].space = ir::Space::constant;
  EXPECT_THAT(text({fixed}, *cuda), HasSubstr("can not spell 'sequence_argument_constant'"));
}

TEST(Render, merged_launches_have_a_case_for_each_kernel) {
  const auto dialect_of = [](const std::string& name) {
    auto d = parse_dialect(dialect_text(name), name + ".yaml");
    if (!d.ok()) throw std::runtime_error(assay::render(d.diags()));
    return std::move(*d);
  };
  const Dialect cuda = dialect_of("cuda"), opencl = dialect_of("opencl");
  const auto text = [&](const std::vector<ir::Kernel>& kernels, const Dialect& dialect,
                        int threads = 32) {
    const auto t = render_merged(kernels, dialect, "run_both", threads);
    return t.ok() ? *t : assay::render(t.diags());
  };
  Kernel wide = rotate(2, 3, 4), narrow = rotate(2, 3, 2);
  narrow.name = "narrow";
  EXPECT_THAT(
      text({wide, narrow}, cuda, 16),
      AllOf(HasSubstr("__launch_bounds__(64) run_both("),
            HasSubstr("case 0: rotate_body((const float*)(memory + row[3 + 0]), (float*)(memory + "
                      "row[3 + 1]), (float*)(group_memory + 0), group, threadIdx.x, kept); break;"),
            HasSubstr("case 1: if (threadIdx.x < 32) narrow_body("), Not(HasSubstr("case 2:")),
            HasSubstr("#define MEET(threads) __barrier_sync_count(1, threads)")));
  Kernel other = wide;
  other.name = "other";
  EXPECT_THAT(text({wide, other}, cuda, 16),
              AllOf(Not(HasSubstr("__barrier_sync_count")),
                    HasSubstr("#define MEET(threads) __syncthreads()")))
      << "all of a block come to each barrier";
  EXPECT_THAT(text({wide, other}, opencl, 16),
              AllOf(HasSubstr("reqd_work_group_size(64, 1, 1)"),
                    HasSubstr("case 1: other_body((__global const float*)BUFFER(row[3 + 2 * 0]) + "
                              "row[4 + 2 * 0], ")));
  EXPECT_THAT(text({wide, narrow}, opencl, 16),
              HasSubstr("kernel 'narrow': dialect 'opencl' can not spell 'merged_narrow_case'"));
  EXPECT_THAT(text({copy(64)}, cpp()), HasSubstr("dialect 'cpp' has no `merged`"));
  EXPECT_THAT(text({copy(64)}, cuda, 1), HasSubstr("kernels whose lanes are threads"));
  Kernel fixed = copy(64);
  fixed.buffers[0].space = ir::Space::constant;
  EXPECT_THAT(text({fixed}, cuda, 16), HasSubstr("can not spell 'merged_argument_constant'"));
  for (const std::string& name : dialect_names()) {
    const Dialect d = dialect_of(name);
    EXPECT_EQ(d.capabilities.merges, d.find("merged") != nullptr) << name;
  }
}

TEST(Render, prints_only_needed_headers) {
  const auto text = codegen::render(std::vector{copy(16)}, cpp());
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, AllOf(Not(HasSubstr("exp_of")), Not(HasSubstr("load_part")),
                           HasSubstr("typedef float f32x16 ")));
}

TEST(Render, scratch_buffers_are_aligned) {
  Kernel k = copy(16);
  k.buffers.push_back(scratch("a", 1));
  k.buffers.push_back(scratch("b", 17));
  EXPECT_EQ(scratch_bytes(k), 64 + 128);
  EXPECT_THAT(printed({k}), HasSubstr("(float*)((char*)scratch + 64), group);"));
}

TEST(Render, invalid_kernels_are_not_printed) {
  Kernel k = copy(16);
  k.body.push_back(assign(0, constant_of(0, 1)));
  EXPECT_THAT(printed({k}), HasSubstr("there is no register 0"));
}

}  // namespace
}  // namespace assay::codegen
