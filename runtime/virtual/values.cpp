#include "runtime/virtual/values.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "codegen/scalar_op.h"
#include "ir/element.h"
#include "support/check.h"

namespace assay::runtime::simulated {
namespace {

using ir::DType;
using ir::ValueOp;

constexpr size_t kAlignment = 64;

template <class F>
void with_type(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i32:
      return f(int32_t{});
    case DType::i64:
      return f(int64_t{});
    default:
      break;
  }
  ASSAY_CHECK(false);
}

// Narrow and packed types are computed one by one, as the interpreter does.
bool is_narrow(DType t) {
  return ir::is_small_float(t) || t == DType::i8 || t == DType::u8 || ir::numbers_in(t) > 1;
}

// An integer of the type's size for narrow types, whose bits are copied.
template <class F>
void with_storage(DType t, F&& f) {
  if (!is_narrow(t)) return with_type(t, f);
  switch (ir::bytes_of(t)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    default:
      return f(uint32_t{});
  }
}

// Unsigned arithmetic, since integers wrap.
template <class T>
T wrapped(ValueOp op, T a, T b, T c) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b),
             z = static_cast<uint64_t>(c);
  switch (op) {
    case ValueOp::add:
      return static_cast<T>(x + y);
    case ValueOp::sub:
      return static_cast<T>(x - y);
    case ValueOp::mul:
      return static_cast<T>(x * y);
    case ValueOp::fma:
      return static_cast<T>(x * y + z);
    case ValueOp::neg:
      return static_cast<T>(0 - x);
    default:
      return static_cast<T>(b == 0 ? 0 : b == T{-1} ? static_cast<T>(0 - x) : a / b);
  }
}

template <class T>
T function(ValueOp op, T a, T b) {
  switch (op) {
    case ValueOp::pow:
      return std::pow(a, b);
    case ValueOp::exp:
      return std::exp(a);
    case ValueOp::log:
      return std::log(a);
    case ValueOp::sqrt:
      return std::sqrt(a);
    case ValueOp::tanh:
      return std::tanh(a);
    case ValueOp::erf:
      return std::erf(a);
    case ValueOp::floor:
      return std::floor(a);
    case ValueOp::ceil:
      return std::ceil(a);
    case ValueOp::round:
      return std::nearbyint(a);
    default:
      break;
  }
  ASSAY_CHECK(false);
  return a;
}

template <class T>
T one(ValueOp op, T a, T b, T c) {
  switch (op) {
    case ValueOp::max:
      return a < b || b != b ? b : a;
    case ValueOp::min:
      return b < a || b != b ? b : a;
    case ValueOp::less:
      return a < b ? T{1} : T{0};
    case ValueOp::equal:
      return a == b ? T{1} : T{0};
    case ValueOp::select:
      return a != 0 ? b : c;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case ValueOp::add:
        return a + b;
      case ValueOp::sub:
        return a - b;
      case ValueOp::mul:
        return a * b;
      case ValueOp::div:
        return a / b;
      case ValueOp::fma:
        return std::fma(a, b, c);
      case ValueOp::neg:
        return -a;
      case ValueOp::abs:
        return a < 0 ? -a : a;
      default:
        return function(op, a, b);
    }
  } else {
    switch (op) {
      case ValueOp::abs:
        return a < 0 ? wrapped(ValueOp::neg, a, b, c) : a;
      case ValueOp::add:
      case ValueOp::sub:
      case ValueOp::mul:
      case ValueOp::div:
      case ValueOp::fma:
      case ValueOp::neg:
        return wrapped(op, a, b, c);
      default:
        return static_cast<T>(function<double>(op, static_cast<double>(a), static_cast<double>(b)));
    }
  }
}

// Common operations in loops of their own, so that compilers vectorise them.
template <class T>
void all_lanes(ValueOp op, T* to, const T* a, const T* b, const T* c, int n) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == ValueOp::add) {
      for (int l = 0; l < n; ++l) to[l] = a[l] + b[l];
      return;
    }
    if (op == ValueOp::mul) {
      for (int l = 0; l < n; ++l) to[l] = a[l] * b[l];
      return;
    }
    if (op == ValueOp::max) {
      for (int l = 0; l < n; ++l) to[l] = one<T>(ValueOp::max, a[l], b[l], T{});
      return;
    }
  }
  for (int l = 0; l < n; ++l) to[l] = one<T>(op, a[l], b[l], c[l]);
}

