// Issue, pipes and operations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "probe/inference/execution.h"
#include "probe/inference/infer.h"
#include "probe/inference/values.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kWider = 1.15;

// Ticks per second; 1 where they are not known, so that rates and latencies are in seconds.
double ticks_of(const Summary& s) { return s.clock_hz > 0 ? s.clock_hz : 1; }
std::string tick_name(const Known& known) { return known.clock_hz > 0 ? kCore : ""; }

// Elements per tick: best over vector widths (and numbers of chains).
struct Best {
  std::optional<Measured> rate;
  double lanes = 0, chains = 0;
};

// Ticks are counted by the clock under the same kind of load.
double clock_for(const Observations& all, const std::string& load, double lanes, const Summary& s) {
  const double clock = clock_under(all, load, lanes, s.clock_hz);
  return clock > 0 ? clock : ticks_of(s);
}

constexpr double kLeastVectors = 0.45;
constexpr double kOneClockOff = 0.06;  // of a rate in ticks: its clock is measured beside it

// Disturbance only lowers a rate, and pipes start whole vectors in a tick, or one in two ticks: the
// chip may do as many as the next whole number. Threads' rates are of several units.
void admit_whole_vectors(const Known& known, double lanes, Measured& rate) {
  const double vectors = (1 - kOneClockOff) * rate.value / lanes;
  // Slower operations are several instructions, or not pipelined.
  if (known.threads || known.clock_hz <= 0 || lanes <= 0 || vectors < kLeastVectors) return;
  const double whole = vectors <= 0.5 ? 0.5 : std::ceil(vectors);
  if (whole * lanes <= rate.high) return;
  rate.high = whole * lanes;
  rate.note += fmt::format("{}pipes start whole vectors: at most {:g} a tick were not disturbed",
                           rate.note.empty() ? "" : "; ", whole);
}

// Units of which several may have been one: rates of each are as much lower.
void admit_more_units(const Known& known, Measured& rate) {
  rate.low *= known.units / std::max(known.units, known.most_units);
}

Best best_rate(const Observations& all, const Known& known, const std::string& experiment,
               const std::string& what, const std::string& load, double elements_per_sample,
               std::optional<double> width = {}) {
  Best best;
  const std::vector<Observation> blocks = select(all, experiment, what);
  std::vector<double> chains = values_of(blocks, "chains");
  if (chains.empty()) chains.push_back(0);
  std::vector<double> groups = values_of(blocks, "groups");
  if (groups.empty()) groups.push_back(0);
  for (const double lanes : width ? std::vector<double>{*width} : values_of(blocks, "lanes"))
    for (size_t i = 0; i < chains.size() * groups.size(); ++i) {
      const double c = chains[i % chains.size()], n = groups[i / chains.size()];
      Conditions at = {{"lanes", lanes}};
      if (c > 0) at["chains"] = c;
      if (n > 0) at["groups"] = n;
      // Of cores the best looks count, since a neighbour takes slots for a while.
      const auto s = summarize_at_clock(known, all_looks(all, experiment, what, at),
                                        known.threads ? Estimator::throughput : Estimator::latency);
      if (!s) continue;
      const double elements = elements_per_sample > 0 ? elements_per_sample : lanes;
      Measured rate = inverse(*s, elements / clock_for(all, load, lanes, *s) / known.units);
      admit_whole_vectors(known, lanes, rate);
      admit_more_units(known, rate);
      if (!best.rate || rate.value > best.rate->value) best = {rate, lanes, c};
    }
  return best;
}

// Instructions of waves per tick, at least what a pipe executes. Where lanes are threads, a
// vector's operations are single instructions.
void add_issue(const Observations& all, const Known& known, const Best& fma, Profile& to) {
  std::optional<Measured> best;
  std::string method;
  for (const MixKind& m : kMixes) {
    const auto s = summarize_at_clock(known, select(all, "mixes", m.name), Estimator::throughput);
    if (!s) continue;
    Measured rate = inverse(*s, 1 / ticks_of(*s) / known.units);
    admit_more_units(known, rate);
    if (!best || rate.value > best->value) {
      best = rate;
      method = fmt::format("best of {} mixes of independent operations: {}", kMixes.size(), m.name);
    }
  }
  to.execution.issue.per = "unit";
  if (known.threads && fma.rate && (!best || fma.rate->value / fma.lanes > best->value)) {
    best = {fma.rate->value / fma.lanes, fma.rate->low / fma.lanes, fma.rate->high / fma.lanes,
            fma.rate->n, fma.rate->note};
    method = "multiply-adds alone, of which more are issued than of mixes of operations";
  }
  to.execution.issue.rate = best ? rate_value(*best, tick_name(known), method)
                                 : unknown_value<Rate>("the mixes did not run");
}

