// The YAML form of a graph, as a document of its own and inside a program.
//
//   schema: assay/graph/1
//   name: matmul
//   inputs: {a: f32 128x64, b: f32 64x256}
//   nodes:
//     - {op: matmul, out: "c[m, n]", axes: {m: 128, n: 256, k: 64}, body: "a[m, k] * b[k, n]"}
//   outputs: [c]
//
// A node of another kind says so:
//   scan: {axis: n, exclusive: true, reverse: true}      both false if left out
//   scatter: {initial: 0, positions: {m: 1}}             numbers of `reads`
//   sort: {axis: m, order: descending}                   else ascending
//   tuple: {axis: r, init: ..}                           in place of a body: text_tuple.h
// `out` names the output and its axes; all other axes are reduce axes. Left out: a node's name is
// its output's, `combine` is sum where there are reduce axes, an output's dtype is f32, its shape
// the extents of its axes. Printed: all of it, tensors in the order of their ids; small constants
// by value, others by size and hash, which are parsed as constants without bytes.
#pragma once

#include <functional>
#include <string>

#include "ir/graph.h"
#include "ir/text_reader.h"

namespace assay::ir {

// `indent` spaces before each line; without the schema line.
std::string print_graph_fields(const Graph& g, int indent);

// `is_document`: the map may have the key schema. Faults go to the reader; the graph is then
// incomplete. A graph without faults is verified.
Graph read_graph(TextReader& reader, const yaml::Node& node, bool is_document);

// `f32 1x3x224x224`; without extents: a scalar.
std::string spell_type(DType dtype, std::span<const int64_t> shape);
bool read_type(TextReader& reader, const yaml::Node& node, DType& dtype,
               std::vector<int64_t>& shape);

// `, scan: {...}` behind the other fields of a node; empty: an expression.
std::string spell_kind(const Node& n);
// The same for people; `spell(i)` spells read i.
std::string print_kind(const Node& n, const std::vector<std::string>& axes,
                       const std::function<std::string(int)>& spell);
// The kind of a node whose axes are known. Its reads need not be.
Kind read_kind(TextReader& reader, const yaml::Node& node, const std::vector<std::string>& axes);

std::string_view name_of(Combiner c);
std::vector<std::string> axis_names(const Node& n);
std::vector<std::string> tensor_names(const Graph& g);

}  // namespace assay::ir
