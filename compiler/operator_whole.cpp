// Operators of i8: whole numbers in, sums of them in i32.
#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/compile.h"
#include "ir/computed_type.h"
#include "ir/element.h"
#include "ir/positions.h"

namespace assay::compiler {
namespace {

using D = ir::DType;

// f32 as i8: the largest magnitude becomes 127.
std::vector<std::byte> quantised(const std::vector<std::byte>& bytes) {
  std::vector<double> values = ir::doubles_of(D::f32, bytes);
  double most = 0;
  for (const double v : values) most = std::max(most, std::abs(v));
  for (double& v : values) v = std::nearbyint(most > 0 ? v / most * 127 : 0);
  return ir::bytes_of_doubles(D::i8, values);
}

// What a maximum or minimum finds outside of a tensor.
void limit_fills(ir::Node& n) {
  for (ir::Read& r : n.reads)
    if (std::isinf(r.fill)) r.fill = r.fill < 0 ? -128 : 127;
}

}  // namespace

Diags sum_in_i32(ir::Graph& g) {
  Diags out;
  for (ir::Node& n : g.nodes) {
    ir::Tensor& result = g.tensors[static_cast<size_t>(n.output)];
    if (result.dtype != D::i8) continue;
    limit_fills(n);
    const bool reads_sums = std::any_of(n.reads.begin(), n.reads.end(), [&](const ir::Read& r) {
      return g.tensors[static_cast<size_t>(r.tensor)].dtype == D::i32;
    });
    if (n.combine == ir::Combiner::sum || reads_sums) result.dtype = D::i32;
    if (ir::computed_in(g, n) != D::i32)
      out.push_back(error(
          g.name + " has no form of type i8: node " + n.name + " is not computed in whole numbers",
          "types: f32 f16 bf16 f8e4m3 f8e5m2"));
  }
  return out;
}

Diags give_whole_type(ir::Graph& g) {
  const std::vector<char> kept = ir::positions_of(g);
  std::map<int, int> narrowed;  // constants
  for (size_t i = 0; i < g.tensors.size(); ++i) {
    ir::Tensor& t = g.tensors[i];
    if (t.dtype != D::f32 || kept[i] != 0) continue;
    t.dtype = D::i8;
    if (t.constant < 0) continue;
    const auto [to, fresh] = narrowed.try_emplace(t.constant, static_cast<int>(g.constants.size()));
    if (fresh)
      g.constants.push_back({quantised(g.constants[static_cast<size_t>(t.constant)].bytes)});
    t.constant = to->second;
  }
  return sum_in_i32(g);
}

}  // namespace assay::compiler
