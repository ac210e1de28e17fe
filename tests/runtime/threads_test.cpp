// Kernels of one thread per lane against the interpreter, which runs vectors: on OpenCL, CUDA and
// Vulkan devices, 16 threads per group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/interpret.h"
#include "hwdesc/target.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/vectorisation.h"
#include "tests/codegen/kernels.h"
#include "tests/runtime/device_barrier.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using Buffers = std::vector<std::vector<float>>;

// Runs the kernel as printed for threads, and in the interpreter.
void expect_agreement(const Kernel& kernel, const Buffers& buffers) {
  Host host;
  const std::vector<Kernel> one{kernel};
  const auto module = host.device().load(one, lanes_are_threads(), host.options());
  ASSERT_TRUE(module.ok()) << render(module.diags());
  Buffers expected = buffers;
  const auto counts = codegen::interpret(kernel, expected);
  ASSERT_TRUE(counts.ok()) << render(counts.diags());
  const Buffers got = Host::run(**module, 0, buffers);
  for (size_t b = 0; b < got.size(); ++b)
    for (size_t e = 0; e < got[b].size(); ++e) {
      if (std::isnan(got[b][e]) && std::isnan(expected[b][e])) continue;
      // A driver may not fuse a multiply-add, which is then rounded twice.
      if (tested_device().starts_with("vulkan"))
        ASSERT_NEAR(got[b][e], expected[b][e], 1e-6F * (1 + std::abs(expected[b][e])))
            << kernel.name << " buffer " << b << " element " << e;
      else
        ASSERT_FLOAT_EQ(got[b][e], expected[b][e])
            << kernel.name << " buffer " << b << " element " << e;
    }
}

class Threads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Host host; tested_device().find("cpu") != std::string::npos ||
                   (host.device().info().simulated && !host.device().info().threads))
      GTEST_SKIP() << "no kernels of a thread per lane there";
  }
};

TEST_F(Threads, tails_touch_only_their_own_elements) {
  for (const int64_t n : {1, 15, 16, 17, 203}) {
    Host host;
    expect_agreement(elementwise("double", n,
                                 [](Value v) {
                                   return op(ValueOp::add, {v, v});
                                 }),
                     {host.random(static_cast<size_t>(n)), host.poison(static_cast<size_t>(n))});
  }
}

TEST_F(Threads, device_barriers_succeed_or_end) {
  Host host;
  expect_barriers(
      [&](const Kernel& k) {
        auto module = host.device().load(std::vector{k}, lanes_are_threads(), host.options());
        if (!module.ok()) ADD_FAILURE() << render(module.diags());
        return module.ok() ? std::move(module).value() : nullptr;
      },
      host.device().info().simulated);
}

TEST_F(Threads, lanes_know_their_numbers_and_scatter) {
  Host host;
  Kernel k;
  k.name = "scatter";
  k.buffers = {input("x", 200), output("y", 200)};
  k.index_names = {"group"};
  k.groups = 3;
  Value lanes;
  lanes.op = ValueOp::lane_index;
  lanes.lanes = 32;
  lanes.index = variable(0, 100);
  lanes.stride = 3;
  Stmt to = store(1, variable(0, 66),
                  op(ValueOp::add, {gather(0, variable(0, 60), 2, 32, 29), lanes}), 31);
  std::get<Store>(to.node).stride = 2;
  k.body = {to};
  expect_agreement(k, {host.random(200), host.poison(200)});
}

// Lanes read what others staged, again in every iteration.
TEST_F(Threads, synchronise_before_and_after_copies_into_scratch) {
  Host host;
  Kernel k;
  k.name = "reverse";
  k.buffers = {input("x", 16 * 7 * 5), output("y", 16 * 5), scratch("row", 16), scratch("one", 1)};
  k.index_names = {"group", "i", "j"};
  k.registers = {{"sum", DType::f32, 16}};
  k.groups = 5;
  const Index at = variable(0, 16 * 7) + variable(1, 16);
  k.body = {declare({0}), assign(0, constant_of(0, 16)),
            loop(1, 7,
                 {loop(2, 1, {store(2, variable(2, 16), load(0, at + variable(2, 16), 16))}),
                  store(3, {}, load(0, at, 1)),
                  assign(0, op(ValueOp::fma, {gather(2, ir::constant(15), -1, 16), splat(3, {}, 16),
                                              reg(0, 16)}))}),
            store(1, variable(0, 16), reg(0, 16))};
  expect_agreement(k, {host.random(16 * 7 * 5), host.poison(80)});
}

