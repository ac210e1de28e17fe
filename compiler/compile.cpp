#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "compiler/passes/block_softmax.h"
#include "compiler/passes/canonicalise.h"
#include "compiler/passes/channels_last.h"
#include "compiler/passes/choose_layouts.h"
#include "compiler/passes/cut_sequences.h"
#include "compiler/passes/fold.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/join_statistics.h"
#include "compiler/passes/lift.h"
#include "compiler/passes/mark_needed.h"
#include "compiler/passes/merge_products.h"
#include "compiler/passes/pack_strided.h"
#include "compiler/passes/place.h"
#include "compiler/passes/shift_operands.h"
#include "compiler/passes/split_reductions.h"
#include "compiler/passes/store_wider.h"
#include "compiler/passes/transpose_scores.h"
#include "compiler/passes/unblock_narrow.h"
#include "compiler/plan_builder.h"
#include "compiler/schedule/ways.h"
#include "compiler/search/connect.h"
#include "compiler/search/construct_all.h"
#include "compiler/search/few_units.h"
#include "compiler/search/group_programs.h"
#include "compiler/search/rewrite_cost.h"
#include "compiler/stream/stream.h"

namespace assay::compiler {

namespace {

// Results of a sum that keep all lanes of a unit busy: a few dozen accumulators of each of some
// twenty waves, which hide each other's latency. Assumed.
constexpr double kResultsPerLane = 600;

// A graph of one operator has no neighbours: its inputs and outputs take the layout it likes best.
bool free_layouts(const ir::Graph& g) {
  return g.nodes.size() <= 2 && g.name.starts_with("operator:");
}

// Asks the model whether a rewriting pays, each side with its long sums split where that pays.
struct Gains {
  RewriteCost& cost;
  double results;

  bool faster(const LaidOut& now, const LaidOut& then) const {
    return cost.seconds_of(then) < cost.seconds_of(now);
  }
  LaidOut with_sums_split(LaidOut laid) const {
    return split_long_sums(std::move(laid), results,
                           [this](const LaidOut& a, const LaidOut& b) { return faster(a, b); });
  }
  bool pack(const LaidOut& now, const LaidOut& then) const {
    return cost.seconds_of(with_sums_split(then)) < cost.seconds_of(with_sums_split(now));
  }
};

int64_t block_of(const model::Machine& m) { return m.simt ? 1 : m.native_width; }

// The passes that rewrite a graph before its types and layouts are chosen.
ir::Graph rewritten(ir::Graph graph, int64_t block, const Options& options, const Faster& faster) {
  graph = canonicalise(std::move(graph));
  graph = transpose_scores(std::move(graph));
  if (options.fuse == Fuse::all) graph = merge_products(std::move(graph), block, faster);
  graph = fold(lift_over_reshapes(fold(std::move(graph))));
  if (options.fuse != Fuse::none) graph = fuse_elementwise(std::move(graph));
  graph = multiply_by_reciprocals(postpone_factors(std::move(graph)));
  return drop_unread(std::move(graph));
}

// Blocks that fit beside each other into a unit's own memory, with the rows of a group; and as many
// as give each unit a group.
BlockCounts block_counts(const model::Machine& m) {
  return [&m](int64_t rows, int64_t length) {
    constexpr double kRows = 64, kFloat = 4;  // rows of a group, bytes of a term
    const double groups = std::ceil(static_cast<double>(rows) / kRows);
    std::vector<int64_t> out;
    const auto offer = [&](const std::function<bool(double blocks)>& enough) {
      int64_t blocks = 1;
      while (!enough(static_cast<double>(blocks)) && length % (2 * blocks) == 0 &&
             length / (2 * blocks) >= m.native_width)
        blocks *= 2;
      if (blocks > 1 && std::find(out.begin(), out.end(), blocks) == out.end())
        out.push_back(blocks);
    };
    if (const double near = near_bytes(m); near > 0)
      offer([&](double blocks) {
        return kRows * static_cast<double>(length) / blocks * kFloat <= near / 2;
      });
    offer([&](double blocks) { return groups * blocks >= m.units; });
    return out;
  };
}

// Of what a recurrence feeds (cut_sequences.h).
struct Sequences {
  int pieces = 1;
  bool found = false;