// Seconds per operation with enough chains.
double op_time(const Observations& all, const std::string& op, const Known& known) {
  const std::string experiment = op != "fma" ? "operations" : known.threads ? "waves" : "fma";
  const bool pair = op.find('+') != std::string::npos;
  const double chains = pair ? kPairChains : op == "fma" ? known.chains : kOpChains.back();
  const Conditions at = {{"lanes", known.lanes}, {"chains", chains}};
  double best = 0;
  std::vector<double> groups = values_of(select(all, experiment, op, at), "groups");
  if (groups.empty()) groups.push_back(0);
  for (const double n : groups) {
    Conditions here = at;
    if (n > 0) here["groups"] = n;
    const auto s =
        summarize_at_clock(known, select(all, experiment, op, here), Estimator::throughput);
    if (s && (best == 0 || s->value < best)) best = s->value;
  }
  return best;
}

// Least part of the shorter time that overlaps with the longer one, on two pipes. Where one of the
// two is many instructions, a core's window does not always reach the next of the other.
constexpr double kOverlaps = 0.5, kCompoundOverlaps = 0.25;

// Do two operations overlap? Two that share a pipe take the sum of their times.
bool pipes_overlap(const Observations& all, const std::string& a, const std::string& b,
                   const Known& known) {
  const double first = op_time(all, a, known), second = op_time(all, b, known);
  const double both = 2 * op_time(all, a + "+" + b, known);  // a step of a pair is one of either
  if (first <= 0 || second <= 0 || both <= 0) return false;
  return first + second - both >
         (a == "exp" ? kCompoundOverlaps : kOverlaps) * std::min(first, second);
}

// The pipe of an operation: that of multiply-adds, unless both overlap. A division is so long that
// one multiply-add could not show in it, so an exponential, which is made of many, stands for them.
std::string pipe_of(const Observations& all, const std::string& op, const Known& known) {
  if (op == "div" && pipes_overlap(all, "exp", op, known)) return op;
  if (op != "add" && op != "max" && op != "mul") return "fma";
  if (!pipes_overlap(all, "fma", op, known)) return "fma";
  if (op == "max" && pipes_overlap(all, "fma", "add", known) &&
      !pipes_overlap(all, "add", "max", known))
    return "add";
  return op;
}

// The rate of narrower vectors on a pipe, where it is not the same number of instructions. `of`:
// the best of a width.
template <class Of>
void add_narrow_rates(const Known& known, const char* pipe, const Best& whole, const Of& of,
                      Profile& to) {
  if (!whole.rate) return;
  for (LaneMode& mode : to.execution.lanes.modes) {
    const double lanes = mode.width.value->v;
    if (lanes >= known.lanes) continue;
    const Best narrow = of(lanes);
    if (!narrow.rate || narrow.rate->value < kWider * whole.rate->value * lanes / known.lanes)
      continue;  // as many instructions as of whole vectors
    mode.pipes.push_back(
        {pipe, "unit",
         rate_value(*narrow.rate, tick_name(known), fmt::format("vectors of {:.0f}", lanes))});
  }
}

