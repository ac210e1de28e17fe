// What a node makes of its terms, the values of its body.
//
// An expression: out[i] = the combination of the terms at i over the reduce axes.
//
// A scan: out[.., i, ..] = the combination of the terms at 0..i of a spatial axis. There are no
// reduce axes.
//
// A scatter: out = a tensor. Then for each point of the reduce axes, in row-major order, the value
// at a position that is read is combined with the term (combiner none: becomes the term). Terms do
// not depend on the axes whose positions are read.
//
// A sort: out[.., i, ..] = which term is number i in order, along the one reduce axis. Terms do not
// depend on the axis of i.
//
// A tuple reduction: a state of several components, which begins as `init`. For each point of the
// reduce axes, in row-major order, state = step(state, reads). Then out[.., r, ..] = result r of
// the state. States of parts of the points may be combined in any order and grouping: combine(state
// of some points, state of others) is the state of all. That is what lanes and other parts of one
// row rely on, and `evaluate` does not.
//
// Only expressions look something up.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/scalar.h"

namespace assay::ir {

struct Expression {
  bool operator==(const Expression&) const = default;
};

struct Scan {
  int axis = -1;           // spatial
  bool exclusive = false;  // without the term at i itself: the first is the combiner's identity
  bool reverse = false;    // from the end of the axis
  bool operator==(const Scan&) const = default;
};

// The dimension `dim` of the output is at the value of read `read`. Negative positions count from
// the end; a term whose position is outside is left out.
struct Position {
  int dim = -1;
  int read = -1;
  bool operator==(const Position&) const = default;
};

struct Scatter {
  int initial = -1;  // the read of the tensor that the output begins with, at the same position
  std::vector<Position> positions;
  bool operator==(const Scatter&) const = default;
};

// Of equal terms the one with the lower position comes first. NaN counts as infinity.
struct Sort {
  int axis = -1;  // spatial: the number in order
  bool descending = false;
  bool operator==(const Sort&) const = default;
};

// Of c components and n reads: operands 0 to c - 1 of a step or a result are the state, c to c + n
// - 1 are the node's reads. Operands 0 to c - 1 of `combine` are one state, c to 2 c - 1 the other.
struct Component {
  std::string name;  // in text; that of the other state is other.NAME
  double init = 0;
  Scalar step, combine;
  bool operator==(const Component&) const = default;
};

struct TupleReduction {
  int axis = -1;  // spatial: the number of the result; as long as there are results
  int over = 1;   // reduce axes, which are the node's last
  std::vector<Component> state;
  std::vector<Scalar> results;  // one per result; their reads do not move with the reduce axes
  bool operator==(const TupleReduction&) const = default;
};

using Kind = std::variant<Expression, Scan, Scatter, Sort, TupleReduction>;

}  // namespace assay::ir