  LaidOut cut(LaidOut laid) {
    CutSequences out = cut_sequences(std::move(laid), pieces);
    found = out.found;
    return std::move(out.laid);
  }
};

// The compiler: its passes in order. `out` is null where the tile-graphs alone are wanted.
// `planned`: compares plans of parts; null: no pass asks for it.
Diags run_passes(ir::Graph graph, const hwdesc::Target& target, const model::Machine& m,
                 const Options& options, const FasterGraph* planned, Sequences& sequences,
                 TileGraphs& graphs, Compiled* out) {
  const bool free_io = free_layouts(graph);
  RewriteCost cost(target, m, options.each);
  const Gains gains{cost, kResultsPerLane * m.units * m.native_width};

  // Canonicalise, fold, fuse elementwise.
  const int64_t block = block_of(m);
  const Faster faster = [&](const LaidOut& a, const LaidOut& b) { return gains.faster(a, b); };
  graph = rewritten(std::move(graph), block, options, faster);
  if (planned) graph = block_softmax(std::move(graph), block_counts(m), *planned);
  if (planned && !m.simt) {  // what threads that share a row wait for is not in the estimate yet
    const size_t before = graph.nodes.size();
    graph = join_statistics(std::move(graph), *planned);
    if (graph.nodes.size() < before) graph = fuse_elementwise(std::move(graph));
  }

  // Choose types: bytes that instructions multiply, numbers that loads need not convert.
  std::vector<ir::MatrixInstruction> instructions;
  for (const model::MatrixRate& r : m.instructions) instructions.push_back(r.instruction);
  graph = shift_operands(std::move(graph), instructions, block, faster);
  if (!free_io) graph = store_wider(std::move(graph), block, faster);  // an operator is as it says

  // Split reductions, choose layouts. Vectors read the end of a row as padding, which the layout
  // holds, so rows are split before. Waves mask their last lanes and need no blocks, so layouts
  // are chosen before.
  if (!m.simt) graph = split_reductions(graph, m.native_width, false, faster);
  LaidOut laid = choose_layouts(std::move(graph), block, free_io);
  if (m.simt) {
    laid = pack_strided_reads(
        std::move(laid), m.native_width,
        [&](const LaidOut& now, const LaidOut& then) { return gains.pack(now, then); });
    laid.graph = split_reductions(laid.graph, m.native_width, true);
    laid = gains.with_sums_split(sequences.cut(with_row_major_tensors(std::move(laid))));
  } else {
    laid = unblock_narrow_images(std::move(laid), m.native_width, faster);
    laid = sequences.cut(move_channels_last(std::move(laid), m.native_width, faster));
  }

  // Form tile-graphs (epilogues join their reduction), construct, place, schedule.
  graphs = form_tile_graphs(std::move(laid), m, options.fuse != Fuse::none);
  if (out == nullptr) return {};
  const Result<Programs> programs = construct_all(graphs, target, m, options);
  if (!programs.ok()) return programs.diags();
  const Result<Connected> connected = connect(graphs, *programs, target, m, options);
  if (!connected.ok()) return connected.diags();
  PlanBuilder builder(graphs, static_cast<int>(m.units));
  for (const Chosen& step : connected->steps) builder.add_step(step);
  place(builder.plan());

  out->plan = std::move(builder.plan());
  out->constants = std::move(builder.constants());
  for (const Chosen& step : connected->steps)
    out->lost.push_back(step.parts.size() == 1 ? programs->lost[static_cast<size_t>(step.parts[0])]
                                               : std::vector<std::string>{});
  for (const Considered& c : connected->considered) out->considered.push_back(print(c));
  out->separate_traffic = connected->separate;
  out->evaluated = programs->evaluated;
  out->pruned = programs->pruned;
  return {};
}

}  // namespace

namespace {

// Fills the estimates of a plan.
void put_estimates(Compiled& out, const model::Machine& m) {
  simulator::PlanEstimate estimate = simulator::simulate(out.plan, m);
  for (const model::Estimate& e : estimate.steps) model::add_levels(out.traffic, e.levels);
  out.estimates = std::move(estimate.steps);
  out.transfers = std::move(estimate.transfers);
  out.total = std::move(estimate.total);
}

using PlanOf = std::function<Result<Compiled>(const ir::Graph&, const Options&)>;

// The time of each node is that of a step of its own.
Result<Compiled> streamed(const ir::Graph& graph, const hwdesc::Target& target,
                          const model::Machine& m, const Options& options, const PlanOf& plan_of) {
  RewriteCost cost(target, m, options.each);
  const Faster faster = [&](const LaidOut& now, const LaidOut& then) {
    return cost.seconds_of(then) < cost.seconds_of(now);
  };
  const ir::Graph g = rewritten(graph, block_of(m), options, faster);
  Options separate = options;
  separate.fuse = std::min(options.fuse, Fuse::elementwise);
  Result<Compiled> timed = plan_of(g, separate);
  if (!timed) return timed;
  put_estimates(*timed, m);
  return stream(g, *timed, m, *options.memory,
                [&](const ir::Graph& strip) { return plan_of(strip, options); });
}

// Compares parts of a graph as plans of their own.
class PlannedParts {  // invariant: refers to a target and a machine that outlive it
 public:
  PlannedParts(const hwdesc::Target& target, const model::Machine& m, const Options& options)
      : target_(target), machine_(m), options_(options) {
    options_.progress = {};
  }

