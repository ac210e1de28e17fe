// evaluate(Graph): every point of every node, in float64.
//
// One axis is walked by an inner loop, the others by a Walk that follows element offsets and guards
// as affine forms; guards bound a run. A product of two reads under a sum is a loop over pointers;
// everything else runs the body as a BodyProgram over the same runs. A read that divides or takes
// modulos is computed afresh at each run's start when it is affine along it, else at each point.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "ir/apply_kind.h"
#include "ir/computed_type.h"
#include "ir/element.h"
#include "ir/evaluate_body.h"
#include "ir/evaluate_product.h"
#include "ir/evaluate_tuple.h"
#include "ir/evaluate_walk.h"
#include "ir/graph.h"

namespace assay::ir {
namespace {

using Values = std::vector<std::vector<double>>;
constexpr int64_t kMaxEvaluated = int64_t{1} << 31;  // elements of all tensors together: 16 GiB

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

struct Guard {
  size_t form = 0;
  int64_t bound = 0;  // 0 <= form < bound, else the read gives its fill
};

enum class Access { affine, affine_runs, points };

struct Operand {
  const Read* read = nullptr;
  const double* data = nullptr;
  std::vector<int64_t> shape, strides;
  Access access = Access::points;
  const Read* lookup = nullptr;  // the read that holds the position along one dimension
  const double* lookup_data = nullptr;
  std::vector<int64_t> lookup_strides, lookup_shape;
  size_t form = 0;             // affine: of the element offset
  std::vector<Guard> guards;   // affine: of dimensions whose index may be out of range
  std::vector<int64_t> steps;  // affine_runs: of each dimension's index along the inner axis
};

struct Prepared {
  std::vector<Operand> operands;
  std::vector<Affine> forms;  // [0]: the element offset of the output
};

// Affine only if every dimension is; whether along runs is known when the inner axis is.
Operand prepare_read(const Graph& g, const Node& n, const Read& r, const Values& values,
                     std::vector<Affine>& forms) {
  Operand o;
  o.read = &r;
  o.data = values[static_cast<size_t>(r.tensor)].data();
  o.shape = g.tensors[static_cast<size_t>(r.tensor)].shape;
  o.strides = row_major_strides(o.shape);
  if (r.lookup) {
    o.lookup = &n.reads[static_cast<size_t>(r.lookup->read)];
    o.lookup_data = values[static_cast<size_t>(o.lookup->tensor)].data();
    o.lookup_shape = g.tensors[static_cast<size_t>(o.lookup->tensor)].shape;
    o.lookup_strides = row_major_strides(o.lookup_shape);
    return o;
  }
  Affine flat{0, std::vector<int64_t>(n.axes.size(), 0)};
  std::vector<std::pair<Affine, int64_t>> guards;
  for (size_t d = 0; d < r.index.size(); ++d) {
    const std::optional<Affine> form = affine_of(r.index[d], n.axes.size());
    if (!form) return o;
    add_scaled(flat, *form, o.strides[d]);
    if (can_leave(*form, n.axes, o.shape[d])) guards.emplace_back(*form, o.shape[d]);
  }
  o.access = Access::affine;
  o.form = forms.size();
  forms.push_back(std::move(flat));
  for (auto& [form, bound] : guards) {
    o.guards.push_back({forms.size(), bound});
    forms.push_back(std::move(form));
  }
  return o;
}

// `shape`: of the result, the extents of the first axes.
Prepared prepare(const Graph& g, const Node& n, const std::vector<int64_t>& shape,
                 const Values& values) {
  Prepared p;
  Affine out{0, std::vector<int64_t>(n.axes.size(), 0)};
  const auto strides = row_major_strides(shape);
  std::copy(strides.begin(), strides.end(), out.coeff.begin());
  p.forms.push_back(std::move(out));
  for (const Read& r : n.reads) p.operands.push_back(prepare_read(g, n, r, values, p.forms));
  return p;
}

// The steps of all dimensions along `axis`; nullopt when one is not affine in it.
std::optional<std::vector<int64_t>> steps_along(const Operand& o, size_t axis) {
  if (o.lookup) return std::nullopt;
  std::vector<int64_t> steps;
  for (const Index& index : o.read->index) {
    const std::optional<int64_t> step = stride_of(index, static_cast<int>(axis));
    if (!step) return std::nullopt;
    steps.push_back(*step);
  }
  return steps;
}

double cost_of(int64_t stride) {
  if (stride == 0) return 0;
  if (std::abs(stride) == 1) return 0.3;
  return std::abs(stride) < 512 ? 1 : 3;
}

// Nanoseconds per point of a run along `axis`, roughly.
double cost_along(const Node& n, const Prepared& p, size_t axis) {
  const double extent = static_cast<double>(n.axes[axis].extent);
  double cost = 60 / extent + (p.forms[0].coeff[axis] == 0 ? 0.5 : cost_of(p.forms[0].coeff[axis]));
  for (const Operand& o : p.operands) {
    if (o.access == Access::affine)
      cost += cost_of(p.forms[o.form].coeff[axis]);
    else
      cost += steps_along(o, axis) ? 1 + 60 / extent : 40;
  }
  return cost;
}

size_t choose_inner(const Node& n, const Prepared& p) {
  size_t best = 0;
  double best_cost = HUGE_VAL;
  for (size_t axis = 0; axis < n.axes.size(); ++axis) {
    const double cost = cost_along(n, p, axis);
    if (cost > best_cost) continue;
    best = axis;
    best_cost = cost;
  }
  return best;
}

// An operand along one run: data[base + i * step], for i in span; the fill outside.
struct Run {
  int64_t base = 0, step = 0;
  Span span;
};

Run run_of(const Operand& o, Walk& walk) {
  Run run{0, 0, {0, walk.extent()}};
  if (o.access == Access::affine) {
    run.base = walk.value(o.form);
    run.step = walk.step(o.form);
    for (const Guard& guard : o.guards)
      run.span = intersect(run.span, inside(walk.value(guard.form), walk.step(guard.form),
                                            guard.bound, walk.extent()));
    return run;
  }
  walk.position()[walk.inner()] = 0;
  for (size_t d = 0; d < o.shape.size(); ++d) {
    const int64_t first = ir::evaluate(o.read->index[d], walk.position());
    run.base += first * o.strides[d];
    run.step += o.steps[d] * o.strides[d];
    run.span = intersect(run.span, inside(first, o.steps[d], o.shape[d], walk.extent()));
  }
  return run;
}

bool is_multiply_add(const Node& n, const Prepared& p) {
  const auto fits = [&](const Scalar& s) {
    if (s.op != ScalarOp::read) return false;
    const Operand& o = p.operands[static_cast<size_t>(s.operand)];
    return o.access != Access::points && (!o.read->guarded || o.read->fill == 0);
  };
  return n.combine == Combiner::sum && n.body.op == ScalarOp::mul && fits(n.body.args[0]) &&
         fits(n.body.args[1]);
}

void run_multiply_add(const Node& n, const Prepared& p, Walk walk, double* out) {
  const Operand& a = p.operands[static_cast<size_t>(n.body.args[0].operand)];
  const Operand& b = p.operands[static_cast<size_t>(n.body.args[1].operand)];
  const int64_t so = walk.step(0);
  do {
    const Run ra = run_of(a, walk), rb = run_of(b, walk);
    const Span span = intersect(ra.span, rb.span);
    if (span.first >= span.last) continue;
    multiply_add(out + walk.value(0) + span.first * so, so, a.data + ra.base + span.first * ra.step,
                 ra.step, b.data + rb.base + span.first * rb.step, rb.step, span.last - span.first);
  } while (walk.next());
}

class Source : public BodySource {
 public:
  Source(const Prepared& p, Walk& walk)
      : p_(p), walk_(walk), runs_(p.operands.size()), at_(walk.position()) {}

