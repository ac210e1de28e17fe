// Kernels that update vectors in memory.
#include "probe/kernels/read_modify_write.h"

#include <fmt/format.h>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

using ir::DType;

ir::Kernel update(int lanes) {
  ir::Kernel k = code::empty(update_name(lanes));
  const int sums = code::add_buffer(k, "sums", DType::f32, true),
            parameters = code::add_parameters(k);
  const int factor = code::add_register(k, "factor", DType::f32, lanes),
            value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::declare(factor, 2));
  k.body.push_back(code::set(factor, code::opaque(code::number(0.5, DType::f32, lanes))));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int vectors =
      code::parameter(k, "vectors", parameters, ir::constant(1), kMaxUpdatedVectors);
  const int i = code::add_index(k, "i"), n = code::add_index(k, "n");
  const ir::Index at = ir::variable(n, lanes);
  ir::Block body = {
      code::set(value, code::apply(ir::ValueOp::fma, {code::load(sums, at, DType::f32, lanes),
                                                      code::reg(k, factor), code::reg(k, factor)})),
      code::keep(value), code::store(sums, at, code::reg(k, value))};
  ir::Block pass = {code::loop(n, kMaxUpdatedVectors, ir::variable(vectors), std::move(body))};
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(pass)));
  return k;
}

}  // namespace

std::string update_name(int lanes) { return fmt::format("update_{}", lanes); }

void add_update_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  if (shape.threads) return;  // other waves hide the latency
  for (const int lanes : shape.lanes) to.push_back(update(lanes));
}

}  // namespace assay::probe
