// The suites of the library, and invalid ones.
#include "toolkit/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"

namespace assay::toolkit {
namespace {

using testing::HasSubstr;

std::string refused(const std::string& text) {
  const Result<Suite> s = parse_suite(text, "s.yaml");
  return s ? "accepted" : render(s.diags());
}

TEST(Suites, OfTheLibraryAreWhole) {
  ASSERT_GE(embedded_suites().size(), 2U);
  for (const EmbeddedSuite& e : embedded_suites()) {
    const Result<Suite> s = load_suite(std::string(e.name));
    ASSERT_TRUE(s.ok()) << render(s.diags());
    EXPECT_EQ(s->name, e.name);
    EXPECT_GE(s->operators.size(), 5U);
  }
  EXPECT_GE(load_suite("operators")->operators.size(), 30U);
}

TEST(Suites, FaultsHaveTheirPlace) {
  const std::string head = "schema: assay/suite/1\nname: x\noperators:\n";
  EXPECT_THAT(refused(head + "  - matmul m=2 n=2 k=2\n  - matmul m=2 nn=2 k=2\n"),
              HasSubstr("s.yaml:5:5: error: operator matmul has no parameter 'nn'"));
  EXPECT_THAT(refused(head + "  - relu n=4\n  - relu n=4\n"),
              HasSubstr("s.yaml:5:5: error: the operator 'relu n=4' is listed twice"));
  EXPECT_THAT(refused(head + "  - {op: relu}\n"),
              HasSubstr("s.yaml:4:5: error: an operator is a text"));
  EXPECT_THAT(refused("schema: assay/suite/2\nname: x\noperators: [relu n=4]\n"),
              HasSubstr("s.yaml:1:9: error: schema 'assay/suite/2', expected assay/suite/1"));
  EXPECT_THAT(refused("schema: assay/suite/1\nname: x\noperatos: [relu n=4]\n"),
              HasSubstr("s.yaml:3:1: error: 'operatos' is no key of a suite"));
  EXPECT_THAT(refused("schema: assay/suite/1\nname: x\noperators: []\n"),
              HasSubstr("'operators' is missing"));
  EXPECT_THAT(refused("- a\n"), HasSubstr("a suite is a map"));
  const Result<Suite> none = load_suite("operatorz");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(render(none.diags()), HasSubstr("the library has operators, quick, types"));
}

}  // namespace
}  // namespace assay::toolkit
