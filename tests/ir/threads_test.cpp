// Programs that place a group's threads over two axes: their text, and what does not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/program.h"

namespace assay::ir {
namespace {

using testing::HasSubstr;

std::string text(const std::string& from = "", const std::string& to = "") {
  std::string out = R"yaml(schema: assay/program/1
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
threads: {axes: [n, m], tasks: "spatial(8, 8) * repeat(2, 4)", widths: {a: 4, b: 2, c: 4}}
staging:
  - {read: 0, level: 0, layout: "[1, 0]", tasks: "spatial(8, 8) * repeat(1, 4)", width: 4}
  - {read: 1, level: 0, layout: "[0, 1]", tasks: "spatial(8, 8) * repeat(1, 2)"}
)yaml";
  if (from.empty()) return out;
  const size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return out.replace(at, from.size(), to);
}

std::string faults(const std::string& from, const std::string& to) {
  const Result<Program> p = parse_program(text(from, to), "p.yaml");
  return p.ok() ? "" : render(p.diags());
}

TEST(Threads, TheTextRoundTrips) {
  const Result<Program> p = parse_program(text(), "p.yaml");
  ASSERT_TRUE(p) << render(p.diags());
  ASSERT_TRUE(p->threads);
  EXPECT_EQ(p->threads->row_axis, 1);
  EXPECT_EQ(p->threads->column_axis, 0);
  EXPECT_EQ(p->threads->tasks.workers(), 64);
  EXPECT_EQ(p->threads->widths, (std::vector<int>{4, 2, 4}));
  EXPECT_EQ(p->staging[0].width, 4);
  EXPECT_EQ(p->staging[1].width, 1);
  const std::string printed = print_program(*p);
  for (const char* part : {"\nthreads: {axes: [n, m], tasks: \"spatial(8, 8) * repeat(2, 4)\", ",
                           ", widths: {a: 4, b: 2, c: 4}}\n", " * repeat(1, 4)\", width: 4}, {",
                           ", layout: \"[0, 1]\", tasks: \"spatial(8, 8) * repeat(1, 2)\"}]\n"})
    EXPECT_THAT(printed, HasSubstr(part));
  const Result<Program> again = parse_program(printed, "p.yaml");
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *p);
  EXPECT_EQ(print_program(*again), printed);
}

TEST(Threads, WidthsOfOneAreLeftOut) {
  const Result<Program> p = parse_program(text(", widths: {a: 4, b: 2, c: 4}", ""), "p.yaml");
  ASSERT_TRUE(p) << render(p.diags());
  EXPECT_EQ(p->threads->widths, (std::vector<int>{1, 1, 1}));
  EXPECT_THAT(print_program(*p), testing::Not(HasSubstr("widths")));
}

TEST(Threads, AMappingCoversItsTile) {
  EXPECT_THAT(faults("repeat(2, 4)", "repeat(2, 2)"),
              HasSubstr("threads: `spatial(8, 8) * repeat(2, 2)` covers 16 x 16 elements, expected "
                        "16 along n and 32 along m"));
  EXPECT_THAT(faults("repeat(1, 4)", "repeat(2, 4)"),
              HasSubstr("staging of a: `spatial(8, 8) * repeat(2, 4)` covers 16 x 32"));
  EXPECT_THAT(faults("spatial(8, 8) * repeat(2, 4)", "spatial(8, 8) * replicate(2) * repeat(2, 4)"),
              HasSubstr("with `replicate` several threads have the same element"));
  EXPECT_THAT(faults("spatial(8, 8) * repeat(1, 2)", "spatial(8, 4) * repeat(1, 4)"),
              HasSubstr("staging of b: 32 threads copy, and `threads` has 64"));
}

TEST(Threads, AWidthIsOfNeighbours) {
  EXPECT_THAT(faults("b: 2", "b: 4"), HasSubstr("loads of b: width 4, where a thread has 2"));
  EXPECT_THAT(faults("c: 4", "c: 8"), HasSubstr("stores of c: width 8, where a thread has 4"));
  EXPECT_THAT(faults("repeat(1, 2)\"", "repeat(1, 2)\", width: 4"),
              HasSubstr("staging of b: width 4, where a thread has 2 neighbours"));
  EXPECT_THAT(faults("a: \"[1, 0]\"", "a: \"[0, 1]\""),
              HasSubstr("staging of a: width 4, where a thread has 1"))
      << "it lies with k innermost, and the copy with m";
  EXPECT_THAT(faults("spatial(8, 8) * repeat(2, 4)", "repeat(1, 2) * spatial(8, 8) * repeat(2, 2)"),
              HasSubstr("loads of a: width 4, where a thread has 2"))
      << "pairs of each thread, in turns";
}

