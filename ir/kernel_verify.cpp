// verify(Kernel): everything that the printer and the interpreter assume. Statements.
#include <algorithm>

#include "ir/kernel_checker.h"

namespace assay::ir {

void Checker::check_space(const Buffer& b) {
  if (b.space == Space::plain) return;
  if (b.scope != Scope::global || b.written)
    fail(fmt::format("'{}' is {}: only arguments that are read can be", b.name,
                     b.space == Space::image ? "an image" : "constant"));
  if (b.space != Space::image) return;
  if (b.texel != 1 && b.texel != 2 && b.texel != 4)
    fail(fmt::format("image '{}' has texels of {} numbers", b.name, b.texel));
  if (b.row < 1 || (b.row & (b.row - 1)) != 0)
    fail(fmt::format("image '{}' has rows of {} texels, which is no power of two", b.name, b.row));
  if (b.dtype != DType::f32 && b.dtype != DType::i32)
    fail(fmt::format("image '{}' holds {}", b.name, name_of(b.dtype)));
}

void Checker::bind(int var) {
  if (!in_range(var, k.index_names.size()))
    return fail(fmt::format("there is no index variable {}", var));
  const auto i = static_cast<size_t>(var);
  if (var_bound[i]) fail(fmt::format("index variable '{}' is bound twice", k.index_names[i]));
  var_bound[i] = var_visible[i] = true;
}

void Checker::check_block(const Block& block) {
  const auto vars = var_visible;
  const auto regs = reg_visible;
  for (const Stmt& s : block) std::visit([&](const auto& node) { check(node); }, s.node);
  var_visible = vars;
  reg_visible = regs;
}

void Checker::check(const For& s) {
  for (const Index& b : s.bounds) check_index(b);
  if (s.unroll < 0) fail(fmt::format("a loop is unrolled {} times", s.unroll));
  const auto vars = var_visible;
  const bool own =
      std::any_of(s.bounds.begin(), s.bounds.end(), [&](const Index& b) { return is_own(b); });
  bind(s.var);
  divergent += own ? 1 : 0;
  check_block(s.body);
  divergent -= own ? 1 : 0;
  var_visible = vars;
}

void Checker::check(const If& s) {
  if (s.own_function && (!s.conditions.empty() || !s.else_body.empty()))
    fail("a part that is a function of its own has conditions");
  check_conditions(s.conditions);
  const bool own = std::any_of(s.conditions.begin(), s.conditions.end(),
                               [&](const Condition& c) { return is_own(c.index); });
  divergent += own ? 1 : 0;
  check_block(s.then_body);
  check_block(s.else_body);
  divergent -= own ? 1 : 0;
}

void Checker::check(const LetIndex& s) {
  check_index(s.value);
  bind(s.var);
  if (in_range(s.var, var_own.size())) var_own[static_cast<size_t>(s.var)] = is_own(s.value);
}

void Checker::check(const Locate& s) {
  check_index(s.index);
  buffer_ok(s.id);
  if (s.extent < 1) fail(fmt::format("a position among {}", s.extent));
  bind(s.var);
  if (in_range(s.var, var_own.size())) var_own[static_cast<size_t>(s.var)] = is_own(s.index);
}

void Checker::check(const Assign& s) {
  check_value(s.value);
  if (!register_ok(s.reg)) return;
  const Register& r = k.registers[static_cast<size_t>(s.reg)];
  if (r.fragment.instruction >= 0 && (s.value.op != ValueOp::constant || s.value.number != 0 ||
                                      opaque(s.reg, "zeroed") == nullptr))
    fail(fmt::format("register '{}' holds an opaque fragment, which is zeroed or loaded", r.name));
  if (r.lanes != s.value.lanes || r.dtype != s.value.dtype)
    fail(fmt::format("register '{}' has {} lanes and is assigned {}, or another type", r.name,
                     r.lanes, s.value.lanes));
}

void Checker::check(const Declare& s) {
  for (const int id : s.regs) {
    if (!in_range(id, k.registers.size())) {
      fail(fmt::format("there is no register {}", id));
      continue;
    }
    const auto i = static_cast<size_t>(id);
    if (reg_visible[i]) fail(fmt::format("register '{}' is declared twice", k.registers[i].name));
    reg_visible[i] = true;
  }
}

void Checker::check(const Store& s) {
  check_lanes(s.index);
  check_lanes(s.conditions);
  check_value(s.value);
  if (s.count < 1 || s.count > s.value.lanes)
    fail(fmt::format("a store of {} elements of {} lanes", s.count, s.value.lanes));
  if (!buffer_ok(s.id)) return;
  const Buffer& b = k.buffers[static_cast<size_t>(s.id)];
  check_moved("a store to", s.id, s.value.dtype);
  if (b.scope == Scope::global && !b.written)
    fail(fmt::format("buffer '{}' is stored to but not marked written", b.name));
}

void Checker::check(const AtomicAdd& s) {
  check_index(s.index);
  check_value(s.value);
  if (s.value.dtype != DType::i32) fail("only numbers of type i32 are added in one step");
  if (s.reg >= 0 && register_ok(s.reg)) {
    const Register& r = k.registers[static_cast<size_t>(s.reg)];
    if (r.lanes != s.value.lanes || r.dtype != s.value.dtype)
      fail(fmt::format("register '{}' has {} lanes and takes {}, or another type", r.name, r.lanes,
                       s.value.lanes));
  }
  check_added_to(s.id, s.value.dtype);
}

void Checker::check_added_to(int id, DType added) {
  if (!buffer_ok(id)) return;
  const Buffer& b = k.buffers[static_cast<size_t>(id)];
  if (b.dtype != added)
    fail(fmt::format("what is added to '{}' has another type than the buffer", b.name));
  if (b.scope == Scope::global && !b.written)
    fail(fmt::format("buffer '{}' is added to but not marked written", b.name));
}

void Checker::check(const DeviceBarrier& s) {
  check_index(s.index);
  check_value(s.all);
  if (s.all.dtype != DType::i32 || s.all.lanes != 1)
    fail("how many groups have to come is one number of type i32");
  if (register_ok(s.looks)) {
    const Register& r = k.registers[static_cast<size_t>(s.looks)];
    if (r.lanes != 1 || r.dtype != DType::i32)
      fail(fmt::format("register '{}' counts looks: one number of type i32", r.name));
  }
  check_added_to(s.id, DType::i32);
  if (buffer_ok(s.id) && k.buffers[static_cast<size_t>(s.id)].scope != Scope::global)
    fail("groups meet in memory that all of them reach");
}

void Checker::check_fragment(const MatrixInstruction& i, const char* operand,
                             const std::vector<int>& regs, const Fragment& f) {
  if (static_cast<int>(regs.size()) != f.registers())
    fail(fmt::format("{} has {} registers of {}, was given {}", i.name, f.registers(), operand,
                     regs.size()));
  for (const int id : regs) {
    if (!register_ok(id)) continue;
    const Register& r = k.registers[static_cast<size_t>(id)];
    const Fragment* own = fragment_in(k, r);
    if (r.dtype != f.element || r.lanes != f.mapping.workers() ||
        own != (f.memory.empty() ? nullptr : &f))
      fail(fmt::format("register '{}' is no part of {} of {}: {} lanes of {} are", r.name, operand,
                       i.name, f.mapping.workers(), name_of(f.element)));
  }
}

void Checker::check(const MatrixMultiply& s) {
  if (!in_range(s.instruction, k.instructions.size()))
    return fail(fmt::format("there is no instruction {}", s.instruction));
  const MatrixInstruction& i = k.instructions[static_cast<size_t>(s.instruction)];
  check_fragment(i, "a", s.a, i.a);
  check_fragment(i, "b", s.b, i.b);
  check_fragment(i, "c", s.c, i.c);
  check_fragment(i, "d", s.d, i.c);
  if (i.opaque() && s.d != s.c)
    fail(fmt::format("{} adds to an opaque fragment, and d is another one than c", i.name));
}

// The fragment of a register that a move names.
const Fragment* Checker::opaque(int reg, const char* what) {
  if (!register_ok(reg)) return nullptr;
  const Register& r = k.registers[static_cast<size_t>(reg)];
  const Fragment* f = fragment_in(k, r);
  if (f == nullptr || f->memory.empty())
    fail(fmt::format("register '{}' is {}: it holds no opaque fragment", r.name, what));
  else if (!in_range(r.fragment.layout, f->memory.size()))
    fail(fmt::format("register '{}' has no layout {}", r.name, r.fragment.layout));
  else
    return f;
  return nullptr;
}

void Checker::check(const MoveFragment& s) {
  check_index(s.index);
  const Fragment* f = opaque(s.reg, s.store ? "stored whole" : "loaded whole");
  if (!buffer_ok(s.id) || f == nullptr) return;
  const Buffer& b = k.buffers[static_cast<size_t>(s.id)];
  if (b.dtype != f->number)
    fail(fmt::format("a fragment of {} is moved whole, and buffer '{}' has {}", name_of(f->number),
                     b.name, name_of(b.dtype)));
  if (s.store && b.scope == Scope::global && !b.written)
    fail(fmt::format("buffer '{}' is stored to but not marked written", b.name));
}

void Checker::check(const Copy& s) {
  for (const Run& r : s.runs) {
    check_lanes(r.from);
    check_lanes(r.to);
    check_lanes(r.conditions);
  }
  if (s.lanes < 1) fail(fmt::format("a copy of {} lanes", s.lanes));
  if (!buffer_ok(s.from) || !buffer_ok(s.to)) return;
  const Buffer &from = k.buffers[static_cast<size_t>(s.from)],
               &to = k.buffers[static_cast<size_t>(s.to)];
  if (from.dtype != to.dtype)
    fail(fmt::format("a copy of '{}' to '{}' converts {} to {}", from.name, to.name,
                     name_of(from.dtype), name_of(to.dtype)));
  if (from.scope != Scope::global || from.space != Space::plain || to.scope != Scope::scratch)
    fail(fmt::format("a copy of '{}' to '{}': runs lead from arguments to scratch", from.name,
                     to.name));
  check_run(from, s.numbers);
}

void Checker::check_run(const Buffer& b, int numbers) {
  const int bytes = numbers * bytes_of(b.dtype);
  if (numbers < 1 || bytes > kWidestRun || (bytes & (bytes - 1)) != 0)
    fail(fmt::format("runs of {} elements of {}: a lane moves 1, 2, 4, 8 or {} bytes at once",
                     numbers, name_of(b.dtype), kWidestRun));
}

void Checker::check(const MoveRun& s) {
  check_lanes(s.index);
  check_lanes(s.conditions);
  if (!buffer_ok(s.id)) return;
  const Buffer& b = k.buffers[static_cast<size_t>(s.id)];
  check_run(b, static_cast<int>(s.regs.size()));
  if (b.space != Space::plain)
    fail(fmt::format("'{}' is moved in runs: it is no plain buffer", b.name));
  if (s.store && b.scope == Scope::global && !b.written)
    fail(fmt::format("buffer '{}' is stored to but not marked written", b.name));
  for (const int id : s.regs) {
    if (!register_ok(id)) continue;
    const Register& r = k.registers[static_cast<size_t>(id)];
    if (r.dtype != b.dtype || r.lanes != k.registers[static_cast<size_t>(s.regs[0])].lanes)
      fail(fmt::format("register '{}' is no part of a run of '{}'", r.name, b.name));
  }
}

void Checker::check(const LoadFragment& s) {
  check_lanes(s.index);
  if (!in_range(s.instruction, k.instructions.size()))
    return fail(fmt::format("there is no instruction {}", s.instruction));
  const MatrixInstruction& i = k.instructions[static_cast<size_t>(s.instruction)];
  const Fragment& f = i.operand(s.operand);
  check_fragment(i, s.operand == 'a' ? "a" : "b", s.regs, f);
  if (s.operand == 'c' || run_elements(f, s.by_row) == 0)
    fail(fmt::format("{} of {} has no runs along its {}", s.operand, i.name,
                     s.by_row ? "rows" : "columns"));
  if (!buffer_ok(s.id)) return;
  const Buffer& b = k.buffers[static_cast<size_t>(s.id)];
  if (b.dtype != f.number || b.scope != Scope::scratch)
    fail(fmt::format("a fragment of {} is loaded in runs from scratch, not from '{}' of {}",
                     name_of(f.number), b.name, name_of(b.dtype)));
}

void Checker::check(const Prefetch& s) {
  check_index(s.index);
  buffer_ok(s.id);
}

Diags verify(const Kernel& k) {
  Checker c(k);
  if (k.name.empty()) c.fail("it has no name");
  if (k.groups < 0) c.fail(fmt::format("{} groups", k.groups));
  bool scratch_seen = false;
  for (const Buffer& b : k.buffers) {
    if (b.elements < 0) c.fail(fmt::format("buffer '{}' has {} elements", b.name, b.elements));
    c.check_space(b);
    if (b.scope == Scope::global && scratch_seen)
      c.fail(fmt::format("argument '{}' stands after scratch", b.name));
    scratch_seen = scratch_seen || b.scope == Scope::scratch;
  }
  for (const Register& r : k.registers)
    if (r.lanes < 1) c.fail(fmt::format("register '{}' has {} lanes", r.name, r.lanes));
  if (k.index_names.empty())
    c.fail("index variable 0, the group, is missing");
  else
    c.var_bound[0] = c.var_visible[0] = true;
  if (k.waves < 1 || (k.waves > 1 && k.wave < 0 && k.lane < 0))
    c.fail(fmt::format("a group of {} waves, which have no numbers", k.waves));
  if (k.vector_lane >= 0 && !c.in_range(k.vector_lane, k.index_names.size()))
    c.fail(fmt::format("there is no index variable {} for the lane of vectors", k.vector_lane));
  for (const auto& [var, whose] : {std::pair{k.wave, "wave"}, {k.lane, "lane"}}) {
    const auto i = static_cast<size_t>(var);
    if (var >= 0 && c.in_range(var, k.index_names.size()))
      c.var_bound[i] = c.var_visible[i] = c.var_own[i] = true;
    else if (var >= 0)
      c.fail(fmt::format("there is no index variable {} for the {}", var, whose));
  }
  c.check_block(k.body);
  return std::move(c.diags);
}

}  // namespace assay::ir
