#include "runtime/virtual/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "codegen/one_lane.h"
#include "runtime/virtual/loops.h"

namespace assay::runtime::simulated {
namespace {

using ir::Value;
using ir::ValueOp;

class Translator {
 public:
  Translator(const ir::Kernel& kernel, int width) : k_(kernel) {
    code_.name = kernel.name;
    code_.width = width;
    code_.lane = kernel.lane;
    code_.vars = static_cast<int>(kernel.index_names.size());
    code_.buffers = kernel.buffers;
    code_.places_of.resize(kernel.index_names.size());
    for (const ir::Register& r : kernel.registers)
      code_.regs.push_back({r.dtype, lanes_of(r.lanes), true});
    // Where an index variable depends on the thread, it stands for its expression.
    meaning_.resize(kernel.index_names.size());
  }

  Result<Code> run() {
    check_types();
    add(k_.body);
    emit(OpKind::end);
    if (has_error(diags_)) return std::move(diags_);
    for (const ir::Buffer& b : k_.buffers)
      if (b.scope == ir::Scope::scratch)
        code_.scratch_bytes += (b.elements * ir::bytes_of(b.dtype) + 63) / 64 * 64;
    describe_loops(code_);
    return std::move(code_);
  }

 private:
  int lanes_of(int lanes) const { return code_.width > 1 ? code_.width : lanes; }
  void fail(const std::string& what) {
    diags_.push_back(error(fmt::format("kernel '{}': {}", k_.name, what)));
  }
  void check_types();
  Op& emit(OpKind kind) {
    code_.ops.emplace_back();
    code_.ops.back().kind = kind;
    return code_.ops.back();
  }
  int here() const { return static_cast<int>(code_.ops.size()); }

  Address address(const ir::Index& index);
  int place_of(const ir::Index& index);
  int tests_of(const std::vector<ir::Condition>& conditions);
  bool on_lane(const std::vector<ir::Condition>& conditions) const;

  int temporary(const Value& v) {
    code_.regs.push_back({v.dtype, lanes_of(v.lanes), true});
    return static_cast<int>(code_.regs.size()) - 1;
  }
  // A number of type i32 that lies there already.
  static Value register_of(int reg) {
    Value v;
    v.op = ValueOp::reg;
    v.dtype = ir::DType::i32;
    v.id = reg;
    return v;
  }
  int operand(const Value& v);
  void value(const Value& v, int dst);
  void read(const Value& v, int dst);
  void guard(const Value& v, int dst);

  void add(const ir::Block& block) {
    const int declared = declared_;
    for (const ir::Stmt& s : block) std::visit([&](const auto& node) { add(node); }, s.node);
    declared_ = declared;
  }
  void add(const ir::For& s);
  void add(const ir::If& s);
  void add(const ir::LetIndex& s);
  void add(const ir::Locate& s);
  void add(const ir::Assign& s) { value(s.value, s.reg); }
  void add(const ir::Declare& s) {
    declared_ += static_cast<int>(s.regs.size());
    code_.most_registers = std::max(code_.most_registers, declared_);
  }
  void add(const ir::Store& s);
  void add(const ir::Prefetch&) {}
  void add(const ir::Keep&) {}
  void add(const ir::Barrier&) { emit(OpKind::barrier); }
  void add(const ir::AtomicAdd& s);
  void add(const ir::DeviceBarrier& s);
  void add(const ir::MatrixMultiply& s);
  template <class Then, class Else>
  void branch(const std::vector<ir::Condition>& conditions, const Then& then,
              const Else& otherwise);

