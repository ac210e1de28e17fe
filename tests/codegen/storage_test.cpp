// Loads and stores that convert, in the interpreter; how they are printed, and dialects that do not
// spell them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/interpret.h"
#include "tests/codegen/printed.h"
#include "tests/codegen/storage_kernels.h"

namespace assay::codegen {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;
using ::testing::Not;
using Buffers = std::vector<std::vector<double>>;

constexpr DType kTypes[] = {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
constexpr int64_t kAll16 = 65536 + 5;  // every element, and a tail

Bits codes_of(const Elements& elements, size_t n) {
  Bits bits = all_elements(n);
  for (uint16_t& b : bits) b = static_cast<uint16_t>(b % elements.codes());
  return bits;
}

std::vector<int> random_places(std::mt19937& rng, size_t n) {
  std::uniform_int_distribution<int> any(0, static_cast<int>(n) - 1);
  std::vector<int> out(n);
  for (int& at : out) at = any(rng);
  return out;
}

TEST(Storage, the_interpreter_loads_every_element) {
  std::mt19937 rng(3);
  for (const DType type : kTypes) {
    const Elements elements(type);
    const std::vector<double> x = numbers_of(elements, codes_of(elements, kAll16));
    const std::vector<int> at = random_places(rng, x.size());
    for (const int lanes : {3, 8, 16}) {
      const Kernel k = reads_kernel(type, lanes, kAll16);
      Buffers data = {x, {at.begin(), at.end()}};
      data.resize(2 + kReads, std::vector<double>(x.size(), static_cast<double>(kUntouched)));
      const auto counts = interpret(k, data);
      ASSERT_TRUE(counts.ok()) << render(counts.diags());
      for (int r = 0; r < kReads; ++r)
        for (size_t i = 0; i < x.size(); ++i)
          ASSERT_TRUE(agrees(data[static_cast<size_t>(2 + r)][i],
                             read_at(static_cast<ReadForm>(r), x, at, lanes, i)))
              << ir::name_of(type) << " read " << r << " element " << i;
    }
  }
}

TEST(Storage, the_interpreter_stores_the_nearest_elements) {
  std::mt19937 rng(4);
  for (const DType type : kTypes) {
    const Elements elements(type);
    const std::vector<double> w = numbers_of(elements, codes_of(elements, kAll16));
    const std::vector<float> v = elements.to_store(rng, w.size());
    const Kernel k = writes_kernel(type, 16, kAll16);
    Buffers data = {{v.begin(), v.end()}, w};
    for (int o = 0; o < kWrites; ++o)
      data.emplace_back(w.size() * (o == kScattered ? 2 : 1), o == kBack
                                                                  ? static_cast<double>(kUntouched)
                                                                  : elements.nearest(kUntouched));
    const auto counts = interpret(k, data);
    ASSERT_TRUE(counts.ok()) << render(counts.diags());
    for (int o = 0; o < kWrites; ++o)
      for (size_t i = 0; i < data[static_cast<size_t>(2 + o)].size(); ++i)
        ASSERT_TRUE(agrees(data[static_cast<size_t>(2 + o)][i],
                           written_at(static_cast<WriteForm>(o), elements, v, w, 16, i)))
            << ir::name_of(type) << " write " << o << " element " << i << ": "
            << data[static_cast<size_t>(2 + o)][i];
  }
}

TEST(Storage, positions_are_read_from_narrow_elements) {
  Buffers data = {{0, -1, 6.5, 7, -8, 2}, {10, 11, 12, 13, 14, 15, 16}, Buffers::value_type(6)};
  ASSERT_TRUE(interpret(positions_kernel(DType::bf16, 6, 7), data).ok());
  EXPECT_EQ(data[2], (std::vector<double>{10, 16, 16, -1, -1, 12}));
}

TEST(Storage, the_listing_says_what_converts) {
  EXPECT_THAT(
      print_kernel(reads_kernel(DType::f16, 16, 40)),
      AllOf(HasSubstr("f32x16 from f16 x[16*group]\n"), HasSubstr("splat16 from f16 x[16*group]"),
            HasSubstr("f32x16 from f16 x[16*group + 15 step -1] for 15 else 0.1"),
            HasSubstr("f32x16 from f16 x[i32x16 at[16*group]]"),
            HasSubstr("copied[0] = f16x16 x[16*group]\n")));
  EXPECT_THAT(print_kernel(writes_kernel(DType::bf16, 16, 40)),
              AllOf(HasSubstr("y0[16*group] as bf16 = f32x16 v[16*group]\n"),
                    HasSubstr("y2[32*group] as bf16 step 2 = "),
                    HasSubstr("y4[16*group] = bf16x16 w[16*group]\n"),
                    HasSubstr("y6[16*group] = f32x16 from bf16 rounded[0]\n")));
}

TEST(Storage, only_the_accumulation_type_converts) {
  const auto faults = [](DType stored, DType computed) {
    Kernel k = elementwise("k", 16, [](Value v) { return v; });
    k.buffers[0].dtype = k.buffers[1].dtype = stored;
    auto& moved =
        std::get<Store>(std::get<If>(std::get<For>(k.body[0].node).body[0].node).then_body[0].node);
    moved.value.dtype = computed;
    return render(verify(k));
  };
  for (const DType t : kTypes) {
    EXPECT_EQ(faults(t, DType::f32), "");
    EXPECT_EQ(ir::accumulation_of(t), DType::f32);
    EXPECT_THAT(faults(t, DType::f64),
                AllOf(HasSubstr("a load from 'x' has another type"),
                      HasSubstr("a store to 'y' has another type"), HasSubstr("f64, expected")));
    EXPECT_NE(faults(DType::f32, t), "");
  }
  EXPECT_NE(faults(DType::f16, DType::bf16), "");
  EXPECT_EQ(ir::accumulation_of(DType::i8), DType::i32);
  EXPECT_THAT(faults(DType::i8, DType::f64), HasSubstr("f64, expected i8 or i32 or f32"));
  EXPECT_EQ(ir::accumulation_of(DType::f64), DType::f64);
}

TEST(Storage, every_dialect_spells_it) {
  for (const DType type : {DType::f16, DType::bf16})
    for (const std::string& name : dialect_names()) {
      const auto d = parse_dialect(dialect_text(name), name);
      ASSERT_TRUE(d.ok());
      for (const Kernel& k : {reads_kernel(type, 16, 40), writes_kernel(type, 16, 40),
                              positions_kernel(type, 4, 7)}) {
        const auto text = codegen::render(std::vector{k}, *d, name == "cuda" ? 16 : 1);
        EXPECT_TRUE(text.ok()) << name << render(text.diags());
      }
    }
}

TEST(Storage, floats_of_8_bits_are_spelled_or_refused_by_name) {
  for (const DType type : {DType::f8e4m3, DType::f8e5m2})
    for (const std::string& name : dialect_names()) {
      const auto d = parse_dialect(dialect_text(name), name);
      ASSERT_TRUE(d.ok());
      const auto text =
          codegen::render(std::vector{writes_kernel(type, 16, 40)}, *d, name == "cuda" ? 16 : 1);
      if (name == "cpp" || name == "cuda")
        EXPECT_TRUE(text.ok()) << name << render(text.diags());
      else
        EXPECT_THAT(render(text.diags()),
                    HasSubstr("elements of type " + std::string(ir::name_of(type))));
    }
}

TEST(Storage, what_cpp_says) {
  const std::string text = printed_in(writes_kernel(DType::bf16, 16, 40), "cpp");
  EXPECT_THAT(text, HasSubstr("*(bf16x16_mem*)(p2_y0 + i0_group * 16) = "
                              "bf16_of_f32<bf16x16>(*(const f32x16_mem*)(p0_v + i0_group * 16));"));
  EXPECT_THAT(text, HasSubstr("store_part<bf16x16, 15>("));
  EXPECT_THAT(text, HasSubstr("f32_of_bf16<f32x16>(*(const bf16x16_mem*)(p9_rounded + 0))"));
  // A kernel that does not compute in f16 needs no compiler that has the type.
  EXPECT_THAT(printed_in(reads_kernel(DType::f16, 16, 40), "cpp"),
              AllOf(HasSubstr("const __UINT16_TYPE__* __restrict p0_x"),
                    HasSubstr("f32_of_f16<float>(p0_x[i0_group * 16])"),
                    Not(HasSubstr("const _Float16*"))));
  EXPECT_THAT(printed_in(ternary("k", ValueOp::add, DType::f16, 16, 64), "cpp"),
              HasSubstr("const _Float16* __restrict p0_x"));
  EXPECT_THAT(printed_in(ternary("k", ValueOp::add, DType::bf16, 16, 64), "cpp"),
              HasSubstr("dialect 'cpp' can not spell 'add' of bf16"));
}

// Without cl_khr_fp16, f16 is neither named nor enabled.
TEST(Storage, what_opencl_says) {
  for (const Kernel& k : {reads_kernel(DType::f16, 16, 40), writes_kernel(DType::f16, 16, 40)}) {
    const std::string text = printed_in(k, "opencl");
    EXPECT_THAT(text, AllOf(HasSubstr("__global const ushort* restrict"),
                            Not(HasSubstr("cl_khr_fp16")), Not(HasSubstr("half*"))));
  }
  EXPECT_THAT(printed_in(writes_kernel(DType::f16, 16, 40), "glsl"),
              AllOf(HasSubstr("uint16_t p1_w[]"), HasSubstr("GL_EXT_shader_16bit_storage"),
                    HasSubstr("shared uint p9_rounded[16]"),
                    Not(HasSubstr("explicit_arithmetic_types_float16"))));
}

TEST(Storage, a_dialect_without_the_keys_refuses_with_a_reason) {
  auto d = parse_dialect(dialect_text("cpp"), "cpp.yaml");
  ASSERT_TRUE(d.ok());
  d->types.at(DType::bf16).loaded.reset();
  d->types.at(DType::bf16).stored.reset();
  const auto refusal = [&](const Kernel& k) {
    const auto text = codegen::render(std::vector{k}, *d);
    return text.ok() ? "" : render(text.diags());
  };
  EXPECT_THAT(refusal(reads_kernel(DType::bf16, 16, 40)),
              HasSubstr("kernel 'reads': dialect 'cpp' can not spell loads of bf16 as f32: "
                        "types.bf16.loaded is not in it"));
  EXPECT_THAT(refusal(writes_kernel(DType::bf16, 16, 40)),
              HasSubstr("stores of f32 to bf16: types.bf16.stored is not in it"));
  EXPECT_EQ(refusal(reads_kernel(DType::f16, 16, 40)), "");
}

TEST(Storage, faults_in_the_keys_have_their_place) {
  const auto complaints = [](std::string_view from, std::string_view to) {
    std::string text(dialect_text("cpp"));
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const auto d = parse_dialect(text.replace(at, from.size(), to), "d.yaml");
    return d.ok() ? "" : render(d.diags());
  };
  EXPECT_THAT(
      complaints("loaded: \"f32_of_bf16<{type}>({a})\"", "loaded: \"f({x})\""),
      AllOf(HasSubstr("d.yaml:"), HasSubstr("unknown hole {x}, expected: a, type, from, lanes")));
  EXPECT_THAT(
      complaints("moved: {scalar: __UINT16_TYPE__,", "moved: {only_moved: true, scalar: x,"),
      HasSubstr("unknown key 'only_moved'"));
  EXPECT_THAT(complaints("when: [f16.moved,", "when: [f16.movd,"),
              HasSubstr("'f16.movd' is no spelling"));
}

}  // namespace
}  // namespace assay::codegen
