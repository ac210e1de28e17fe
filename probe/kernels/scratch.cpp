// Kernels of the scratchpad: loads of lanes at a stride, and a chase after other memory was read.
#include <fmt/format.h>

#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

using ir::DType;

int add_own(ir::Kernel& k, DType type) {
  const int id = code::add_buffer(k, "own", type, false);
  ir::Buffer& own = k.buffers[static_cast<size_t>(id)];
  own.scope = ir::Scope::scratch;
  own.elements = kGroupBytes / ir::bytes_of(type);
  return id;
}

// Elements from load to load: compilers merge loads of neighbours.
constexpr int64_t kLoadSpacing = 2;

// iterations: kStrideLoads loads, lanes at a stride of `stride` elements.
ir::Kernel strided(int lanes, int64_t stride) {
  constexpr int64_t kAtOnce = 8, kSteps = kStrideLoads / kAtOnce;
  ir::Kernel k = code::empty(strided_name(lanes, stride));
  code::add_buffer(k, "from", DType::f32, false);
  const int parameters = code::add_parameters(k), own = add_own(k, DType::f32),
            value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::fill(k, own, 0, lanes));
  k.body.push_back(code::declare(value, 1));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i"), step = code::add_index(k, "iteration");
  ir::Block body;
  for (int64_t n = 0; n < kAtOnce; ++n) {
    body.push_back(code::set(
        value, code::gather(own, ir::variable(step, kAtOnce * kLoadSpacing) + n * kLoadSpacing,
                            DType::f32, lanes, stride)));
    body.push_back(code::keep(value));
  }
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count),
                              {code::loop(step, kSteps, ir::constant(kSteps), std::move(body))}));
  return k;
}

// iterations: reads `blocks` blocks of `far`, then `rounds` x kChaseSteps hops through the
// scratchpad's copy of the nodes.
ir::Kernel after_sweep(int lanes, bool threads) {
  ir::Kernel k = code::empty(after_sweep_name(lanes));
  code::add_buffer(k, "nodes", DType::i64, false);
  const int far = code::add_buffer(k, "far", DType::f32, false),
            state = code::add_buffer(k, "state", DType::i64, true);
  const int parameters = code::add_parameters(k), own = add_own(k, DType::i64);
  const int p = code::add_register(k, "p", DType::i64, 1),
            value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::fill(k, own, 0, threads ? lanes : 1));
  k.body.push_back(code::declare(p, 2));
  k.body.push_back(code::set(p, code::load(state, ir::variable(0, 8), DType::i64, 1)));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int blocks = code::parameter(k, "blocks", parameters, ir::constant(1), kBlocks);
  const int rounds = code::parameter(k, "rounds", parameters, ir::constant(2), kMaxIterations);
  const int i = code::add_index(k, "i"), block = code::add_index(k, "block"),
            part = code::add_index(k, "part"), step = code::add_index(k, "iteration");
  const int64_t parts = kBlockBytes / 4 / lanes;
  ir::Block sweep = {
      code::set(value,
                code::load(far, ir::variable(block, kBlockBytes / 4) + ir::variable(part, lanes),
                           DType::f32, lanes)),
      code::keep(value)};
  ir::Value hop = code::apply(ir::ValueOp::indirect, {code::reg(k, p)});
  hop.id = own;
  ir::Block hops;
  code::repeat(hops, kChaseSteps, {code::set(p, hop)});
  ir::Block body = {code::loop(block, kBlocks, ir::variable(blocks),
                               {code::loop(part, parts, ir::constant(parts), std::move(sweep))}),
                    code::loop(step, kMaxIterations, ir::variable(rounds), std::move(hops))};
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(body)));
  k.body.push_back(code::store(state, ir::variable(0, 8), code::reg(k, p)));
  return k;
}

}  // namespace

std::string strided_name(int lanes, int64_t stride) {
  return fmt::format("group_stride_{}_{}", stride, lanes);
}
std::string after_sweep_name(int lanes) { return fmt::format("group_after_sweep_{}", lanes); }

bool has_stride(int lanes, int64_t stride) {
  return (lanes - 1) * stride + kStrideLoads * kLoadSpacing <= kGroupBytes / 4;
}

void add_scratch_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  if (shape.group_bytes < kGroupBytes) return;
  for (const int lanes : shape.lanes) {
    to.push_back(after_sweep(lanes, shape.threads));
    for (const int64_t stride : kStrides)
      if (shape.threads && has_stride(lanes, stride)) to.push_back(strided(lanes, stride));
  }
}

}  // namespace assay::probe
