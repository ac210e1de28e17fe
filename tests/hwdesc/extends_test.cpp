// `extends`: merging by key, removal, origins of inherited values, cycles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "hwdesc/parse.h"
#include "hwdesc/print.h"
#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

Library with(std::map<std::string, std::string> files) {
  return [files](std::string_view name) -> std::optional<std::pair<std::string, std::string>> {
    const auto found = files.find(std::string(name));
    if (found == files.end()) return std::nullopt;
    return std::pair{found->second, found->first + ".yaml"};
  };
}

Profile child(const std::string& body) {
  const auto p = parse_profile("schema: assay/profile/1\nextends: small\nname: child\n" + body,
                               "c.yaml", with({{"small", small_profile()}}));
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : render(p.diags()));
  return p.ok() ? *p : Profile{};
}

std::string child_complaints(const std::string& body) {
  return complaints("schema: assay/profile/1\nextends: small\nname: child\n" + body,
                    with({{"small", small_profile()}}));
}

TEST(Extends, entries_meet_by_key) {
  const Profile p =
      child("memory:\n  - {name: l1, capacity: 64 KiB}\n  - {name: host, per: host}\n");
  ASSERT_EQ(p.memory.size(), 3u);
  EXPECT_EQ(p.memory[0].capacity.value->v, 65536);
  EXPECT_EQ(p.memory[0].latency.value->v, 5);
  EXPECT_EQ(p.memory[2].name, "host");
  EXPECT_EQ(p.name, "child");
}

TEST(Extends, remove_deletes_entries_and_values) {
  const Profile p = child(
      "memory:\n  - !remove l1\n  - {name: dram, latency: !remove }\n"
      "compute:\n  - !remove {op: fma, dtype: f32}\n");
  ASSERT_EQ(p.memory.size(), 1u);
  EXPECT_FALSE(p.memory[0].latency.known());
  EXPECT_TRUE(p.compute.empty());
  EXPECT_NE(child_complaints("memory: [!remove l9]\n").find("memory: no 'l9' to remove"),
            std::string::npos);
}

TEST(Extends, values_keep_the_origin_they_had) {
  const Profile p = child("source: assumed\nmemory: [{name: l1, latency: 6 cycles@core}]\n");
  EXPECT_EQ(p.source, Origin::assumed);
  EXPECT_EQ(p.memory[0].capacity.source, Origin::measured);
  EXPECT_EQ(p.memory[0].latency.source, std::nullopt);
  EXPECT_EQ(p.compute[0].latency.source, Origin::measured);
  EXPECT_EQ(child("").source, Origin::measured);
}

TEST(Extends, overrides_in_the_file_come_last) {
  const Profile p =
      child("topology: [{name: unit, count: 8}]\noverrides: [topology.unit.count*=2]\n");
  EXPECT_EQ(p.topology[0].count.value->v, 16);
  EXPECT_EQ(p.topology[0].count.source, Origin::derived);
  EXPECT_EQ(child_complaints("overrides:\n  - memory.l1.capcity=1 KiB\n"),
            "p.yaml:5:5: error: no place 'memory.l1.capcity' in profile 'child'\n"
            "    - memory.l1.capcity=1 KiB\n"
            "      ^\n"
            "hint: did you mean 'memory.l1.capacity'?\n");
}

TEST(Extends, a_parent_that_is_not_there) {
  EXPECT_EQ(complaints("schema: assay/profile/1\nextends: nobody\nname: x\n"),
            "p.yaml:2:10: error: extends: no profile 'nobody' beside this file or in the library\n"
            "  extends: nobody\n"
            "           ^\n");
}

TEST(Extends, a_cycle_is_an_error) {
  const auto lib = with({{"a", "schema: assay/profile/1\nextends: b\nname: a\n"},
                         {"b", "schema: assay/profile/1\nextends: a\nname: b\n"}});
  const std::string text = complaints("schema: assay/profile/1\nextends: a\nname: x\n", lib);
  EXPECT_EQ(text,
            "b.yaml:2:10: error: extends: a profile can not extend itself: p.yaml -> a.yaml -> "
            "b.yaml -> a.yaml\n"
            "  extends: a\n"
            "           ^\n");
}

TEST(Extends, faults_of_the_parent_name_its_file) {
  const auto lib = with({{"small", varied("32 KiB", "32 XiB")}});
  const std::string text = complaints("schema: assay/profile/1\nextends: small\nname: x\n", lib);
  EXPECT_EQ(text.find("small.yaml:10:40: error: memory.l1.capacity: unknown unit 'XiB'\n"), 0u)
      << text;
}

TEST(Extends, a_removed_pipe_that_is_still_used_is_found_where_it_is_used) {
  const std::string text = child_complaints("pipes: [!remove fma]\n");
  EXPECT_EQ(text.find("small.yaml:17:33: error: compute.fma.f32.pipe: 'fma' is not one of pipes\n"),
            0u)
      << text;
}

