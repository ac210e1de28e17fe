// Tuple reductions as text:
//   tuple: {axis: r, init: {m: -inf, s: 0}, step: {m: "max(m, $0)", s: "s + $0"},
//           combine: {m: "max(m, other.m)", s: "s + other.s"}, results: [m, s]}
// The names of components stand for the state; $0 is the node's first read. Internal to ir/.
#pragma once

#include <string>
#include <vector>

#include "ir/text_body.h"
#include "ir/text_reader.h"

namespace assay::ir {

// The map behind `tuple: `.
std::string spell_tuple(const Node& n, const TupleReduction& tuple);

// For people, on the right side of the output; `operand(i)` spells read i.
std::string print_tuple(const Node& n, const TupleReduction& tuple,
                        const std::function<std::string(int)>& operand);

// All but the axis of results, into `n.kind`, which is a tuple reduction. Appends reads to `n`,
// whose axes are known.
void read_tuple(TextReader& reader, const yaml::Node& node, const BodyNames& names, Node& n);

}  // namespace assay::ir
