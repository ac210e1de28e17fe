// Counts of a product whose threads lie over two axes: figures by hand.
#include "model/analyse_mapped.h"

#include <gtest/gtest.h>

#include "model/constants.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

using model::MappedWork;

// 64 x 32 x 16 in tiles of 32 x 16, by 8 x 8 threads of 4 x 2 elements. 8 steps are staged, 2 are
// unrolled.
ir::Program small(const std::string& staging, const std::string& widths = "a: 4, b: 2, c: 4") {
  return parsed(R"yaml(schema: assay/program/1
name: small
graph:
  name: small
  tensors: {a: f32 64x16, b: f32 16x32, c: f32 64x32}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 64, n: 32, k: 16}, combine: sum,
       body: "a[m, k] * b[k, n]"}
layouts: {a: "[1, 0]", b: "[0, 1]", c: "[1, 0]"}
tiles:
  - {memory: scratch, extent: {m: 32, n: 16, k: 8}, order: [n, m, k]}
  - {memory: registers, extent: {m: 32, n: 16, k: 2}, order: [k]}
threads: {axes: [n, m], tasks: "spatial(8, 8) * repeat(2, 4)", widths: {)yaml" +
                widths + "}}\nstaging: [" + staging + "]\n");
}

const std::string kCopyA =
    R"yaml({read: 0, level: 0, layout: "[1, 0]", width: 4,
    tasks: "spatial(8, 8) * repeat(1, 4)"})yaml";
const std::string kCopyB =
    R"yaml({read: 1, level: 0, layout: "[0, 1]", width: 2,
    tasks: "spatial(8, 8) * repeat(1, 2)"})yaml";

// Half a load a cycle, as 16 load/store units for 32 lanes take it.
model::ThreadShape shape() {
  model::ThreadShape s;
  s.scratch_turn = s.near_turn = 2;
  return s;
}

TEST(AnalyseMapped, OperationsAndGroups) {
  const model::LaunchWork w = analyse_mapped(small(kCopyA + ", " + kCopyB), shape()).launch;
  EXPECT_EQ(w.groups, 4);
  EXPECT_EQ(w.threads, 64);
  EXPECT_EQ(w.products.multiply_adds, 32 * 16 * 16);
  EXPECT_EQ(w.chain, 16);
  EXPECT_EQ(w.scratch_bytes, (32 + 16) * 8 * 4);
  EXPECT_EQ(w.registers_per_thread, model::kThreadRegisters + 8 + 4 + 2);
}

// A wave is 8 threads along m and 4 along n. In each of 8 turns a thread has 2 loads of a: lanes
// of a phase want 32 neighbouring words, so that each takes 4 cycles; and 2 of b: lanes agree in
// pairs, and 8 words come in one cycle. Of each copy (there are 2), the load of a wants 4 lines, of
// b rows of 64 B, two in each of 2 phases; stores take 4 and 2 cycles. Results are 2 stores of 4
// lines. 48 lines are 16 steps of 32 + 16 words, half of them: 3072 B.
TEST(AnalyseMapped, CyclesByAddresses) {
  const MappedWork w = analyse_mapped(small(kCopyA + ", " + kCopyB), shape());
  EXPECT_EQ(w.scratch_cycles, 2 * (8 * (2 * 4 + 2 * 1) + 2 * (4 + 2)));
  EXPECT_EQ(w.near_cycles, 2 * (2 * (4 + 4) + 2 * 4) + 3072 / 128);
  EXPECT_EQ(w.accesses, 2 * (8 * 4 + 2 * 4 + 2));
  // Of two cycles each, but no less than one for each load.
  EXPECT_EQ(w.launch.loads, 2 * (8 * (4 + 2) + 2 * (2 + 2 + 2 + 1) + 4) + 3072 / 128 / 2);
  EXPECT_EQ(w.launch.instructions, 2 * (8 * 16 + 8 * model::kLoopInstructions +
                                        model::kThreadInstructions + 2 * model::kLoopInstructions) +
                                       w.accesses);
}

TEST(AnalyseMapped, WaitsOfEachTurnAndEachCopy) {
  const model::LaunchWork both = analyse_mapped(small(kCopyA + ", " + kCopyB), shape()).launch;
  EXPECT_EQ(both.waits.scratch, 8);
  EXPECT_EQ(both.waits.shared, 2);
  EXPECT_EQ(both.waits.barriers, 4);
  EXPECT_EQ(both.waits.far, 1);
  const model::LaunchWork none = analyse_mapped(small(""), shape()).launch;
  EXPECT_EQ(none.waits.scratch, 0);
  EXPECT_EQ(none.waits.barriers, 0);
  EXPECT_EQ(none.waits.shared, 8) << "each turn's rows are in lines of their own";
  EXPECT_EQ(none.registers_per_thread, model::kThreadRegisters + 8 + 2 * (4 + 2))
      << "the next turn's operands are under way";
}

TEST(AnalyseMapped, BytesOfOperandsAndTiles) {
  const model::LaunchWork w = analyse_mapped(small(kCopyA + ", " + kCopyB), shape()).launch;
  EXPECT_EQ(w.grid.rows, 2) << "along n";
  EXPECT_EQ(w.grid.columns, 2);
  EXPECT_EQ(w.grid.row_bytes, 16 * 16 * 4) << "b's";
  EXPECT_EQ(w.grid.column_bytes, 32 * 16 * 4);
  EXPECT_EQ(w.grid.unique_rows, 16 * 32 * 4);
  EXPECT_EQ(w.grid.unique_columns, 64 * 16 * 4);
  EXPECT_EQ(w.read, (64 + 32) * 16 * 4);
  EXPECT_EQ(w.written, 64 * 32 * 4);
  EXPECT_EQ(w.fills, 3072 + 32 * 16 * 4);
}

