// Bytes moved between the levels of a hierarchy.
#include "model/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lower/lower.h"
#include "model/closed_form.h"
#include "model/streams.h"
#include "model/tlb.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

// A program over a tensor of three axes at `read`, with vectors of four. Shapes, axes and tiles are
// in the syntax of programs.
ir::Program relu_of(const char* in, const char* out, const char* indices, const char* axes,
                    const char* read, const char* tiles) {
  return parsed(fmt::format(R"yaml(schema: assay/program/1
name: relu
graph:
  name: relu
  tensors: {{t0: "f32 {}", t1: "f32 {}"}}
  inputs: [t0]
  outputs: [t1]
  nodes:
    - {{name: relu, op: relu, out: "t1[{}]", axes: {{{}}}, body: "max(t0[{}], 0)"}}
layouts: {{t0: "[0, 1, 2]", t1: "[0, 1, 2]"}}
tiles:
{})yaml",
                            in, out, indices, axes, read, tiles));
}

// Prefetchers follow a stride as they follow contiguous bytes.
TEST(Traffic, StridesArePrefetched) {
  const ir::Program p =
      relu_of("32x32x16", "16x16x16", "y, x, c", "y: 16, x: 16, c: 16", "2*y, 2*x, c", R"yaml(
  - {memory: l2, extent: {y: 16, x: 16, c: 16}, order: [y]}
  - {memory: registers, extent: {y: 1, x: 1, c: 16}, order: [y, x]}
vector: {axis: c, width: 4}
)yaml");
  const model::LevelTraffic t =
      model::traffic(p, model::streams_of(p), machine(small_cpu(4, 1)), {})[0];
  EXPECT_EQ(t.streams[0].read, 16 * 16 * 64);
  EXPECT_LT(t.unprefetched, 0.2 * t.streams[0].read / 64);
}

// Each read of a tensor touches what it reads: one element of each row, beside the rows.
TEST(Traffic, ASecondReadOfATensorTouchesItsOwnPositions) {
  const ir::Program p = parsed(R"yaml(schema: assay/program/1
name: minus_first
graph:
  name: minus_first
  inputs: {x: f32 64x1024}
  nodes:
    - {op: sub, out: "y[i, j]", axes: {i: 64, j: 1024}, body: "x[i, j] - x[i, 0]"}
  outputs: [y]
tiles:
  - {memory: l2, extent: {i: 64, j: 1024}, order: [i]}
  - {memory: registers, extent: {i: 1, j: 4}, order: [i, j]}
vector: {axis: j, width: 4}
)yaml");
  const model::LevelTraffic t =
      model::traffic(p, model::streams_of(p), machine(small_cpu(4, 1)), {}).back();
  EXPECT_EQ(t.streams[0].read, 64 * 1024 * 4);
  EXPECT_LE(t.streams[1].read, 64 * 64);
}

// Four interleaved rows in each of 12 matrices at a stride of 32 KiB: 48 lines in four of 64 sets,
// each of which takes 12 serially. A core looks further ahead than 48 lines.
TEST(Traffic, ConflictsOfRowsOfManyMatricesAreSerialised) {
  const ir::Program p =
      relu_of("12x128x64", "12x128x64", "b, i, j", "b: 12, i: 128, j: 64", "b, i, j", R"yaml(
  - {memory: l2, extent: {b: 12, i: 128, j: 64}, order: [b]}
  - {memory: registers, extent: {b: 12, i: 4, j: 4}, order: [i, j]}
vector: {axis: j, width: 4}
)yaml");
  model::Machine m = machine(small_cpu(4, 1));
  m.levels[0].sets = 64;
  const model::LevelTraffic t = model::traffic(p, model::streams_of(p), m, {})[0];
  const double ahead = m.hidden_latency * m.clock;  // lines
  ASSERT_GT(ahead, 48);
  EXPECT_DOUBLE_EQ(t.set_conflicts, t.streams[0].read / 64 / (4 * ahead / 48));
}

double output_bytes(const ir::Program& p) {
  return static_cast<double>(
             ir::elements(p.graph.tensors[static_cast<size_t>(p.graph.outputs[0])])) *
         4;
}

