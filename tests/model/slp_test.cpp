// Scalar operations on neighbours that a compiler vectorises.
#include "model/slp.h"

#include <gtest/gtest.h>

#include "model/closed_form.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

// Columns in register tiles of `rows` by `across`, one element at a time.
ir::Program scalar(int64_t rows, int64_t across, const char* read = "i, j") {
  ir::Program p = walk(64, 4, 4, "j", read, "i, j");
  p.tiles.back().extent = {rows, across};
  p.vector_axis = -1;
  p.vector_width = 1;
  return p;
}

TEST(Slp, LanesAreAsManyAsATileHasNeighbours) {
  EXPECT_EQ(model::slp_lanes(scalar(1, 16), 16), 16);
  EXPECT_EQ(model::slp_lanes(scalar(1, 16), 4), 4);
  EXPECT_EQ(model::slp_lanes(scalar(1, 12), 16), 4) << "eight would leave four over";
  EXPECT_EQ(model::slp_lanes(scalar(1, 7), 16), 1) << "one would be left over";
  EXPECT_EQ(model::slp_lanes(scalar(8, 1), 16), 1) << "rows are not contiguous";
  EXPECT_EQ(model::slp_lanes(scalar(1, 16), 1), 1);
  EXPECT_EQ(model::slp_lanes(walk(64, 1, 16, "j"), 16), 1) << "vectors are the program's own";
}

TEST(Slp, NeedsContiguousOperands) { EXPECT_EQ(model::slp_lanes(scalar(1, 16, "j, i"), 16), 1); }

TEST(Slp, MakesFewerOperations) {
  const ir::Program p = scalar(1, 16);
  const lower::Counts all = model::closed_form(p), joined = model::with_slp(p, all, 8);
  EXPECT_DOUBLE_EQ(joined.simple, all.simple / 8);
  EXPECT_DOUBLE_EQ(joined.loads(), all.loads() / 8);
  EXPECT_DOUBLE_EQ(joined.stores(), all.stores() / 8);
  EXPECT_EQ(model::with_slp(p, all, 1), all);
}

// One number for all columns stays one load.
TEST(Slp, LoadsABroadcastElementOnce) {
  ir::Program p = product(8, 64, 16, 64);
  p.vector_axis = -1;
  p.vector_width = 1;
  const lower::Counts all = model::closed_form(p), joined = model::with_slp(p, all, 16);
  EXPECT_DOUBLE_EQ(joined.fma, all.fma / 16);
  EXPECT_DOUBLE_EQ(joined.buffers[0].splats, all.buffers[0].splats);
  EXPECT_DOUBLE_EQ(joined.buffers[1].splats, all.buffers[1].splats / 16);
}

TEST(Slp, IsAsTheProfileSays) {
  hwdesc::Target t = small_cpu(8, 1);
  const double alone = term(simulator::estimate(scalar(1, 16), machine(t), {}, {}), "vector");
  t.api.slp_lanes.value = hwdesc::Count{8};
  EXPECT_DOUBLE_EQ(term(simulator::estimate(scalar(1, 16), machine(t), {}, {}), "vector"),
                   alone / 8);
}

}  // namespace
}  // namespace assay::test
