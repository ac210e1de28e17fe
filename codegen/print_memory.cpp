// Elements of memory as values, and values as elements: the one place where loads, stores and
// registers convert (ir::converts), and where a language has another type for elements of
// arguments.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/printer.h"

namespace assay::codegen {
namespace {

// The row of `narrow` in the dialect spells the conversion.
Text converted(Printer& p, std::string_view key, ir::DType narrow, ir::DType from, ir::DType to,
               int lanes, Text a) {
  const ElementType* type = p.element_type(narrow);
  const bool loads = key == kLoaded;
  const std::optional<Template> none, &t = type == nullptr ? none
                                           : loads         ? type->loaded
                                                           : type->stored;
  if (!t) {
    p.unsupported.insert(fmt::format(
        "{} of {} {} {}: types.{}.{} is not in it", loads ? "loads" : "stores", ir::name_of(from),
        loads ? "as" : "to", ir::name_of(to), ir::name_of(narrow), key));
    return a;
  }
  p.used.words.insert(fmt::format("{}.{}", ir::name_of(narrow), key));
  return fill(*t, {{"a", std::move(a)},
                   {"type", {p.type_name(to, lanes)}},
                   {"from", {p.type_name(from, lanes)}},
                   {"lanes", {std::to_string(lanes)}}});
}

const MemoryForm* memory_form(const Printer& p, int buffer) {
  const ir::Buffer& b = p.buffer(buffer);
  const ElementType* type = b.scope == ir::Scope::global ? p.element_type(b.dtype) : nullptr;
  return type != nullptr && type->memory ? &*type->memory : nullptr;
}

}  // namespace

std::string memory_name(Printer& p, int buffer) {
  const std::string scalar = p.scalar_name(p.buffer(buffer).dtype);
  const MemoryForm* form = memory_form(p, buffer);
  return form == nullptr ? scalar : form->scalar;
}

bool has_memory_form(const Printer& p, int buffer) { return memory_form(p, buffer) != nullptr; }

Text print_loaded(Printer& p, int buffer, ir::DType to, int lanes, Text a) {
  const ir::DType from = p.buffer(buffer).dtype;
  return from == to ? a : converted(p, kLoaded, from, from, to, lanes, std::move(a));
}

Text print_read(Printer& p, int buffer, ir::DType to, Text element) {
  if (const MemoryForm* form = memory_form(p, buffer))
    element = fill(form->read, {{"a", std::move(element)}});
  return print_loaded(p, buffer, to, 1, std::move(element));
}

Text print_stored(Printer& p, int buffer, const ir::Value& v) {
  const ir::DType to = p.buffer(buffer).dtype;
  Text a = print_value(p, v);
  return v.dtype == to ? a : converted(p, kStored, to, v.dtype, to, v.lanes, std::move(a));
}

Text print_converted(Printer& p, const ir::Value& v) {
  const ir::DType from = v.args[0].dtype;
  const bool loads = ir::converts(from, v.dtype);
  return converted(p, loads ? kLoaded : kStored, loads ? from : v.dtype, from, v.dtype, v.lanes,
                   print_value(p, v.args[0]));
}

Text print_written(Printer& p, int buffer, Text element) {
  const MemoryForm* form = memory_form(p, buffer);
  return form == nullptr ? element : fill(form->write, {{"a", std::move(element)}});
}

namespace {

// Is an element a multiple of `n` elements from the buffer's first one, which is aligned?
bool is_aligned(const ir::Index& index, int n) {
  return index.offset % n == 0 && std::all_of(index.terms.begin(), index.terms.end(),
                                              [&](const ir::Term& t) { return t.coeff % n == 0; });
}

Text packed_at(Printer& p, const ir::Value& v, const ir::Index& index, int lanes) {
  const bool aligned = is_aligned(index, v.numbers) || !p.has("load_packed_unaligned");
  return p.spell(
      aligned ? "load_packed" : "load_packed_unaligned",
      {{"pointer", print_address(p, v.id, index)}, {"type", {p.type_name(v.dtype, lanes)}}});
}

}  // namespace

Text print_packed(Printer& p, const ir::Value& v) {
  if (is_single(p, v.id))
    p.unsupported.insert(fmt::format("several numbers of '{}' in one value", p.buffer(v.id).name));
  if (v.lanes == 1 || (v.op == ir::ValueOp::load && v.count == v.lanes))
    return packed_at(p, v, v.index, v.lanes);
  const Text fill = print_number(p, v.dtype, 0);
  if (v.op == ir::ValueOp::load)
    return p.spell("load_packed_part", {{"pointer", print_address(p, v.id, v.index)},
                                        {"type", {p.type_name(v.dtype, v.lanes)}},
                                        {"count", {std::to_string(v.count)}},
                                        {"fill", fill}});
  std::vector<std::string> items;
  for (int l = 0; l < v.lanes; ++l)
    items.push_back(l < v.count ? packed_at(p, v, v.index + l * v.stride, 1).text : fill.text);
  return print_list(p, v, items);
}

Text print_insert(Printer& p, const ir::Value& v) {
  return p.spell("insert", {{"a", print_value(p, v.args[0])},
                            {"b", print_value(p, v.args[1])},
                            {"place", {std::to_string(static_cast<int>(v.number))}},
                            {"type", {p.type_name(v.dtype, v.lanes)}},
                            {"number", {p.type_name(v.args[1].dtype, v.lanes)}}});
}

}  // namespace assay::codegen
