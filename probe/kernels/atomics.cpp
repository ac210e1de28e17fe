// Kernels of atomic additions.
#include "probe/kernels/atomics.h"

#include <utility>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

using ir::DType;

ir::Stmt add_atomically(int reg, int buffer, ir::Index at, int64_t stride, ir::Value v) {
  return {ir::AtomicAdd{reg, buffer, std::move(at), stride, std::move(v)}};
}

// Buffers: out, parameters, and the scratchpad, which must be the last.
ir::Kernel kernel_of(const std::string& kind, int lanes, bool own) {
  ir::Kernel k = code::empty(atomic_kernel((own ? "group_" : "") + kind, lanes));
  const int out = code::add_buffer(k, "out", DType::i32, true);
  const int value = code::add_register(k, "value", DType::i32, lanes);
  const int seen = code::add_register(k, "seen", DType::i32, 1);
  k.body.push_back(code::declare(value, 2));
  k.body.push_back(code::set(value, code::opaque(code::number(1, DType::i32, lanes))));
  const int target = own ? out + 2 : out;
  const ir::Index first = own || kind == "same" ? ir::constant(0) : ir::variable(0, kSlotFloats);
  if (own) k.body.push_back(code::store(target, first, code::number(0, DType::i32, lanes)));
  ir::Block body;
  code::repeat(body, kAtomicSteps,
               {add_atomically(kind == "chain" ? value : -1, target, first, kind == "same" ? 0 : 1,
                               code::reg(k, value))});
  code::counted_loop(k, std::move(body));
  k.body.push_back(code::keep(value));
  if (!own) return k;
  k.buffers.push_back({"own", DType::i32, kSlotFloats, ir::Scope::scratch, false});
  k.body.push_back({ir::Barrier{}});
  k.body.push_back(code::set(seen, code::load(target, first, DType::i32, 1)));
  k.body.push_back(code::store(out, ir::variable(0, kSlotFloats), code::reg(k, seen)));
  return k;
}

}  // namespace

void add_atomic_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  const int lanes = atomic_lanes(shape.lanes.front(), shape.threads);
  for (const char* kind : kAtomicKinds) {
    to.push_back(kernel_of(kind, lanes, false));
    if (shape.threads && shape.group_bytes >= 4 * kSlotFloats)
      to.push_back(kernel_of(kind, lanes, true));
  }
}

}  // namespace assay::probe
