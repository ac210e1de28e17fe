// Calls to the CUDA driver, and messages when it fails, with the tests' own driver (host/). Each
// case runs in a child process, since a driver is loaded once per process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "hwdesc/target.h"
#include "runtime/cuda/module.h"
#include "tests/codegen/kernels.h"
#include "tests/codegen/narrow_reference.h"
#include "tests/runtime/child.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

ir::Kernel plus_one(int64_t elements = 40) {
  return elementwise("plus_one", elements, [](ir::Value v) {
    return op(ir::ValueOp::add, {v, constant_of(1, v.lanes)});
  });
}

// What `body` returns, run in a child with these variables set and the driver of the tests.
std::string said(const Variables& variables, const std::function<std::string()>& body) {
  Variables all = {{"ASSAY_CUDA_LIBRARY", HOST_CUDA},
                   {"ASSAY_NVRTC_LIBRARY", HOST_CUDA},
                   {"ASSAY_TEST_DEVICE", "cuda:0"}};
  all.insert(all.end(), variables.begin(), variables.end());
  return said_in_child(all, body);
}

std::string load_it() {
  Host host;
  const auto m = host.device().load(std::vector{plus_one()}, lanes_are_threads(), host.options());
  return m.ok() ? "loaded" : render(m.diags());
}

std::string absences() {
  std::string out;
  for (const Absence& a : devices().absent) out += a.id + ": " + a.reason + "\n";
  return out;
}

TEST(CudaDriver, lists_its_devices_with_facts) {
  EXPECT_EQ(said({},
                 [] {
                   for (const DeviceInfo& d : devices().devices)
                     if (d.id == "cuda:0")
                       return d.name + ", " + d.api + ", " + std::to_string(d.units) + ", " +
                              std::to_string(d.memory_bytes);
                   return absences();
                 }),
            "the host in a GPU's place, cuda, 1, 17179869184");
}

TEST(CudaDriver, succeeds_without_faults) { EXPECT_EQ(said({}, load_it), "loaded"); }

TEST(CudaDriver, builds_for_the_newest_architecture_the_device_runs) {
  const std::string log = ::testing::TempDir() + "cuda_options." + std::to_string(::getpid());
  EXPECT_EQ(said({{"HOST_CUDA_LOG", log}}, load_it), "loaded");
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  std::remove(log.c_str());
  EXPECT_THAT(text.str(),
              StartsWith("option --gpu-architecture=sm_80\n"));  // the device says 8.6, the
                                                                 // compiler knows 80 and 90
}

// A second load is served from the cache, and its module runs.
TEST(CudaDriver, builds_a_kernel_once) {
  EXPECT_EQ(
      said({},
           [] {
             Host host;
             std::string out;
             for (int i = 0; i < 2; ++i) {
               const auto m = host.device().load(std::vector{plus_one(), plus_one()},
                                                 lanes_are_threads(), host.options());
               if (!m.ok()) return render(m.diags());
               const auto got = Host::run(**m, 1, {std::vector<float>(40, 2.0f), Host::poison(40)});
               out += (*m)->build_seconds() > 0 ? "built " : "cached ";
               out += std::to_string(static_cast<int>(got[1][39])) + " ";
             }
             return out;
           }),
      "built 3 cached 3 ");
}

TEST(CudaDriver, reports_registers_and_stack) {
  EXPECT_EQ(said({},
                 [] {
                   Host host;
                   const auto m = host.device().load(std::vector{plus_one()}, lanes_are_threads(),
                                                     host.options());
                   if (!m.ok()) return render(m.diags());
                   const KernelReport& r = (*m)->reports().at(0);
                   return r.kernel + ": " + std::to_string(r.registers) + " registers, " +
                          std::to_string(r.stack_bytes) + " bytes";
                 }),
            "plus_one: 40 registers, 16 bytes");
}

