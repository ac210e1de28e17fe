// Estimates of programs with producers: what stays near is not moved, and the tree adds up.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "ir/producers.h"
#include "simulator/estimate.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

// `rows`: in place of 4096, where it is not 0.
ir::Program example(const std::string& name, int64_t rows = 0) {
  const std::string file = std::string(ASSAY_SOURCE_DIR) + "/examples/tile-graph-" + name + ".yaml";
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (size_t at = text.find("4096"); rows > 0 && at != std::string::npos; at = text.find("4096"))
    text.replace(at, 4, std::to_string(rows));
  const Result<ir::Program> p = ir::parse_program(text, file);
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

// Caches of 32 KiB, 1 MiB of a unit and 16 MiB of all.
model::Machine machine(int units) {
  hwdesc::Target t = small_cpu(16, units);
  const double bytes[] = {32 << 10, 1 << 20, 16 << 20};
  size_t next = 0;
  for (hwdesc::MemoryLevel& l : t.profile.memory)
    if (l.capacity.known() && next < 3) l.capacity.value = hwdesc::Bytes{bytes[next++]};
  const Result<model::Machine> m = model::prepare(t);
  EXPECT_TRUE(m.ok());
  return *m;
}

double far_bytes(const model::Estimate& e) {
  return e.levels.empty() ? 0 : e.levels.back().read_bytes + e.levels.back().written_bytes;
}

// The same programs one after the other, each with the whole tensor in memory.
double far_bytes_of_steps(const ir::Program& p, const model::Machine& m) {
  double out = 0;
  for (ir::Member& member : ir::members_of(p)) {
    for (ir::Layout& l : member.program.layouts)
      for (ir::PhysicalDim& d : l.dims) d.mod = 0;
    const std::vector<simulator::Range> where = simulator::separate_ranges(member.program);
    out += far_bytes(simulator::estimate(member.program, m, {}, where));
  }
  return out;
}

TEST(EstimateGroup, WhatStaysNearIsNotMoved) {
  for (const char* name : {"matmul-chain", "attention", "depthwise-pointwise", "halo"}) {
    const ir::Program p = example(name);
    const model::Machine m = machine(2);
    const model::Estimate e = simulator::estimate(p, m, {}, simulator::separate_ranges(p));
    double passed = 0;  // written once and read once, at least
    for (const ir::Producer& r : p.producers) {
      const ir::Tensor& t = p.graph.tensors[static_cast<size_t>(ir::passed_tensor(r))];
      passed += 2 * static_cast<double>(ir::elements(t) * ir::bytes_of(t.dtype));
    }
    EXPECT_LT(far_bytes(e), far_bytes_of_steps(p, m) - 0.7 * passed) << name;
    EXPECT_EQ(e.groups, static_cast<double>(ir::group_count(p)));
  }
}

TEST(EstimateGroup, TheTreeAddsUp) {
  for (const char* name : {"matmul-chain", "attention", "depthwise-pointwise", "halo"}) {
    const ir::Program p = example(name);
    const model::Estimate e = simulator::estimate(p, machine(2), {}, simulator::separate_ranges(p));
    EXPECT_NEAR(model::time_of(e.tree) / e.seconds, 1, 1e-9) << name;
    EXPECT_GT(e.high, e.seconds);
    EXPECT_LE(e.low, e.seconds);
  }
}

// Twice the units do half of the groups each.
TEST(EstimateGroup, UnitsShareTheGroupsOut) {
  const ir::Program p = example("matmul-chain");
  const auto seconds = [&](int units) {
    return simulator::estimate(p, machine(units), {}, simulator::separate_ranges(p)).seconds;
  };
  EXPECT_NEAR(seconds(1) / seconds(2), 2, 0.2);
}

TEST(EstimateGroup, LargerWorkTakesLonger) {
  const ir::Program p = example("attention");
  ir::Program more = p;
  for (ir::Tensor& t : more.graph.tensors) t.shape[0] = 24;
  for (ir::Node& n : more.graph.nodes) n.axes[0].extent = 24;
  for (ir::Producer& r : more.producers) {
    for (ir::Tensor& t : r.program.graph.tensors) t.shape[0] = 24;
    for (ir::Node& n : r.program.graph.nodes) n.axes[0].extent = 24;
  }
  ASSERT_TRUE(ir::verify(more).empty()) << render(ir::verify(more));
  const auto seconds = [&](const ir::Program& q) {
    return simulator::estimate(q, machine(2), {}, simulator::separate_ranges(q)).seconds;
  };
  EXPECT_NEAR(seconds(more) / seconds(p), 2, 0.1);
}

// The caches after two units wrote half of the rows each, or half of the columns.
simulator::CacheState written_by_halves(const simulator::Range& where, const model::Machine& m,
                                        std::vector<int64_t> tile) {
  const Result<ir::Graph> g = ir::parse_graph(
      "schema: assay/graph/1\nname: g\ninputs: {c: f32 64x768}\nnodes:\n"
      "  - {out: \"a[i, j]\", axes: {i: 64, j: 768}, body: \"c[i, j] + 1\"}\noutputs: [a]\n",
      "g.yaml");
  EXPECT_TRUE(g.ok()) << render(g.diags());
  ir::Program p;
  p.name = "writer";
  p.graph = *g;
  p.layouts.assign(2, ir::row_major(2));
  p.tiles = {{"l1", std::move(tile), {0, 1}}, {"registers", {1, 16}, {0, 1}}};
  p.vector_axis = 1;
  p.vector_width = 16;
  EXPECT_EQ(render(ir::verify(p)), "");
  std::vector<simulator::Range> ranges(2);
  ranges[static_cast<size_t>(p.graph.outputs[0])] = where;
  simulator::CacheState none;
  return simulator::after(p, m, none, ranges);
}

// A group reads whole rows. Where another unit wrote half of each, that half comes from its cache.
TEST(EstimateGroup, LinesThatAnotherUnitWroteTakeLonger) {
  const ir::Program p = example("residual", 64);
  constexpr double kRemote = 1e8;  // B/s, far below all others
  model::Machine m = machine(2);
  m.dirty_remote_read.value = kRemote;
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  size_t a = 0;
  while (p.graph.tensors[a].name != "a") ++a;
  const auto seconds = [&](std::vector<int64_t> tile) {
    return simulator::estimate(p, m, written_by_halves(where[a], m, std::move(tile)), where)
        .seconds;
  };
  const double rows = seconds({32, 768}), columns = seconds({64, 384});
  const double remote = 64 * 384 * 4 / 2;  // B of a unit
  EXPECT_GT(columns - rows, 0.9 * remote / kRemote);
  EXPECT_LT(columns - rows, 1.1 * remote / kRemote);
}

// What a group stores it reads back from the last cache, where groups that run at once fit.
TEST(EstimateGroup, ThreadsReadBackWhatTheirGroupStored) {
  const ir::Program p = example("residual");
  const Result<model::Machine> prepared = model::prepare(small_gpu(16));
  ASSERT_TRUE(prepared.ok());
  const auto far = [&](double capacity) {
    model::Machine m = *prepared;
    model::Level& last = m.levels[m.levels.size() - 2];
    EXPECT_TRUE(last.shared && !last.is_scratchpad) << last.name;
    last.capacity.value = capacity;
    last.end = 0;
    return far_bytes(simulator::estimate(p, m, {}, simulator::separate_ranges(p)));
  };
  const double bytes = 4096 * 768 * 4;
  EXPECT_LT(far(1 << 28), 4.1 * bytes) << "a, b, s and y once each";
  EXPECT_GT(far(1 << 10), 6 * bytes) << "two programs read s";
}

}  // namespace
}  // namespace assay::test
