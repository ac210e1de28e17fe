// Values as expressions. A comparison is a mask of the language where a select consumes it, and
// the number 1 or 0 elsewhere.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "codegen/computed_types.h"
#include "codegen/printer.h"
#include "ir/element.h"

namespace assay::codegen {
namespace {

using ir::Value;
using ir::ValueOp;

// clang-format off
constexpr std::pair<ValueOp, std::string_view> kSpellings[] = {
    {ValueOp::add, "add"}, {ValueOp::sub, "sub"}, {ValueOp::mul, "mul"}, {ValueOp::div, "div"},
    {ValueOp::max, "max"}, {ValueOp::min, "min"}, {ValueOp::pow, "pow"}, {ValueOp::fma, "fma"},
    {ValueOp::neg, "neg"}, {ValueOp::abs, "abs"}, {ValueOp::exp, "exp"}, {ValueOp::log, "log"},
    {ValueOp::sqrt, "sqrt"}, {ValueOp::tanh, "tanh"}, {ValueOp::erf, "erf"},
    {ValueOp::floor, "floor"}, {ValueOp::ceil, "ceil"}, {ValueOp::round, "round"},
    {ValueOp::less, "less"},
    {ValueOp::equal, "equal"}, {ValueOp::select, "select"}, {ValueOp::guard, "choose"},
    {ValueOp::opaque, "opaque"}, {ValueOp::dot, "dot"}, {ValueOp::lane_index, "lane_index"},
};
// clang-format on

// For operations that have operands.
std::string_view spelling_of(ValueOp op) {
  for (const auto& [known, name] : kSpellings)
    if (known == op) return name;
  ASSAY_CHECK(false);
  return "";
}

Text type_of(Printer& p, const Value& v) { return {p.type_name(v.dtype, v.lanes)}; }

// One element in every lane, written as a scalar where the language broadcasts implicitly.
bool is_uniform(const Value& v) {
  return v.lanes > 1 && (v.op == ValueOp::constant || v.op == ValueOp::splat);
}

Text element_of(Printer& p, const Value& v) {
  if (v.numbers > 1) {
    Value one = v;
    one.lanes = one.count = 1;
    return print_packed(p, one);
  }
  return v.op == ValueOp::constant ? print_number(p, v.dtype, v.number)
                                   : print_read(p, v.id, v.dtype, print_element(p, v.id, v.index));
}

Text operand(Printer& p, const Value& v, bool may_be_scalar) {
  return may_be_scalar && p.dialect.structure.mixed_operands && is_uniform(v) ? element_of(p, v)
                                                                              : print_value(p, v);
}

Text print_load(Printer& p, const Value& v) {
  if (v.lanes == 1) return element_of(p, v);
  const Text pointer = print_address(p, v.id, v.index), type = type_of(p, v);
  if (v.count == v.lanes)
    return p.spell("load",
                   {{"pointer", pointer}, {"type", type}, {"lanes", {std::to_string(v.lanes)}}});
  return p.spell("load_part", {{"pointer", pointer},
                               {"type", type},
                               {"count", {std::to_string(v.count)}},
                               {"fill", print_number(p, v.dtype, v.number)}});
}

Text print_gather(Printer& p, const Value& v, int64_t stride) {
  if (v.lanes == 1) return element_of(p, v);
  std::vector<std::string> items;
  for (int l = 0; l < v.lanes; ++l)
    items.push_back(l < v.count ? print_read(p, v.id, v.dtype,
                                             print_gathered_element(p, v.id, v.index + l * stride))
                                      .text
                                : print_number(p, v.dtype, v.number).text);
  return print_list(p, v, items);
}

Text print_indirect(Printer& p, const Value& v) {
  std::vector<Text> at;
  for (const Value& a : v.args) at.push_back(print_value(p, a));
  const auto element = [&](int lane) {
    const auto number = [&](const Text& of) { return v.lanes == 1 ? of : print_lane(p, of, lane); };
    return at.size() > 1 ? print_texel(p, v.id, number(at[0]), number(at[1]))
                         : print_read(p, v.id, v.dtype, print_element_at(p, v.id, number(at[0])));
  };
  if (v.lanes == 1) return element(0);
  std::vector<std::string> items;
  for (int l = 0; l < v.lanes; ++l) items.push_back(element(l).text);
  return print_list(p, v, items);
}

Text print_as_typed(Printer& p, const Value& v) {
  switch (v.op) {
    case ValueOp::load:
      return is_single(p, v.id) ? print_gather(p, v, 1) : print_load(p, v);
    case ValueOp::gather:
      return print_gather(p, v, v.stride);
    default:
      return print_indirect(p, v);
  }
}

// A vector is read as the buffer's elements and then converted at once; lane by lane where it is
// filled up with a number that such elements do not hold.
Text print_reads(Printer& p, const Value& v) {
  const ir::DType stored = p.buffer(v.id).dtype;
  const bool filled = v.op != ValueOp::indirect && v.count < v.lanes;
  if (stored == v.dtype || v.lanes == 1) return print_as_typed(p, v);
  const bool holds =
      std::isnan(v.number) ? !ir::is_integer(stored) : ir::rounded(stored, v.number) == v.number;
  if (filled && !holds) return print_gather(p, v, v.op == ValueOp::load ? 1 : v.stride);
  Value elements = v;
  elements.dtype = stored;
  return print_loaded(p, v.id, v.dtype, v.lanes, print_as_typed(p, elements));
}

Text print_lane_index(Printer& p, const Value& v) {
  std::vector<std::string> items;
  for (int l = 0; l < v.lanes; ++l) {
    const Text index = print_index(p, v.index + l * v.stride);
    items.push_back(
        p.spell("index_to_number", {{"index", index}, {"scalar", {p.scalar_name(v.dtype)}}}).text);
  }
  return v.lanes == 1 ? Text{items[0], 15} : print_list(p, v, items);
}

// A truth value of the language.
Text print_mask(Printer& p, const Value& v) {
  if (v.op == ValueOp::less || v.op == ValueOp::equal)
    return p.spell(spelling_of(v.op),
                   {{"a", print_value(p, v.args[0])}, {"b", print_value(p, v.args[1])}});
  Value zero;
  zero.dtype = v.dtype;
  zero.lanes = v.lanes;
  return p.spell("nonzero", {{"a", print_value(p, v)}, {"zero", print_value(p, zero)}});
}

Text print_select(Printer& p, const Value& v, const Text& mask, const Text& a, const Text& b) {
  return p.spell("select", {{"mask", mask}, {"a", a}, {"b", b}, {"type", type_of(p, v)}});
}

Text print_comparison(Printer& p, const Value& v) {
  Value one, zero;
  one.dtype = zero.dtype = v.dtype;
  one.lanes = zero.lanes = v.lanes;
  one.number = 1;
  return print_select(p, v, print_mask(p, v), print_value(p, one), print_value(p, zero));
}

Text print_guard(Printer& p, const Value& v) {
  const std::string condition = print_conditions(p, v.conditions);
  if (condition.empty()) return print_value(p, v.args[0]);
  return p.spell("choose", {{"condition", {condition, 5}},
                            {"a", print_value(p, v.args[0])},
                            {"b", print_value(p, v.args[1])}});
}

// Languages promote scalars of narrow types, so each operation's result is narrowed again.
Text narrowed(Printer& p, const Value& v, Text text) {
  const ElementType* type = p.element_type(v.dtype);
  if (v.lanes > 1 || type == nullptr || !type->narrow) return text;
  return fill(*type->narrow, {{"scalar", {type->scalar}}, {"a", std::move(text)}});
}

// + - * / and multiply-add: the language broadcasts a scalar operand where the dialect says so. One
// operand stays a vector, else the operation would be scalar. Functions take operands of one type.
Text print_arithmetic(Printer& p, const Value& v) {
  const Template* t = p.dialect.find(spelling_of(v.op), v.dtype);
  const bool a_is_scalar = is_uniform(v.args[0]), mixes = t != nullptr && t->level < kCallLevel;
  const Text a = operand(p, v.args[0], mixes && (v.args.size() == 1 || !is_uniform(v.args[1])));
  const Text b = operand(p, v.args[1], mixes && (!a_is_scalar || v.args.size() == 1));
  std::vector<Filling> fillings{{"a", a}, {"b", b}, {"type", type_of(p, v)}};
  if (v.args.size() == 3) fillings.push_back({"c", operand(p, v.args[2], mixes)});
  return narrowed(p, v, p.spell(spelling_of(v.op), v.dtype, fillings));
}

// A number comes second in max and min: dialects test the second operand for NaN, and a compiler
// leaves the test of a number out.
bool swaps(const Value& v) {
  return (v.op == ValueOp::max || v.op == ValueOp::min) && v.args[0].op == ValueOp::constant &&
         v.args[1].op != ValueOp::constant;
}

Text print_call(Printer& p, const Value& v) {
  static constexpr std::array<std::string_view, 3> kHoles{"a", "b", "c"};
  std::vector<Filling> fillings{{"type", type_of(p, v)}};
  for (size_t i = 0; i < v.args.size(); ++i)
    fillings.push_back({kHoles[i], print_value(p, v.args[swaps(v) ? 1 - i : i])});
  return narrowed(p, v, p.spell(spelling_of(v.op), v.dtype, fillings));
}

// Floating-point numbers of which the language has no literals: {bits} says all of them.
bool is_spelled_by_bits(ir::DType t, const ElementType& type) {
  return !ir::is_integer(t) && ir::numbers_in(t) == 1 && !type.infinity;
}

std::string digits_of(ir::DType t, double number) {
  return fmt::format("0x{:04x}", ir::pack(t, 0, 0, number));
}

}  // namespace

Text print_number(Printer& p, ir::DType t, double number) {
  const ElementType* found = p.element_type(t);
  if (found == nullptr) return {p.scalar_name(t)};
  const ElementType& type = *found;
  if (is_spelled_by_bits(t, type))
    return {fill(type.literal, {{"digits", {""}}, {"bits", {digits_of(t, number)}}})};
  if (std::isnan(number) && type.nan) return {*type.nan};
  if (std::isinf(number) && type.infinity)
    return {(number < 0 ? "-" : "") + *type.infinity, number < 0 ? 15 : kCallLevel};
  const bool is_float = type.infinity.has_value();
  char digits[64];
  std::to_chars_result end{};
  if (!is_float)
    end = std::to_chars(digits, digits + sizeof digits, static_cast<int64_t>(number));
  else if (t == ir::DType::f64)
    end = std::to_chars(digits, digits + sizeof digits, number);
  else
    end = std::to_chars(digits, digits + sizeof digits, static_cast<float>(number));
  std::string text(digits, end.ptr);
  if (is_float && text.find_first_of(".e") == std::string::npos) text += ".0";
  return {fill(type.literal, {{"digits", {text}}, {"bits", {""}}}).text,
          text[0] == '-' ? 15 : kCallLevel};
}

Text print_lane(Printer& p, const Text& vector, int lane) {
  return p.spell(
      "lane",
      {{"a", vector}, {"lane", {std::to_string(lane)}}, {"hex", {fmt::format("{:x}", lane)}}});
}

Text print_broadcast(Printer& p, const Value& v, const Text& element) {
  if (v.lanes == 1) return element;
  return p.spell("broadcast", {{"a", element}, {"type", type_of(p, v)}});
}

Text print_list(Printer& p, const Value& v, const std::vector<std::string>& items) {
  return p.spell("list",
                 {{"type", type_of(p, v)}, {"items", {fmt::format("{}", fmt::join(items, ", "))}}});
}

Text print_value(Printer& p, const Value& v) {
  if (is_computed(v.op))
    if (const ElementType* t = p.element_type(v.dtype); t != nullptr && t->only_moved)
      p.unsupported.insert(fmt::format("'{}' of {}", spelling_of(v.op), ir::name_of(v.dtype)));
  switch (v.op) {
    case ValueOp::constant:
    case ValueOp::splat:
      return print_broadcast(p, v, element_of(p, v));
    case ValueOp::reg:
      return {p.register_names[static_cast<size_t>(v.id)]};
    case ValueOp::load:
    case ValueOp::gather:
    case ValueOp::indirect:
      return v.numbers > 1 ? print_packed(p, v) : print_reads(p, v);
    case ValueOp::insert:
      return print_insert(p, v);
    case ValueOp::lane_index:
      return print_lane_index(p, v);
    case ValueOp::add:
    case ValueOp::sub:
    case ValueOp::mul:
    case ValueOp::div:
    case ValueOp::fma:
      return print_arithmetic(p, v);
    case ValueOp::less:
    case ValueOp::equal:
      return print_comparison(p, v);
    case ValueOp::select:
      return print_select(p, v, print_mask(p, v.args[0]), print_value(p, v.args[1]),
                          print_value(p, v.args[2]));
    case ValueOp::guard:
      return print_guard(p, v);
    case ValueOp::convert:
      return print_converted(p, v);
    default:
      return print_call(p, v);
  }
}

}  // namespace assay::codegen
