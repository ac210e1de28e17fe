// What is different where lanes are threads: gathers of waves, occupancy, and stalls.
#include <gtest/gtest.h>

#include "hwdesc/parse.h"
#include "ir/text_layout.h"
#include "model/closed_form.h"
#include "model/slp.h"
#include "model/streams.h"
#include "model/traffic.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

// A unit of `partitions` that together load 8 lanes a tick.
hwdesc::Target waves(
    int partitions,
    const std::string& l1 = "latency: 30 cycles@core, bandwidth: {read: 64 B/cycle@core}") {
  const std::string text = fmt::format(R"(schema: assay/profile/1
name: waves
source: assumed
clocks: {{core: 1 GHz}}
topology: [{{name: unit, count: 2}}, {{name: partition, count: {0}}}]
execution:
  lanes: {{style: simt, modes: [{{width: 4}}]}}
  resident: {{per: unit, waves: 16, threads: 64, groups: 16}}
  issue: {{per: partition, rate: 1 /cycle@core}}
pipes: [{{name: fma, per: partition, rate: {1} /cycle@core}}, {{name: lsu, per: partition,
  rate: {1} /cycle@core}}]
memory:
  - {{name: shared, per: unit, managed: explicit, capacity: 32 KiB, latency: 25 cycles@core,
     bandwidth: {{read: 32 B/cycle@core}}, banks: {{count: 8, width: 4 B}}}}
  - {{name: l1, per: unit, managed: automatic, capacity: 128 KiB, line: 64 B, transaction: 16 B,
     {2}}}
  - {{name: dram, per: device, managed: explicit, capacity: 64 MiB, latency: 300 ns, line: 64 B,
     bandwidth: {{read: 20 GB/s}}}}
compute: [{{op: fma, dtype: f32, pipe: fma, latency: 6 cycles@core}}]
apis: {{opencl: {{dialect: opencl, launch: {{stream: 1 us}}, group_start: 0 s}}}}
)",
                                       partitions, 8 / partitions, l1);
  const Result<hwdesc::Profile> p = hwdesc::parse_profile(text, "test", hwdesc::no_library);
  if (!p.ok()) throw std::runtime_error(render(p.diags()));
  hwdesc::Target t;
  t.profile = *p;
  t.api = p->apis[0];
  return t;
}

TEST(Waves, GatherWithOneInstruction) {
  const ir::Program rows = walk(64, 1, 4, "j"), columns = walk(64, 1, 4, "j", "j, i");
  const model::Machine m = machine(waves(2));
  const lower::Counts c = model::closed_form(columns);
  ASSERT_EQ(c.buffers[0].gathered_lanes, 64 * 64);
  const auto of = [&](const ir::Program& p, const char* name) {
    return term(simulator::estimate(p, m, {}, {}), name);
  };
  EXPECT_DOUBLE_EQ(of(columns, "multiply-adds"), of(rows, "multiply-adds"));
  EXPECT_DOUBLE_EQ(of(columns, "issue"), of(rows, "issue")) << "no further instruction per lane";
  // 1024 loads and 1024 stores of 4 lanes, at a line of 64 bytes a tick.
  EXPECT_NEAR(of(rows, "nearest cache"), 2048e-9, 1e-12) << "one line each";
  EXPECT_NEAR(of(columns, "nearest cache"), (4 * 1024 + 1024) * 1e-9, 1e-12) << "a line per lane";
}

// A product by two waves of rows, copies of both operands: one operand's row is read a word a step,
// the same for all threads.
TEST(Waves, MergeNeighbouringLoadsWhereTheCompilerDoes) {
  const auto times_fewer = [](int64_t k, const char* rows, int words, int waves = 2) {
    ir::Program p = product(16, 64, k, 64, 4, "[0, 1]");
    p.workers = {waves, 1, 1};
    p.staging.insert(p.staging.begin(),
                     ir::Staging{0, 0, *ir::parse_layout(std::string_view(rows))});
    const lower::Counts all = model::closed_form(p);
    const lower::Counts joined = model::with_merged_loads(p, words, all);
    const size_t copy = all.buffers.size() - 2;
    EXPECT_EQ(joined.buffers[copy + 1], all.buffers[copy + 1]) << "each thread has its own columns";
    EXPECT_EQ(joined.loads() - joined.buffers[copy].splats, all.loads() - all.buffers[copy].splats);
    EXPECT_GT(all.buffers[copy].splats, 0);
    return all.buffers[copy].splats / joined.buffers[copy].splats;
  };
  EXPECT_EQ(times_fewer(8, "[0, 1]", 4), 4);
  EXPECT_EQ(times_fewer(8, "[0, 1]", 2), 2);
  EXPECT_EQ(times_fewer(8, "[0, 1]", 1), 1);
  EXPECT_EQ(times_fewer(6, "[0, 1]", 4), 1) << "rows begin anywhere";
  EXPECT_EQ(times_fewer(8, "[1, 0]", 4), 1) << "steps are not contiguous";
  EXPECT_EQ(times_fewer(8, "[0, 1]", 4, 1), 1) << "the loop of a lone wave is not unrolled";
}

