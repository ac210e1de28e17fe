#include "codegen/print_headers.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/spellings.h"

namespace assay::codegen {

namespace {

bool is_needed(const Header& h, const Used& used) {
  return std::any_of(h.when.begin(), h.when.end(),
                     [&](const auto& w) { return used.words.contains(w); });
}

}  // namespace

Text vector_name(const Dialect& d, ir::DType t, const std::string& scalar, int lanes, bool moved) {
  return fill(d.vector_type,
              {{"dtype", {fmt::format("{}{}", ir::name_of(t), moved ? "_moved" : "")}},
               {"scalar", {scalar}},
               {"lanes", {std::to_string(lanes)}}});
}

std::string print_headers(const Dialect& d, const Used& used) {
  std::string out;
  for (const Header& h : d.headers)
    if (h.when.empty()) out += h.text;
  for (const auto& [dtype, lanes, moved] : used.vectors) {
    const ElementType& type = d.types.at(dtype);
    const std::string& scalar = moved ? type.moved.front().scalar : type.scalar;
    const int bytes = ir::bytes_of(dtype);
    out += fill(d.vector_header, {{"type", vector_name(d, dtype, scalar, lanes, moved)},
                                  {"scalar", {scalar}},
                                  {"lanes", {std::to_string(lanes)}},
                                  {"bytes", {std::to_string(bytes * lanes)}},
                                  {"align", {std::to_string(bytes)}}})
               .text;
  }
  for (const Header& h : d.headers)
    if (is_needed(h, used)) out += h.text;
  for (const std::string& text : used.instruction_headers) out += text;
  return out;
}

}  // namespace assay::codegen
