// Statements and values, one lane after the other.
#include "codegen/interpreter.h"

#include <fmt/format.h>

#include "codegen/scalar_op.h"
#include "ir/element.h"
#include "ir/graph.h"

namespace assay::codegen {

using ir::Value;
using ir::ValueOp;

int64_t Interpreter::trips(const ir::For& s) const {
  int64_t n = s.limit;
  for (const ir::Index& b : s.bounds) n = std::min(n, ir::evaluate(b, indices));
  return n;
}

void Interpreter::run(const ir::Block& block) {
  for (const ir::Stmt& s : block) std::visit([&](const auto& node) { run(node); }, s.node);
}

void Interpreter::run(const ir::For& s) {
  const int64_t end = trips(s);
  for (int64_t i = 0; i < end; ++i) {
    indices[static_cast<size_t>(s.var)] = i;
    ++counts.iterations;
    run(s.body);
  }
}

void Interpreter::run(const ir::Locate& s) {
  const double value = found(s.id, ir::evaluate(s.index, indices), &s.index);
  indices[static_cast<size_t>(s.var)] = ir::position_of(value, s.extent).value_or(-1);
  ++counts.splats;
}

void Interpreter::run(const ir::Declare& s) {
  for (const int id : s.regs)
    registers[static_cast<size_t>(id)].assign(
        static_cast<size_t>(kernel.registers[static_cast<size_t>(id)].lanes), kUnwritten);
}

void Interpreter::run(const ir::Store& s) {
  const Lanes lanes = value(s.value);
  const ir::DType stored = kernel.buffers[static_cast<size_t>(s.id)].dtype;
  const bool moved = ir::is_float8(stored) && s.value.dtype == stored;  // infinities, too
  for (int l = 0; l < s.count; ++l)
    if (hold_in(l, s.conditions)) {
      const double v = lanes[static_cast<size_t>(l)];
      element(s.id, place(s.index, l) + l * s.stride, "store to", &s.index) =
          moved ? v : ir::converted(stored, v);
    }
  ++counts.vector_stores;
}

// A run begins at a multiple of its length.
int64_t Interpreter::begin_of_run(const ir::Index& index, int lane, int numbers) {
  const int64_t at = place(index, lane);
  if (at % numbers != 0)
    throw Fault{fmt::format("a run of {} elements begins at element {}", numbers, at)};
  return at;
}

void Interpreter::run(const ir::MoveRun& s) {
  const auto numbers = static_cast<int>(s.regs.size());
  const int lanes = kernel.registers[static_cast<size_t>(s.regs[0])].lanes;
  for (int l = 0; l < lanes; ++l) {
    const bool holds = hold_in(l, s.conditions);
    if (!holds && s.store) continue;
    const int64_t at = holds ? begin_of_run(s.index, l, numbers) : 0;
    for (int i = 0; i < numbers; ++i) {
      Lanes& reg = registers[static_cast<size_t>(s.regs[static_cast<size_t>(i)])];
      reg.resize(static_cast<size_t>(lanes));
      double& value = reg[static_cast<size_t>(l)];
      if (s.store)
        element(s.id, at + i, "store to", &s.index) = value;
      else
        value = holds ? element(s.id, at + i, "load from", &s.index) : 0;
    }
  }
  ++(s.store ? counts.vector_stores : counts.vector_loads);
}

void Interpreter::run(const ir::Copy& s) {
  const auto each = [&](const auto& body) {
    for (const ir::Run& r : s.runs)
      for (int l = 0; l < s.lanes; ++l)
        if (hold_in(l, r.conditions))
          for (int i = 0; i < s.numbers; ++i) body(r, l, i);
  };
  std::vector<double> loaded;
  each([&](const ir::Run& r, int lane, int i) {
    loaded.push_back(
        element(s.from, begin_of_run(r.from, lane, s.numbers) + i, "load from", &r.from));
  });
  size_t next = 0;
  each([&](const ir::Run& r, int lane, int i) {
    element(s.to, begin_of_run(r.to, lane, s.numbers) + i, "store to", &r.to) = loaded[next++];
  });
  counts.vector_loads += s.runs.size();
  counts.vector_stores += s.runs.size();
}

// Groups run one after the other, so every addition is atomic.
void Interpreter::run(const ir::AtomicAdd& s) {
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

// Groups run one after the other, so no other arrives while one polls: the first look decides. If
// earlier groups gave up, all may have arrived already.
void Interpreter::run(const ir::DeviceBarrier& s) {
  const double all = value(s.all).front();
  double& arrived = element(s.id, ir::evaluate(s.index, indices), "addition to", &s.index);
  double& looks = registers[static_cast<size_t>(s.looks)].front();
  const double found = arrived;
  arrived += 1;
  if (found < all) looks = arrived < all || looks < 1 ? 0 : looks - 1;
  ++counts.arithmetic;
}

void Interpreter::run(const ir::MatrixMultiply& s) {
  const ir::MatrixInstruction& i = kernel.instructions[static_cast<size_t>(s.instruction)];
  const auto all = [&](const std::vector<int>& regs) {
    Lanes out;
    for (const int r : regs)
      out.insert(out.end(), registers[static_cast<size_t>(r)].begin(),
                 registers[static_cast<size_t>(r)].end());
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

void Interpreter::run(const ir::MoveFragment& s) {
  const ir::Register& r = kernel.registers[static_cast<size_t>(s.reg)];
  const ir::Fragment& f = *ir::fragment_in(kernel, r);
  Lanes& held = registers[static_cast<size_t>(s.reg)];
  held.resize(static_cast<size_t>(r.lanes));
  const int64_t first = ir::evaluate(s.index, indices);
  for (int lane = 0; lane < r.lanes; ++lane) {
    const int64_t at =
        first + ir::memory_offset(f, r.fragment.layout, f.mapping.task(lane, 0), s.stride);
    double& number = held[static_cast<size_t>(lane)];
    if (s.store)
      element(s.id, at, "store to", &s.index) = number;
    else
      number = found(s.id, at, &s.index);
  }
  ++(s.store ? counts.vector_stores : counts.vector_loads);
}

void Interpreter::run(const ir::LoadFragment& s) {
  const ir::Fragment& f =
      kernel.instructions[static_cast<size_t>(s.instruction)].operand(s.operand);
  const ir::TaskMapping& runs = s.by_row ? f.by_row : f.by_column;
  const int n = ir::run_elements(f, s.by_row), columns = f.mapping.cols();
  std::vector<double> matrix(static_cast<size_t>(f.mapping.rows()) * static_cast<size_t>(columns));
  for (int lane = 0; lane < runs.workers(); ++lane) {
    const int64_t at = begin_of_run(s.index, lane, n);
    for (int i = 0; i < n; ++i) {
      const ir::Task t = ir::element_of_run(f, s.by_row, lane, i);
      matrix[static_cast<size_t>(t.row * columns + t.col)] =
          element(s.id, at + i, "load from", &s.index);
    }
  }
  const std::vector<double> all = ir::registers_of(f, matrix);
  const auto lanes = static_cast<std::ptrdiff_t>(f.mapping.workers());
  for (size_t r = 0; r < s.regs.size(); ++r) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(r) * lanes;
    registers[static_cast<size_t>(s.regs[r])].assign(first, first + lanes);
  }
  ++counts.vector_loads;
}

bool Interpreter::hold(const std::vector<ir::Condition>& conditions) const {
  return std::all_of(conditions.begin(), conditions.end(), [&](const ir::Condition& c) {
    const int64_t v = ir::evaluate(c.index, indices);
    return c.low <= v && v <= c.high;
  });
}

int64_t Interpreter::place(const ir::Index& index, int lane) {
  if (kernel.vector_lane >= 0) indices[static_cast<size_t>(kernel.vector_lane)] = lane;
  return ir::evaluate(index, indices);
}

bool Interpreter::hold_in(int lane, const std::vector<ir::Condition>& conditions) {
  if (kernel.vector_lane >= 0) indices[static_cast<size_t>(kernel.vector_lane)] = lane;
  return hold(conditions);
}

bool Interpreter::by_lane(const std::vector<ir::Condition>& conditions) const {
  return kernel.vector_lane >= 0 &&
         std::any_of(conditions.begin(), conditions.end(), [&](const ir::Condition& c) {
           return ir::depends_on(c.index, kernel.vector_lane);
         });
}

std::vector<double>& Interpreter::memory(int buffer) {
  const auto b = static_cast<size_t>(buffer);
  return kernel.buffers[b].scope == ir::Scope::scratch ? scratch[b] : arguments[b];
}

double& Interpreter::element(int buffer, int64_t at, const char* access, const ir::Index* index) {
  auto& all = memory(buffer);
  if (at >= 0 && at < static_cast<int64_t>(all.size())) return all[static_cast<size_t>(at)];
  const std::string from =
      index != nullptr ? ir::print(*index, kernel.index_names) : "an index that was read";
  throw Fault{fmt::format("{} '{}' at element {} (from {} in group {}): the buffer has {}", access,
                          kernel.buffers[static_cast<size_t>(buffer)].name, at, from, indices[0],
                          all.size())};
}

// An element of an image is the sum of its texel: (x + y) + (z + w).
double Interpreter::found(int buffer, int64_t at, const ir::Index* index) {
  const int64_t n = kernel.buffers[static_cast<size_t>(buffer)].texel;
  if (n == 1) return element(buffer, at, "load from", index);
  const bool rounds = kernel.buffers[static_cast<size_t>(buffer)].dtype == ir::DType::f32;
  const auto sum = [&](double x, double y) {
    return rounds ? double{static_cast<float>(x + y)} : x + y;
  };
  const auto number = [&](int64_t i) { return element(buffer, at * n + i, "load from", index); };
  const double first = sum(number(0), number(1));
  return n == 2 ? first : sum(first, sum(number(2), number(3)));
}

// An element as a value of the load's type.
double Interpreter::loaded(const Value& v, double element) const {
  return kernel.buffers[static_cast<size_t>(v.id)].dtype == v.dtype ? element
                                                                    : number_in(v.dtype, element);
}

Lanes Interpreter::read(const Value& v) {
  const bool splat = v.op == ValueOp::splat, gather = v.op == ValueOp::gather;
  ++(splat ? counts.splats : gather ? counts.gathers : counts.vector_loads);
  const int64_t step = splat ? 0 : gather ? v.stride : v.numbers;
  Lanes out(static_cast<size_t>(v.lanes), v.number);
  for (int l = 0; l < (splat ? v.lanes : v.count); ++l)
    if (is_active(l)) out[static_cast<size_t>(l)] = found_in(v, place(v.index, l) + l * step);
  return out;
}

// An element, or several in the bits of one value.
double Interpreter::found_in(const Value& v, int64_t at) {
  if (v.numbers == 1) return loaded(v, found(v.id, at, &v.index));
  const ir::DType number = kernel.buffers[static_cast<size_t>(v.id)].dtype;
  uint32_t bits = 0;
  for (int i = 0; i < v.numbers; ++i)
    bits = ir::pack(number, bits, i, found(v.id, at + i, &v.index));
  return ir::of_bits(v.dtype, bits);
}

// Each lane has the value of its own arm; nothing is read in the other one.
Lanes Interpreter::guard(const Value& v) {
  if (!by_lane(v.conditions)) return value(v.args[hold(v.conditions) ? 0 : 1]);
  const std::vector<char> outer = active;
  std::vector<char> holds;
  for (int l = 0; l < v.lanes; ++l)
    holds.push_back(is_active(l) && hold_in(l, v.conditions) ? 1 : 0);
  active = holds;
  Lanes out = value(v.args[0]);
  for (int l = 0; l < v.lanes; ++l) {
    const bool other = outer.empty() || outer[static_cast<size_t>(l)] != 0;
    active[static_cast<size_t>(l)] = other && holds[static_cast<size_t>(l)] == 0 ? 1 : 0;
  }
  const Lanes other = value(v.args[1]);
  for (size_t l = 0; l < out.size(); ++l)
    if (holds[l] == 0) out[l] = other[l];
  active = outer;
  return out;
}

Lanes Interpreter::insert(const Value& v) {
  Lanes out = value(v.args[0]);
  const Lanes numbers = value(v.args[1]);
  for (size_t l = 0; l < out.size(); ++l)
    out[l] = ir::of_bits(v.dtype, ir::pack(v.args[1].dtype, ir::bits_of(v.dtype, out[l]),
                                           static_cast<int>(v.number), numbers[l]));
  return out;
}

Lanes Interpreter::indirect(const Value& v) {
  Lanes at = value(v.args[0]);
  ++counts.gathers;
  if (v.args.size() > 1) {
    const Lanes rows = value(v.args[1]);
    const auto row = static_cast<double>(kernel.buffers[static_cast<size_t>(v.id)].row);
    for (size_t l = 0; l < at.size(); ++l) {
      if (at[l] < 0 || at[l] >= row)
        throw Fault{fmt::format("column {} of image '{}' is read: its rows have {}", at[l],
                                kernel.buffers[static_cast<size_t>(v.id)].name, row)};
      at[l] += rows[l] * row;
    }
  }
  for (double& a : at) a = loaded(v, found(v.id, static_cast<int64_t>(a), nullptr));
  return at;
}

Lanes Interpreter::operation(const Value& v) {
  Lanes a = value(v.args[0]);
  const Lanes b = v.args.size() > 1 ? value(v.args[1]) : Lanes(a.size());
  const Lanes c = v.args.size() > 2 ? value(v.args[2]) : Lanes(a.size());
  for (size_t l = 0; l < a.size(); ++l) a[l] = apply_scalar(v.op, v.dtype, a[l], b[l], c[l]);
  count(v.op);
  return a;
}

void Interpreter::count(ValueOp op) {
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

Lanes Interpreter::value(const Value& v) {
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
        out[l] =
            number_in(v.dtype, static_cast<double>(first + static_cast<int64_t>(l) * v.stride));
      return out;
    }
    case ValueOp::guard:
      return guard(v);
    case ValueOp::insert:
      return insert(v);
    default:
      return operation(v);
  }
}

}  // namespace assay::codegen
