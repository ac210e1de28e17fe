// Index expressions as text: `2*y + r - 3`, `c/16`, `(y*7 + x)%49`, with the usual precedence and
// floor division.
//
// Post-condition: parse(spell(a)) == a, structure included, for every index whose terms have
// div >= 1 and mod >= 0. A term prints as `coeff*base/div%mod`; a term that divides is in
// parentheses after a coefficient. The parser drops one pair of parentheses around a single plain
// term, so a nested index of just that prints two.
#pragma once

#include <span>
#include <string>

#include "ir/index.h"
#include "ir/text_scanner.h"

namespace assay::ir {

std::string spell_index(const Index& a, std::span<const std::string> names);

// Reads the longest index. Throws TextFault; numbers are bounded by 2^62.
Index parse_index(Scanner& scanner, std::span<const std::string> names);

}  // namespace assay::ir
