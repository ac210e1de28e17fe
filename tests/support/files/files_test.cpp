#include "support/files/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/toolkit/scratch_directory.h"

namespace assay {
namespace {

using test::ScratchDirectory;
using testing::HasSubstr;

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    out.push_back(std::filesystem::relative(entry.path(), path).string());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Files, WhatIsWrittenIsRead) {
  const ScratchDirectory dir;
  EXPECT_EQ(write_text(dir.at("a"), "one\ntwo"), Diags{});
  EXPECT_EQ(write_text(dir.at("a"), "three"), Diags{});
  EXPECT_EQ(*read_text(dir.at("a")), "three");
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"a"});
}

TEST(Files, FaultsAreNamed) {
  const ScratchDirectory dir;
  ASSERT_EQ(write_text(dir.at("a"), "0123456789"), Diags{});
  EXPECT_EQ(render(read_text(dir.at("b")).diags()),
            dir.at("b") + ": error: there is no such file\n");
  EXPECT_THAT(render(read_text(dir.path()).diags()), HasSubstr("is a directory"));
  EXPECT_THAT(render(read_text(dir.at("a"), 9).diags()), HasSubstr("is larger than"));
  EXPECT_THAT(render(write_text(dir.at("no/such"), "")),
              HasSubstr("make the directory it lies in first"));
  EXPECT_THAT(render(write_text(dir.path(), "")), HasSubstr("is a directory"));
  EXPECT_EQ(check_writable(dir.at("new")), Diags{});
  EXPECT_EQ(check_writable(dir.at("new/")), Diags{});
  EXPECT_THAT(render(check_writable(dir.at("no/such"))), HasSubstr("cannot be written"));
  EXPECT_THAT(render(check_writable(dir.at("a/b"))), HasSubstr("cannot be written"));
}

TEST(Files, ADirectoryAppearsWhole) {
  const ScratchDirectory dir;
  {
    auto made = NewDirectory::create(dir.at("bundle"), "plan.yaml");
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->add("plan.yaml", "p"), Diags{});
    EXPECT_FALSE(directory_exists(dir.at("bundle")));
    EXPECT_EQ(made->add("kernels/k.cpp", "k"), Diags{});
    EXPECT_EQ(made->commit(), Diags{});
  }
  EXPECT_EQ(names_in(dir.path()),
            (std::vector<std::string>{"bundle", "bundle/kernels", "bundle/kernels/k.cpp",
                                      "bundle/plan.yaml"}));
}

TEST(Files, AnAbandonedDirectoryLeavesNothing) {
  const ScratchDirectory dir;
  {
    auto made = NewDirectory::create(dir.at("bundle"), "plan.yaml");
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->add("plan.yaml", "p"), Diags{});
  }
  EXPECT_TRUE(names_in(dir.path()).empty());
}

TEST(Files, OnlyABundleIsReplaced) {
  const ScratchDirectory dir;
  std::filesystem::create_directory(dir.at("bundle"));
  ASSERT_EQ(write_text(dir.at("bundle/thesis.tex"), "years of work"), Diags{});
  const auto refused = NewDirectory::create(dir.at("bundle"), "plan.yaml");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(render(refused.diags()),
              HasSubstr("only a directory with plan.yaml in it is replaced"));
  ASSERT_EQ(write_text(dir.at("bundle/plan.yaml"), ""), Diags{});
  auto made = NewDirectory::create(dir.at("bundle"), "plan.yaml");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->add("plan.yaml", "new"), Diags{});
  EXPECT_EQ(made->commit(), Diags{});
  EXPECT_EQ(names_in(dir.path()), (std::vector<std::string>{"bundle", "bundle/plan.yaml"}));
}

}  // namespace
}  // namespace assay
