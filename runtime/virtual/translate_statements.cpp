// Statements as operations, branches and loops.
#include <limits>
#include <utility>

#include "runtime/virtual/translator.h"

namespace assay::runtime::simulated {

// Vectors store whole: conditions of single lanes are threads' own, in front of their stores.
void Translator::add(const ir::Store& s) {
  const int from = operand(s.value);
  const Address at = address(s.index);
  Op& op = emit(OpKind::store);
  op.dtype = s.value.dtype;
  op.buffer = s.id;
  op.a = from;
  op.lanes = lanes_of(s.value.lanes);
  op.count = code_.width > 1 ? code_.width : s.count;
  op.stride = code_.width > 1 ? at.lane_step : s.stride;
  op.hint = s.hint;
  op.at = at;
}

// A load or store of each thread's run. Its elements lie together in the register, too.
void Translator::access_run(OpKind kind, int buffer, const ir::Index& index, int reg, int numbers) {
  const Address at = address(index);
  Op& op = emit(kind);
  op.dtype = k_.buffers[static_cast<size_t>(buffer)].dtype;
  op.buffer = buffer;
  (kind == OpKind::load ? op.dst : op.a) = reg;
  op.lanes = op.count = code_.width;
  op.numbers = numbers;
  op.at = at;
  op.stride = step_in_runs(at.lane_step, numbers);
}

void Translator::add(const ir::Copy& s) {
  if (code_.width == 1) return fail("copies whose lanes are no threads");
  const auto where = [&](const ir::Run& r, const auto& body) {
    if (r.conditions.empty()) return body();
    branch(r.conditions, body, [] {});
  };
  std::vector<int> held;
  for (const ir::Run& r : s.runs) {
    held.push_back(run_register(s.from, s.numbers));
    where(r, [&] { access_run(OpKind::load, s.from, r.from, held.back(), s.numbers); });
  }
  for (size_t i = 0; i < s.runs.size(); ++i)
    where(s.runs[i], [&] { access_run(OpKind::store, s.to, s.runs[i].to, held[i], s.numbers); });
}

// Registers are parts of the run's own: naming one costs nothing.
void Translator::add(const ir::MoveRun& s) {
  if (code_.width == 1) return fail("runs whose lanes are no threads");
  const auto numbers = static_cast<int>(s.regs.size());
  const int run = numbers == 1 ? s.regs[0] : run_register(s.id, numbers);
  const auto parts = [&] {
    for (int i = 0; i < numbers && numbers > 1; ++i) {
      Op& op = emit(OpKind::part);
      op.dtype = k_.buffers[static_cast<size_t>(s.id)].dtype;
      op.lanes = op.count = code_.width;
      op.dst = s.store ? run : s.regs[static_cast<size_t>(i)];
      op.a = s.store ? s.regs[static_cast<size_t>(i)] : run;
      op.numbers = numbers;
      op.var = i;
      op.stride = s.store ? 1 : 0;
    }
  };
  const auto move = [&] {
    if (s.store) parts();
    access_run(s.store ? OpKind::store : OpKind::load, s.id, s.index, run, numbers);
    if (!s.store) parts();
  };
  if (s.conditions.empty()) return move();
  branch(s.conditions, move, [&] {
    for (const int r : s.store ? std::vector<int>{} : s.regs) {
      Op& op = emit(OpKind::constant);
      op.dtype = k_.buffers[static_cast<size_t>(s.id)].dtype;
      op.lanes = op.count = code_.width;
      op.dst = r;
    }
  });
}

void Translator::add(const ir::AtomicAdd& s) {
  const int from = operand(s.value);
  const Address at = address(s.index);
  Op& op = emit(OpKind::atomic);
  op.dtype = s.value.dtype;
  op.buffer = s.id;
  op.dst = s.reg;
  op.a = from;
  op.lanes = lanes_of(s.value.lanes);
  op.count = op.lanes;
  op.stride = code_.width > 1 ? at.lane_step : s.stride;
  op.at = at;
}

void Translator::add(const ir::DeviceBarrier& s) {
  ir::Value number = s.all;
  number.op = ir::ValueOp::constant;
  const auto constant = [&](double v) {
    number.number = v;
    return operand(number);
  };
  const int all = operand(s.all), one = constant(1), none = constant(0), found = temporary(number);
  add(ir::AtomicAdd{found, s.id, s.index, 0, register_of(one)});
  const int first = here();
  emit(OpKind::jump);
  add(ir::AtomicAdd{found, s.id, s.index, 0, register_of(none)});
  code_.ops[static_cast<size_t>(first)].target = here();
  Op& op = emit(OpKind::poll);
  op.dtype = ir::DType::i32;
  op.a = found;
  op.b = all;
  op.c = op.dst = s.looks;
  op.target = first + 1;
}

void Translator::add(const ir::MatrixMultiply& s) {
  Op& op = emit(OpKind::matrix);
  op.matrix = static_cast<int>(code_.matrices.size());
  op.dtype = k_.instructions[static_cast<size_t>(s.instruction)].c.number;
  op.lanes = op.count = k_.instructions[static_cast<size_t>(s.instruction)].workers();
  op.dst = s.d.front();
  code_.matrices.push_back(
      {k_.instructions[static_cast<size_t>(s.instruction)], s.d, s.a, s.b, s.c});
}

// A load or store of all elements, each at an address of its own.
void Translator::add(const ir::MoveFragment& s) {
  if (code_.width > 1) return fail("opaque fragments of waves");
  const ir::Register& r = k_.registers[static_cast<size_t>(s.reg)];
  const ir::Fragment& f = *ir::fragment_in(k_, r);
  Address at = address(s.index);
  std::vector<int64_t> offsets;
  for (int lane = 0; lane < r.lanes; ++lane)
    offsets.push_back(ir::memory_offset(f, r.fragment.layout, f.mapping.task(lane, 0), s.stride));
  at.offsets = static_cast<int>(code_.lane_offsets.size());
  code_.lane_offsets.push_back({std::move(offsets), {}});
  Op& op = emit(s.store ? OpKind::store : OpKind::load);
  op.dtype = r.dtype;
  op.buffer = s.id;
  (s.store ? op.a : op.dst) = s.reg;
  op.lanes = op.count = r.lanes;
  op.at = at;
}

// A load of each lane's run, which are then dealt to the lanes.
void Translator::add(const ir::LoadFragment& s) {
  const ir::Fragment& f = k_.instructions[static_cast<size_t>(s.instruction)].operand(s.operand);
  const int n = ir::run_elements(f, s.by_row), run = run_register(s.id, n);
  access_run(OpKind::load, s.id, s.index, run, n);
  Op& op = emit(OpKind::deal);
  op.dtype = f.element;
  op.matrix = static_cast<int>(code_.dealt.size());
  op.a = run;
  op.dst = s.regs.front();
  op.numbers = n;
  op.lanes = op.count = code_.width;
  code_.dealt.push_back({f, s.by_row, s.regs});
}

void Translator::add(const ir::LetIndex& s) {
  const Address at = address(s.value);
  if (by_lane(at)) {  // it differs between threads: substitute its expression
    meaning_[static_cast<size_t>(s.var)] = ir::substitute(s.value, [&](int var) {
      const ir::Index& m = meaning_[static_cast<size_t>(var)];
      return m.terms.empty() && m.offset == 0 ? ir::variable(var) : m;
    });
    return;
  }
  Op& op = emit(OpKind::let);
  op.var = s.var;
  op.at = at;
}

void Translator::add(const ir::Locate& s) {
  const Address at = address(s.index);
  if (by_lane(at)) fail("a position that differs between threads");
  Op& op = emit(OpKind::locate);
  op.dtype = k_.buffers[static_cast<size_t>(s.id)].dtype;
  op.buffer = s.id;
  op.var = s.var;
  op.stride = 0;
  op.number = static_cast<double>(s.extent);
  op.at = at;
}

void Translator::add(const ir::For& s) {
  Loop loop;
  loop.var = s.var;
  loop.limit = s.limit;
  loop.unroll = s.unroll;
  // Threads with fewer iterations are masked until the others end.
  std::vector<ir::Condition> active;
  for (const ir::Index& b : s.bounds) {
    const Address at = address(b);
    if (by_lane(at))
      active.push_back({b + ir::variable(s.var) * -1, 1, std::numeric_limits<int64_t>::max()});
    else
      loop.bounds.push_back(at);
  }
  const int id = static_cast<int>(code_.loops.size()), begin = here();
  loop.body = begin + 1;
  code_.loops.push_back(std::move(loop));
  emit(OpKind::loop);
  if (active.empty())
    add(s.body);
  else
    branch(
        active, [&] { add(s.body); }, [] {});
  const int next = here();
  emit(OpKind::next);
  for (const int at : {begin, next}) {
    Op& op = code_.ops[static_cast<size_t>(at)];
    op.var = s.var;
    op.loop = id;
    op.target = at == begin ? here() : begin + 1;
  }
  code_.loops[static_cast<size_t>(id)].next = next;
}

void Translator::add(const ir::If& s) {
  branch(
      s.conditions, [&] { add(s.then_body); }, [&] { add(s.else_body); });
}

}  // namespace assay::runtime::simulated
