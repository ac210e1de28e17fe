// Kernels of branches and barriers, by the thread.
#include "probe/kernels/branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

using ir::DType;
using ir::ValueOp;

constexpr int kArms = 2, kChains = 8;  // of each branch

// The loop of one branch. A loop of unknown length keeps compilers from predicating it.
ir::Stmt branch_arm(const ir::Kernel& k, int var, int rounds, int first, int operand) {
  ir::Block body;
  for (int n = 0; n < kBranchSteps / kBranchRounds; ++n)
    for (int c = 0; c < kChains; ++c) {
      const ir::Value x = code::reg(k, first + c), a = code::reg(k, operand);
      body.push_back(code::set(first + c, code::apply(ValueOp::fma, {x, a, a})));
    }
  return code::loop(var, kBranchRounds, ir::variable(rounds), std::move(body));
}

ir::Kernel branch(int alternate) {
  ir::Kernel k = code::empty(branch_name(alternate));
  const int out = code::add_buffer(k, "out", DType::f32, true);
  k.lane = code::add_index(k, "lane");
  const int a = code::add_register(k, "a", DType::f32, 1);
  for (int i = 0; i < kArms * kChains; ++i)
    code::add_register(k, fmt::format("x{}", i), DType::f32, 1);
  k.body.push_back(code::declare(a, 1 + kArms * kChains));
  for (int i = 0; i <= kArms * kChains; ++i)
    k.body.push_back(code::set(a + i, code::opaque(code::number(std::max(1, i), DType::f32, 1))));
  const int parameters = code::add_parameters(k);
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int rounds = code::parameter(k, "rounds", parameters, ir::constant(1), kBranchRounds);
  const int i = code::add_index(k, "i"), there = code::add_index(k, "there"),
            here = code::add_index(k, "here");
  const ir::Index side = alternate > 0 ? code::part_of(k.lane, alternate, 2)
                                       : code::part_of(k.lane, int64_t{1} << 20, 2);
  ir::If choice{{{side, 0, 0}}, {}, {}};
  choice.then_body.push_back(branch_arm(k, there, rounds, a + 1, a));
  choice.else_body.push_back(branch_arm(k, here, rounds, a + 1 + kChains, a));
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), {{std::move(choice)}}));
  for (int r = a + 2; r <= a + kArms * kChains; ++r) k.body.push_back(code::keep(r));
  k.body.push_back(
      code::store(out, ir::variable(0, kMostThreads) + ir::variable(k.lane), code::reg(k, a + 1)));
  return k;
}

}  // namespace

ir::Kernel barrier_kernel() {
  ir::Kernel k = code::empty("barriers");
  k.lane = code::add_index(k, "lane");
  ir::Block body;
  code::repeat(body, kBarrierSteps, {{ir::Barrier{}}});
  const int count =
      code::parameter(k, "count", code::add_parameters(k), ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i");
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(body)));
  return k;
}

std::string branch_name(int alternate) { return fmt::format("branch_{}", alternate); }

std::vector<int> alternations(int threads) {
  std::vector<int> out = {0};
  for (int k = 1; k < threads; k *= 2) out.push_back(k);
  return out;
}

std::vector<ir::Kernel> branch_kernels(int threads) {
  std::vector<ir::Kernel> out;
  for (const int k : alternations(threads)) out.push_back(branch(k));
  return out;
}

}  // namespace assay::probe
