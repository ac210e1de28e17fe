// What is different where lanes are threads: waves that load apart, have a part of their unit, and wait.
#include <gtest/gtest.h>

#include "hwdesc/parse.h"
#include "model/closed_form.h"
#include "model/streams.h"
#include "model/traffic.h"
#include "programs.h"

namespace assay::test {
namespace {

// A unit of `partitions` that together load 8 lanes a tick.
hwdesc::Target waves(int partitions, const std::string& l1 = "latency: 30 cycles@core, bandwidth: {read: 64 B/cycle@core}") {
  const std::string text = fmt::format(R"(schema: assay/profile/1
name: waves
source: assumed
clocks: {{core: 1 GHz}}
topology: [{{name: unit, count: 2}}, {{name: partition, count: {0}}}]
execution:
  lanes: {{style: simt, modes: [{{width: 4}}]}}
  resident: {{per: unit, waves: 16, threads: 64, groups: 16}}
  issue: {{per: partition, rate: 1 /cycle@core}}
pipes: [{{name: fma, per: partition, rate: {1} /cycle@core}}, {{name: lsu, per: partition, rate: {1} /cycle@core}}]
memory:
  - {{name: shared, per: unit, managed: explicit, capacity: 32 KiB, latency: 25 cycles@core, bandwidth: {{read: 32 B/cycle@core}}, banks: {{count: 8, width: 4 B}}}}
  - {{name: l1, per: unit, managed: automatic, capacity: 128 KiB, line: 64 B, transaction: 16 B, {2}}}
  - {{name: dram, per: device, managed: explicit, capacity: 64 MiB, latency: 300 ns, line: 64 B, bandwidth: {{read: 20 GB/s}}}}
compute: [{{op: fma, dtype: f32, pipe: fma, latency: 6 cycles@core}}]
apis: {{opencl: {{dialect: opencl, launch: {{stream: 1 us}}, group_start: 0 s}}}}
)", partitions, 8 / partitions, l1);
  const Result<hwdesc::Profile> p = hwdesc::parse_profile(text, "test", hwdesc::no_library);
  if (!p.ok()) throw std::runtime_error(render(p.diags()));
  hwdesc::Target t;
  t.profile = *p;
  t.api = p->apis[0];
  return t;
}

TEST(Waves, LoadWhatLiesApartWithOneInstruction) {
  const ir::Program rows = walk(64, 1, 4, "j"), columns = walk(64, 1, 4, "j", "j, i");
  const model::Machine m = machine(waves(2));
  const lower::Counts c = model::closed_form(columns);
  ASSERT_EQ(c.buffers[0].gathered_lanes, 64 * 64);
  const auto of = [&](const ir::Program& p, const char* name) { return term(simulator::estimate(p, m, {}, {}), name); };
  EXPECT_DOUBLE_EQ(of(columns, "vector"), of(rows, "vector")) << "no lane is moved by another instruction";
  EXPECT_DOUBLE_EQ(of(columns, "issue"), of(rows, "issue"));
  EXPECT_NEAR(of(columns, "load"), 64 * 64 * 16 / 64e9, 1e-12) << "each lane a transfer of the nearest cache";
  EXPECT_NEAR(of(rows, "load"), 64 * 16 / 2e9, 1e-12);
}

TEST(Waves, HaveOneOfEachPart) {
  const ir::Program p = walk(64, 1, 4, "j");  // a group, of one wave
  const auto body = [&](int partitions) {
    hwdesc::Target t = waves(partitions);
    t.api.launch.stream.value = hwdesc::Seconds{0};
    return simulator::estimate(p, machine(t), {}, {});
  };
  const model::Estimate whole = body(1), half = body(2);
  EXPECT_DOUBLE_EQ(term(whole, "load"), term(half, "load")) << "the unit's rate is the same";
  EXPECT_NEAR(half.seconds - whole.seconds, term(half, "load"), 0.01 * half.seconds) << "its wave loads half as fast";
}

TEST(Waves, WaitAsOnOtherChipsWhereNobodyHasMeasured) {
  const ir::Program p = walk(64, 1, 4, "j");
  const hwdesc::Target unknown = waves(2, "bandwidth: {read: 64 B/cycle@core}");
  const model::Machine m = machine(unknown);
  const std::string path = "memory.l1.latency";
  EXPECT_TRUE(std::any_of(m.assumptions.begin(), m.assumptions.end(), [&](const std::string& a) { return a.starts_with(path); }));
  const model::Estimate e = simulator::estimate(p, m, {}, {}), known = simulator::estimate(p, machine(waves(2)), {}, {});
  EXPECT_NEAR(term(e, "waiting") / term(known, "waiting"), 1, 0.2);
  EXPECT_NE(std::find(e.assumed.begin(), e.assumed.end(), path), e.assumed.end());
  EXPECT_EQ(std::find(known.assumed.begin(), known.assumed.end(), path), known.assumed.end());
}

// A matrix of 64 x 512 is walked in eight groups of 64 columns, each four times: what one of them takes stays, what several at a time
// take does not.
TEST(Waves, OfSeveralGroupsShareACache) {
  const ir::Program p = product(8, 512, 64, 64, 4);
  model::Machine m = machine(waves(2));
  for (model::Level& l : m.levels)
    if (l.name == "l1") l.capacity.value = 24 << 10, l.end = 25 << 10, l.middle = 0, l.sets = 1;
  const auto read = [&](double at_once) { return model::traffic(p, model::streams_of(p), m, {}, {}, at_once)[1].read; };
  EXPECT_GT(read(4), 1.5 * read(1));
  EXPECT_DOUBLE_EQ(read(8), read(4)) << "a unit has four of them";
}

TEST(Waves, HaveCopiesOfLaterStagesUnderWay) {
  ir::Program p = product(32, 64, 64, 64, 4, "[0, 1]");
  const model::Machine m = machine(waves(2));
  const double one = simulator::estimate(p, m, {}, {}).seconds;
  p.pipeline_stages = 2;
  const double two = simulator::estimate(p, m, {}, {}).seconds;
  EXPECT_LT(two, 0.95 * one);
  EXPECT_GT(two, 0.5 * one);
}

}  // namespace
}  // namespace assay::test
