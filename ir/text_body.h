// Scalar bodies and reads as text:
//   x[n, c, 2*y + r - 3 : guard 0] * w[o, c, r, s]
//   max(x[i, j], 0)
//   select(less(i, 3), ...)
//
// Operators + - * / with the usual precedence, unary minus, and the functions max min pow neg abs
// exp log sqrt tanh erf floor ceil round less equal select. A bare name is the value of an axis. $2
// is the third read of the list beside the body. Numbers print with the shortest digits that read
// back. Each distinct read becomes one operand, in order of appearance. A read in the place of an
// index is a lookup at run time: words[ids[t], j]. Where reads are a list, it is given by its
// number: words[$1, j]. Post-condition: parse(spell(body)) == body, tree included.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/text_scanner.h"

namespace assay::ir {

struct BodyNames {
  std::span<const std::string> axes, tensors;
};

// `all`: the node's reads, to spell the position of a lookup; empty: it is spelled by its number.
std::string spell_read(const Read& r, const BodyNames& names, std::span<const Read> all = {});

// `operand(i)` spells the read of operand i.
std::string spell_body(const Scalar& s, std::span<const std::string> axes,
                       const std::function<std::string(int)>& operand);

// Whether a parser that collects reads in order of appearance would find exactly `n.reads`.
bool reads_follow_body(const Node& n);

// Appends the position of a lookup to `reads`.
Read parse_read(Scanner& scanner, const BodyNames& names, std::vector<Read>& reads);

// Appends its reads to `reads`.
Scalar parse_body(Scanner& scanner, const BodyNames& names, std::vector<Read>& reads);

}  // namespace assay::ir
