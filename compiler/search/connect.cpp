#include "compiler/search/connect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/search/cover.h"
#include "compiler/search/group_programs.h"
#include "compiler/search/step_costs.h"
#include "ir/label.h"

namespace assay::compiler {

namespace {

constexpr double kGain = 0.98;  // of the time as separate steps, below which one step stands
constexpr size_t kMostParts = 12;
constexpr double kCounts = 0.02;  // of the plan's time: what could save less is not tried
constexpr int kBeam = 64;         // choices that are followed at once
// In a row that are slower than the one before: no others are tried. Of tiles, and of producers
// that a group takes.
constexpr int kWorse = 2;
constexpr double kHopeless =
    1.3;  // of the best time so far: smaller tiles of the family are not tried

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

class Connector {  // invariant: refers to the parts of one compilation, which outlive it
 public:
  Connector(const TileGraphs& graphs, const Programs& programs, const hwdesc::Target& target,
            const model::Machine& machine, const Options& options)
      : graphs_(graphs),
        parts_(graphs.parts),
        programs_(programs),
        machine_(machine),
        options_(options),
        made_of_(graphs, programs, target, machine, options.each),
        steps_(graphs, programs, machine),
        costs_(graphs.parts.size()) {
    if (options.fuse < Fuse::all) return;
    sources_.resize(parts_.size());
    for (int i = 0; i < static_cast<int>(parts_.size()); ++i)
      for (const int r : made_of_.readers_of(i)) sources_[at(r)].insert(i);
    steps_.find_caches();
    out_.separate = steps_.traffic();
    for (int i = 0; i < static_cast<int>(parts_.size()); ++i) costs_[at(i)] = steps_.alone(i);
  }

  // First each group takes what it wants before parts of it are taken, from the outputs back. Then
  // groups that want the same are grown where that could make the plan faster by a share that
  // counts. The fastest choice of all these stands.
  Result<Connected> run() {
    const int parts = static_cast<int>(parts_.size());
    std::vector<double> bound(parts_.size());
    for (int last = 0; last < parts; ++last) {
      sets_.push_back({{last}, options_.fuse == Fuse::always ? 1 : costs_[at(last)].seconds});
      if (options_.fuse == Fuse::all) bound[at(last)] = made_of_.near_seconds(last);
    }
    lines_.resize(sets_.size());
    for (int last = parts - 1; options_.fuse >= Fuse::all && last >= 0; --last)
      if (!taken_.contains(last) && !grow(last)) return error("compilation was interrupted");
    std::vector<int> chosen = best_cover(parts, sets_, bound, kBeam);
    double total = 0;
    for (const int s : chosen) total += sets_[at(s)].seconds;
    for (int last = parts - 1; options_.fuse == Fuse::all && last >= 0; --last) {
      const double own = costs_[at(last)].seconds - bound[at(last)];
      if (own + rest_of({last}).gain < kCounts * total) continue;
      taken_.clear();
      if (!grow(last)) return error("compilation was interrupted");
    }
    chosen = best_cover(parts, sets_, bound, kBeam);
    std::sort(chosen.begin(), chosen.end(),
              [&](int x, int y) { return sets_[at(x)].parts.back() < sets_[at(y)].parts.back(); });
    for (const int s : chosen) add_step(sets_[at(s)].parts, lines_[at(s)]);
    return std::move(out_);
  }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }
  bool is_in(int part, const std::vector<int>& group) const {
    return std::find(group.begin(), group.end(), part) != group.end();
  }

