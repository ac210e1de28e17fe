#include "codegen/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "codegen/scalar_op.h"
#include "ir/element.h"
#include "ir/graph.h"

namespace assay::codegen {
namespace {

using ir::Value;
using ir::ValueOp;
using Lanes = std::vector<double>;

constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();

struct Fault {  // thrown inside this file only, from any depth of an expression
  std::string what;
};

struct Machine {
  const ir::Kernel& kernel;
  std::span<std::vector<double>> arguments;
  ExecutedCounts counts{};
  std::vector<std::vector<double>> scratch{};  // per buffer; empty for arguments
  std::vector<Lanes> registers{};  // of the wave that runs
  std::vector<int64_t> indices{};
  // The first wave of a group runs ahead of the others from barrier to barrier, so that what they have not stored yet is
  // missed, and what they have not read yet is lost.
  struct Wave {
    std::vector<Lanes> registers;
    std::vector<int64_t> indices;
  };
  struct Step {  // statements of a block, or a loop's variable
    const ir::Block* block = nullptr;
    size_t begin = 0, end = 0;
    int var = -1;
    int64_t value = 0;
  };
  std::vector<Wave> others{};
  std::vector<Step> behind{};  // what the others have yet to do
  std::map<const ir::Stmt*, bool> meets{};

  void run_group(int64_t group);
  void run_waves(const ir::Block& block);
  void step(const Step& s);
  void step_ahead(const Step& s) {
    step(s);
    behind.push_back(s);
  }
  void catch_up();
  bool has_barrier(const ir::Stmt& s);
  bool has_barrier(const ir::Block& b) {
    return std::any_of(b.begin(), b.end(), [&](const ir::Stmt& s) { return has_barrier(s); });
  }
  int64_t trips(const ir::For& s) const;
  void run(const ir::Block& block);
  void run(const ir::For& s);
  void run(const ir::If& s) { run(hold(s.conditions) ? s.then_body : s.else_body); }
  void run(const ir::LetIndex& s) {
    indices[static_cast<size_t>(s.var)] = ir::evaluate(s.value, indices);
  }
  void run(const ir::Locate& s);
  void run(const ir::Assign& s) { registers[static_cast<size_t>(s.reg)] = value(s.value); }
  void run(const ir::Declare& s);
  void run(const ir::Store& s);
  void run(const ir::Prefetch&) {}
  void run(const ir::Keep&) {}
  void run(const ir::Barrier&) {}
  void run(const ir::AtomicAdd& s);
  void run(const ir::DeviceBarrier& s);
  void run(const ir::MatrixMultiply& s);

