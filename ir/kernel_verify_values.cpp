// verify(Kernel): indices and values.
#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "ir/kernel_checker.h"

namespace assay::ir {
namespace {

size_t arity(ValueOp op) {
  using enum ValueOp;
  const auto any_of = [op](std::initializer_list<ValueOp> ops) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  };
  if (any_of({constant, reg, load, splat, gather, lane_index})) return 0;
  if (any_of({fma, select, dot})) return 3;
  if (any_of({add, sub, mul, div, max, min, pow, less, equal, guard, insert})) return 2;
  return 1;
}

bool is_index_type(DType t) { return t == DType::i32 || t == DType::i64; }  // a boolean is none

// What is computed on two numbers at once.
bool has_pairs(ValueOp op) {
  using enum ValueOp;
  switch (op) {
    case constant:
    case reg:
    case load:
    case splat:
    case gather:
    case indirect:
    case add:
    case sub:
    case mul:
    case fma:
    case neg:
    case guard:
    case insert:
    case opaque:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Checker::is_own(const Index& index) const {
  return std::any_of(index.terms.begin(), index.terms.end(), [&](const Term& t) {
    if (t.var < 0) return t.of.size() == 1 && is_own(t.of[0]);
    return in_range(t.var, var_own.size()) && var_own[static_cast<size_t>(t.var)];
  });
}

void Checker::check_index(const Index& index) {
  for (const Term& t : index.terms) {
    if (t.div < 1 || t.mod < 0)
      fail(fmt::format("an index divides by {} or takes it modulo {}", t.div, t.mod));
    if (t.var < 0) {
      if (t.of.size() == 1)
        check_index(t.of[0]);
      else
        fail("an index term has neither a variable nor one nested index");
    } else if (!in_range(t.var, k.index_names.size())) {
      fail(fmt::format("there is no index variable {}", t.var));
    } else if (!var_visible[static_cast<size_t>(t.var)]) {
      fail(fmt::format("index variable '{}' is used where it is not bound",
                       k.index_names[static_cast<size_t>(t.var)]));
    }
  }
}

void Checker::check_conditions(const std::vector<Condition>& conditions) {
  for (const Condition& c : conditions) check_index(c.index);
}

void Checker::check_moved(const char* access, int id, DType value) {
  const Buffer& b = k.buffers[static_cast<size_t>(id)];
  if (b.dtype == value || converts(b.dtype, value)) return;
  std::string expected(name_of(b.dtype));
  for (const DType t : {DType::i32, DType::f32})
    if (converts(b.dtype, t)) expected += fmt::format(" or {}", name_of(t));
  fail(fmt::format("{} '{}' has another type than the buffer: {}, expected {}", access, b.name,
                   name_of(value), expected));
}

// The lane's number is known here, unlike in bounds of loops or where a vector is whole.
void Checker::check_lanes(const Index& index) {
  const bool vectors = k.vector_lane >= 0 && in_range(k.vector_lane, k.index_names.size());
  const auto lane = static_cast<size_t>(k.vector_lane);
  if (vectors) var_visible[lane] = true;
  check_index(index);
  if (vectors) var_visible[lane] = false;
}

void Checker::check_lanes(const std::vector<Condition>& conditions) {
  for (const Condition& c : conditions) check_lanes(c.index);
}

void Checker::check_numbers(const Value& v) {
  const Buffer& b = k.buffers[static_cast<size_t>(v.id)];
  if (v.op == ValueOp::indirect || !packs(v.dtype, b.dtype) ||
      v.numbers * bytes_of(b.dtype) != bytes_of(v.dtype))
    fail(fmt::format("a load of {} numbers of '{}', which are {}, into {}", v.numbers, b.name,
                     name_of(b.dtype), name_of(v.dtype)));
  if (v.op == ValueOp::gather && v.stride != 0 && std::abs(v.stride) < v.numbers)
    fail(fmt::format("a load of {} numbers in lanes that are {} from each other", v.numbers,
                     v.stride));
  if (v.number != 0) fail("lanes of several numbers without an element hold 0");
}

void Checker::check_insert(const Value& v) {
  if (v.args.size() != 2) return;
  const DType number = v.args[1].dtype;
  if (!packs(v.dtype, number))
    return fail(
        fmt::format("a number of type {} is inserted in {}", name_of(number), name_of(v.dtype)));
  const int places = bytes_of(v.dtype) / bytes_of(number);
  if (v.number < 0 || v.number >= places || v.number != static_cast<int>(v.number))
    fail(fmt::format("a number is inserted in place {} of {}", v.number, places));
}

void Checker::check_leaf(const Value& v) {
  const bool reads = v.op == ValueOp::load || v.op == ValueOp::splat || v.op == ValueOp::gather ||
                     v.op == ValueOp::indirect;
  if (v.op == ValueOp::gather)
    check_lanes(v.index);
  else if ((reads && v.op != ValueOp::indirect) || v.op == ValueOp::lane_index)
    check_index(v.index);
  if (v.numbers != 1 && !reads) fail("only a load has several numbers");
  if (reads && buffer_ok(v.id)) {
    if (v.numbers == 1)
      check_moved("a load from", v.id, v.dtype);
    else
      check_numbers(v);
  }
  if ((v.op == ValueOp::load || v.op == ValueOp::gather) && (v.count < 1 || v.count > v.lanes))
    fail(fmt::format("a load of {} elements into {} lanes", v.count, v.lanes));
  if (v.op == ValueOp::reg && register_ok(v.id)) {
    const Register& r = k.registers[static_cast<size_t>(v.id)];
    if (r.fragment.instruction >= 0)
      fail(fmt::format("register '{}' holds an opaque fragment, which no lane reads", r.name));
    if (r.dtype != v.dtype || r.lanes != v.lanes)
      fail(fmt::format("register '{}' has {} lanes and is read with {}", r.name, r.lanes, v.lanes));
  }
}

void Checker::check_value(const Value& v) {
  if (v.lanes < 1) fail(fmt::format("a value of {} lanes", v.lanes));
  check_leaf(v);
  check_lanes(v.conditions);
  if (v.op == ValueOp::insert) check_insert(v);
  if (v.op != ValueOp::guard && !v.conditions.empty()) fail("only a guard has conditions");
  if (numbers_in(v.dtype) > 1 && !has_pairs(v.op))
    fail(fmt::format("an operation that {} does not have", name_of(v.dtype)));
  if (v.op == ValueOp::dot && v.dtype != DType::i32)
    fail("products of four i8 are added up in i32 only");
  if (v.op == ValueOp::convert && v.dtype != DType::i32 && v.dtype != DType::f32)
    fail("registers are converted between i32 and f32 only");
  const bool by_place = v.op == ValueOp::indirect && v.args.size() == 2 &&
                        in_range(v.id, k.buffers.size()) &&
                        k.buffers[static_cast<size_t>(v.id)].space == Space::image;
  if (v.args.size() != arity(v.op) && !by_place)
    return fail(
        fmt::format("an operation with {} operands, expected {}", v.args.size(), arity(v.op)));
  const auto is_typed = [&](const Value& a) {
    if (v.op == ValueOp::convert) return converts(a.dtype, v.dtype) || converts(v.dtype, a.dtype);
    if (v.op == ValueOp::insert && &a == &v.args[1]) return true;  // check_insert
    return v.op == ValueOp::indirect ? is_index_type(a.dtype) : a.dtype == v.dtype;
  };
  for (const Value& a : v.args) {
    if (a.lanes != v.lanes || !is_typed(a))
      fail(fmt::format("an operand of {} lanes in an operation of {}, or of another type", a.lanes,
                       v.lanes));
    check_value(a);
  }
}

}  // namespace assay::ir
