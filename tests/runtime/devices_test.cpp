// The table of devices, and its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cpu/cpu_info.h"
#include "runtime/device.h"
#include "runtime/memory.h"

namespace assay::runtime {
namespace {

using ::testing::HasSubstr;

TEST(Devices, there_is_always_the_cpu) {
  const Found found = devices();
  ASSERT_FALSE(found.devices.empty());
  const DeviceInfo& d = found.devices[0];
  EXPECT_EQ(d.id, "cpu:0");
  EXPECT_EQ(d.api, "cpp");
  EXPECT_FALSE(d.name.empty());
  EXPECT_GE(d.units, 1);
  EXPECT_GT(d.memory_bytes, 0);
}

TEST(Devices, the_error_of_an_unknown_one_lists_all) {
  std::string all;
  for (const DeviceInfo& d : devices().devices) all += (all.empty() ? "" : ", ") + d.id;
  EXPECT_EQ(render(open("cpu:1").diags()), "error: there is no device 'cpu:1'; there are: " + all +
                                               "\nhint: did you mean 'cpu:0'?\n");
}

TEST(CpuInfo, fields_of_the_first_processor) {
  const std::string text =
      "processor\t: 0\nmodel name\t: A CPU @ 1: fast\nempty\t:\nprocessor\t: 1\nmodel name\t: B\n";
  EXPECT_EQ(cpu::cpuinfo_field(text, "model name"), "A CPU @ 1: fast");
  EXPECT_EQ(cpu::cpuinfo_field(text, "empty"), "");
  EXPECT_EQ(cpu::cpuinfo_field(text, "flags"), "");
}

TEST(Memory, large_pieces_are_aligned_to_huge_pages) {
  for (const int64_t bytes : {0, 1, 4096, (2 << 20) - 1, 2 << 20, 5 << 20}) {
    const auto m = Memory::allocate(bytes, false);
    ASSERT_TRUE(m.ok());
    EXPECT_EQ(static_cast<int64_t>(m->bytes().size()), bytes);
    const auto address = reinterpret_cast<uintptr_t>(m->bytes().data());
    EXPECT_EQ(address % (bytes >= (2 << 20) ? size_t{2} << 20 : 4096), 0u) << bytes;
  }
  EXPECT_THAT(render(Memory::allocate(int64_t{1} << 60, false).diags()),
              HasSubstr("out of memory"));
}

TEST(Memory, guards_detect_writes) {
  const auto m = Memory::allocate(100, true);
  ASSERT_TRUE(m.ok());
  EXPECT_TRUE(m->intact());
  m->bytes().data()[100] = std::byte{0};
  EXPECT_FALSE(m->intact());
}

}  // namespace
}  // namespace assay::runtime
