// What the passes over graphs share: reading through a node, and taking its body over.
//
// A node out[i] = body(t[f(i)]) that is read at out[j] is the same as reading t at f(j):
// composition of indices. It is exact, whatever the nodes are.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace assay::compiler {

std::vector<ir::Range> ranges_of(const ir::Node& n);  // the values of its axes

bool affine(const ir::Index& i);  // no division, no modulo
bool affine(const ir::Read& r);

// Each dimension is read at the position of its own axis; along an extent of 1 that is 0.
bool is_identity(const ir::Graph& g, const ir::Read& r);

// A node that only moves elements: one read, unguarded, nothing done to it.
bool is_map(const ir::Node& n);

// A map that keeps the row-major order of all elements, whatever their shape.
bool is_reshape(const ir::Graph& g, const ir::Node& n);

// A sum of products of two operands.
bool is_product(const ir::Node& n);

// A sum of products whose operands are both used again and again: it keeps many accumulators.
bool reuses_operands(const ir::Graph& g, const ir::Node& n);

// Does the body call functions (exp, erf, ...)?
bool has_functions(const ir::Scalar& body);

bool is_output(const ir::Graph& g, int tensor);

// `r`, over the axes of a node whose output is read at `at`, over the axes with `ranges` instead.
ir::Read composed(const ir::Read& r, const std::vector<ir::Index>& at, ir::Ranges ranges);

// `reader` with `producer`'s body in the place of its output; nullopt where an index can not say
// so, or the body would become too large.
std::optional<ir::Node> absorbed(const ir::Node& reader, const ir::Node& producer);

// `body` where the axes it was written over are at `at`, its reads numbered from `first`; nullopt:
// the value of an axis would be no plain axis.
std::optional<ir::Scalar> body_at(const ir::Scalar& body, const std::vector<ir::Index>& at,
                                  int first);

double operations_of(const ir::Scalar& body);

}  // namespace assay::compiler