// Adjacent queues are one range; group memory is what the kernel needs.
TEST(CudaDriver, gets_launches_in_order_with_groups_threads_and_memory) {
  const std::string log = ::testing::TempDir() + "cuda_launches." + std::to_string(::getpid());
  const std::string said_it = said({}, [&] {
    Host host;
    ir::Kernel staged = plus_one(64 * 6);
    staged.name = "staged";
    staged.buffers.push_back(scratch("row", 16 * 1024));
    const auto m = host.device().load(std::vector{plus_one(64 * 6), staged}, lanes_are_threads(),
                                      host.options());
    if (!m.ok()) return render(m.diags());
    const int a = (*m)->allocate(64 * 6 * 4).value(), b = (*m)->allocate(64 * 6 * 4).value();
    ::setenv("HOST_CUDA_LOG", log.c_str(), 1);
    const std::vector<Launch> launches{{0, {{a, 0}, {b, 0}}, {{1, 2, 4}, {0, 0, 2}, {2, 5, 6}}},
                                       {1, {{b, 0}, {a, 0}}, {}}};
    const auto times = (*m)->run(launches, {});
    if (!times.ok()) return render(times.diags());
    double sum = 0;
    for (const double s : times->steps.at(0)) sum += s;
    return std::string(times->steps.at(0).size() == 2 && std::abs(sum - times->total.at(0)) < 1e-9
                           ? "ran"
                           : "steps do not add up");
  });
  EXPECT_EQ(said_it, "ran");
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  std::remove(log.c_str());
  EXPECT_EQ(text.str(),
            "launch groups 4 threads 16 bytes 0 first 0\n"
            "launch groups 1 threads 16 bytes 0 first 5\n"
            "launch groups 6 threads 16 bytes 65536 first 0\n");
}

// Each launch reads its own constants, although both use one variable. `busy` begins when they have
// been filled.
TEST(CudaDriver, constants_are_filled_before_each_launch) {
  const std::string log = ::testing::TempDir() + "cuda_constants." + std::to_string(::getpid());
  EXPECT_EQ(
      said({},
           [&] {
             Host host;
             ir::Kernel k = plus_one();
             k.buffers[0].space = ir::Space::constant;
             const auto m = host.device().load(std::vector{k}, lanes_are_threads(), host.options());
             if (!m.ok()) return render(m.diags());
             std::vector<Launch> launches;
             for (const float x : {1.0f, 5.0f}) {
               const std::vector<float> all(40, x);
               launches.push_back(
                   {0, {{(*m)->allocate(160).value(), 0}, {(*m)->allocate(160).value(), 0}}, {}});
               (*m)->write(launches.back().arguments[0], std::as_bytes(std::span(all)));
             }
             ::setenv("HOST_CUDA_LOG", log.c_str(), 1);
             const auto times = (*m)->run(launches, {});
             if (!times.ok()) return render(times.diags());
             std::string out;
             for (size_t l = 0; l < 2; ++l) {
               float last = 0;
               (*m)->read({launches[l].arguments[1].buffer, 156},
                          std::as_writable_bytes(std::span(&last, 1)));
               out +=
                   std::to_string(static_cast<int>(last)) +
                   (times->busy[0][l] < times->steps[0][l] ? " busy, "
                                                           : " not busy for less than its step, ");
             }
             return out;
           }),
      "2 busy, 6 busy, ");
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  std::remove(log.c_str());
  const std::string one = "copy 160\nlaunch groups 1 threads 16 bytes 0 first 0\n";
  EXPECT_EQ(text.str(), one + one);
}

TEST(CudaDriver, more_group_memory_than_there_is_is_refused) {
  EXPECT_THAT(said({},
                   [] {
                     Host host;
                     ir::Kernel k = plus_one();
                     k.buffers.push_back(scratch("row", 64 * 1024));
                     const auto m =
                         host.device().load(std::vector{k}, lanes_are_threads(), host.options());
                     return m.ok() ? "loaded" : render(m.diags());
                   }),
              HasSubstr("kernel 'plus_one' needs 262144 bytes of group memory, cuda:0 has 163840"));
}

TEST(CudaDriver, a_build_failure_shows_log_file_and_line) {
  const std::string text = said({{"FAIL_BUILD", "1"}}, load_it);
  EXPECT_THAT(text, AllOf(HasSubstr("error: kernel 'plus_one' is not built for sm_80: NVRTC"),
                          HasSubstr("this declaration has no storage class")));
  EXPECT_THAT(text.substr(0, text.find('\n')),
              MatchesRegex("/.*/failed/[0-9a-f]*.cu:2:5: error: .*"));
}

