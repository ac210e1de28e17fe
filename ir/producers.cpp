#include "ir/producers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/windows.h"

namespace assay::ir {

int passed_tensor(const Producer& producer) {
  const std::vector<int>& outputs = producer.program.graph.outputs;
  const size_t t = outputs.empty() ? producer.tensors.size() : static_cast<size_t>(outputs[0]);
  return t < producer.tensors.size() ? producer.tensors[t] : -1;
}

bool is_made(const Program& p, int tensor) {
  return std::any_of(p.producers.begin(), p.producers.end(),
                     [&](const Producer& r) { return passed_tensor(r) == tensor; });
}

bool is_stored(const Program& p, int tensor) {
  const std::vector<int>& all = p.graph.outputs;
  return std::find(all.begin(), all.end(), tensor) != all.end() && is_made(p, tensor);
}

bool is_passed(const Program& p, int tensor) { return is_made(p, tensor) && !is_stored(p, tensor); }

std::vector<Member> members_of(const Program& p) {
  std::vector<Member> out;
  for (const Producer& r : p.producers) out.push_back({r.program, r.tensors});
  Member last{p, {}};
  last.program.producers.clear();
  last.program.graph.outputs.resize(1);
  for (int t = 0; t < static_cast<int>(p.graph.tensors.size()); ++t) {
    const bool touched = producer_of(p.graph, t) >= 0 || !consumers_of(p.graph, t).empty();
    last.tensors.push_back(touched ? t : -1);
  }
  out.push_back(std::move(last));
  return out;
}

int64_t passed_bytes(const Program& p, const Producer& producer) {
  const auto t = static_cast<size_t>(passed_tensor(producer));
  return physical_elements(p.layouts[t], p.graph.tensors[t].shape) *
         bytes_of(p.graph.tensors[t].dtype);
}

namespace {

const std::string& name_of(const Graph& g, int tensor) {
  return g.tensors[static_cast<size_t>(tensor)].name;
}

}  // namespace

Result<NeededTile> needed_tile(const Program& member, std::span<const int> axes, int tensor) {
  const Result<Windows> windows = needed_windows(member, axes, tensor);
  if (!windows) return windows.diags();
  const Tensor& t = member.graph.tensors[static_cast<size_t>(tensor)];
  NeededTile out;
  for (size_t d = 0; d < windows->dims.size(); ++d) {
    const Window& w = windows->dims[d];
    if (!is_tile(w, t.shape[d]))
      return error(
          member.name + " reads " + t.name + " in tiles of " + std::to_string(w.extent) + " from " +
              std::to_string(w.low) + " on, at distances of " + std::to_string(w.shift),
          "tiles that are kept on the chip are disjoint and begin at 0; those that overlap "
          "are windows, in dimensions of their own");
    out.push_back({w.axis, w.axis < 0 ? t.shape[d] : w.extent});
  }
  return out;
}

namespace {

// Axes of a producer that makes the tile.
Result<std::vector<int>> axes_of_tile(const Program& p, const Producer& producer,
                                      const NeededTile& tile) {
  const Program& own = producer.program;
  std::vector<int> out(own.graph.nodes[0].axes.size(), -1);
  for (size_t d = 0; d < tile.size(); ++d) {
    const int64_t whole = own.graph.nodes[0].axes[d].extent,
                  wanted = std::min(tile[d].axis < 0 ? whole : tile[d].extent, whole),
                  found = own.tiles[0].extent[d];
    const std::string which =
        own.name + ", axis " + own.graph.nodes[0].axes[d].name + ": a group makes ";
    if (found != wanted)
      return error(which + std::to_string(found) + ", and what is read is " +
                   std::to_string(wanted));
    if (tile[d].axis < 0) continue;
    if (tile_count(own, 0, static_cast<int>(d)) != tile_count(p, 0, tile[d].axis))
      return error(which + std::to_string(tile_count(own, 0, static_cast<int>(d))) +
                   " tiles, and there are groups for " +
                   std::to_string(tile_count(p, 0, tile[d].axis)));
    out[d] = tile[d].axis;
  }
  return out;
}

std::vector<int> axes_of_groups(const Program& p) {
  std::vector<int> out;
  const Node& anchor = p.graph.nodes[0];
  for (int a = 0; a < static_cast<int>(anchor.axes.size()); ++a)
    out.push_back(!is_reduce(p.graph, anchor, a) && tile_count(p, 0, a) > 1 ? a : -1);
  return out;
}

}  // namespace

Result<std::vector<std::vector<int>>> group_axes(const Program& p) {
  const std::vector<Member> members = members_of(p);
  std::map<int, size_t> made_by;
  for (size_t i = 0; i < p.producers.size(); ++i) made_by[passed_tensor(p.producers[i])] = i;
  std::map<int, NeededTile> needed;
  std::vector<std::vector<int>> out(members.size());
  out.back() = axes_of_groups(p);
  for (size_t i = members.size(); i-- > 0;) {
    const Program& own = members[i].program;
    if (i < p.producers.size()) {
      const int made = passed_tensor(p.producers[i]);
      if (!needed.contains(made)) return error(own.name + " makes what no later program reads");
      Result<std::vector<int>> axes = axes_of_tile(p, p.producers[i], needed.at(made));
      if (!axes) return axes.diags();
      out[i] = std::move(*axes);
    }
    for (int t = 0; t < static_cast<int>(own.graph.tensors.size()); ++t) {
      const int whole = members[i].tensors[static_cast<size_t>(t)];
      const auto producer = made_by.find(whole);
      if (producer == made_by.end() || producer->second == i) continue;
      Result<NeededTile> tile = needed_tile(own, out[i], t);
      if (!tile) return tile.diags();
      if (tile->empty()) continue;
      if (producer->second > i)
        return error(own.name + " reads " + name_of(p.graph, whole) + " before it is made");
      const auto [known, fresh] = needed.emplace(whole, *tile);
      if (!fresh && known->second != *tile)
        return error("two programs read different tiles of " + name_of(p.graph, whole));
    }
  }
  return out;
}

Layout tile_layout(Layout layout, std::span<const NeededDim> tile, std::span<const int64_t> shape) {
  for (size_t d = 0; d < tile.size(); ++d) {
    if (tile[d].axis < 0 || tile[d].extent >= shape[d]) continue;
    PhysicalDim* outermost = nullptr;
    for (PhysicalDim& part : layout.dims)
      if (part.dim == static_cast<int>(d) && (outermost == nullptr || part.div > outermost->div))
        outermost = &part;
    if (outermost != nullptr && outermost->mod == 0)
      outermost->mod = (tile[d].extent + outermost->div - 1) / outermost->div;
  }
  return layout;
}

namespace {

// Positions along a dimension that have places of their own, from each multiple of them on.
int64_t period_of(const Layout& layout, size_t dim, int64_t size) {
  int64_t out = 0;
  for (const PhysicalDim& d : layout.dims)
    if (d.dim == static_cast<int>(dim))
      out = std::max(out, d.mod == 0 ? size : std::min(size, d.div * d.mod));
  return out;
}

struct Faults {
  const Program& p;
  Diags diags = {};