TEST(Waves, HaveOneOfEachPartition) {
  const ir::Program p = product(2, 16, 4096, 16, 4);  // a group, of one wave
  const auto body = [&](int partitions) {
    const model::Machine m = machine(waves(partitions));
    EXPECT_EQ(m.issuers, partitions);
    return simulator::estimate(p, m, {}, {});
  };
  const model::Estimate whole = body(1), half = body(2);
  EXPECT_DOUBLE_EQ(term(whole, "multiply-adds"), term(half, "multiply-adds"))
      << "the unit's rate is the same";
  // 4096 steps of 2 rows and 4 vectors, at two vectors a tick of the unit.
  EXPECT_NEAR(term(whole, "multiply-adds"), 4096 * 8 / 2e9, 1e-12);
  EXPECT_GT(half.seconds, whole.seconds) << "its wave computes half as fast";
}

TEST(Waves, StallAsOnOtherChipsWhereUnmeasured) {
  const ir::Program p = walk(64, 1, 4, "j");
  const hwdesc::Target unknown = waves(2, "bandwidth: {read: 64 B/cycle@core}");
  const model::Machine m = machine(unknown);
  const std::string path = "memory.l1.latency";
  EXPECT_TRUE(std::any_of(m.assumptions.begin(), m.assumptions.end(),
                          [&](const std::string& a) { return a.starts_with(path); }));
  const model::Estimate e = simulator::estimate(p, m, {}, {}),
                        known = simulator::estimate(p, machine(waves(2)), {}, {});
  EXPECT_NEAR(term(e, "waits") / term(known, "waits"), 1, 0.2);
  EXPECT_NE(std::find(e.assumed.begin(), e.assumed.end(), path), e.assumed.end());
  EXPECT_EQ(std::find(known.assumed.begin(), known.assumed.end(), path), known.assumed.end());
}

// Eight groups of 64 columns each scan a matrix of 64 x 512 four times. One group's footprint stays
// cached, several concurrent ones do not.
TEST(Waves, OfSeveralGroupsShareACache) {
  const ir::Program p = product(8, 512, 64, 64, 4);
  model::Machine m = machine(waves(2));
  for (model::Level& l : m.levels)
    if (l.name == "l1") l.capacity.value = 24 << 10, l.end = 25 << 10, l.middle = 0, l.sets = 1;
  const auto read = [&](double at_once) {
    return model::traffic(p, model::streams_of(p), m, {}, {}, at_once)[1].read;
  };
  EXPECT_GT(read(4), 1.5 * read(1));
  EXPECT_DOUBLE_EQ(read(8), read(4)) << "a unit has four of them";
}

// Every group of two rows reads all columns of a matrix that exceeds the shared cache. Concurrent
// groups fetch it once.
TEST(Waves, OfConcurrentGroupsShareTheirReads) {
  const ir::Program p = parsed(R"yaml(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {t0: "f32 8x64", t1: "f32 64x512", t2: "f32 8x512"}
  inputs: [t0, t1]
  outputs: [t2]
  nodes:
    - {name: product, op: matmul, out: "t2[m, n]", axes: {m: 8, n: 512, k: 64}, combine: sum,
       body: "t0[m, k] * t1[k, n]"}
layouts: {t0: "[0, 1]", t1: "[0, 1]", t2: "[0, 1]"}
tiles:
  - {memory: l1, extent: {m: 2, n: 64, k: 64}, order: [m, n]}
  - {memory: registers, extent: {m: 2, n: 4, k: 1}, order: [m, n, k]}
vector: {axis: n, width: 4}
)yaml");
  const model::Machine m =
      machine(waves(2,
                    "latency: 30 cycles@core, bandwidth: {read: 64 B/cycle@core}}\n  - {name: l2, "
                    "per: device, managed: automatic, capacity: 32 KiB, "
                    "line: 64 B, latency: 90 cycles@core, bandwidth: {read: 32 B/cycle@core}"));
  const auto far = [&](double at_once) {
    return model::traffic(p, model::streams_of(p), m, {}, {}, at_once)[2].streams[1].read;
  };
  const double matrix = 64 * 512 * 4;
  EXPECT_DOUBLE_EQ(far(16), matrix);
  EXPECT_DOUBLE_EQ(far(8), 2 * matrix) << "sixteen of 32 groups at a time: half of the rows";
  EXPECT_NEAR(far(1), 4 * matrix, 0.1 * matrix);
  model::Machine many = m;
  many.units = 16;
  EXPECT_NEAR(model::traffic(p, model::streams_of(p), many, {})[1].streams[1].read, 4 * matrix,
              0.1 * matrix)
      << "into units' own caches, however many share the four turns";
}

