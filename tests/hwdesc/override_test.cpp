// Overrides, rows and differences.
#include "hwdesc/override.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "hwdesc/diff.h"
#include "hwdesc/show.h"
#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

Profile small() { return *parse_profile(small_profile(), "p.yaml", no_library); }

// The diff that an override causes, or its error.
std::string effect(const std::string& text) {
  const auto p = apply_override(small(), text);
  if (!p.ok()) return render(p.diags());
  std::string out;
  for (const Difference& d : diff(small(), *p))
    out += d.path + ": " + (d.left.empty() ? "-" : d.left) + " -> " + d.right + "\n";
  return out;
}

TEST(Override, sets_multiplies_and_adds) {
  EXPECT_EQ(effect("topology.unit.count=264"), "topology.unit.count: 4 -> 264\n");
  EXPECT_EQ(effect("memory.l1.capacity*=2"), "memory.l1.capacity: 32 KiB -> 64 KiB\n");
  EXPECT_EQ(effect("memory.dram.latency += 10 ns"), "memory.dram.latency: 90 ns -> 100 ns\n");
  EXPECT_EQ(effect("memory.l1.ways=8"), "memory.l1.ways: - -> 8\n");
  EXPECT_EQ(effect("memory.l1.latency=unknown"), "memory.l1.latency: 5 cycles@core -> unknown\n");
  EXPECT_EQ(effect("memory.l1.managed=explicit"), "memory.l1.managed: - -> explicit\n");
  EXPECT_EQ(effect("compute.fma.f32.latency=3 cycles@core"),
            "compute.fma.f32.latency: 4 cycles@core -> 3 cycles@core\n");
}

TEST(Override, structures_scale_with_all_their_numbers) {
  EXPECT_EQ(
      effect("memory.dram*=2"),
      "memory.dram.latency: 90 ns -> 180 ns\nmemory.dram.bandwidth.read: 50 GB/s -> 100 GB/s\n");
  const auto p = apply_override(small(), "memory.dram*=2");
  ASSERT_TRUE(p.ok());
  const auto& latency = p->memory[1].latency;
  EXPECT_EQ(latency.low->v, 160e-9);
  EXPECT_EQ(latency.high->v, 220e-9);
  EXPECT_EQ(latency.source, Origin::derived);
  EXPECT_EQ(latency.method, "override *= 2");
  EXPECT_EQ(latency.n, std::nullopt);
  EXPECT_FALSE(p->memory[1].bandwidth.write.known());
}

TEST(Override, a_star_stands_for_any_key) {
  EXPECT_EQ(
      effect("memory.*.latency*=2"),
      "memory.l1.latency: 5 cycles@core -> 10 cycles@core\nmemory.dram.latency: 90 ns -> 180 ns\n");
  EXPECT_EQ(effect("compute.*.latency*=2"),
            "compute.fma.f32.latency: 4 cycles@core -> 8 cycles@core\n");
  EXPECT_EQ(effect("compute.*.f32.latency*=2"),
            "compute.fma.f32.latency: 4 cycles@core -> 8 cycles@core\n");
  EXPECT_EQ(effect("memory.l1.*=1"), effect("memory.l1.*=1"));
}

