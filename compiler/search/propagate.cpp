#include "compiler/search/propagate.h"

#include <algorithm>
#include <utility>

#include "ir/producers.h"
#include "ir/windows.h"

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

class Propagation {  // invariant: refers to the graphs of one compilation, which outlive it
 public:
  Propagation(const TileGraphs& graphs, const std::vector<Problem>& problems,
              const std::vector<int>& all, const std::vector<int64_t>& group,
              const std::set<int>& stored)
      : graphs_(graphs), all_(all), stored_(stored), axes_(all.size()) {
    for (const int i : all) {
      out_.problems.push_back(problems[at(i)]);
      out_.tensors.push_back(graphs.parts[at(i)].chain.tensors);
    }
    for (size_t k = 0; k + 1 < all.size(); ++k) made_.insert(output_of(k));
    const ir::Node& last = out_.problems.back().graph.nodes[0];
    for (size_t a = 0; a < group.size(); ++a)
      groups_.push_back((last.axes[a].extent + group[a] - 1) / group[a]);
    out_.problems.back().group = group;
    for (size_t a = 0; a < last.axes.size(); ++a)
      axes_.back().push_back(static_cast<int>(a) <
                                         ir::spatial_count(out_.problems.back().graph, last) &&
                                     groups_[a] > 1
                                 ? static_cast<int>(a)
                                 : -1);
  }

  Propagated run() {
    for (size_t k = all_.size(); k-- > 0 && out_.why.empty();) {
      if (k + 1 < all_.size()) make(k);
      if (out_.why.empty()) need(k);
    }
    for (size_t k = 0; k < all_.size() && out_.why.empty(); ++k) read(k);
    for (const auto& [tensor, windows] : windows_) keep(tensor, windows);
    for (size_t k = 0; k < all_.size() && out_.why.empty(); ++k) {
      out_.repeats.push_back(repeats(k));
      out_.times.push_back(times(k));
      if (k + 1 < all_.size() && stored_.contains(output_of(k))) store(k);
    }
    for (size_t k = 0; k < all_.size() && out_.why.empty(); ++k)
      for (size_t t = 0; t < out_.tensors[k].size(); ++t)
        if (const auto kept = out_.kept.find(out_.tensors[k][t]); kept != out_.kept.end())
          out_.problems[k].layouts[t] = kept->second.layout;
    return std::move(out_);
  }

 private:
  int output_of(size_t k) const {
    const ChainGraph& c = graphs_.parts[at(all_[k])].chain;
    return c.tensors[at(c.graph.outputs[0])];
  }
  const std::string& name(size_t k) const { return graphs_.parts[at(all_[k])].name; }
  const std::vector<int64_t>& shape_of(int tensor) const {
    return graphs_.laid.graph.tensors[at(tensor)].shape;
  }

  ir::Program member(size_t k) const {
    ir::Program p;
    p.name = name(k);
    p.graph = out_.problems[k].graph;
    p.tiles.push_back({"", out_.problems[k].group, {}});
    return p;
  }

  // The part makes what later ones need.
  void make(size_t k) {
    const auto needed = windows_.find(output_of(k));
    if (needed == windows_.end()) {
      out_.why = name(k) + " is read by no later part";
      return;
    }
    const ir::Windows& w = needed->second;
    const std::vector<int64_t>& shape = shape_of(needed->first);
    Problem& own = out_.problems[k];
    if (!ir::are_tiles(w, shape)) {
      Result<ir::Graph> made = ir::making_windows(std::move(own.graph), w);
      if (!made) {
        out_.why = made.diags()[0].message;
        return;
      }
      own.graph = std::move(*made);
      own.layouts.resize(own.graph.tensors.size());
      own.packable.resize(own.graph.tensors.size(), false);
      out_.tensors[k].resize(own.graph.tensors.size(), -1);
      for (int t = 0; t < static_cast<int>(own.layouts.size()); ++t)  // in registers
        if (ir::producer_of(own.graph, t) >= 0 && t != own.graph.outputs[0])
          own.layouts[at(t)] =
              ir::row_major(static_cast<int>(own.graph.tensors[at(t)].shape.size()));
    }
    const ir::Node& anchor = own.graph.nodes[0];
    axes_[k].assign(anchor.axes.size(), -1);
    own.group.clear();
    for (const ir::Axis& a : anchor.axes) own.group.push_back(a.extent);
    const ir::WindowDims dims = ir::dims_of(w, shape);
    for (size_t d = 0; d < w.dims.size(); ++d) {
      if (w.dims[d].axis < 0) continue;
      const auto a = at(dims.groups[d] >= 0 ? dims.groups[d] : dims.positions[d]);
      axes_[k][a] = w.dims[d].axis;
      own.group[a] = dims.groups[d] >= 0 ? 1 : std::min(w.dims[d].extent, own.group[a]);
    }
  }

