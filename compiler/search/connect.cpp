#include "compiler/search/connect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/search/group_programs.h"
#include "compiler/search/storage.h"
#include "ir/label.h"

namespace assay::compiler {

namespace {

constexpr double kGain = 0.98;  // of the time as separate steps, below which one step stands
constexpr size_t kMostParts = 12;
// In a row that are slower than the one before: no others are tried. Of tiles, and of producers
// that a group takes.
constexpr int kWorse = 2;
constexpr double kHopeless =
    1.3;                    // of the best time so far: smaller tiles of the family are not tried
constexpr int kPasses = 2;  // of a plan, after which caches are nearly as they stay

// Why no step computes some tile-graphs together, or the step.
struct Together {
  std::optional<ir::Program> program;
  std::vector<int> tensors = {};
  double seconds = 0;       // expected
  double shared_bytes = 0;  // through memory that units share
  double least = 0;         // s that every program takes that was not made, as it can not pay
  std::string why = {};

  bool is_possible() const { return program || least > 0; }
};

// What a step, or several, are expected to take.
struct Cost {
  double seconds = 0, shared_bytes = 0;
};

class Connector {  // invariant: refers to the parts of one compilation, which outlive it
 public:
  Connector(const TileGraphs& graphs, const Programs& programs, const hwdesc::Target& target,
            const model::Machine& machine, const Options& options)
      : graphs_(graphs),
        parts_(graphs.parts),
        programs_(programs),
        machine_(machine),
        options_(options),
        made_of_(graphs, programs, target, machine),
        ranges_(ranges_of(graphs)) {
    for (int t : graphs.laid.graph.outputs) outputs_.insert(owner(t));
    for (int i = 0; i < static_cast<int>(parts_.size()); ++i) {
      for (int t : parts_[static_cast<size_t>(i)].chain.tensors)
        if (t != made_of_.output_of(i)) readers_[owner(t)].insert(i);
      groups_.push_back({i});
      costs_.emplace_back();
    }
    if (options.fuse < Fuse::all) return;
    find_caches();
    for (int i = 0; i < static_cast<int>(parts_.size()); ++i) costs_[at(i)] = alone(i);
  }

  Result<Connected> run() {
    // From the outputs back, so that a group takes what it wants before parts of it are taken.
    for (int last = static_cast<int>(parts_.size()) - 1; options_.fuse >= Fuse::all && last >= 0;
         --last) {
      if (groups_[at(last)].empty()) continue;
      if (options_.cancel != nullptr && *options_.cancel)
        return error("compilation was interrupted");
      grow(last);
    }
    for (int last = 0; last < static_cast<int>(parts_.size()); ++last)
      if (!groups_[at(last)].empty()) out_.steps.push_back(chosen(last));
    return std::move(out_);
  }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }
  int owner(int tensor) const { return graphs_.storage[at(tensor)]; }
  bool is_in(int part, const std::vector<int>& group) const {
    return std::find(group.begin(), group.end(), part) != group.end();
  }

  // Steps whose output only this group reads, as it is stored; the nearest first.
  std::vector<int> candidates(const std::vector<int>& group) const {
    std::vector<int> out;
    for (int i = group.back() - 1; i >= 0; --i) {
      if (groups_[at(i)].empty() || is_in(i, group)) continue;
      const int made = made_of_.output_of(i);
      const auto readers = readers_.find(owner(made));
      if (outputs_.contains(owner(made)) || readers == readers_.end()) continue;
      const bool alone = std::all_of(readers->second.begin(), readers->second.end(), [&](int r) {
        const std::vector<int>& read = parts_[at(r)].chain.tensors;
        return is_in(r, group) && std::find(read.begin(), read.end(), made) != read.end();
      });
      if (alone && group.size() + groups_[at(i)].size() <= kMostParts) out.push_back(i);
    }
    return out;
  }

  // Equal groups have one program, each in the caches that it finds.
  Together together(const std::vector<int>& all, double limit) {
    const auto [found, unknown] = known_.try_emplace(key_of_group(all));
    const bool fresh = unknown || (!found->second.program && found->second.least > 0 &&
                                   found->second.least < limit);
    if (fresh) found->second = best_of(all, limit);
    Together out = found->second;
    if (fresh || !out.program) return out;
    out.tensors = made_of_.tensors_of(all);
    price(out, all);
    return out;
  }

  void price(Together& t, const std::vector<int>& all) const {
    const Cost c =
        cost_of(simulator::estimate(*t.program, machine_, before_[at(all.front())],
                                    where_of(t.tensors), nullptr, simulator::TermDetail::none));
    t.seconds = c.seconds;
    t.shared_bytes = c.shared_bytes;
  }

