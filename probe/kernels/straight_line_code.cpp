// Kernels of straight-line code: short instructions, so that fetching them is the bottleneck.
#include "probe/kernels/straight_line_code.h"

#include <fmt/format.h>

#include <set>

#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

using ir::DType;
using ir::ValueOp;

constexpr int kChains = 8;

}  // namespace

// Cores add integers, threads multiply and add.
ir::Kernel straight_line_kernel(int steps, bool threads, int lanes) {
  ir::Kernel k = code::empty(straight_line_name(steps));
  const DType type = threads ? DType::f32 : DType::i64;
  const int a = code::add_register(k, "a", type, lanes);
  for (int c = 0; c < kChains; ++c) code::add_register(k, fmt::format("x{}", c), type, lanes);
  k.body.push_back(code::declare(a, 1 + kChains));
  for (int r = a; r <= a + kChains; ++r)
    k.body.push_back(code::set(r, code::opaque(code::number(1 + r - a, type, lanes))));
  ir::Block body;
  for (int n = 0; n < steps; ++n) {
    const int to = a + 1 + n % kChains;
    const ir::Value x = code::reg(k, to), y = code::reg(k, a);
    body.push_back(code::set(to, threads ? code::apply(ValueOp::fma, {x, y, y})
                                         : code::opaque(code::apply(ValueOp::add, {x, y}))));
  }
  code::counted_loop(k, std::move(body));
  for (int r = a + 1; r <= a + kChains; ++r) k.body.push_back(code::keep(r));
  return k;
}

std::vector<int> straight_line_steps(const KernelShape& shape) {
  if (!shape.long_code) return {256, 1024, 2048};
  return {256, 1024, 4096, 8192, 10240, 12288};
}

std::vector<int> cold_code_steps() { return {32, 64, 128, 512}; }

std::string straight_line_name(int steps) { return fmt::format("straight_{}", steps); }

void add_straight_line_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  if (shape.threads) return;
  std::set<int> all = {kOtherCodeSteps};
  for (const int steps : straight_line_steps(shape)) all.insert(steps);
  for (const int steps : cold_code_steps()) all.insert(steps);
  for (const int steps : all) to.push_back(straight_line_kernel(steps, false, 1));
}

}  // namespace assay::probe
