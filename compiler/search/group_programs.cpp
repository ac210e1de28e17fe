#include "compiler/search/group_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ir/producers.h"
#include "lower/legal.h"

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

// Does it pass in a register of the tile-graph?
bool is_inner(const ChainGraph& chain, int tensor) {
  return ir::producer_of(chain.graph, tensor) >= 0 && tensor != chain.graph.outputs[0];
}

}  // namespace

GroupPrograms::GroupPrograms(const TileGraphs& graphs, const Programs& programs,
                             const hwdesc::Target& target, const model::Machine& machine)
    : graphs_(graphs),
      parts_(graphs.parts),
      programs_(programs),
      target_(target),
      machine_(machine) {
  for (const TileGraph& part : parts_) problems_.push_back(problem_of(graphs.laid, part.chain));
}

int GroupPrograms::output_of(int part) const {
  const ChainGraph& c = parts_[at(part)].chain;
  return c.tensors[at(c.graph.outputs[0])];
}

// Those of the last part, then of the others what they read and keep on the chip.
std::vector<int> GroupPrograms::tensors_of(const std::vector<int>& all) const {
  std::vector<int> out = parts_[at(all.back())].chain.tensors;
  for (size_t k = 0; k + 1 < all.size(); ++k) {
    const ChainGraph& c = parts_[at(all[k])].chain;
    for (int t = 0; t < static_cast<int>(c.tensors.size()); ++t) {
      if (!is_inner(c, t) && std::find(out.begin(), out.end(), c.tensors[at(t)]) == out.end())
        out.push_back(c.tensors[at(t)]);
    }
  }
  return out;
}

std::vector<std::vector<GroupPrograms::Tile>> GroupPrograms::families(int last) const {
  const ir::Node& anchor = problem(last).graph.nodes[0];
  std::vector<int64_t> registers = programs_.chosen[at(last)].tiles.back().extent;
  registers.resize(anchor.axes.size(), 1);  // of neighbouring axes that are one there
  std::vector<int64_t> whole;
  for (const ir::Axis& a : anchor.axes) whole.push_back(a.extent);
  std::vector<int> long_axes;
  for (int a = 0; a < ir::spatial_count(problem(last).graph, anchor); ++a)
    if (whole[at(a)] > 1) long_axes.push_back(a);
  std::vector<std::vector<Tile>> out;
  for (int one = -1; one < static_cast<int>(long_axes.size()); ++one)
    for (const int a : long_axes) {
      if (one >= 0 && long_axes[at(one)] >= a) continue;  // a batch is outside
      for (const int64_t unit : std::set{registers[at(a)], widest_vector()}) {
        std::vector<int64_t> tile = whole;
        if (one >= 0) tile[at(long_axes[at(one)])] = 1;
        std::vector<Tile>& family = out.emplace_back();
        for (int64_t t = whole[at(a)]; t >= 1; t /= 2) {
          tile[at(a)] = rounded(t, whole[at(a)], unit);
          if (family.empty() || family.back() != tile) family.push_back(tile);
        }
      }
    }
  if (out.empty()) out.push_back({whole});
  return out;
}

int64_t GroupPrograms::widest_vector() const {
  return machine_.widths.empty() ? machine_.native_width : machine_.widths.back();
}

// To a multiple of `unit`, as long as the tile is longer: inner tiles divide the tiles of a group.
int64_t GroupPrograms::rounded(int64_t t, int64_t extent, int64_t unit) {
  if (t >= extent) return extent;
  return t < unit ? t : std::min(extent, (t + unit - 1) / unit * unit);
}

// The tiles of all members that follow from those of the last one's group.
struct GroupPrograms::Propagated {
  std::vector<std::vector<int64_t>> tiles;  // [member][axis of its anchor]
  std::map<int, ir::NeededTile> passed;     // tensor of the graph -> its tile in a group
  std::string why;                          // not
};

GroupPrograms::Propagated GroupPrograms::propagate(const std::vector<int>& all,
                                                   const Tile& group) const {
  Propagated out;
  out.tiles.resize(all.size());
  const Problem& last = problem(all.back());
  for (size_t k = all.size(); k-- > 0;) {
    const ChainGraph& chain = parts_[at(all[k])].chain;
    const Problem& own = problem(all[k]);
    const ir::Node& anchor = own.graph.nodes[0];
    ir::Program member;
    member.name = parts_[at(all[k])].name;
    member.graph = own.graph;
    std::vector<int> axes(anchor.axes.size(), -1);
    std::vector<int64_t> tile;
    for (const ir::Axis& a : anchor.axes) tile.push_back(a.extent);
    if (k + 1 == all.size()) {
      tile = group;
      for (int a = 0; a < ir::spatial_count(last.graph, anchor); ++a)
        if (tile[at(a)] < anchor.axes[at(a)].extent) axes[at(a)] = a;
    } else {
      const auto needed = out.passed.find(output_of(all[k]));
      if (needed == out.passed.end()) return {{}, {}, member.name + " is read by no later part"};
      for (size_t d = 0; d < needed->second.size(); ++d) {
        if (needed->second[d].axis < 0) continue;
        axes[d] = needed->second[d].axis;
        tile[d] = std::min(needed->second[d].extent, tile[d]);
      }
    }
    out.tiles[k] = tile;
    member.tiles.push_back({"", tile, {}});
    for (size_t j = 0; j < all.size(); ++j) {
      if (j == k) continue;
      const int made = output_of(all[j]);
      const auto local = std::find(chain.tensors.begin(), chain.tensors.end(), made);
      if (local == chain.tensors.end() || all[j] == all.back()) continue;
      const Result<ir::NeededTile> tiles =
          ir::needed_tile(member, axes, static_cast<int>(local - chain.tensors.begin()));
      if (!tiles) return {{}, {}, tiles.diags()[0].message};
      if (tiles->empty()) continue;
      const auto [known, fresh] = out.passed.emplace(made, *tiles);
      if (!fresh && known->second != *tiles)
        return {{}, {}, "two readers need different tiles of " + parts_[at(all[j])].name};
    }
  }
  return out;
}

