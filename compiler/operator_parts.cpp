#include "compiler/operator_parts.h"

namespace assay::compiler::parts {
namespace {

uint64_t mix(uint64_t x) {  // splitmix64 finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

int add_tensor(ir::Graph& g, const char* name, std::vector<int64_t> shape, bool input) {
  ir::Tensor t;
  t.name = name;
  t.shape = std::move(shape);
  g.tensors.push_back(std::move(t));
  const int id = static_cast<int>(g.tensors.size()) - 1;
  if (input) g.inputs.push_back(id);
  return id;
}

int add_weights(ir::Graph& g, const char* name, std::vector<int64_t> shape) {
  const int id = add_tensor(g, name, std::move(shape), false);
  ir::Tensor& t = g.tensors[static_cast<size_t>(id)];
  t.constant = static_cast<int>(g.constants.size());
  const auto n = static_cast<uint64_t>(ir::elements(t));
  ir::Constant c;
  c.bytes.resize(n * sizeof(float));
  auto* out = reinterpret_cast<float*>(c.bytes.data());
  for (uint64_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(
        static_cast<double>(mix((i + 1) * 0x9e3779b97f4a7c15ULL) >> 11) * 0x1p-52 - 1.0);
  g.constants.push_back(std::move(c));
  return id;
}

ir::Read read_of(int tensor, std::vector<ir::Index> index, bool guarded, double fill) {
  ir::Read r;
  r.tensor = tensor;
  r.index = std::move(index);
  r.guarded = guarded;
  r.fill = fill;
  return r;
}

void add_node(ir::Graph& g, ir::Node n) {
  n.name = n.op;
  g.nodes.push_back(std::move(n));
}

ir::Graph finish(ir::Graph g, ir::Node n) {
  g.name = "operator:" + n.op;
  g.outputs = {n.output};
  add_node(g, std::move(n));
  return g;
}

ir::Scalar apply(ir::ScalarOp op, ir::Scalar a, ir::Scalar b) {
  return ir::apply(op, {std::move(a), std::move(b)});
}

ir::Node elementwise(const char* op, std::vector<ir::Axis> axes, std::vector<ir::Read> reads,
                     ir::Scalar body, int output) {
  ir::Node n;
  n.op = op;
  n.axes = std::move(axes);
  n.reads = std::move(reads);
  n.body = std::move(body);
  n.output = output;
  return n;
}

ir::Node reduction(const char* op, std::vector<ir::Axis> axes, std::vector<ir::Read> reads,
                   ir::Scalar body, ir::Combiner combine, int output) {
  ir::Node n = elementwise(op, std::move(axes), std::move(reads), std::move(body), output);
  n.combine = combine;
  return n;
}

}  // namespace assay::compiler::parts
