// Forms of operations and of launches. A chip whose compiler makes one instruction of one form of
// multiply-add, and two of any other: the form is found, and later experiments use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/probe/virtual/found.h"

namespace assay::probe {
namespace {

using ::testing::Contains;
using ::testing::Pair;

const hwdesc::Profile& found() {
  return testing::found_of(testing::chip_file("two-forms"),
                           {"checks", "clock", "forms", "fma", "units", "waves", "types", "launch"},
                           int64_t{8} << 20);
}

TEST(Forms, are_found_and_used) {
  const hwdesc::Profile& p = found();
  EXPECT_THAT(p.apis.at(0).forms, Contains(Pair("fma.f32", "mad")));
  EXPECT_THAT(p.apis.at(0).forms, Contains(Pair("fma.f16", "a*b+c")))
      << "the first form is reported where others are slower";
  const auto fma = std::find_if(p.compute.begin(), p.compute.end(), [](const hwdesc::ComputeOp& c) {
    return c.op == "fma" && c.dtype == "f32";
  });
  ASSERT_NE(fma, p.compute.end());
  testing::expect_told(fma->latency, 4, 0.05);
  EXPECT_THAT(
      fma->slots.note,
      ::testing::ContainsRegex("a\\*b\\+c (1.9|2.0). 2.00, mad 1.00 1.00, fma (1.9|2.0). 2.00"));
  const auto pipe = std::find_if(p.pipes.begin(), p.pipes.end(),
                                 [](const hwdesc::Pipe& q) { return q.name == "fma"; });
  ASSERT_NE(pipe, p.pipes.end());
  testing::expect_told(pipe->rate, 64, 0.05);
}

TEST(Launches, that_are_recorded_take_less) {
  const hwdesc::Launch& launch = found().apis.at(0).launch;
  testing::expect_told(launch.stream, 5e-6, 0.05);
  testing::expect_told(launch.graph, 2e-6, 0.05);
}

TEST(Launches, that_nothing_records_are_unknown) {
  const hwdesc::Launch launch = testing::found_of(testing::chip_file("phone"),
                                                  {"checks", "clock", "launch"}, int64_t{8} << 20)
                                    .apis.at(0)
                                    .launch;
  EXPECT_FALSE(launch.graph.known());
  EXPECT_THAT(launch.graph.note,
              ::testing::HasSubstr("records no launches: its profile knows no launch.graph"));
}

TEST(Forms, of_equal_speed_are_not_reported) {
  const hwdesc::Profile& p = testing::found_of(
      testing::chip_file("phone"), {"checks", "clock", "forms", "fma"}, int64_t{8} << 20);
  EXPECT_TRUE(p.apis.at(0).forms.empty());
}

}  // namespace
}  // namespace assay::probe
