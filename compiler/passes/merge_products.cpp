#include "compiler/passes/merge_products.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/passes/fold.h"
#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

// Of a read of nodes that do the same, where it is merged: one for all of them, or the dimension
// along which its tensors lie side by side.
struct Operand {
  bool shared = false;
  int dim = -1;
};

class Merger {
 public:
  explicit Merger(ir::Graph g) : g_(std::move(g)) {}

  ir::Graph run() {
    for (int n = 0; n < static_cast<int>(g_.nodes.size()); ++n)
      if (!gone_.contains(n) && is_product(g_.nodes[at(n)])) merge_with(n);
    if (gone_.empty()) return std::move(g_);
    std::vector<ir::Node> nodes;
    for (int n = 0; n < static_cast<int>(g_.nodes.size()); ++n) {
      if (!gone_.contains(n)) nodes.push_back(std::move(g_.nodes[at(n)]));
      for (ir::Node& made : made_[n]) nodes.push_back(std::move(made));
    }
    g_.nodes = std::move(nodes);
    return std::move(g_);
  }

 private:
  const ir::Tensor& tensor(int t) const { return g_.tensors[at(t)]; }
  const ir::Node& node(int n) const { return g_.nodes[at(n)]; }
  const ir::Tensor& output(int n) const { return tensor(node(n).output); }

  // The axis of a product that a constant alone moves with, one of its dimensions; -1: none.
  int merged_axis(const ir::Node& n) const {
    for (int a = 0; a < ir::spatial_count(g_, n); ++a) {
      int moved = 0, constants = 0;
      for (const ir::Read& r : n.reads) {
        const bool moves = std::any_of(r.index.begin(), r.index.end(),
                                       [&](const ir::Index& i) { return ir::depends_on(i, a); });
        moved += moves ? 1 : 0;
        constants += moves && tensor(r.tensor).constant >= 0 && dim_of(r, a) >= 0 ? 1 : 0;
      }
      if (moved == 1 && constants == 1) return a;
    }
    return -1;
  }

  // The dimension that is the axis, which moves no other; -1: none is.
  static int dim_of(const ir::Read& r, int axis) {
    int out = -1;
    for (size_t d = 0; d < r.index.size(); ++d) {
      if (!ir::depends_on(r.index[d], axis)) continue;
      if (out >= 0 || ir::variable_of(r.index[d]) != axis) return -1;
      out = static_cast<int>(d);
    }
    return out;
  }

  static bool same_but(const std::vector<int64_t>& a, const std::vector<int64_t>& b, int dim) {
    if (a.size() != b.size()) return false;
    for (size_t d = 0; d < a.size(); ++d)
      if (static_cast<int>(d) != dim && a[d] != b[d]) return false;
    return true;
  }

  // How the nodes' reads are merged along `axis` into a node behind `place`; nullopt: they do not
  // do the same. `before`: what they read that is merged already, side by side along that
  // dimension.
  std::optional<std::vector<Operand>> alike(int a, int b, int axis, int place, int before_a,
                                            int before_b) const {
    const ir::Node &x = node(a), &y = node(b);
    if (x.op != y.op || x.body != y.body || x.combine != y.combine || !ir::is_expression(x) ||
        !ir::is_expression(y) || x.axes.size() != y.axes.size() ||
        x.reads.size() != y.reads.size() || output(a).dtype != output(b).dtype)
      return std::nullopt;
    for (size_t i = 0; i < x.axes.size(); ++i)
      if (static_cast<int>(i) != axis && x.axes[i].extent != y.axes[i].extent) return std::nullopt;
    std::vector<Operand> out;
    for (size_t i = 0; i < x.reads.size(); ++i) {
      const ir::Read &r = x.reads[i], &s = y.reads[i];
      if (r.index != s.index || r.guarded != s.guarded || r.fill != s.fill || r.lookup || s.lookup)
        return std::nullopt;
      const bool moves = std::any_of(r.index.begin(), r.index.end(),
                                     [&](const ir::Index& j) { return ir::depends_on(j, axis); });
      if (!moves && r.tensor == s.tensor) {
        if (ir::producer_of(g_, r.tensor) >= place) return std::nullopt;
        out.push_back({true, -1});
        continue;
      }
      const int dim = dim_of(r, axis);
      const ir::Tensor &t = tensor(r.tensor), &u = tensor(s.tensor);
      const bool chained = r.tensor == before_a && s.tensor == before_b && dim == axis;
      if (dim < 0 || r.guarded || t.dtype != u.dtype || !same_but(t.shape, u.shape, dim) ||
          (!chained && (t.constant < 0 || u.constant < 0)) ||
          t.shape[at(dim)] != x.axes[at(axis)].extent ||
          u.shape[at(dim)] != y.axes[at(axis)].extent)
        return std::nullopt;
      out.push_back({false, dim});
    }
    return out;
  }

  // The only reader of a node's output, an elementwise one; -1: there is none.
  int follower(int n) const {
    const std::vector<int> readers = ir::consumers_of(g_, node(n).output);
    if (readers.size() != 1 || is_output(g_, node(n).output)) return -1;
    const ir::Node& next = node(readers[0]);
    const bool elementwise = ir::is_elementwise(next) && !is_map(g_, next) &&
                             tensor(next.output).shape == output(n).shape;
    return elementwise && !gone_.contains(readers[0]) ? readers[0] : -1;
  }