TEST(Threads, LanesArePlacedOnce) {
  EXPECT_THAT(faults("threads:", "vector: {axis: n, width: 8}\nthreads:"),
              HasSubstr("`vector` and `threads` both place lanes"));
  EXPECT_THAT(faults("threads:", "workers: {n: 2}\nthreads:"), HasSubstr("`workers` places waves"));
  EXPECT_THAT(faults("threads:", "prefetch: 2\nthreads:"), HasSubstr("prefetches nothing"));
  EXPECT_THAT(faults("axes: [n, m], t", "axes: [k, m], t"), HasSubstr("lie along spatial axes"));
  EXPECT_THAT(faults("axes: [n, m], t", "axes: [m, m], t"), HasSubstr("along different axes"));
  EXPECT_THAT(faults("axes: [n, m], t", "axes: [m], t"),
              HasSubstr("axes: expected the rows' axis"));
}

TEST(Threads, AGroupsTileIsHeldWhole) {
  EXPECT_THAT(faults("registers, extent: {m: 32, n: 16, k: 2}, order: [k]",
                     "registers, extent: {m: 16, n: 16, k: 2}, order: [m, k]"),
              HasSubstr("threads hold a group's whole tile, but tiles differ along axis m"));
}

TEST(Threads, CopiesHaveTasksWhereThreadsAre) {
  EXPECT_THAT(faults(", tasks: \"spatial(8, 8) * repeat(1, 2)\"", ""),
              HasSubstr("staging of b: `tasks` is missing"));
  const std::string threads =
      "threads: {axes: [n, m], tasks: \"spatial(8, 8) * repeat(2, 4)\", widths: {a: 4, b: 2, "
      "c: 4}}\n";
  EXPECT_EQ(faults(threads, ""), "") << "copies of waves have tasks, too";
  const std::string copy = "tasks: \"spatial(8, 8) * repeat(1, 4)\", width: 4";
  const auto without = [&](const std::string& to) {
    const Result<Program> p = parse_program(
        [&] {
          std::string out = text(threads, "");
          return out.replace(out.find(copy), copy.size(), to);
        }(),
        "p.yaml");
    return p.ok() ? "" : render(p.diags());
  };
  EXPECT_THAT(without("width: 4"), HasSubstr("`width` of a staging is of the runs"));
  EXPECT_THAT(without("tasks: \"spatial(8, 2) * repeat(1, 8) * replicate(4)\", width: 4"),
              HasSubstr("with `replicate` several threads copy the same element"));
  EXPECT_THAT(faults("layout: \"[0, 1]\", tasks", "layout: \"[1/8, 0, 1%8]\", tasks"),
              HasSubstr("has whole dimensions"));
}

TEST(Threads, FaultsOfAMappingsTextHaveTheirPlace) {
  EXPECT_THAT(faults("spatial(8, 8) * repeat(2, 4)", "spatal(8, 8)"),
              HasSubstr("p.yaml:15:32: error: 'spatal' is no step of a task mapping"));
  EXPECT_THAT(faults("widths: {a: 4", "widths: {d: 4"),
              HasSubstr("p.yaml:15:73: error: there is no tensor d"));
}

TEST(TaskMapping, NeighboursThatAWorkerHasTogether) {
  const auto row = [](const char* m) { return neighbours_in_row(*parse_mapping(m)); };
  const auto column = [](const char* m) { return neighbours_in_column(*parse_mapping(m)); };
  EXPECT_EQ(row("spatial(8, 8) * repeat(2, 4)"), 4);
  EXPECT_EQ(column("spatial(8, 8) * repeat(2, 4)"), 2);
  EXPECT_EQ(row("repeat(1, 3) * spatial(8, 8) * repeat(2, 4)"), 4) << "the others are further off";
  EXPECT_EQ(row("repeat(1, 3) * spatial(8, 1) * repeat(2, 4)"), 12)
      << "threads lie along rows only";
  EXPECT_EQ(row("repeat(2, 2) * repeat(1, 4)"), 8);
  EXPECT_EQ(row("spatial(4, 4)"), 1);
}

}  // namespace
}  // namespace assay::ir
