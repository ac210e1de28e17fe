// The readable listing of a loop kernel, and its hash. The listing names everything a kernel holds
// (exact digits included), so its hash identifies the kernel.
#include "ir/kernel.h"

#include <fmt/format.h>

#include <iterator>

#include "support/hash.h"

namespace assay::ir {

Kernel::Kernel() = default;
Kernel::Kernel(const Kernel&) = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(const Kernel&) = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;
Kernel::~Kernel() = default;
bool Kernel::operator==(const Kernel&) const = default;
namespace {

struct Lister {
  const Kernel& k;
  std::string out;
  int depth = 0;

  void line(const std::string& text) {
    out += std::string(static_cast<size_t>(2 * depth), ' ') + text + '\n';
  }
  std::string at(const Index& i) const { return print(i, k.index_names); }
  const std::string& buffer(int id) const { return k.buffers.at(static_cast<size_t>(id)).name; }
  const std::string& reg(int id) const { return k.registers.at(static_cast<size_t>(id)).name; }
  const std::string& var(int id) const { return k.index_names.at(static_cast<size_t>(id)); }

  std::string regs(const std::vector<int>& ids) const {
    std::string names;
    for (const int id : ids) names += (names.empty() ? "" : " ") + reg(id);
    return "[" + names + "]";
  }
  std::string conditions(const std::vector<Condition>& all) const;
  std::string value(const Value& v) const;
  std::string source(const Value& v) const;  // the buffer, and its type where it is converted
  void block(const Block& b);

