#include "compiler/stream/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "compiler/stream/cuts.h"
#include "compiler/stream/merge.h"
#include "ir/label.h"
#include "support/quantity.h"

namespace assay::compiler {

namespace {

constexpr int kMostRounds = 40;       // of cutting again with what compiled strips have shown
constexpr size_t kMostNodes = 4;      // whose smallest strips are compiled for a refusal
constexpr double kMuchSmaller = 0.8;  // of the room: a strip that could be higher
constexpr int64_t kHintUnit = 1024;   // bytes that a hint is rounded up to

size_t at(int i) { return static_cast<size_t>(i); }

std::string size_text(int64_t bytes) {
  return print_quantity(static_cast<double>((bytes + kHintUnit - 1) / kHintUnit * kHintUnit), "",
                        Dimension::bytes);
}

// The time of each node's step without a limit. What steps of other names take is shared out by
// operations.
std::vector<double> seconds_of_nodes(const ir::Graph& g, const Compiled& whole) {
  std::map<std::string, double> by_name;
  for (size_t s = 0; s < whole.plan.steps.size(); ++s)
    by_name[whole.plan.steps[s].name] += whole.estimates[s].seconds;
  std::vector<double> out;
  double flops = 0, rest = 0;
  for (const ir::Node& n : g.nodes) {
    const auto found = by_name.find(n.name);
    out.push_back(found == by_name.end() ? 0 : found->second);
    if (found != by_name.end()) by_name.erase(found);
    flops += ir::flops_of(g, n);
  }
  for (const auto& [name, seconds] : by_name) rest += seconds;
  for (size_t i = 0; i < g.nodes.size(); ++i)
    if (flops > 0) out[i] += rest * ir::flops_of(g, g.nodes[i]) / flops;
  return out;
}

class Streamer {  // invariant: refers to one compilation, which outlives it
 public:
  Streamer(const ir::Graph& g, const Compiled& whole, const model::Machine& m, int64_t memory,
           const CompileStrip& compile_strip)
      : g_(g),
        memory_(memory),
        compile_strip_(compile_strip),
        cuts_(g, m, seconds_of_nodes(g, whole)),
        resident_weights_(whole.plan.weights_bytes) {}

