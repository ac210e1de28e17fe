#include "compiler/passes/store_wider.h"

#include <gtest/gtest.h>

#include "ir/element.h"
#include "support/diag.h"

namespace assay {
namespace {

using ir::DType;

// y = relu(x w), z = y + x in f16, w a constant.
ir::Graph typed() {
  Result<ir::Graph> parsed = ir::parse_graph(
      "schema: assay/graph/1\nname: g\ninputs: {x: f16 3x3, w: f16 3x3}\nnodes:\n"
      "  - {op: matmul, out: \"p[m, n]\", axes: {m: 3, n: 3, k: 3}, combine: sum, body: "
      "\"x[m, k] * w[k, n]\"}\n"
      "  - {op: add, out: \"z[m, n]\", axes: {m: 3, n: 3}, body: \"p[m, n] + x[m, n]\"}\n"
      "outputs: [z]\n",
      "g.yaml");
  if (!parsed) throw std::runtime_error(render(parsed.diags()));
  ir::Graph g = *parsed;
  for (ir::Tensor& t : g.tensors) t.dtype = DType::f16;
  g.inputs = {0};
  g.tensors[1].constant = 0;
  g.constants.push_back(
      {ir::bytes_of_doubles(DType::f16, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, -0.5})});
  return g;
}

std::vector<DType> types(const ir::Graph& g) {
  std::vector<DType> out;
  for (const ir::Tensor& t : g.tensors) out.push_back(t.dtype);
  return out;
}

TEST(StoreWider, WeightsAndWhatIsHandedOverBecomeF32WhereThatIsFaster) {
  const ir::Graph g = typed();
  const auto choose = [&](int yes) {  // bits: weights, all
    int asked = 0;
    return compiler::store_wider(
        g, 1, [&](const auto&, const auto&) { return ((yes >> asked++) & 1) != 0; });
  };
  const DType h = DType::f16, f = DType::f32;
  EXPECT_EQ(choose(0), g);
  EXPECT_EQ(types(choose(1)), (std::vector<DType>{h, f, h, h}));
  EXPECT_EQ(types(choose(2)), (std::vector<DType>{h, f, f, h}));
  EXPECT_EQ(types(choose(3)), (std::vector<DType>{h, f, f, h}));
  const ir::Graph wide = choose(3);
  EXPECT_EQ(ir::doubles_of(f, wide.constants[0].bytes),
            (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, -0.5}));
  EXPECT_EQ(render(ir::verify(wide)), "");
}

}  // namespace
}  // namespace assay