TEST_F(Threads, waves_of_a_group_share_scratch) {
  Host host;
  const Kernel k = rotate(7, 5);
  expect_agreement(k, {host.random(48 * 7 * 5), host.poison(48 * 5)});
}

// 96 elements of each group by two waves of 16: a lane has runs of `numbers`, the last ones none.
Kernel copies_runs(int numbers) {
  constexpr int kOfGroup = 96;
  const int runs = (kOfGroup / numbers + 31) / 32;
  Kernel k;
  k.name = "copies_runs";
  k.buffers = {input("x", 3 * kOfGroup), output("y", 3 * kOfGroup), scratch("part", kOfGroup)};
  k.index_names = {"group", "wave", "lane", "i"};
  k.groups = 3;
  k.waves = 2;
  k.wave = 1;
  k.vector_lane = 2;
  ir::Copy copy{0, 2, 16, numbers, {}};
  for (int r = 0; r < runs; ++r) {
    const ir::Index number = variable(2) + variable(1, 16) + 32 * r;
    copy.runs.push_back({variable(0, kOfGroup) + number * numbers,
                         number * numbers,
                         {{number, 0, kOfGroup / numbers - 1}}});
  }
  const ir::Index each = variable(1, 16) + variable(3, 32);
  k.registers = {{"v", DType::f32, 16}};
  k.body = {
      Stmt{ir::Barrier{}}, Stmt{copy}, Stmt{ir::Barrier{}}, declare({0}),
      loop(3, 3,
           {assign(0, load(2, each, 16)), store(1, variable(0, kOfGroup) + each, reg(0, 16))})};
  return k;
}

TEST_F(Threads, copy_runs_into_scratch) {
  Host host;
  for (const int numbers : {1, 2, 4})
    expect_agreement(copies_runs(numbers), {host.random(288), host.poison(288)});
}

// Lane l has elements 4 l to 4 l + 3 in four registers, turns them around and stores them.
TEST_F(Threads, move_runs_of_registers) {
  Host host;
  for (const int numbers : {1, 2, 4}) {
    Kernel k;
    k.name = "turns_runs";
    k.buffers = {input("x", 16 * 4 * 3), output("y", 16 * 4 * 3)};
    k.index_names = {"group", "lane"};
    k.groups = 3;
    k.vector_lane = 1;
    std::vector<int> forth, back;
    for (int i = 0; i < numbers; ++i) {
      k.registers.push_back({"v" + std::to_string(i), DType::f32, 16});
      forth.push_back(i);
      back.insert(back.begin(), i);
    }
    const ir::Index at = variable(0, 64) + variable(1, numbers);
    k.body = {declare(forth), Stmt{ir::MoveRun{false, forth, 0, at, {{variable(1), 2, 13}}}},
              Stmt{ir::MoveRun{true, back, 1, at, {{variable(1), 0, 14}}}}};
    expect_agreement(k, {host.random(192), host.poison(192)});
  }
}

// Five vectors among three waves: two, two and one.
TEST_F(Threads, waves_may_have_loops_of_different_lengths) {
  Host host;
  Kernel k;
  k.name = "shares";
  k.buffers = {input("x", 16 * 5 * 4), output("y", 16 * 5 * 4)};
  k.index_names = {"group", "wave", "i"};
  k.groups = 4;
  k.waves = 3;
  k.wave = 1;
  const Index at = variable(0, 80) + variable(1, 32) + variable(2, 16);
  k.body = {loop(2, 2, {store(1, at, op(ValueOp::add, {load(0, at, 16), load(0, at, 16)}))}, 0,
                 {constant(5) + variable(1, -2)})};
  expect_agreement(k, {host.random(16 * 5 * 4), host.poison(16 * 5 * 4)});
}

