#include "codegen/template.h"

#include <fmt/format.h>

#include <charconv>

namespace assay::codegen {
namespace {

Result<Piece> parse_hole(std::string_view inside) {
  const size_t colon = inside.find(':');
  Piece p{std::string(inside.substr(0, colon)), true, 0};
  if (p.text.empty()) return error("a hole without a name", "write {{ for a brace");
  if (colon == std::string_view::npos) return p;
  const std::string_view digits = inside.substr(colon + 1);
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), p.level);
  if (fault != std::errc() || end != digits.data() + digits.size())
    return error(fmt::format("'{}' is no level of binding, expected a number", digits));
  return p;
}

void add_literal(std::vector<Piece>& pieces, char c) {
  if (pieces.empty() || pieces.back().hole) pieces.push_back({});
  pieces.back().text += c;
}

}  // namespace

Result<Template> parse_template(std::string_view text, int level) {
  Template t{{}, level};
  for (size_t i = 0; i < text.size(); ++i) {
    const bool doubled = i + 1 < text.size() && text[i + 1] == text[i];
    if (text[i] == '}' && !doubled) return error("a single '}'", "write }} for a brace");
    if (text[i] == '{' && !doubled) {
      const size_t end = text.find('}', i);
      if (end == std::string_view::npos)
        return error("a hole is not closed", "write {{ for a brace");
      auto hole = parse_hole(text.substr(i + 1, end - i - 1));
      if (!hole) return hole.diags();
      t.pieces.push_back(std::move(hole).value());
      i = end;
      continue;
    }
    add_literal(t.pieces, text[i]);
    if (text[i] == '{' || text[i] == '}') ++i;
  }
  return t;
}

Text fill(const Template& t, const std::vector<Filling>& fillings) {
  Text out{"", t.level};
  for (const Piece& p : t.pieces) {
    if (!p.hole) {
      out.text += p.text;
      continue;
    }
    const Text* with = nullptr;
    for (const Filling& f : fillings)
      if (f.first == p.text) with = &f.second;
    ASSAY_CHECK(with != nullptr);
    out.text += with->level < p.level ? "(" + with->text + ")" : with->text;
  }
  return out;
}

}  // namespace assay::codegen
