// Messages of one kind: ten, then a count.
#include "support/diag.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

Diag unsupported(int i) {
  const std::string n = std::to_string(i);
  return error("node make_" + n + " (Op" + n + ", output v" + n + "): the operator Op" + n +
                   " is not supported",
               "see the list");
}

Diag undefined(int i) {
  const std::string n = std::to_string(i);
  return error("node use_" + n + " (Add, output w" + n + "): its input z" + n + " is not defined");
}

int lines_of(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Diags, TenOfAKindThenACount) {
  Diags all;
  for (int i = 0; i < 37; ++i) {
    all.push_back(unsupported(i));
    if (i % 18 == 0) all.push_back(undefined(i));
  }
  const std::string text = render_kinds(all);
  EXPECT_TRUE(holds(text, "make_9 ")) << text;
  EXPECT_FALSE(holds(text, "make_10 ")) << text;
  EXPECT_TRUE(holds(text,
                    "make_9 (Op9, output v9): the operator Op9 is not supported\n"
                    "... and 27 more of this kind\n"))
      << text;
  for (const char* name : {"use_0 ", "use_18 ", "use_36 "}) EXPECT_TRUE(holds(text, name)) << text;
  EXPECT_EQ(lines_of(text), 10 + 1 + 1 + 3) << text;  // messages, hint, count, messages
}

TEST(Diags, FewAreAllPrintedAndAHintOnce) {
  Diags all;
  for (int i = 0; i < 10; ++i) all.push_back(unsupported(i));
  const std::string text = render_kinds(all);
  EXPECT_EQ(lines_of(text), 11) << text;
  EXPECT_FALSE(holds(text, "more of this kind"));
  EXPECT_EQ(render_kinds({}), "");
}

TEST(Diags, OtherWordsAndOtherSeveritiesAreOtherKinds) {
  Diags all;
  for (int i = 0; i < 12; ++i) {
    all.push_back(error("memory.l" + std::to_string(i) + ".latency: must be above zero"));
    all.push_back(all.back());
    all.back().severity = Severity::warning;
    all.push_back(error("memory.l" + std::to_string(i) + ".line: is no power of two"));
  }
  const std::string text = render_kinds(all);
  EXPECT_EQ(lines_of(text), 3 * (10 + 1)) << text;
}

TEST(Diags, HintsThatDifferStay) {
  Diags all;
  for (int i = 0; i < 3; ++i)
    all.push_back(error("there is no field 'x" + std::to_string(i) + "' in the profile",
                        "did you mean 'y" + std::to_string(i) + "'?"));
  EXPECT_EQ(render_kinds(all), render(all));
}

}  // namespace
}  // namespace assay