  const ir::Kernel& k_;
  Code code_;
  Diags diags_;
  std::vector<ir::Index> meaning_;  // empty: the variable itself
  std::map<std::string, int> places_;
  std::vector<std::string> names_;  // of the variables: those of the kernel may stand for several
  int declared_ = 0;
};

void Translator::check_types() {
  const auto check = [&](const std::string& name, ir::DType t) {
    if (t == ir::DType::u8 || t == ir::DType::boolean)
      fail(fmt::format("'{}' has elements of type {}, which are not simulated", name,
                       ir::name_of(t)));
  };
  for (const ir::Buffer& b : k_.buffers) check(b.name, b.dtype);
  for (const ir::Register& r : k_.registers) check(r.name, r.dtype);
}

int Translator::place_of(const ir::Index& index) {
  while (names_.size() < static_cast<size_t>(code_.vars))
    names_.push_back(fmt::format("v{}", names_.size()));
  const std::string text = ir::print(index, names_);
  if (const auto known = places_.find(text); known != places_.end()) return known->second;
  Place p;
  std::vector<bool> uses(static_cast<size_t>(code_.vars), false);
  for (const ir::Term& t : index.terms)
    if (t.var >= 0 && t.div == 1 && t.mod == 0)
      p.linear.push_back({t.var, t.coeff});
    else
      p.rest.terms.push_back(t);
  for (int v = 0; v < code_.vars; ++v)
    if (ir::depends_on(index, v))
      code_.places_of[static_cast<size_t>(v)].push_back(static_cast<int>(code_.places.size()));
  code_.places.push_back(std::move(p));
  return places_[text] = static_cast<int>(code_.places.size()) - 1;
}

Address Translator::address(const ir::Index& written) {
  ir::Index index = ir::substitute(written, [&](int var) {
    const ir::Index& m = meaning_[static_cast<size_t>(var)];
    return m.terms.empty() && m.offset == 0 ? ir::variable(var) : m;
  });
  Address a;
  a.offset = index.offset;
  index.offset = 0;
  if (code_.lane >= 0 && ir::depends_on(index, code_.lane)) {
    const auto step = ir::stride_of(index, code_.lane);
    if (!step) {
      a.slow = static_cast<int>(code_.indices.size());
      code_.indices.push_back(index);
      return a;
    }
    a.lane_step = *step;
    std::erase_if(index.terms, [&](const ir::Term& t) {
      return t.var == code_.lane && t.div == 1 && t.mod == 0;
    });
  }
  if (!index.terms.empty()) a.place = place_of(index);
  return a;
}

bool Translator::on_lane(const std::vector<ir::Condition>& conditions) const {
  return std::any_of(conditions.begin(), conditions.end(), [&](const ir::Condition& c) {
    if (code_.lane < 0) return false;
    if (ir::depends_on(c.index, code_.lane)) return true;
    for (size_t v = 0; v < meaning_.size(); ++v)
      if (ir::depends_on(c.index, static_cast<int>(v)) && ir::depends_on(meaning_[v], code_.lane))
        return true;
    return false;
  });
}

int Translator::tests_of(const std::vector<ir::Condition>& conditions) {
  std::vector<Test> tests;
  for (const ir::Condition& c : conditions) tests.push_back({address(c.index), c.low, c.high});
  code_.tests.push_back(std::move(tests));
  return static_cast<int>(code_.tests.size()) - 1;
}

template <class Then, class Else>
void Translator::branch(const std::vector<ir::Condition>& conditions, const Then& then,
                        const Else& otherwise) {
  const bool threads = on_lane(conditions);
  const int tests = tests_of(conditions), begin = here();
  emit(threads ? OpKind::mask : OpKind::unless).tests = tests;
  then();
  const int middle = here();
  emit(threads ? OpKind::unmask_else : OpKind::jump);
  otherwise();
  const auto at = [&](int op) -> Op& { return code_.ops[static_cast<size_t>(op)]; };
  at(begin).target = threads ? middle : middle + 1;
  if (threads) emit(OpKind::unmask);
  at(middle).target = threads ? here() - 1 : here();
}

int Translator::operand(const Value& v) {
  if (v.op == ValueOp::reg) return v.id;
  if (v.op == ValueOp::opaque) return operand(v.args[0]);
  const int t = temporary(v);
  value(v, t);
  return t;
}

void Translator::read(const Value& v, int dst) {
  const Address at = address(v.index);
  Op& op = emit(OpKind::load);
  op.op = v.op;
  op.dtype = v.dtype;
  op.dst = dst;
  op.buffer = v.id;
  op.lanes = lanes_of(v.lanes);
  op.count = code_.width > 1 ? code_.width : v.op == ValueOp::splat ? v.lanes : v.count;
  op.stride = code_.width > 1           ? at.lane_step
              : v.op == ValueOp::splat  ? 0
              : v.op == ValueOp::gather ? v.stride
                                        : 1;
  op.number = v.number;
  op.at = at;
}

void Translator::guard(const Value& v, int dst) {
  branch(
      v.conditions, [&] { value(v.args[0], dst); }, [&] { value(v.args[1], dst); });
}

void Translator::value(const Value& v, int dst) {
  switch (v.op) {
    case ValueOp::load:
    case ValueOp::splat:
    case ValueOp::gather:
      return read(v, dst);
    case ValueOp::guard: {
      // Its own register may be read in the other arm: it is written last.
      const int t = temporary(v);
      guard(v, t);
      Op& op = emit(OpKind::copy);
      op.dtype = v.dtype;
      op.lanes = lanes_of(v.lanes);
      op.dst = dst;
      op.a = t;
      return;
    }
    case ValueOp::opaque:
      return value(v.args[0], dst);
    default:
      break;
  }
  std::array<int, 3> args = {-1, -1, -1};
  if (v.op == ValueOp::reg) args[0] = v.id;
  for (size_t i = 0; i < v.args.size() && i < args.size(); ++i) args[i] = operand(v.args[i]);
  const Address at = v.op == ValueOp::lane_index ? address(v.index) : Address{};
  Op& op = emit(v.op == ValueOp::constant     ? OpKind::constant
                : v.op == ValueOp::reg        ? OpKind::copy
                : v.op == ValueOp::lane_index ? OpKind::lane_index
                : v.op == ValueOp::indirect   ? OpKind::indirect
                                              : OpKind::apply);
  op.op = v.op;
  op.dtype = v.dtype;
  op.lanes = op.count = lanes_of(v.lanes);
  op.dst = dst;
  op.a = args[0];
  op.b = args[1];
  op.c = args[2];
  op.buffer = v.id;
  op.number = v.number;
  op.at = at;
  op.stride = code_.width > 1 ? at.lane_step : v.stride;
}

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
  Value number = s.all;
  number.op = ValueOp::constant;
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
  Op& op = emit(OpKind::again);
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

void Translator::add(const ir::LetIndex& s) {
  const Address at = address(s.value);
  if (at.lane_step != 0 ||
      at.slow >= 0) {  // every thread has its own: the expression stands in for it
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
  if (at.lane_step != 0 || at.slow >= 0) fail("a position that differs from thread to thread");
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
  std::vector<ir::Condition>
      goes_on;  // of threads that are through sooner than others, who wait for those
  for (const ir::Index& b : s.bounds) {
    const Address at = address(b);
    if (at.lane_step != 0 || at.slow >= 0)
      goes_on.push_back({b + ir::variable(s.var) * -1, 1, std::numeric_limits<int64_t>::max()});
    else
      loop.bounds.push_back(at);
  }
  const int id = static_cast<int>(code_.loops.size()), begin = here();
  loop.body = begin + 1;
  code_.loops.push_back(std::move(loop));
  emit(OpKind::loop);
  if (goes_on.empty())
    add(s.body);
  else
    branch(
        goes_on, [&] { add(s.body); }, [] {});
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

}  // namespace

Result<Code> make_code(const ir::Kernel& kernel, int width) {
  if (Diags faults = ir::verify(kernel); has_error(faults)) return faults;
  if (width <= 1) return Translator(kernel, 1).run();
  if (kernel.lane >= 0) return Translator(kernel, width).run();
  const auto threads = codegen::one_lane(kernel, width);
  if (!threads) return threads.diags();
  return Translator(*threads, width * kernel.waves).run();
}

}  // namespace assay::runtime::simulated
