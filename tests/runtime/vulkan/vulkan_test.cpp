// Specific to Vulkan: failing drivers, discrete cards, validation layers, and loops that drivers
// end early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "hwdesc/target.h"
#include "tests/codegen/kernels.h"
#include "tests/runtime/child.h"
#include "tests/runtime/host.h"
#include "tests/runtime/spaces.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// Output and result of `body`, run in a child with these variables and a library that fails on
// demand.
std::string said(const Variables& variables, const std::function<std::string()>& body) {
  Variables all = {{"ASSAY_VULKAN_LIBRARY", set_or("ASSAY_VULKAN_LIBRARY", FAILING_VULKAN)},
                   {"ASSAY_TEST_DEVICE", "vulkan:0"}};
  all.insert(all.end(), variables.begin(), variables.end());
  return said_in_child(all, body, Output::kept);
}

ir::Kernel plus_one(int64_t n = 40) {
  return elementwise("plus_one", n, [](ir::Value v) {
    return op(ir::ValueOp::add, {v, constant_of(1, v.lanes)});
  });
}

std::string load_it() {
  Host host;
  const auto m = host.device().load(std::vector{plus_one()}, {}, host.options());
  return m.ok() ? "loaded" : render(m.diags());
}

// Reads constants, images and plain memory, with vectors and with threads.
std::string read_spaces() {
  Host host;
  hwdesc::Target threads;
  threads.profile.execution.lanes.style = hwdesc::LaneStyle::simt;
  threads.profile.execution.lanes.modes.emplace_back().width.value = hwdesc::Count{16};
  std::mt19937 rng(3);
  for (int i = 0; i < 12; ++i) {
    const ir::Kernel k =
        random_reading(rng, {ir::Space::constant, ir::Space::image, ir::Space::plain},
                       i % 2 == 0 ? ir::DType::f32 : ir::DType::i32, 16);
    if (const std::string told =
            told_of(host.device(), k, i % 3 == 0 ? hwdesc::Target{} : threads, host.options(), rng);
        told != "right")
      return told;
  }
  return "right";
}

// "right", or the first element that is not x + 1.
std::string run_it() {
  Host host;
  constexpr int64_t kElements = 3 << 20;  // three staging buffers
  const auto x = host.random(kElements);
  const auto got = host.run(plus_one(kElements), {x, Host::poison(kElements)});
  for (size_t i = 0; i < x.size(); ++i)
    if (got[1][i] != x[i] + 1.0f) return "wrong at " + std::to_string(i);
  return "right";
}

class Vulkan : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string found = said({}, [] {
      for (const Absence& a : devices().absent)
        if (a.id == "vulkan") return a.reason;
      return std::string();
    });
    if (!found.empty()) GTEST_SKIP() << found;
  }
};

TEST_F(Vulkan, succeeds_without_faults) { EXPECT_EQ(said({}, load_it), "loaded"); }

TEST_F(Vulkan, shared_and_discrete_memory_give_the_same) {
  EXPECT_EQ(said({}, run_it), "right");
  EXPECT_EQ(said({{"DISCRETE", "1"}}, run_it), "right");
  EXPECT_EQ(said({{"DISCRETE", "1"}}, read_spaces), "right");
}

TEST_F(Vulkan, discrete_memory_is_written_through_a_staging_buffer) {
  EXPECT_THAT(said({{"DISCRETE", "1"}, {"FAIL_AFTER", "0"}},
                   [] {
                     Host host;
                     const auto buffer = host.load({plus_one()})->allocate(160);
                     return buffer.ok() ? "allocated" : render(buffer.diags());
                   }),
              HasSubstr("vkQueueSubmit: VK_ERROR_DEVICE_LOST"));
}

TEST_F(Vulkan, a_build_failure_shows_file_and_line) {
  const std::string text = said({{"FAIL_BUILD", "1"}}, load_it);
  EXPECT_THAT(text, HasSubstr("error: kernel 'plus_one' is not built for vulkan:0: "
                              "vkCreateComputePipelines: VK_ERROR_INVALID_SHADER"));
  EXPECT_THAT(text.substr(0, text.find('\n')),
              MatchesRegex("/.*/failed/[0-9a-f]*.comp:1:1: error: .*"));
}

// A literal that does not fit into 32 bits.
TEST_F(Vulkan, a_kernel_that_does_not_compile_shows_the_log_and_its_line) {
  const std::string text = said({}, [] {
    Host host;
    ir::Kernel k = plus_one();
    k.buffers[0].elements = int64_t{1} << 20;
    k.index_names.push_back("far");
    k.body.insert(k.body.begin(), let(2, ir::variable(0, int64_t{1} << 40)));
    const auto m = host.device().load(std::vector{k}, {}, host.options());
    return m.ok() ? "loaded" : render(m.diags());
  });
  EXPECT_THAT(text,
              AllOf(HasSubstr("error: kernel 'plus_one' is not built for vulkan:0: ERROR: 0:"),
                    HasSubstr("1099511627776")));
  EXPECT_THAT(text.substr(0, text.find('\n')),
              MatchesRegex("/.*/failed/[0-9a-f]*.comp:[0-9][0-9]+:1: error: .*"));
}