// Gathers and scatters, as lane-slots of the load or store pipe.
void add_divergent(const Observations& all, const Known& known, const char* op, const char* pipe,
                   const Best& whole, Profile& to) {
  if (!whole.rate) return;
  double native = 0;
  for (auto mode = to.execution.lanes.modes.rbegin(); mode != to.execution.lanes.modes.rend();
       ++mode) {
    const double width = mode->width.value->v;
    const auto s = summarize_at_clock(known, select(all, "access", op, {{"lanes", width}}),
                                      Estimator::throughput);
    const double clock =
        s ? clock_for(all, op == std::string("gather") ? "read" : "write", width, *s) : 0;
    if (clock <= 0) continue;
    const Measured lanes = inverse(*s, static_cast<double>(kGathersPerBlock) * width /
                                           static_cast<double>(kBlockBytes) / clock /
                                           (known.threads ? known.units : 1));
    const bool widest = width >= known.lanes;
    if (widest)
      native = lanes.value;
    else if (std::max(lanes.value, native) < kWider * std::min(lanes.value, native))
      continue;
    ComputeOp c{op, "f32", pipe, {}, {}, widest ? "" : mode->name};
    const double own = whole.rate->value;
    c.slots = count_value(
        {own / lanes.value, own / lanes.high, own / lanes.low, lanes.n, lanes.note},
        fmt::format("rate of whole vectors over that of lanes at a stride of {} elements",
                    kDivergentStride));
    to.compute.push_back(std::move(c));
  }
}

// One element for all lanes, as lane-slots of the load pipe, where that is not as fast as a vector:
// a cache may have more ports for words than for whole vectors.
void add_splats(const Observations& all, const Known& known, const Best& whole, Profile& to) {
  if (!whole.rate || known.threads) return;
  double native = 0;  // splats a tick
  for (auto mode = to.execution.lanes.modes.rbegin(); mode != to.execution.lanes.modes.rend();
       ++mode) {
    const double width = mode->width.value->v;
    const auto s = summarize_at_clock(known, select(all, "access", "splat", {{"lanes", width}}),
                                      Estimator::throughput);
    const double clock = s ? clock_for(all, "read", width, *s) : 0;
    if (clock <= 0) continue;
    const Measured rate = inverse(
        *s, static_cast<double>(kSplatsPerBlock) / static_cast<double>(kBlockBytes) / clock);
    const bool widest = width >= known.lanes;
    const double otherwise = widest ? whole.rate->value / known.lanes : native;
    if (widest) native = rate.value;
    if (std::max(rate.value, otherwise) < kWider * std::min(rate.value, otherwise)) continue;
    ComputeOp c{"splat", "f32", "load", {}, {}, widest ? "" : mode->name};
    const double vector = whole.rate->value / width;
    c.slots = count_value(
        {vector / rate.value, vector / rate.high, vector / rate.low, rate.n, rate.note},
        fmt::format(
            "rate of whole vectors over that of elements at a stride of {}, each for {:.0f} lanes",
            kSplatSpacing, width));
    to.compute.push_back(std::move(c));
  }
}

void add_pipe(Profile& to, const Known& known, const char* name, const Best& best,
              const std::string& method) {
  Pipe p{name, "unit", {}};
  if (best.rate)
    p.rate = rate_value(
        *best.rate, tick_name(known),
        fmt::format("{}, {} of {:.0f}", method, known.threads ? "waves" : "vectors", best.lanes));
  else
    p.rate = unknown_value<Rate>("not measured");
  to.pipes.push_back(std::move(p));
}

std::optional<Summary> chain_time(const Observations& all, const std::string& op,
                                  const Known& known) {
  const std::string experiment = op == "fma" ? "fma" : "operations";
  return summarize_at_clock(known,
                            select(all, experiment, op, {{"lanes", known.lanes}, {"chains", 1}}),
                            Estimator::latency);
}

void add_operation(const Observations& all, const Known& known, const std::string& op,
                   const Best& fma, Profile& to) {
  ComputeOp c{op, "f32", pipe_of(all, op, known), {}, {}};
  const Best own =
      op == "fma" ? fma : best_rate(all, known, "operations", op, "fma", 0, known.lanes);
  const auto chain = chain_time(all, op, known);
  if (!own.rate && !chain) return;
  if (own.rate && c.pipe == op && op != "fma")
    add_pipe(to, known, op.c_str(), own, "runs beside multiply-adds");
  const auto pipe = std::find_if(to.pipes.begin(), to.pipes.end(),
                                 [&](const Pipe& p) { return p.name == c.pipe; });
  if (own.rate && pipe != to.pipes.end() && pipe->rate.known()) {
    const double whole = pipe->rate.value->v;
    const bool itself = c.pipe == op;
    c.slots =
        count_value({itself ? 1.0 : whole / own.rate->value, itself ? 1.0 : whole / own.rate->high,
                     itself ? 1.0 : whole / own.rate->low, own.rate->n, own.rate->note},
                    fmt::format("rate of the {} pipe over its own", c.pipe));
  }
  if (chain)
    c.latency =
        latency_value(scaled(*chain, clock_for(all, "fma", known.lanes, *chain)), tick_name(known),
                      op == "exp" ? "one chain, a change of sign included" : "one chain");
  to.compute.push_back(std::move(c));
}

