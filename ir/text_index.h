// Index expressions as text: `2*y + r - 3`, `c/16`, `(y*7 + x)%49`, with the usual precedence and
// floor division.
//
// Post-condition: parse(spell(a)) == a, structure included, for every index whose terms have div >=
// 1 and mod >= 0. A term prints as `coeff*base/div%mod`, in parentheses behind a coefficient when
// it divides; one pair of parentheses around a single plain term is dropped by the parser, so a
// nested index that holds just that has two.
#pragma once

#include <span>
#include <string>

#include "ir/index.h"
#include "ir/text_scanner.h"

namespace assay::ir {

std::string spell_index(const Index& a, std::span<const std::string> names);

// Reads as far as an index goes. Throws TextFault; numbers are bounded by 2^62.
Index parse_index(Scanner& scanner, std::span<const std::string> names);

}  // namespace assay::ir
