// Task mappings: which elements a lane holds, and errors in their text.
#include "ir/task_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::codegen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TaskMapping, assigns_elements_as_hidet_does) {
  const auto m = ir::parse_mapping("repeat(2, 1) * spatial(8, 4) * repeat(1, 2)");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->rows(), 16);
  EXPECT_EQ(m->cols(), 8);
  EXPECT_EQ(m->workers(), 32);
  EXPECT_EQ(m->items(), 4);
  // PTX: c0, c1 of lane l are in row l / 4, columns 2 (l % 4) and the next; c2, c3 eight rows
  // below.
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(m->task(l, i), (ir::Task{l / 4 + 8 * (i / 2), 2 * (l % 4) + i % 2}));
  EXPECT_EQ(ir::print(*m), "repeat(2, 1) * spatial(8, 4) * repeat(1, 2)");
  const auto column = ir::parse_mapping("spatial_by_column(4, 8)*replicate(2)");
  ASSERT_TRUE(column.ok());
  EXPECT_EQ(column->workers(), 64);
  for (int l = 0; l < 64; ++l) EXPECT_EQ(column->task(l, 0), (ir::Task{l / 2 % 4, l / 2 / 4}));
}

TEST(TaskMapping, errors_name_the_cause) {
  const auto fault = [](const char* text) { return render(ir::parse_mapping(text).diags()); };
  EXPECT_THAT(fault("repeat(2, 1) * spatal(8, 4)"),
              AllOf(HasSubstr("'spatal' is no step of a task mapping"),
                    HasSubstr("did you mean 'spatial'?")));
  EXPECT_THAT(fault("repeat(2)"), HasSubstr("'repeat' takes two numbers from 1 to 1024"));
  EXPECT_THAT(fault("replicate(0)"), HasSubstr("'replicate' takes a number from 1 to 1024"));
  EXPECT_THAT(fault("repeat(1, 2) spatial(2, 2)"), HasSubstr("stands behind a task mapping"));
  EXPECT_THAT(fault(""), HasSubstr("expected one of: repeat"));
  EXPECT_THAT(fault("repeat(1024, 1024) * repeat(2, 2)"), HasSubstr("more than 1048576 tasks"));
}

}  // namespace
}  // namespace assay::codegen
