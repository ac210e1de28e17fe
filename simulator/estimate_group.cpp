#include "simulator/estimate_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "ir/producers.h"
#include "lower/group_scratch.h"
#include "model/bandwidth.h"
#include "model/closed_form.h"
#include "model/retention.h"
#include "simulator/complete.h"
#include "simulator/load_balance.h"

namespace assay::simulator {

namespace {

// Scratch lies where no tensor of a plan does.
constexpr int64_t kScratch = int64_t{1} << 52;

// One unit beside others that do the same: its part of shared bandwidth. A shared cache keeps its
// size, since what is known to be in it is of all units.
model::Machine unit_of(model::Machine m, double active) {
  m.units = 1;
  m.launch.value = m.group_start.value = m.wakeup_skew.value = 0;
  for (model::Level& l : m.levels) {
    if (!l.shared) continue;
    const double users = std::max(1.0, active / l.instances);
    const auto of_unit = [&](model::Quantity& all, model::Quantity& alone) {
      if (all.value <= 0) return;
      all.value =
          model::shared_bandwidth(users, alone.value, all.value, l.bandwidth_exponent) / users;
      alone.value = all.value;
    };
    of_unit(l.read, l.per_unit_read);
    of_unit(l.write, l.per_unit_write);
    l.instances = 1;
    l.bandwidth_exponent = model::Level{}.bandwidth_exponent;  // one rate is all there is
  }
  return m;
}

// One group's part of a member: axes that move with groups have a tile's extent. Tensors keep
// their shapes, so that distances between rows are those of the whole.
ir::Program tile_of(ir::Program member, const std::vector<int>& axes) {
  for (ir::Node& n : member.graph.nodes)
    for (size_t a = 0; a < std::min(axes.size(), n.axes.size()); ++a)
      if (axes[a] >= 0) n.axes[a].extent = std::min(n.axes[a].extent, member.tiles[0].extent[a]);
  return member;
}

struct GroupMember {
  ir::Program tile;
  std::vector<int> tensors;
  std::vector<int64_t> parts;  // per tensor, into which groups cut it
};

// Groups that read or write other parts of a tensor.
int64_t parts_of(const ir::Program& whole, const ir::Program& member, const std::vector<int>& axes,
                 int tensor) {
  int64_t out = 1;
  for (size_t a = 0; a < axes.size(); ++a) {
    if (axes[a] < 0) continue;
    const int axis = static_cast<int>(a);
    bool moves = tensor == member.graph.outputs[0];
    for (const ir::Node& n : member.graph.nodes)
      for (int r = 0; r < static_cast<int>(n.reads.size()); ++r)
        if (n.reads[static_cast<size_t>(r)].tensor == tensor)
          moves = moves || (a < n.axes.size() && ir::moves_with(n, r, axis));
    if (moves) out *= ir::tile_count(whole, 0, axes[a]);
  }
  return out;
}

class Group {  // invariant: refers to a program and its operands' storage, which outlive it
 public:
  Group(const ir::Program& p, std::span<const Range> where) : p_(p), where_(where) {
    const std::vector<std::vector<int>> axes = *ir::group_axes(p);
    std::vector<ir::Member> members = ir::members_of(p);
    for (size_t i = 0; i < members.size(); ++i) {
      GroupMember& g = members_.emplace_back();
      for (int t = 0; t < static_cast<int>(members[i].tensors.size()); ++t)
        g.parts.push_back(parts_of(p, members[i].program, axes[i], t));
      g.tensors = std::move(members[i].tensors);
      g.tile = tile_of(std::move(members[i].program), axes[i]);
    }
    const lower::GroupScratch scratch = lower::place_scratch(p, lower::own_scratch(p));
    scratch_.resize(p.graph.tensors.size());
    for (size_t i = 0; i < p.producers.size(); ++i) {
      const auto t = static_cast<size_t>(ir::passed_tensor(p.producers[i]));
      if (ir::is_stored(p, static_cast<int>(t))) continue;
      const int64_t begin = kScratch + scratch.offset(scratch.tiles[i]);
      scratch_[t] = {begin, begin + ir::passed_bytes(p, p.producers[i])};
    }
  }

