#include "compiler/passes/pack_strided.h"

#include <map>
#include <string>
#include <utility>

#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

// Without axes of which there is one value.
ir::Index plain(const ir::Node& n, const ir::Index& i) {
  return ir::substitute(i, [&](int v) {
    return n.axes[static_cast<size_t>(v)].extent == 1 ? ir::constant(0) : ir::variable(v);
  });
}

// Per dimension of what is read: how far apart neighbours are, 1 where they lie side by side;
// empty: it is not as simple as that, or nowhere apart.
std::vector<int64_t> strides_of(const ir::Graph& g, const ir::Node& n, const ir::Read& r) {
  if (r.guarded || r.lookup || !affine(r) || g.tensors[static_cast<size_t>(r.tensor)].constant >= 0)
    return {};
  std::vector<int64_t> out;
  bool apart = false;
  for (const ir::Index& whole : r.index) {
    const ir::Index i = plain(n, whole);
    int64_t stride = 1;
    for (int a = 0; a < static_cast<int>(n.axes.size()); ++a) {
      if (!ir::depends_on(i, a)) continue;
      const int64_t step = ir::stride_of(i, a).value_or(0);
      if (step == 1) continue;
      if (step < 1 || ir::is_reduce(g, n, a) || i != ir::variable(a, step)) return {};
      stride = step;
    }
    apart = apart || stride > 1;
    out.push_back(stride);
  }
  return apart ? out : std::vector<int64_t>{};
}

// Lanes along the last axis would end before they are as many as a wave has.
bool has_short_rows(const ir::Graph& g, const ir::Node& n, int width) {
  const int spatial = ir::spatial_count(g, n);
  return spatial > 0 && n.axes[static_cast<size_t>(spatial) - 1].extent < width;
}

using Copies = std::map<std::pair<int, std::vector<int64_t>>,
                        int>;  // of a tensor with strides: the one without gaps

// The tensor without gaps; its node joins `to` if it is new.
int dense_copy(ir::Graph& to, int tensor, const std::vector<int64_t>& strides, Copies& known) {
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

// Node `n` behind copies of what it reads with gaps; false: it reads nothing so.
bool put_compacted(ir::Graph& to, ir::Node n, Copies& known) {
  bool any = false;
  for (ir::Read& r : n.reads) {
    const std::vector<int64_t> strides = strides_of(to, n, r);
    if (strides.empty()) continue;
    any = true;
    for (size_t d = 0; d < strides.size(); ++d)
      for (int a = 0; strides[d] > 1 && a < static_cast<int>(n.axes.size()); ++a)
        if (ir::depends_on(plain(n, r.index[d]), a)) {
          r.index[d] = ir::variable(a);
          break;
        }
    r.tensor = dense_copy(to, r.tensor, strides, known);
  }
  to.nodes.push_back(std::move(n));
  return any;
}

}  // namespace

LaidOut compact_strided(LaidOut laid, int width, const Faster& faster) {
  std::vector<ir::Node> nodes = std::exchange(laid.graph.nodes, {});
  Copies known;
  for (ir::Node& n : nodes) {
    if (is_product(n) && has_short_rows(laid.graph, n, width)) {
      const LaidOut now = alone(laid, n);
      LaidOut then = now;
      then.graph.nodes.clear();
      Copies none;
      const bool apart = put_compacted(then.graph, n, none);
      if (apart && faster(now, with_new_tensors_laid_out(std::move(then)))) {
        put_compacted(laid.graph, std::move(n), known);
        continue;
      }
    }
    laid.graph.nodes.push_back(std::move(n));
  }
  return with_new_tensors_laid_out(std::move(laid));
}

}  // namespace assay::compiler
