// The kernel of a barrier among all groups.
#include "probe/kernels/barrier.h"

#include <utility>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

using ir::DType;

ir::Value number_of(int var) {
  ir::Value v = code::number(0, DType::i32, 1);
  v.op = ir::ValueOp::lane_index;
  v.index = ir::variable(var);
  return v;
}

}  // namespace

ir::Kernel device_barrier_kernel() {
  ir::Kernel k = code::empty(kBarrierOfAll);
  const int out = code::add_buffer(k, "out", DType::i32, true),
            come = code::add_buffer(k, "come", DType::i32, true);
  const int parameters = code::add_parameters(k);
  const int all = code::add_register(k, "all", DType::i32, 1),
            groups = code::add_register(k, "groups", DType::i32, 1);
  const int looks = code::add_register(k, "looks", DType::i32, 1);
  k.body.push_back(code::declare(all, 3));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int each = code::parameter(k, "each", parameters, ir::constant(1), kMaxIterations);
  const int most = code::parameter(k, "most", parameters, ir::constant(2), kMaxPolls);
  k.body.push_back(code::set(all, code::number(0, DType::i32, 1)));
  k.body.push_back(code::set(groups, number_of(each)));
  k.body.push_back(code::set(looks, number_of(most)));
  const int i = code::add_index(k, "i");
  ir::Block body = {
      code::set(all, code::apply(ir::ValueOp::add, {code::reg(k, all), code::reg(k, groups)}))};
  body.push_back({ir::DeviceBarrier{come, ir::constant(0), code::reg(k, all), looks}});
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(body)));
  k.body.push_back(code::store(out, ir::variable(0), code::reg(k, looks)));
  return k;
}

}  // namespace assay::probe