  double seconds_of(const ir::Graph& part) {
    const auto [known, fresh] = known_.emplace(ir::print_graph(part), kNever);
    if (!fresh) return known->second;
    TileGraphs graphs;
    Compiled out;
    Sequences whole;
    if (run_passes(part, target_, machine_, options_, nullptr, whole, graphs, &out).empty())
      known->second = simulator::simulate(out.plan, machine_).total.seconds;
    return known->second;
  }

  FasterGraph faster() {
    return [this](const ir::Graph& now, const ir::Graph& then) {
      return seconds_of(then) < seconds_of(now);
    };
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  const hwdesc::Target& target_;
  const model::Machine& machine_;
  Options options_;
  std::map<std::string, double> known_;
};

}  // namespace

namespace {

// Plans whose steps run side by side.
class SideBySide {  // invariant: refers to a target and a machine that outlive it
 public:
  SideBySide(const hwdesc::Target& target, const model::Machine& machine, const Options& options)
      : target_(target),
        machine_(machine),
        how_(options.schedule),
        few_(target, machine, options.each) {}

  void schedule(Compiled& c) {
    if (machine_.conditions) mark_needed(c.plan);
    Ways ways = ways_of(target_, machine_, how_);
    ways.others = [this](const ir::Program& p) { return few_.beside(p); };
    if (how_ == Schedule::off || ways.no_queues.empty() || ways.no_phases.empty())
      c.scheduled = compiler::schedule(c.plan, machine_, how_, ways);
    else
      c.scheduled.why_not = machine_.simt ? ways.no_queues + "; " + ways.no_phases : ways.no_queues;
  }

  // Recurrent layers in twice as many pieces, as long as that is faster.
  Diags cut(Compiled& best, Sequences& sequences, const std::function<Result<Compiled>()>& plan) {
    if (how_ == Schedule::off || !sequences.found || !best.scheduled.why_not.empty()) return {};
    for (;;) {
      sequences.pieces *= 2;
      Result<Compiled> next = plan();
      if (!next) return next.diags();
      schedule(*next);
      if (!take_if_faster(best, *next)) break;
    }
    sequences.pieces /= 2;
    return {};
  }

