#include "compiler/passes/store_wider.h"

#include <algorithm>
#include <set>

#include "ir/element.h"

namespace assay::compiler {

namespace {

bool is_narrow(ir::DType t) { return t == ir::DType::f16 || t == ir::DType::bf16; }

bool is_end(const ir::Graph& g, int tensor) {
  const auto in = [&](const std::vector<int>& v) {
    return std::find(v.begin(), v.end(), tensor) != v.end();
  };
  return in(g.inputs) || in(g.outputs);
}

// Weights, and with `all` also what operators hand over.
ir::Graph wider(ir::Graph g, bool all) {
  std::set<int> converted;  // constants
  for (int i = 0; i < static_cast<int>(g.tensors.size()); ++i) {
    ir::Tensor& t = g.tensors[static_cast<size_t>(i)];
    if (!is_narrow(t.dtype) || is_end(g, i) || (t.constant < 0 && !all)) continue;
    if (t.constant >= 0 && static_cast<size_t>(t.constant) < g.constants.size() &&
        converted.insert(t.constant).second) {
      std::vector<std::byte>& bytes = g.constants[static_cast<size_t>(t.constant)].bytes;
      bytes = ir::bytes_of_doubles(ir::DType::f32, ir::doubles_of(t.dtype, bytes));
    }
    t.dtype = ir::DType::f32;
  }
  return g;
}

}  // namespace

ir::Graph store_wider(ir::Graph g, int64_t block, const Faster& faster) {
  const bool narrow = std::any_of(g.tensors.begin(), g.tensors.end(),
                                  [](const ir::Tensor& t) { return is_narrow(t.dtype); });
  if (!narrow) return g;
  for (const bool all : {false, true}) {
    ir::Graph then = wider(g, all);
    if (then == g) continue;
    if (faster(choose_layouts(g, block, false), choose_layouts(then, block, false)))
      g = std::move(then);
  }
  return g;
}

}  // namespace assay::compiler
