#include "compiler/passes/shift_operands.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/passes/rewrite.h"
#include "ir/computed_type.h"
#include "ir/element.h"

namespace assay::compiler {

namespace {

using ir::DType;

constexpr double kShift = 128;  // from i8 to u8

DType type_of(const ir::Graph& g, const ir::Read& r) {
  return g.tensors[static_cast<size_t>(r.tensor)].dtype;
}

bool is_constant(const ir::Graph& g, const ir::Read& r) {
  return g.tensors[static_cast<size_t>(r.tensor)].constant >= 0;
}

struct Shift {
  size_t read = 0;  // of the product: the operand that is shifted; the other one is summed
  double by = 0;
  DType to = DType::u8;
};

// nullopt: the product is multiplied as it is, or by no instruction after one shift either.
std::optional<Shift> wanted_shift(const ir::Graph& g, const ir::Node& n,
                                  std::span<const ir::MatrixInstruction> instructions) {
  if (!is_product(n) || n.reads.size() != 2 || n.reads[0].lookup || n.reads[1].lookup ||
      ir::computed_in(g, n) != DType::i32)
    return std::nullopt;
  const DType t = type_of(g, n.reads[0]);
  if (t != type_of(g, n.reads[1]) || (t != DType::i8 && t != DType::u8)) return std::nullopt;
  const DType other = t == DType::i8 ? DType::u8 : DType::i8;
  bool mixed = false;
  for (const ir::MatrixInstruction& i : instructions) {
    if (i.c.mapping.steps.empty()) continue;
    if (i.a.number == t && i.b.number == t) return std::nullopt;
    mixed = mixed || (i.a.number != i.b.number && (i.a.number == t || i.b.number == t) &&
                      (i.a.number == other || i.b.number == other));
  }
  if (!mixed) return std::nullopt;
  // The sum of a constant is one.
  const size_t read = is_constant(g, n.reads[0]) && !is_constant(g, n.reads[1]) ? 1 : 0;
  return Shift{read, t == DType::i8 ? kShift : -kShift, other};
}

int add_tensor(ir::Graph& g, std::string name, DType type, std::vector<int64_t> shape) {
  g.tensors.push_back({std::move(name), type, std::move(shape), -1});
  return static_cast<int>(g.tensors.size()) - 1;
}

int add_constant(ir::Graph& g, std::string name, DType type, std::vector<int64_t> shape,
                 const std::vector<double>& values) {
  const int t = add_tensor(g, std::move(name), type, std::move(shape));
  g.tensors.back().constant = static_cast<int>(g.constants.size());
  g.constants.push_back({ir::bytes_of_doubles(type, values)});
  return t;
}

bool has_values(const ir::Graph& g, int tensor) {
  const int c = g.tensors[static_cast<size_t>(tensor)].constant;
  return c >= 0 && static_cast<size_t>(c) < g.constants.size() &&
         !g.constants[static_cast<size_t>(c)].bytes.empty();
}

// out[i] = t[i] + by.
ir::Node shift_node(const ir::Graph& g, int tensor, double by, int output) {
  ir::Node out;
  out.op = "shift";
  out.name = g.tensors[static_cast<size_t>(output)].name;
  out.output = output;
  ir::Read r;
  r.tensor = tensor;
  for (const int64_t extent : g.tensors[static_cast<size_t>(tensor)].shape) {
    r.index.push_back(ir::variable(static_cast<int>(out.axes.size())));
    out.axes.push_back({"i" + std::to_string(out.axes.size()), extent});
  }
  out.reads = {std::move(r)};
  out.body = ir::apply(ir::ScalarOp::add, {ir::read(0), ir::number(by)});
  return out;
}

// sum[i] = sum(all reduce axes) operand, for the spatial axes that move it.
ir::Node sum_node(const ir::Graph& g, const ir::Node& n, size_t read, std::vector<int>& kept) {
  const int spatial = ir::spatial_count(g, n);
  ir::Node out;
  out.op = "sum";
  out.name = n.name + ".sum";
  out.combine = ir::Combiner::sum;
  out.body = ir::read(0);
  std::vector<int> now(n.axes.size(), -1);
  for (int a = 0; a < static_cast<int>(n.axes.size()); ++a) {
    if (a < spatial && !ir::moves_with(n, static_cast<int>(read), a)) continue;
    if (a < spatial) kept.push_back(a);
    now[static_cast<size_t>(a)] = static_cast<int>(out.axes.size());
    out.axes.push_back(n.axes[static_cast<size_t>(a)]);
  }
  ir::Read r = n.reads[read];
  for (ir::Index& i : r.index)
    i = ir::substitute(i, [&](int a) { return ir::variable(now[static_cast<size_t>(a)]); });
  out.reads = {std::move(r)};
  return out;
}

// The sum's values where its operand is a constant.
std::optional<std::vector<double>> folded(const ir::Graph& g, ir::Node sum,
                                          const std::vector<int64_t>& shape) {
  if (!has_values(g, sum.reads[0].tensor)) return std::nullopt;
  ir::Graph alone;
  alone.name = "sum";
  alone.tensors = {g.tensors[static_cast<size_t>(sum.reads[0].tensor)],
                   {sum.name, DType::i32, shape, -1}};
  alone.constants = {g.constants[static_cast<size_t>(alone.tensors[0].constant)]};
  alone.tensors[0].constant = 0;
  sum.reads[0].tensor = 0;
  sum.output = 1;
  alone.nodes = {std::move(sum)};
  alone.outputs = {1};
  auto all = ir::evaluate(alone, {});
  if (!all) return std::nullopt;
  return std::move((*all)[1]);
}

class Shifter {
 public:
  explicit Shifter(ir::Graph g) : g_(std::move(g)) {}

