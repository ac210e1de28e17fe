// Scalar bodies and reads as text:
//   x[n, c, 2*y + r - 3 : guard 0] * w[o, c, r, s]        max(x[i, j], 0)        select(less(i, 3),
//   ...)
//
// Operators + - * / with the usual precedence, unary minus, the functions max min pow neg abs exp
// log sqrt tanh erf floor ceil less equal select; a bare name is the value of an axis; $2 is the
// third read of the list given beside the body. Numbers print with the shortest digits that read
// back. Each different read becomes one operand, in order of appearance.
// A read in the place of an index is looked up at run time, words[ids[t], j]; where reads are given
// as a list it is named by its number, words[$1, j]. Post-condition: parse(spell(body)) == body,
// tree included.
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

// `all`: the node's reads, spelled where `r` looks one up; empty: it is spelled by its number.
std::string spell_read(const Read& r, const BodyNames& names, std::span<const Read> all = {});

// `operand(i)` spells the read of operand i.
std::string spell_body(const Scalar& s, std::span<const std::string> axes,
                       const std::function<std::string(int)>& operand);

// Whether a parser that collects reads in order of appearance would find exactly `n.reads`.
bool reads_follow_body(const Node& n);

// Adds the read that it looks up to `reads`.
Read parse_read(Scanner& scanner, const BodyNames& names, std::vector<Read>& reads);

// Adds the reads it meets to `reads`.
Scalar parse_body(Scanner& scanner, const BodyNames& names, std::vector<Read>& reads);

}  // namespace assay::ir
