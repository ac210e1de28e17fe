// Footprints: the lines that a walk touches, the sets that they map to, and the capacity they take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lower/lower.h"
#include "model/closed_form.h"
#include "model/streams.h"
#include "model/traffic.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

TEST(Footprint, RowsInOneSetTakeItsWholeCapacity) {
  model::Footprint f;
  f.rows = f.near_rows = 14;
  f.run = 64;
  f.stride = 4096;
  EXPECT_DOUBLE_EQ(f.bytes(64), 14 * 64);
  EXPECT_DOUBLE_EQ(f.occupied(64, 64), 13 * 4096) << "14 lines in one of 64 sets";
  f.stride = 4096 + 64;
  EXPECT_DOUBLE_EQ(f.occupied(64, 64), 14 * 64) << "each row in a set of its own";
}

TEST(Footprint, SetsThatItsRowsMapTo) {
  model::Footprint f;
  f.rows = f.near_rows = 32;
  f.run = 64;
  const auto touched = [&](double stride) {
    f.stride = stride;
    return f.sets_touched(64, 64);
  };
  EXPECT_EQ(touched(8192), 1);
  EXPECT_EQ(touched(2048), 2);
  EXPECT_EQ(touched(3072), 4);
  EXPECT_EQ(touched(4096 + 64), 32) << "each row in a set of its own";
  EXPECT_EQ(touched(4096 + 4), 32) << "offsets drift over the sets";
  f.run = 128;
  EXPECT_EQ(touched(8192), 2);
}

// Four rows of 24 bytes in each of 12 matrices of 32 KiB: the matrices' rows conflict, 12 of them
// in each of four sets.
TEST(Footprint, RowsOfManyMatricesConflictInSets) {
  model::Footprint f;
  f.rows = 48;
  f.run = 24;
  f.near_rows = 4;
  f.stride = 256;
  f.far_rows = 12;
  f.far_stride = 32768;
  EXPECT_EQ(f.row_lines(64), 48);
  EXPECT_EQ(f.sets_touched(64, 64), 4);
  EXPECT_EQ(f.occupied(64, 64), 11 * 64 * 64) << "more than a cache of 8 ways has";
  f.far_stride = 32768 + 1024;
  EXPECT_EQ(f.sets_touched(64, 64), 16) << "every fourth matrix maps to the sets of the first";
  EXPECT_EQ(f.occupied(64, 64), 2 * 64 * 64) << "three in a set";
  f.far_stride = 32768 + 4;
  EXPECT_EQ(f.occupied(64, 64), f.bytes(64)) << "offsets drift over the sets";
  f.stride = 32;
  f.far_stride = 32768;
  EXPECT_EQ(f.row_lines(64), 24) << "rows closer than a line share it";
  EXPECT_EQ(f.sets_touched(64, 64), 2);
}

// A knee that begins slightly below the capacity does not change the sets.
TEST(Footprint, SetsFollowFromCapacityAndWays) {
  hwdesc::Target t = small_cpu(8, 1);
  const auto sets = [&](double capacity, double knee, double ways) {
    hwdesc::MemoryLevel& l = t.profile.memory[0];
    l.capacity.value = hwdesc::Bytes{capacity};
    l.knee.from.value = hwdesc::Bytes{knee};
    l.knee.to.value = hwdesc::Bytes{2 * capacity};
    l.ways.value = ways > 0 ? std::optional(hwdesc::Count{ways}) : std::nullopt;
    return machine(t).levels[0].sets;
  };
  EXPECT_EQ(sets(32768, 32256, 8), 64);
  EXPECT_EQ(sets(49152, 49152, 12), 64);
  EXPECT_EQ(sets(49152, 49152, 0), 64) << "of 8 ways or more";
}

