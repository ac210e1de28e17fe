// scripts/style: each check finds what it is for, with file and line, and nothing in what is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/files/files.h"
#include "tests/cli/assay_process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

constexpr const char* kGlossary =
    "# Glossary\n\n## Words that are not used\n\n| not | but |\n|---|---|\n| in vain | unused |\n";
constexpr const char* kCommands = "constexpr Row kRows[] = {{\"probe\", run}};  // --device\n";

class Style : public testing::Test {
 protected:
  void SetUp() override {
    put("docs/glossary.md", kGlossary);
    put("cli/commands.cpp", kCommands);
  }

  void put(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(dir_.at(file)).parent_path());
    ASSERT_EQ(write_text(dir_.at(file), text), Diags{});
  }

  Outcome style(const std::string& check) {
    return run_program(std::string(ASSAY_SOURCE_DIR) + "/scripts/style",
                       {"--list", check, dir_.path()});
  }

  void expect_found(const std::string& check, const std::string& message) {
    const Outcome o = style(check);
    EXPECT_EQ(o.code, 1) << check;
    EXPECT_THAT(o.out, HasSubstr(message));
  }

  ScratchDirectory dir_;
};

TEST_F(Style, WhatIsRightPasses) {
  put("page.md", "See [the words](docs/glossary.md) and `cli/commands.cpp`.\n");
  for (const char* check : {"columns", "files", "sentences", "words", "links", "commands"}) {
    const Outcome o = style(check);
    EXPECT_EQ(o.code, 0) << o.out;
    EXPECT_EQ(o.out, std::string(check) + ": ok\n");
  }
}

TEST_F(Style, LongLinesAndFilesAreFound) {
  put("model/a.cpp", "int a;\n// " + std::string(98, 'x') + "\n");
  expect_found("columns", "model/a.cpp:2: 101 columns, at most 100");
  std::string lines;
  for (int i = 0; i <= 400; ++i) lines += "\n";
  for (int i = 0; i < 5; ++i) put("model/long" + std::to_string(i) + ".cpp", lines);
  EXPECT_EQ(style("files").code, 0) << "five are allowed";
  put("ir/long.cpp", lines);
  expect_found("files", "ir/long.cpp: 401 lines");
}

TEST_F(Style, LongSentencesAreFoundInPagesAndComments) {
  std::string words = "one";
  for (int i = 0; i < 30; ++i) words += " two";
  put("page.md", "Short.\n\n" + words + ".\n");
  expect_found("sentences", "page.md:3: 31 words, at most 30: one two");
  put("page.md", "```\n" + words + "\n```\n\n| " + words + " |\n");
  EXPECT_EQ(style("sentences").code, 0) << "code and tables are not sentences";
  put("model/a.h", "// " + words + ".\n");
  expect_found("sentences", "model/a.h:1: 31 words");
}

TEST_F(Style, RefusedWordsAreFoundAcrossLines) {
  put("model/a.h", "int a;\n// A line is fetched in\n// vain here.\n");
  expect_found("words", "model/a.h:2: 'in vain': docs/glossary.md has the field's word");
}

TEST_F(Style, LinksAndCommandsThatDoNotExistAreFound) {
  put("page.md", "[a](gone.md)\n`cli/gone.cpp`\n");
  expect_found("links", "page.md:1: no file behind the link gone.md");
  expect_found("links", "page.md:2: no file cli/gone.cpp");
  put("page.md", "`assay prove`\n`assay probe --device x --devise y`\nbuild/bin/gone\n");
  expect_found("commands", "page.md:1: there is no command assay prove");
  expect_found("commands", "page.md:2: no command has an option --devise");
  expect_found("commands", "page.md:3: nothing builds build/bin/gone");
}

}  // namespace
}  // namespace assay::test
