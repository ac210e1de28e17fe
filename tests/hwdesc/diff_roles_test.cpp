// One chip in two descriptions: what a datasheet names and counts per partition, and what a probe
// numbers and measures per unit. They agree; a real difference shows.
#include <gtest/gtest.h>

#include "hwdesc/diff.h"
#include "hwdesc/override.h"
#include "hwdesc/parse.h"

namespace assay::hwdesc {
namespace {

Profile profile_of(const std::string& text) {
  const auto p = parse_profile(text, "p.yaml", no_library);
  if (!p.ok()) throw std::runtime_error(render(p.diags()));
  return *p;
}

Profile with(const Profile& p, const std::string& change) {
  const auto changed = apply_override(p, change);
  if (!changed.ok()) throw std::runtime_error(render(changed.diags()));
  return *changed;
}

// Two units of three partitions at 500 MHz.
Profile datasheet() {
  return profile_of(R"(schema: assay/profile/1
name: chip
class: mobile_gpu
source: paper
clocks: {core: 500 MHz}
topology: [{name: unit, count: 2}, {name: partition, count: 3}]
execution:
  issue: {per: partition, rate: 2 /cycle@core}
pipes:
  - {name: fma, per: partition, rate: 128 /cycle@core}
  - {name: sfu, per: partition, rate: 16 /cycle@core}
memory:
  - {name: local, per: unit, managed: explicit, capacity: 32 KiB}
  - {name: texture_l1, per: partition, path: texture, capacity: 1 KiB, latency: 130 ns}
  - {name: l2, per: device, capacity: 128 KiB, latency: 110 ns, bandwidth: {read: 96 GB/s}}
  - {name: slc, per: device, capacity: 2 MiB, bandwidth: {read: 40 GB/s}, role: memory_side}
  - {name: dram, per: device, managed: explicit, bandwidth: {read: 30 GB/s}}
paths: [{name: texture, through: [texture_l1, l2, slc, dram]}]
compute:
  - {op: fma, dtype: f32, pipe: fma}
  - {op: exp, dtype: f32, pipe: sfu, slots: 1}
)");
}

Profile probed() {
  return profile_of(R"(schema: assay/profile/1
name: found
class: gpu
source: measured
clocks: {core: 500 MHz}
topology: [{name: unit, count: 2}]
execution:
  issue: {per: unit, rate: {value: 5.9 /cycle@core, low: 5.6 /cycle@core, high: 6.3 /cycle@core}}
pipes:
  - {name: fma, per: unit, rate: {value: 380 /cycle@core, low: 360 /cycle@core,
     high: 400 /cycle@core}}
  - {name: load, per: unit, rate: 20 /cycle@core}
memory:
  - {name: local, per: unit, managed: explicit, capacity: 32 KiB}
  - {name: texture_l1, per: unit, path: texture, capacity: 1 KiB, latency: {value: 131 ns,
     low: 125 ns, high: 135 ns}}
  - {name: l1, per: device, capacity: {value: 131 KiB, low: 120 KiB, high: 140 KiB}, latency:
     {value: 54 cycles@core, low: 52 cycles@core, high: 57 cycles@core},
     bandwidth: {read: {value: 95 GB/s, low: 80 GB/s, high: 110 GB/s}}}
  - {name: l2, per: device, capacity: {value: 2 MiB, low: 1900 KiB, high: 2100 KiB},
     bandwidth: {read: {value: 39 GB/s, low: 35 GB/s, high: 42 GB/s}}}
  - {name: dram, per: device, managed: explicit, bandwidth: {read: {value: 29 GB/s, low: 27 GB/s,
     high: 31 GB/s}}}
paths: [{name: texture, through: [texture_l1, l1, l2, dram]}]
compute:
  - {op: fma, dtype: f32, pipe: fma}
  - {op: fma, dtype: f64, pipe: fma, slots: 2}
  - {op: exp, dtype: f32, pipe: fma, slots: {value: 7.9, low: 7.7, high: 8.2}}
)");
}

std::vector<std::string> beyond(const Profile& left, const Profile& right) {
  std::vector<std::string> out;
  for (const Difference& d : diff(left, right))
    if (d.verdict == Verdict::beyond) out.push_back(d.path);
  return out;
}

using Paths = std::vector<std::string>;

TEST(DiffRoles, AProbeAgreesWithTheChipItProbed) {
  EXPECT_EQ(beyond(probed(), datasheet()), Paths{}) << print_diff(diff(probed(), datasheet()));
  EXPECT_EQ(beyond(datasheet(), probed()), Paths{});
  EXPECT_FALSE(differs(diff(probed(), datasheet())));
}

TEST(DiffRoles, TellWhichMemoryIsWhich) {
  for (const Difference& d : diff(probed(), datasheet()))
    if (d.path == "memory.l1.name") {
      EXPECT_EQ(d.left + " " + d.right, "l1 l2");
      EXPECT_EQ(d.verdict, Verdict::circumstance);
      return;
    }
  FAIL() << "no line about l1";
}

TEST(DiffRoles, ARealDifferenceShows) {
  const auto changed = [](const char* change) {
    return beyond(probed(), with(datasheet(), change));
  };
  EXPECT_EQ(changed("memory.dram.bandwidth.read*=2"), Paths{"memory.dram.bandwidth.read"});
  EXPECT_EQ(changed("memory.slc.bandwidth.read*=2"), Paths{"memory.l2.bandwidth.read"});
  EXPECT_EQ(changed("memory.l2.capacity*=2"), Paths{"memory.l1.capacity"});
  EXPECT_EQ(changed("memory.l2.latency*=2"), Paths{"memory.l1.latency"});
  EXPECT_EQ(changed("execution.issue.rate*=2"), Paths{"execution.issue.rate"});
  EXPECT_EQ(changed("pipes.sfu.rate*=2"), (Paths{"compute.exp.f32.pipe", "compute.exp.f32.slots"}));
}

// Three partitions in a unit: 128 of each are 384 of it.
TEST(DiffRoles, RatesAreComparedPerUnit) {
  EXPECT_EQ(beyond(probed(), with(datasheet(), "pipes.fma.rate=120 /cycle@core")), Paths{})
      << "360 are in 360 to 400";
  EXPECT_EQ(beyond(probed(), with(datasheet(), "pipes.fma.rate=119 /cycle@core")),
            Paths{"pipes.fma.rate"});
}

// The same text of a unit and of its partitions is a factor of three.
TEST(DiffRoles, OneTextOfTwoScopesIsADifference) {
  const Profile of_unit = with(datasheet(), "pipes.fma.per=unit");
  EXPECT_EQ(beyond(datasheet(), of_unit), Paths{"pipes.fma.rate"});
}

TEST(DiffRoles, ACacheThatOnlyOneHasIsADifference) {
  Profile more = datasheet();
  MemoryLevel l0;
  l0.name = "l0";
  l0.per = "unit";
  l0.capacity.value = Bytes{8192};
  more.memory.insert(more.memory.begin() + 2, l0);
  EXPECT_EQ(beyond(probed(), more), Paths{"memory.l0.name"})
      << "the others still match those of their size";
}

}  // namespace
}  // namespace assay::hwdesc
