// Selecting an api and reading the capabilities of its dialect.
#include "hwdesc/target.h"

#include <gtest/gtest.h>

#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

constexpr const char* kDialect =
    "schema: assay/dialect/1\n"
    "name: toy\n"
    "capabilities:\n"
    "  vector_widths: [1, 4]\n"
    "  group_barrier: true\n"
    "  math: [exp]\n"
    "  dtypes: [f32]\n"
    "spellings: {add: '{a} + {b}'}\n";

Profile with_apis() {
  Profile p = *parse_profile(small_profile(), "p.yaml", no_library);
  p.apis.resize(2);
  p.apis[0].name = "toy";
  p.apis[0].dialect = "toy";
  p.apis[1].name = "other";
  p.apis[1].dialect = "other";
  return p;
}

std::string complaints_of(std::string_view api, std::string_view dialect) {
  const auto t = select_target(with_apis(), api, dialect);
  return t.ok() ? "" : render(t.diags());
}

TEST(Target, reads_the_capabilities_only) {
  const auto t = select_target(with_apis(), "", kDialect);
  ASSERT_TRUE(t.ok()) << render(t.diags());
  EXPECT_EQ(t->api.name, "toy");
  EXPECT_EQ(t->dialect.vector_widths, (std::vector<int>{1, 4}));
  EXPECT_TRUE(t->dialect.group_barrier);
  EXPECT_FALSE(t->dialect.group_memory);
  EXPECT_TRUE(t->dialect.known);
}

TEST(Target, without_a_dialect_it_is_predicted_only) {
  const auto t = select_target(with_apis(), "other", "");
  ASSERT_TRUE(t.ok());
  EXPECT_FALSE(t->dialect.known);
  EXPECT_EQ(t->dialect.name, "other");
  Profile bare = with_apis();
  bare.apis.clear();
  EXPECT_TRUE(select_target(bare, "", "").ok());
}

TEST(Target, lanes_that_a_dialect_does_not_print_for_are_predicted_only) {
  const bool simd = with_apis().execution.lanes.style == LaneStyle::simd;
  const auto capable = [](const char* lanes) {
    return std::string(
               "schema: assay/dialect/1\nname: toy\ncapabilities: {vector_widths: [1], lanes: [") +
           lanes + "]}\n";
  };
  EXPECT_TRUE(select_target(with_apis(), "toy", capable(simd ? "simd" : "simt"))->dialect.known);
  const auto other = select_target(with_apis(), "toy", capable(simd ? "simt" : "simd"));
  EXPECT_FALSE(other->dialect.known);
  EXPECT_EQ(other->dialect.name, "toy");
}

TEST(Target, complaints) {
  EXPECT_EQ(complaints_of("tyo", kDialect),
            "error: profile 'small' has no api 'tyo'\nhint: did you mean 'toy'?\n");
  EXPECT_EQ(complaints_of("other", kDialect),
            "dialects/other.yaml:2:7: error: name: 'toy' is not the dialect 'other'\n"
            "  name: toy\n"
            "        ^\n");
  EXPECT_EQ(
      complaints_of(
          "toy",
          "schema: assay/dialect/1\nname: toy\ncapabilities: {group_barier: true, math: exp}\n"),
      "dialects/toy.yaml:3:16: error: capabilities: unknown key 'group_barier'\n"
      "  capabilities: {group_barier: true, math: exp}\n"
      "                 ^\n"
      "hint: did you mean 'group_barrier'?\n"
      "dialects/toy.yaml:3:42: error: capabilities.math: a list is expected, not 'exp'\n"
      "  capabilities: {group_barier: true, math: exp}\n"
      "                                           ^\n");
}

}  // namespace
}  // namespace assay::hwdesc