  ir::Graph take() { return std::move(g_); }
  const ir::Graph& graph() const { return g_; }

  // Rewrites node `at`; returns where it stands then.
  size_t rewrite(size_t at, const Shift& shift) {
    std::vector<ir::Node> before;
    const int shifted = shifted_tensor(g_.nodes[at].reads[shift.read].tensor, shift, before);
    const size_t other = 1 - shift.read;
    ir::Node n = g_.nodes[at];
    const std::string name = g_.tensors[static_cast<size_t>(n.output)].name;
    std::vector<int> kept;
    ir::Node sum = sum_node(g_, n, other, kept);
    std::vector<int64_t> shape;
    for (const int a : kept) shape.push_back(n.axes[static_cast<size_t>(a)].extent);
    ir::Node correct = correction(n, name);
    ir::Read correction_read;
    for (const int a : kept) correction_read.index.push_back(ir::variable(a));
    if (auto values = folded(g_, sum, shape)) {
      for (double& v : *values) v *= -shift.by;
      correction_read.tensor = add_constant(g_, name + ".correction", DType::i32, shape, *values);
      correct.body = ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)});
    } else {
      correction_read.tensor = sum.output = add_tensor(g_, name + ".sum", DType::i32, shape);
      before.push_back(std::move(sum));
      correct.body = ir::apply(
          ir::ScalarOp::sub,
          {ir::read(0), ir::apply(ir::ScalarOp::mul, {ir::read(1), ir::number(shift.by)})});
    }
    correct.reads.push_back(std::move(correction_read));
    n.output = correct.reads[0].tensor;
    n.reads[shift.read].tensor = shifted;
    if (n.reads[shift.read].guarded) n.reads[shift.read].fill += shift.by;
    g_.nodes[at] = std::move(n);
    g_.nodes.insert(g_.nodes.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(correct));
    const size_t more = before.size();
    g_.nodes.insert(g_.nodes.begin() + static_cast<ptrdiff_t>(at),
                    std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
    return at + more + 1;
  }

 private:
  // out[i] = product[i] and a correction, which the caller adds.
  ir::Node correction(const ir::Node& n, const std::string& name) {
    ir::Node out;
    out.op = "correct";
    out.name = name + ".correct";
    out.output = n.output;
    const int spatial = ir::spatial_count(g_, n);
    out.axes.assign(n.axes.begin(), n.axes.begin() + spatial);
    ir::Read r;
    r.tensor = add_tensor(g_, name + ".shifted", DType::i32,
                          g_.tensors[static_cast<size_t>(n.output)].shape);
    for (int a = 0; a < spatial; ++a) r.index.push_back(ir::variable(a));
    out.reads = {std::move(r)};
    return out;
  }

  int shifted_tensor(int tensor, const Shift& shift, std::vector<ir::Node>& before) {
    const auto [found, fresh] = shifted_.try_emplace(tensor, -1);
    if (!fresh) return found->second;
    const ir::Tensor t = g_.tensors[static_cast<size_t>(tensor)];
    const std::string name = t.name + "_shifted";
    if (has_values(g_, tensor)) {
      std::vector<double> values =
          ir::doubles_of(t.dtype, g_.constants[static_cast<size_t>(t.constant)].bytes);
      for (double& v : values) v += shift.by;
      return found->second = add_constant(g_, name, shift.to, t.shape, values);
    }
    const int out = add_tensor(g_, name, shift.to, t.shape);
    before.push_back(shift_node(g_, tensor, shift.by, out));
    return found->second = out;
  }