// A 1x1 convolution with a stride of two, over channels in blocks of 16. Each position is a line of
// its own, and three of four are skipped. Rows of single channels have several positions in a line,
// which is fetched whole.
TEST(Footprint, StridesSkipLines) {
  const auto convolution = [](const char* layout, bool staged) {
    return parsed(fmt::format(
        R"yaml(schema: assay/program/1
name: conv
graph:
  name: conv
  tensors: {{t0: "f32 1x16x32x32", t1: "f32 16x16", t2: "f32 1x16x16x16"}}
  inputs: [t0, t1]
  outputs: [t2]
  nodes:
    - {{name: conv, op: conv, out: "t2[n, o, y, x]", axes: {{n: 1, o: 16, y: 16, x: 16, c: 16}},
       combine: sum, body: "t0[n, c, 2*y, 2*x] * t1[o, c]"}}
layouts: {{t0: "{}", t1: "[0, 1]", t2: "[0, 1, 2, 3]"}}
tiles:
  - {{memory: l2, extent: {{n: 1, o: 16, y: 4, x: 16, c: 16}}, order: [y]}}
  - {{memory: registers, extent: {{n: 1, o: 1, y: 1, x: 1, c: 1}}, order: [y, x, o, c]}}
{})yaml",
        layout, staged ? "staging: [{read: 0, level: 0, layout: \"[0, 1, 2, 3]\"}]\n" : ""));
  };
  const auto read = [](const ir::Program& p) {
    const model::Streams s = model::streams_of(p);
    const auto at = std::ranges::find_if(
        s.streams, [](const model::Stream& st) { return st.tensor == 0 && st.staging < 0; });
    return model::footprints(p, s, *at, 64);
  };
  const std::vector<model::Footprint> blocks = read(convolution("[0, 1/16, 2, 3, 1%16]", false)),
                                      rows = read(convolution("[0, 1, 2, 3]", false));
  EXPECT_EQ(blocks.front().bytes(64), 16 * 16 * 64) << "of 32 rows of 32 positions";
  EXPECT_EQ(blocks[1].bytes(64), 4 * 16 * 64) << "four rows of the output";
  EXPECT_EQ(blocks[1].stride, 128);
  EXPECT_EQ(blocks[1].far_rows, 4);
  EXPECT_EQ(blocks[1].far_stride, 2 * 32 * 64);
  EXPECT_EQ(rows.front().bytes(64), 16 * 16 * 128) << "of 16 channels every other row, whole";
  const std::vector<model::Footprint> copied = read(convolution("[0, 1/16, 2, 3, 1%16]", true));
  EXPECT_EQ(copied[1].bytes(64), 7 * 31 * 64) << "skipped elements are copied, too";
}

TEST(Footprint, RowsCloserThanALineShareIt) {
  model::Footprint f;
  f.rows = f.near_rows = 16;
  f.run = 256;
  f.stride = 1024;
  EXPECT_DOUBLE_EQ(f.bytes(64), 16 * 256) << "lines";
  EXPECT_DOUBLE_EQ(f.bytes(4096), 4 * 4096) << "pages: four rows in each";
  f.stride = 8192;
  EXPECT_DOUBLE_EQ(f.bytes(4096), 16 * 4096);
}

TEST(Footprint, RowsOfManyPlanesFillNoMoreThanTheirSpan) {
  model::Footprint f{16 * 8, 64, 8, 256,
                     16 * 8 * 256 - 192};  // 8 rows of 64 bytes in each of 16 planes of 2 KiB
  EXPECT_DOUBLE_EQ(f.bytes(64), 16 * 8 * 64);
  EXPECT_DOUBLE_EQ(f.bytes(4096), 8 * 4096) << "two planes in each page";
}

// Half of each row of a power of two: one unit's part uses half of the sets.
TEST(Footprint, AUnitsPartOfTheColumnsConflictsInItsCache) {
  ir::Program p = walk(256, 1, 16, "j");
  p.tiles[0].extent = {64, 128};
  const model::Streams s = model::streams_of(p);
  const model::Footprint all = model::unit_footprint(p, s, s.streams[0], 1, 64),
                         part = model::unit_footprint(p, s, s.streams[0], 2, 64);
  EXPECT_EQ(part.bytes(64), all.bytes(64) / 2);
  EXPECT_EQ(all.occupied(64, 64), all.bytes(64));
  EXPECT_GT(part.occupied(64, 64), 1.5 * part.bytes(64));
}

}  // namespace
}  // namespace assay::test
