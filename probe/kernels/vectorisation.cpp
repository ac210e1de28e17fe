// Kernels of scalar operations on neighbouring elements, and of unrolled loads.
#include "probe/kernels/vectorisation.h"

#include <fmt/format.h>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

using ir::DType;
using ir::ValueOp;

// The stride of a step is longer than a run, so that steps are not neighbours; runs of a step are
// further from each other still.
constexpr int64_t kStep = 3 * kNeighbours, kRunSpacing = kStep * kNeighbourSteps + 7;

ir::Kernel neighbours(int run) {
  ir::Kernel k = code::empty(neighbours_name(run));
  // Each pass reads what the one before stored.
  const int all = code::add_buffer(k, "all", DType::f32, true);
  const int parameters = code::add_parameters(k);
  const int factor = code::add_register(k, "factor", DType::f32, 1);
  for (int e = 0; e < kNeighbours; ++e) code::add_register(k, fmt::format("x{}", e), DType::f32, 1);
  k.body.push_back(code::declare(factor, 1 + kNeighbours));
  k.body.push_back(code::set(factor, code::opaque(code::number(0.5, DType::f32, 1))));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i"), step = code::add_index(k, "step");
  const auto at = [&](int e) {
    return ir::variable(step, kStep) + (e / run * kRunSpacing + e % run);
  };
  ir::Block loads, stores;
  for (int e = 0; e < kNeighbours; ++e) {
    const int x = factor + 1 + e;
    const ir::Value loaded = code::load(all, at(e), DType::f32, 1);
    loads.push_back(code::set(
        x, code::apply(ValueOp::fma, {loaded, code::reg(k, factor), code::reg(k, factor)})));
    stores.push_back(code::store(all, at(e), code::reg(k, x)));
  }
  loads.insert(loads.end(), stores.begin(), stores.end());
  ir::Block steps = {
      code::loop(step, kNeighbourSteps, ir::constant(kNeighbourSteps), std::move(loads))};
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(steps)));
  return k;
}

// A loop of a constant number of steps; `unroll` as in ir::For.
ir::Stmt fixed_loop(int var, int64_t steps, int unroll, ir::Block body) {
  return {ir::For{var, steps, {}, unroll, std::move(body)}};
}

// Like the loop over a reduction's steps, for operands in the scratchpad.
ir::Kernel words(int step, int lanes) {
  ir::Kernel k = code::empty(words_name(step));
  const int from = code::add_buffer(k, "from", DType::f32, false),
            parameters = code::add_parameters(k);
  const int own = code::add_buffer(k, "own", DType::f32, false),
            value = code::add_register(k, "value", DType::f32, 1);
  ir::Buffer& memory = k.buffers[static_cast<size_t>(own)];
  memory.scope = ir::Scope::scratch;
  memory.elements = kGroupBytes / 4;
  k.body.push_back(code::fill(k, own, from, lanes));
  k.body.push_back(code::declare(value, 1));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i"), n = code::add_index(k, "iteration");
  ir::Block body = {code::set(value, code::load(own, ir::variable(n, step), DType::f32, 1)),
                    code::keep(value)};
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count),
                              {fixed_loop(n, kWordUnroll, kWordsUnrolled, std::move(body))}));
  return k;
}

// Like loops that copy operands, whose unrolling is the compiler's choice.
ir::Kernel unrolled_loads(int lanes) {
  ir::Kernel k = code::empty(kUnrollName);
  const int from = code::add_buffer(k, "from", DType::f32, false),
            parameters = code::add_parameters(k);
  const int value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::declare(value, 1));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i"), n = code::add_index(k, "iteration");
  ir::Block body = {code::set(value, code::load(from, ir::variable(n, lanes), DType::f32, lanes)),
                    code::keep(value)};
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count),
                              {fixed_loop(n, kLoadUnroll, 0, std::move(body))}));
  return k;
}

}  // namespace

std::string words_name(int step) { return fmt::format("words_{}", step); }

std::string neighbours_name(int run) { return fmt::format("neighbours_{}", run); }

void add_neighbours_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  if (shape.threads) {
    to.push_back(unrolled_loads(shape.lanes.front()));
    for (const int step : kWordSteps)
      if (shape.group_bytes >= kGroupBytes) to.push_back(words(step, shape.lanes.front()));
    return;
  }
  for (const int run : kNeighbourRuns) to.push_back(neighbours(run));
}

}  // namespace assay::probe
