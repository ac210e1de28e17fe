// Counts of a launch, by hand.
#include "model/analyse.h"

#include <gtest/gtest.h>

#include "model/closed_form.h"
#include "model/constants.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

using model::LaunchWork;
using model::WaveShape;

WaveShape of_four() {
  WaveShape s;
  s.lanes = 4;
  s.banks = 8;
  s.line = 64;
  s.sector = 16;
  s.unrolled = 4;
  return s;
}

LaunchWork work_of(const ir::Program& p, const WaveShape& s = of_four()) {
  return model::analyse(p, model::streams_of(p), model::closed_form(p), s, {}, 0);
}

// 8 x 512 x 64 in groups of 64 columns: a wave walks 4 x 4 register tiles of 2 x 16, 64 steps each.
TEST(Analyse, CountsAProductsGroup) {
  const LaunchWork w = work_of(product(8, 512, 64, 64, 4));
  EXPECT_EQ(w.groups, 8);
  EXPECT_EQ(w.threads, 4);
  EXPECT_DOUBLE_EQ(w.operations.multiply_adds, 8 * 64 * 64);
  // A step loads 2 elements of rows and 4 vectors of columns; a tile stores 8 vectors.
  const double tiles = 16, loads = tiles * 64 * (2 + 4), stores = tiles * 8;
  EXPECT_DOUBLE_EQ(w.loads, loads + stores);
  EXPECT_DOUBLE_EQ(w.near_traffic, (loads + stores) * 64) << "each takes the cache a cycle";
  EXPECT_EQ(w.scratch_traffic, 0);
  // Multiply-adds; loads, stores and their addresses; a quarter of the steps' loops; the start.
  EXPECT_NEAR(w.instructions,
              tiles * 64 * 8 + 2 * (loads + stores) + tiles * 64 / 4 * model::kLoopInstructions +
                  model::kThreadInstructions,
              tiles * model::kLoopInstructions);
  EXPECT_DOUBLE_EQ(w.chain, tiles * 64) << "eight accumulators side by side";
  EXPECT_DOUBLE_EQ(w.registers_per_thread, model::kThreadRegisters + 8 + 2 + 4);
}

// Columns of staged rows: 4 lanes a row of 16 words from each other fall into one bank of 8.
TEST(Analyse, FindsBankConflicts) {
  const auto cycles = [](const char* layout) {
    ir::Program p = product(8, 64, 16, 64, 4, layout);
    return work_of(p).scratch_traffic;
  };
  const double inline_columns = cycles("[0, 1]"), columns_apart = cycles("[1, 0]");
  EXPECT_GT(columns_apart, 2 * inline_columns);
}

// A group of which a part lies outside counts as whole: a unit may get one that does not.
TEST(Analyse, CountsAWholeGroup) {
  const LaunchWork whole = work_of(product(8, 128, 64, 64, 4)),
                   part = work_of(product(8, 72, 64, 64, 4));
  EXPECT_EQ(part.groups, 2);
  EXPECT_NEAR(part.operations.multiply_adds / whole.operations.multiply_adds, 1, 0.15);
}

TEST(Analyse, WaitsOnceForLoadsThatAreHoisted) {
  WaveShape one = of_four();
  one.unrolled = 1;
  const ir::Program p = product(2, 16, 64, 16, 4);
  EXPECT_DOUBLE_EQ(work_of(p, one).waits.near, 64) << "each step";
  // Sixteen loads wait together at most, six a step.
  EXPECT_DOUBLE_EQ(work_of(p).waits.near, 64 * 6 / 16.0);
}

TEST(Analyse, MeetsAtBarriersWhereWavesShareCopies) {
  ir::Program p = product(32, 64, 64, 64, 4, "[0, 1]");
  EXPECT_EQ(work_of(product(32, 64, 64, 64, 4)).waits.barriers, 0);
  p.workers = {4, 1, 1};
  const LaunchWork w = work_of(p);
  EXPECT_EQ(w.threads, 16);
  EXPECT_EQ(w.scratch_bytes, 64 * 64 * 4);
  EXPECT_GT(w.waits.barriers, 0);
}

}  // namespace
}  // namespace assay::test
