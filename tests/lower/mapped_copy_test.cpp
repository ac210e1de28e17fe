// Copies by task mappings: runs that tiles and layouts allow, and mappings that do not fit.
#include "lower/mapped_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lower/count.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

// 96 x 64 x 48 by 2 x 2 waves of 8 lanes; a and b are copied 16 steps at a time.
ir::Program product(const std::string& from = "", const std::string& to = "") {
  std::string text = R"yaml(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {a: f32 96x48, b: f32 48x64, c: f32 96x64}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 96, n: 64, k: 48}, combine: sum,
       body: "a[m, k] * b[k, n]"}
vector: {axis: n, width: 8}
workers: {m: 2, n: 2}
tiles:
  - {memory: l2, extent: {m: 8, n: 32, k: 48}, order: [m, n]}
  - {memory: l1, extent: {m: 8, n: 32, k: 16}, order: [k]}
  - {memory: registers, extent: {m: 4, n: 16, k: 1}, order: [m, n, k]}
staging:
  - {read: 0, level: 1, layout: "[0, 1]", tasks: "spatial(8, 4) * repeat(1, 4)", width: 4}
  - {read: 1, level: 1, layout: "[0, 1]", tasks: "repeat(4, 1) * spatial(4, 8) * repeat(1, 4)",
     width: 4}
)yaml";
  if (!from.empty()) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  const Result<ir::Program> p = ir::parse_program(text, "p.yaml");
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

std::string faults(const ir::Program& p) { return render(lower::legal(p, small_gpu(8))); }

TEST(MappedCopy, ComputesTheProductInRunsOfSixteenBytes) {
  const ir::Program p = product();
  ASSERT_EQ(faults(p), "");
  std::mt19937 rng(1);
  const Comparison c = compare(p, small_gpu(8), rng);
  EXPECT_EQ(c.fault, "");
  EXPECT_LT(c.difference, 1e-5);
  const auto kernel = lower::lower(p, small_gpu(8));
  ASSERT_TRUE(kernel.ok());
  // 24 groups of 4 waves copy 3 times: a thread has 1 run of a, and 4 of b.
  const lower::Counts counts = lower::count(*kernel);
  EXPECT_EQ(counts.buffers[0].run_loads, 24 * 4 * 3);
  EXPECT_EQ(counts.buffers[1].run_loads, 24 * 4 * 3 * 4);
  EXPECT_EQ(counts.buffers[3].run_stores, counts.buffers[0].run_loads);
  EXPECT_EQ(counts.buffers[4].run_stores, counts.buffers[1].run_loads);
}

TEST(MappedCopy, RunsBeginAtMultiplesOfTheirLengthInBothPlaces) {
  const auto longest = [](const ir::Program& p, size_t staging) {
    return lower::longest_run(p, p.staging[staging]);
  };
  EXPECT_EQ(longest(product(), 0), 4) << "16 bytes";
  EXPECT_EQ(longest(product(), 1), 4);
  EXPECT_EQ(longest(product("a: f32 96x48", "a: f16 96x48"), 0), 8) << "of f16";
  ir::Program p = product();
  p.staging[0].layout.pad = {{}, {0, 2}};
  EXPECT_EQ(longest(p, 0), 2) << "rows of 18 elements";
  p = product();
  p.layouts[0].dims = {{1, 1, 0}, {0, 1, 0}};
  EXPECT_EQ(longest(p, 0), 1) << "rows become columns";
  p = product();
  p.staging[0].layout.dims = {{0, 4, 0}, {1, 1, 0}, {0, 1, 4}};
  EXPECT_EQ(longest(p, 0), 0) << "blocks";
  p = product();
  p.graph.tensors[0].shape = {96, 50};
  EXPECT_EQ(longest(p, 0), 2) << "rows of 50 elements in memory";
  p = product();
  p.graph.tensors[0].shape = {96, 49};
  p.graph.nodes[0].reads[0].index[1] = ir::variable(2) + 1;
  EXPECT_EQ(longest(p, 0), 1) << "tiles begin at odd elements";
}

