#include "hwdesc/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "hwdesc/check.h"
#include "hwdesc/diff.h"
#include "hwdesc/override.h"
#include "hwdesc/print.h"
#include "hwdesc/words.h"
#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

using testing::Contains;

Profile profile_of(const std::string& text) {
  const auto p = parse_profile(text, "p.yaml", no_library);
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

Profile small() { return profile_of(small_profile()); }

Profile with_api(const std::string& name) {
  return profile_of(small_profile() + "apis: {" + name + ": {dialect: " + name +
                    ", launch: {eager: 3 us}}}\n");
}

Profile changed(const Profile& p, const std::string& text) {
  const auto out = apply_override(p, text);
  EXPECT_TRUE(out.ok()) << render(out.diags());
  return *out;
}

TEST(Merge, AProfileWithItselfIsItself) {
  const Merged m = merge(with_api("cpp"), with_api("cpp"));
  EXPECT_EQ(print_profile(m.profile), print_profile(with_api("cpp")));
  EXPECT_TRUE(m.conflicts.empty());
  EXPECT_TRUE(m.added.empty());
}

TEST(Merge, BringsTheOtherApi) {
  const Merged m = merge(with_api("cpp"), with_api("opencl"));
  ASSERT_EQ(m.profile.apis.size(), 2U);
  EXPECT_EQ(m.profile.apis[0], with_api("cpp").apis[0]);
  EXPECT_EQ(m.profile.apis[1], with_api("opencl").apis[0]);
  EXPECT_TRUE(m.conflicts.empty());
  EXPECT_THAT(m.added, testing::ElementsAre("apis.opencl"));
  const auto again = parse_profile(print_profile(m.profile), "m.yaml", no_library);
  ASSERT_TRUE(again.ok()) << render(again.diags());
  EXPECT_FALSE(has_error(check(*again))) << render(check(*again));
}

TEST(Merge, FillsWhatTheFirstDoesNotKnowAndKeepsWhatItKnows) {
  Profile second = changed(changed(small(), "memory.dram.bandwidth.write=40 GB/s"),
                           "memory.dram.bandwidth.read=70 GB/s");
  const Merged m = merge(small(), second);
  EXPECT_EQ(m.profile.memory[1].bandwidth.write.value->v, 40e9);
  EXPECT_EQ(m.profile.memory[1].bandwidth.read.value->v, 50e9) << "the first's own stays";
  EXPECT_TRUE(m.conflicts.empty()) << "a rate seen through another api is no conflict";
  EXPECT_THAT(m.added, Contains("memory.dram.bandwidth.write"));
}

// A value with its profile's default origin names it explicitly in another profile.
TEST(Merge, ValuesKeepTheirOrigin) {
  Profile second = small();
  second.source = Origin::datasheet;
  second.pipes.push_back({"sfu", "unit", {Rate{4, "core"}, {}, {}, {}, {}, "", "", ""}});
  const Merged m = merge(small(), second);
  ASSERT_EQ(m.profile.pipes.size(), 2U);
  EXPECT_EQ(m.profile.source, Origin::measured);
  EXPECT_EQ(m.profile.pipes[1].rate.source, Origin::datasheet);
}

// Where one key names two sources, added values still cite their own. Uncited sources are not
// added.
TEST(Merge, ValuesKeepTheirReferences) {
  const auto citing = [](const std::string& text, const std::string& pipe) {
    Profile p = small();
    p.references = {{"ds", text}, {"wp", text + ", whitepaper"}};
    p.pipes[0].rate.ref = "ds";
    p.pipes.push_back({pipe, "unit", {Rate{4, "core"}, {}, {}, {}, {}, "", "ds", ""}});
    return p;
  };
  const Profile second = citing("sheet of B", "b");
  const Merged m = merge(citing("sheet of A", "a"), second, Prefer::first);
  EXPECT_TRUE(m.conflicts.empty());
  EXPECT_THAT(m.profile.references, testing::ElementsAre(NamedText{"ds", "sheet of A"},
                                                         NamedText{"wp", "sheet of A, whitepaper"},
                                                         NamedText{"ds2", "sheet of B"}));
  EXPECT_EQ(m.profile.pipes[0].rate.ref, "ds");
  EXPECT_EQ(m.profile.pipes.back().name, "b");
  EXPECT_EQ(m.profile.pipes.back().rate.ref, "ds2");
  EXPECT_EQ(print_profile(merge(second, second).profile), print_profile(second));
}

TEST(Merge, StructureMustAgree) {
  const Merged count = merge(small(), changed(small(), "topology.unit.count=8"));
  ASSERT_EQ(count.conflicts.size(), 1U);
  EXPECT_EQ(count.conflicts[0], (Conflict{"topology.unit.count", "4", "8", "measured", "derived"}));
  EXPECT_EQ(count.profile.topology[0].count.value->v, 4);
  const Merged size = merge(small(), changed(small(), "memory.l1.capacity=64 KiB"));
  ASSERT_EQ(size.conflicts.size(), 1U);
  EXPECT_EQ(size.conflicts[0].path, "memory.l1.capacity");
  const Merged word = merge(small(), changed(small(), "memory.l1.managed=explicit"));
  ASSERT_EQ(word.conflicts.size(), 1U);
  EXPECT_EQ(word.conflicts[0], (Conflict{"memory.l1.managed", "automatic", "explicit", "", ""}));
  EXPECT_EQ(print_profile(word.profile), print_profile(small())) << "a cache stays a cache";
}

TEST(Merge, SizesWhoseIntervalsMeetAgree) {
  Profile first = small(), second = small();
  first.memory[0].capacity.low = Bytes{30000};
  first.memory[0].capacity.high = Bytes{36000};
  second.memory[0].capacity.value = Bytes{40000};
  second.memory[0].capacity.low = Bytes{35000};
  second.memory[0].capacity.high = Bytes{45000};
  EXPECT_TRUE(merge(first, second).conflicts.empty());
  second.memory[0].capacity.low = Bytes{37000};
  EXPECT_EQ(merge(first, second).conflicts.size(), 1U);
}

TEST(Merge, OneMoreCacheIsAConflict) {
  Profile second = small();
  MemoryLevel l2 = second.memory[0];
  l2.name = "l2";
  l2.capacity.value = Bytes{1 << 20};
  second.memory.insert(second.memory.begin() + 1, l2);
  const Merged undecided = merge(small(), second);
  ASSERT_EQ(undecided.conflicts.size(), 1U);
  EXPECT_EQ(undecided.conflicts[0].path, "memory.l2");
  EXPECT_EQ(undecided.profile.memory.size(), 2U);
  const Merged preferred = merge(small(), second, Prefer::second);
  ASSERT_EQ(preferred.profile.memory.size(), 3U);
  EXPECT_EQ(preferred.profile.memory[1].name, "l2") << "between the levels it lay between";
}

TEST(Merge, APathThroughACacheThatIsNotTakenIsNotTakenEither) {
  std::string text = small_profile() + "paths: [{name: constant, through: [constant_l1]}]\n";
  text.insert(text.find("  - name: dram"),
              "  - {name: constant_l1, per: unit, managed: automatic, path: constant, capacity: 2 "
              "KiB, latency: 9 cycles@core}\n");
  const Merged first = merge(small(), profile_of(text), Prefer::first),
               second = merge(small(), profile_of(text), Prefer::second);
  EXPECT_TRUE(first.profile.paths.empty());
  EXPECT_THAT(first.added, testing::Not(Contains("paths.constant")));
  EXPECT_FALSE(has_error(check(first.profile))) << render(check(first.profile));
  ASSERT_EQ(second.profile.paths.size(), 1U);
  EXPECT_EQ(second.profile.paths[0].through, std::vector<std::string>{"constant_l1"});
  EXPECT_FALSE(has_error(check(second.profile))) << render(check(second.profile));
  EXPECT_TRUE(merge(profile_of(text), small(), Prefer::second).profile.paths.empty())
      << "the first's cache does not stand";
}

TEST(Merge, HowABorderWasFoundIsNoConflict) {
  const auto read_by = [](const char* method, const char* gives) {
    return profile_of(small_profile() + "paths: [{name: texture, border: {gives: " + gives +
                      ", method: " + method + "}}]\n");
  };
  const Merged m = merge(read_by("a sampler", "zero"), read_by("none", "zero"));
  EXPECT_THAT(m.conflicts, testing::IsEmpty());
  EXPECT_EQ(m.profile.paths[0].border.method, "a sampler");
  EXPECT_EQ(merge(read_by("a sampler", "zero"), read_by("none", "clamp")).conflicts.size(), 1U);
}

TEST(Merge, ThePreferredSideDecides) {
  const Profile second = changed(small(), "topology.unit.count=8");
  EXPECT_EQ(merge(small(), second, Prefer::first).profile.topology[0].count.value->v, 4);
  const Merged m = merge(small(), second, Prefer::second);
  EXPECT_EQ(m.profile.topology[0].count.value->v, 8);
  EXPECT_EQ(m.conflicts.size(), 1U) << "what was decided is still said";
}

TEST(Merge, ACacheThatOnlyTheFirstSawIsAConflictToo) {
  Profile first = small();
  MemoryLevel l2 = first.memory[0];
  l2.name = "l2";
  first.memory.insert(first.memory.begin() + 1, l2);
  const Merged undecided = merge(first, small());
  ASSERT_EQ(undecided.conflicts.size(), 1U);
  EXPECT_EQ(undecided.conflicts[0],
            (Conflict{"memory.l2", "an entry", "-", word_of(first.source), ""}));
  EXPECT_EQ(undecided.profile.memory.size(), 3U);
  EXPECT_EQ(merge(first, small(), Prefer::second).profile.memory.size(), 2U);
  Profile silent = small();
  silent.memory.clear();
  EXPECT_TRUE(merge(first, silent).conflicts.empty()) << "who speaks of no memory denies none";
}

Profile recorded(const std::string& api) {
  std::stringstream text;
  text
      << std::ifstream(std::string(ASSAY_SOURCE_DIR) + "/tests/data/apis/" + api + ".yaml").rdbuf();
  return profile_of(text.str());
}

std::vector<std::string> disputed(const Merged& m) {
  std::vector<std::string> out;
  for (const Conflict& c : m.conflicts) out.push_back(c.path);
  return out;
}

// A processor probed directly and through PoCL, with the same vectors.
TEST(Merge, OneMachineThroughTwoApisIsOneMachine) {
  for (const bool turned : {false, true}) {
    const Merged m = turned ? merge(recorded("opencl"), recorded("cpu"))
                            : merge(recorded("cpu"), recorded("opencl"));
    EXPECT_THAT(disputed(m), testing::IsEmpty());
    EXPECT_EQ(m.profile.apis.size(), 2U);
    EXPECT_FALSE(has_error(check(m.profile))) << render(check(m.profile));
  }
}

// Lavapipe runs the same vectors as threads, and the probe was disturbed.
TEST(Merge, WhatAnotherApiSeesDifferentlyIsNamed) {
  const std::vector<std::string> expected = {"topology.unit.count",  "execution.lanes.style",
                                             "memory.l2.capacity",   "memory.l3.capacity",
                                             "compute.add.f32.pipe", "compute.max.f32.pipe"};
  EXPECT_THAT(disputed(merge(recorded("opencl"), recorded("vulkan"))),
              testing::ElementsAreArray(expected));
  EXPECT_THAT(disputed(merge(recorded("vulkan"), recorded("opencl"))),
              testing::UnorderedElementsAreArray(expected));
  const Merged m = merge(recorded("opencl"), recorded("vulkan"), Prefer::first);
  EXPECT_EQ(m.profile.apis.size(), 2U);
  EXPECT_FALSE(has_error(check(m.profile))) << render(check(m.profile));
}

}  // namespace
}  // namespace assay::hwdesc
