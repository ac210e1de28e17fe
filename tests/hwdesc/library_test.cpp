// The embedded profiles are found, well-formed and complete enough for predictions.
#include "hwdesc/library.h"

#include <gtest/gtest.h>

#include "hwdesc/check.h"
#include "hwdesc/print.h"
#include "hwdesc/target.h"

namespace assay::hwdesc {
namespace {

TEST(Library, every_profile_checks_clean_and_prints_a_fixed_point) {
  int profiles = 0;
  for (const LibraryEntry& e : library()) {
    if (e.kind != LibraryKind::profile) continue;
    ++profiles;
    const auto p = load_from_library(e.name);
    ASSERT_TRUE(p.ok()) << render(p.diags());
    EXPECT_EQ(render(check(*p)), "") << e.file;
    const std::string text = print_profile(*p);
    const auto again = parse_profile(text, "printed.yaml", no_library);
    ASSERT_TRUE(again.ok()) << render(again.diags());
    EXPECT_EQ(*again, *p);
    EXPECT_EQ(print_profile(*again), text);
    EXPECT_EQ(hash_of(*again), hash_of(*p));
  }
  EXPECT_GE(profiles, 3);
}

TEST(Library, profiles_are_found_by_every_name) {
  for (const char* name :
       {"nvidia/a100-sxm4-40gb", "nvidia-a100-sxm4-40gb", "nvidia/a100-sxm4-40gb/profile.yaml"})
    EXPECT_NE(find_in_library(LibraryKind::profile, name), nullptr) << name;
  const auto wrong = load_from_library("nvidia/a100-sxm4-40b");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(render(wrong.diags()),
            "error: no profile 'nvidia/a100-sxm4-40b' in the library\n"
            "hint: did you mean 'nvidia/a100-sxm4-40gb'?\n");
}

TEST(Library, the_wide_a100_is_derived_from_the_real_one) {
  const auto real = load_from_library("nvidia/a100-sxm4-40gb");
  const auto wide = load_from_library("hypothetical/a100-wide");
  ASSERT_TRUE(real.ok() && wide.ok());
  const auto read = [](const Profile& p) { return p.memory[3].bandwidth.read; };
  EXPECT_EQ(read(*wide).value->v, 2 * read(*real).value->v);
  EXPECT_EQ(read(*wide).source, Origin::derived);
  EXPECT_FALSE(wide->memory[3].bandwidth.per_unit.known());
  EXPECT_EQ(wide->source, Origin::datasheet);
}

TEST(Library, every_dialect_gives_a_target) {
  const auto cpu = load_from_library("generic/x86-avx512-2core");
  ASSERT_TRUE(cpu.ok());
  const auto target = select_target(*cpu, "cpp", dialect_text("cpp"));
  ASSERT_TRUE(target.ok()) << render(target.diags());
  EXPECT_TRUE(target->dialect.known);
  EXPECT_FALSE(target->dialect.vector_widths.empty());
  EXPECT_EQ(dialect_text("no such"), "");
}

}  // namespace
}  // namespace assay::hwdesc
