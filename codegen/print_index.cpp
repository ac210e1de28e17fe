// Index expressions as 64-bit integer arithmetic. The variables' ranges decide between plain and
// floor division, and which bounds need no test.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "codegen/printer.h"

namespace assay::codegen {
namespace {

constexpr int kUnary = 15, kProduct = 13, kSum = 12;
constexpr const char* kConstantElement = "constant_element";
constexpr const char* kAddress = "address";
constexpr const char* kGatheredElement = "element_apart";

Text parenthesised(Text t, int level) {
  return t.level < level ? Text{"(" + t.text + ")", kCallLevel} : t;
}

Text number(int64_t v) { return {std::to_string(v), v < 0 ? kUnary : kCallLevel}; }

// (base / div) % mod without the coefficient.
Text print_term(Printer& p, const ir::Term& t) {
  const bool is_variable = t.var >= 0;
  Text text =
      is_variable ? Text{p.index_names[static_cast<size_t>(t.var)]} : print_index(p, t.of[0]);
  const ir::Range range =
      is_variable ? p.ranges[static_cast<size_t>(t.var)] : ir::range_of(t.of[0], p.ranges);
  const bool plain = range.low >= 0;
  if (t.div != 1)
    text =
        p.spell(plain ? "index_divide" : "index_floor_divide", {{"a", text}, {"d", number(t.div)}});
  if (t.mod != 0)
    text =
        p.spell(plain ? "index_modulo" : "index_floor_modulo", {{"a", text}, {"d", number(t.mod)}});
  return text;
}

// The variable of a term that is bound last: the innermost loop that changes the term.
int last_bound(const ir::Term& t) {
  int last = t.var;
  for (const ir::Index& i : t.of)
    for (const ir::Term& inner : i.terms) last = std::max(last, last_bound(inner));
  return last;
}

}  // namespace

// Terms of outer loops come first. Sums associate to the left, and g++ does not reassociate signed
// integers, so it hoists exactly the loop-invariant prefix.
Text print_index(Printer& p, const ir::Index& index) {
  std::vector<const ir::Term*> terms;
  for (const ir::Term& t : index.terms)
    if (t.coeff != 0) terms.push_back(&t);
  std::stable_sort(terms.begin(), terms.end(), [](const ir::Term* a, const ir::Term* b) {
    return last_bound(*a) < last_bound(*b);
  });
  std::string sum;
  int level = kCallLevel, count = 0;
  for (const ir::Term* term : terms) {
    const ir::Term& t = *term;
    const bool minus = t.coeff < 0 && count > 0;
    const int64_t coeff = minus ? -t.coeff : t.coeff;
    Text text = print_term(p, t);
    if (coeff != 1)
      text = {parenthesised(text, kProduct).text + " * " + std::to_string(coeff), kProduct};
    level = count == 0 ? text.level : kSum;
    if (count > 0)
      text = parenthesised(text, kProduct);
    else if (terms.size() > 1)
      text = parenthesised(text, kSum);
    sum += (count == 0 ? "" : minus ? " - " : " + ") + text.text;
    ++count;
  }
  if (count == 0) return number(index.offset);
  if (index.offset == 0) return {sum, level};
  const std::string offset = std::to_string(index.offset < 0 ? -index.offset : index.offset);
  return {sum + (index.offset < 0 ? " - " : " + ") + offset, kSum};
}

std::string print_conditions(Printer& p, const std::vector<ir::Condition>& conditions) {
  std::string all;
  const auto add = [&](const std::string& test) { all += (all.empty() ? "" : " && ") + test; };
  for (const ir::Condition& c : conditions) {
    const ir::Range range = ir::range_of(c.index, p.ranges);
    const std::string text = parenthesised(print_index(p, c.index), kSum).text;
    if (range.low < c.low) add(fmt::format("{} >= {}", text, c.low));
    if (range.high > c.high) add(fmt::format("{} <= {}", text, c.high));
  }
  return all;
}

namespace {

struct BaseAndIndex {  // of an element
  std::string base;
  ir::Index index;
};

// The base is an opaque pointer at a constant distance from the element, or else the buffer. With
// `separate_displacements` it is the buffer plus the variable terms, and the constant is the index.
BaseAndIndex base_and_index(Printer& p, int buffer, const ir::Index& index) {
  for (const auto& [pointer, name] : p.opaque_pointers)
    if (pointer.buffer == buffer && pointer.place.terms == index.terms)
      return {name, ir::constant(index.offset - pointer.place.offset)};
  const std::string& name = p.buffer_name(buffer);
  const ir::Index rest = index + -index.offset;
  if (!p.dialect.structure.separate_displacements || index.offset <= 0 || index.terms.empty() ||
      ir::range_of(rest, p.ranges).low < 0)
    return {name, index};
  const Text base = p.spell(kAddress, {{"buffer", {name}}, {"index", print_index(p, rest)}});
  return {parenthesised(base, kCallLevel).text, ir::constant(index.offset)};
}

Text print_access(Printer& p, const char* spelling, int buffer, const ir::Index& index) {
  const BaseAndIndex at = base_and_index(p, buffer, index);
  return p.spell(spelling, {{"buffer", {at.base}}, {"index", print_index(p, at.index)}});
}

}  // namespace

Text print_address(Printer& p, int buffer, const ir::Index& index) {
  return print_access(p, kAddress, buffer, index);
}

bool is_single(const Printer& p, int buffer) {
  const ir::Space space = p.buffer(buffer).space;
  return space == ir::Space::image || (space == ir::Space::constant && p.has(kConstantElement)) ||
         has_memory_form(p, buffer);
}

Text print_element(Printer& p, int buffer, const ir::Index& index) {
  return is_single(p, buffer) ? print_element_at(p, buffer, print_index(p, index))
                              : print_access(p, "element", buffer, index);
}

Text print_gathered_element(Printer& p, int buffer, const ir::Index& index) {
  const bool own = p.has(kGatheredElement) && p.buffer(buffer).space == ir::Space::plain;
  return own ? print_access(p, kGatheredElement, buffer, index) : print_element(p, buffer, index);
}

Text print_element_at(Printer& p, int buffer, const Text& index) {
  const ir::Buffer& b = p.buffer(buffer);
  if (is_single(p, buffer) && b.space == ir::Space::constant)
    return p.spell(kConstantElement, {{"buffer", {p.buffer_name(buffer)}},
                                      {"index", index},
                                      {"scalar", {memory_name(p, buffer)}}});
  if (b.space != ir::Space::image)
    return p.spell("element", {{"buffer", {p.buffer_name(buffer)}}, {"index", index}});
  return p.spell("texel", {{"buffer", {p.buffer_name(buffer)}},
                           {"index", index},
                           {"row", {std::to_string(b.row)}},
                           {"texel", {std::to_string(b.texel)}},
                           {"scalar", {p.scalar_name(b.dtype)}}});
}

Text print_texel(Printer& p, int buffer, const Text& column, const Text& row) {
  const ir::Buffer& b = p.buffer(buffer);
  return p.spell("texel_at", {{"buffer", {p.buffer_name(buffer)}},
                              {"column", column},
                              {"row", row},
                              {"texel", {std::to_string(b.texel)}},
                              {"scalar", {p.scalar_name(b.dtype)}}});
}

}  // namespace assay::codegen
