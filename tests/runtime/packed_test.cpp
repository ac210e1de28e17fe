// Registers of several numbers, and lanes at addresses of their own, compiled and run.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/codegen/packed_kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;

class Packed : public ::testing::TestWithParam<bool> {};  // lanes are threads

TEST_P(Packed, agrees_with_bits) {
  Host host;
  const DeviceInfo& info = host.device().info();
  if (GetParam() && (info.id == "cpu:0" || (info.simulated && !info.threads)))
    GTEST_SKIP() << "its lanes are vectors";
  if (!GetParam() && (info.threads || info.id.starts_with("cuda")))
    GTEST_SKIP() << "its lanes are threads";
  std::mt19937 rng(7);
  for (const PackedType& t : kPackedTypes) {
    if (t.number == ir::DType::f16 && info.id == "cpu:0") continue;  // no f16x2
    const ir::Kernel k = packed_kernel(t.number, t.packed, GetParam());
    const auto module = host.device().load(
        std::vector{k}, GetParam() ? lanes_are_threads(kPackedLanes) : hwdesc::Target{},
        host.options());
    ASSERT_TRUE(module.ok()) << render(module.diags());
    const int bits = packed_bits(t.number);
    std::vector<uint32_t> x;
    std::vector<std::byte> bytes;
    for (int i = 0; i < kPackedNumbers; ++i) {
      x.push_back(static_cast<uint32_t>(rng() % (bits == 8 ? 256 : 0x7000)));
      const auto word = x.back();
      const auto* at = reinterpret_cast<const std::byte*>(&word);
      bytes.insert(bytes.end(), at, at + bits / 8);
    }
    std::vector<uint32_t> out(static_cast<size_t>(k.buffers[1].elements), kPackedUntouched);
    Launch launch{0, {}, {}};
    for (const int64_t size :
         {static_cast<int64_t>(bytes.size()), int64_t{4} * k.buffers[1].elements})
      launch.arguments.push_back({(*module)->allocate(size).value(), 0});
    (*module)->write(launch.arguments[0], bytes);
    (*module)->write(launch.arguments[1], std::as_bytes(std::span(out)));
    const auto times = (*module)->run(std::vector{launch}, {});
    ASSERT_TRUE(times.ok()) << render(times.diags());
    (*module)->read(launch.arguments[1], std::as_writable_bytes(std::span(out)));
    const std::vector<uint32_t> expected = packed_expected(x, bits, GetParam());
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], expected[i]) << ir::name_of(t.packed) << " element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(vectors_and_threads, Packed, ::testing::Bool());

}  // namespace
}  // namespace assay::runtime
