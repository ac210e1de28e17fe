// Messages when an OpenCL driver fails. Each case runs in a child process, since the driver's
// library is loaded once per process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/codegen/kernels.h"
#include "tests/runtime/child.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

ir::Kernel plus_one() {
  return elementwise("plus_one", 40, [](ir::Value v) {
    return op(ir::ValueOp::add, {v, constant_of(1, v.lanes)});
  });
}

// What `body` returns, run in a child with this variable set and a library that fails on demand.
std::string said(const std::string& variable, const std::string& value,
                 const std::function<std::string()>& body) {
  return said_in_child({{"ASSAY_OPENCL_LIBRARY", set_or("ASSAY_OPENCL_LIBRARY", FAILING_OPENCL)},
                        {"ASSAY_TEST_DEVICE", "opencl:0"},
                        {variable, value}},
                       body);
}

std::string load_it() {
  Host host;
  const auto m = host.device().load(std::vector{plus_one()}, {}, host.options());
  return m.ok() ? "loaded" : render(m.diags());
}

TEST(Faults, succeeds_without_one) { EXPECT_EQ(said("NO_FAULT", "1", load_it), "loaded"); }

TEST(Faults, a_build_failure_shows_log_file_and_line) {
  const std::string text = said("FAIL_BUILD", "1", load_it);
  EXPECT_THAT(text,
              AllOf(HasSubstr("error: kernel 'plus_one' is not built by the driver of opencl:0"),
                    HasSubstr("CL_BUILD_PROGRAM_FAILURE"), HasSubstr("unknown type name 'this'")));
  EXPECT_THAT(text.substr(0, text.find('\n')),
              MatchesRegex("/.*/failed/[0-9a-f]*.cl:2:1: error: .*"));
}

TEST(Faults, a_merged_kernel_that_is_not_built_says_its_phase) {
  EXPECT_THAT(said("NO_FAULT", "1",
                   [] {
                     Host host;
                     const auto m = host.load({plus_one(), copy(40)}, lanes_are_threads());
                     ::setenv("FAIL_BUILD", "1", 1);
                     std::vector<Launch> launches;
                     for (const int k : {0, 1, 1})
                       launches.push_back(
                           {k, {{m->allocate(160).value(), 0}, {m->allocate(160).value(), 0}}, {}});
                     const std::vector<std::vector<int>> phases{{2}, {1, 0}};
                     RunOptions options;
                     options.phases = phases;
                     const auto times = m->run(launches, options);
                     return times.ok() ? "ran" : render(times.diags());
                   }),
              AllOf(HasSubstr("opencl:0: phase 1 ('copy', 'plus_one'): the merged kernel is not "
                              "built by the driver of opencl:0"),
                    HasSubstr(".cl:2:1: error: ")));
}

TEST(Faults, out_of_memory_says_how_much) {
  EXPECT_THAT(said("FAIL_MEMORY", "100000",
                   [] {
                     Host host;
                     const auto m = host.load({plus_one()});
                     const auto buffer = m->allocate(123456);
                     return buffer.ok() ? "allocated" : render(buffer.diags());
                   }),
              AllOf(HasSubstr("out of memory: 123456 bytes for one buffer of opencl:0"),
                    HasSubstr("CL_MEM_OBJECT_ALLOCATION_FAILURE"), HasSubstr("hint: ")));
}

// The errors of three launches when the device is lost after `after` kernels, and of reading and
// running afterwards.
std::string vanish(bool one_by_one, const char* after) {
  return said("FAIL_AFTER", after, [one_by_one] {
    Host host;
    host.options().guarded = false;
    host.options().one_by_one = one_by_one;
    const auto m = host.load({plus_one()});
    const int a = m->allocate(160).value(), b = m->allocate(160).value();
    const std::vector<Launch> launches(3, Launch{0, {{a, 0}, {b, 0}}, {}});
    const auto times = m->run(launches, {});
    std::vector<float> values(40, 0.0f);
    m->read({b, 0}, std::as_writable_bytes(std::span(values)));
    const auto after_it = m->run(launches, {});
    return (times.ok() ? "ran\n" : render(times.diags())) +
           (std::isnan(values[0]) ? "NaN\n" : "a value\n") +
           (after_it.ok() ? "ran again\n" : render(after_it.diags()));
  });
}

TEST(Faults, a_lost_device_is_named_and_gives_no_values) {
  EXPECT_THAT(vanish(true, "2"),
              AllOf(HasSubstr("opencl:0: launch 2 ('plus_one'): clEnqueueNDRangeKernel: "
                              "CL_DEVICE_NOT_AVAILABLE\nhint: the device was lost"),
                    HasSubstr("NaN\n"), HasSubstr("clEnqueueReadBuffer: CL_DEVICE_NOT_AVAILABLE")));
}

TEST(Faults, also_one_lost_before_a_sequence) {
  EXPECT_THAT(vanish(false, "0"),
              AllOf(HasSubstr("opencl:0: launch 0 ('plus_one'): clEnqueueNDRangeKernel: "
                              "CL_DEVICE_NOT_AVAILABLE\nhint: the device was lost"),
                    HasSubstr("NaN\n"), HasSubstr("clEnqueueReadBuffer: CL_DEVICE_NOT_AVAILABLE")));
}

TEST(Faults, no_library_is_an_absence_with_a_reason) {
  EXPECT_THAT(said("ASSAY_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so",
                   [] {
                     std::string out;
                     for (const Absence& a : devices().absent) out += a.id + ": " + a.reason + "\n";
                     return out;
                   }),
              HasSubstr("opencl: no OpenCL library: /nonexistent/libOpenCL.so"));
}

}  // namespace
}  // namespace assay::runtime