// Scalars at every fourth word: 8 threads along m ask 8 of 32 banks for a word each.
TEST(AnalyseMapped, NarrowLoadsAreMoreAndCostATurnEach) {
  const MappedWork wide = analyse_mapped(small(kCopyA + ", " + kCopyB), shape());
  const MappedWork narrow =
      analyse_mapped(small(kCopyA + ", " + kCopyB, "a: 1, b: 1, c: 4"), shape());
  EXPECT_EQ(narrow.accesses - wide.accesses, 2 * 8 * 2 * (3 + 1));
  EXPECT_EQ(narrow.launch.loads - wide.launch.loads, 2 * 8 * ((8 - 4) + (4 - 2)));
  EXPECT_EQ(narrow.scratch_cycles - wide.scratch_cycles, 2 * 8 * ((8 - 8) + (4 - 2)));
}

// A thread of 16 x 16 elements has 24 + 256 + 16 + 16 registers of 255, so 57 words are stored and
// loaded at each of 16 steps.
TEST(AnalyseMapped, AccumulatorsThatDoNotFitAreSpilled) {
  const std::string text = R"yaml(schema: assay/program/1
name: large
graph:
  name: large
  tensors: {a: f32 128x16, b: f32 16x128, c: f32 128x128}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 128, n: 128, k: 16}, combine: sum,
       body: "a[m, k] * b[k, n]"}
layouts: {a: "[1, 0]", b: "[0, 1]", c: "[1, 0]"}
tiles:
  - {memory: scratch, extent: {m: 128, n: 128, k: 16}, order: [k]}
  - {memory: registers, extent: {m: 128, n: 128, k: 1}, order: [k]}
threads: {axes: [n, m], tasks: "spatial(8, 8) * repeat(16, 16)"}
staging:
  - {read: 0, level: 0, layout: "[1, 0]", tasks: "spatial(8, 8) * repeat(2, 16)"}
  - {read: 1, level: 0, layout: "[0, 1]", tasks: "spatial(8, 8) * repeat(2, 16)"}
)yaml";
  model::ThreadShape s = shape();
  const MappedWork spills = analyse_mapped(parsed(text), s);
  EXPECT_EQ(spills.spilled, 57);
  EXPECT_EQ(spills.launch.registers_per_thread, 255);
  s.registers_most = 312;
  const MappedWork fits = analyse_mapped(parsed(text), s);
  EXPECT_EQ(fits.spilled, 0);
  const double moved = 2 * 57 * 16 * 2;  // of two waves
  EXPECT_EQ(spills.accesses - fits.accesses, moved);
  EXPECT_EQ(spills.launch.instructions - fits.launch.instructions, moved);
  EXPECT_EQ(spills.launch.fills - fits.launch.fills, moved * 128);
}

// A thread wants 38, and has what its partition has for each of its waves.
TEST(AnalyseMapped, AGroupsRegistersFitItsUnit) {
  const auto registers = [](double partition, double granule) {
    model::ThreadShape s = shape();
    s.partition_registers = partition;
    s.granule = granule;
    const MappedWork w = analyse_mapped(small(kCopyA + ", " + kCopyB), s);
    return std::pair(w.launch.registers_per_thread, w.spilled);
  };
  EXPECT_EQ(registers(512, 8), std::pair(38.0, 0.0));
  EXPECT_EQ(registers(38, 1), std::pair(38.0, 0.0)) << "two waves are on partitions of their own";
  EXPECT_EQ(registers(37, 1), std::pair(37.0, 1.0));
  EXPECT_EQ(registers(37, 8), std::pair(32.0, 6.0));
}

// Without copies, operands come from the cache: 8 lanes of a phase want a line of a, 16 lanes two
// pairs of words of b, which are in one line.
TEST(AnalyseMapped, OperandsThatAreNotStagedTakeLines) {
  const MappedWork w = analyse_mapped(small(""), shape());
  EXPECT_EQ(w.scratch_cycles, 0);
  EXPECT_EQ(w.near_cycles, 2 * (8 * (2 * 4 + 2 * 2) + 2 * 4) + 3072 / 128);
  EXPECT_EQ(w.launch.scratch_bytes, 0);
}

// At 1 GHz, 16 lanes load in a cycle, the scratchpad has 128 B and the cache 32 B of it.
TEST(AnalyseMapped, TurnsOfTheMachine) {
  model::Machine m;
  m.native_width = 32;
  m.banks = 32;
  m.registers_per_thread_max = 128;
  m.load_rate.value = 0.5e9;
  m.levels.resize(3);
  m.levels[0].is_scratchpad = true;
  m.levels[0].read.value = 128e9;
  m.levels[1].read.value = 32e9;
  m.levels[1].whole_line = 128;
  m.levels[2].whole_line = 64;
  const model::ThreadShape s = model::thread_shape_of(m);
  EXPECT_EQ(s.scratch_turn, 2);
  EXPECT_EQ(s.near_turn, 1) << "a line takes longer than a load";
  EXPECT_EQ(s.line, 128);
  EXPECT_EQ(s.registers_most, 128);
}

}  // namespace
}  // namespace assay::test
