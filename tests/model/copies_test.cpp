// Copies of staged operands are passes of their own.
#include <gtest/gtest.h>

#include "model/closed_form.h"
#include "model/copies.h"
#include "programs.h"

namespace assay::test {
namespace {

constexpr char kInOrder[] = "[1/16, 0, 1%16]", kTurned[] = "[1, 0]";

double store_rate(const hwdesc::Target& t) { return machine(t).store_rate.value; }

// 64 columns of 128 numbers, 1024 vectors: more than a core looks ahead.
TEST(Copies, HideBehindNoArithmetic) {
  const hwdesc::Target quick = small_cpu(8, 1), slow = with(quick, "pipes.store.rate*=0.25");
  ASSERT_DOUBLE_EQ(store_rate(slow), 0.25 * store_rate(quick));
  const auto slower = [&](const ir::Program& p) { return seconds(p, slow) - seconds(p, quick); };
  const ir::Program plain = product(64, 64, 128, 64), copied = product(64, 64, 128, 64, 8, kInOrder);
  const double copies = 1024 * (1 / store_rate(slow) - 1 / store_rate(quick));
  EXPECT_GT(slower(copied) - slower(plain), 0.5 * copies);
}

// What a core has in its window at once goes on beside the arithmetic.
TEST(Copies, FewVectorsDo) {
  const hwdesc::Target quick = small_cpu(8, 1), slow = with(quick, "pipes.store.rate*=0.25");
  const ir::Program plain = product(64, 16, 16, 16), copied = product(64, 16, 16, 16, 8, kInOrder);
  const double all = 32 * (1 / store_rate(slow) - 1 / store_rate(quick));
  EXPECT_LT((seconds(copied, slow) - seconds(copied, quick)) - (seconds(plain, slow) - seconds(plain, quick)), 0.5 * all);
}

TEST(Copies, OfNarrowProgramsAreWholeVectorsWhereBothSidesLieInOrder) {
  const model::Machine m = machine(small_cpu(8, 1));
  const auto stores = [&](int width, const char* layout) {
    return term(simulator::estimate(product(64, 64, 128, 64, width, layout), m, {}, {}), "store") * m.store_rate.value;
  };
  const double narrow = stores(4, kInOrder) - 2 * 64 * 64 / 8.0, wide = stores(8, kInOrder) - 64 * 64 / 8.0;  // less the output's
  EXPECT_NEAR(narrow, wide, 0.05 * wide);
  EXPECT_GT(stores(4, kTurned), 2 * stores(4, kInOrder));
  const auto whole = [](const char* layout) {
    const ir::Program p = product(64, 64, 128, 64, 4, layout);
    const model::Copies c = model::copies_of(p, model::closed_form(p), 8);
    return c.executed / c.written;
  };
  EXPECT_DOUBLE_EQ(whole(kInOrder), 0.5);
  EXPECT_DOUBLE_EQ(whole(kTurned), 1);
}

}  // namespace
}  // namespace assay::test