TEST(Waves, OfSomeGroupsBeginWhileOthersRun) {
  hwdesc::Target t = waves(2);
  const ir::Program p = product(8, 512, 64, 64, 4);  // four groups a unit
  const auto seconds_of = [&](double start) {
    t.api.group_start.value = hwdesc::Seconds{start};
    return simulator::estimate(p, machine(t), {}, {}).seconds;
  };
  const double none = seconds_of(0);
  EXPECT_DOUBLE_EQ(seconds_of(1e-9), none);
  EXPECT_NEAR(seconds_of(1e-3), 4e-3 + 1e-6, 1e-9) << "and a launch";
}

TEST(Waves, OfALargerGroupPayTheProfilesBarrier) {
  hwdesc::Target t = waves(2);
  EXPECT_EQ(model::group_barrier_of(machine(t), 4), 0) << "nothing is known";
  const auto barrier = [](double threads, double seconds) {
    hwdesc::WideBarrier b;
    b.threads.value = hwdesc::Count{threads};
    b.time.value = hwdesc::Seconds{seconds};
    return b;
  };
  t.api.wide_barrier = {barrier(32, 70e-9), barrier(16, 30e-9)};
  EXPECT_DOUBLE_EQ(model::group_barrier_of(machine(t), 1), 30e-9)
      << "not known of one wave: no longer than of four";
  t.api.group_barrier.value = hwdesc::Seconds{10e-9};
  const model::Machine m = machine(t);
  for (const auto& [waves_of_a_group, ns] : {std::pair{1.0, 10.0},
                                             {2.0, 10 + 20.0 / 3},
                                             {4.0, 30.0},
                                             {6.0, 50.0},
                                             {8.0, 70.0},
                                             {16.0, 70.0}})
    EXPECT_NEAR(model::group_barrier_of(m, waves_of_a_group) * 1e9, ns, 1e-9) << waves_of_a_group;
  // A staged product of four waves has a barrier at each step.
  ir::Program p = product(32, 64, 64, 64, 4, "[0, 1]");
  p.workers = {4, 1, 1};
  model::Machine one_size = m;
  one_size.wide_barriers.clear();
  const double barriers = model::closed_form(p).barriers / 4;  // of a group; there is one group
  ASSERT_GT(barriers, 0);
  EXPECT_NEAR(term(simulator::estimate(p, m, {}, {}), "waits") -
                  term(simulator::estimate(p, one_size, {}, {}), "waits"),
              barriers * 20e-9, 1e-12);
}

TEST(Waves, OverlapCopiesOfLaterStagesByAMover) {
  ir::Program p = product(32, 64, 64, 64, 4, "[0, 1]");
  hwdesc::Target t = waves(2);
  const double one = simulator::estimate(p, machine(t), {}, {}).seconds;
  p.pipeline_stages = 2;
  EXPECT_EQ(simulator::estimate(p, machine(t), {}, {}).seconds, one) << "nothing copies meanwhile";
  hwdesc::Mover dma;
  dma.name = "dma";
  dma.from = "dram";
  dma.to = "shared";
  t.profile.movers = {dma};
  EXPECT_EQ(simulator::estimate(p, machine(t), {}, {}).seconds, one) << "not while it computes";
  t.profile.movers[0].async = hwdesc::Fact::yes;
  const double two = simulator::estimate(p, machine(t), {}, {}).seconds;
  EXPECT_LT(two, 0.95 * one);
  EXPECT_GT(two, 0.5 * one);
}

}  // namespace
}  // namespace assay::test
