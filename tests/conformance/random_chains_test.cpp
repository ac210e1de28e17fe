// Steps that compute several programs, as machine code of the device under test.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "ir/producers.h"
#include "lower/lower.h"
#include "tests/conformance/conformance_device.h"
#include "tests/lower/problems.h"
#include "tests/lower/random_chain.h"

namespace assay::test {
namespace {

constexpr int kChains = 100;

// Programs with producers of the chain, whatever the model says.
std::vector<ir::Program> programs_of(int chain, const hwdesc::Target& through) {
  hwdesc::Target target = through;  // where lanes are threads
  if (hwdesc::threads_of(through) == 1)
    target = {small_cpu(chain % 2 == 0 ? 8 : 16, 2).profile, through.api, through.dialect};
  compiler::Options options;
  options.fuse = compiler::Fuse::always;
  const auto made =
      compiler::compile(random_chain(static_cast<uint32_t>(chain), 2 + chain % 5), target, options);
  EXPECT_TRUE(made.ok()) << render(made.diags());
  std::vector<ir::Program> out;
  if (!made.ok()) return out;
  for (const ir::Program& p : made->plan.programs)
    if (!p.producers.empty()) out.push_back(p);
  for (size_t i = 0; i < out.size(); ++i)
    out[i].name = "chain_" + std::to_string(chain) + "_" + std::to_string(i);
  return out;
}

void run_and_compare(runtime::Module& module, int kernel, const ir::Program& p) {
  std::mt19937 rng(static_cast<uint32_t>(kernel));
  const std::vector<std::vector<float>> inputs = random_inputs(ir::whole_graph(p), rng);
  std::vector<std::vector<float>> buffers = arguments_for(p, inputs);
  runtime::Launch launch{kernel, {}, {}};
  for (const std::vector<float>& b : buffers) {
    const auto id = module.allocate(static_cast<int64_t>(b.size() * sizeof(float)));
    ASSERT_TRUE(id.ok());
    module.write({*id, 0}, std::as_bytes(std::span(b)));
    launch.arguments.push_back({*id, 0});
  }
  const auto ran = module.run(std::span(&launch, 1), {});
  ASSERT_TRUE(ran.ok()) << render(ran.diags()) << ir::print_program(p);
  for (size_t i = buffers.size() - p.graph.outputs.size(); i < buffers.size(); ++i)
    module.read(launch.arguments[i], std::as_writable_bytes(std::span(buffers[i])));
  const Comparison c = compare_outputs(p, inputs, buffers);
  EXPECT_EQ(c.fault, "");
  EXPECT_LT(c.difference, 1e-4) << ir::print_program(p);
}

TEST(RandomChains, AreRightInMachineCode) {
  std::string absence;
  const auto device = open_tested_device(absence);
  if (device == nullptr) GTEST_SKIP() << absence;
  const auto target = target_for(device->info().api);
  ASSERT_TRUE(target.ok()) << render(target.diags());
  std::vector<ir::Program> programs;
  std::vector<ir::Kernel> kernels;
  for (int chain = 0; chain < kChains; chain += tested_every())
    for (ir::Program& p : programs_of(chain, *target)) {
      const auto kernel = lower::lower(p, *target);
      ASSERT_TRUE(kernel.ok()) << render(kernel.diags()) << ir::print_program(p);
      kernels.push_back(*kernel);
      programs.push_back(std::move(p));
    }
  ASSERT_GE(static_cast<int>(programs.size()), std::max(1, kChains / tested_every() / 2));
  runtime::LoadOptions options;
  options.guarded = true;
  auto module = device->load(kernels, *target, options);
  ASSERT_TRUE(module.ok()) << render(module.diags());
  for (size_t i = 0; i < programs.size(); ++i)
    run_and_compare(**module, static_cast<int>(i), programs[i]);
}

}  // namespace
}  // namespace assay::test