  size_t size() const { return members_.size(); }
  const ir::Program& tile(size_t i) const { return members_[i].tile; }

  // Storage of a member's tensors in a unit's groups from number `first` to before `end`.
  std::vector<Range> where(size_t i, int64_t first, int64_t end) const {
    const GroupMember& g = members_[i];
    std::vector<Range> out(g.tensors.size());
    for (size_t t = 0; t < out.size(); ++t) {
      if (g.tensors[t] < 0) continue;
      const auto w = static_cast<size_t>(g.tensors[t]);
      if (ir::is_passed(p_, g.tensors[t])) {
        out[t] = scratch_[w];
      } else if (w < where_.size()) {
        const int64_t bytes = where_[w].end - where_[w].begin, n = g.parts[t], from = first % n,
                      to = std::min(n, from + end - first);
        out[t] = {where_[w].begin + bytes * from / n, where_[w].begin + bytes * to / n};
      }
    }
    return out;
  }
  std::vector<Range> where(size_t i, int64_t turn) const { return where(i, turn, turn + 1); }

  // The caches after the groups from number `first` to before `end`, as if each did what one does.
  CacheState after_turns(const model::Machine& m, CacheState state, int64_t first, int64_t end,
                         double seconds) const {
    const auto turns = static_cast<double>(end - first);
    for (size_t i = 0; i < members_.size() && end > first; ++i) {
      state = after(members_[i].tile, m, std::move(state), where(i, first, end));
      for (CacheState::Entry& e : state.recent) {
        if (e.run != state.runs || e.range.begin >= kScratch) continue;
        e.unit_bytes = std::min(e.unit_bytes * turns, size_of(e.range));
        e.missed = std::min(e.missed * turns, size_of(e.range));
        e.missed_by_run *= turns;
      }
    }
    pass_time(state, seconds * turns);
    return state;
  }

 private:
  const ir::Program& p_;
  std::span<const Range> where_;
  std::vector<GroupMember> members_;
  std::vector<Range> scratch_;
};

// `times` over, what one tile takes: of one unit, where `units` do the same.
void add(model::Estimate& to, const model::Estimate& e, double times, double units) {
  to.seconds += times * e.seconds;
  model::add_terms(to.terms, e.terms, times);
  std::vector<model::LevelUse> levels = e.levels;
  for (model::LevelUse& u : levels) {
    u.read_bytes *= units;
    u.written_bytes *= units;
  }
  model::add_levels(to.levels, levels, times);
  to.assumed.insert(to.assumed.end(), e.assumed.begin(), e.assumed.end());
}

void finish(const ir::Program& p, const model::Machine& m, model::Estimate& out,
            std::string_view unit) {
  for (const ir::Member& member : ir::members_of(p))
    out.flops += ir::flops_of(member.program.graph, member.program.graph.nodes[0]);
  out.efficiency = std::min(1.0, least_time(p, out.flops, m) / std::max(out.seconds, 1e-15));
  const std::vector<double> spreads(out.terms.size(), 0);
  complete(out, spreads, m, unit);
}

// What groups that run at once have moved over the boundary to memory that units share since one of
// their programs stored its tile.
class StoredTiles {  // invariant: refers to a machine that outlives it
 public:
  explicit StoredTiles(const model::Machine& m) : machine_(m) {}

  void add(int stored, const model::Estimate& e) {
    double moved = 0;
    for (const model::LevelUse& u : e.levels)
      if (u.shared) {
        moved = (u.read_bytes + u.written_bytes) / std::max(1.0, e.rounds);
        break;
      }
    for (auto& [tensor, since] : since_) since += moved;
    if (stored >= 0) since_[stored] = moved;
  }

  // The part of a tile that the last cache still holds.
  double held(int tensor) const {
    const auto since = since_.find(tensor);
    if (since == since_.end() || machine_.levels.size() < 2) return 0;
    const model::Level& last = machine_.levels[machine_.levels.size() - 2];
    return last.shared && !last.is_scratchpad
               ? model::hit_fraction(last, since->second / last.instances, last.end)
               : 0;
  }

