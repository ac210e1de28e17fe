#include "compiler/search/group_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ir/producers.h"
#include "lower/legal.h"
#include "model/closed_form.h"
#include "support/best_fit.h"

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

// Does it pass in a register of the tile-graph?
bool is_inner(const ChainGraph& chain, int tensor) {
  return ir::producer_of(chain.graph, tensor) >= 0 && tensor != chain.graph.outputs[0];
}

}  // namespace

double near_bytes(const model::Machine& machine) {
  double out = 0;
  for (const model::Level& l : machine.levels)
    if (machine.simt ? l.is_scratchpad : !l.shared && !l.last)
      out = std::max(out, l.capacity.value);
  return out;
}

GroupPrograms::GroupPrograms(const TileGraphs& graphs, const Programs& programs,
                             const hwdesc::Target& target, const model::Machine& machine,
                             const ForEach& each)
    : graphs_(graphs),
      parts_(graphs.parts),
      programs_(programs),
      target_(target),
      machine_(machine),
      each_(each),
      near_(machine),
      near_seconds_(graphs.parts.size(), 0) {
  constexpr double kFree = 1e6;
  for (const TileGraph& part : parts_) problems_.push_back(problem_of(graphs.laid, part.chain));
  std::map<int, std::vector<std::pair<Stored, int>>> readers;  // by what owns the storage
  for (int i = 0; i < static_cast<int>(parts_.size()); ++i)
    for (const int t : parts_[at(i)].chain.tensors)
      if (const Stored& s = graphs.storage[at(t)]; t != output_of(i))
        readers[s.tensor].emplace_back(s, i);
  for (int i = 0; i < static_cast<int>(parts_.size()); ++i) {
    const Stored& made = graphs.storage[at(output_of(i))];
    std::set<int>& own = readers_.emplace_back();
    for (const auto& [read, reader] : readers[made.tensor])
      if (overlap(read, made)) own.insert(reader);
    is_output_.push_back(std::ranges::any_of(
        graphs.laid.graph.outputs, [&](int t) { return overlap(graphs.storage[at(t)], made); }));
  }
  for (size_t l = 1; l < near_.levels.size(); ++l) {
    model::Level& level = near_.levels[l];
    for (model::Quantity* q :
         {&level.read, &level.write, &level.per_unit_read, &level.per_unit_write})
      q->value *= kFree;
    level.latency.value = 0;
    level.unprefetched_miss = level.unprefetched_store = 0;
  }
}

double GroupPrograms::near_seconds(int part) {
  double& out = near_seconds_[at(part)];
  if (out > 0) return out;
  const ir::Program& p = programs_.chosen[at(part)];
  const double all =
      machine_.simt
          ? p.threads ? 0 : simulator::at_least(p, machine_, model::closed_form(p))
          : simulator::estimate(p, near_, {}, {}, nullptr, simulator::TermDetail::none).seconds;
  out = std::max(
      1e-12, all - machine_.launch.value - machine_.group_start.value - machine_.wakeup_skew.value);
  return out;
}

double GroupPrograms::least_seconds(const std::vector<int>& all, const Propagated& tiles) {
  double out = 0;
  for (size_t k = 0; k < all.size(); ++k) out += near_seconds(all[k]) * tiles.times[k];
  return out;
}

int GroupPrograms::output_of(int part) const {
  const ChainGraph& c = parts_[at(part)].chain;
  return c.tensors[at(c.graph.outputs[0])];
}

const std::set<int>& GroupPrograms::readers_of(int part) const { return readers_[at(part)]; }

