// verify(Graph): the faults of a graph, each naming its node or tensor. Parsers call it on
// untrusted text, so nothing here may overflow or recurse without bound. All later passes rely on
// it.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/graph.h"
#include "ir/kind_verify.h"
#include "ir/limits.h"
#include "support/utf8.h"

namespace assay::ir {
namespace {

using Wide = __int128;

struct WideRange {
  Wide low = 0, high = 0;
  bool overflow = false;  // some intermediate value reaches kMaxIndex
};

constexpr Wide kMaxIndex = Wide{1} << 62;

WideRange wide_range(const Index& a, Ranges ranges);

WideRange wide_range(const Term& t, Ranges ranges) {
  WideRange r;
  if (t.var >= 0) {
    const Range v = ranges[static_cast<size_t>(t.var)];
    r = {v.low, v.high, false};
  } else {
    r = wide_range(t.of[0], ranges);
  }
  const auto floored = [](Wide v, int64_t d) { return v >= 0 ? v / d : -((-v + d - 1) / d); };
  r = {floored(r.low, t.div), floored(r.high, t.div), r.overflow};
  if (t.mod > 0) {
    const bool one_period = floored(r.low, t.mod) == floored(r.high, t.mod);
    const Wide base = floored(r.low, t.mod) * t.mod;
    r = one_period ? WideRange{r.low - base, r.high - base, r.overflow}
                   : WideRange{0, t.mod - 1, r.overflow};
  }
  r = {r.low * t.coeff, r.high * t.coeff, r.overflow};
  if (r.low > r.high) std::swap(r.low, r.high);
  return r;
}

WideRange wide_range(const Index& a, Ranges ranges) {
  WideRange sum{a.offset, a.offset, false};
  for (const Term& t : a.terms) {
    const WideRange r = wide_range(t, ranges);
    sum.overflow |= r.overflow || r.low <= -kMaxIndex || r.high >= kMaxIndex;
    sum.low = std::clamp(sum.low + r.low, -kMaxIndex, kMaxIndex);
    sum.high = std::clamp(sum.high + r.high, -kMaxIndex, kMaxIndex);
  }
  sum.overflow |= sum.low <= -kMaxIndex || sum.high >= kMaxIndex;
  return sum;
}

// What is structurally wrong with an index over `axes` variables; empty: nothing.
std::string fault_of(const Index& a, size_t axes, int depth) {
  if (depth > kMaxIndexDepth) return fmt::format("is nested deeper than {}", kMaxIndexDepth);
  for (const Term& t : a.terms) {
    if (t.var >= 0 && (static_cast<size_t>(t.var) >= axes || !t.of.empty()))
      return fmt::format("uses axis {}, the node has {}", t.var, axes);
    if (t.var < 0 && t.of.size() != 1) return "has a term without a base";
    if (t.div < 1 || t.mod < 0)
      return fmt::format("divides by {} and takes modulo {}", t.div, t.mod);
    if (t.var < 0)
      if (std::string fault = fault_of(t.of[0], axes, depth + 1); !fault.empty()) return fault;
  }
  return "";
}

size_t arity_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::read:
    case ScalarOp::constant:
    case ScalarOp::axis:
      return 0;
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::exp:
    case ScalarOp::log:
    case ScalarOp::sqrt:
    case ScalarOp::tanh:
    case ScalarOp::erf:
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round:
      return 1;
    case ScalarOp::select:
      return 3;
    default:
      return 2;
  }
}

std::string fault_of(const Scalar& s, const Node& n, size_t operands, int depth) {
  if (depth > kMaxBodyDepth) return fmt::format("is nested deeper than {}", kMaxBodyDepth);
  if (s.args.size() != arity_of(s.op))
    return fmt::format("has an operation with {} operands instead of {}", s.args.size(),
                       arity_of(s.op));
  const auto outside = [&](size_t count) {
    return s.operand < 0 || static_cast<size_t>(s.operand) >= count;
  };
  if (s.op == ScalarOp::read && outside(operands))
    return fmt::format("uses operand {}, the node has {}", s.operand, operands);
  if (s.op == ScalarOp::axis && outside(n.axes.size()))
    return fmt::format("uses axis {}, the node has {}", s.operand, n.axes.size());
  if (s.op == ScalarOp::axis && n.axes[static_cast<size_t>(s.operand)].extent > kMostCounted)
    return fmt::format(
        "takes the place along axis {} as a number, which f32 represents exactly up to {} only",
        n.axes[static_cast<size_t>(s.operand)].name, kMostCounted);
  for (const Scalar& arg : s.args)
    if (std::string fault = fault_of(arg, n, operands, depth + 1); !fault.empty()) return fault;
  return "";
}