  void start_run() {
    at_ = walk_.position();
    for (size_t i = 0; i < runs_.size(); ++i)
      if (p_.operands[i].access != Access::points) runs_[i] = run_of(p_.operands[i], walk_);
  }

  void axis(int axis, int64_t first, size_t count, double* out) override {
    const bool inner = static_cast<size_t>(axis) == walk_.inner();
    const int64_t base = inner ? first : at_[static_cast<size_t>(axis)];
    for (size_t i = 0; i < count; ++i)
      out[i] = static_cast<double>(base + (inner ? static_cast<int64_t>(i) : 0));
  }

  void fetch(int operand, int64_t first, size_t count, double* out) override {
    const Operand& o = p_.operands[static_cast<size_t>(operand)];
    if (o.access == Access::points) return fetch_each(o, first, count, out);
    const Run& run = runs_[static_cast<size_t>(operand)];
    const int64_t last = first + static_cast<int64_t>(count);
    const Span span = intersect(run.span, {first, last});
    if (span.first > first || span.last < last) std::fill_n(out, count, o.read->fill);
    for (int64_t i = span.first; i < span.last; ++i)
      out[i - first] = o.data[run.base + i * run.step];
  }

 private:
  void fetch_each(const Operand& o, int64_t first, size_t count, double* out) {
    for (size_t i = 0; i < count; ++i) {
      at_[walk_.inner()] = first + static_cast<int64_t>(i);
      int64_t offset = 0;
      bool is_inside = true;
      for (size_t d = 0; d < o.shape.size(); ++d) {
        const bool looked_up = o.lookup && o.read->lookup->dim == static_cast<int>(d);
        const int64_t index = looked_up ? looked_up_at(o, d) : ir::evaluate(o.read->index[d], at_);
        is_inside = is_inside && index >= 0 && index < o.shape[d];
        offset += index * o.strides[d];
      }
      out[i] = is_inside ? o.data[offset] : o.read->fill;
    }
  }