  // What is computed together is chosen for steps one after the other, each of them a launch.
  // Beside others a launch counts less, and a long step keeps others waiting. So plans in which
  // less is computed together are tried.
  Diags compute_less_together(
      Compiled& best, const Options& options,
      const std::function<Result<Compiled>(const Options&, const model::Machine&)>& plan) {
    const bool side_by_side = !best.plan.schedule.empty() || !best.plan.phases.empty();
    if (!side_by_side || best.scheduled.seconds > (1 - kSidesMatter) * best.scheduled.in_turn)
      return {};
    model::Machine no_launches = machine_;
    no_launches.launch.value = 0;
    Options separate = options;
    separate.fuse = Fuse::elementwise;
    const struct {
      const Options& options;
      const model::Machine& machine;
      const char* how;
    } tried[] = {{separate, machine_, "one tile-graph of one reduction a step"},
                 {options, no_launches, "as if launches took no time"}};
    std::vector<std::string> lines;
    for (const auto& t : tried) {
      Result<Compiled> next = plan(t.options, t.machine);
      if (!next) return next.diags();
      schedule(*next);
      lines.push_back(fmt::format("computed together {}: {} steps, {:.4g} us", t.how,
                                  next->plan.steps.size(), next->scheduled.seconds * 1e6));
      take_if_faster(best, *next);
    }
    best.scheduled.considered.insert(best.scheduled.considered.end(), lines.begin(), lines.end());
    return {};
  }

 private:
  // Part of the time of steps one after the other that those side by side save, for what is
  // computed together to be chosen anew.
  static constexpr double kSidesMatter = 0.05;

  // Speed-ups are over the first plan, one step after the other.
  static bool take_if_faster(Compiled& best, Compiled& next) {
    const bool faster = next.scheduled.seconds < best.scheduled.seconds;
    next.scheduled.in_turn = best.scheduled.in_turn;
    if (faster) std::swap(best, next);
    return faster;
  }

  const hwdesc::Target& target_;
  const model::Machine& machine_;
  const Schedule how_;
  FewUnits few_;
};

}  // namespace

Result<Compiled> compile(const ir::Graph& graph, const hwdesc::Target& target,
                         const Options& options) {
  const Result<model::Machine> machine = model::prepare(target);
  if (!machine.ok()) return machine.diags();
  Sequences sequences;
  const auto plan_of = [&](const ir::Graph& g, const Options& o,
                           const model::Machine& m) -> Result<Compiled> {
    TileGraphs graphs;
    Compiled out;
    PlannedParts parts(target, m, o);
    const FasterGraph faster = parts.faster();
    const FasterGraph* planned = o.fuse == Fuse::all ? &faster : nullptr;
    if (Diags diags = run_passes(g, target, m, o, planned, sequences, graphs, &out); !diags.empty())
      return diags;
    return out;
  };
  Result<Compiled> out = plan_of(graph, options, *machine);
  if (!out) return out;
  const bool fits =
      !options.memory || out->plan.arena_bytes + out->plan.weights_bytes <= *options.memory;
  if (!fits) {
    sequences.pieces = 1;
    out = streamed(graph, target, *machine, options,
                   [&](const ir::Graph& g, const Options& o) { return plan_of(g, o, *machine); });
  } else {
    SideBySide side(target, *machine, options);
    side.schedule(*out);
    if (Diags diags = side.cut(*out, sequences, [&] { return plan_of(graph, options, *machine); });
        !diags.empty())
      return diags;
    if (options.fuse == Fuse::all)
      if (Diags diags = side.compute_less_together(
              *out, options,
              [&](const Options& o, const model::Machine& m) { return plan_of(graph, o, m); });
          !diags.empty())
        return diags;
  }
  if (out) put_estimates(*out, *machine);
  return out;
}

Result<TileGraphs> tile_graphs_of(const ir::Graph& graph, const hwdesc::Target& target) {
  const Result<model::Machine> machine = model::prepare(target);
  if (!machine.ok()) return machine.diags();
  TileGraphs out;
  Options options;
  options.fuse = Fuse::elementwise;
  Sequences whole;
  if (Diags diags = run_passes(graph, target, *machine, options, nullptr, whole, out, nullptr);
      !diags.empty())
    return diags;
  return out;
}

}  // namespace assay::compiler