// The same of narrower vectors.
void add_narrow_operation(const Observations& all, const Known& known, const char* op,
                          Profile& to) {
  const auto whole = std::find_if(to.compute.begin(), to.compute.end(), [&](const ComputeOp& c) {
    return c.op == op && c.dtype == "f32";
  });
  if (whole == to.compute.end()) return;
  const auto pipe = std::find_if(to.pipes.begin(), to.pipes.end(),
                                 [&](const Pipe& p) { return p.name == whole->pipe; });
  if (pipe == to.pipes.end() || !pipe->rate.known()) return;
  const std::string through = whole->pipe;
  for (const LaneMode& mode : to.execution.lanes.modes) {
    const double width = mode.width.value->v, rate = pipe->rate.value->v;
    if (width >= known.lanes) continue;
    const Best own = best_rate(all, known, "operations", op, "fma", 0, width);
    if (!own.rate) continue;
    ComputeOp c{op, "f32", through, {}, {}, mode.name};
    c.slots = count_value(
        {rate / own.rate->value, rate / own.rate->high, rate / own.rate->low, own.rate->n,
         own.rate->note},
        fmt::format("rate of the {} pipe over that of vectors of {:.0f}", through, width));
    to.compute.push_back(std::move(c));
  }
}

// A vector in memory, updated again and again: each update waits until the one before is stored.
void add_update(const Observations& all, const Known& known, Profile& to) {
  const auto chain =
      summarize_at_clock(known, select(all, "read_modify_write", "chain", {{"lanes", known.lanes}}),
                         Estimator::latency);
  if (!chain) return;
  ComputeOp c{"update", "f32", "store", {}, {}};
  c.latency = latency_value(scaled(*chain, clock_for(all, "fma", known.lanes, *chain)),
                            tick_name(known), "multiply-adds on one vector in memory");
  to.compute.push_back(std::move(c));
}

}  // namespace

void infer_compute(const Observations& all, const Known& known, Profile& to) {
  add_lanes(all, known, to);
  add_registers(all, known, to);
  using Width = std::optional<double>;
  const auto fma_of = [&](Width w) {
    return best_rate(all, known, known.threads ? "waves" : "fma", "fma", "fma", 0, w);
  };
  const auto load_of = [&](Width w) {
    return best_rate(all, known, "access", "read", "read", 0.25, w);
  };  // samples are per byte
  const auto store_of = [&](Width w) {
    return best_rate(all, known, "access", "write", "write", 0.25, w);
  };
  const Best fma = fma_of({}), load = load_of({}), stored = store_of({}),
             own = best_rate(all, known, "group_memory", "write", "write", 0.25);
  // Caches that write through may limit stores to less than the store pipe.
  const bool own_faster = own.rate && (!stored.rate || own.rate->value > stored.rate->value);
  const Best& store = own_faster ? own : stored;
  add_issue(all, known, fma, to);
  add_pipe(to, known, "fma", fma,
           fma.rate ? fmt::format("{:.0f} independent chains", fma.chains) : "");
  add_pipe(to, known, "load", load, "vector loads from 16 KiB");
  add_pipe(to, known, "store", store,
           own_faster ? "vector stores to the group's own memory" : "vector stores to 16 KiB");
  add_operation(all, known, "fma", fma, to);
  for (const std::string& op : op_names()) add_operation(all, known, op, fma, to);
  for (const char* op : kCompound) add_narrow_operation(all, known, op, to);
  add_update(all, known, to);
  add_narrow_rates(known, "fma", fma, fma_of, to);
  add_narrow_rates(known, "load", load, load_of, to);
  add_narrow_rates(known, "store", store, store_of, to);
  add_splats(all, known, load, to);
  add_divergent(all, known, "gather", "load", load, to);
  add_divergent(all, known, "scatter", "store", store, to);
}

}  // namespace assay::probe