// Notes, without their places.
std::vector<std::string> doubts(const std::string& body, const std::string& parent) {
  Diags notes;
  ParseOptions options;
  options.notes = &notes;
  const auto p = parse_profile("schema: assay/profile/1\nextends: small\nname: child\n" + body,
                               "c.yaml", with({{"small", parent}}), options);
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : render(p.diags()));
  std::vector<std::string> out;
  for (const Diag& d : notes) {
    EXPECT_EQ(d.severity, Severity::note);
    EXPECT_EQ(d.file, "small.yaml");
    out.push_back(d.message);
  }
  return out;
}

std::string doubted_parent() {
  return "schema: assay/profile/1\n"
         "name: small\n"
         "class: gpu\n"
         "source: measured\n"
         "clocks: {core: {max: 2 GHz, sustained: {all: 1.8 GHz}}, memory: 1 GHz}\n"
         "topology: [{name: unit, count: 4}]\n"
         "pipes: [{name: fma, per: unit, rate: 16 /cycle@core}]\n"
         "memory:\n"
         "  - {name: l1, per: unit, capacity: 32 KiB, knee: {from: 30 KiB, to: 40 KiB}, latency: "
         "5 cycles@core}\n"
         "  - {name: l2, per: device, capacity: 4 MiB, latency: 100 ns, bandwidth: {read: 200 "
         "GB/s}}\n"
         "  - {name: dram, per: device, managed: explicit, capacity: 4 GB, latency: 300 ns, "
         "bandwidth: {read: 50 GB/s, write: 45 GB/s, sharpness: 3}}\n"
         "compute: [{op: fma, dtype: f32, pipe: fma, latency: 4 cycles@core}]\n"
         "power: {cap: 100 W}\n"
         "apis: {opencl: {dialect: opencl, launch: {stream: 5 us}}}\n";
}

TEST(Extends, inherited_values_are_in_doubt_where_their_cause_changed) {
  using ::testing::ElementsAre;
  using ::testing::HasSubstr;
  using ::testing::StartsWith;
  const auto found = [](const char* body) { return doubts(body, doubted_parent()); };
  EXPECT_THAT(found("clocks: {core: {max: 3 GHz}}\n"),
              ElementsAre(StartsWith("clocks.core.sustained.all: 1.8 GHz is inherited"),
                          HasSubstr("memory.l2.latency: 100 ns is inherited from 'small', where "
                                    "clocks.core.max is 2 GHz, not 3 GHz: probably another value "
                                    "here"),
                          StartsWith("memory.l2.bandwidth.read: 200 GB/s is inherited")))
      << "what is counted in ticks follows the clock; the far memory has its own";
  EXPECT_THAT(
      found("clocks: {memory: 2 GHz}\n"),
      ElementsAre(StartsWith("memory.dram.latency"), StartsWith("memory.dram.bandwidth.read"),
                  StartsWith("memory.dram.bandwidth.write")));
  EXPECT_THAT(
      found("topology: [{name: unit, count: 8}]\n"),
      ElementsAre(StartsWith("clocks.core.sustained.all"), StartsWith("memory.l2.bandwidth.read"),
                  StartsWith("memory.dram.bandwidth.sharpness")));
  EXPECT_THAT(
      found("memory: [{name: dram, bandwidth: {read: 99 GB/s}}]\n"),
      ElementsAre(StartsWith("memory.dram.latency"), StartsWith("memory.dram.bandwidth.write"),
                  StartsWith("memory.dram.bandwidth.sharpness")));
  EXPECT_THAT(found("memory: [{name: l1, capacity: 64 KiB}]\n"),
              ElementsAre(StartsWith("memory.l1.knee.from"), StartsWith("memory.l1.knee.to"),
                          StartsWith("memory.l1.latency")));
  EXPECT_THAT(found("power: {cap: 50 W}\n"), ElementsAre(StartsWith("clocks.core.sustained.all")));
  EXPECT_THAT(found("class: cpu\n"), ElementsAre(StartsWith("compute.fma.f32.latency"),
                                                 StartsWith("apis.opencl.launch.stream")));
}

TEST(Extends, what_the_child_gives_itself_is_in_no_doubt) {
  EXPECT_TRUE(doubts("", doubted_parent()).empty());
  EXPECT_TRUE(doubts("memory: [{name: dram, capacity: 8 GB}]\n", doubted_parent()).empty())
      << "more of the same memory";
  EXPECT_TRUE(doubts("clocks: {core: {max: 3 GHz, sustained: {all: 1.8 GHz}}}\n"
                     "memory: [{name: l2, latency: 100 ns, bandwidth: {read: unknown}}]\n",
                     doubted_parent())
                  .empty())
      << "given again, or unknown";
  EXPECT_TRUE(doubts("overrides: [memory.dram.bandwidth*=2, memory.dram.latency=300 ns, "
                     "memory.dram.bandwidth.sharpness=4]\n",
                     doubted_parent())
                  .empty());
}

}  // namespace
}  // namespace assay::hwdesc