TEST(CudaDriver, rejected_code_names_kernel_and_hint) {
  EXPECT_THAT(said({{"FAIL_IMAGE", "1"}}, load_it),
              AllOf(HasSubstr("kernel 'plus_one': cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU"),
                    HasSubstr("hint: the runtime compiler is newer")));
}

TEST(CudaDriver, out_of_memory_says_how_much) {
  EXPECT_THAT(
      said({{"FAIL_MEMORY", "100000"}},
           [] {
             Host host;
             const auto m =
                 host.device().load(std::vector{plus_one()}, lanes_are_threads(), host.options());
             const auto buffer = (*m)->allocate(123456);
             const auto smaller = (*m)->allocate(100);
             return (buffer.ok() ? "allocated" : render(buffer.diags())) +
                    (smaller.ok() ? "a smaller one fits" : "");
           }),
      AllOf(HasSubstr(
                "out of memory: 123456 bytes for one buffer of cuda:0: CUDA_ERROR_OUT_OF_MEMORY"),
            HasSubstr("hint: "), HasSubstr("a smaller one fits")));
}

// A kernel that breaks the context does so for good: earlier reads stay valid, later ones give NaN.
TEST(CudaDriver, a_broken_context_gives_errors_and_no_values) {
  const std::string text = said({{"FAIL_AFTER", "2"}}, [] {
    Host host;
    host.options().guarded = false;
    const auto m = host.device().load(std::vector{plus_one()}, lanes_are_threads(), host.options());
    if (!m.ok()) return render(m.diags());
    const int a = (*m)->allocate(160).value(), b = (*m)->allocate(160).value();
    const std::vector<Launch> launches(2, Launch{0, {{a, 0}, {b, 0}}, {}});
    std::vector<float> values(40, 0.0f);
    std::string out;
    for (int i = 0; i < 3; ++i) {
      const auto times = (*m)->run(launches, {});
      out += times.ok() ? "ran\n" : render(times.diags());
      (*m)->read({b, 0}, std::as_writable_bytes(std::span(values)));
      out += std::isnan(values[0]) ? "NaN\n"
                                   : "value " + std::to_string(static_cast<int>(values[0])) + "\n";
    }
    return out;
  });
  EXPECT_THAT(
      text,
      StartsWith(
          "ran\nvalue 1\nerror: cuda:0: one of 2 launches ('plus_one' to 'plus_one'): a kernel: "
          "CUDA_ERROR_ILLEGAL_ADDRESS\nhint: this process can not use the device any more"));
  EXPECT_THAT(text, HasSubstr("NaN\nerror: cuMemcpyDtoHAsync: CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST(CudaDriver, no_library_is_an_absence_with_a_reason) {
  EXPECT_THAT(said({{"ASSAY_CUDA_LIBRARY", "/nonexistent/libcuda.so"}}, absences),
              HasSubstr("cuda: no CUDA driver: /nonexistent/libcuda.so"));
}

TEST(CudaDriver, one_that_does_not_start_is_an_absence_with_a_reason) {
  EXPECT_THAT(said({{"FAIL_START", "100"}}, absences),
              HasSubstr("cuda: cuInit: CUDA_ERROR_NO_DEVICE"));
}

TEST(CudaDriver, functions_that_are_missing_are_named) {
  EXPECT_THAT(said({{"ASSAY_CUDA_LIBRARY", "libm.so.6"}}, absences),
              HasSubstr("cuda: the CUDA driver lacks the function cuInit"));
}

TEST(CudaDriver, without_its_compiler_a_device_says_where_to_get_one) {
  EXPECT_THAT(
      said({{"ASSAY_NVRTC_LIBRARY", "/nonexistent/libnvrtc.so"}}, load_it),
      AllOf(HasSubstr("no NVRTC library, which compiles CUDA kernels: /nonexistent/libnvrtc.so"),
            HasSubstr("hint: scripts/nvrtc.sh")));
}

// The carve-out of a unit's 228 KiB; the driver reserves 1 KiB per group.
TEST(CudaDriver, the_carve_out_is_what_groups_can_use) {
  cuda::Limits l;
  EXPECT_EQ(cuda::group_memory_share(l, 0, 32, 16), -1);
  l.unit_threads = 2048;
  l.unit_groups = 32;
  l.unit_registers = 65536;
  l.unit_bytes = 228 << 10;
  l.reserved_bytes = 1 << 10;
  EXPECT_EQ(cuda::group_memory_share(l, 0, 32, 16), 15);          // 32 groups of 1 KiB
  EXPECT_EQ(cuda::group_memory_share(l, 48 << 10, 256, 64), 86);  // registers for four
  EXPECT_EQ(cuda::group_memory_share(l, 48 << 10, 256, 32), 100);
  EXPECT_EQ(cuda::group_memory_share(l, 0, 1024, 255), 1);  // at least one group
}

// Sixteen groups of one wave per unit. Each needs 1 KiB for the driver; the second kernel's groups
// need 8 KiB more.
TEST(CudaDriver, gets_the_carve_out_that_kernels_need) {
  const std::string log = ::testing::TempDir() + "cuda_shares." + std::to_string(::getpid());
  EXPECT_EQ(said({{"HOST_CUDA_LOG", log}},
                 [] {
                   Host host;
                   ir::Kernel staged = plus_one();
                   staged.name = "staged";
                   staged.buffers.push_back(scratch("row", 2 * 1024));
                   const auto m = host.device().load(std::vector{plus_one(), staged},
                                                     lanes_are_threads(), host.options());
                   return m.ok() ? "loaded" : render(m.diags());
                 }),
            "loaded");
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  std::remove(log.c_str());
  EXPECT_THAT(text.str(), ::testing::ContainsRegex("share [a-z_0-9]* 10\n"));  // 16 of 164
  EXPECT_THAT(text.str(), ::testing::ContainsRegex("share [a-z_0-9]* 88\n"));  // 16 of 9
}

TEST(CudaDriver, reports_the_boards_energy_or_why_not) {
  const auto energy = [] {
    Host host;
    const auto m = host.device().load(std::vector{plus_one()}, lanes_are_threads(), host.options());
    if (!m.ok()) return render(m.diags());
    const auto joules = (*m)->joules();
    return joules ? std::to_string(*joules) + " J" : render(joules.diags());
  };
  EXPECT_EQ(said({{"ASSAY_NVML_LIBRARY", HOST_CUDA}}, energy), "1.250000 J");
  EXPECT_THAT(said({{"ASSAY_NVML_LIBRARY", "/nonexistent/libnvidia-ml.so"}}, energy),
              HasSubstr("no NVML library, which reports energy: /nonexistent/libnvidia-ml.so"));
  EXPECT_THAT(said({{"ASSAY_NVML_LIBRARY", "libm.so.6"}}, energy),
              HasSubstr("the NVML library lacks the function nvmlInit_v2"));
}

// A target's wave may be several of the driver's, up to the group limit.
TEST(CudaDriver, wider_waves_are_several_of_its_own) {
  const auto in_waves_of = [](int threads) {
    Host host;
    const auto m = host.device().load(
        std::vector{testing::ternary("sum", ir::ValueOp::fma, ir::DType::f32, threads, 8192)},
        lanes_are_threads(threads), host.options());
    if (!m.ok()) return render(m.diags());
    const auto got = Host::run(**m, 0,
                               {std::vector<float>(8192, 2.0f), std::vector<float>(8192, 3.0f),
                                std::vector<float>(8192, 4.0f), Host::poison(8192)});
    return std::to_string(std::count(got[3].begin(), got[3].end(), 10.0f)) + " of 8192";
  };
  EXPECT_EQ(said({}, [&] { return in_waves_of(64); }), "8192 of 8192");
  EXPECT_THAT(said({}, [&] { return in_waves_of(4096); }),
              HasSubstr("1 waves of 4096 threads in a group, cuda:0 allows 1024 threads"));
}

}  // namespace
}  // namespace assay::runtime