  // Steps whose output this group reads, as it is stored; the nearest first. What others read as
  // well is stored, and they run after the group.
  std::vector<int> candidates(const std::vector<int>& group) const {
    std::vector<int> out;
    for (int i = group.back() - 1; i >= 0; --i) {
      if (is_in(i, group) || taken_.contains(i)) continue;
      const int made = made_of_.output_of(i);
      bool reads = false, fits = true;
      for (const int r : made_of_.readers_of(i)) {
        if (!is_in(r, group)) {
          fits = fits && r > group.back();
          continue;
        }
        const std::vector<int>& read = parts_[at(r)].chain.tensors;
        reads = true;
        fits = fits && std::find(read.begin(), read.end(), made) != read.end();
      }
      if (reads && fits && group.size() < kMostParts) out.push_back(i);
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
    const Cost c = steps_.together(*t.program, all.front(), t.tensors);
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

  // What the nearest producers of a group take as steps, and how much of it is more than their
  // least time.
  struct Rest {
    double seconds = 0, gain = 0;
  };
  Rest rest_of(const std::vector<int>& group) {
    Rest out;
    std::set<int> next;
    const auto add_sources = [&](int part) {
      for (const int s : sources_[at(part)])
        if (!is_in(s, group)) next.insert(s);
    };
    for (const int part : group) add_sources(part);
    for (size_t n = 2 * (kMostParts - group.size()); n > 0 && !next.empty(); --n) {
      const int nearest = *next.rbegin();
      next.erase(nearest);
      add_sources(nearest);
      const double own = costs_[at(nearest)].seconds;
      out.seconds += own;
      out.gain += std::max(0.0, own - made_of_.near_seconds(nearest));
    }
    return out;
  }

  // A group that takes `least` at least: does no group that holds it pay?
  bool is_hopeless(const std::vector<int>& group, double least, const Cost& separate) {
    if (options_.fuse == Fuse::always) return false;
    const Rest rest = rest_of(group);
    return least - separate.seconds > rest.gain + (kAlike - 1) * (separate.seconds + rest.seconds);
  }

  // A group that pays.
  struct Paying {
    std::vector<int> parts;
    double seconds = 0;         // together
    double gain = 0, less = 0;  // s and bytes of shared memory less than its steps
    std::vector<size_t> lines;  // how it grew, of what was considered
  };

  // Adds producers one after the other, also where one of them alone does not pay: rows that are
  // read three times pay once all three readers are there. Groups that pay may be steps. False:
  // cancelled.
  bool grow(int last) {
    std::vector<int> group = {last};
    std::vector<Paying> paying;
    std::vector<size_t> lines;
    Cost separate = costs_[at(last)];
    std::set<int> refused;
    double lost = 0;  // s that the group takes more than its steps
    int worse = 0;
    for (bool grown = true; grown && worse < kWorse;) {
      grown = false;
      if (options_.cancel != nullptr && *options_.cancel) return false;
      for (int producer : candidates(group)) {
        if (refused.contains(producer)) continue;
        std::vector<int> all = group;
        all.insert(std::lower_bound(all.begin(), all.end(), producer), producer);
        const Cost own = costs_[at(producer)];
        const Cost both{separate.seconds + own.seconds, separate.shared_bytes + own.shared_bytes};
        Together made = together(all, limit_of(both));
        const auto [line, fresh] = line_of_.try_emplace(all, out_.considered.size());
        if (fresh)
          out_.considered.push_back({parts_[at(last)].name, parts_[at(producer)].name, false,
                                     made.program ? made.seconds : made.least, both.seconds,
                                     !made.program && made.least > 0, made.why});
        if (!made.is_possible()) {
          refused.insert(producer);
          continue;
        }
        separate = both;
        lines.push_back(line->second);
        const double loses = (made.program ? made.seconds : made.least) - separate.seconds;
        worse = loses > std::max(0.0, lost) ? worse + 1 : 0;
        lost = loses;
        group = std::move(all);
        grown = made.program || !is_hopeless(group, made.least, separate);
        if (made.program && (options_.fuse == Fuse::always || pays(made, separate))) {
          paying.push_back({group, made.seconds, separate.seconds - made.seconds,
                            separate.shared_bytes - made.shared_bytes, lines});
          made_[group] = std::move(made);
        }
        break;
      }
    }
    offer(paying, separate.seconds);
    return true;
  }

  // Groups that pay may be steps; one that pays by its traffic counts as just faster. Of gains that
  // the model can not tell from each other, that of more traffic counts as the largest.
  void offer(const std::vector<Paying>& paying, double separate) {
    const bool always = options_.fuse == Fuse::always;
    const double alike = (kAlike - 1) * separate;
    const Paying* best = nullptr;
    for (const Paying& p : paying)
      if (best == nullptr || always || p.gain > best->gain + alike ||
          (p.gain > best->gain - alike && p.less > best->less))
        best = &p;
    if (best == nullptr) return;
    const auto gain_of = [&](const Paying& p) {
      return std::max(p.gain, (1 - kGain) * (p.seconds + p.gain));
    };
    for (const Paying& p : paying) {
      if (always && &p != best) continue;
      const double most = &p == best ? gain_of(p) : std::min(gain_of(p), gain_of(*best));
      sets_.push_back({p.parts, always ? 1 : p.seconds + p.gain - most});
      lines_.push_back(p.lines);
    }
    taken_.insert(best->parts.begin(), best->parts.end());
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
    for (const int t : made_of_.stored_by(all)) key += std::to_string(number.at(t)) + " ";
    return key;
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

  // `lines`: how the group grew, of what was considered.
  void add_step(const std::vector<int>& group, const std::vector<size_t>& lines) {
    const TileGraph& part = parts_[at(group.back())];
    Chosen out{part.name, ir::label_of(part.chain.graph, part.name),
               programs_.chosen[at(group.back())], part.chain.tensors, group};
    if (group.size() > 1) {
      const Together& made = made_.at(group);
      out.program = *made.program;
      out.tensors = made.tensors;
      std::string first;
      for (size_t k = 0; k + 1 < group.size(); ++k)
        first += parts_[at(group[k])].chain.graph.nodes[0].op + " + ";
      out.label = first + out.label;
    }
    for (const size_t line : lines) out_.considered[line].connected = true;
    out_.steps.push_back(std::move(out));
  }

  const TileGraphs& graphs_;
  const std::vector<TileGraph>& parts_;
  const Programs& programs_;
  const model::Machine& machine_;
  const Options& options_;
  GroupPrograms made_of_;
  StepCosts steps_;
  std::vector<std::set<int>> sources_;          // per part, the parts that make what it reads
  std::vector<Cost> costs_;                     // per part, as a step of its own
  std::vector<CoverSet> sets_;                  // that may be steps
  std::set<int> taken_;                         // parts that groups have taken
  std::map<std::vector<int>, size_t> line_of_;  // of groups that were considered
  std::vector<std::vector<size_t>> lines_;      // per set, how it grew
  std::map<std::vector<int>, Together> made_;
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
