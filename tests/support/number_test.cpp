// from_chars and strtod agree on the value, the end of reading and the errors.
#include "support/number.h"

#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

TEST(Number, StrtodReadsAsFromCharsDoes) {
  for (const std::string text : {"0",
                                 "-0",
                                 "1",
                                 "-1.5",
                                 ".5",
                                 "-.5",
                                 "5.",
                                 "1e3",
                                 "1E-3",
                                 "2.5e+10x",
                                 "1e",
                                 "1e+",
                                 "1.2.3",
                                 "12abc",
                                 "0x10",
                                 "+1",
                                 " 1",
                                 "",
                                 "-",
                                 ".",
                                 "-.",
                                 "e5",
                                 "1e308",
                                 "1e309",
                                 "-1e309",
                                 "1e-400",
                                 "0e-400",
                                 "4.9e-324",
                                 "0.1",
                                 "2.2250738585072011e-308",
                                 "123456789012345678901234567890",
                                 "9007199254740993",
                                 "0.3333333333333333148"}) {
    double ours = -7, theirs = -7;
    const char *first = text.data(), *last = first + text.size();
    const auto expected = std::from_chars(first, last, theirs);
    const auto got = read_double_by_strtod(first, last, ours);
    EXPECT_EQ(got.ec, expected.ec) << text;
    EXPECT_EQ(got.ptr, expected.ptr) << text;
    EXPECT_EQ(ours, theirs) << text;
    double chosen = -7;
    EXPECT_EQ(read_double(first, last, chosen).ec, expected.ec) << text;
    EXPECT_EQ(chosen, theirs) << text;
  }
}

}  // namespace
}  // namespace assay
