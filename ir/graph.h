// Tensor expressions and graphs of them.
//
// A node computes one tensor:   out[i0..i(r-1)] = combine over the reduce axes of body(reads)
// Other kinds of nodes combine the values of the body in another way (kind.h).
// The first rank(output) axes are spatial, one per output dimension and in that order; the axes
// after them are reduce axes. Each operand has one quasi-affine Index per dimension over the axes.
// Matmul, convolutions, pooling, normalisations (several nodes), elementwise, transposes,
// concatenation (guarded reads) and padding are all this one form.
// Source: the tensor expressions of Roller (OSDI'22, section 3) with Welder's propagation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/index.h"
#include "ir/kind.h"
#include "ir/scalar.h"
#include "support/result.h"

namespace assay::ir {

struct Axis {
  std::string name;
  int64_t extent = 1;
  bool operator==(const Axis&) const = default;
};

// A lookup: a position that is the value of another read, known only at run time. Negative
// positions count from the end; a position outside gives the read's `fill`.
struct Lookup {
  int dim = -1;   // of the tensor that is read; the Index there is 0
  int read = -1;  // of the node; not a lookup itself
  bool operator==(const Lookup&) const = default;
};

struct Read {
  int tensor = -1;
  std::vector<Index> index;  // per dimension of the tensor, over the node's axes
  bool guarded = false;      // index may leave the tensor: such reads give `fill`
  double fill = 0;
  std::optional<Lookup> lookup = {};
  bool operator==(const Read&) const = default;
};

// Of an expression, none: there are no reduce axes.
enum class Combiner { none, sum, product, max, min };

// The neutral element: 0, 1, -inf, +inf.
double identity_of(Combiner c);

struct Node {
  std::string name;
  std::string op;          // for display and op classes: matmul, conv, depthwise, pool, add, relu
  std::vector<Axis> axes;  // spatial first
  int output = -1;         // tensor
  std::vector<Read> reads;
  Scalar body;
  Combiner combine = Combiner::none;
  Kind kind = {};
  bool operator==(const Node&) const = default;
};

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  int constant = -1;  // index into Graph::constants; -1: not a constant
  bool operator==(const Tensor&) const = default;
};

struct Constant {
  std::vector<std::byte> bytes;  // row-major, little-endian, of the tensor's dtype
  bool operator==(const Constant&) const = default;
};

struct Graph {
  Graph();  // defined in graph.cpp: the generated code of so many members is large
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();
  bool operator==(const Graph&) const;

  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;  // in topological order
  std::vector<int> inputs, outputs;
  std::vector<DType> input_types;  // what the inputs hold, by position; empty: their tensors' types
  std::vector<Constant> constants;
};

int64_t elements(const Tensor& t);

inline bool is_expression(const Node& n) { return std::holds_alternative<Expression>(n.kind); }
// May it keep its tile on the chip, and read such tiles? Loops of other kinds are steps of their
// own.
inline bool shares_groups(const Node& n) {
  return is_expression(n) || std::holds_alternative<TupleReduction>(n.kind);
}
// One value of the body per element.
inline bool is_elementwise(const Node& n) {
  return is_expression(n) && n.combine == Combiner::none;
}
// Do the kind's own loops walk the axis? It lies whole in every tile of a program.
bool is_whole(const Node& n, int axis);
// Of all components, in order.
std::vector<Scalar> steps_of(const TupleReduction& tuple);
// The axes with those of extent 1 on which the terms do not depend.
std::vector<Axis> term_axes(const Node& n);

// Does the body, or a step or a result of a tuple reduction, use read `read`? Unused reads are
// positions of lookups.
bool is_used(const Node& n, int read);
// How often operations of the body use it. A square uses it twice, but a computed operand that is
// used twice is computed once.
int uses_of(const Node& n, int read);
// Does the element of read `read` depend on `axis`, directly or through a lookup?
bool moves_with(const Node& n, int read, int axis);
// A looked-up value as a position in [0, extent), wrapped from the end; nullopt: outside.
std::optional<int64_t> position_of(double value, int64_t extent);

int spatial_count(const Graph& g, const Node& n);  // = rank of its output
bool is_reduce(const Graph& g, const Node& n, int axis);

// The node that writes a tensor, or -1 (inputs, constants).
int producer_of(const Graph& g, int tensor);
// Nodes that read a tensor, in order, each once.
std::vector<int> consumers_of(const Graph& g, int tensor);

std::vector<Range> ranges_of(const Node& n);  // the values of its axes

// Multiply-adds (or combiner applications) and scalar operations of a node.
double points_of(const Node& n);                 // product of all extents; of other kinds the terms
double flops_of(const Graph& g, const Node& n);  // 2 * points for multiply-add bodies

// The region of each operand that an output tile needs: per read and dimension an inclusive range,
// clipped to the tensor when the read is guarded. `tile`: an inclusive range per axis. This is the
// propagation function of Welder, OSDI'23, section 4.1.
std::vector<std::vector<Range>> input_regions(const Graph& g, const Node& n, Ranges tile);

// Checks that ids are in range, axes match output shapes, unguarded reads are inside their tensors,
// nodes are in topological order, and no tensor is written twice. Each fault names its node.
Diags verify(const Graph& g);

// The reference: every tensor's value in float64, by interpreting the expressions. It shares no
// code with lowering. `inputs` by position of Graph::inputs, row-major. Result: per tensor id,
// constants included. At least 100 M multiply-adds a second for matmul-like bodies.
Result<std::vector<std::vector<double>>> evaluate(const Graph& g,
                                                  std::span<const std::vector<float>> inputs);

// The same with every result of a small float's type rounded to it before it is read.
Result<std::vector<std::vector<double>>> evaluate_stored(
    const Graph& g, std::span<const std::vector<float>> inputs);

// Canonical text; parse(print(g)) == g except for constants' bytes, which are named by their hash
// and size (`attach` them with Graph::constants afterwards).
std::string print_graph(const Graph& g);
Result<Graph> parse_graph(std::string_view text, std::string_view file);

// One node's expression on one line, for people:
//   conv1[n,o,y,x] = sum(c,r,s) X[n, c, 2*y + r - 3, 2*x + s - 3] * W[o, c, r, s]
std::string print_node(const Graph& g, const Node& n);

}  // namespace assay::ir
