// Registers of several numbers, and lanes at addresses of their own: in the interpreter, in the
// checks of kernels, and where a language has neither.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/interpret.h"
#include "ir/element.h"
#include "tests/codegen/packed_kernels.h"
#include "tests/codegen/printed.h"

namespace assay::codegen {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;
using ::testing::Not;

// Bits of finite numbers: a pattern that differs from place to place.
std::vector<uint32_t> numbers(int bits) {
  std::vector<uint32_t> x;
  for (uint32_t i = 0; i < kPackedNumbers; ++i)
    x.push_back(bits == 8 ? (i * 37 + 11) % 256 : (i * 2659 + 17) % 0x7000);
  return x;
}

TEST(Packed, the_interpreter_agrees_with_bits) {
  for (const PackedType& t : kPackedTypes)
    for (const bool by_lane : {false, true}) {
      const ir::Kernel k = packed_kernel(t.number, t.packed, by_lane);
      ASSERT_EQ(render(ir::verify(k)), "");
      const std::vector<uint32_t> x = numbers(packed_bits(t.number));
      std::vector<std::vector<double>> data(2);
      for (const uint32_t bits : x) data[0].push_back(ir::unpack(t.number, bits, 0));
      data[1].assign(static_cast<size_t>(k.buffers[1].elements),
                     ir::of_bits(t.packed, kPackedUntouched));
      const auto counts = interpret(k, data);
      ASSERT_TRUE(counts.ok()) << render(counts.diags());
      const std::vector<uint32_t> expected = packed_expected(x, packed_bits(t.number), by_lane);
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(ir::bits_of(t.packed, data[1][i]), expected[i])
            << ir::name_of(t.packed) << " element " << i << (by_lane ? " by lane" : "");
    }
}

template <class Change>
std::string complaints(const Change& change) {
  ir::Kernel k = packed_kernel(ir::DType::bf16, ir::DType::bf16x2, true);
  change(k);
  return render(ir::verify(k));
}
ir::Store& store(ir::Kernel& k, Packed form) {
  return std::get<ir::Store>(k.body[static_cast<size_t>(form)].node);
}

TEST(Packed, what_does_not_fit_is_said) {
  EXPECT_EQ(complaints([](ir::Kernel&) {}), "");
  EXPECT_THAT(complaints([](ir::Kernel& k) { store(k, Packed::whole).value.numbers = 4; }),
              HasSubstr("a load of 4 numbers of 'x', which are bf16, into bf16x2"));
  EXPECT_THAT(complaints([](ir::Kernel& k) { k.buffers[0].dtype = ir::DType::f16; }),
              HasSubstr("which are f16, into bf16x2"));
  EXPECT_THAT(complaints([](ir::Kernel& k) { store(k, Packed::apart).value.stride = 1; }),
              HasSubstr("lanes that are 1 from each other"));
  EXPECT_THAT(complaints([](ir::Kernel& k) { store(k, Packed::part).value.number = 1; }),
              HasSubstr("lanes of several numbers without an element hold 0"));
  EXPECT_THAT(complaints([](ir::Kernel& k) { store(k, Packed::inserted).value.number = 2; }),
              HasSubstr("a number is inserted in place 2 of 2"));
  EXPECT_THAT(complaints([](ir::Kernel& k) { k.vector_lane = -1; }),
              HasSubstr("index variable 'lane' is used where it is not bound"));
  EXPECT_THAT(complaints([](ir::Kernel& k) { k.vector_lane = 2; }),
              HasSubstr("no index variable 2 for the lane of vectors"));
  EXPECT_THAT(complaints([](ir::Kernel& k) {
                ir::If all{{{ir::variable(1), 0, 3}}, {k.body[0]}, {}};
                k.body = {{all}};
              }),
              HasSubstr("index variable 'lane' is used where it is not bound"))
      << "all lanes of a vector take the same way";
}

TEST(Packed, is_printed_or_refused_by_name) {
  const ir::Kernel vectors = packed_kernel(ir::DType::bf16, ir::DType::bf16x2, false),
                   lanes = packed_kernel(ir::DType::bf16, ir::DType::bf16x2, true);
  EXPECT_THAT(printed_in(vectors, "cpp"), AllOf(HasSubstr("packed_at<bf16x2x16>("),
                                                HasSubstr("inserted<1, bf16x2x16, bf16x16>(")));
  EXPECT_THAT(printed_in(lanes, "cpp"),
              HasSubstr("lanes have addresses and conditions of their own"));
  EXPECT_THAT(printed_in(vectors, "opencl"), HasSubstr("can not spell vectors of 32 lanes"));
  EXPECT_THAT(printed_in(vectors, "glsl"), HasSubstr("'load_packed'"));
}

// A load of both numbers needs an address that is a multiple of both.
TEST(Packed, threads_load_at_once_what_is_aligned) {
  const auto dialect = parse_dialect(dialect_text("cuda"), "cuda");
  ASSERT_TRUE(dialect.ok());
  const auto text = render(std::vector{packed_kernel(ir::DType::bf16, ir::DType::bf16x2, true)},
                           *dialect, kPackedLanes);
  ASSERT_TRUE(text.ok()) << render(text.diags());
  EXPECT_THAT(*text, AllOf(HasSubstr("packed_at<bf16x2>("), HasSubstr("*(const bf16x2*)(")));
  EXPECT_THAT(*text, HasSubstr("% 4u) * 2"));
}

}  // namespace
}  // namespace assay::codegen
