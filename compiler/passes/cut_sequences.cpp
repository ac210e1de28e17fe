#include "compiler/passes/cut_sequences.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/passes/rewrite.h"
#include "compiler/passes/views.h"

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

class Cutter {
 public:
  Cutter(LaidOut laid, int pieces) : laid_(std::move(laid)), pieces_(pieces) {
    for (int i = 0; i < static_cast<int>(laid_.graph.nodes.size()); ++i) {
      const ir::Node& n = laid_.graph.nodes[at(i)];
      maker_.emplace(n.output, i);
      for (const ir::Read& r : n.reads) readers_[r.tensor].insert(i);
    }
  }

  using Bounds = std::vector<int64_t>;  // where pieces begin, and the end of the last

  // Tensors of sequences.
  std::vector<std::pair<int, Bounds>> find() const {
    std::vector<std::pair<int, Bounds>> out;
    for (const auto& [tensor, readers] : readers_)
      if (Bounds b = bounds_of(tensor, readers); b.size() > 2 && depends_on_steps(tensor))
        out.emplace_back(tensor, std::move(b));
    return out;
  }

  CutSequences run() {
    const std::vector<std::pair<int, Bounds>> found = find();
    if (pieces_ < 2) return {std::move(laid_), !found.empty()};
    for (const auto& [tensor, bounds] : found) cut(tensor, bounds);
    if (!found.empty()) rebuild();
    return {std::move(laid_), !found.empty()};
  }

 private:
  // Between the slices that the readers of a tensor read; empty: some reader needs more.
  Bounds bounds_of(int tensor, const std::set<int>& readers) const {
    const ir::Tensor& t = laid_.graph.tensors[at(tensor)];
    if (t.shape.empty() || t.shape[0] < 2 || !maker_.contains(tensor) ||
        is_output(laid_.graph, tensor))
      return {};
    std::set<std::pair<int64_t, int64_t>> slices;
    for (const int r : readers) {
      const std::optional<Slice> s = slice_read(laid_, laid_.graph.nodes[at(r)], tensor);
      if (!s || s->dim != 0) return {};
      slices.emplace(s->begin, s->begin + s->extent);
    }
    Bounds out;
    const auto count = static_cast<int64_t>(slices.size()),
               pieces = std::clamp<int64_t>(pieces_, std::min<int64_t>(2, count), count);
    int64_t i = 0, end = 0, next = 0;
    for (const auto& [first, last] : slices) {
      if (first != end) return {};
      end = last;
      if (i++ == next * count / pieces) {
        out.push_back(first);
        ++next;
      }
    }
    if (end != t.shape[0]) return {};
    out.push_back(end);
    return out;
  }

  // A chain of elementwise nodes, each its operand's only reader, behind a product of what is
  // joined of several tensors.
  bool depends_on_steps(int tensor) const {
    for (int node = maker_.at(tensor);;) {
      const ir::Node& n = laid_.graph.nodes[at(node)];
      if (!can_cut(n)) return false;
      if (n.combine != ir::Combiner::none)
        return std::ranges::any_of(n.reads, [&](const ir::Read& r) { return is_joined(r.tensor); });
      node = -1;
      for (const ir::Read& r : n.reads)
        if (const auto made = maker_.find(r.tensor); made != maker_.end()) {
          if (node >= 0 || readers_.at(r.tensor).size() > 1) return false;
          node = made->second;
        }
      if (node < 0) return false;
    }
  }

  bool is_joined(int tensor) const {
    for (auto made = maker_.find(tensor); made != maker_.end(); made = maker_.find(tensor)) {
      const ir::Node& n = laid_.graph.nodes[at(made->second)];
      if (!is_reshape(laid_.graph, n)) return joins(laid_, n);
      tensor = n.reads[0].tensor;
    }
    return false;
  }

  // Along its first axis, which is its output's first dimension.
  bool can_cut(const ir::Node& n) const {
    const ir::Layout& layout = laid_.layouts[at(n.output)];
    return ir::is_expression(n) && !uses_axis(n.body, 0) &&
           layout == ir::row_major(static_cast<int>(layout.dims.size())) &&
           std::ranges::none_of(n.reads, [](const ir::Read& r) { return r.lookup.has_value(); });
  }

  // And what it is made of, up to the product.
  void cut(int tensor, const Bounds& bounds) {
    const int node = maker_.at(tensor);
    const ir::Node n = laid_.graph.nodes[at(node)];
    std::vector<int> parts;
    for (size_t p = 0; p + 1 < bounds.size(); ++p) {
      ir::Node& made = pieces_of_[node].emplace_back(n);
      made.axes[0].extent = bounds[p + 1] - bounds[p];
      made.name += "." + std::to_string(bounds[p]);
      for (ir::Read& r : made.reads)
        for (ir::Index& i : r.index)
          i = ir::simplify(
              ir::substitute(
                  i, [&](int axis) { return ir::variable(axis) + (axis == 0 ? bounds[p] : 0); }),
              ir::ranges_of(made));
      ir::Tensor part = laid_.graph.tensors[at(tensor)];
      part.name += "." + std::to_string(bounds[p]);
      part.shape[0] = made.axes[0].extent;
      made.output = static_cast<int>(laid_.graph.tensors.size());
      parts.push_back(made.output);
      laid_.graph.tensors.push_back(std::move(part));
      laid_.layouts.push_back(laid_.layouts[at(tensor)]);
    }
    for (const int reader : readers_.at(tensor)) {
      const auto known = pieces_of_.find(reader);
      if (known == pieces_of_.end()) {
        read_part(laid_.graph.nodes[at(reader)], tensor, parts, bounds);
      } else {
        for (ir::Node& piece : known->second) read_part(piece, tensor, parts, bounds);
      }
    }
    if (n.combine != ir::Combiner::none) return;
    for (const ir::Read& r : n.reads)
      if (maker_.contains(r.tensor)) cut(r.tensor, bounds);
  }

  void read_part(ir::Node& n, int tensor, const std::vector<int>& parts, const Bounds& bounds) {
    const std::vector<ir::Range> ranges = ir::ranges_of(n);
    for (ir::Read& r : n.reads) {
      if (r.tensor != tensor) continue;
      const int64_t first = ir::range_of(r.index[0], ranges).low;
      const auto after = std::ranges::upper_bound(bounds, first);
      const auto p = static_cast<size_t>(after - bounds.begin()) - 1;
      r.tensor = parts[p];
      r.index[0] = r.index[0] + -bounds[p];
    }
  }

  void rebuild() {
    std::vector<ir::Node> nodes;
    for (int i = 0; i < static_cast<int>(laid_.graph.nodes.size()); ++i) {
      const auto pieces = pieces_of_.find(i);
      if (pieces == pieces_of_.end())
        nodes.push_back(std::move(laid_.graph.nodes[at(i)]));
      else
        std::ranges::move(pieces->second, std::back_inserter(nodes));
    }
    laid_.graph.nodes = std::move(nodes);
  }

  LaidOut laid_;
  const int pieces_;
  std::map<int, int> maker_;                        // of a tensor: the node
  std::map<int, std::set<int>> readers_;            // nodes
  std::map<int, std::vector<ir::Node>> pieces_of_;  // of a node that is cut
};

}  // namespace

CutSequences cut_sequences(LaidOut laid, int pieces) {
  return Cutter(std::move(laid), pieces).run();
}

}  // namespace assay::compiler