 private:
  const model::Machine& machine_;
  std::map<int, double> since_;  // bytes, by tensor
};

// Of a chip whose lanes are threads: each program's part of one launch. Tiles lie in the
// scratchpad; a unit holds as many groups as the scratch of all programs leaves room for. What a
// group stores is in the last cache as long as groups beside it leave it there.
model::Estimate launches(const ir::Program& p, const model::Machine& m, const CacheState& before,
                         std::span<const Range> where, TermDetail detail) {
  model::Machine inside = m;
  inside.launch.value = 0;
  const std::vector<ir::Member> members = ir::members_of(p);
  const std::vector<std::vector<lower::ScratchArray>> scratch = lower::own_scratch(p);
  const auto scratch_bytes = static_cast<double>(lower::place_scratch(p, scratch).bytes);
  model::Estimate out;
  std::vector<model::Part> parts;
  StoredTiles stored(m);
  for (size_t i = 0; i < members.size(); ++i) {
    const bool last = i + 1 == members.size();
    const std::vector<Range> own = outside(p, members[i], where);
    InGroup group;
    for (const int t : members[i].tensors) {
      group.on_chip.push_back(ir::is_passed(p, t));
      group.held.push_back(stored.held(t));
    }
    group.scratch_bytes = scratch_bytes;
    for (const lower::ScratchArray& a : scratch[i])
      group.scratch_bytes -= static_cast<double>(a.bytes);
    group.repeats = static_cast<double>(ir::group_count(p)) /
                    static_cast<double>(ir::group_count(members[i].program));
    const model::Estimate e =
        estimate_member(members[i].program, last ? m : inside, before, own, group,
                        model::closed_form(members[i].program), detail);
    add(out, e, 1, 1);
    const int made = last ? -1 : ir::passed_tensor(p.producers[i]);
    stored.add(ir::is_stored(p, made) ? made : -1, e);
    out.groups = e.groups;
    out.rounds = e.rounds;
    out.balance = e.balance;
    out.needs = {std::max(out.needs.threads, e.needs.threads),
                 std::max(out.needs.registers_per_thread, e.needs.registers_per_thread),
                 std::max(out.needs.scratch_bytes, e.needs.scratch_bytes)};
    out.occupancy = i == 0 ? e.occupancy : std::min(out.occupancy, e.occupancy);
    parts.push_back(e.tree);
    parts.back().name = members[i].program.name;
  }
  if (detail == TermDetail::full)
    out.tree = model::join("estimate", model::Part::Joins::sum, std::move(parts));
  finish(p, m, out, "threads");
  return out;
}

}  // namespace

model::Estimate estimate_group(const ir::Program& p, const model::Machine& m,
                               const CacheState& before, std::span<const Range> where,
                               TermDetail detail) {
  if (m.simt) return launches(p, m, before, where, detail);
  const auto groups = static_cast<double>(ir::group_count(p));
  const double active = std::min(m.units, groups), share = busiest_share(p, m),
               mine = std::max(1.0, share * groups);
  const model::Machine unit = unit_of(m, active);
  const Group group(p, where);
  model::Estimate out;
  out.groups = groups;
  out.rounds = std::ceil(groups / m.units);
  out.balance = 1 / (share * active);
  std::vector<model::Part> parts;
  CacheState state = before;
  // The first group, the second and one half-way: those between are like the one before them.
  const auto all = static_cast<int64_t>(std::floor(mine));
  std::set<int64_t> looks = {0, all / 2};
  if (all > 1) looks.insert(1);
  int64_t next = 0;
  double last = 0;  // s of the group looked at before
  for (auto look = looks.begin(); look != looks.end(); ++look) {
    const int64_t turn = *look;
    const bool is_last = std::next(look) == looks.end();
    state = group.after_turns(unit, std::move(state), next, turn, last);
    const double until = is_last ? mine : static_cast<double>(*std::next(look)),
                 times = until - static_cast<double>(turn), before_it = out.seconds;
    for (size_t i = 0; i < group.size(); ++i) {
      const std::vector<Range> own = group.where(i, turn);
      const model::Estimate e = estimate(group.tile(i), unit, state, own, nullptr, detail);
      add(out, e, times, active);
      if (detail == TermDetail::full) {
        model::Part part = e.tree;
        part.name = group.tile(i).name;
        parts.push_back(
            model::join(fmt::format("{} of group {}{}", group.tile(i).name, turn + 1,
                                    times > 1 ? fmt::format(" to {:.0f}", until) : std::string()),
                        model::Part::Joins::sum, {std::move(part)}, times));
      }
      if (!is_last || i + 1 < group.size()) {
        state = after(group.tile(i), unit, std::move(state), own);
        pass_time(state, e.seconds);
      }
    }
    last = (out.seconds - before_it) / times;
    next = turn + 1;
  }
  const double body = out.seconds, starts = m.group_start.value * out.rounds,
               late = late_start(m, active, body);
  out.terms.push_back({"launch", m.launch.value + starts, "launch and group starts"});
  if (late > 0) out.terms.push_back({"wake-up skew", late, "units that begin late"});
  out.seconds += m.launch.value + starts + late;
  if (detail == TermDetail::full) {
    parts.push_back(model::leaf("launch", m.launch.value + starts, "with group starts",
                                {model::duration_of(m.launch), model::duration_of(m.group_start)}));
    parts.push_back(model::leaf("wake-up skew", late, "units that begin late",
                                {model::duration_of(m.wakeup_skew)}));
    out.tree = model::join("estimate", model::Part::Joins::sum, std::move(parts));
  }
  finish(p, m, out, "cores");
  return out;
}

namespace {

// Axes along which groups have a tile each, by their own numbers.
std::vector<int> tiled_axes(const ir::Program& p, std::span<const int64_t> group) {
  std::vector<int> axes;
  for (size_t a = 0; a < group.size(); ++a)
    axes.push_back(group[a] < p.graph.nodes[0].axes[a].extent ? static_cast<int>(a) : -1);
  return axes;
}

}  // namespace

model::Machine busy_unit(const model::Machine& m) { return unit_of(m, m.units); }

ir::Program tile_of_group(const ir::Program& p, std::span<const int64_t> group) {
  return tile_of(p, tiled_axes(p, group));
}

model::Estimate estimate_tile(const ir::Program& p, const ir::Program& tile,
                              std::span<const int64_t> group, const model::Machine& unit,
                              const lower::Counts& counts) {
  const std::vector<int> axes = tiled_axes(p, group);
  std::vector<Range> where;
  int64_t end = 0;
  for (int t = 0; t < static_cast<int>(p.graph.tensors.size()); ++t) {
    const ir::Tensor& tensor = p.graph.tensors[static_cast<size_t>(t)];
    const int64_t bytes = ir::physical_elements(p.layouts[static_cast<size_t>(t)], tensor.shape) *
                          ir::bytes_of(tensor.dtype) / parts_of(p, p, axes, t);
    where.push_back({end, end + std::max<int64_t>(1, bytes)});
    end = where.back().end;
  }
  return estimate(tile, unit, after(tile, unit, {}, where), where, &counts, TermDetail::none);
}

std::vector<Range> outside(const ir::Program& p, const ir::Member& member,
                           std::span<const Range> where) {
  std::vector<Range> out(member.tensors.size());
  for (size_t t = 0; t < out.size(); ++t)
    if (const int w = member.tensors[t];
        w >= 0 && static_cast<size_t>(w) < where.size() && !ir::is_passed(p, w))
      out[t] = where[static_cast<size_t>(w)];
  return out;
}

CacheState after_group(const ir::Program& p, const model::Machine& m, CacheState before,
                       std::span<const Range> where) {
  for (const ir::Member& member : ir::members_of(p)) {
    const std::vector<Range> own = outside(p, member, where);
    before = after(member.program, m, std::move(before), own);
  }
  return before;
}

}  // namespace assay::simulator
