#include "codegen/printer.h"

#include <fmt/format.h>

#include <cctype>

#include "codegen/computed_types.h"
#include "codegen/print_headers.h"
#include "codegen/register_pinning.h"

namespace assay::codegen {

namespace {

// Names in a kernel are free text. Identifiers are numbered, with `_` for what C does not allow.
std::vector<std::string> identifiers(char prefix, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    std::string id = fmt::format("{}{}_", prefix, out.size());
    for (const char c : name) id += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    out.push_back(std::move(id));
  }
  return out;
}

template <class T>
std::vector<std::string> names_of(const std::vector<T>& things) {
  std::vector<std::string> out;
  for (const T& t : things) out.push_back(t.name);
  return out;
}

}  // namespace

Printer::Printer(const ir::Kernel& k, const Dialect& d, Used& u, int threads_of_group)
    : kernel(k),
      dialect(d),
      used(u),
      threads(threads_of_group),
      ranges(k.index_names.size()),
      index_names(identifiers('i', k.index_names)),
      buffer_names(identifiers('p', names_of(k.buffers))),
      register_names(identifiers('r', names_of(k.registers))),
      pinned(pinned_registers(k)),
      computed(computed_types(k)) {
  ranges[0] = {0, std::max<int64_t>(0, k.groups - 1)};
  if (k.lane >= 0) ranges[static_cast<size_t>(k.lane)] = {0, int64_t{threads} * k.waves - 1};
}

void Printer::line(const std::string& text) {
  out += std::string(static_cast<size_t>(2 * depth), ' ') + text + '\n';
}

Text Printer::spell(std::string_view spelling, const std::vector<Filling>& fillings) {
  return filled(spelling, dialect.find(spelling), fillings);
}

Text Printer::spell(std::string_view spelling, ir::DType dtype,
                    const std::vector<Filling>& fillings) {
  return filled(spelling, dialect.find(spelling, dtype), fillings);
}

Text Printer::filled(std::string_view spelling, const Template* t,
                     const std::vector<Filling>& fillings) {
  if (t == nullptr) {
    unsupported.insert(fmt::format("'{}'", spelling));
    return {};
  }
  used.words.emplace(spelling);
  return fill(*t, fillings);
}

bool Printer::is_moved(ir::DType t) const {
  const auto it = dialect.types.find(t);
  return it != dialect.types.end() && !it->second.moved.empty() && !computed.contains(t);
}

const ElementType* Printer::element_type(ir::DType t) const {
  const auto it = dialect.types.find(t);
  if (it == dialect.types.end()) return nullptr;
  return is_moved(t) ? &it->second.moved.front() : &it->second;
}

std::string Printer::scalar_name(ir::DType t) {
  const ElementType* type = element_type(t);
  if (type == nullptr) {
    unsupported.insert(fmt::format("elements of type {}", ir::name_of(t)));
    return "";
  }
  used.words.insert(is_moved(t) ? fmt::format("{}.{}", ir::name_of(t), kMoved)
                                : std::string(ir::name_of(t)));
  return type->scalar;
}

std::string Printer::type_name(ir::DType t, int lanes) {
  const std::string scalar = scalar_name(t);
  if (lanes == 1 || scalar.empty()) return scalar;
  used.vectors.insert({t, lanes, is_moved(t)});
  return vector_name(dialect, t, scalar, lanes, is_moved(t)).text;
}

}  // namespace assay::codegen