  ir::Graph g_;
  std::map<int, int> shifted_;  // by tensor
};

// Is the body's value a whole number, so that adding one commutes with rounding and saturation?
bool is_whole_valued(const ir::Scalar& s) {
  switch (s.op) {
    case ir::ScalarOp::round:
      return true;
    case ir::ScalarOp::constant:
      return s.value == static_cast<double>(static_cast<int64_t>(s.value));
    case ir::ScalarOp::add:
    case ir::ScalarOp::sub:
    case ir::ScalarOp::max:
    case ir::ScalarOp::min:
      return std::all_of(s.args.begin(), s.args.end(), is_whole_valued);
    default:
      return false;
  }
}

ir::Scalar minus(const ir::Scalar& body, int read, double by) {
  if (body.op == ir::ScalarOp::read && body.operand == read)
    return ir::apply(ir::ScalarOp::sub, {body, ir::number(by)});
  ir::Scalar out = body;
  for (ir::Scalar& a : out.args) a = minus(a, read, by);
  return out;
}

// Where node `shift` reads what an elementwise node rounds, that node writes the shifted tensor
// itself, and other elementwise readers shift back.
bool absorb(ir::Graph& g, size_t shift) {
  const ir::Node s = g.nodes[shift];
  const int tensor = s.reads[0].tensor, producer = ir::producer_of(g, tensor);
  if (producer < 0 || is_output(g, tensor)) return false;
  const ir::Node& p = g.nodes[static_cast<size_t>(producer)];
  if (!ir::is_elementwise(p) || !is_whole_valued(p.body)) return false;
  for (const int reader : ir::consumers_of(g, tensor)) {
    const ir::Node& n = g.nodes[static_cast<size_t>(reader)];
    if (static_cast<size_t>(reader) == shift) continue;
    if (!ir::is_elementwise(n)) return false;
    for (const ir::Read& r : n.reads)
      if (r.tensor == tensor && (r.guarded || r.lookup)) return false;
  }
  const double by = s.body.args[1].value;
  for (ir::Node& n : g.nodes)
    for (size_t r = 0; r < n.reads.size(); ++r)
      if (n.reads[r].tensor == tensor) {
        n.reads[r].tensor = s.output;
        n.body = minus(n.body, static_cast<int>(r), by);
      }
  ir::Node& writer = g.nodes[static_cast<size_t>(producer)];
  writer.output = s.output;
  writer.body = ir::apply(ir::ScalarOp::add, {std::move(writer.body), ir::number(by)});
  g.nodes.erase(g.nodes.begin() + static_cast<ptrdiff_t>(shift));
  return true;
}

// The product alone, as its operands' readers see it.
ir::Graph alone(const ir::Graph& g, const ir::Node& n) {
  ir::Graph out;
  out.name = g.name;
  out.tensors = g.tensors;
  for (const ir::Read& r : n.reads) {
    if (!has_values(g, r.tensor)) continue;
    ir::Tensor& t = out.tensors[static_cast<size_t>(r.tensor)];
    out.constants.push_back(g.constants[static_cast<size_t>(t.constant)]);
    t.constant = static_cast<int>(out.constants.size()) - 1;
  }
  out.nodes = {n};
  out.outputs = {n.output};
  return out;
}

}  // namespace

ir::Graph shift_operands(ir::Graph g, std::span<const ir::MatrixInstruction> instructions,
                         int64_t block, const Faster& faster) {
  Shifter shifter(std::move(g));
  for (size_t at = 0; at < shifter.graph().nodes.size(); ++at) {
    const ir::Node n = shifter.graph().nodes[at];
    const std::optional<Shift> shift = wanted_shift(shifter.graph(), n, instructions);
    if (!shift) continue;
    Shifter trial(alone(shifter.graph(), n));
    const LaidOut now = choose_layouts(trial.graph(), block, false);
    trial.rewrite(0, *shift);
    if (faster(now, choose_layouts(trial.take(), block, false))) at = shifter.rewrite(at, *shift);
  }
  g = shifter.take();
  for (size_t at = 0; at < g.nodes.size();)
    if (!(g.nodes[at].op == "shift" && absorb(g, at))) ++at;
  return g;
}

}  // namespace assay::compiler
