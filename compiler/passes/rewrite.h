// Rewriting of nodes, which the passes over graphs share: reading through a node, inlining its
// body.
//
// Reading a node out[i] = body(t[f(i)]) at out[j] is evaluating its body with t read at f(j):
// indices compose. It is exact for every node.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace assay::compiler {

bool affine(const ir::Index& i);  // no division, no modulo
bool affine(const ir::Read& r);

// Is every dimension indexed by its own axis, or by 0 where its extent is 1?
bool is_identity(const ir::Graph& g, const ir::Read& r);

// A map: a node that only moves elements, with one unguarded read and no arithmetic. Whole numbers
// keep their type.
bool is_map(const ir::Graph& g, const ir::Node& n);

// A map that keeps the row-major order of all elements, whatever their shape.
bool is_reshape(const ir::Graph& g, const ir::Node& n);

// A sum of products of two operands.
bool is_product(const ir::Node& n);

// How many neighbours along `axis`, from a multiple of that number on, share one element of a read.
// Its extent: the axis does not move the read. Of a convolution in groups, the filters of a group.
int64_t reuse_along(const ir::Node& n, const ir::Read& r, int axis);

// A sum of products whose operands are both reused, so it keeps many accumulators.
bool reuses_operands(const ir::Graph& g, const ir::Node& n);

// Does the body call functions (exp, erf, ...)?
bool has_functions(const ir::Scalar& body);

bool is_output(const ir::Graph& g, int tensor);

// The read `r` of a node whose output is read at `at`, over the reader's axes with `ranges`.
ir::Read composed(const ir::Read& r, const std::vector<ir::Index>& at, ir::Ranges ranges);

// `reader` with `producer`'s body inlined; nullopt: no index expresses it, or the body becomes too
// large.
std::optional<ir::Node> inlined(const ir::Node& reader, const ir::Node& producer);

// `body` with its axes replaced by `at` and its reads numbered from `first`; nullopt: the value of
// an axis would be neither an axis nor a number.
std::optional<ir::Scalar> body_at(const ir::Scalar& body, const std::vector<ir::Index>& at,
                                  int first);

double operations_of(const ir::Scalar& body);

bool uses_axis(const ir::Scalar& body, int axis);
// `body` after an axis was inserted at `from`.
ir::Scalar with_axis_inserted(ir::Scalar body, int from);

// The node with a first axis of `parts`, each an equal piece of `axis`. Pre: they divide it, and
// the body does not use it.
ir::Node in_parts(const ir::Node& n, int axis, int64_t parts, const char* name);

// Do tree `a` of node `n` and tree `b` of node `m` have the same value where axis i of `n` is axis
// to[i] of `m`? -1: axis i has one value.
bool same_value(const ir::Node& n, const ir::Scalar& a, const ir::Node& m, const ir::Scalar& b,
                const std::vector<int>& to);

}  // namespace assay::compiler