TEST(Override, complaints) {
  EXPECT_EQ(effect("memory.l2.capacity*=2"),
            "error: no place 'memory.l2.capacity' in profile 'small'\nhint: did you mean "
            "'memory.l1.capacity'?\n");
  EXPECT_EQ(
      effect("memory.hbm.bandwidth=1 GB/s"),
      "error: no place 'memory.hbm.bandwidth' in profile 'small'\nhint: memory has: l1, dram\n");
  EXPECT_EQ(effect("memory.l1.capacity/=2"), "error: there is no /=\nhint: path*=0.5 halves\n");
  EXPECT_EQ(effect("topology.unit.count=1.5"),
            "error: topology.unit.count: 1.5 is no whole number\n");
  EXPECT_EQ(effect("topology.unit.count=1e20"),
            "error: topology.unit.count: 1e20 is out of all bounds\nhint: from 1e-18 to 1e18 of "
            "the unit without a prefix\n");
  EXPECT_EQ(effect("memory.dram.bandwidth*=1e-300").substr(0, 35),
            "error: memory.dram.bandwidth.read: ");
  EXPECT_EQ(effect("memory.l1=3"),
            "error: 'memory.l1' is a structure, not a value\nhint: name one of its values, as "
            "memory.l1.name\n");
  EXPECT_EQ(effect("memory.l1.capacity=3 KB"),
            "error: unknown unit 'KB'\nhint: kB is 1000 B, KiB is 1024 B\n");
  EXPECT_EQ(effect("memory.l1.capacity*=-1"),
            "error: '-1' is not a positive number to multiply by\n");
  EXPECT_EQ(effect("memory.l1.latency+=3 ns"),
            "error: '3 ns' can not be added to 5 cycles@core\nhint: both must be counted by the "
            "same clock\n");
  EXPECT_EQ(
      effect("memory.l1.ways*=2"),
      "error: 'memory.l1.ways' is unknown: there is nothing to change\nhint: set it with =\n");
  EXPECT_EQ(effect("memory.l*.ways=2"),
            "error: 'memory.l*.ways' is not a path\nhint: words joined by dots; * stands for a "
            "whole word\n");
  EXPECT_EQ(effect("faster"),
            "error: 'faster' is not an override\nhint: path=value, path*=number or path+=value\n");
  EXPECT_EQ(effect("memory.l1.capacity="), "error: no value after '='\n");
  EXPECT_EQ(effect("memory.l1.per=core"),
            "error: memory.l1.per: 'core' is not a level of topology\nhint: one of: device, host, "
            "unit\n");
  EXPECT_EQ(effect("memory.l1.name=x"), "error: 'memory.l1.name': an entry keeps its name\n");
  EXPECT_EQ(effect("memory.l1.capacity=0 B"),
            "error: memory.l1.capacity: 0 B is no value\nhint: leave it out, or write unknown, "
            "where nothing is known\n");
  EXPECT_EQ(effect("memory.dram.managed=auto"),
            "error: 'auto' is not expected\nhint: one of: automatic, explicit\n");
}

TEST(Override, every_path_that_is_shown_can_be_named) {
  const Profile p = small();
  for (const FieldRow& row : rows(p)) {
    if (row.origin.empty()) continue;
    const auto changed = apply_override(p, row.path + "*=2");
    ASSERT_TRUE(changed.ok()) << render(changed.diags());
    const auto d = diff(p, *changed);
    ASSERT_EQ(d.size(), 1u) << row.path;
    EXPECT_EQ(d[0].path, row.path);
  }
}

TEST(Override, any_text_is_applied_or_refused) {
  const Profile p = small();
  EXPECT_TRUE(rc::check("no text crashes the reader", [&](std::string text) {
    for (const std::string& t : {text, "memory.l1." + text, "memory.l1.capacity=" + text}) {
      const auto r = apply_override(p, t);
      const bool answered = r.ok() || has_error(r.diags());
      RC_ASSERT(answered);
    }
  }));
}

TEST(Show, rows_say_where_numbers_come_from) {
  for (const FieldRow& row : rows(small())) {
    if (row.path != "memory.dram.latency") continue;
    EXPECT_EQ(row.value, "90 ns");
    EXPECT_EQ(row.interval, "80 ns .. 110 ns");
    EXPECT_EQ(row.origin, "measured");
    EXPECT_EQ(row.ref, "ds");
    return;
  }
  FAIL() << "no such row";
}

TEST(Diff, lists_what_either_side_lacks) {
  Profile left = small(), right = small();
  left.memory.pop_back();
  right.pipes[0].rate.value->v = 32;
  EXPECT_EQ(print_diff(diff(right, left)).substr(0, 56),
            "pipes.fma.rate: 32 /cycle@core -> 16 /cycle@core\nmemory.");
  EXPECT_EQ(print_diff(diff(small(), small())), "");
}

TEST(Override, a_scaled_structure_keeps_its_shape) {
  const std::string text =
      varied("read: 50 GB/s", "read: 50 GB/s, sharpness: 4, shape: [{units: 0.5, reaches: 0.9}]");
  const auto p = parse_profile(text, "p.yaml", no_library);
  ASSERT_TRUE(p.ok()) << render(p.diags());
  const auto doubled = apply_override(*p, "memory.dram.bandwidth*=2");
  ASSERT_TRUE(doubled.ok()) << render(doubled.diags());
  const MemoryBandwidth &was = p->memory[1].bandwidth, &is = doubled->memory[1].bandwidth;
  EXPECT_EQ(is.read.value->v, 2 * was.read.value->v);
  EXPECT_EQ(is.sharpness, was.sharpness);
  EXPECT_EQ(is.shape, was.shape);
  EXPECT_EQ(apply_override(*p, "memory.dram.bandwidth.sharpness*=2")
                ->memory[1]
                .bandwidth.sharpness.value->v,
            8);
}

}  // namespace
}  // namespace assay::hwdesc