model::Machine with_first_cache(model::Machine m, double capacity) {
  m.levels[0].capacity.value = capacity;
  m.levels[0].end = capacity * 1.5;
  m.levels[0].sets = 1;
  return m;
}

TEST(Traffic, FallsOrStaysAsACacheGrows) {
  std::mt19937 rng(14);
  for (int i = 0; i < 200; ++i) {
    const Drawn d = draw(rng, i);
    const model::Streams s = model::streams_of(d.program);
    double last = 1e300;
    for (double capacity : {2048.0, 4096.0, 16384.0, 65536.0, 1e6}) {
      const auto t =
          model::traffic(d.program, s, with_first_cache(machine(d.target), capacity), {});
      const double bytes = t[0].read + t[0].written;
      EXPECT_LE(bytes, last * (1 + 1e-9)) << "program " << i << " capacity " << capacity;
      last = bytes;
    }
    EXPECT_GT(last, 0) << "operands that are in no cache must be read once, program " << i;
  }
}

double read_through_a_small_cache(const Drawn& d, const std::vector<double>& most) {
  const auto t = model::traffic(d.program, model::streams_of(d.program),
                                with_first_cache(machine(d.target), 256), {}, most);
  return t[0].read + t[0].written;
}

TEST(Traffic, IsNeverMoreThanTheLinesItsAccessesTouch) {
  std::mt19937 rng(17);
  int bounded = 0;
  for (int i = 0; i < 200; ++i) {
    const Drawn d = draw(rng, i);
    const model::Streams s = model::streams_of(d.program);
    const std::vector<double> most =
        model::accessed_bytes(d.program, s, model::closed_form(d.program), 64);
    ASSERT_EQ(most.size(), s.streams.size());
    const double free = read_through_a_small_cache(d, {}),
                 capped = read_through_a_small_cache(d, most);
    EXPECT_LE(capped, free * (1 + 1e-9)) << i;
    bounded += capped < 0.99 * free ? 1 : 0;
  }
  EXPECT_GT(bounded, 10) << "without it, lines that rows of a tile share are counted twice";
}

// 64 rows read and written a column of vectors at a time, in a cache of two sets that holds none of
// them. Rows at a stride of 1 KiB fall into one of its sets, at 1 KiB and a line into both.
TEST(Traffic, ConflictsInASetAreSerialised) {
  const model::Machine m = machine(small_cpu(4, 1));
  const auto conflicts_of = [&](int64_t columns, int64_t rows, const char* order = "j, i") {
    const ir::Program p = walk(columns, rows, 4, "j", "i, j", order);
    const model::Streams s = model::streams_of(p);
    const model::LevelTraffic t =
        model::traffic(p, s, m, {}, model::accessed_bytes(p, s, model::closed_form(p), 64))[0];
    return t.set_conflicts + 2 * t.set_conflicts_dirty;
  };
  // Each vector loads a line, and fills and writes back another. The first fill of each written
  // line is not counted.
  const auto changed = [](int64_t columns) {
    return 2.0 * 64 * static_cast<double>(columns) / 4 - 64 * static_cast<double>(columns) / 16;
  };
  const auto lines = [&](int64_t columns) {
    return 64 * static_cast<double>(columns) / 4 + changed(columns);
  };
  EXPECT_DOUBLE_EQ(conflicts_of(256, 8), lines(256));
  EXPECT_DOUBLE_EQ(conflicts_of(256 + 16, 8), lines(256 + 16) / 2) << "two at a time";
  EXPECT_EQ(conflicts_of(256, 4, "i, j"), 0) << "the ways of a set hold them";
  EXPECT_EQ(conflicts_of(256, 1, "i, j"), 0) << "along rows";

  const ir::Program p = walk(256, 8, 4, "j");
  hwdesc::Target measured = small_cpu(4, 1), unmeasured = measured;
  measured.profile.memory[0].set_conflict.value = hwdesc::Latency{5e-9, ""};
  measured.profile.memory[0].set_conflict_dirty.value = hwdesc::Latency{30e-9, ""};
  unmeasured.profile.memory[1].latency.value = hwdesc::Latency{5e-9, ""};
  EXPECT_NEAR(term(simulator::estimate(p, machine(measured), {}, {}), "set conflicts"),
              5e-9 * (lines(256) - changed(256)) + 15e-9 * changed(256), 1e-15);
  const model::Estimate assumed = simulator::estimate(p, machine(unmeasured), {}, {});
  EXPECT_NEAR(term(assumed, "set conflicts"), 5e-9 * lines(256), 1e-15)
      << "the latency of the next cache, each way";
  for (const char* path : {"memory.l1.set_conflict", "memory.l1.set_conflict_dirty"})
    EXPECT_NE(std::ranges::find(assumed.assumed, path), assumed.assumed.end()) << path;
}