  void list(const For& s);
  void list(const If& s);
  void list(const LetIndex& s) { line(fmt::format("let {} = {}", var(s.var), at(s.value))); }
  void list(const Locate& s) {
    line(fmt::format("let {} = position of {}[{}] among {}", var(s.var), buffer(s.id), at(s.index),
                     s.extent));
  }
  void list(const Assign& s) { line(fmt::format("{} = {}", reg(s.reg), value(s.value))); }
  void list(const Declare& s);
  void list(const Store& s);
  void list(const Copy& s);
  void list(const MoveRun& s) {
    const std::string where = fmt::format("{}[{}]", buffer(s.id), at(s.index)),
                      when = s.conditions.empty() ? "" : " where " + conditions(s.conditions);
    line(s.store ? fmt::format("{} = {}{}", where, regs(s.regs), when)
                 : fmt::format("{} = {}{}", regs(s.regs), where, when));
  }
  void list(const Prefetch& s) { line(fmt::format("prefetch {}[{}]", buffer(s.id), at(s.index))); }
  void list(const Keep& s) { line(fmt::format("keep {}", reg(s.reg))); }
  void list(const Barrier& s) { line(s.global ? "barrier of global stores" : "barrier"); }
  void list(const DeviceBarrier& s) {
    line(fmt::format("barrier of all groups at {}[{}] until {}, looks {}", buffer(s.id),
                     at(s.index), value(s.all), reg(s.looks)));
  }
  void list(const MatrixMultiply& s) {
    line(fmt::format("{} = {}({} x {} + {})", regs(s.d),
                     k.instructions.at(static_cast<size_t>(s.instruction)).name, regs(s.a),
                     regs(s.b), regs(s.c)));
  }
  void list(const MoveFragment& s) {
    const Register& r = k.registers.at(static_cast<size_t>(s.reg));
    const std::string where = fmt::format("{}[{} stride {}]", buffer(s.id), at(s.index), s.stride),
                      how =
                          fragment_in(k, r)->memory.at(static_cast<size_t>(r.fragment.layout)).name;
    line(s.store ? fmt::format("{} by {} = {}", where, how, r.name)
                 : fmt::format("{} = {} by {}", r.name, where, how));
  }
  void list(const LoadFragment& s) {
    line(fmt::format("{} = {} of {} by {} at {}[{}]", regs(s.regs), s.operand,
                     k.instructions.at(static_cast<size_t>(s.instruction)).name,
                     s.by_row ? "row" : "column", buffer(s.id), at(s.index)));
  }
  void list(const AtomicAdd& s) {
    line(fmt::format("{}{}[{} step {}] += {} in one step", s.reg < 0 ? "" : reg(s.reg) + " = ",
                     buffer(s.id), at(s.index), s.stride, value(s.value)));
  }
};

// The words of operations that are listed as calls, in the order of ValueOp from `add` on.
constexpr const char* kWords[] = {"add",   "sub",    "mul",     "div",   "max",   "min",   "pow",
                                  "fma",   "neg",    "abs",     "exp",   "log",   "sqrt",  "tanh",
                                  "erf",   "floor",  "ceil",    "round", "less",  "equal", "select",
                                  "guard", "opaque", "convert", "dot",   "insert"};
constexpr auto kFirstWord = static_cast<size_t>(ValueOp::add);
static_assert(kFirstWord + std::size(kWords) == static_cast<size_t>(ValueOp::insert) + 1);

const char* word(ValueOp op) { return kWords[static_cast<size_t>(op) - kFirstWord]; }

std::string shape(DType t, int lanes) {
  return lanes == 1 ? std::string(name_of(t)) : fmt::format("{}x{}", name_of(t), lanes);
}

std::string Lister::source(const Value& v) const {
  const DType stored = k.buffers.at(static_cast<size_t>(v.id)).dtype;
  if (v.numbers > 1) return fmt::format("of {} {} ", v.numbers, name_of(stored)) + buffer(v.id);
  return (stored == v.dtype ? "" : fmt::format("from {} ", name_of(stored))) + buffer(v.id);
}

std::string Lister::conditions(const std::vector<Condition>& all) const {
  std::string text;
  for (const Condition& c : all)
    text +=
        fmt::format("{}{} <= {} <= {}", text.empty() ? "" : " and ", c.low, at(c.index), c.high);
  return text.empty() ? "true" : text;
}

std::string Lister::value(const Value& v) const {
  const auto fill = [&] {
    return v.count == v.lanes ? "" : fmt::format(" for {} else {}", v.count, v.number);
  };
  switch (v.op) {
    case ValueOp::constant:
      return fmt::format("{}({})", shape(v.dtype, v.lanes), v.number);
    case ValueOp::reg:
      return reg(v.id);
    case ValueOp::load:
      return fmt::format("{} {}[{}]{}", shape(v.dtype, v.lanes), source(v), at(v.index), fill());
    case ValueOp::splat:
      return fmt::format("splat{} {}[{}]", v.lanes, source(v), at(v.index));
    case ValueOp::gather:
      return fmt::format("{} {}[{} step {}]{}", shape(v.dtype, v.lanes), source(v), at(v.index),
                         v.stride, fill());
    case ValueOp::indirect:
      return fmt::format("{} {}[{}{}]", shape(v.dtype, v.lanes), source(v), value(v.args.at(0)),
                         v.args.size() > 1 ? ", " + value(v.args[1]) : "");
    case ValueOp::lane_index:
      return fmt::format("{} lanes({} step {})", shape(v.dtype, v.lanes), at(v.index), v.stride);
    default:
      break;
  }
  std::string text = word(v.op);
  if (v.op == ValueOp::convert) text = shape(v.dtype, v.lanes);
  text += '(';
  if (v.op == ValueOp::guard) text += conditions(v.conditions) + " ? ";
  if (v.op == ValueOp::insert) text += fmt::format("{}: ", v.number);
  for (size_t i = 0; i < v.args.size(); ++i) text += (i ? ", " : "") + value(v.args[i]);
  return text + ')';
}

void Lister::block(const Block& b) {
  ++depth;
  for (const Stmt& s : b) std::visit([&](const auto& node) { list(node); }, s.node);
  --depth;
}

void Lister::list(const For& s) {
  std::string limit = std::to_string(s.limit);
  for (const Index& b : s.bounds) limit = fmt::format("min({}, {})", limit, at(b));
  line(fmt::format("for {} < {}{}", var(s.var), limit,
                   s.unroll ? fmt::format(" unroll {}", s.unroll) : ""));
  block(s.body);
}

void Lister::list(const If& s) {
  line(s.own_function ? "function" : "if " + conditions(s.conditions));
  block(s.then_body);
  if (s.else_body.empty()) return;
  line("else");
  block(s.else_body);
}

void Lister::list(const Declare& s) {
  std::string names;
  for (const int id : s.regs) {
    const Register& r = k.registers.at(static_cast<size_t>(id));
    names += fmt::format("{}{}: {}", names.empty() ? "" : ", ", r.name, shape(r.dtype, r.lanes));
  }
  line("registers " + names);
}

void Lister::list(const Store& s) {
  std::string how;
  const DType stored = k.buffers.at(static_cast<size_t>(s.id)).dtype;
  if (stored != s.value.dtype) how += fmt::format(" as {}", name_of(stored));
  if (s.stride != 1) how += fmt::format(" step {}", s.stride);
  if (s.count != s.value.lanes) how += fmt::format(" for {}", s.count);
  if (s.hint != CacheHint::none) how += s.hint == CacheHint::stream ? " stream" : " bypass";
  if (!s.conditions.empty()) how += " where " + conditions(s.conditions);
  line(fmt::format("{}[{}]{} = {}", buffer(s.id), at(s.index), how, value(s.value)));
}

void Lister::list(const Copy& s) {
  for (const Run& r : s.runs)
    line(fmt::format("copy {} of {} lanes: {}[{}] = {}[{}]{}", s.numbers, s.lanes, buffer(s.to),
                     at(r.to), buffer(s.from), at(r.from),
                     r.conditions.empty() ? "" : " where " + conditions(r.conditions)));
}

std::string space_of(const Buffer& b) {
  if (b.space == Space::image) return fmt::format("image of {} in rows of {} ", b.texel, b.row);
  return b.space == Space::constant ? "constant " : "";
}

}  // namespace

std::string print_kernel(const Kernel& k) {
  Lister l{k, {}, 0};
  l.line(fmt::format("kernel {}, {} groups{}", k.name, k.groups,
                     k.waves > 1 ? fmt::format(" of {} waves", k.waves) : ""));
  ++l.depth;
  for (const Buffer& b : k.buffers)
    l.line(fmt::format("{}{} {}: {}[{}]{}", space_of(b),
                       b.by_lane                   ? "scratch by lane"
                       : b.scope == Scope::scratch ? "scratch"
                                                   : "buffer",
                       b.name, name_of(b.dtype), b.elements,
                       b.read_back ? " written and read back"
                       : b.written ? " written"
                                   : ""));
  for (const MatrixInstruction& i : k.instructions) l.line("instruction " + print(i));
  --l.depth;
  l.block(k.body);
  return std::move(l.out);
}

const Fragment* fragment_in(const Kernel& k, const Register& r) {
  const int i = r.fragment.instruction;
  if (i < 0 || static_cast<size_t>(i) >= k.instructions.size()) return nullptr;
  return &k.instructions[static_cast<size_t>(i)].operand(r.fragment.operand);
}

// Names may repeat, numbers do not.
std::string hash_of(const Kernel& k) {
  Kernel numbered = k;
  for (size_t i = 0; i < k.buffers.size(); ++i) numbered.buffers[i].name += fmt::format("#{}", i);
  for (size_t i = 0; i < k.index_names.size(); ++i)
    numbered.index_names[i] += fmt::format("#{}", i);
  for (size_t i = 0; i < k.registers.size(); ++i)
    numbered.registers[i].name += fmt::format("#{}", i);
  return hash_hex(print_kernel(numbered));
}

}  // namespace assay::ir