  // Weights stay on the device, or come with each segment: the faster one that fits.
  Result<Compiled> run() {
    struct Way {
      bool resident;
      double seconds;
    };
    std::vector<Way> ways;
    for (const bool resident : {true, false}) {
      const std::vector<Cut> cuts = cuts_.best(limits(resident));
      if (!cuts.empty()) ways.push_back({resident, seconds_of(cuts)});
    }
    std::stable_sort(ways.begin(), ways.end(),
                     [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
    for (const bool alone : {false, true})  // short segments take the least
      for (const Way& way : ways) {
        Result<std::vector<Cut>> cuts = fitting(way.resident, alone);
        if (!cuts) return cuts.diags();
        if (!cuts->empty()) return merged(*cuts, way.resident);
      }
    return refused();
  }

 private:
  static double seconds_of(const std::vector<Cut>& cuts) {
    double out = 0;
    for (const Cut& c : cuts) out += c.seconds;
    return out;
  }

  Limits limits(bool resident, bool alone = false) const {
    return {memory_ - (resident ? resident_weights_ : 0), resident, alone, measured_, by_node_};
  }

  Strip strip(const Cut& c, int64_t k, bool resident) const {
    std::vector<int> outputs;
    for (const auto& [t, region] : cuts_.outputs_of(c, k)) outputs.push_back(t);
    return strip_of(g_, c.segment, cuts_.regions_of(c, k, resident), outputs);
  }

  // Of the tensors that a cut keeps for all strips, those whose region is the same in each.
  std::set<int> kept_by(const Cut& c, bool resident) const {
    std::set<int> out(c.kept.begin(), c.kept.end());
    if (out.empty()) return out;
    const Regions first = cuts_.regions_of(c, 0, resident);
    for (int64_t k = 1; k < c.strips; ++k) {
      const Regions other = cuts_.regions_of(c, k, resident);
      std::erase_if(out, [&](int t) {
        return !first.contains(t) || !other.contains(t) || first.at(t) != other.at(t);
      });
    }
    return out;
  }

  static std::vector<bool> kept_inputs(const Strip& s, const std::set<int>& kept) {
    std::vector<bool> out;
    for (const int t : s.graph.inputs) out.push_back(kept.contains(s.tensors[at(t)]));
    return out;
  }

  static std::string key_with(const Strip& s, const std::vector<bool>& kept) {
    std::string key = key_of(s);
    for (const bool k : kept) key += k ? 'k' : '-';
    return key;
  }

  // Equal graphs are compiled once.
  Result<const CompiledStrip*> compiled(Strip s, const std::set<int>& kept_tensors) {
    std::vector<bool> kept = kept_inputs(s, kept_tensors);
    const auto [it, fresh] = compiled_.emplace(key_with(s, kept), nullptr);
    if (!fresh) return static_cast<const CompiledStrip*>(it->second.get());
    fill_constants(s, g_);
    Result<Compiled> made = compile_strip_(s.graph);
    if (!made) return made.diags();
    it->second = std::make_unique<CompiledStrip>(alone(std::move(*made), s.graph, std::move(kept)));
    return static_cast<const CompiledStrip*>(it->second.get());
  }

  // What the strips of a segment take on the device; without weights that stay there.
  Result<int64_t> bytes_of(const Cut& c, const std::vector<int64_t>& strips, bool resident) {
    MergedPlan plan(g_, memory_, resident);
    const std::set<int> kept = kept_by(c, resident);
    plan.begin_segment();
    for (const int64_t k : strips) {
      const Strip s = strip(c, k, resident);
      const Result<const CompiledStrip*> made = compiled(s, kept);
      if (!made) return made.diags();
      plan.add(s, **made);
    }
    plan.end_segment();
    return plan.arena_bytes();
  }

  static std::vector<int64_t> all_strips(const Cut& c) {
    std::vector<int64_t> out;
    for (int64_t k = 0; k < c.strips; ++k) out.push_back(k);
    return out;
  }

  // Does the compiled segment keep the limit? What it took is remembered.
  Result<bool> fits(const Cut& c, bool resident, bool first_round) {
    const int64_t room = limits(resident).room;
    Result<int64_t> bytes = bytes_of(c, {c.strips / 2}, resident);
    if (bytes && *bytes <= room) bytes = bytes_of(c, all_strips(c), resident);
    if (!bytes) return bytes.diags();
    const double ratio =
        static_cast<double>(*bytes) / static_cast<double>(std::max<int64_t>(1, c.bytes));
    double& known = measured_.try_emplace({c.segment.begin, c.segment.end, c.dim}, 1).first->second;
    const bool too_large = *bytes > room,
               small = first_round && c.strips > 1 &&
                       static_cast<double>(*bytes) < kMuchSmaller * static_cast<double>(room);
    for (int n = c.segment.begin; n < c.segment.end; ++n)
      by_node_[at(n)] = std::max(by_node_[at(n)], ratio);
    if (too_large)
      known = std::max(ratio, known * 1.02);
    else if (small)
      known = ratio;
    return !too_large && !small;
  }

  void forget_measured() {
    measured_.clear();
    by_node_.assign(g_.nodes.size(), 1);
  }

  // Cuts whose compiled strips fit; none: there are no more.
  Result<std::vector<Cut>> fitting(bool resident, bool alone) {
    forget_measured();
    for (int round = 0; round < kMostRounds; ++round) {
      std::vector<Cut> cuts = cuts_.best(limits(resident, alone));
      bool all = !cuts.empty();
      for (const Cut& c : cuts) {
        const Result<bool> fit = fits(c, resident, round == 0);
        if (!fit) return fit.diags();
        all = all && *fit;
      }
      if (cuts.empty()) return cuts;
      if (all && weights_fit(cuts, resident)) return cuts;
    }
    return std::vector<Cut>{};
  }

  // Weights in their layouts may take more than was expected.
  bool weights_fit(const std::vector<Cut>& cuts, bool resident) {
    if (!resident) return true;
    const Compiled plan = merged(cuts, resident);
    const int64_t over = plan.plan.arena_bytes + plan.plan.weights_bytes - memory_;
    if (over > 0) resident_weights_ += over;
    return over <= 0;
  }

  Compiled merged(const std::vector<Cut>& cuts, bool resident) {
    MergedPlan plan(g_, memory_, resident);
    std::vector<std::string> lines;
    for (const Cut& c : cuts) {
      std::set<const CompiledStrip*> graphs;
      const std::set<int> kept = kept_by(c, resident);
      plan.begin_segment();
      for (int64_t k = 0; k < c.strips; ++k) {
        const Strip s = strip(c, k, resident);
        const CompiledStrip* made = compiled_.at(key_with(s, kept_inputs(s, kept))).get();
        graphs.insert(made);
        plan.add(s, *made);
      }
      plan.end_segment();
      lines.push_back(line_of(c, graphs.size()));
    }
    Compiled out = plan.finish();
    out.streamed = std::move(lines);
    if (resident_weights_ > 0)
      out.streamed.push_back(resident ? "weights stay on the device"
                                      : "weights are uploaded before each segment");
    return out;
  }

  // `conv 16x128x128 3x3 (conv0) to relu 16x128x128: 8 strips of 16 along i2, 3 graphs`
  std::string line_of(const Cut& c, size_t graphs) const {
    const ir::Node &first = g_.nodes[at(c.segment.begin)], &last = g_.nodes[at(c.segment.end - 1)];
    std::string out = ir::label_of(g_, first) + " (" + first.name + ")";
    if (&first != &last) out += " to " + ir::label_of(g_, last) + " (" + last.name + ")";
    if (c.dim < 0) return out + ": whole";
    return out + fmt::format(": {} strips of {} along {}, {} graph{}", c.strips, c.height,
                             last.axes[at(c.dim)].name, graphs, graphs == 1 ? "" : "s");
  }

  // Names the node whose smallest strip takes most. Only compiled strips say how much that is.
  Diags refused() {
    forget_measured();
    std::vector<Cut> all = cuts_.smallest(limits(false));
    std::stable_sort(all.begin(), all.end(),
                     [](const Cut& a, const Cut& b) { return a.bytes > b.bytes; });
    int worst = -1;
    int64_t most = 0;
    for (size_t i = 0; i < std::min(all.size(), kMostNodes); ++i) {
      const Result<int64_t> bytes =
          bytes_of(all[i], {0, all[i].strips / 2, all[i].strips - 1}, false);
      if (!bytes) return bytes.diags();
      if (*bytes > most) worst = all[i].segment.begin, most = *bytes;
    }
    const ir::Node& n = g_.nodes[at(worst)];
    return {error(fmt::format("{} of device memory are too little: the smallest strip of {} ({}) "
                              "needs {}",
                              size_text(memory_), n.name, ir::label_of(g_, n), size_text(most)),
                  "--memory '" + size_text(most) + "', or more")};
  }

  const ir::Graph& g_;
  int64_t memory_;
  const CompileStrip& compile_strip_;
  Cuts cuts_;
  int64_t resident_weights_;
  std::map<std::tuple<int, int, int>, double> measured_;
  std::vector<double> by_node_;
  std::map<std::string, std::unique_ptr<CompiledStrip>> compiled_;
};

}  // namespace

Result<Compiled> stream(const ir::Graph& g, const Compiled& whole, const model::Machine& m,
                        int64_t memory, const CompileStrip& compile_strip) {
  if (!m.host_link)
    return error("a limit of memory streams tensors from the host, and " + m.profile +
                     " does not say how fast",
                 "memory: - {name: host, per: host, managed: explicit, bandwidth: {read: ..., "
                 "write: ...}}");
  for (const int t : g.outputs)
    if (ir::producer_of(g, t) < 0)
      return error("output " + g.tensors[at(t)].name + " is no node's: it can not be streamed");
  return Streamer(g, whole, m, memory, compile_strip).run();
}

}  // namespace assay::compiler