// Where no ways are known, lines at page strides show how many sets there are.
TEST(Traffic, LinesAtPageStridesShowTheSets) {
  hwdesc::Target t = small_cpu(4, 1);
  hwdesc::MemoryLevel& l2 = t.profile.memory[1];
  l2.capacity.value = hwdesc::Bytes{65536};
  l2.line.value = hwdesc::Bytes{64};
  l2.ways.value.reset();
  l2.page_stride_lines.value = hwdesc::Count{60};
  EXPECT_EQ(machine(t).levels[1].sets, 16);
  l2.ways.value = hwdesc::Count{4};
  EXPECT_EQ(machine(t).levels[1].sets, 256);
}

// Sums of `rows` rows, a line of each at a time, in memory during the reduction, at a stride of
// `columns` of 4 bytes.
TEST(Traffic, UpdatesThatConflictAreSerialised) {
  const model::Machine m = machine(small_cpu(4, 1));
  const auto of = [&](int64_t columns, int64_t rows, const char* order = "n, k, m") {
    const ir::Program p = parsed(fmt::format(R"yaml(schema: assay/program/1
name: sums
graph:
  name: sums
  tensors: {{t0: "f32 {0}x4", t1: "f32 4x{1}", t2: "f32 {0}x{1}"}}
  inputs: [t0, t1]
  outputs: [t2]
  nodes:
    - {{name: sums, op: matmul, out: "t2[m, n]", axes: {{m: {0}, n: {1}, k: 4}}, combine: sum,
       body: "t0[m, k] * t1[k, n]"}}
layouts: {{t0: "[0, 1]", t1: "[0, 1]", t2: "[0, 1]"}}
tiles:
  - {{memory: l2, extent: {{m: {0}, n: {1}, k: 4}}, order: [m, n, k]}}
  - {{memory: registers, extent: {{m: 1, n: 16, k: 1}}, order: [{2}]}}
vector: {{axis: n, width: 4}}
)yaml",
                                             rows, columns, order));
    const model::Streams s = model::streams_of(p);
    return model::traffic(p, s, m, {}, model::accessed_bytes(p, s, model::closed_form(p), 64))[0];
  };
  const double lines = 3 * 12 * 16;  // steps after the first, rows, strips of columns
  const model::LevelTraffic one_set = of(256, 12), both = of(256 + 16, 12);
  const model::BytesMoved& sums = one_set.streams.back();
  EXPECT_GT(sums.read, 0.75 * lines * 64)
      << "in one of two sets, except for lines that are still cached";
  EXPECT_LE(sums.read, lines * 64);
  // Lines that are filled and written back; the next columns' fall into the other set meanwhile.
  const auto conflicts = [](const model::LevelTraffic& t) {
    return (t.streams.back().read + t.streams.back().written) / 64 / 2 / 2;
  };
  EXPECT_DOUBLE_EQ(one_set.set_conflicts_dirty, conflicts(one_set)) << "each comes and leaves once";
  const model::LevelTraffic wide = of(512, 12);
  EXPECT_NEAR(wide.set_conflicts_dirty / conflicts(wide),
              one_set.set_conflicts_dirty / conflicts(one_set), 1e-9)
      << "as much per line, however many columns";
  EXPECT_LE(one_set.set_conflicts, 0.1 * 2 * one_set.set_conflicts_dirty)
      << "the four rows of an operand";
  EXPECT_GT(one_set.set_conflicts_dirty, 2 * both.set_conflicts_dirty)
      << "they fall into both sets, and stay";
  EXPECT_GT(one_set.set_conflicts_dirty, 2 * of(256, 4).set_conflicts_dirty) << "few rows fit";
  EXPECT_GT(one_set.set_conflicts_dirty, 2 * of(256, 12, "n, m, k").set_conflicts_dirty)
      << "sums stay in registers";
}