// By four as in a reduction, by sixteen, or by the compiler's choice.
TEST_F(Threads, loops_are_unrolled_as_the_probe_asks) {
  Host host;
  std::vector<Kernel> kernels;
  for (const Kernel& k : probe::all_kernels({true, {32}, int64_t{32} << 10}))
    if (k.name == probe::kUnrollName || k.name.starts_with("words_")) kernels.push_back(k);
  ASSERT_EQ(kernels.size(), 1 + probe::kWordSteps.size());
  const auto module = host.device().load(kernels, lanes_are_threads(32), host.options());
  EXPECT_TRUE(module.ok()) << render(module.diags());
}

// Both arms of a branch declare a variable of the same name.
TEST_F(Threads, variables_may_share_a_name) {
  Host host;
  Kernel k;
  k.name = "names";
  k.buffers = {input("a", 32), output("b", 16 * 6)};
  k.index_names = {"group", "n", "n"};
  k.groups = 6;
  Index third;
  third.terms = {ir::Term{1, 0, {}, 1, 3}};
  const auto way = [&](int var) -> Block {
    const auto take = [](int64_t from) -> Block {
      return {store(1, variable(0, 16), load(0, constant(from), 16))};
    };
    return {let(var, third), Stmt{If{{{variable(var), 0, 0}}, take(0), take(16)}}};
  };
  k.body = {Stmt{If{{{variable(0), 0, 2}}, way(1), way(2)}}};
  expect_agreement(k, {host.random(32), host.poison(16 * 6)});
}

TEST_F(Threads, groups_of_more_threads_than_the_device_allows_are_refused) {
  Host host;
  const auto& facts = host.device().info().facts;
  if (host.device().info().simulated && std::none_of(facts.begin(), facts.end(), [](const auto& f) {
        return f.first == "group_threads";
      }))
    GTEST_SKIP() << "a chip whose profile has no such limit";
  Kernel k = rotate(7, 5);
  k.waves = 1 << 20;
  const std::vector<Kernel> one{k};
  const auto module = host.device().load(one, lanes_are_threads(), host.options());
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(render(module.diags()),
              HasSubstr("kernel 'rotate' has 1048576 waves of 16 threads in a group"));
}

TEST_F(Threads, run_the_groups_that_queues_name) {
  Host host;
  const Kernel k = elementwise("double", 64 * 6, [](Value v) { return op(ValueOp::add, {v, v}); });
  const std::vector<Kernel> one{k};
  const auto module = host.device().load(one, lanes_are_threads(), host.options());
  ASSERT_TRUE(module.ok()) << render(module.diags());
  const auto x = host.random(64 * 6);
  const Buffers got = Host::run(**module, 0, {x, host.poison(64 * 6)}, {{0, 3, 4}, {1, 0, 2}});
  for (size_t i = 0; i < x.size(); ++i) {
    const bool ran = i / 64 == 3 || i / 64 < 2;
    if (ran)
      ASSERT_EQ(got[1][i], x[i] + x[i]) << i;
    else
      ASSERT_TRUE(std::isnan(got[1][i])) << i;
  }
}

TEST_F(Threads, vectors_of_other_widths_are_refused) {
  Host host;
  Kernel k = elementwise("narrow", 64, [](Value v) { return v; });
  k.registers = {{"four", DType::f32, 4}};
  k.body.insert(k.body.begin(), {declare({0}), assign(0, constant_of(0, 4))});
  const std::vector<Kernel> one{k};
  const auto module = host.device().load(one, lanes_are_threads(), host.options());
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(render(module.diags()),
              HasSubstr("kernel 'narrow': vectors of 4 elements can not be dealt to 16 threads"));
}

}  // namespace
}  // namespace assay::runtime
