// Footprints of lookups in a table.
#include <gtest/gtest.h>

#include "model/streams.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

ir::Program lookup() {
  const Result<ir::Graph> g = ir::parse_graph(R"(schema: assay/graph/1
name: words
inputs: {table: f32 100000x64, ids: f32 8}
nodes:
  - {op: gather, out: "y[t, j]", axes: {t: 8, j: 64}, body: "table[ids[t], j]"}
outputs: [y]
)",
                                              "words.yaml");
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  ir::Program p;
  p.name = "words";
  p.graph = *g;
  p.layouts = {ir::row_major(2), ir::row_major(1), ir::row_major(2)};
  p.tiles = {{"l1", {8, 64}, {0, 1}}, {"registers", {2, 16}, {0, 1}}};
  p.vector_axis = 1;
  p.vector_width = 16;
  return p;
}

// Eight rows of a large table, at any positions: only those are touched.
TEST(Footprint, ALookupTouchesTheRowsThatAreLookedUp) {
  const ir::Program p = lookup();
  ASSERT_EQ(render(ir::verify(p)), "");
  const model::Streams s = model::streams_of(p);
  for (const model::Stream& stream : s.streams) {
    if (stream.tensor != 0) continue;
    const std::vector<model::Footprint> f = model::footprints(p, s, stream, 64);
    EXPECT_EQ(f.front().bytes(64), 8 * 256);
    EXPECT_EQ(f.back().bytes(64), 2 * 64) << "two rows, one vector of each";
    return;
  }
  FAIL() << "no stream of the table";
}

// Nor are more rows cached, or more lines evicted.
TEST(Footprint, ALookupCachesTheRowsThatAreLookedUp) {
  const ir::Program p = lookup();
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  simulator::CacheState others;
  others.recent.push_back({{-1024, 0}, 1024, {-1024, 1024, 1}, {-1024, 1024, 1}, false, false, 0});
  for (const simulator::CacheState::Entry& e :
       simulator::after(p, machine(small_cpu(8, 1)), others, where).recent) {
    if (e.range != where[0]) continue;
    EXPECT_EQ(e.unit_bytes, 8 * 256);
    EXPECT_EQ(e.missed, 8 * 256);
    return;
  }
  FAIL() << "the table is not remembered";
}

// One number of each row: its line comes in, and the others are as old as before.
TEST(Footprint, AColumnDoesNotMakeATensorRecent) {
  const Result<ir::Graph> g = ir::parse_graph(
      "schema: assay/graph/1\nname: column\ninputs: {x: f32 4096x256}\nnodes:\n"
      "  - {out: \"y[i]\", axes: {i: 4096}, body: \"x[i, 255] + 1\"}\noutputs: [y]\n",
      "column.yaml");
  ASSERT_TRUE(g.ok()) << render(g.diags());
  ir::Program p;
  p.name = "column";
  p.graph = *g;
  p.layouts = {ir::row_major(2), ir::row_major(1)};
  p.tiles = {{"l1", {64}, {0}}, {"registers", {4}, {0}}};
  ASSERT_EQ(render(ir::verify(p)), "");
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  simulator::CacheState before;
  before.runs = 7;
  const double bytes = 4096 * 256 * 4;
  const simulator::UnitPartition one{where[0].begin, where[0].end - where[0].begin, 1};
  before.recent.push_back({where[0], bytes, one, one, false, false, 0});
  before.recent.back().run = 7;
  const simulator::CacheState now = simulator::after(p, machine(small_cpu(8, 1)), before, where);
  double missed = 0;
  int last_run = 0;  // that touched all of it
  for (const simulator::CacheState::Entry& e : now.recent) {
    if (e.range == where[0]) last_run = e.run;
    missed += e.run > 7 ? e.missed : 0;
  }
  EXPECT_EQ(last_run, 7);
  EXPECT_LT(missed, 0.5 * bytes);
}

}  // namespace
}  // namespace assay::test