  // Does one step stand? Where the model can not tell the times from each other, the one that moves
  // clearly less through shared memory. Co-tenants use that memory too, and no profile says when.
  static bool pays(const Together& made, const Cost& separate) {
    return made.seconds < kGain * separate.seconds ||
           (made.seconds < kAlike * separate.seconds &&
            made.shared_bytes < kClearlyLess * separate.shared_bytes);
  }

  // s from which on a step does not stand.
  double limit_of(const Cost& separate) const {
    return options_.fuse == Fuse::always ? std::numeric_limits<double>::infinity()
                                         : kAlike * separate.seconds;
  }

  // What one step saves.
  struct Gain {
    double seconds = 0, shared_bytes = 0;
  };
  // Of gains that the model can not tell from each other, that of more traffic.
  static bool better(const Gain& a, const std::optional<Gain>& than, double seconds) {
    if (!than) return true;
    const double alike = (kAlike - 1) * seconds;
    return a.seconds > than->seconds + alike ||
           (a.seconds > than->seconds - alike && a.shared_bytes > than->shared_bytes);
  }

  // Adds producers one after the other, also where one of them alone does not pay: rows that are
  // read three times pay once all three readers are there. The best of these groups stands.
  void grow(int last) {
    std::vector<int> group = groups_[at(last)], best;
    Cost separate = costs_[at(last)];
    std::optional<Gain> most;
    std::set<int> refused;
    std::map<std::vector<int>, size_t> lines;
    double lost = 0;  // s that the group takes more than its steps
    int worse = 0;
    for (bool grown = true; grown && worse < kWorse;) {
      grown = false;
      for (int producer : candidates(group)) {
        if (refused.contains(producer)) continue;
        std::vector<int> all = groups_[at(producer)];
        all.insert(all.end(), group.begin(), group.end());
        std::sort(all.begin(), all.end());
        const Cost own = costs_[at(producer)];
        const Cost both{separate.seconds + own.seconds, separate.shared_bytes + own.shared_bytes};
        const Together made = together(all, limit_of(both));
        out_.considered.push_back({parts_[at(last)].name, parts_[at(producer)].name, false,
                                   made.program ? made.seconds : made.least, both.seconds,
                                   !made.program && made.least > 0, made.why});
        if (!made.is_possible()) {
          refused.insert(producer);
          continue;
        }
        separate = both;
        const double loses = (made.program ? made.seconds : made.least) - separate.seconds;
        worse = loses > std::max(0.0, lost) ? worse + 1 : 0;
        lost = loses;
        lines[all] = out_.considered.size();
        const Gain gain{separate.seconds - made.seconds, separate.shared_bytes - made.shared_bytes};
        if (made.program && (options_.fuse == Fuse::always ||
                             (pays(made, separate) && better(gain, most, separate.seconds)))) {
          most = gain;
          best = all;
        }
        group = std::move(all);
        grown = true;
        break;
      }
    }
    if (best.empty()) return;
    for (const auto& [all, line] : lines)
      if (all.size() <= best.size()) out_.considered[line - 1].connected = true;
    for (int i : best) groups_[at(i)].clear();
    Together made = together(best, std::numeric_limits<double>::infinity());
    groups_[at(last)] = best;
    costs_[at(last)] = {made.seconds, made.shared_bytes};
    made_[last] = std::move(made);
  }

  // Equal groups of equal tile-graphs have equal programs.
  std::string key_of_group(const std::vector<int>& all) const {
    std::string key;
    std::map<int, int> number;
    for (int i : all) {
      key += key_of(made_of_.problem(i));
      for (int t : parts_[at(i)].chain.tensors)
        key +=
            std::to_string(number.try_emplace(t, static_cast<int>(number.size())).first->second) +
            " ";
      key += "\n";
    }
    return key;
  }

  // The caches before each tile-graph where all run one by one, again and again.
  void find_caches() {
    before_.resize(parts_.size());
    simulator::CacheState state;
    for (int pass = 0; pass < kPasses; ++pass)
      for (int i = 0; i < static_cast<int>(parts_.size()); ++i) {
        before_[at(i)] = state;
        run_one(i, state, pass + 1 == kPasses ? &out_.separate : nullptr);
      }
  }

  Cost run_one(int i, simulator::CacheState& state,
               std::vector<model::LevelUse>* levels = nullptr) const {
    const ir::Program& p = programs_.chosen[at(i)];
    const std::vector<simulator::Range> where = where_of(parts_[at(i)].chain.tensors);
    const model::Estimate e =
        simulator::estimate(p, machine_, state, where, nullptr, simulator::TermDetail::none);
    if (levels != nullptr) model::add_levels(*levels, e.levels);
    state = simulator::after(p, machine_, std::move(state), where);
    simulator::pass_time(state, e.seconds);
    return cost_of(e);
  }

