// One profile for each warning of what no chip has. What is right on its own is no error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hwdesc/check.h"
#include "hwdesc/library.h"
#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

using testing::HasSubstr;

// Two cores of 2 GHz that issue four vectors of eight lanes a tick.
std::string chip() {
  return "schema: assay/profile/1\n"
         "name: chip\n"
         "source: measured\n"
         "clocks: {core: 2 GHz}\n"
         "topology: [{name: unit, count: 2}]\n"
         "execution:\n"
         "  lanes: {style: simd, modes: [{name: one, width: 1}, {name: eight, width: 8}]}\n"
         "  issue: {per: unit, rate: 4 /cycle@core}\n"
         "pipes:\n"
         "  - {name: fma, per: unit, rate: 16 /cycle@core}\n"
         "memory:\n"
         "  - {name: l1, per: unit, capacity: 32 KiB, latency: 5 cycles@core, "
         "bandwidth: {read: 64 B/cycle@core}}\n"
         "  - {name: l3, per: device, capacity: 8 MiB, latency: 40 cycles@core, "
         "bandwidth: {read: 200 GB/s}}\n"
         "  - {name: dram, per: device, managed: explicit, capacity: 16 GiB, latency: 90 ns, "
         "bandwidth: {read: 50 GB/s}}\n"
         "compute:\n"
         "  - {op: fma, dtype: f32, pipe: fma}\n"
         "  - {op: fma, dtype: f16, pipe: fma, slots: 0.5}\n";
}

std::string warnings(const std::string& from, const std::string& to) {
  std::string text = chip();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto p = parse_profile(text.replace(at, from.size(), to), "p.yaml", no_library);
  EXPECT_TRUE(p.ok()) << render(p.diags());
  const Diags all = check(*p);
  EXPECT_FALSE(has_error(all)) << render(all);
  return render(all);
}

TEST(Plausible, AChipAsThereAreMany) {
  EXPECT_EQ(warnings("name: chip", "name: chip"), "");
  for (const LibraryEntry& e : library())
    if (e.kind == LibraryKind::profile) {
      EXPECT_EQ(render(check(*load_from_library(e.name))), "") << e.name;
    }
}

TEST(Plausible, AFartherMemoryIsNotFaster) {
  EXPECT_EQ(
      warnings("read: 50 GB/s", "read: 600 TB/s"),
      "warning: memory.dram.bandwidth.read: 600 TB/s of all instances, more than the 200 GB/s "
      "of 'l3', which is listed nearer\n"
      "hint: bandwidth is per instance of `per`, not a total\n");
  // 2 x 64 B x 2 GHz is 256 GB/s.
  EXPECT_EQ(warnings("read: 200 GB/s", "read: 256 GB/s"), "");
  EXPECT_THAT(warnings("read: 200 GB/s", "read: 300 GB/s"),
              HasSubstr("memory.l3.bandwidth.read: 300 GB/s of all instances, more than the 256 "
                        "GB/s of 'l1'"));
  EXPECT_EQ(warnings("read: 200 GB/s", "read: {value: 300 GB/s, low: 240 GB/s, high: 360 GB/s}"),
            "")
      << "an interval that holds less";
}

TEST(Plausible, AFartherMemoryIsNotSooner) {
  EXPECT_THAT(warnings("latency: 90 ns", "latency: 19 ns"),
              HasSubstr("memory.dram.latency: shorter than that of 'l3'"))
      << "40 cycles are 20 ns";
  EXPECT_EQ(warnings("latency: 90 ns", "latency: 21 ns"), "");
}

TEST(Plausible, AFartherMemoryIsLarger) {
  EXPECT_THAT(warnings("capacity: 16 GiB", "capacity: 4 MiB"),
              HasSubstr("memory.dram.capacity: smaller than that of 'l3'"));
  EXPECT_THAT(warnings("capacity: 8 MiB", "capacity: 32 KiB"),
              HasSubstr("memory.l3.capacity: not larger than that of 'l1'"));
}

// 4 vectors x 8 lanes x 2 GHz x 2 cores = 128 G/s.
TEST(Plausible, ARateIsWhatClockLanesAndIssueAllow) {
  EXPECT_EQ(warnings("rate: 16 /cycle@core", "rate: 32 /cycle@core"), "");
  EXPECT_THAT(warnings("rate: 16 /cycle@core", "rate: 33 /cycle@core"),
              HasSubstr("pipes.fma.rate: 132 G/s of all instances, where clock, lanes and issue "
                        "rate allow 128 G/s"));
  EXPECT_THAT(warnings("rate: 16 /cycle@core", "rate: 66 G/s"), HasSubstr("pipes.fma.rate"));
  EXPECT_THAT(warnings("pipe: fma, slots: 0.5", "pipe: fma, slots: 0.2"),
              HasSubstr("compute.fma.f16.slots: 320 G/s"))
      << "two of f16 in a lane are 256 G/s";
  EXPECT_THAT(warnings("  issue: {per: unit, rate: 4 /cycle@core}\n", ""), "");
}

TEST(Plausible, WithoutAnIssueRateItIsMoreThanAnyChips) {
  std::string text = chip();
  const std::string issue = "  issue: {per: unit, rate: 4 /cycle@core}\n",
                    rate = "rate: 16 /cycle@core";
  text.erase(text.find(issue), issue.size());
  text.replace(text.find(rate), rate.size(), "rate: 1000 /cycle@core");
  const auto p = parse_profile(text, "p.yaml", no_library);
  ASSERT_TRUE(p.ok()) << render(p.diags());
  EXPECT_THAT(render(check(*p)), HasSubstr("pipes.fma.rate"));
}

TEST(Check, ANameHasTheDocumentedForm) {
  for (const char* name : {"small", "a100-sxm4-40gb", "x86.64-v4"})
    EXPECT_EQ(complaints(varied("name: small", std::string("name: ") + name)), "") << name;
  EXPECT_THAT(complaints(varied("name: small", "name: My Chip")),
              HasSubstr("p.yaml:2:7: error: name: found 'My Chip', expected lower case, words "
                        "joined by -"));
  EXPECT_THAT(complaints(varied("name: small", "name: My Chip")), HasSubstr("hint: write my-chip"));
  for (const char* name : {"-a", "a-", "a--b", "a_b", "A", "\"\""})
    EXPECT_NE(complaints(varied("name: small", std::string("name: ") + name)), "") << name;
}

TEST(Check, BigAndLittleCoresAreTwoProfiles) {
  const std::string one = "[{name: unit, count: 4}]";
  EXPECT_THAT(complaints(varied(one, "[{name: unit, count: 4}, {name: unit, count: 4}]")),
              HasSubstr("hint: levels nest from outside in, so a chip has units of one kind"));
  EXPECT_THAT(complaints(varied(one, "[{name: big, count: 4}, {name: little, count: 4}]")),
              HasSubstr("describe its fast units in one profile, the others in another"));
}

// Predictions assume a clock where none is known, and refuse its ticks.
TEST(Check, AMissingCoreClockIsAWarning) {
  const auto p = parse_profile(varied("clocks: {core: 2 GHz}", "clocks: {core: unknown}"), "p.yaml",
                               no_library);
  ASSERT_TRUE(p.ok()) << render(p.diags());
  EXPECT_FALSE(has_error(check(*p))) << render(check(*p));
  EXPECT_THAT(render(check(*p)), HasSubstr("warning: clocks.core: unknown"));
}

}  // namespace
}  // namespace assay::hwdesc
