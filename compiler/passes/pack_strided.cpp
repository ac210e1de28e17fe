#include "compiler/passes/pack_strided.h"

#include <map>
#include <string>
#include <utility>

#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

// Without axes of extent 1, whose value is 0.
ir::Index without_unit_axes(const ir::Node& n, const ir::Index& i) {
  return ir::substitute(i, [&](int v) {
    return n.axes[static_cast<size_t>(v)].extent == 1 ? ir::constant(0) : ir::variable(v);
  });
}

// The stride in every dimension of a read; empty: all are 1, or the read is of another form.
std::vector<int64_t> strides_of(const ir::Graph& g, const ir::Node& n, const ir::Read& r) {
  if (r.guarded || r.lookup || !affine(r) || g.tensors[static_cast<size_t>(r.tensor)].constant >= 0)
    return {};
  std::vector<int64_t> out;
  bool strided = false;
  for (const ir::Index& whole : r.index) {
    const ir::Index i = without_unit_axes(n, whole);
    int64_t stride = 1;
    for (int a = 0; a < static_cast<int>(n.axes.size()); ++a) {
      if (!ir::depends_on(i, a)) continue;
      const int64_t step = ir::stride_of(i, a).value_or(0);
      if (step == 1) continue;
      if (step < 1 || ir::is_reduce(g, n, a) || i != ir::variable(a, step)) return {};
      stride = step;
    }
    strided = strided || stride > 1;
    out.push_back(stride);
  }
  return strided ? out : std::vector<int64_t>{};
}

// Is the last spatial axis shorter than a wave, so that lanes along it would be idle?
bool has_short_rows(const ir::Graph& g, const ir::Node& n, int width) {
  const int spatial = ir::spatial_count(g, n);
  return spatial > 0 && n.axes[static_cast<size_t>(spatial) - 1].extent < width;
}

// (tensor, strides) -> its packed copy.
using Copies = std::map<std::pair<int, std::vector<int64_t>>, int>;

// The packed copy of a tensor; if it is new, its node is added to `to`.
int packed_copy(ir::Graph& to, int tensor, const std::vector<int64_t>& strides, Copies& known) {
  const auto [it, fresh] =
      known.emplace(std::pair{tensor, strides}, static_cast<int>(to.tensors.size()));
  if (!fresh) return it->second;
  ir::Tensor dense = to.tensors[static_cast<size_t>(tensor)];
  dense.name += ".dense";
  ir::Node copy;
  copy.name = dense.name;
  copy.op = "copy";
  copy.output = it->second;
  copy.body = ir::read(0);
  ir::Read r{tensor, {}, false, 0};
  for (size_t d = 0; d < strides.size(); ++d) {
    dense.shape[d] = (dense.shape[d] + strides[d] - 1) / strides[d];
    copy.axes.push_back({"d" + std::to_string(d), dense.shape[d]});
    r.index.push_back(dense.shape[d] > 1 ? ir::variable(static_cast<int>(d), strides[d])
                                         : ir::Index{});
  }
  copy.reads = {std::move(r)};
  to.tensors.push_back(std::move(dense));
  to.nodes.push_back(std::move(copy));
  return it->second;
}

// Adds node `n` to `to`, reading packed copies; false: none of its reads is strided.
bool add_packed(ir::Graph& to, ir::Node n, Copies& known) {
  bool any = false;
  for (ir::Read& r : n.reads) {
    const std::vector<int64_t> strides = strides_of(to, n, r);
    if (strides.empty()) continue;
    any = true;
    for (size_t d = 0; d < strides.size(); ++d)
      for (int a = 0; strides[d] > 1 && a < static_cast<int>(n.axes.size()); ++a)
        if (ir::depends_on(without_unit_axes(n, r.index[d]), a)) {
          r.index[d] = ir::variable(a);
          break;
        }
    r.tensor = packed_copy(to, r.tensor, strides, known);
  }
  to.nodes.push_back(std::move(n));
  return any;
}

}  // namespace

LaidOut pack_strided_reads(LaidOut laid, int width, const Faster& faster) {
  std::vector<ir::Node> nodes = std::exchange(laid.graph.nodes, {});
  Copies known;
  for (ir::Node& n : nodes) {
    if (is_product(n) && has_short_rows(laid.graph, n, width)) {
      const LaidOut now = single_node(laid.graph, laid.layouts, n);
      LaidOut then = now;
      then.graph.nodes.clear();
      Copies none;
      const bool strided = add_packed(then.graph, now.graph.nodes[0], none);
      if (strided && faster(now, with_row_major_tensors(std::move(then)))) {
        add_packed(laid.graph, std::move(n), known);
        continue;
      }
    }
    laid.graph.nodes.push_back(std::move(n));
  }
  return with_row_major_tensors(std::move(laid));
}

}  // namespace assay::compiler