  void merge_with(int first) {
    const int axis = merged_axis(node(first));
    if (axis < 0) return;
    std::vector<int> all{first};
    for (const ir::Read& r : node(first).reads) {
      if (tensor(r.tensor).constant >= 0) continue;
      for (const int n : ir::consumers_of(g_, r.tensor))
        if (n > first && !gone_.contains(n) && is_product(node(n)) &&
            merged_axis(node(n)) == axis && alike(first, n, axis, first, -1, -1))
          all.push_back(n);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() < 2) return;
    std::vector<std::vector<int>> levels{all};
    for (;;) {
      std::vector<int> next;
      for (const int n : levels.back()) next.push_back(follower(n));
      bool same = std::set<int>(next.begin(), next.end()).size() == next.size();
      for (size_t i = 0; i < next.size() && same; ++i)
        same = next[i] >= 0 && alike(next[0], next[i], axis, first, node(levels.back()[0]).output,
                                     node(levels.back()[i]).output);
      if (!same) break;
      levels.push_back(std::move(next));
    }
    const int place = all.front();
    int before = -1;
    for (size_t l = 0; l < levels.size(); ++l) before = add(levels, l, axis, before, place);
    add_parts(levels.back(), axis, before, place);
    for (const std::vector<int>& level : levels) gone_.insert(level.begin(), level.end());
  }

  // The one node of a level; returns its output.
  int add(const std::vector<std::vector<int>>& levels, size_t level, int axis, int before,
          int place) {
    const std::vector<int>& all = levels[level];
    const auto previous = [&](size_t i) {
      return level == 0 ? -1 : node(levels[level - 1][i]).output;
    };
    const std::vector<Operand> operands =
        *alike(all[0], all[1], axis, place, previous(0), previous(1));
    ir::Node merged = node(all[0]);
    int64_t extent = 0;
    for (const int n : all) extent += node(n).axes[at(axis)].extent;
    merged.axes[at(axis)].extent = extent;
    merged.name += "_merged";
    for (size_t r = 0; r < operands.size(); ++r) {
      if (operands[r].shared) continue;
      std::vector<int> tensors;
      for (const int n : all) tensors.push_back(node(n).reads[r].tensor);
      merged.reads[r].tensor =
          level > 0 && tensors[0] == previous(0) ? before : side_by_side(tensors, operands[r].dim);
    }
    ir::Tensor out = output(all[0]);
    out.name += "_merged";
    out.shape[at(axis)] = extent;
    merged.output = static_cast<int>(g_.tensors.size());
    g_.tensors.push_back(std::move(out));
    made_[place].push_back(std::move(merged));
    return made_[place].back().output;
  }

  int side_by_side(const std::vector<int>& tensors, int dim) {
    ir::Tensor out = tensor(tensors[0]);
    out.name += "_merged";
    int64_t rows = 1, inner = ir::bytes_of(out.dtype);
    for (int d = 0; d < static_cast<int>(out.shape.size()); ++d)
      (d < dim ? rows : inner) *= d == dim ? 1 : out.shape[at(d)];
    out.shape[at(dim)] = 0;
    for (const int t : tensors) out.shape[at(dim)] += tensor(t).shape[at(dim)];
    ir::Constant values;
    for (int64_t row = 0; row < rows; ++row)
      for (const int t : tensors) {
        const std::vector<std::byte>& from = g_.constants[at(tensor(t).constant)].bytes;
        const int64_t bytes = inner * tensor(t).shape[at(dim)];
        if (from.empty()) continue;  // only its shape is looked at
        values.bytes.insert(values.bytes.end(), from.begin() + row * bytes,
                            from.begin() + (row + 1) * bytes);
      }
    out.constant = static_cast<int>(g_.constants.size());
    g_.constants.push_back(std::move(values));
    g_.tensors.push_back(std::move(out));
    return static_cast<int>(g_.tensors.size()) - 1;
  }

  // What was each node's output, as a part of the one.
  void add_parts(const std::vector<int>& all, int axis, int whole, int place) {
    int64_t from = 0;
    for (const int n : all) {
      ir::Node part;
      part.name = node(n).name;
      part.op = "split";
      part.output = node(n).output;
      ir::Read r;
      r.tensor = whole;
      for (int d = 0; d < static_cast<int>(output(n).shape.size()); ++d) {
        part.axes.push_back(node(n).axes[at(d)]);
        r.index.push_back(ir::variable(d) + (d == axis ? from : 0));
      }
      part.reads = {std::move(r)};
      part.body = ir::read(0);
      from += output(n).shape[at(axis)];
      made_[place].push_back(std::move(part));
    }
  }

  ir::Graph g_;
  std::set<int> gone_;                         // nodes that are merged
  std::map<int, std::vector<ir::Node>> made_;  // behind the place of a node
};

}  // namespace

ir::Graph merge_products(ir::Graph g, int64_t block, const Faster& faster) {
  // Which is faster does not depend on what constants hold.
  std::vector<ir::Constant> values(g.constants.size());
  std::swap(values, g.constants);
  const ir::Graph merged = Merger(g).run();
  const bool any = merged.nodes != g.nodes;
  const bool pays = any && faster(choose_layouts(fold(g), block, false),
                                  choose_layouts(fold(merged), block, false));
  std::swap(values, g.constants);
  return pays ? Merger(std::move(g)).run() : g;
}

}  // namespace assay::compiler