// Rows in one of two sets of eight lines each. Arrays that are walked together begin at different
// offsets in their pages, but the lines that all rows read pass through the set.
TEST(Traffic, LinesThatPassThroughASetTakeAWay) {
  const model::Machine m = machine(small_cpu(4, 1));
  const auto written = [&](const char* read, int64_t rows) {
    const ir::Program p = walk(256, rows, 4, "j", read, "i, j");
    const model::Streams s = model::streams_of(p);
    return model::traffic(p, s, m, {}, model::accessed_bytes(p, s, model::closed_form(p), 64))[0]
        .streams.back()
        .written;
  };
  const double once = 64 * 256 * 4;
  EXPECT_DOUBLE_EQ(written("0, j", 6), once);
  EXPECT_GT(written("0, j", 8), once);
  EXPECT_LT(written("0, j", 8), written("0, j", 12));
  EXPECT_DOUBLE_EQ(written("i, j", 4), once) << "eight rows, four of each array, and one more line";
}

TEST(Traffic, ALineThatIsWrittenAgainLaterIsReadAgain) {
  hwdesc::Target target = small_cpu(4, 1);
  const ir::Program p = walk(256, 64, 4, "j");
  const auto read = [&](hwdesc::WritePolicy policy) {
    target.profile.memory[0].write = policy;
    const model::Streams s = model::streams_of(p);
    return model::traffic(p, s, machine(target), {},
                          model::accessed_bytes(p, s, model::closed_form(p), 64))[0]
        .streams[1]
        .read;
  };
  EXPECT_DOUBLE_EQ(read(hwdesc::WritePolicy::allocate), 64 * 64 * 64 - output_bytes(p));
  EXPECT_EQ(read(hwdesc::WritePolicy::around), 0);
}

// Twelve rows ahead, at a stride of 1 KiB, fall into one of the two sets of this cache and evict
// each other.
TEST(Traffic, PrefetchedRowsThatConflictAreEvictedBeforeUse) {
  const auto read = [](int64_t columns, int prefetch) {
    ir::Program p = product(64, columns, 64, columns);
    p.prefetch = prefetch;
    return model::traffic(p, model::streams_of(p), machine(small_cpu(8, 1)), {})[0].streams[1].read;
  };
  EXPECT_GT(read(256, 11), 1.3 * read(256, 0));
  EXPECT_GT(read(256, 13), read(256, 11)) << "gradually";
  EXPECT_LE(read(256, 15), 2 * read(256, 0));
  EXPECT_DOUBLE_EQ(read(256, 3), read(256, 0)) << "four rows stay";
  EXPECT_DOUBLE_EQ(read(256 + 16, 11), read(256 + 16, 0)) << "rows that drift over the sets";
}

TEST(Traffic, SoftwarePrefetchesLeaveNoUnprefetchedMiss) {
  const auto unprefetched = [](int prefetch) {
    ir::Program p = product(64, 256 + 16, 64, 256 + 16);
    p.prefetch = prefetch;
    return model::traffic(p, model::streams_of(p), machine(small_cpu(8, 1)), {})[0].unprefetched;
  };
  EXPECT_LT(unprefetched(8), 0.5 * unprefetched(0));
}

// One unprefetched line per run, however long it is.
TEST(Traffic, OnlyTheStartOfARunIsUnprefetched) {
  const model::Machine m = machine(small_cpu(4, 1));
  const auto starts = [&](int64_t rows, int64_t across) {
    const ir::Program p = walk(256, rows, across, "j", "i, j", "i, j");
    return model::traffic(p, model::streams_of(p), m, {})[0].unprefetched;
  };
  EXPECT_DOUBLE_EQ(starts(1, 16), 1) << "row after row is one run";
  EXPECT_DOUBLE_EQ(starts(4, 16), 64) << "four interleaved rows, each a run";
  EXPECT_DOUBLE_EQ(starts(64, 16), 64 * 256 / 16) << "a column of lines: each jumps";
}

