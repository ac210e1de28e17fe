#include "runtime/virtual/loops.h"

#include <algorithm>
#include <utility>

namespace assay::runtime::simulated {
namespace {

using ir::ValueOp;

template <class F>
void for_operands(const Code& code, const Op& op, F&& f) {
  for (const int r : {op.a, op.b, op.c})
    if (r >= 0) f(r);
  if (op.kind != OpKind::matrix) return;
  const Matrix& m = code.matrices[static_cast<size_t>(op.matrix)];
  for (const std::vector<int>* regs : {&m.a, &m.b, &m.c})
    for (const int r : *regs) f(r);
}

template <class F>
void for_results(const Code& code, const Op& op, F&& f) {
  if (op.kind == OpKind::deal) {
    for (const int r : code.dealt[static_cast<size_t>(op.matrix)].regs) f(r);
    return;
  }
  if (op.kind != OpKind::matrix) {
    if (op.dst >= 0) f(op.dst);
    return;
  }
  for (const int r : code.matrices[static_cast<size_t>(op.matrix)].d) f(r);
}

bool is_needed(const Code& code, const Op& op) {
  bool needed = false;
  for_results(code, op, [&](int r) { needed |= code.regs[static_cast<size_t>(r)].needed; });
  return needed;
}

// A value is needed if it is stored, used as an index, or an operand of a needed value.
void find_needed(Code& code) {
  for (Reg& r : code.regs) r.needed = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Op& op : code.ops) {
      const bool matters = op.kind == OpKind::store || op.kind == OpKind::atomic ||
                           op.kind == OpKind::poll || op.kind == OpKind::indirect ||
                           is_needed(code, op);
      if (!matters) continue;
      for_operands(code, op, [&](int r) {
        changed |= !std::exchange(code.regs[static_cast<size_t>(r)].needed, true);
      });
    }
  }
  for (Op& op : code.ops)
    op.needed =
        op.kind == OpKind::atomic || op.kind == OpKind::poll || op.dst < 0 || is_needed(code, op);
}

struct Body {
  const Code& code;
  const Loop& loop;

  template <class F>
  void each(F&& f) const {
    for (int i = loop.body; i < loop.next; ++i) f(code.ops[static_cast<size_t>(i)]);
  }
  // Is a variable used in any address, bound or condition inside?
  bool uses(int var) const {
    const auto& places = code.places_of[static_cast<size_t>(var)];
    const auto in = [&](const Address& a) {
      if (a.slow >= 0) return ir::depends_on(code.indices[static_cast<size_t>(a.slow)], var);
      return a.place >= 0 && std::find(places.begin(), places.end(), a.place) != places.end();
    };
    bool found = false;
    each([&](const Op& op) {
      found |= in(op.at);
      if (op.tests >= 0)
        for (const Test& t : code.tests[static_cast<size_t>(op.tests)]) found |= in(t.at);
      if (op.kind == OpKind::loop)
        for (const Address& b : code.loops[static_cast<size_t>(op.loop)].bounds) found |= in(b);
    });
    return found;
  }
};

bool touches_memory(OpKind k) {
  return k == OpKind::load || k == OpKind::store || k == OpKind::indirect || k == OpKind::locate ||
         k == OpKind::atomic;
}

// No needed value is carried to the next iteration: needed registers are written before they are
// read, and stored buffers are not loaded for their values.
bool is_repeatable(const Body& body) {
  const Code& code = body.code;
  std::vector<bool> written(code.regs.size(), false), carried(code.regs.size(), false),
      assigned(code.regs.size(), false);
  std::vector<bool> stored(code.buffers.size(), false), read(code.buffers.size(), false);
  body.each([&](const Op& op) {
    if (op.needed)
      for_operands(code, op, [&](int r) {
        if (!written[static_cast<size_t>(r)]) carried[static_cast<size_t>(r)] = true;
      });
    for_results(code, op, [&](int r) {
      assigned[static_cast<size_t>(r)] = written[static_cast<size_t>(r)] = true;
    });
    if (op.kind == OpKind::store) stored[static_cast<size_t>(op.buffer)] = true;
    if ((op.kind == OpKind::load || op.kind == OpKind::indirect) && op.needed)
      read[static_cast<size_t>(op.buffer)] = true;
  });
  bool result = true;
  body.each([&](const Op& op) { result &= op.kind != OpKind::atomic; });
  for (size_t r = 0; r < code.regs.size(); ++r)
    if (code.regs[r].needed && carried[r] && assigned[r]) result = false;
  for (size_t b = 0; b < code.buffers.size(); ++b)
    if (stored[b] && read[b]) result = false;
  return result;
}

bool is_straight(const Body& body) {
  bool straight = true;
  body.each([&](const Op& op) {
    straight &= op.kind == OpKind::constant || op.kind == OpKind::copy ||
                op.kind == OpKind::apply || op.kind == OpKind::matrix;
  });
  return straight;
}

// Sums, and products with loop invariants: an affine map x -> A x + b of all registers.
bool is_affine(const Body& body) {
  std::vector<bool> changes(body.code.regs.size(), false);
  body.each([&](const Op& op) {
    if (op.kind != OpKind::constant)
      for_results(body.code, op, [&](int r) { changes[static_cast<size_t>(r)] = true; });
  });
  const auto fixed = [&](int r) { return !changes[static_cast<size_t>(r)]; };
  bool affine = true;
  body.each([&](const Op& op) {
    if (op.kind == OpKind::matrix && op.needed) {
      const Matrix& m = body.code.matrices[static_cast<size_t>(op.matrix)];
      affine &=
          std::all_of(m.a.begin(), m.a.end(), fixed) && std::all_of(m.b.begin(), m.b.end(), fixed);
    }
    if (op.kind != OpKind::apply || !op.needed) return;
    const bool product = op.op == ValueOp::mul || op.op == ValueOp::fma;
    const bool sum = op.op == ValueOp::add || op.op == ValueOp::sub || op.op == ValueOp::neg;
    affine &= sum || (product && (fixed(op.a) || fixed(op.b)));
  });
  return affine;
}

}  // namespace

void describe_loops(Code& code) {
  find_needed(code);
  Loop whole;
  whole.next = static_cast<int>(code.ops.size());
  for (const Op& op : code.ops) code.touches_memory |= touches_memory(op.kind);
  code.repeatable = is_repeatable({code, whole});
  for (Loop& loop : code.loops) {
    const Body body{code, loop};
    bool indirect = false, special = false;
    body.each([&](const Op& op) {
      loop.innermost &= op.kind != OpKind::loop;
      loop.touches_memory |= touches_memory(op.kind);
      indirect |= op.kind == OpKind::indirect || op.kind == OpKind::locate;
      special |= op.kind == OpKind::barrier || op.kind == OpKind::atomic || op.kind == OpKind::let;
    });
    loop.same_addresses = !indirect && !special && !body.uses(loop.var);
    loop.repeatable = is_repeatable(body);
    loop.straight = is_straight(body);
    loop.affine = loop.straight && is_affine(body);
  }
  code.computes = !code.loops.empty() && std::all_of(code.loops.begin(), code.loops.end(),
                                                     [](const Loop& l) { return l.straight; });
}

}  // namespace assay::runtime::simulated