template <class T>
T* as(std::byte* p) {
  return reinterpret_cast<T*>(p);
}
template <class T>
const T* as(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}

}  // namespace

Registers::Registers(const Code& code, Products& products)
    : code_(code), products_(products), uniform_(code.regs.size(), 1) {
  size_t at = 0;
  for (const Reg& r : code.regs) {
    offset_.push_back(at);
    at += (static_cast<size_t>(r.lanes) * static_cast<size_t>(ir::bytes_of(r.dtype)) + kAlignment -
           1) /
          kAlignment * kAlignment;
  }
  data_.assign(at + kAlignment, std::byte{0});
}

void Registers::spread(int reg) {
  if (!uniform(reg)) return;
  const Reg& r = code_.regs[static_cast<size_t>(reg)];
  with_storage(r.dtype, [&](auto t) {
    auto* to = as<decltype(t)>(lanes(reg));
    for (int l = 1; l < r.lanes; ++l) to[l] = to[0];
  });
  set_uniform(reg, false);
}

double Registers::value(int reg, int lane) const {
  double out = 0;
  const int l = uniform(reg) ? 0 : lane;
  if (const DType t = code_.regs[static_cast<size_t>(reg)].dtype; is_narrow(t))
    return ir::load_element(t, one(reg) + l * ir::bytes_of(t));
  with_type(code_.regs[static_cast<size_t>(reg)].dtype,
            [&](auto t) { out = static_cast<double>(as<decltype(t)>(one(reg))[l]); });
  return out;
}

void Registers::set_value(int reg, int lane, double v) {
  if (const DType t = code_.regs[static_cast<size_t>(reg)].dtype; is_narrow(t))
    return ir::store_element(t, lanes(reg) + lane * ir::bytes_of(t), v);
  with_type(code_.regs[static_cast<size_t>(reg)].dtype,
            [&](auto t) { as<decltype(t)>(lanes(reg))[lane] = static_cast<decltype(t)>(v); });
}

int64_t Registers::integer(int reg, int lane) const {
  const int l = uniform(reg) ? 0 : lane;
  if (code_.regs[static_cast<size_t>(reg)].dtype == DType::i64) return as<int64_t>(one(reg))[l];
  return as<int32_t>(one(reg))[l];
}

void Registers::constant(const Op& op, Mask mask) {
  with_storage(op.dtype, [&](auto t) {
    using T = decltype(t);
    T v{};
    if (is_narrow(op.dtype))
      ir::store_element(op.dtype, reinterpret_cast<std::byte*>(&v),
                        codegen::number_in(op.dtype, op.number));
    else
      v = static_cast<T>(op.number);
    if (mask == nullptr) {
      as<T>(lanes(op.dst))[0] = v;
      return set_uniform(op.dst, true);
    }
    spread(op.dst);
    for (int l = 0; l < op.lanes; ++l)
      if (mask[l] != 0) as<T>(lanes(op.dst))[l] = v;
  });
}

// A register of runs is uniform where its first run is that of all lanes.
void Registers::part(const Op& op, Mask mask) {
  const bool joins = op.stride == 1, same = !joins && uniform(op.a);
  if (joins) {
    spread(op.a);
    set_uniform(op.dst, false);
  } else if (mask != nullptr) {
    spread(op.dst);
  } else {
    set_uniform(op.dst, same);
  }
  with_storage(op.dtype, [&](auto t) {
    using T = decltype(t);
    const T* from = as<T>(one(op.a));
    T* to = as<T>(lanes(op.dst));
    for (int l = 0; l < (same && mask == nullptr ? 1 : op.lanes); ++l) {
      if (mask != nullptr && mask[l] == 0) continue;
      const int in_run = l * op.numbers + op.var;
      to[joins ? in_run : l] = from[joins ? l : same ? op.var : in_run];
    }
  });
}

void Registers::copy(const Op& op, Mask mask) {
  if (op.a == op.dst) return;
  with_storage(op.dtype, [&](auto t) {
    using T = decltype(t);
    if (mask == nullptr && uniform(op.a)) {
      as<T>(lanes(op.dst))[0] = as<T>(one(op.a))[0];
      return set_uniform(op.dst, true);
    }
    spread(op.a);
    if (mask == nullptr) {
      std::memcpy(lanes(op.dst), one(op.a), sizeof(T) * static_cast<size_t>(op.lanes));
      return set_uniform(op.dst, false);
    }
    spread(op.dst);
    for (int l = 0; l < op.lanes; ++l)
      if (mask[l] != 0) as<T>(lanes(op.dst))[l] = as<T>(one(op.a))[l];
  });
}