// Bytes that the largest memory of a unit's own surely holds.
double GroupPrograms::near_bytes() const {
  double out = 0;
  for (const model::Level& l : machine_.levels)
    if (machine_.simt ? l.is_scratchpad : !l.shared && !l.last)
      out = std::max(out, l.capacity.value);
  return out;
}

std::string GroupPrograms::level_for(double bytes) const {
  for (const model::Level& l : machine_.levels)
    if ((!machine_.simt || l.is_scratchpad) && bytes <= l.capacity.value) return l.name;
  return machine_.levels.back().name;
}

const ir::Program* GroupPrograms::construct_member(const Problem& problem) {
  const auto [found, fresh] = members_.try_emplace(key_of(problem));
  if (fresh)
    if (Result<Constructed> made = construct(problem, target_, machine_, {}, {}, 1))
      found->second = std::move(made->best.front().program);
  return found->second ? &*found->second : nullptr;
}

GroupPrograms::Made GroupPrograms::make(const std::vector<int>& all, const Tile& group) {
  const Propagated tiles = propagate(all, group);
  if (!tiles.why.empty()) return {{}, tiles.why, false};
  std::map<int, ir::Layout> layouts;
  double bytes = 0;
  for (const auto& [t, tile] : tiles.passed) {
    const ir::Tensor& tensor = graphs_.laid.graph.tensors[at(t)];
    const ir::Layout& whole = graphs_.laid.layouts[at(t)];
    if (ir::is_padded(whole)) return {{}, tensor.name + " is stored with padding", true};
    layouts[t] = ir::tile_layout(whole, tile, tensor.shape);
    bytes += static_cast<double>(ir::physical_elements(layouts[t], tensor.shape) *
                                 ir::bytes_of(tensor.dtype));
  }
  if (bytes > near_bytes())
    return {{},
            fmt::format("tiles of {:.4g} KiB exceed the {:.4g} KiB of a unit's own memory",
                        bytes / 1024, near_bytes() / 1024),
            true};
  const std::vector<int> tensors = tensors_of(all);
  std::vector<ir::Program> members;
  for (size_t k = 0; k < all.size(); ++k) {
    Problem own = problem(all[k]);
    own.group = tiles.tiles[k];
    const std::vector<int>& ids = parts_[at(all[k])].chain.tensors;
    for (size_t t = 0; t < ids.size(); ++t)
      if (const auto passed = layouts.find(ids[t]); passed != layouts.end())
        own.layouts[t] = passed->second;
    const ir::Program* made = construct_member(own);
    if (made == nullptr) return {{}, "no program computes " + parts_[at(all[k])].name, true};
    members.push_back(*made);
  }
  ir::Program whole = members.back();
  const std::string level = level_for(bytes);
  for (size_t t = whole.graph.tensors.size(); t < tensors.size(); ++t) {
    const int id = tensors[t];
    ir::Tensor tensor = graphs_.laid.graph.tensors[at(id)];
    tensor.name = "t" + std::to_string(t);
    tensor.constant = -1;
    whole.graph.tensors.push_back(std::move(tensor));
    whole.graph.inputs.push_back(static_cast<int>(t));
    const auto passed = layouts.find(id);
    whole.layouts.push_back(passed != layouts.end() ? passed->second
                                                    : graphs_.laid.layouts[at(id)]);
  }
  for (size_t k = 0; k + 1 < all.size(); ++k) {
    const ChainGraph& chain = parts_[at(all[k])].chain;
    ir::Producer r;
    r.level = level;
    r.program = members[k];
    for (int t = 0; t < static_cast<int>(chain.tensors.size()); ++t) {
      const bool inner = is_inner(chain, t);
      const auto found = std::find(tensors.begin(), tensors.end(), chain.tensors[at(t)]);
      r.tensors.push_back(inner ? -1 : static_cast<int>(found - tensors.begin()));
      if (inner) continue;
      // Constants lie as the program wants them; two that want them otherwise do not agree.
      const auto w = static_cast<size_t>(r.tensors.back());
      if (problem(all[k]).packable[at(t)]) whole.layouts[w] = r.program.layouts[at(t)];
    }
    whole.producers.push_back(std::move(r));
  }
  if (const Diags faults = lower::legal(whole, target_); !faults.empty())
    return {{}, faults[0].message, true};
  return {std::move(whole), "", true};
}

}  // namespace assay::compiler