  // What the part reads of what earlier ones make.
  void need(size_t k) {
    const ir::Program p = member(k);
    for (size_t t = 0; t < out_.tensors[k].size() && out_.why.empty(); ++t) {
      const int tensor = out_.tensors[k][t];
      if (!made_.contains(tensor) || tensor == output_of(k)) continue;
      const ir::Layout& layout = graphs_.laid.layouts[at(tensor)];
      Result<ir::Windows> w = ir::needed_windows(p, axes_[k], static_cast<int>(t), layout);
      if (w && !w->dims.empty()) {
        const auto [known, fresh] = windows_.emplace(tensor, *w);
        if (!fresh) {
          w = ir::joined(known->second, *w, p.graph.tensors[t].name);
          if (w) known->second = *w;
        }
      }
      if (!w) out_.why = w.diags()[0].message;
    }
  }

  // Groups with whose tiles the part's own do not move: each computes them again.
  double repeats(size_t k) const {
    double out = 1;
    for (int a = 0; a < static_cast<int>(groups_.size()); ++a)
      if (std::find(axes_[k].begin(), axes_[k].end(), a) == axes_[k].end())
        out *= static_cast<double>(groups_[at(a)]);
    return out;
  }

  // What windows share is computed twice as well.
  double times(size_t k) const {
    const ir::Node& first = graphs_.parts[at(all_[k])].chain.graph.nodes[0];
    return repeats(k) * ir::points_of(out_.problems[k].graph.nodes[0]) / ir::points_of(first);
  }

  void read(size_t k) {
    for (size_t t = 0; t < out_.tensors[k].size(); ++t) {
      const int tensor = out_.tensors[k][t];
      const auto w = windows_.find(tensor);
      if (w == windows_.end() || tensor == output_of(k) ||
          ir::are_tiles(w->second, shape_of(tensor)))
        continue;
      ir::read_windows(out_.problems[k].graph, static_cast<int>(t), w->second, axes_[k],
                       out_.problems[k].group);
    }
  }

  void keep(int tensor, const ir::Windows& w) {
    const std::vector<int64_t>& shape = shape_of(tensor);
    const ir::WindowDims dims = ir::dims_of(w, shape);
    ir::NeededTile tile(dims.shape.size());
    for (size_t d = 0; d < w.dims.size(); ++d) {
      const auto p = at(dims.positions[d]);
      tile[p] = {-1, dims.shape[p]};
      if (dims.groups[d] >= 0)
        tile[at(dims.groups[d])] = {w.dims[d].axis, 1};
      else if (w.dims[d].axis >= 0)
        tile[p] = {w.dims[d].axis, w.dims[d].extent};
    }
    Kept& kept = out_.kept[tensor];
    kept.shape = dims.shape;
    kept.layout = ir::tile_layout(ir::window_layout(graphs_.laid.layouts[at(tensor)], w, shape),
                                  tile, dims.shape);
    kept.bytes = ir::physical_elements(kept.layout, kept.shape) *
                 ir::bytes_of(graphs_.laid.graph.tensors[at(tensor)].dtype);
  }

  // A tensor that lies in memory as a whole, each tile of it from one group.
  void store(size_t k) {
    const int tensor = output_of(k);
    if (out_.repeats[k] > 1 || !ir::are_tiles(windows_.at(tensor), shape_of(tensor))) {
      out_.why = "several groups would store the same of " +
                 graphs_.laid.graph.tensors[at(tensor)].name + ", which others read";
      return;
    }
    const auto kept = out_.kept.extract(tensor);
    out_.stored[tensor] = kept.mapped().bytes;
  }

  const TileGraphs& graphs_;
  const std::vector<int>& all_;
  const std::set<int>& stored_;
  std::vector<int64_t> groups_;         // per axis of the last part's anchor
  std::vector<std::vector<int>> axes_;  // per part and axis of its anchor, as ir::group_axes
  std::set<int> made_;                  // tensors of the graph
  std::map<int, ir::Windows> windows_;  // by tensor of the graph
  Propagated out_;
};

}  // namespace

Propagated propagate(const TileGraphs& graphs, const std::vector<Problem>& problems,
                     const std::vector<int>& all, const std::vector<int64_t>& group,
                     const std::set<int>& stored) {
  return Propagation(graphs, problems, all, group, stored).run();
}

}  // namespace assay::compiler