template <class T>
void Registers::apply_as(const Op& op, Mask mask) {
  const int b = op.b >= 0 ? op.b : op.a, c = op.c >= 0 ? op.c : op.a;
  if (mask == nullptr && uniform(op.a) && uniform(b) && uniform(c)) {
    as<T>(lanes(op.dst))[0] =
        simulated::one<T>(op.op, as<T>(one(op.a))[0], as<T>(one(b))[0], as<T>(one(c))[0]);
    return set_uniform(op.dst, true);
  }
  for (const int r : {op.a, b, c}) spread(r);
  if (mask == nullptr) {
    all_lanes<T>(op.op, as<T>(lanes(op.dst)), as<T>(one(op.a)), as<T>(one(b)), as<T>(one(c)),
                 op.lanes);
    return set_uniform(op.dst, false);
  }
  spread(op.dst);
  for (int l = 0; l < op.lanes; ++l)
    if (mask[l] != 0)
      as<T>(lanes(op.dst))[l] =
          simulated::one<T>(op.op, as<T>(one(op.a))[l], as<T>(one(b))[l], as<T>(one(c))[l]);
}

void Registers::apply_narrow(const Op& op, Mask mask) {
  const int b = op.b >= 0 ? op.b : op.a, c = op.c >= 0 ? op.c : op.a;
  const auto result = [&](int l) {
    if (op.op == ValueOp::insert)
      return ir::of_bits(op.dtype, ir::pack(code_.regs[static_cast<size_t>(b)].dtype,
                                            ir::bits_of(op.dtype, value(op.a, l)),
                                            static_cast<int>(op.number), value(b, l)));
    return codegen::apply_scalar(op.op, op.dtype, value(op.a, l), value(b, l), value(c, l));
  };
  if (mask == nullptr && uniform(op.a) && uniform(b) && uniform(c)) {
    set_value(op.dst, 0, result(0));
    return set_uniform(op.dst, true);
  }
  for (const int r : {op.a, b, c}) spread(r);
  if (mask != nullptr) spread(op.dst);
  for (int l = 0; l < op.lanes; ++l)
    if (mask == nullptr || mask[l] != 0) set_value(op.dst, l, result(l));
  set_uniform(op.dst, false);
}

// The waves of a group lie one after the other in its registers.
void Registers::multiply(const Matrix& m, Mask mask) {
  const int lanes = m.instruction.workers();
  const int all_lanes = code_.regs[static_cast<size_t>(m.d.front())].lanes;
  for (const std::vector<int>* regs : {&m.d, &m.a, &m.b})
    for (const int r : *regs) spread(r);
  for (int first = 0; first < all_lanes; first += lanes) {
    if (mask != nullptr && mask[first] == 0) continue;
    const auto all = [&](const std::vector<int>& regs, const ir::Fragment& f) {
      std::vector<double> out;
      for (const int r : regs)
        for (int l = 0; l < f.mapping.workers(); ++l) out.push_back(value(r, first + l));
      return out;
    };
    const ir::MatrixInstruction& i = m.instruction;
    const std::vector<double>& d = products_.of(i, all(m.a, i.a), all(m.b, i.b), all(m.c, i.c));
    size_t at = 0;
    for (const int r : m.d)
      for (int l = 0; l < lanes; ++l) set_value(r, first + l, d[at++]);
  }
}

void Registers::apply(const Op& op, Mask mask) {
  if (is_narrow(op.dtype) || op.op == ValueOp::dot || op.op == ValueOp::insert ||
      op.op == ValueOp::convert)
    return apply_narrow(op, mask);
  if (op.dtype == DType::f32) return apply_as<float>(op, mask);
  with_type(op.dtype, [&](auto t) { apply_as<decltype(t)>(op, mask); });
}

void Registers::lane_index(const Op& op, std::span<const int64_t> numbers, Mask mask) {
  spread(op.dst);
  with_storage(op.dtype, [&](auto t) {
    using T = decltype(t);
    for (int l = 0; l < op.lanes; ++l) {
      if (mask != nullptr && mask[l] == 0) continue;
      const int64_t number = numbers[static_cast<size_t>(l)];
      if (is_narrow(op.dtype))
        set_value(op.dst, l, codegen::number_in(op.dtype, static_cast<double>(number)));
      else
        as<T>(lanes(op.dst))[l] = static_cast<T>(number);
    }
  });
  set_uniform(op.dst, false);
}

}  // namespace assay::runtime::simulated