  void fail(std::string message) { diags.push_back(error(p.name + ": " + std::move(message))); }

  void check_tensors(const Producer& r) {
    if (r.tensors.size() != r.program.graph.tensors.size())
      return fail(r.program.name + ": each of its tensors is one of the whole");
    for (size_t t = 0; t < r.tensors.size(); ++t) {
      const Tensor& own = r.program.graph.tensors[t];
      if (r.tensors[t] < 0 && producer_of(r.program.graph, static_cast<int>(t)) >= 0 &&
          static_cast<int>(t) != r.program.graph.outputs[0])
        continue;  // passes in a register
      if (r.tensors[t] < 0 || r.tensors[t] >= static_cast<int>(p.graph.tensors.size())) {
        fail(r.program.name + ": tensor " + own.name + " is none of the whole");
        continue;
      }
      const auto of = static_cast<size_t>(r.tensors[t]);
      const Tensor& whole = p.graph.tensors[of];
      if (own.shape != whole.shape || own.dtype != whole.dtype ||
          r.program.layouts[t] != p.layouts[of])
        fail(r.program.name + ": tensor " + own.name + " has another type, shape or layout than " +
             whole.name + " of the whole");
    }
  }

  void check_place(size_t i) {
    const int made = passed_tensor(p.producers[i]);
    const auto t = static_cast<size_t>(made);
    const std::string& name = p.graph.tensors[t].name;
    if (producer_of(p.graph, made) >= 0) fail("two programs make " + name);
    for (size_t j = 0; j < i; ++j)
      if (passed_tensor(p.producers[j]) == made) fail("two programs make " + name);
    const bool stored = is_stored(p, made);
    if (!stored && is_padded(p.layouts[t]))
      fail(name + " is kept on the chip, and its layout has padding");
    const Program& own = p.producers[i].program;
    for (size_t d = 0; d < p.graph.tensors[t].shape.size(); ++d) {
      const int64_t size = p.graph.tensors[t].shape[d], tile = own.tiles[0].extent[d],
                    period = period_of(p.layouts[t], d, size);
      if (stored && period < size)
        fail(name + ": it is an output, and its layout holds " + std::to_string(period) + " of " +
             std::to_string(size) + " along dimension " + std::to_string(d));
      else if (period < size && (tile == size || period % tile != 0))
        fail(name + ": its layout holds " + std::to_string(period) + " along dimension " +
             std::to_string(d) + ", where a group makes tiles of " + std::to_string(tile));
    }
  }

