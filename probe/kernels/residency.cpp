// Kernels of resident groups and of registers.
#include "probe/kernels/residency.h"

#include <fmt/format.h>

#include <utility>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

using ir::DType;
using ir::ValueOp;

ir::Stmt arrive(int seen, int counter, double by) {
  return {ir::AtomicAdd{seen, counter, ir::constant(0), 0, code::number(by, DType::i32, 1)}};
}

// `live` numbers that change with every poll. They begin different, since compilers merge equal
// values.
ir::Kernel meet(const std::string& name, int lanes, int live, int64_t own_bytes) {
  ir::Kernel k = code::empty(name);
  const int out = code::add_buffer(k, "out", DType::i32, true),
            counter = code::add_buffer(k, "counter", DType::i32, true);
  const int seen = code::add_register(k, "seen", DType::i32, 1),
            a = code::add_register(k, "a", DType::f32, lanes);
  for (int i = 0; i < live; ++i) code::add_register(k, fmt::format("x{}", i), DType::f32, lanes);
  k.body.push_back(code::declare(seen, 2 + live));
  for (int i = 0; i <= live; ++i)
    k.body.push_back(code::set(a + i, code::opaque(code::number(1 + i, DType::f32, lanes))));
  k.body.push_back(arrive(seen, counter, 1));
  ir::Block body = {arrive(seen, counter, 0)};
  for (int i = 1; i <= live; ++i)
    body.push_back(
        code::set(a + i, code::apply(ValueOp::add, {code::reg(k, a + i), code::reg(k, a)})));
  code::counted_loop(k, std::move(body));
  for (int i = 0; i <= live; ++i) k.body.push_back(code::keep(a + i));
  if (own_bytes > 0) {
    const int own = static_cast<int>(k.buffers.size());
    k.buffers.push_back({"own", DType::i32, own_bytes / 4, ir::Scope::scratch, false});
    k.body.push_back(code::store(own, ir::constant(own_bytes / 4 - 1), code::reg(k, seen)));
    k.body.push_back({ir::Barrier{}});
    k.body.push_back(
        code::set(seen, code::load(own, ir::constant(own_bytes / 4 - 1), DType::i32, 1)));
  }
  k.body.push_back(code::store(out, ir::variable(0), code::reg(k, seen)));
  return k;
}

}  // namespace

ir::Kernel live_kernel(int lanes, int live) {
  ir::Kernel k = code::empty(live_name(live));
  const int out = code::add_buffer(k, "out", DType::f32, true);
  const int a = code::add_register(k, "a", DType::f32, lanes);
  for (int i = 0; i < live; ++i) code::add_register(k, fmt::format("x{}", i), DType::f32, lanes);
  k.body.push_back(code::declare(a, 1 + live));
  for (int i = 0; i <= live; ++i)
    k.body.push_back(code::set(a + i, code::opaque(code::number(1 + i, DType::f32, lanes))));
  ir::Block body;
  for (int r = 0; r < kLiveRounds; ++r)
    for (int i = 1; i <= live; ++i)
      body.push_back(code::set(
          a + i,
          code::apply(ValueOp::fma, {code::reg(k, a + i), code::reg(k, a), code::reg(k, a)})));
  code::counted_loop(k, std::move(body));
  for (int i = 2; i <= live; ++i) k.body.push_back(code::keep(a + i));
  k.body.push_back(code::store(out, ir::variable(0, kSlotFloats), code::reg(k, a + 1)));
  return k;
}

ir::Kernel meet_kernel(int lanes) { return meet(meet_kernel_name(), lanes, 0, 0); }
ir::Kernel meet_registers_kernel(int lanes, int live) {
  return meet(meet_registers(live), lanes, live, 0);
}
ir::Kernel meet_memory_kernel(int lanes, int part, int64_t group_bytes) {
  return meet(meet_memory(part), lanes, 0, group_bytes / part / 4 * 4);
}

std::string meet_kernel_name() { return "meet"; }
std::string meet_registers(int live) { return fmt::format("meet_r{}", live); }
std::string meet_memory(int part) { return fmt::format("meet_m{}", part); }
std::string live_name(int live) { return fmt::format("live_{}", live); }

void add_residency_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  to.push_back(meet_kernel(shape.threads ? shape.lanes.front() : 1));
}

}  // namespace assay::probe
