// Programs with Arm's matrix instructions, cross-compiled and run by an emulator, against the
// float64 reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/element.h"
#include "lower/lower.h"
#include "tests/lower/matrix_programs.h"
#include "tests/runtime/emulated_arm.h"

namespace assay::runtime {
namespace {

constexpr const char* kArchitecture = "armv8.2-a+dotprod+i8mm+bf16+fp16";
constexpr int kPrograms = 30;

ir::DType type_of(const ir::Program& p, int tensor) {
  return p.graph.tensors[static_cast<size_t>(tensor)].dtype;
}

std::vector<std::vector<std::byte>> bytes_for(const ir::Program& p,
                                              const std::vector<std::vector<float>>& inputs) {
  const std::vector<std::vector<float>> numbers = test::arguments_for(p, inputs);
  const std::vector<int> tensors = ir::arguments_of(p);
  std::vector<std::vector<std::byte>> out;
  for (size_t i = 0; i < numbers.size(); ++i)
    out.push_back(ir::bytes_of_doubles(type_of(p, tensors[i]),
                                       std::vector<double>(numbers[i].begin(), numbers[i].end())));
  return out;
}

class ArmMatrix : public ::testing::TestWithParam<const char*> {};

TEST_P(ArmMatrix, random_products_on_an_emulator) {
  if (const std::string missing = testing::missing_for_arm(); !missing.empty())
    GTEST_SKIP() << "there is no " << missing
                 << " here: scripts/bootstrap.sh --aarch64 installs it";
  const hwdesc::Target target = test::with_instruction(test::small_cpu(4, 2), GetParam());
  std::mt19937 rng(41);
  std::vector<ir::Program> programs;
  std::vector<std::vector<std::vector<float>>> inputs;
  std::vector<testing::ArmLaunch> launches;
  for (int i = 0; i < kPrograms; ++i) {
    programs.push_back(test::random_matrix_program(GetParam(), target, rng));
    const auto kernel = lower::lower(programs.back(), target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    ASSERT_THAT(ir::print_kernel(*kernel), ::testing::HasSubstr(GetParam()));
    inputs.push_back(test::small_inputs(programs.back().graph, rng));
    launches.push_back({*kernel, bytes_for(programs.back(), inputs.back())});
  }
  const auto outputs = testing::run_on_arm(launches, kArchitecture);
  for (size_t i = 0; i < programs.size(); ++i) {
    const ir::Program& p = programs[i];
    const std::vector<double> out =
        ir::doubles_of(type_of(p, ir::arguments_of(p).back()), outputs[i]);
    const test::Comparison c = test::compare_output(p, inputs[i], {out.begin(), out.end()});
    ASSERT_EQ(c.fault, "");
    ASSERT_LE(c.difference, test::tolerance(p))
        << ir::print_program(p) << ir::print_kernel(launches[i].kernel);
  }
}

INSTANTIATE_TEST_SUITE_P(Instructions, ArmMatrix,
                         ::testing::Values("arm.sdot.m1n4k4.i8.i32", "arm.udot.m1n4k4.u8.i32",
                                           "arm.usdot.m1n4k4.u8.i32", "arm.bfdot.m1n4k2.bf16.f32"));

}  // namespace
}  // namespace assay::runtime