class Verifier {  // invariant: `written_` marks the tensors that have a value before the next node
 public:
  explicit Verifier(const Graph& g) : g_(g), written_(g.tensors.size(), false) {}

  Diags run() {
    where_ = "graph: ";
    check_text(g_.name, "its name");
    check_tensors();
    if (!has_error(diags_)) {
      check_inputs();
      std::set<std::string> names;
      for (const Node& n : g_.nodes) {
        where_ = fmt::format("node {}: ", printable(n.name));
        check_text(n.name, "its name");
        check_text(n.op, "its op");
        if (n.name.empty() || !names.insert(n.name).second)
          fault("names of nodes must be distinct and not empty");
        check_node(n);
      }
      check_outputs();
    }
    return std::move(diags_);
  }

 private:
  void fault(std::string message, std::string hint = "") {
    diags_.push_back(error(where_ + std::move(message), std::move(hint)));
  }

  static std::string_view printable(std::string_view name) {
    return is_utf8(name) ? name : "(not UTF-8)";
  }

  // Text forms of graphs are UTF-8, so names must be.
  void check_text(std::string_view text, const char* what) {
    if (!is_utf8(text)) fault(fmt::format("{} is not UTF-8", what));
  }

  bool has_tensor(int id) const { return id >= 0 && static_cast<size_t>(id) < g_.tensors.size(); }

  void check_tensors() {
    std::set<std::string> names;
    for (const Tensor& t : g_.tensors) {
      where_ = fmt::format("tensor {}: ", printable(t.name));
      check_text(t.name, "its name");
      if (t.name.empty() || !names.insert(t.name).second)
        fault("names of tensors must be distinct and not empty");
      if (!shape_fits(t.shape))
        fault(fmt::format("shape [{}] is out of bounds", fmt::join(t.shape, ", ")),
              "extents are 1 to 2^40, their product at most 2^56");
      else if (t.constant != -1)
        check_constant(t);
    }
  }

  // Constants without bytes are those a parsed graph has not been given yet.
  void check_constant(const Tensor& t) {
    if (t.constant < 0 || static_cast<size_t>(t.constant) >= g_.constants.size())
      return fault(fmt::format("constant {} of {}", t.constant, g_.constants.size()));
    const size_t have = g_.constants[static_cast<size_t>(t.constant)].bytes.size();
    const size_t want = static_cast<size_t>(elements(t)) * static_cast<size_t>(bytes_of(t.dtype));
    if (have != 0 && have != want)
      fault(fmt::format("its constant has {} bytes, the shape needs {}", have, want));
  }

  void check_inputs() {
    for (size_t i = 0; i < g_.tensors.size(); ++i) written_[i] = g_.tensors[i].constant >= 0;
    for (int id : g_.inputs) {
      where_ = "graph: ";
      if (!has_tensor(id))
        fault(fmt::format("input {} of {} tensors", id, g_.tensors.size()));
      else if (written_[static_cast<size_t>(id)])
        fault(fmt::format("input {} is listed twice or is a constant",
                          g_.tensors[static_cast<size_t>(id)].name));
      else
        written_[static_cast<size_t>(id)] = true;
    }
  }

  void check_outputs() {
    where_ = "graph: ";
    for (int id : g_.outputs) {
      if (!has_tensor(id))
        fault(fmt::format("output {} of {} tensors", id, g_.tensors.size()));
      else if (!written_[static_cast<size_t>(id)])
        fault(fmt::format("output {} is never written", g_.tensors[static_cast<size_t>(id)].name));
    }
  }

  void check_node(const Node& n) {
    if (!has_tensor(n.output))
      return fault(fmt::format("writes tensor {} of {}", n.output, g_.tensors.size()));
    const size_t before = diags_.size();
    const bool axes_fit = check_axes(n);
    for (size_t i = 0; i < n.reads.size(); ++i) check_read(n, i, axes_fit);
    const std::string in_body = fault_of(n.body, n, n.reads.size());
    if (!in_body.empty()) fault("the body " + in_body);
    if (diags_.size() == before)
      for (std::string& f : faults_of_kind(g_, n)) fault(std::move(f));
    if (written_[static_cast<size_t>(n.output)])
      fault(fmt::format("writes {}, which has a value already",
                        g_.tensors[static_cast<size_t>(n.output)].name));
    written_[static_cast<size_t>(n.output)] = true;
  }