  void check_outputs() {
    for (size_t i = 1; i < p.graph.outputs.size(); ++i) {
      const auto at = p.graph.outputs.begin() + static_cast<ptrdiff_t>(i);
      const std::string& name = p.graph.tensors[static_cast<size_t>(*at)].name;
      if (std::find(p.graph.outputs.begin(), at, *at) != at) fail(name + " is an output twice");
      if (!is_made(p, *at))
        fail("output " + name + " is not what the last node or a producer computes");
    }
  }

  // Each group stores a tile of its own.
  void check_stored(size_t i, const std::vector<int>& axes) {
    const int made = passed_tensor(p.producers[i]);
    if (!is_stored(p, made)) return;
    for (const int a : axes_of_groups(p))
      if (a >= 0 && std::find(axes.begin(), axes.end(), a) == axes.end())
        fail(p.graph.tensors[static_cast<size_t>(made)].name +
             " is an output, and the groups along axis " +
             p.graph.nodes[0].axes[static_cast<size_t>(a)].name + " would store the same of it");
  }
};

}  // namespace

Diags producer_faults(const Program& p) {
  Faults f{p};
  for (const Producer& r : p.producers) {
    if (!r.program.producers.empty()) f.fail(r.program.name + ": a producer has none of its own");
    if (!shares_groups(r.program.graph.nodes[0]) || !shares_groups(p.graph.nodes[0]))
      f.fail("a scan, a scatter or a sort is a program of its own");
    f.check_tensors(r);
  }
  if (!f.diags.empty()) return f.diags;
  f.check_outputs();
  for (size_t i = 0; i < p.producers.size(); ++i) f.check_place(i);
  if (!f.diags.empty()) return f.diags;
  const auto axes = group_axes(p);
  if (!axes)
    for (const Diag& d : axes.diags()) f.diags.push_back(d);
  else
    for (size_t i = 0; i < p.producers.size(); ++i) f.check_stored(i, (*axes)[i]);
  return f.diags;
}

Graph whole_graph(const Program& p) {
  Graph out = p.graph;
  std::vector<Node> nodes;
  for (size_t i = 0; i < p.producers.size(); ++i) {
    const Producer& r = p.producers[i];
    const std::string prefix = "p" + std::to_string(i) + ".";
    std::vector<int> ids = r.tensors;
    for (size_t t = 0; t < ids.size(); ++t) {
      if (ids[t] >= 0) continue;
      ids[t] = static_cast<int>(out.tensors.size());
      out.tensors.push_back(r.program.graph.tensors[t]);
      out.tensors.back().name = prefix + out.tensors.back().name;
    }
    for (Node n : r.program.graph.nodes) {
      for (Read& read : n.reads) read.tensor = ids[static_cast<size_t>(read.tensor)];
      n.output = ids[static_cast<size_t>(n.output)];
      n.name = prefix + n.name;
      nodes.push_back(std::move(n));
    }
  }
  out.nodes.insert(out.nodes.begin(), nodes.begin(), nodes.end());
  std::erase_if(out.inputs, [&](int t) { return is_made(p, t); });
  return out;
}

}  // namespace assay::ir