// Interleaved rows at a stride of a page, a whole line of each. Prefetched lines are evicted before
// use where more rows map to a set than it has ways.
TEST(Traffic, PrefetchedLinesThatConflictAreFetchedTwice) {
  model::Machine m = machine(small_cpu(4, 1));
  m.levels[0].capacity.value = m.levels[0].end = 32768;
  m.levels[0].sets = 64;  // of 8 ways
  const auto read = [&](int64_t rows, const char* order) {
    const ir::Program p = walk(1024, rows, 16, "j", "i, j", order);
    return model::traffic(p, model::streams_of(p), m, {})[0].streams[0].read;
  };
  const double all = 64 * 1024 * 4;
  EXPECT_DOUBLE_EQ(read(2, "i, j"), all);
  EXPECT_DOUBLE_EQ(read(8, "i, j"), all)
      << "as many as ways; the rows that are written map to other sets";
  EXPECT_GT(read(12, "i, j"), 1.2 * all) << "more than the ways";
  EXPECT_NEAR(read(16, "i, j"), 2 * all, 0.1 * all) << "nearly all of them";
  EXPECT_DOUBLE_EQ(read(16, "j, i"), all) << "down a column, no line is prefetched along the rows";
}

TEST(Sharing, FalseSharingWhereUnitsSplitTheColumns) {
  const auto ends = [](const char* group) {
    ir::Program p = walk(256, 1, 16, "j");
    p.tiles[0].extent =
        group[0] == 'i' ? std::vector<int64_t>{16, 256} : std::vector<int64_t>{64, 64};
    return model::false_sharing_runs(p, model::streams_of(p), 2).count;
  };
  EXPECT_EQ(ends("i"), 0) << "16 of 64 rows are one run";
  EXPECT_EQ(ends("j"), 64) << "each row is shared";
  EXPECT_EQ(
      model::false_sharing_runs(walk(256, 1, 16, "j"), model::streams_of(walk(256, 1, 16, "j")), 2)
          .count,
      0)
      << "one group";
}

// Scans of 64 rows, a page each: column by column over all rows, or row by row.
TEST(Traffic, TlbMissesWhereMorePagesAreScannedThanEntries) {
  const ir::Program columns = walk(1024, 1, 4, "j"), rows = walk(1024, 1, 4, "j", "i, j", "i, j");
  model::Machine m = machine(small_cpu(4, 1));
  const auto missed = [&](const ir::Program& p) {
    return model::tlb_misses(p, model::streams_of(p), m);
  };
  EXPECT_EQ(missed(columns), 0) << "unknown";
  m.tlb_entries = 1000;
  EXPECT_EQ(missed(columns), 0) << "all fit";
  m.tlb_entries = 16;
  EXPECT_GT(missed(columns), 64 * 100) << "each of 256 steps along the rows misses each page";
  EXPECT_LE(missed(rows), 2 * 64 + 2);
  m.tlb_miss.value = 1e-6;
  EXPECT_GT(simulator::estimate(columns, m, {}, {}).seconds, missed(columns) * 0.9e-6);
}

// A TLB that begins to miss at 80 pages and holds none of 240, for a walk down 128 rows. At a
// stride of two pages they use half of it.
TEST(Traffic, PageWalksWherePagesConflictInTheSecondTlb) {
  const auto walked = [](int64_t columns) {
    model::Machine m = machine(small_cpu(4, 1));
    m.second_tlb.line = 4096;
    m.second_tlb.capacity.value = 80 * 4096;
    m.second_tlb.middle = 120 * 4096;
    m.second_tlb.end = 240 * 4096;
    const ir::Program p = walk(columns, 1, 4, "j");
    return model::page_walks(p, model::streams_of(p), m) /
           static_cast<double>(columns / 4);  // per step along the rows
  };
  model::Machine unknown = machine(small_cpu(4, 1));
  const ir::Program p = walk(4096, 1, 4, "j");
  EXPECT_EQ(model::page_walks(p, model::streams_of(p), unknown), 0);
  EXPECT_GT(walked(1040), 32) << "64 rows read and 64 written, of 4160 bytes";
  EXPECT_LT(walked(1040), 96) << "some still hit";
  EXPECT_DOUBLE_EQ(walked(2048), 128) << "at a stride of 8 KiB";
  EXPECT_LT(walked(2064), 96) << "and a line";

  unknown.second_tlb.line = 4096;
  unknown.second_tlb.capacity.value = unknown.second_tlb.middle = unknown.second_tlb.end = 4096;
  unknown.second_tlb.latency.value = 1e-6;
  const model::Estimate slow = simulator::estimate(p, unknown, {}, {});
  const double waits = model::page_walks(p, model::streams_of(p), unknown) * 1e-6;
  EXPECT_NEAR(term(slow, "page walks"), waits, 1e-6 * waits);
  EXPECT_GT(slow.seconds, waits);
}

