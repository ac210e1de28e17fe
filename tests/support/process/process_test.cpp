#include "support/process/process.h"

#include <gtest/gtest.h>

namespace assay::process {
namespace {

TEST(Process, ProgramsRunByArgumentList) {
  EXPECT_EQ(first_line_of({"/bin/echo", "$HOME; two  words"}), "$HOME; two  words");
  EXPECT_EQ(first_line_of({"/bin/false"}), "");
  EXPECT_EQ(first_line_of({"/nonexistent"}), "");
  EXPECT_NE(find_program("sh"), "");
  EXPECT_EQ(find_program("no-such-program"), "");
}

TEST(Process, AFilterGetsAllOfItsInputWhateverItWrites) {
  std::string input;
  for (int i = 0; i < 200'000; ++i) input += std::to_string(i) + "\n";
  const Filtered sorted = filter({find_program("sh"), "-c", "echo said >&2; cat"}, input);
  ASSERT_TRUE(sorted.outcome.good());
  EXPECT_EQ(sorted.output, input);
  EXPECT_EQ(sorted.messages, "said\n");
  const Filtered failed = filter({find_program("sh"), "-c", "echo part; exit 3"}, "");
  EXPECT_FALSE(failed.outcome.good());
  EXPECT_EQ(failed.outcome.code, 3);
  EXPECT_EQ(filter({"/nonexistent"}, input).outcome.ending, Ending::not_started);
}

TEST(Process, ACancelledFilterIsKilled) {
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(filter({find_program("sleep"), "100"}, "", &cancel).outcome.ending, Ending::cancelled);
}

}  // namespace
}  // namespace assay::process
