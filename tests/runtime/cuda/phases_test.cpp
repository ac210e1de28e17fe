// What the CUDA driver gets of phases, with the tests' own driver (host/).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "hwdesc/target.h"
#include "tests/codegen/kernels.h"
#include "tests/runtime/child.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string said(const std::function<std::string()>& body) {
  return said_in_child({{"ASSAY_CUDA_LIBRARY", HOST_CUDA},
                        {"ASSAY_NVRTC_LIBRARY", HOST_CUDA},
                        {"ASSAY_TEST_DEVICE", "cuda:0"}},
                       body);
}

ir::Kernel plus_one(int64_t elements) {
  return elementwise("plus_one", elements, [](ir::Value v) {
    return op(ir::ValueOp::add, {v, constant_of(1, v.lanes)});
  });
}

// Two phases of copies beside staged ones, and one of a launch alone.
Diags run_phases(Host& host, const std::string& variable, const std::string& value) {
  ir::Kernel wide = rotate(1, 5, 4), narrow = rotate(2, 7, 2);
  narrow.name = "narrow";
  const auto m = host.device().load(std::vector{plus_one(64 * 6), wide, narrow},
                                    lanes_are_threads(), host.options());
  if (!m.ok()) return m.diags();
  ::setenv(variable.c_str(), value.c_str(), 1);
  std::vector<Launch> launches;
  for (const int k : {0, 0, 1, 2, 1})
    launches.push_back(
        {k, {{(*m)->allocate(8192).value(), 0}, {(*m)->allocate(8192).value(), 0}}, {}});
  const std::vector<std::vector<int>> phases{{0, 2, 3, 1}, {4}};
  RunOptions options;
  options.phases = phases;
  const auto times = (*m)->run(launches, options);
  return times.ok() ? Diags{} : times.diags();
}

// One launch for each number of threads that blocks have to have: two groups of 6, then 5 and 7.
TEST(CudaPhases, gets_a_phase_as_one_launch) {
  const std::string log = ::testing::TempDir() + "cuda_phases." + std::to_string(::getpid());
  EXPECT_EQ(said([&] {
              Host host;
              return render(run_phases(host, "HOST_CUDA_LOG", log));
            }),
            "");
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  std::remove(log.c_str());
  std::string launches;
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("launch")) launches += line.substr(0, line.find(" first")) + "\n";
  EXPECT_EQ(launches,
            "launch groups 12 threads 16 bytes 0\n"
            "launch groups 12 threads 64 bytes 256\n"
            "launch groups 5 threads 64 bytes 256\n");
}

TEST(CudaPhases, says_which_phase_is_not_built) {
  EXPECT_THAT(said([] {
                Host host;
                return render(run_phases(host, "FAIL_BUILD", "1"));
              }),
              HasSubstr("cuda:0: phase 0 ('plus_one', 'rotate', 'narrow'): the merged kernel is "
                        "not built for sm_80"));
}

}  // namespace
}  // namespace assay::runtime
