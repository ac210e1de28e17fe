// The YAML form of a program, as a document of its own and inside a plan. Fields at their defaults
// are left out; axes and tensors stand by name:
//
//   schema: assay/program/1
//   name: mm
//   graph: {...}                                  # text_graph.h; the first node is the anchor
//   layouts: {a: "[0, 1]", b: "[1/16, 0, 1%16]", c: "[0, 1]"}
//   tiles:
//     - {memory: l2, extent: {m: 64, n: 128, k: 64}, order: [n, m, k]}
//     - {memory: registers, extent: {m: 8, n: 32, k: 1}, order: [m, n, k]}
//   vector: {axis: n, width: 16}
//   staging: [{read: 1, level: 0, layout: "[1/16, 0, 1%16]"}]
//
// Or, in place of `vector`, a group's threads over two axes (threads.cpp says what fits):
//
//   threads: {axes: [n, m], tasks: "spatial(8, 16) * repeat(8, 4)", widths: {a: 4, b: 4}}
//   staging: [{read: 0, level: 0, layout: "[1, 0]", tasks: "spatial(4, 32) * repeat(2, 2)", width:
//   2}]
//
// With producers, whose output's tile a group makes in nearer memory, the schema is
// assay/program/2. Each one names its tensors in the graph of the whole:
//
//   producers:
//     - level: l1
//       tensors: {a: x, c: h}
//       program: {name: ..., graph: {...}, tiles: [...]}
//
// A missing layout is row-major; an axis missing in `extent` has the enclosing tile's extent.
#pragma once

#include <string>

#include "ir/program.h"
#include "ir/text_reader.h"

namespace assay::ir {

std::string print_program_fields(const Program& p, int indent);

// As read_graph; the program is verified when there were no faults before.
Program read_program(TextReader& reader, const yaml::Node& node, bool is_document);

}  // namespace assay::ir