  bool hold(const std::vector<ir::Condition>& conditions) const;
  std::vector<double>& memory(int buffer);
  double& element(int buffer, int64_t at, const char* access, const ir::Index* index);
  double found(int buffer, int64_t at, const ir::Index* index);
  Lanes value(const Value& v);
  Lanes read(const Value& v);
  Lanes indirect(const Value& v);
  Lanes operation(const Value& v);
  void count(ValueOp op);
};

void Machine::run_group(int64_t group) {
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    if (kernel.buffers[i].scope == ir::Scope::scratch)
      scratch[i].assign(static_cast<size_t>(kernel.buffers[i].elements),
                        kUnwritten);
  indices[0] = group;
  if (kernel.waves == 1) return run(kernel.body);
  others.assign(static_cast<size_t>(kernel.waves) - 1, {registers, indices});
  for (size_t w = 0; w < others.size(); ++w) others[w].indices[static_cast<size_t>(kernel.wave)] = static_cast<int64_t>(w) + 1;
  indices[static_cast<size_t>(kernel.wave)] = 0;
  run_waves(kernel.body);
  catch_up();
}

void Machine::step(const Step& s) {
  if (s.block == nullptr) indices[static_cast<size_t>(s.var)] = s.value;
  for (size_t i = s.begin; i < s.end; ++i) std::visit([&](const auto& node) { run(node); }, (*s.block)[i].node);
}

void Machine::catch_up() {
  for (Wave& w : others) {
    std::swap(registers, w.registers);
    std::swap(indices, w.indices);
    for (const Step& s : behind) step(s);
    std::swap(registers, w.registers);
    std::swap(indices, w.indices);
  }
  behind.clear();
}

bool Machine::has_barrier(const ir::Stmt& s) {
  if (const auto known = meets.find(&s); known != meets.end()) return known->second;
  bool has = std::holds_alternative<ir::Barrier>(s.node);
  if (const auto* loop = std::get_if<ir::For>(&s.node)) has = has_barrier(loop->body);
  if (const auto* branch = std::get_if<ir::If>(&s.node)) has = has_barrier(branch->then_body) || has_barrier(branch->else_body);
  return meets[&s] = has;
}

// What leads to a barrier is the same for all waves: verify() has seen to it.
void Machine::run_waves(const ir::Block& block) {
  for (size_t i = 0; i < block.size(); ++i) {
    size_t end = i;
    while (end < block.size() && !has_barrier(block[end])) ++end;
    step_ahead({&block, i, end});
    if ((i = end) == block.size()) return;
    if (const auto* branch = std::get_if<ir::If>(&block[i].node)) {
      run_waves(hold(branch->conditions) ? branch->then_body : branch->else_body);
    } else if (const auto* loop = std::get_if<ir::For>(&block[i].node)) {
      const int64_t n = trips(*loop);
      counts.iterations += std::max<int64_t>(0, n) * kernel.waves;
      for (int64_t t = 0; t < n; ++t) {
        step_ahead({nullptr, 0, 0, loop->var, t});
        run_waves(loop->body);
      }
    } else {
      catch_up();
    }
  }
}

int64_t Machine::trips(const ir::For& s) const {
  int64_t n = s.limit;
  for (const ir::Index& b : s.bounds) n = std::min(n, ir::evaluate(b, indices));
  return n;
}

void Machine::run(const ir::Block& block) {
  for (const ir::Stmt& s : block) std::visit([&](const auto& node) { run(node); }, s.node);
}

void Machine::run(const ir::For& s) {
  const int64_t end = trips(s);
  for (int64_t i = 0; i < end; ++i) {
    indices[static_cast<size_t>(s.var)] = i;
    ++counts.iterations;
    run(s.body);
  }
}

void Machine::run(const ir::Locate& s) {
  const double value = found(s.id, ir::evaluate(s.index, indices), &s.index);
  indices[static_cast<size_t>(s.var)] = ir::position_of(value, s.extent).value_or(-1);
  ++counts.splats;
}

void Machine::run(const ir::Declare& s) {
  for (const int id : s.regs)
    registers[static_cast<size_t>(id)].assign(
        static_cast<size_t>(kernel.registers[static_cast<size_t>(id)].lanes), kUnwritten);
}

void Machine::run(const ir::Store& s) {
  const Lanes lanes = value(s.value);
  const int64_t at = ir::evaluate(s.index, indices);
  for (int l = 0; l < s.count; ++l)
    element(s.id, at + l * s.stride, "store to", &s.index) = ir::rounded(s.value.dtype, lanes[static_cast<size_t>(l)]);
  ++counts.vector_stores;
}

// One group after the other: every step is one of its own.
void Machine::run(const ir::AtomicAdd& s) {
  const Lanes lanes = value(s.value);
  const int64_t at = ir::evaluate(s.index, indices);
  Lanes before(lanes.size());
  for (size_t l = 0; l < lanes.size(); ++l) {
    double& held = element(s.id, at + static_cast<int64_t>(l) * s.stride, "addition to", &s.index);
    before[l] = held;
    held = apply_scalar(ValueOp::add, s.value.dtype, before[l], lanes[l], 0);
  }
  if (s.reg >= 0) registers[static_cast<size_t>(s.reg)] = std::move(before);
  ++counts.arithmetic;
}

// Nobody comes while a group looks: it sees all of them at once, or never. Where others gave up all may have come before.
void Machine::run(const ir::DeviceBarrier& s) {
  const double all = value(s.all).front();
  double& come = element(s.id, ir::evaluate(s.index, indices), "addition to", &s.index);
  double& looks = registers[static_cast<size_t>(s.looks)].front();
  const double found = come;
  come += 1;
  if (found < all) looks = come < all || looks < 1 ? 0 : looks - 1;
  ++counts.arithmetic;
}

void Machine::run(const ir::MatrixMultiply& s) {
  const ir::MatrixInstruction& i = kernel.instructions[static_cast<size_t>(s.instruction)];
  const auto all = [&](const std::vector<int>& regs) {
    Lanes out;
    for (const int r : regs) out.insert(out.end(), registers[static_cast<size_t>(r)].begin(), registers[static_cast<size_t>(r)].end());
    return out;
  };
  const Lanes d = ir::multiply(i, all(s.a), all(s.b), all(s.c));
  const auto lanes = static_cast<std::ptrdiff_t>(i.workers());
  for (size_t r = 0; r < s.d.size(); ++r) {
    const auto first = d.begin() + static_cast<std::ptrdiff_t>(r) * lanes;
    registers[static_cast<size_t>(s.d[r])].assign(first, first + lanes);
  }
  ++counts.matrix;
}

bool Machine::hold(const std::vector<ir::Condition>& conditions) const {
  return std::all_of(conditions.begin(), conditions.end(), [&](const ir::Condition& c) {
    const int64_t v = ir::evaluate(c.index, indices);
    return c.low <= v && v <= c.high;
  });
}

std::vector<double>& Machine::memory(int buffer) {
  const auto b = static_cast<size_t>(buffer);
  return kernel.buffers[b].scope == ir::Scope::scratch ? scratch[b] : arguments[b];
}

double& Machine::element(int buffer, int64_t at, const char* access, const ir::Index* index) {
  auto& all = memory(buffer);
  if (at >= 0 && at < static_cast<int64_t>(all.size())) return all[static_cast<size_t>(at)];
  const std::string from =
      index != nullptr ? ir::print(*index, kernel.index_names) : "an index that was read";
  throw Fault{fmt::format("{} '{}' at element {} (from {} in group {}): the buffer has {}", access,
                          kernel.buffers[static_cast<size_t>(buffer)].name, at, from, indices[0],
                          all.size())};
}

// An element of an image is the sum of its texel, halves first.
double Machine::found(int buffer, int64_t at, const ir::Index* index) {
  const int64_t n = kernel.buffers[static_cast<size_t>(buffer)].texel;
  if (n == 1) return element(buffer, at, "load from", index);
  const bool rounds = kernel.buffers[static_cast<size_t>(buffer)].dtype == ir::DType::f32;
  const auto sum = [&](double x, double y) { return rounds ? double{static_cast<float>(x + y)} : x + y; };
  const auto number = [&](int64_t i) { return element(buffer, at * n + i, "load from", index); };
  const double first = sum(number(0), number(1));
  return n == 2 ? first : sum(first, sum(number(2), number(3)));
}

Lanes Machine::read(const Value& v) {
  const bool splat = v.op == ValueOp::splat, gather = v.op == ValueOp::gather;
  ++(splat ? counts.splats : gather ? counts.gathers : counts.vector_loads);
  const int64_t at = ir::evaluate(v.index, indices), step = splat ? 0 : gather ? v.stride : 1;
  Lanes out(static_cast<size_t>(v.lanes), v.number);
  for (int l = 0; l < (splat ? v.lanes : v.count); ++l)
    out[static_cast<size_t>(l)] = found(v.id, at + l * step, &v.index);
  return out;
}

Lanes Machine::indirect(const Value& v) {
  Lanes at = value(v.args[0]);
  ++counts.gathers;
  for (double& a : at) a = found(v.id, static_cast<int64_t>(a), nullptr);
  return at;
}

Lanes Machine::operation(const Value& v) {
  Lanes a = value(v.args[0]);
  const Lanes b = v.args.size() > 1 ? value(v.args[1]) : Lanes(a.size());
  const Lanes c = v.args.size() > 2 ? value(v.args[2]) : Lanes(a.size());
  for (size_t l = 0; l < a.size(); ++l) a[l] = apply_scalar(v.op, v.dtype, a[l], b[l], c[l]);
  count(v.op);
  return a;
}

void Machine::count(ValueOp op) {
  switch (op) {
    case ValueOp::fma:
      ++counts.fma;
      break;
    case ValueOp::opaque:
      break;
    case ValueOp::div:
    case ValueOp::sqrt:
      ++counts.divide;
      break;
    case ValueOp::exp:
    case ValueOp::log:
    case ValueOp::tanh:
    case ValueOp::erf:
    case ValueOp::pow:
      ++counts.math;
      break;
    default:
      ++counts.arithmetic;
  }
}

Lanes Machine::value(const Value& v) {
  const auto lanes = static_cast<size_t>(v.lanes);
  switch (v.op) {
    case ValueOp::constant:
      return Lanes(lanes, number_in(v.dtype, v.number));
    case ValueOp::reg:
      return registers[static_cast<size_t>(v.id)];
    case ValueOp::load:
    case ValueOp::splat:
    case ValueOp::gather:
      return read(v);
    case ValueOp::indirect:
      return indirect(v);
    case ValueOp::lane_index: {
      Lanes out(lanes);
      const int64_t first = ir::evaluate(v.index, indices);
      for (size_t l = 0; l < lanes; ++l)
        out[l] = number_in(v.dtype, static_cast<double>(first + static_cast<int64_t>(l) * v.stride));
      return out;
    }
    case ValueOp::guard:
      return value(v.args[hold(v.conditions) ? 0 : 1]);
    default:
      return operation(v);
  }
}

Diags faults_of(const ir::Kernel& k, std::span<std::vector<double>> buffers) {
  Diags diags = verify(k);
  const auto fail = [&](const std::string& what) {
    diags.push_back(error(fmt::format("kernel '{}': {}", k.name, what)));
  };
  const auto check_type = [&](const std::string& name, ir::DType t) {
    if (t == ir::DType::u8 || t == ir::DType::boolean)
      fail(fmt::format("'{}' has elements of type {}, which are not interpreted", name,
                       ir::name_of(t)));
  };
  size_t arguments = 0;
  for (const ir::Buffer& b : k.buffers) {
    check_type(b.name, b.dtype);
    if (b.scope == ir::Scope::scratch) continue;
    if (const int64_t numbers = b.elements * b.texel; arguments < buffers.size() && buffers[arguments].size() != static_cast<size_t>(numbers))
      fail(fmt::format("'{}' has {} elements, was given {}", b.name, numbers,
                       buffers[arguments].size()));
    ++arguments;
  }
  if (arguments != buffers.size())
    fail(fmt::format("it takes {} arguments, was given {}", arguments, buffers.size()));
  for (const ir::Register& r : k.registers) check_type(r.name, r.dtype);
  return diags;
}

}  // namespace

Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<double>> buffers) {
  Diags faults = faults_of(kernel, buffers);
  if (has_error(faults)) return faults;
  Machine m{kernel, buffers};
  m.scratch.resize(kernel.buffers.size());
  m.registers.resize(kernel.registers.size());
  m.indices.assign(kernel.index_names.size(), 0);
  try {
    for (int64_t g = 0; g < kernel.groups; ++g) m.run_group(g);
  } catch (const Fault& f) {
    return error(fmt::format("kernel '{}': {}", kernel.name, f.what));
  }
  return m.counts;
}

Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<float>> buffers) {
  std::vector<std::vector<double>> exact;
  for (const auto& b : buffers) exact.emplace_back(b.begin(), b.end());
  const auto counts = interpret(kernel, exact);
  for (size_t b = 0; counts.ok() && b < buffers.size(); ++b)
    std::transform(exact[b].begin(), exact[b].end(), buffers[b].begin(), [](double v) { return static_cast<float>(v); });
  return counts;
}

}  // namespace assay::codegen