  bool check_axes(const Node& n) {
    const Tensor& out = g_.tensors[static_cast<size_t>(n.output)];
    const size_t before = diags_.size();
    std::set<std::string> names;
    std::vector<int64_t> extents;
    for (const Axis& axis : n.axes) {
      extents.push_back(axis.extent);
      check_text(axis.name, "the name of an axis");
      if (axis.name.empty() || !names.insert(axis.name).second)
        fault("names of axes must be distinct and not empty");
    }
    if (!shape_fits(extents))
      fault(fmt::format("extents [{}] are out of bounds", fmt::join(extents, ", ")),
            "extents are 1 to 2^40, their product at most 2^56");
    if (n.axes.size() < out.shape.size())
      fault(fmt::format("{} axes for the {} dimensions of {}", n.axes.size(), out.shape.size(),
                        out.name),
            "the first axes are the dimensions of the output, in order");
    for (size_t d = 0; d < std::min(n.axes.size(), out.shape.size()); ++d)
      if (n.axes[d].extent != out.shape[d])
        fault(fmt::format("axis {} has extent {}, dimension {} of {} has {}", n.axes[d].name,
                          n.axes[d].extent, d, out.name, out.shape[d]));
    const bool reduces = n.axes.size() > out.shape.size();
    if (is_expression(n) && reduces != (n.combine != Combiner::none))
      fault(reduces ? "has reduce axes but no combiner" : "has a combiner but no reduce axes");
    return diags_.size() == before;
  }

  void check_read(const Node& n, size_t i, bool axes_fit) {
    const Read& r = n.reads[i];
    if (!has_tensor(r.tensor))
      return fault(fmt::format("read {}: tensor {} of {}", i, r.tensor, g_.tensors.size()));
    const Tensor& t = g_.tensors[static_cast<size_t>(r.tensor)];
    if (!written_[static_cast<size_t>(r.tensor)])
      fault(fmt::format("reads {} before it is written", t.name),
            "nodes must be in topological order");
    if (r.index.size() != t.shape.size())
      return fault(fmt::format("reads {} with {} indices, it has {} dimensions", t.name,
                               r.index.size(), t.shape.size()));
    for (size_t d = 0; d < r.index.size(); ++d) check_index(n, r, t, d, axes_fit);
    if (r.lookup) check_lookup(n, i);
  }

  void check_lookup(const Node& n, size_t i) {
    const Read& r = n.reads[i];
    const Lookup& l = *r.lookup;
    if (l.dim < 0 || static_cast<size_t>(l.dim) >= r.index.size())
      return fault(fmt::format("read {} looks up dimension {} of {}", i, l.dim, r.index.size()));
    if (!r.index[static_cast<size_t>(l.dim)].terms.empty() ||
        r.index[static_cast<size_t>(l.dim)].offset != 0)
      fault(fmt::format("read {} looks up dimension {} and has an index there too", i, l.dim));
    if (l.read < 0 || static_cast<size_t>(l.read) >= n.reads.size())
      return fault(
          fmt::format("read {} looks up read {}, the node has {}", i, l.read, n.reads.size()));
    if (n.reads[static_cast<size_t>(l.read)].lookup || static_cast<size_t>(l.read) == i)
      fault(fmt::format("read {} looks up read {}, which looks something up itself", i, l.read));
  }

  void check_index(const Node& n, const Read& r, const Tensor& t, size_t d, bool axes_fit) {
    if (std::string f = fault_of(r.index[d], n.axes.size(), 0); !f.empty())
      return fault(fmt::format("the index of dimension {} of {} {}", d, t.name, f));
    if (!axes_fit) return;
    std::vector<Range> ranges;
    for (const Axis& axis : n.axes) ranges.push_back({0, axis.extent - 1});
    WideRange reach = wide_range(r.index[d], ranges);
    if (reach.overflow)
      return fault(fmt::format("the index of dimension {} of {} overflows", d, t.name));
    const auto inside = [&](WideRange w) { return w.low >= 0 && w.high < t.shape[d]; };
    if (r.guarded || inside(reach)) return;
    const Range exact = range_of(simplify(r.index[d], ranges), ranges);
    if (inside({exact.low, exact.high, false})) return;
    fault(fmt::format("dimension {} of {} is read at {} to {}, it has 0 to {}", d, t.name,
                      exact.low, exact.high, t.shape[d] - 1),
          "reads that may leave the tensor must be guarded");
  }

  const Graph& g_;
  std::vector<bool> written_;
  std::string where_;
  Diags diags_;
};

}  // namespace

std::string fault_of(const Scalar& s, const Node& n, size_t operands) {
  return fault_of(s, n, operands, 0);
}

bool shape_fits(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (int64_t extent : shape) {
    if (extent < 1 || extent > kMaxExtent || product > kMaxElements / extent) return false;
    product *= extent;
  }
  return true;
}

Diags verify(const Graph& g) { return Verifier(g).run(); }

}  // namespace assay::ir
