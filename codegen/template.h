// A spelling: text with holes. `{a}` is filled with an operand, `{a:13}` puts the operand in
// parentheses when it binds weaker than 13; `{{` and `}}` are braces. No loops, no conditions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/result.h"

namespace assay::codegen {

inline constexpr int kCallLevel = 16;  // binds tighter than any operator

// Source text of an expression and how tightly it binds.
struct Text {
  std::string text;
  int level = kCallLevel;
  bool operator==(const Text&) const = default;
};

struct Piece {
  std::string text;  // literal text, or the hole's name
  bool hole = false;
  int level = 0;  // hole: the weakest operand that needs no parentheses
  bool operator==(const Piece&) const = default;
};

struct Template {
  std::vector<Piece> pieces;
  int level = kCallLevel;  // of what it spells
  bool operator==(const Template&) const = default;
};

using Filling = std::pair<std::string_view, Text>;

// Errors carry no file: an unclosed hole, a single `}`, a level that is no number.
Result<Template> parse_template(std::string_view text, int level);

// CHECKs that every hole has a filling: parse_dialect has compared the names.
Text fill(const Template& t, const std::vector<Filling>& fillings);

}  // namespace assay::codegen