TEST(MappedCopy, DealsEachElementToOneThreadAndNeighboursToNeighbours) {
  for (const auto& [rows, columns, threads, width] : {std::tuple{128, 32, 256, 8},
                                                      {8, 16, 32, 4},
                                                      {64, 64, 32, 4},
                                                      {4, 96, 8, 4},
                                                      {3, 8, 1, 2}}) {
    const ir::TaskMapping m = lower::dealt_rows({rows, columns}, threads, width);
    ASSERT_FALSE(m.steps.empty()) << rows << " x " << columns;
    EXPECT_EQ(m.rows(), rows);
    EXPECT_EQ(m.cols(), columns);
    EXPECT_EQ(m.workers(), threads);
    EXPECT_EQ(ir::neighbours_in_row(m) % width, 0);
    std::set<std::pair<int, int>> seen;
    for (int t = 0; t < threads; ++t)
      for (int i = 0; i < m.items(); ++i) seen.insert({m.task(t, i).row, m.task(t, i).col});
    EXPECT_EQ(seen.size(), static_cast<size_t>(rows) * static_cast<size_t>(columns));
    if (threads > 1 && columns > width) {
      EXPECT_EQ(m.task(1, 0), (ir::Task{0, width}));
    }
  }
  EXPECT_TRUE(lower::dealt_rows({7, 32}, 64, 4).steps.empty()) << "8 rows at once";
  EXPECT_TRUE(lower::dealt_rows({8, 30}, 8, 4).steps.empty());
}

TEST(MappedCopy, RefusesMappingsThatDoNotFit) {
  const std::string copy = "tasks: \"spatial(8, 4) * repeat(1, 4)\", width: 4";
  const auto with = [&](const std::string& to) { return faults(product(copy, to)); };
  EXPECT_THAT(
      with("tasks: \"spatial(8, 4) * repeat(1, 2)\", width: 2"),
      HasSubstr("staging of a: `spatial(8, 4) * repeat(1, 2)` covers 8 x 8 elements, and the "
                "tile has 8 rows of 16"));
  EXPECT_THAT(with("tasks: \"spatial(8, 2) * repeat(1, 8)\", width: 4"),
              HasSubstr("has 16 threads, and a group 32"));
  EXPECT_THAT(with("tasks: \"spatial(8, 4) * repeat(1, 4)\", width: 8"),
              HasSubstr("width 8, where a thread has 4 neighbours that lie together in both"));
  EXPECT_THAT(with("tasks: \"repeat(1, 4) * spatial(8, 4)\", width: 4"),
              HasSubstr("width 4, where a thread has 1 neighbours"));
  EXPECT_THAT(render(lower::legal(product(), small_cpu(8, 2))),
              HasSubstr("lanes of this chip are none"));
}

// What lies behind the end of a tensor is not copied, and not read out of bounds.
TEST(MappedCopy, StopsAtTheEndsOfTensors) {
  for (const auto& [m, n, k] : {std::tuple{90, 64, 48}, {96, 56, 40}, {7, 60, 20}, {1, 4, 4}}) {
    ir::Program p = product();
    p.graph.tensors[0].shape = {m, k};
    p.graph.tensors[1].shape = {k, n};
    p.graph.tensors[2].shape = {m, n};
    const auto extents = std::vector<int64_t>{m, n, k};
    for (size_t a = 0; a < extents.size(); ++a) p.graph.nodes[0].axes[a].extent = extents[a];
    for (ir::TileLevel& l : p.tiles)
      for (size_t a = 0; a < extents.size(); ++a) l.extent[a] = std::min(l.extent[a], extents[a]);
    p.workers = {p.tiles[0].extent[0] > 4 ? 2 : 1, p.tiles[0].extent[1] > 16 ? 2 : 1, 1};
    const int64_t threads = int64_t{8} * p.workers[0] * p.workers[1];
    for (ir::Staging& s : p.staging) {
      s.width = lower::longest_run(p, s);
      s.tasks = lower::dealt_rows(lower::copied_tile(p, s), threads, s.width);
      for (; s.tasks->steps.empty() && s.width > 1; s.width /= 2)
        s.tasks = lower::dealt_rows(lower::copied_tile(p, s), threads, s.width / 2);
      if (s.tasks->steps.empty()) s.tasks.reset(), s.width = 1;
    }
    ASSERT_EQ(faults(p), "") << ir::print_program(p);
    std::mt19937 rng(static_cast<unsigned>(m));
    const Comparison c = compare(p, small_gpu(8), rng);
    EXPECT_EQ(c.fault, "") << ir::print_program(p);
    EXPECT_LT(c.difference, 1e-5);
  }
}

}  // namespace
}  // namespace assay::test
