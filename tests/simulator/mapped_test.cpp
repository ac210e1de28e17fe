// Estimates of programs whose threads lie over two axes.
#include <gtest/gtest.h>

#include "hwdesc/parse.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

hwdesc::Target chip(const std::string& lsu = "4") {
  const std::string text = fmt::format(R"(schema: assay/profile/1
name: chip
source: assumed
clocks: {{core: 1 GHz}}
topology: [{{name: unit, count: 4}}, {{name: partition, count: 4}}]
execution:
  lanes: {{style: simt, modes: [{{width: 32}}]}}
  resident: {{per: unit, waves: 48, threads: 1536, groups: 16}}
  registers: {{per: partition, count: 16384, width: 4 B, per_thread_max: 255}}
  issue: {{per: partition, rate: 1 /cycle@core}}
pipes: [{{name: fma, per: partition, rate: 32 /cycle@core}}, {{name: lsu, per: partition,
  rate: {0} /cycle@core}}]
memory:
  - {{name: shared, per: unit, managed: explicit, capacity: 64 KiB, latency: 25 cycles@core,
     bandwidth: {{read: 128 B/cycle@core}}, banks: {{count: 32, width: 4 B}}}}
  - {{name: l1, per: unit, managed: automatic, capacity: 64 KiB, line: 128 B, transaction: 32 B,
     latency: 30 cycles@core, bandwidth: {{read: 128 B/cycle@core}}}}
  - {{name: l2, per: device, managed: automatic, capacity: 4 MiB, line: 128 B, transaction: 32 B,
     latency: 200 cycles@core, bandwidth: {{read: 256 B/cycle@core}}}}
  - {{name: dram, per: device, managed: explicit, capacity: 64 MiB, latency: 400 ns, line: 64 B,
     bandwidth: {{read: 100 GB/s}}}}
compute: [{{op: fma, dtype: f32, pipe: fma, latency: 4 cycles@core}}]
apis: {{cuda: {{dialect: cuda, launch: {{stream: 1 us}}, group_start: 0 s}}}}
)",
                                       lsu);
  const Result<hwdesc::Profile> p = hwdesc::parse_profile(text, "test", hwdesc::no_library);
  if (!p.ok()) throw std::runtime_error(render(p.diags()));
  hwdesc::Target t;
  t.profile = *p;
  t.api = p->apis[0];
  return t;
}

// 1024^3 in tiles of 64 x 64. `along_m`, `along_n`: threads, which have the rest.
ir::Program gemm(int along_m, int along_n, int width, bool staged = true) {
  const std::string copies =
      staged ? fmt::format(
                   "staging:\n"
                   "  - {{read: 0, level: 0, layout: \"[1, 0]\", tasks: \"spatial({0}, 16) "
                   "* repeat({1}, 4)\", width: {2}}}\n"
                   "  - {{read: 1, level: 0, layout: \"[0, 1]\", tasks: \"spatial({0}, 16) "
                   "* repeat({1}, 4)\", width: {2}}}\n",
                   along_m * along_n / 16, 16 * 16 / (along_m * along_n), width)
             : "";
  return parsed(fmt::format(R"yaml(schema: assay/program/1
name: gemm
graph:
  name: gemm
  tensors: {{a: f32 1024x1024, b: f32 1024x1024, c: f32 1024x1024}}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {{name: mm, op: matmul, out: "c[m, n]", axes: {{m: 1024, n: 1024, k: 1024}}, combine: sum,
       body: "a[m, k] * b[k, n]"}}
layouts: {{a: "[1, 0]", b: "[0, 1]", c: "[1, 0]"}}
tiles:
  - {{memory: shared, extent: {{m: 64, n: 64, k: 16}}, order: [n, m, k]}}
  - {{memory: registers, extent: {{m: 64, n: 64, k: 2}}, order: [k]}}
threads: {{axes: [n, m], tasks: "spatial({1}, {0}) * repeat({3}, {2})",
          widths: {{a: {4}, b: {4}, c: {4}}}}}
{5})yaml",
                            along_m, along_n, 64 / along_m, 64 / along_n, width, copies));
}

model::Estimate estimate(const ir::Program& p, const hwdesc::Target& t) {
  return simulator::estimate(p, machine(t), {}, {});
}

TEST(Mapped, TermsAreOfTheLaunch) {
  const model::Estimate e = estimate(gemm(16, 16, 4), chip());
  EXPECT_EQ(e.flops, 2.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(e.groups, 256);
  // 64 groups of 64 x 64 x 1024 on each unit, at 128 a cycle.
  const double fma = 64 * 64.0 * 64 * 1024 / 128e9;
  EXPECT_NEAR(term(e, "multiply-adds"), fma, 1e-12);
  EXPECT_GT(e.seconds, fma);
  EXPECT_LT(e.low, e.seconds);
  EXPECT_GT(e.high, e.seconds);
  EXPECT_GT(term(e, "loads and stores"), 0);
  EXPECT_DOUBLE_EQ(term(e, "launch"), 1e-6);
  ASSERT_EQ(e.levels.size(), 2u);
  EXPECT_EQ(e.levels[0].boundary, "l1<-l2");
  EXPECT_EQ(e.levels[0].read_bytes, 256 * 2 * 64.0 * 1024 * 4);
}

TEST(Mapped, SquareTilesOfThreadsBeatFlatOnes) {
  const hwdesc::Target t = chip();
  EXPECT_LT(estimate(gemm(16, 16, 4), t).seconds, estimate(gemm(16, 16, 1), t).seconds)
      << "wide loads are fewer";
  EXPECT_LT(estimate(gemm(16, 4, 4), t).seconds, estimate(gemm(16, 16, 4), t).seconds)
      << "64 multiply-adds for 5 loads, not 16 for 2";
  EXPECT_LT(estimate(gemm(16, 16, 4), t).seconds, estimate(gemm(16, 16, 4, false), t).seconds)
      << "phases of a cache do not merge";
}

TEST(Mapped, MoreLoadsACycleAreNeverSlower) {
  for (const int width : {1, 2, 4})
    for (const bool staged : {true, false}) {
      const ir::Program p = gemm(16, 8, width, staged);
      EXPECT_LE(estimate(p, chip("8")).seconds, estimate(p, chip("4")).seconds);
      EXPECT_LE(estimate(p, chip("4")).seconds, estimate(p, chip("2")).seconds);
      EXPECT_LT(estimate(p, chip("4")).seconds, estimate(p, chip("1")).seconds);
    }
}

TEST(Mapped, WithoutDetailTheNumbersAreTheSame) {
  const model::Machine m = machine(chip());
  const ir::Program p = gemm(8, 16, 2);
  const model::Estimate full = simulator::estimate(p, m, {}, {});
  const model::Estimate bare =
      simulator::estimate(p, m, {}, {}, nullptr, simulator::TermDetail::none);
  EXPECT_EQ(bare.seconds, full.seconds);
  EXPECT_EQ(bare.bound, full.bound);
  EXPECT_EQ(bare.terms[0].detail, "");
}

}  // namespace
}  // namespace assay::test