std::set<int> GroupPrograms::stored_by(const std::vector<int>& all) const {
  std::set<int> out;
  const bool nowhere = machine_.simt && near_bytes(machine_) == 0;
  for (size_t k = 0; k + 1 < all.size(); ++k) {
    const std::set<int>& readers = readers_of(all[k]);
    if (nowhere || is_output_[at(all[k])] ||
        !std::includes(all.begin(), all.end(), readers.begin(), readers.end()))
      out.insert(output_of(all[k]));
  }
  return out;
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
  std::set<Tile> seen;
  for (int one = -1; one < static_cast<int>(long_axes.size()); ++one)
    for (const int a : long_axes) {
      if (one >= 0 && long_axes[at(one)] >= a) continue;  // a batch is outside
      for (const int64_t unit : std::set{registers[at(a)], widest_vector()}) {
        std::vector<int64_t> tile = whole;
        if (one >= 0) tile[at(long_axes[at(one)])] = 1;
        std::vector<Tile>& family = out.emplace_back();
        for (int64_t t = whole[at(a)]; t >= 1; t /= 2) {
          tile[at(a)] = rounded(t, whole[at(a)], unit);
          if (seen.insert(tile).second) family.push_back(tile);
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

std::string GroupPrograms::level_for(double bytes) const {
  for (const model::Level& l : machine_.levels)
    if ((!machine_.simt || l.is_scratchpad) && bytes <= l.capacity.value) return l.name;
  return machine_.levels.back().name;
}

// Where a group finds a tile that it stored. Caches of threads' units do not keep what is stored.
std::string GroupPrograms::stored_level(double bytes) const {
  if (!machine_.simt) return level_for(bytes);
  for (const model::Level& l : machine_.levels)
    if (l.shared && !l.is_scratchpad) return l.name;
  return machine_.levels.back().name;
}

const GroupPrograms::Member& GroupPrograms::construct_member(const Problem& problem) {
  const auto [found, fresh] = members_.try_emplace(key_of(problem));
  if (fresh)
    if (Result<Constructed> made = construct(problem, target_, machine_, {}, {}, 1, each_))
      found->second = {std::move(made->best.front().program),
                       made->best.front().estimate.seconds - launch_seconds()};
  return found->second;
}

// Of the estimates that construction compares: those of tiles have none.
double GroupPrograms::launch_seconds() const { return machine_.simt ? machine_.launch.value : 0; }

double GroupPrograms::groups_of(int last, const Tile& tile) const {
  double out = 1;
  const ir::Node& anchor = problem(last).graph.nodes[0];
  for (size_t a = 0; a < tile.size(); ++a)
    out *= static_cast<double>((anchor.axes[a].extent + tile[a] - 1) / tile[a]);
  return out;
}

// Of what is kept on the chip, each from the program that makes it to its last reader.
double GroupPrograms::bytes_at_once(const Propagated& tiles) const {
  std::vector<Lived> lived;
  for (size_t k = 0; k + 1 < tiles.problems.size(); ++k) {
    const int made = tiles.tensors[k][at(tiles.problems[k].graph.outputs[0])];
    const auto stored = tiles.stored.find(made);
    if (machine_.simt && stored != tiles.stored.end()) continue;
    Lived own{static_cast<int>(k), static_cast<int>(k),
              stored != tiles.stored.end() ? stored->second : tiles.kept.at(made).bytes};
    for (size_t r = k + 1; r < tiles.problems.size(); ++r) {
      const std::vector<int>& read = tiles.tensors[r];
      if (std::find(read.begin(), read.end(), made) != read.end()) own.last = static_cast<int>(r);
    }
    lived.push_back(own);
  }
  return static_cast<double>(fit_lifetimes(lived, 1).bytes);
}

// Programs of all parts that groups of so many waves run, with the seconds of their tiles.
struct GroupPrograms::Members {
  std::vector<ir::Program> programs;
  double seconds = 0;
  std::string why;  // not
};

GroupPrograms::Members GroupPrograms::members_for(const std::vector<int>& all,
                                                  const Propagated& tiles, int waves,
                                                  double limit) {
  Members out;
  out.seconds = launch_seconds();  // one of all programs
  const double turns =
      machine_.simt ? 1 : groups_of(all.back(), tiles.problems.back().group) / machine_.units;
  // As many groups as a unit has room for; what is left beside them does not change a program.
  const double room = near_bytes(machine_),
               bytes = room / std::max(1.0, std::floor(room / std::max(1.0, bytes_at_once(tiles))));
  for (size_t k = 0; k < all.size(); ++k) {
    Problem own = tiles.problems[k];
    own.waves = waves;
    if (machine_.simt) {
      for (const int t : tiles.tensors[k]) own.on_chip.on_chip.push_back(tiles.kept.contains(t));
      own.on_chip.scratch_bytes = bytes;
      own.on_chip.repeats = tiles.repeats[k];
    }
    const Member& made = construct_member(own);
    if (!made.program) {
      out.why = "no program computes " + parts_[at(all[k])].name;
      return out;
    }
    if (!std::isfinite(made.seconds)) {
      out.why = "what " + parts_[at(all[k])].name +
                " copies does not fit beside the tiles in a unit's own memory";
      return out;
    }
    out.programs.push_back(*made.program);
    out.seconds += made.seconds * turns;
    if (out.seconds >= limit) return out;
  }
  return out;
}

GroupPrograms::Made GroupPrograms::make(const std::vector<int>& all, const Tile& group,
                                        double limit) {
  const Propagated tiles = propagate(graphs_, problems_, all, group, stored_by(all));
  if (!tiles.why.empty()) return {{}, tiles.why, false};
  const double bytes = bytes_at_once(tiles);
  if (bytes > near_bytes(machine_))
    return {{},
            fmt::format("tiles of {:.4g} KiB exceed the {:.4g} KiB of a unit's own memory",
                        bytes / 1024, near_bytes(machine_) / 1024),
            true};
  if (const double least = least_seconds(all, tiles); least >= limit) return {{}, "", true, least};
  Members members;
  members.why = "no group has as many waves as all programs";
  double least = 0;
  // The most waves first. Where fewer are no faster, still fewer are not tried.
  for (const int waves : machine_.simt ? std::vector<int>{8, 4, 2, 1} : std::vector<int>{1}) {
    Members made = members_for(all, tiles, waves, least > 0 ? std::min(least, limit) : limit);
    if (!made.why.empty()) {
      if (members.programs.empty()) members.why = std::move(made.why);
      continue;
    }
    if (least > 0 && made.seconds >= least) {
      if (least < limit) break;
      continue;
    }
    least = made.seconds;
    members = std::move(made);
  }
  if (members.programs.empty()) return {{}, std::move(members.why), true};
  if (least >= limit) return {{}, "", true, least};
  ir::Program whole = whole_of(all, tiles, std::move(members.programs));
  if (const Diags faults = lower::legal(whole, target_); !faults.empty())
    return {{}, faults[0].message, true};
  return {std::move(whole), "", true, least};
}

ir::Program GroupPrograms::whole_of(const std::vector<int>& all, const Propagated& tiles,
                                    std::vector<ir::Program> members) const {
  const std::vector<int> tensors = tensors_of(all);
  ir::Program whole = members.back();
  const std::string level = level_for(bytes_at_once(tiles));
  for (size_t t = whole.graph.tensors.size(); t < tensors.size(); ++t) {
    const int id = tensors[t];
    ir::Tensor tensor = graphs_.laid.graph.tensors[at(id)];
    tensor.name = "t" + std::to_string(t);
    tensor.constant = -1;
    const auto kept = tiles.kept.find(id);
    if (kept != tiles.kept.end()) tensor.shape = kept->second.shape;
    whole.graph.tensors.push_back(std::move(tensor));
    whole.graph.inputs.push_back(static_cast<int>(t));
    whole.layouts.push_back(kept != tiles.kept.end() ? kept->second.layout
                                                     : graphs_.laid.layouts[at(id)]);
  }
  for (size_t k = 0; k + 1 < all.size(); ++k) {
    ir::Producer r;
    const auto stored = tiles.stored.find(output_of(all[k]));
    const bool is_stored = stored != tiles.stored.end();
    r.level = is_stored ? stored_level(static_cast<double>(stored->second)) : level;
    r.program = std::move(members[k]);
    const ir::Graph& own = r.program.graph;
    for (int t = 0; t < static_cast<int>(own.tensors.size()); ++t) {
      const bool inner = ir::producer_of(own, t) >= 0 && t != own.outputs[0];
      const auto found = std::find(tensors.begin(), tensors.end(), tiles.tensors[k][at(t)]);
      r.tensors.push_back(inner ? -1 : static_cast<int>(found - tensors.begin()));
      if (inner) continue;
      // Constants lie as the program wants them; two that want them otherwise do not agree.
      const auto w = static_cast<size_t>(r.tensors.back());
      if (tiles.problems[k].packable[at(t)]) whole.layouts[w] = r.program.layouts[at(t)];
    }
    if (is_stored) whole.graph.outputs.push_back(ir::passed_tensor(r));
    whole.producers.push_back(std::move(r));
  }
  return whole;
}

}  // namespace assay::compiler