  // -1: the position is outside. The read of the position may be guarded too.
  int64_t looked_up_at(const Operand& o, size_t dim) {
    int64_t offset = 0;
    bool is_inside = true;
    for (size_t d = 0; d < o.lookup_shape.size(); ++d) {
      const int64_t index = ir::evaluate(o.lookup->index[d], at_);
      is_inside = is_inside && index >= 0 && index < o.lookup_shape[d];
      offset += index * o.lookup_strides[d];
    }
    return position_of(is_inside ? o.lookup_data[offset] : o.lookup->fill, o.shape[dim])
        .value_or(-1);
  }

  const Prepared& p_;
  Walk& walk_;
  std::vector<Run> runs_;
  std::vector<int64_t> at_;
};

void run_body(const Node& n, const Prepared& p, Walk walk, double* out) {
  BodyProgram body(n.body);
  Source source(p, walk);
  const int64_t so = walk.step(0);
  do {
    source.start_run();
    for (int64_t first = 0; first < walk.extent(); first += static_cast<int64_t>(kChunk)) {
      const size_t count = std::min(kChunk, static_cast<size_t>(walk.extent() - first));
      const double* values = body.run(source, first, count);
      double* to = out + walk.value(0) + first * so;
      for (size_t i = 0; i < count; ++i, to += so) *to = combined(n.combine, *to, values[i]);
    }
  } while (walk.next());
}

std::vector<double> run_expression(const Graph& g, Node n, const std::vector<int64_t>& shape,
                                   const Values& values) {
  if (n.axes.empty()) n.axes.push_back({"one", 1});  // a scalar output: one point
  std::vector<double> out(static_cast<size_t>(std::accumulate(shape.begin(), shape.end(),
                                                              int64_t{1}, std::multiplies<>())),
                          identity_of(n.combine));
  Prepared p = prepare(g, n, shape, values);
  const size_t inner = choose_inner(n, p);
  for (Operand& o : p.operands)
    if (auto steps = steps_along(o, inner); steps && o.access == Access::points) {
      o.access = Access::affine_runs;
      o.steps = std::move(*steps);
    }
  Walk walk(n.axes, inner, p.forms);
  if (is_multiply_add(n, p))
    run_multiply_add(n, p, std::move(walk), out.data());
  else
    run_body(n, p, std::move(walk), out.data());
  return out;
}

// The terms of another kind of node, each of a shape of its own, and what the kind makes of them.
std::vector<double> run_kind(const Graph& g, const Node& n, const Values& values) {
  Node of = n;
  of.kind = Expression{};
  of.combine = Combiner::none;
  of.axes = term_axes(n);
  std::vector<int64_t> points;
  for (const Axis& axis : of.axes) points.push_back(axis.extent);
  if (const auto* tuple = std::get_if<TupleReduction>(&n.kind))
    return reduced(n, *tuple, [&](const Scalar& leaf) {
      of.body = leaf;
      return run_expression(g, of, points, values);
    });
  Terms<double> terms;
  terms.shape = g.tensors[static_cast<size_t>(n.output)].shape;
  terms.values = run_expression(g, of, points, values);
  if (const auto* scatter = std::get_if<Scatter>(&n.kind)) {
    const Read& initial = n.reads[static_cast<size_t>(scatter->initial)];
    terms.initial = values[static_cast<size_t>(initial.tensor)];
    for (const Position& p : scatter->positions) {
      of.body = read(p.read);
      auto& to = terms.positions.emplace_back();
      for (const double v : run_expression(g, of, points, values))
        to.push_back(position_of(v, terms.shape[static_cast<size_t>(p.dim)]));
    }
  }
  return apply_kind(n, terms, identity_of(n.combine),
                    [&](double a, double b) { return combined(n.combine, a, b); });
}

void run_node(const Graph& g, const Node& n, Values& values) {
  const auto output = static_cast<size_t>(n.output);
  values[output] = is_expression(n) ? run_expression(g, n, g.tensors[output].shape, values)
                                    : run_kind(g, n, values);
  // As it is stored. Other types keep the digits of float64.
  if (const DType t = g.tensors[output].dtype; is_whole(t))
    for (double& v : values[output]) v = converted(t, v);
}

Diags faults_of(const Graph& g, std::span<const std::vector<float>> inputs) {
  Diags diags = verify(g);
  if (has_error(diags)) return diags;
  if (inputs.size() != g.inputs.size())
    return {
        error(fmt::format("{} inputs given, the graph has {}", inputs.size(), g.inputs.size()))};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = g.tensors[static_cast<size_t>(g.inputs[i])];
    if (static_cast<int64_t>(inputs[i].size()) != elements(t))
      diags.push_back(error(fmt::format("input {} has {} elements, {} are needed", t.name,
                                        inputs[i].size(), elements(t))));
  }
  double total = 0;
  for (const Tensor& t : g.tensors) {
    total += static_cast<double>(elements(t));
    if (t.constant >= 0 && g.constants[static_cast<size_t>(t.constant)].bytes.empty())
      diags.push_back(error(fmt::format("constant {} has no bytes", t.name),
                            "attach the constants of a parsed graph"));
  }
  if (total > static_cast<double>(kMaxEvaluated))
    diags.push_back(error(
        fmt::format("{} elements are too many to evaluate, at most {}", total, kMaxEvaluated)));
  return diags;
}

// `stored`: results of small floats are rounded to these types.
Result<Values> evaluate(const Graph& g, std::span<const std::vector<float>> inputs, bool stored) {
  if (Diags diags = faults_of(g, inputs); has_error(diags)) return diags;
  Values values(g.tensors.size());
  for (size_t i = 0; i < g.tensors.size(); ++i)
    if (const int id = g.tensors[i].constant; id >= 0)
      values[i] = doubles_of(g.tensors[i].dtype, g.constants[static_cast<size_t>(id)].bytes);
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(g.inputs[i])].assign(inputs[i].begin(), inputs[i].end());
  for (const Node& n : g.nodes) {
    run_node(g, n, values);
    const DType type = g.tensors[static_cast<size_t>(n.output)].dtype;
    if (stored && is_small_float(type))
      for (double& v : values[static_cast<size_t>(n.output)]) v = rounded(type, v);
  }
  return values;
}

}  // namespace

Result<Values> evaluate(const Graph& g, std::span<const std::vector<float>> inputs) {
  return evaluate(g, inputs, false);
}

Result<Values> evaluate_stored(const Graph& g, std::span<const std::vector<float>> inputs) {
  return evaluate(g, inputs, true);
}

}  // namespace assay::ir
