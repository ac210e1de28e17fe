// The probe against the chips of the library, as a simulator runs them: slow.
#include "hwdesc/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "hwdesc/diff.h"
#include "hwdesc/override.h"
#include "tests/probe/virtual/complete.h"
#include "tests/probe/virtual/probed.h"
#include "tests/probe/virtual/truth.h"
#include "tests/probe/virtual/with_effects.h"

namespace assay::probe {
namespace {

// Everything of the library with the shape of a GPU or a CPU.
constexpr const char* kSuitable[] = {"amd/mi210",
                                     "apple/m1-gpu-8core",
                                     "arm/mali-g76-mp5",
                                     "generic/x86-avx512-2core",
                                     "hypothetical/a100-wide",
                                     "hypothetical/every-field",
                                     "nvidia/a100-sxm4-40gb",
                                     "nvidia/h100-sxm5-80gb",
                                     "nvidia/rtx-3090",
                                     "nvidia/v100-pcie-16gb",
                                     "qualcomm/adreno-640"};

// Much like one that is probed, with other numbers or a level more. A probe takes minutes.
constexpr std::pair<const char*, const char*> kAlike[] = {
    {"amd/mi100", "amd/mi210"},
    {"amd/mi300x", "amd/mi210"},
    {"hypothetical/npu", "hypothetical/every-field"},
    {"intel/xeon-platinum-8480plus", "generic/x86-avx512-2core"},
    {"nvidia/a100-pcie-40gb", "nvidia/a100-sxm4-40gb"},
    {"nvidia/a100-sxm4-80gb", "nvidia/a100-sxm4-40gb"},
    {"nvidia/b200", "nvidia/h100-sxm5-80gb"},
    {"nvidia/l4", "nvidia/rtx-3090"},
    {"nvidia/l40s", "nvidia/rtx-3090"},
    {"nvidia/p100-pcie-16gb", "nvidia/v100-pcie-16gb"},
    {"nvidia/p4", "nvidia/v100-pcie-16gb"},
    {"nvidia/rtx-2080-ti", "nvidia/v100-pcie-16gb"},
    {"nvidia/t4", "nvidia/v100-pcie-16gb"},
    {"nvidia/v100-pcie-32gb", "nvidia/v100-pcie-16gb"},
    {"nvidia/v100-sxm2-16gb", "nvidia/v100-pcie-16gb"},
    {"qualcomm/adreno-740", "qualcomm/adreno-640"}};

// Why the others are not.
constexpr std::pair<const char*, const char*> kUnsuitable[] = {
    {"amd/epyc-9654",
     "a cache for each eight cores, which the probe takes for one that all of them share"},
    {"arm/graviton3",
     "a last cache smaller than the second ones together: with all cores it is never reached"},
    {"google/tpu-v3",
     "memories that code fills by movers of its own: no caches to find, and lanes that no kernel "
     "of ours chases with"},
    {"nvidia/h200",
     "what a probe found, in part wide of the chip (writes to far memory): its truth is the chip, "
     "not this profile"},
    {"graphcore/gc2",
     "tiles with memory of their own and no common one: nothing that loads reach is farther than "
     "another"}};

TEST(Library, EveryProfileIsProbedOrThereIsAReason) {
  std::set<std::string> named(std::begin(kSuitable), std::end(kSuitable));
  for (const auto& [name, why] : kUnsuitable) {
    EXPECT_TRUE(named.insert(name).second) << name;
    EXPECT_FALSE(std::string(why).empty()) << name;
  }
  for (const auto& [name, like] : kAlike) {
    EXPECT_TRUE(named.insert(name).second) << name;
    EXPECT_NE(std::find(std::begin(kSuitable), std::end(kSuitable), std::string(like)),
              std::end(kSuitable))
        << name;
  }
  std::set<std::string> there;
  for (const hwdesc::LibraryEntry& e : hwdesc::library())
    if (e.kind == hwdesc::LibraryKind::profile) there.emplace(e.name);
  EXPECT_EQ(named, there);
}

std::string name_of(std::string profile) {
  for (char& c : profile)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return profile;
}

class LibraryChips : public ::testing::TestWithParam<const char*> {};

TEST_P(LibraryChips, AreFoundAsTheyAre) {
  const auto profile = hwdesc::load_from_library(GetParam());
  ASSERT_TRUE(profile.ok()) << render(profile.diags());
  const testing::WithEffects chip(GetParam(), "noise: 0.03\n");
  const auto result = testing::probed(name_of(GetParam()), chip.device(), {});
  ASSERT_TRUE(result.ok()) << render(result.diags());
  EXPECT_TRUE(result->warnings.empty()) << render(result->warnings);
  std::string all;
  for (const std::string& w :
       testing::differences(testing::completed(*profile), result->profile, 0.05))
    all += "\n  " + w;
  EXPECT_TRUE(all.empty()) << all;
}

std::vector<std::string> beyond(const hwdesc::Profile& left, const hwdesc::Profile& right) {
  std::vector<std::string> out;
  for (const hwdesc::Difference& d : hwdesc::diff(left, right))
    if (d.verdict == hwdesc::Verdict::beyond) out.push_back(d.path);
  return out;
}

// Other names of memories, other levels of topology, other pipes: still the chip. Texels are
// formats of one number, which the probe chose.
class LibraryDiff : public ::testing::TestWithParam<const char*> {};

TEST_P(LibraryDiff, AProbedChipIsItsProfile) {
  const auto profile = hwdesc::load_from_library(GetParam());
  ASSERT_TRUE(profile.ok()) << render(profile.diags());
  const auto found = testing::probed(name_of(GetParam()), std::string("virtual:") + GetParam(), {});
  ASSERT_TRUE(found.ok()) << render(found.diags());
  EXPECT_THAT(beyond(found->profile, *profile), ::testing::IsSubsetOf({"paths.texture.texel"}))
      << hwdesc::print_diff(hwdesc::diff(found->profile, *profile));
  const auto twice = hwdesc::apply_override(*profile, "memory.dram.bandwidth.read*=2");
  ASSERT_TRUE(twice.ok()) << render(twice.diags());
  EXPECT_THAT(beyond(found->profile, *twice), ::testing::Contains("memory.dram.bandwidth.read"));
}

INSTANTIATE_TEST_SUITE_P(All, LibraryDiff, ::testing::Values("qualcomm/adreno-640"),
                         [](const auto& i) { return name_of(i.param); });

INSTANTIATE_TEST_SUITE_P(All, LibraryChips, ::testing::ValuesIn(kSuitable),
                         [](const auto& i) { return name_of(i.param); });

}  // namespace
}  // namespace assay::probe