  // Of cores, the middle of the interval in which measured times lie: programs that move much
  // through memory that they share with co-tenants are more often slower than their estimate than
  // others.
  Cost cost_of(const model::Estimate& e) const {
    Cost out{machine_.simt ? e.seconds : std::sqrt(e.low * e.high), 0};
    for (const model::LevelUse& u : e.levels)
      if (u.shared) out.shared_bytes += u.read_bytes + u.written_bytes;
    return out;
  }

  // Of a tile-graph as a step of its own.
  Cost alone(int part) const {
    simulator::CacheState state = before_[at(part)];
    return run_one(part, state);
  }

  std::vector<simulator::Range> where_of(const std::vector<int>& tensors) const {
    std::vector<simulator::Range> out;
    for (int t : tensors) out.push_back(t < 0 ? simulator::Range{} : ranges_[at(t)]);
    return out;
  }

  // Of a step that takes less than `limit`.
  Together best_of(const std::vector<int>& all, double limit) {
    Together best;
    for (int i : all)
      if (!ir::shares_groups(made_of_.problem(i).graph.nodes[0])) {
        best.why = "a scan, a scatter or a sort is a step of its own";
        return best;
      }
    best.why = "no tile of a group fits";
    for (const std::vector<GroupPrograms::Tile>& family : made_of_.families(all.back()))
      best_of_family(all, family, limit, best);
    return best;
  }

  void best_of_family(const std::vector<int>& all, const std::vector<GroupPrograms::Tile>& family,
                      double limit, Together& best) {
    int worse = 0;
    double before = 0, fastest = 0;  // s of this family's tiles
    for (const GroupPrograms::Tile& group : family) {
      if (made_of_.groups_of(all.back(), group) < machine_.units && &group != &family.back())
        continue;
      GroupPrograms::Made made =
          made_of_.make(all, group, best.program ? std::min(limit, best.seconds) : limit);
      if (!made.program && made.least == 0) {
        if (!made.why.empty()) best.why = std::move(made.why);
        if (made.propagates) continue;
        return;
      }
      double seconds = made.least;
      if (made.program) {
        Together t{std::move(made.program), made_of_.tensors_of(all)};
        price(t, all);
        seconds = t.seconds;
        if (seconds < limit && (!best.program || seconds < best.seconds)) best = std::move(t);
      }
      if (!best.program) best.least = best.least == 0 ? seconds : std::min(best.least, seconds);
      worse = before > 0 && seconds > before ? worse + 1 : 0;
      before = seconds;
      fastest = fastest == 0 ? seconds : std::min(fastest, seconds);
      if (worse == kWorse || before > kHopeless * fastest) return;
    }
  }

  Chosen chosen(int last) const {
    const std::vector<int>& group = groups_[at(last)];
    const TileGraph& part = parts_[at(last)];
    Chosen out{part.name, ir::label_of(part.chain.graph, part.name), programs_.chosen[at(last)],
               part.chain.tensors, group};
    if (group.size() == 1) return out;
    out.program = *made_.at(last).program;
    out.tensors = made_.at(last).tensors;
    std::string first;
    for (size_t k = 0; k + 1 < group.size(); ++k)
      first += parts_[at(group[k])].chain.graph.nodes[0].op + " + ";
    out.label = first + out.label;
    return out;
  }

  const TileGraphs& graphs_;
  const std::vector<TileGraph>& parts_;
  const Programs& programs_;
  const model::Machine& machine_;
  const Options& options_;
  GroupPrograms made_of_;
  const std::vector<simulator::Range> ranges_;
  std::set<int> outputs_;                 // owners of the graph's outputs
  std::map<int, std::set<int>> readers_;  // owner -> parts
  std::vector<simulator::CacheState> before_;
  std::vector<std::vector<int>> groups_;   // per part, where it is the last one; else empty
  std::vector<Cost> costs_;                // of its step
  std::map<int, Together> made_;           // last part -> its step
  std::map<std::string, Together> known_;  // by group
  Connected out_;
};

}  // namespace

std::string print(const Considered& c) {
  const std::string edge = c.producer + " -> " + c.step + ": ";
  if (c.together == 0) return edge + c.why;
  return edge + fmt::format("{}{:.4g} us together, {:.4g} us separately{}",
                            c.at_least ? "at least " : "", c.together * 1e6, c.separate * 1e6,
                            c.connected ? "" : ", so not together");
}

Result<Connected> connect(const TileGraphs& graphs, const Programs& programs,
                          const hwdesc::Target& target, const model::Machine& machine,
                          const Options& options) {
  return Connector(graphs, programs, target, machine, options).run();
}

}  // namespace assay::compiler