TEST_F(Vulkan, out_of_memory_says_how_much) {
  EXPECT_THAT(said({{"FAIL_MEMORY", "100000"}},
                   [] {
                     Host host;
                     const auto m = host.load({plus_one()});
                     const auto buffer = m->allocate(123456);
                     return buffer.ok() ? "allocated" : render(buffer.diags());
                   }),
              AllOf(HasSubstr("out of memory: 123456 bytes for one buffer of vulkan:0"),
                    HasSubstr("VK_ERROR_OUT_OF_DEVICE_MEMORY"), HasSubstr("hint: ")));
}

// A discrete card, where reads need the device too.
TEST_F(Vulkan, a_device_that_is_lost_is_named_and_gives_no_values) {
  const std::string text = said({{"DISCRETE", "1"}, {"FAIL_AFTER", "3"}}, [] {
    Host host;
    host.options().guarded = false;
    const auto m = host.load({plus_one()});
    const int a = m->allocate(160).value(), b = m->allocate(160).value();
    const std::vector<Launch> launches(3, Launch{0, {{a, 0}, {b, 0}}, {}});
    const auto before = m->run(launches, {}), times = m->run(launches, {});
    std::vector<float> values(40, 0.0f);
    m->read({b, 0}, std::as_writable_bytes(std::span(values)));
    const auto after = m->run(launches, {});
    return (before.ok() ? "ran\n" : render(before.diags())) +
           (times.ok() ? "ran again\n" : render(times.diags())) +
           (std::isnan(values[0]) ? "NaN\n" : "a value\n") +
           (after.ok() ? "ran\n" : render(after.diags()));
  });
  EXPECT_THAT(text, AllOf(HasSubstr("ran\nerror: vulkan:0: 3 launches from 'plus_one' on: "
                                    "vkQueueSubmit: VK_ERROR_DEVICE_LOST\n"
                                    "hint: the device was lost"),
                          HasSubstr("NaN\n"), Not(HasSubstr("ran again"))));
  EXPECT_THAT(text.substr(text.find("NaN")), HasSubstr("vkQueueSubmit: VK_ERROR_DEVICE_LOST"));
}

TEST(Absent, no_library_is_one_line_and_the_rest_stays) {
  EXPECT_EQ(said({{"ASSAY_VULKAN_LIBRARY", "/nonexistent/libvulkan.so.1"}},
                 [] {
                   std::string out;
                   for (const Absence& a : devices().absent)
                     if (a.id == "vulkan") out += a.reason + "\n";
                   return out + devices().devices.at(0).id;
                 }),
            "no Vulkan library: /nonexistent/libvulkan.so.1 can not be opened\ncpu:0");
}

TEST_F(Vulkan, pipelines_come_from_the_cache_the_second_time) {
  EXPECT_EQ(said({},
                 [] {
                   Host host;
                   const bool first = host.load({plus_one()})->build_seconds() > 0;
                   const bool second = host.load({plus_one()})->build_seconds() > 0;
                   for (const auto& file :
                        std::filesystem::directory_iterator(host.folder() / "libraries"))
                     std::filesystem::resize_file(file.path(), 5);
                   const bool damaged = host.load({plus_one()})->build_seconds() > 0;
                   return std::string(first ? "built " : "kept ") + (second ? "built " : "kept ") +
                          (damaged ? "built" : "reused");
                 }),
            "built kept built");
}

// The sum of n ones, one after the other, by a loop in a loop.
ir::Kernel count_to(int64_t outer, int64_t inner) {
  ir::Kernel k;
  k.name = "count";
  k.buffers = {input("x", 1), output("y", 1)};
  k.index_names = {"group", "i", "j"};
  k.registers = {{"sum", ir::DType::f32, 1}};
  k.groups = 1;
  k.body = {declare({0}), assign(0, constant_of(0, 1)),
            loop(1, outer,
                 {loop(2, inner, {assign(0, op(ir::ValueOp::add, {reg(0, 1), load(0, {}, 1)}))})}),
            store(1, {}, reg(0, 1))};
  return k;
}

// The count, or the error.
std::string counted(int64_t outer, int64_t inner) {
  return said({}, [&] {
    Host host;
    const auto m = host.load({count_to(outer, inner)});
    const int x = m->allocate(4).value(), y = m->allocate(4).value();
    const float one = 1;
    m->write({x, 0}, std::as_bytes(std::span(&one, 1)));
    const auto times = m->run(std::vector<Launch>{{0, {{x, 0}, {y, 0}}, {}}}, {});
    if (!times.ok()) return render(times.diags());
    float sum = 0;
    m->read({y, 0}, std::as_writable_bytes(std::span(&sum, 1)));
    return std::to_string(static_cast<int64_t>(sum));
  });
}

