#include "compiler/passes/rewrite.h"

#include <algorithm>
#include <numeric>

#include "ir/element.h"

namespace assay::compiler {

namespace {

constexpr double kMostOperations = 64;  // of one body
constexpr size_t kMostReads = 12;

// Row-major position of a point of `shape`.
ir::Index flat_index(const std::vector<int64_t>& shape) {
  ir::Index flat;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    if (shape[d] > 1) flat = std::move(flat) + ir::variable(static_cast<int>(d), stride);
  return flat;
}

// Merges equal reads and drops those that the body does not use.
void merge_reads(ir::Node& n) {
  std::vector<ir::Read> kept;
  const auto keep = [&](auto& self, int read) -> int {
    ir::Read r = n.reads[static_cast<size_t>(read)];
    if (r.lookup) r.lookup->read = self(self, r.lookup->read);
    auto found = std::find(kept.begin(), kept.end(), r);
    if (found == kept.end()) found = kept.insert(kept.end(), std::move(r));
    return static_cast<int>(found - kept.begin());
  };
  const auto renumber = [&](auto& self, ir::Scalar& s) -> void {
    if (s.op == ir::ScalarOp::read) s.operand = keep(keep, s.operand);
    for (ir::Scalar& a : s.args) self(self, a);
  };
  renumber(renumber, n.body);
  n.reads = std::move(kept);
}

// An axis' value where it is `at`, as a scalar; nullopt: neither an axis nor a number.
std::optional<ir::Scalar> axis_at(const ir::Index& at) {
  if (at.terms.empty()) return ir::number(static_cast<double>(at.offset));
  const ir::Term& t = at.terms[0];
  if (at.terms.size() != 1 || at.offset != 0 || t.var < 0 || t.coeff != 1 || t.div != 1 ||
      t.mod != 0)
    return std::nullopt;
  ir::Scalar s;
  s.op = ir::ScalarOp::axis;
  s.operand = t.var;
  return s;
}

void replace(ir::Scalar& s, int operand, const ir::Scalar& by) {
  if (s.op == ir::ScalarOp::read && s.operand == operand) {
    s = by;
    return;
  }
  for (ir::Scalar& a : s.args) replace(a, operand, by);
}

}  // namespace

bool affine(const ir::Index& i) {
  return std::all_of(i.terms.begin(), i.terms.end(),
                     [](const ir::Term& t) { return t.var >= 0 && t.div == 1 && t.mod == 0; });
}

bool affine(const ir::Read& r) {
  return !r.lookup &&
         std::all_of(r.index.begin(), r.index.end(), [](const ir::Index& i) { return affine(i); });
}

bool is_identity(const ir::Graph& g, const ir::Read& r) {
  if (r.guarded || r.lookup) return false;
  const std::vector<int64_t>& shape = g.tensors[static_cast<size_t>(r.tensor)].shape;
  for (size_t d = 0; d < r.index.size(); ++d) {
    const bool lone = shape[d] == 1 && r.index[d] == ir::constant(0);
    if (!lone && r.index[d] != ir::variable(static_cast<int>(d))) return false;
  }
  return true;
}

bool is_map(const ir::Graph& g, const ir::Node& n) {
  if (!ir::is_elementwise(n) || n.reads.size() != 1 || n.reads[0].guarded || n.body != ir::read(0))
    return false;
  const ir::DType from = g.tensors[static_cast<size_t>(n.reads[0].tensor)].dtype,
                  to = g.tensors[static_cast<size_t>(n.output)].dtype;
  return from == to || (!ir::is_integer(from) && !ir::is_integer(to));
}

bool is_reshape(const ir::Graph& g, const ir::Node& n) {
  if (!is_map(g, n)) return false;
  const ir::Tensor &from = g.tensors[static_cast<size_t>(n.reads[0].tensor)],
                   &to = g.tensors[static_cast<size_t>(n.output)];
  if (ir::elements(from) != ir::elements(to) || from.dtype != to.dtype) return false;
  const std::vector<ir::Range> ranges = ranges_of(n);
  const ir::Index flat = flat_index(to.shape);
  int64_t stride = 1;
  for (size_t d = from.shape.size(); d-- > 0; stride *= from.shape[d]) {
    const ir::Index wanted =
        ir::simplify(ir::modulo(ir::divide(flat, stride, ranges), from.shape[d], ranges), ranges);
    if (ir::simplify(n.reads[0].index[d], ranges) != wanted) return false;
  }
  return true;
}

bool is_product(const ir::Node& n) {
  return ir::is_expression(n) && n.combine == ir::Combiner::sum && n.body.op == ir::ScalarOp::mul &&
         n.body.args[0].op == ir::ScalarOp::read && n.body.args[1].op == ir::ScalarOp::read;
}

bool reuses_operands(const ir::Graph& g, const ir::Node& n) {
  if (!ir::is_expression(n) || n.combine != ir::Combiner::sum || n.body.op != ir::ScalarOp::mul ||
      n.reads.size() != 2)
    return false;
  const int spatial = ir::spatial_count(g, n);
  return std::all_of(n.reads.begin(), n.reads.end(), [&](const ir::Read& r) {
    for (int a = 0; a < spatial; ++a)
      if (n.axes[static_cast<size_t>(a)].extent > 1 && reuse_along(n, r, a) > 1) return true;
    return false;
  });
}

int64_t reuse_along(const ir::Node& n, const ir::Read& r, int axis) {
  int64_t run = n.axes[static_cast<size_t>(axis)].extent;
  for (const ir::Index& i : r.index)
    if (ir::depends_on(i, axis)) run = std::gcd(run, ir::run_of(i, axis));
  return run;
}

bool has_functions(const ir::Scalar& body) {
  using S = ir::ScalarOp;
  const bool own = body.op == S::exp || body.op == S::log || body.op == S::tanh ||
                   body.op == S::erf || body.op == S::pow;
  return own || std::any_of(body.args.begin(), body.args.end(), has_functions);
}

bool is_output(const ir::Graph& g, int tensor) {
  return std::find(g.outputs.begin(), g.outputs.end(), tensor) != g.outputs.end();
}

ir::Read composed(const ir::Read& r, const std::vector<ir::Index>& at, ir::Ranges ranges) {
  ir::Read out = r;
  for (ir::Index& i : out.index)
    i = ir::simplify(ir::substitute(i, [&](int axis) { return at[static_cast<size_t>(axis)]; }),
                     ranges);
  return out;
}

std::optional<ir::Node> inlined(const ir::Node& reader, const ir::Node& producer) {
  ir::Node out = reader;
  const std::vector<ir::Range> ranges = ranges_of(reader);
  for (size_t r = 0; r < reader.reads.size(); ++r) {
    if (reader.reads[r].tensor != producer.output) continue;
    const bool holds_positions =
        std::any_of(reader.reads.begin(), reader.reads.end(), [&](const ir::Read& other) {
          return other.lookup && other.lookup->read == static_cast<int>(r);
        });
    if (reader.reads[r].guarded || reader.reads[r].lookup || holds_positions) return std::nullopt;
    const std::vector<ir::Index>& at = reader.reads[r].index;
    const int first = static_cast<int>(out.reads.size());
    const std::optional<ir::Scalar> body = body_at(producer.body, at, first);
    if (!body) return std::nullopt;
    for (const ir::Read& inner : producer.reads) {
      out.reads.push_back(composed(inner, at, ranges));
      if (inner.lookup) out.reads.back().lookup->read += first;
    }
    replace(out.body, static_cast<int>(r), *body);
  }
  merge_reads(out);
  if (operations_of(out.body) > kMostOperations || out.reads.size() > kMostReads)
    return std::nullopt;
  return out;
}

std::optional<ir::Scalar> body_at(const ir::Scalar& s, const std::vector<ir::Index>& at,
                                  int first) {
  if (s.op == ir::ScalarOp::axis) return axis_at(at[static_cast<size_t>(s.operand)]);
  ir::Scalar out = s;
  if (s.op == ir::ScalarOp::read) out.operand += first;
  for (ir::Scalar& a : out.args) {
    std::optional<ir::Scalar> arg = body_at(a, at, first);
    if (!arg) return std::nullopt;
    a = std::move(*arg);
  }
  return out;
}

double operations_of(const ir::Scalar& body) {
  const bool leaf = body.op == ir::ScalarOp::read || body.op == ir::ScalarOp::constant ||
                    body.op == ir::ScalarOp::axis;
  double sum = leaf ? 0 : 1;
  for (const ir::Scalar& a : body.args) sum += operations_of(a);
  return sum;
}

bool uses_axis(const ir::Scalar& body, int axis) {
  return (body.op == ir::ScalarOp::axis && body.operand == axis) ||
         std::any_of(body.args.begin(), body.args.end(),
                     [&](const ir::Scalar& s) { return uses_axis(s, axis); });
}

ir::Scalar with_axis_inserted(ir::Scalar body, int from) {
  if (body.op == ir::ScalarOp::axis && body.operand >= from) ++body.operand;
  for (ir::Scalar& s : body.args) s = with_axis_inserted(std::move(s), from);
  return body;
}

ir::Node in_parts(const ir::Node& n, int axis, int64_t parts, const char* name) {
  ir::Node out = n;
  const int64_t length = n.axes[static_cast<size_t>(axis)].extent / parts;
  out.axes.insert(out.axes.begin(), {name, parts});
  out.axes[static_cast<size_t>(axis) + 1].extent = length;
  std::vector<ir::Index> at;
  for (int a = 0; a < static_cast<int>(n.axes.size()); ++a)
    at.push_back(a == axis ? ir::variable(0, length) + ir::variable(a + 1) : ir::variable(a + 1));
  const std::vector<ir::Range> ranges = ir::ranges_of(out);
  for (ir::Read& r : out.reads) r = composed(r, at, ranges);
  out.body = with_axis_inserted(std::move(out.body), 0);
  return out;
}

namespace {

// Over the axes that `to` names. Axes of extent 1 have one value.
ir::Index renamed(const ir::Index& i, const std::vector<int>& to, const ir::Node& n) {
  return ir::simplify(ir::substitute(i,
                                     [&](int a) {
                                       const int t = to[static_cast<size_t>(a)];
                                       return t < 0 || n.axes[static_cast<size_t>(t)].extent == 1
                                                  ? ir::constant(0)
                                                  : ir::variable(t);
                                     }),
                      ir::ranges_of(n));
}

}  // namespace

bool same_value(const ir::Node& n, const ir::Scalar& a, const ir::Node& m, const ir::Scalar& b,
                const std::vector<int>& to) {
  if (a.op != b.op || a.args.size() != b.args.size()) return false;
  if (a.op == ir::ScalarOp::constant && a.value != b.value) return false;
  if (a.op == ir::ScalarOp::axis && to[static_cast<size_t>(a.operand)] != b.operand) return false;
  if (a.op == ir::ScalarOp::read) {
    const ir::Read &x = n.reads[static_cast<size_t>(a.operand)],
                   &y = m.reads[static_cast<size_t>(b.operand)];
    if (x.tensor != y.tensor || x.lookup || y.lookup || x.guarded != y.guarded ||
        (x.guarded && x.fill != y.fill))
      return false;
    std::vector<int> same(m.axes.size());
    std::iota(same.begin(), same.end(), 0);
    for (size_t d = 0; d < x.index.size(); ++d)
      if (renamed(x.index[d], to, m) != renamed(y.index[d], same, m)) return false;
  }
  for (size_t i = 0; i < a.args.size(); ++i)
    if (!same_value(n, a.args[i], m, b.args[i], to)) return false;
  return true;
}

}  // namespace assay::compiler
