// Programs with matrix instructions, compiled and run: vectors of this processor, and waves of a
// chip that does not exist, by an instruction that none has. Against the float64 reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/element.h"
#include "lower/lower.h"
#include "tests/lower/matrix_programs.h"
#include "tests/runtime/host.h"
#include "tests/runtime/virtual_chip.h"

namespace assay::runtime {
namespace {

using test::random_matrix_program;

std::vector<float> run(Module& module, int kernel, const ir::Program& p,
                       const std::vector<std::vector<float>>& inputs) {
  std::vector<std::vector<float>> arguments = test::arguments_for(p, inputs);
  const std::vector<int> tensors = ir::arguments_of(p);
  Launch launch{kernel, {}, {}};
  std::vector<std::byte> last;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ir::DType type = p.graph.tensors[static_cast<size_t>(tensors[i])].dtype;
    last =
        ir::bytes_of_doubles(type, std::vector<double>(arguments[i].begin(), arguments[i].end()));
    const auto buffer = module.allocate(static_cast<int64_t>(last.size()));
    if (!buffer.ok()) throw std::runtime_error(render(buffer.diags()));
    launch.arguments.push_back({*buffer, 0});
    module.write(launch.arguments.back(), last);
  }
  const auto times = module.run(std::vector{launch}, {});
  EXPECT_TRUE(times.ok()) << render(times.diags());
  module.read(launch.arguments.back(), last);
  const std::vector<double> out =
      ir::doubles_of(p.graph.tensors[static_cast<size_t>(tensors.back())].dtype, last);
  return {out.begin(), out.end()};
}

void check(Device& device, const hwdesc::Target& target, const LoadOptions& options,
           const std::string& instruction, int programs, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<ir::Program> all;
  std::vector<ir::Kernel> kernels;
  for (int i = 0; i < programs; ++i) {
    all.push_back(random_matrix_program(instruction, target, rng));
    const auto kernel = lower::lower(all.back(), target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    kernels.push_back(*kernel);
    kernels.back().name = "product" + std::to_string(i);
  }
  auto module = device.load(kernels, target, options);
  ASSERT_TRUE(module.ok()) << render(module.diags());
  for (int i = 0; i < programs; ++i) {
    const ir::Program& p = all[static_cast<size_t>(i)];
    const auto inputs = test::small_inputs(p.graph, rng);
    const test::Comparison c = test::compare_output(p, inputs, run(**module, i, p, inputs));
    ASSERT_EQ(c.fault, "");
    ASSERT_LE(c.difference, test::tolerance(p))
        << ir::print_program(p) << ir::print_kernel(kernels[static_cast<size_t>(i)]);
  }
}

TEST(Matrix, vectors_of_this_processor) {
  Host host;
  const DeviceInfo& info = host.device().info();
  if (info.id != "cpu:0") GTEST_SKIP() << "its instructions are of another kind";
  int seen = 0;
  for (const auto& [feature, name] : {std::pair{"avx512_bf16", "avx512bf16.dot.m1n16k2.bf16.f32"},
                                      {"avx512_vnni", "avx512vnni.dot.m1n16k4.u8.i32"},
                                      {"amx_bf16", "amx.tdpbf16ps.m16n16k32.bf16.f32"},
                                      {"amx_int8", "amx.tdpbssd.m16n16k64.i8.i32"},
                                      {"amx_int8", "amx.tdpbusd.m16n16k64.u8.i32"}}) {
    if (info.fact("features").find(feature) == std::string::npos) continue;
    const hwdesc::Target target = test::with_instruction(test::small_cpu(16, 2), name);
    check(host.device(), target, host.options(), name, 50, 21);
    ++seen;
  }
  if (seen == 0) GTEST_SKIP() << "it has none of avx512_bf16, avx512_vnni, amx_bf16, amx_int8";
}

constexpr const char* kMadeUp = R"(schema: assay/profile/1
name: made-up
source: assumed
clocks: {core: 1 GHz}
topology: [{name: unit, count: 2}, {name: partition, count: 4}]
execution:
  lanes: {style: simt, modes: [{name: wave32, width: 32}]}
  resident: {per: unit, waves: 32}
  issue: {per: partition, rate: 1 /cycle@core}
pipes: [{name: fma, per: partition, rate: 32 /cycle@core},
  {name: lsu, per: partition, rate: 8 /cycle@core}]
memory:
  - {name: shared, per: unit, managed: explicit, capacity: 64 KiB, latency: 25 cycles@core,
     bandwidth: {read: 128 B/cycle@core}, banks: {count: 32, width: 4 B}}
  - {name: l1, per: unit, managed: automatic, capacity: 16 KiB, latency: 30 cycles@core,
     line: 128 B, transaction: 32 B, bandwidth: {read: 64 B/cycle@core}}
  - {name: dram, per: device, managed: explicit, capacity: 4 GiB, latency: 300 ns, line: 128 B,
     transaction: 32 B, bandwidth: {read: 20 GB/s}}
compute: [{op: fma, dtype: f32, pipe: fma, latency: 6 cycles@core}]
instructions:
  - {use: isa/made-up.mma.m16n8k16.f16.f32, per: partition, rate: 256 /cycle@core,
     latency: 20 cycles@core}
apis: {opencl: {dialect: opencl, launch: {stream: 5 us}}}
)";

TEST(Matrix, waves_of_a_chip_that_does_not_exist) {
  testing::Chip chip(kMadeUp);
  const std::string name = "made-up.mma.m16n8k16.f16.f32";
  check(chip.device(), test::with_instruction(test::small_gpu(32), name), {}, name, 100, 22);
}

// Tile registers of a chip that this is not.
TEST(Matrix, cores_with_tile_registers) {
  std::string profile = std::string(testing::kSmallChip) + "instructions:\n";
  const std::vector<std::string> names = {"amx.tdpbf16ps.m16n16k32.bf16.f32",
                                          "amx.tdpbssd.m16n16k64.i8.i32",
                                          "amx.tdpbusd.m16n16k64.u8.i32"};
  for (const std::string& name : names)
    profile +=
        "  - {use: isa/" + name + ", per: unit, rate: 512 /cycle@core, latency: 52 cycles@core}\n";
  profile.replace(profile.find("64 MiB"), 6, "4 GiB ");
  testing::Chip chip(profile);
  EXPECT_THAT(chip.device().info().fact("matrix"), ::testing::HasSubstr(names[1]));
  for (const std::string& name : names)
    check(chip.device(), test::with_instruction(test::small_cpu(16, 2), name), {}, name, 15, 23);
}

// Twice the rows take twice the instructions, at the rate of the profile.
TEST(Matrix, takes_the_time_of_its_instructions) {
  testing::Chip chip(kMadeUp);
  const auto ticks = [&](int64_t depth) {
    const auto p = ir::parse_program(R"(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {a: f16 16x)" + std::to_string(depth) +
                                         ", b: f16 " + std::to_string(depth) + R"(x8, c: f32 16x8}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 16, n: 8, k: )" +
                                         std::to_string(depth) + R"(},
       combine: sum, body: "a[m, k] * b[k, n]"}
tiles:
  - {memory: registers, extent: {m: 16, n: 8, k: 16}, order: [m, n, k]}
vector: {axis: n, width: 32}
instruction: made-up.mma.m16n8k16.f16.f32
)",
                                     "p.yaml");
    EXPECT_TRUE(p.ok()) << render(p.diags());
    const auto kernel = lower::lower(
        *p, test::with_instruction(test::small_gpu(32), "made-up.mma.m16n8k16.f16.f32"));
    EXPECT_TRUE(kernel.ok()) << render(kernel.diags());
    Module& m = chip.load({*kernel});
    Launch launch{0, {}, {}};
    for (const int64_t bytes : {32 * depth, 16 * depth, int64_t{4 * 16 * 8}})
      launch.arguments.push_back({m.allocate(bytes).value(), 0});
    EXPECT_TRUE(m.run(std::vector{launch}, {}).ok());
    return chip.ticks(launch);
  };
  const double few = ticks(16 * 64), many = ticks(16 * 128);
  const double own = 16.0 * 8 * 16 / 256;  // of one instruction
  EXPECT_GE(many - few, 64 * own);
}

}  // namespace
}  // namespace assay::runtime
