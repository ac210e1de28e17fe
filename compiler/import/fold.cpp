#include "compiler/import/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/import/fold_integers.h"
#include "ir/element.h"

namespace assay::import {
namespace {

bool all_integers(const Context& c, const ir::Node& n) {
  return ir::is_integer(c.tensor(n.output).dtype) &&
         std::all_of(n.reads.begin(), n.reads.end(),
                     [&](const ir::Read& r) { return ir::is_integer(c.tensor(r.tensor).dtype); });
}

// The node alone as a graph whose operands are constants.
ir::Graph alone(const Context& c, const ir::Node& n) {
  ir::Graph g;
  g.nodes = {n};
  std::map<int, int> ids;
  const auto copy = [&](int tensor, bool constant) {
    const auto [at, fresh] = ids.try_emplace(tensor, static_cast<int>(g.tensors.size()));
    if (!fresh) return at->second;
    g.tensors.push_back(c.tensor(tensor));
    g.tensors.back().constant = constant ? static_cast<int>(g.constants.size()) : -1;
    if (constant) g.constants.push_back({c.bytes(tensor)});
    return at->second;
  };
  for (ir::Read& r : g.nodes[0].reads) r.tensor = copy(r.tensor, true);
  g.nodes[0].output = copy(n.output, false);
  g.outputs = {g.nodes[0].output};
  return g;
}

std::vector<std::byte> value_of(const Context& c, const ir::Node& n) {
  const ir::Graph g = alone(c, n);
  if (const Diags faults = ir::verify(g); has_error(faults)) refuse(faults[0].message);
  if (all_integers(c, n)) return fold_integers(g);
  const auto values = ir::evaluate(g, {});
  if (!values.ok()) refuse(values.diags()[0].message);
  return ir::bytes_of_doubles(c.tensor(n.output).dtype,
                              values.value()[static_cast<size_t>(g.outputs[0])]);
}

}  // namespace

void fold_nodes(Context& c, size_t first) {
  for (size_t i = first; i < c.graph.nodes.size(); ++i) {
    const ir::Node& n = c.graph.nodes[i];
    if (ir::points_of(n) > c.options().max_fold_points)
      refuse(fmt::format("folding this constant takes {} points, at most {}", ir::points_of(n),
                         c.options().max_fold_points));
    c.check_constant_size(c.tensor(n.output).dtype, c.shape(n.output));
    c.make_constant(n.output, value_of(c, n));
  }
  c.graph.nodes.resize(first);
}

}  // namespace assay::import