// 80 columns are tiles of 48 and 32: five register tiles and not six. So for operand t1, which
// depends on the columns, and for t0, which is read again for each tile.
TEST(Traffic, APartialTileTouchesWhatIsInIt) {
  const auto lines_read = [](int64_t n, int64_t tile, int stream) {
    const ir::Program p = product(64, n, 64, tile);
    return model::traffic(p, model::streams_of(p), with_first_cache(machine(small_cpu(8, 1)), 256),
                          {})[0]
               .streams[static_cast<size_t>(stream)]
               .read /
           64;
  };
  for (int stream : {0, 1})
    EXPECT_NEAR(lines_read(80, 48, stream) / lines_read(96, 48, stream), 5.0 / 6, 1e-9) << stream;
}

TEST(Traffic, AnOutputIsWrittenBackWhereItDoesNotFitAndStaysWhereItDoes) {
  std::mt19937 rng(16);
  int large = 0;
  for (int i = 0; i < 200; ++i) {
    const Drawn d = draw(rng, i);
    const model::Streams s = model::streams_of(d.program);
    const double units =
        std::min(machine(d.target).units, static_cast<double>(ir::group_count(d.program)));
    const double once = output_bytes(d.program);
    if (once / units > 2 * 1.5 * 256) {
      const auto small = model::traffic(d.program, s, with_first_cache(machine(d.target), 256), {});
      EXPECT_GE(small[0].written * (1 + 1e-9), once) << i;
      ++large;
    }
    const auto whole = model::traffic(d.program, s, with_first_cache(machine(d.target), 1e9), {});
    EXPECT_EQ(whole[0].written, 0) << i;
  }
  EXPECT_GT(large, 50);
}

TEST(Traffic, ACopyStaysCachedWhereTheFootprintOfItsTileFits) {
  constexpr double region = 64 * 48 * 4, copies = 2;
  const auto of_copies = [](double capacity) {
    const ir::Program p = product(8, 96, 64, 48, 8, "[0, 1]");
    const model::Streams s = model::streams_of(p);
    const auto at =
        static_cast<size_t>(std::find_if(s.streams.begin(), s.streams.end(),
                                         [](const model::Stream& x) { return x.staging >= 0; }) -
                            s.streams.begin());
    model::Machine m = with_first_cache(machine(small_cpu(8, 1)), capacity);
    m.units = 1;
    return model::traffic(p, s, m, {})[0].streams.at(at);
  };
  EXPECT_DOUBLE_EQ(of_copies(256).written, copies * region);
  EXPECT_GE(of_copies(256).read, copies * region) << "each is evicted before it is read";
  constexpr double others = 8 * 64 * 4 + 8 * 48 * 4,
                   fits =
                       2 * region + others;  // the source of one tile, its copy, the other operands
  EXPECT_EQ(of_copies(fits).written, 0);
  EXPECT_EQ(of_copies(fits).read, 0);
}

TEST(Traffic, CachedDataIsNotReadAgain) {
  std::mt19937 rng(15);
  for (int i = 0; i < 100; ++i) {
    const Drawn d = draw(rng, i);
    const model::Machine m = machine(d.target);
    const model::Streams s = model::streams_of(d.program);
    const model::CachedFractions warm(d.program.graph.tensors.size(),
                                      std::vector<double>(m.levels.size(), 1));
    const auto cold_bytes = model::traffic(d.program, s, m, {}),
               warm_bytes = model::traffic(d.program, s, m, warm);
    for (size_t l = 0; l < cold_bytes.size(); ++l)
      EXPECT_LE(warm_bytes[l].read, cold_bytes[l].read * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace assay::test