TEST_F(Vulkan, loops_complete_or_are_errors) {
  EXPECT_EQ(counted(1, 60000), "60000");
  EXPECT_EQ(counted(200, 300), "60000");
  for (const auto& [outer, inner] : {std::pair<int64_t, int64_t>{1, 100000},
                                     {100000, 1},
                                     {400, 400},
                                     {2, 65535},
                                     {65530, 3},
                                     {32767, 2},
                                     {3, 65536}}) {
    const std::string result = counted(outer, inner);
    if (result == std::to_string(outer * inner)) continue;  // a driver that ends no loop early
    EXPECT_THAT(result, HasSubstr("launch 0 ('count'): a loop ended before its last iteration"))
        << outer << " x " << inner;
  }
}

// Threads with a barrier in every iteration.
TEST_F(Vulkan, loops_with_barriers_complete_or_are_errors) {
  constexpr int kThreads = 16;
  for (const int64_t n : {60000, 70000}) {
    const std::string result = said({}, [n] {
      hwdesc::Target target;
      target.profile.execution.lanes.style = hwdesc::LaneStyle::simt;
      hwdesc::LaneMode mode;
      mode.width.value = hwdesc::Count{kThreads};
      target.profile.execution.lanes.modes.push_back(mode);
      ir::Kernel k;
      k.name = "together";
      k.buffers = {input("x", kThreads), output("y", kThreads), scratch("row", kThreads)};
      k.index_names = {"group", "i"};
      k.registers = {{"sum", ir::DType::f32, kThreads}};
      k.groups = 1;
      k.body = {declare({0}), assign(0, constant_of(0, kThreads)),
                loop(1, n,
                     {store(2, {}, load(0, {}, kThreads)),
                      assign(0, op(ir::ValueOp::add,
                                   {reg(0, kThreads),
                                    gather(2, ir::constant(kThreads - 1), -1, kThreads)}))}),
                store(1, {}, reg(0, kThreads))};
      Host host;
      const auto m = host.device().load(std::vector{k}, target, host.options());
      if (!m.ok()) return render(m.diags());
      const int x = (*m)->allocate(4 * kThreads).value(), y = (*m)->allocate(4 * kThreads).value();
      const std::vector<float> ones(kThreads, 1.0f);
      (*m)->write({x, 0}, std::as_bytes(std::span(ones)));
      const auto times = (*m)->run(std::vector<Launch>{{0, {{x, 0}, {y, 0}}, {}}}, {});
      if (!times.ok()) return render(times.diags());
      std::vector<float> sums(kThreads, 0.0f);
      (*m)->read({y, 0}, std::as_writable_bytes(std::span(sums)));
      return std::to_string(std::accumulate(sums.begin(), sums.end(), 0.0));
    });
    const std::string all = std::to_string(static_cast<double>(n * kThreads));
    if (n > 65535 && result != all)
      EXPECT_THAT(result,
                  HasSubstr("launch 0 ('together'): a loop ended before its last iteration"));
    else
      EXPECT_EQ(result, all);
  }
}

bool has_validation() {
  return said({{"VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation"}, {"FAIL_RULES", "1"}}, run_it)
             .find("VUID-") != std::string::npos;
}

TEST_F(Vulkan, validation_layers_report_nothing) {
  if (!has_validation()) GTEST_SKIP() << "no validation layer that sees a buffer without a use";
  for (const Variables& settings : {Variables{}, Variables{{"DISCRETE", "1"}}}) {
    Variables with = settings;
    with.emplace_back("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation");
    EXPECT_EQ(said(with, run_it), "right");
    EXPECT_EQ(said(with, read_spaces), "right");
  }
}

// What a driver gets: a barrier behind each phase, and none in it.
TEST_F(Vulkan, records_a_barrier_behind_each_phase) {
  const std::string log = ::testing::TempDir() + "vulkan_phases." + std::to_string(::getpid());
  const auto commands_of = [&](bool in_phases) {
    EXPECT_EQ(said({},
                   [&] {
                     Host host;
                     const auto m = host.load({plus_one()});
                     std::vector<Launch> launches;
                     for (int l = 0; l < 6; ++l)
                       launches.push_back(
                           {0, {{m->allocate(160).value(), 0}, {m->allocate(160).value(), 0}}, {}});
                     const std::vector<std::vector<int>> phases{{3, 0, 1}, {2}, {4, 5}};
                     RunOptions options;
                     if (in_phases) options.phases = phases;
                     ::setenv("COMMANDS", log.c_str(), 1);
                     const auto times = m->run(launches, options);
                     return times.ok() ? std::string("ran") : render(times.diags());
                   }),
              "ran");
    std::stringstream text;
    text << std::ifstream(log).rdbuf();
    std::remove(log.c_str());
    return text.str();
  };
  EXPECT_EQ(commands_of(true), "dddbdbddb");
  EXPECT_EQ(commands_of(false), "dbdbdbdbdbdb");
}

}  // namespace
}  // namespace assay::runtime
