// Memory operands: loads that are part of the operation that needs them.
#include "model/operands.h"

#include <gtest/gtest.h>

#include "model/closed_form.h"
#include "model/issue_slots.h"
#include "model/slp.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

double loads(const lower::AccessCount& a) { return a.vector_loads + a.splats; }

// Tiles of `rows` rows and 16 columns, two vectors of 8.
ir::Program tiles_of(int64_t m, int64_t rows, const std::string& copy = "") {
  ir::Program p = product(m, 64, 32, 64, 8, copy);
  p.tiles.back().extent[0] = rows;
  return p;
}

TEST(Operands, AreWhatOneOperationNeeds) {
  const ir::Program row = tiles_of(
      8,
      1);  // each vector of the right is needed by one row, each number of the left by two vectors
  const lower::Counts counts = model::closed_form(row);
  EXPECT_DOUBLE_EQ(model::operands_in_memory(row, counts, 1), loads(counts.buffers[1]));
  EXPECT_DOUBLE_EQ(loads(counts.buffers[1]), 8 * 8 * 32);
}

// A tile one vector wide needs each number of the left once, too.
TEST(Operands, MayBeBroadcastElements) {
  ir::Program p = product(8, 16, 32, 16);
  p.tiles.back().extent = {8, 8, 1};
  const lower::Counts counts = model::closed_form(p);
  EXPECT_DOUBLE_EQ(loads(counts.buffers[0]), 8 * 32 * 2);
  EXPECT_DOUBLE_EQ(model::operands_in_memory(p, counts, 1), loads(counts.buffers[0]));
}

TEST(Operands, AreNotWhatStaysInRegisters) {
  for (const int64_t rows : {2, 4, 8}) {
    const ir::Program p = tiles_of(8, rows);
    EXPECT_DOUBLE_EQ(model::operands_in_memory(p, model::closed_form(p), 1), 0)
        << rows << " rows need each vector";
  }
}

TEST(Operands, OfAPartialTilesRowAreSome) {
  const ir::Program p = tiles_of(3, 2);
  EXPECT_DOUBLE_EQ(model::operands_in_memory(p, model::closed_form(p), 1), 8 * 32);
}

// A scalar tile of a row and 16 columns, which a compiler vectorises by eight. Contiguous elements
// are a vector then.
TEST(Operands, OfSlpVectorsAreAsOfVectors) {
  ir::Program p = tiles_of(8, 1);
  p.vector_axis = -1;
  p.vector_width = 1;
  ASSERT_EQ(model::slp_lanes(p, 8), 8);
  const lower::Counts counts = model::with_slp(p, model::closed_form(p), 8);
  ASSERT_DOUBLE_EQ(loads(counts.buffers[1]), 8 * 8 * 32);
  EXPECT_DOUBLE_EQ(model::operands_in_memory(p, counts, 8), loads(counts.buffers[1]));
}

TEST(Operands, AreNotWhatOneOperationTakesTwice) {
  const auto sum_of = [](const std::string& body) {
    return parsed(
        "schema: assay/program/1\nname: sum\ngraph:\n  name: sum\n  tensors: {t0: \"f32 16x32\", "
        "t1: \"f32 32\"}\n  inputs: [t0]\n  outputs: [t1]\n"
        "  nodes:\n    - {name: sum, op: sum, out: \"t1[n]\", axes: {n: 32, k: 16}, combine: sum, "
        "body: \"" +
        body +
        "\"}\n"
        "layouts: {t0: \"[0, 1]\", t1: \"[0]\"}\ntiles:\n  - {memory: l1, extent: {n: 32, k: 16}, "
        "order: [n]}\n"
        "  - {memory: registers, extent: {n: 8, k: 1}, order: [n, k]}\nvector: {axis: n, width: "
        "8}\n");
  };
  const ir::Program once = sum_of("t0[k, n]"), twice = sum_of("t0[k, n] * t0[k, n]");
  EXPECT_DOUBLE_EQ(model::operands_in_memory(once, model::closed_form(once), 1), 4 * 16);
  EXPECT_DOUBLE_EQ(model::operands_in_memory(twice, model::closed_form(twice), 1), 0);
}

TEST(Operands, AreReadFromCopiesAndNotForThem) {
  const ir::Program p = tiles_of(8, 1, "[1/16, 0, 1%16]");
  const lower::Counts counts = model::closed_form(p);
  ASSERT_EQ(counts.buffers.size(), 4u);
  EXPECT_DOUBLE_EQ(model::operands_in_memory(p, counts, 1), loads(counts.buffers[3]));
}

// Four to one: a load to a register is an instruction of its own.
TEST(Operands, TakeNoSlotsOfTheirOwn) {
  const hwdesc::Target t = small_cpu(8, 1);
  const auto slots = [&](const ir::Program& p) {
    return term(simulator::estimate(p, machine(t), {}, {}), "issue");
  };
  lower::Counts counts = model::closed_form(tiles_of(8, 2));
  const model::Instructions reused{.operations = counts.fma, .loads = counts.loads()};
  const model::Instructions single{
      .operations = counts.fma, .loads = counts.loads(), .operands = counts.loads()};
  EXPECT_DOUBLE_EQ(model::core_slots(single), model::core_slots({.operations = counts.fma}));
  EXPECT_GT(model::core_slots(reused), model::core_slots(single));
  EXPECT_GT(slots(tiles_of(8, 2)), slots(tiles_of(8, 4))) << "more rows in registers, fewer loads";
}

}  // namespace
}  // namespace assay::test
