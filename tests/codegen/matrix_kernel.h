// A kernel around one matrix instruction.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace assay::testing {

// One instruction. Its registers are loaded lane by lane, and the result is stored.
inline ir::Kernel single(const ir::MatrixInstruction& i) {
  ir::Kernel k;
  k.name = "single";
  k.index_names = {"group"};
  k.instructions = {i};
  const int lanes = i.workers();
  ir::MatrixMultiply s{0, {}, {}, {}, {}};
  const auto operand = [&](const char* name, const ir::Fragment& f, bool written,
                           std::vector<int>& regs) {
    const int buffer = static_cast<int>(k.buffers.size());
    k.buffers.push_back(
        {name, f.element, int64_t{f.registers()} * lanes, ir::Scope::global, written});
    for (int r = 0; r < f.registers(); ++r) {
      regs.push_back(static_cast<int>(k.registers.size()));
      k.registers.push_back({std::string(name) + std::to_string(r), f.element, lanes});
      k.body.push_back({ir::Declare{{regs.back()}}});
      if (written) continue;
      ir::Value load;
      load.op = ir::ValueOp::load;
      load.dtype = f.element;
      load.lanes = load.count = lanes;
      load.id = buffer;
      load.index = ir::constant(int64_t{r} * lanes);
      k.body.push_back({ir::Assign{regs.back(), load}});
    }
  };
  operand("a", i.a, false, s.a);
  operand("b", i.b, false, s.b);
  operand("c", i.c, false, s.c);
  operand("d", i.c, true, s.d);
  k.body.push_back({s});
  for (size_t r = 0; r < s.d.size(); ++r) {
    ir::Store store;
    store.id = 3;
    store.index = ir::constant(static_cast<int64_t>(r) * lanes);
    store.count = lanes;
    store.value.op = ir::ValueOp::reg;
    store.value.dtype = i.c.element;
    store.value.lanes = lanes;
    store.value.id = s.d[r];
    k.body.push_back({store});
  }
  return k;
}

}  // namespace assay::testing
