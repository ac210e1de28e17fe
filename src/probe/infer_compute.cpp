// Vector widths, registers, pipes and operations.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "probe/infer.h"
#include "probe/kernels.h"
#include "probe/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kWider = 1.15;

void add_lanes(const Observations& all, Profile& to) {
  Lanes& lanes = to.execution.lanes;
  lanes.style = LaneStyle::simd;
  double best = 0;
  for (const LaneRate& r : lane_rates(all)) {
    if (r.elements_per_second < best * kWider) continue;  // no faster than a narrower one: not native
    best = r.elements_per_second;
    auto width = known_value(Count{double(r.lanes)}, Origin::measured, "throughput of multiply-adds by vector width",
                             fmt::format("{:.0f} G multiply-adds/s with {} chains", best * 1e-9, r.chains));
    LaneMode mode;
    mode.width = std::move(width);
    mode.name = fmt::format("v{}", r.lanes * 32);
    lanes.modes.push_back(std::move(mode));
  }
}

// Architectural vector registers by the name of the widest extension.
struct Isa {
  const char* name;
  double registers;
};
constexpr std::array<Isa, 6> kIsas = {
    {{"avx512f", 32}, {"avx2", 16}, {"avx", 16}, {"sse2", 16}, {"sve", 32}, {"asimd", 32}}};

// The first number of chains whose kernel needs the stack tells how many vectors fit: chains and one
// operand. A compiler may want one more for itself, so the extension's own number decides in between.
Value<Count> register_count(const Observations& all, int lanes) {
  const std::vector<Observation> blocks = select(all, "fma", "stack", {{"lanes", lanes}});
  double base = -1, fits = 0, spills = 0;
  for (const double chains : values_of(blocks, "chains")) {
    const double bytes = select(all, "fma", "stack", {{"lanes", lanes}, {"chains", chains}}).back().samples.at(0);
    if (base < 0) base = bytes;
    if (bytes < base + lanes * 4) fits = chains;
    else if (spills == 0) spills = chains;
  }
  for (const Isa& isa : kIsas)
    if (all.fact("isa") == isa.name && isa.registers >= fits + 1 && (spills == 0 || isa.registers <= spills + 2))
      return known_value(Count{isa.registers}, Origin::driver, std::string("instruction set: ") + isa.name,
                         fits > 0 ? fmt::format("the compiler keeps {:.0f} accumulators and an operand in registers, "
                                                "not {:.0f}", fits, spills) : "");
  if (fits <= 0) return unknown_value<Count>("the compiler does not report stack use");
  if (spills <= 0) return unknown_value<Count>(fmt::format("no spill up to {:.0f} vectors", fits + 1));
  auto v = known_value(Count{fits + 1}, Origin::driver, "the compiler's report of stack use",
                       fmt::format("{:.0f} accumulators and an operand stay in registers, {:.0f} do not", fits, spills));
  v.low = Count{fits + 1};
  v.high = Count{spills + 1};
  return v;
}

void add_registers(const Observations& all, const Known& known, Profile& to) {
  Registers& r = to.execution.registers;
  r.per = "unit";
  r.count = register_count(all, known.lanes);
  r.width = known_value(Bytes{known.lanes * 4.0}, Origin::measured, "the widest vectors that pay");
}

void add_issue(const Observations& all, Profile& to) {
  std::optional<Measured> best;
  std::string mix;
  for (const MixKind& m : kMixes) {
    const auto s = summarize(select(all, "mixes", m.name), Estimator::throughput);
    if (!s || s->clock_hz <= 0) continue;
    const Measured rate = inverse(*s, 1 / s->clock_hz);
    if (!best || rate.value > best->value) { best = rate; mix = m.name; }
  }
  to.execution.issue.per = "unit";
  to.execution.issue.rate =
      best ? rate_value(*best, kCore, fmt::format("best of {} mixes of independent operations: {}", kMixes.size(), mix))
           : unknown_value<Rate>("the mixes did not run");
}

// Elements per tick: best over vector widths (and numbers of chains).
struct Best {
  std::optional<Measured> rate;
  double lanes = 0, chains = 0;
};

// Ticks are counted by the clock under the same kind of load.
double clock_for(const Observations& all, const std::string& load, double lanes, const Summary& s) {
  const double clock = clock_under(all, load, lanes);
  return clock > 0 ? clock : s.clock_hz;
}

Best best_rate(const Observations& all, const std::string& experiment, const std::string& what,
               const std::string& load, double elements_per_sample) {
  Best best;
  const std::vector<Observation> blocks = select(all, experiment, what);
  std::vector<double> chains = values_of(blocks, "chains");
  if (chains.empty()) chains.push_back(0);
  for (const double lanes : values_of(blocks, "lanes"))
    for (const double c : chains) {
      Conditions at = {{"lanes", lanes}};
      if (c > 0) at["chains"] = c;
      const auto s = summarize(select(all, experiment, what, at), Estimator::throughput);
      if (!s || clock_for(all, load, lanes, *s) <= 0) continue;
      const double elements = elements_per_sample > 0 ? elements_per_sample : lanes;
      const Measured rate = inverse(*s, elements / clock_for(all, load, lanes, *s));
      if (!best.rate || rate.value > best.rate->value) best = {rate, lanes, c};
    }
  return best;
}

void add_pipe(Profile& to, const char* name, const Best& best, const std::string& method) {
  Pipe p{name, "unit", {}};
  if (best.rate) p.rate = rate_value(*best.rate, kCore, fmt::format("{}, vectors of {:.0f}", method, best.lanes));
  else p.rate = unknown_value<Rate>("not measured");
  to.pipes.push_back(std::move(p));
}

std::optional<Summary> chain_time(const Observations& all, const std::string& op, const Known& known) {
  const std::string experiment = op == "fma" ? "fma" : "operations";
  return summarize(select(all, experiment, op, {{"lanes", known.lanes}, {"chains", 1}}), Estimator::latency);
}

void add_operation(const Observations& all, const Known& known, const std::string& op, const Best& fma, Profile& to) {
  ComputeOp c{op, "f32", "fma", {}, {}};
  const Best own = op == "fma" ? fma : best_rate(all, "operations", op, "fma", 0);
  const auto chain = chain_time(all, op, known);
  if (!own.rate && !chain) return;
  if (own.rate && fma.rate) {
    const double slots = fma.rate->value / own.rate->value;
    c.slots = count_value({op == "fma" ? 1.0 : slots, op == "fma" ? 1.0 : fma.rate->value / own.rate->high,
                           op == "fma" ? 1.0 : fma.rate->value / own.rate->low, own.rate->n, own.rate->note},
                          "rate of multiply-adds over its own");
  }
  if (chain && clock_for(all, "fma", known.lanes, *chain) > 0)
    c.latency = latency_value(scaled(*chain, clock_for(all, "fma", known.lanes, *chain)), kCore,
                              op == "exp" ? "one chain, a change of sign included" : "one chain");
  to.compute.push_back(std::move(c));
}

}  // namespace

void infer_compute(const Observations& all, const Known& known, Profile& to) {
  add_lanes(all, to);
  add_registers(all, known, to);
  add_issue(all, to);
  const Best fma = best_rate(all, "fma", "fma", "fma", 0);
  const Best load = best_rate(all, "access", "read", "read", 0.25);   // samples are per byte
  const Best store = best_rate(all, "access", "write", "write", 0.25);
  add_pipe(to, "fma", fma, fma.rate ? fmt::format("{:.0f} independent chains", fma.chains) : "");
  add_pipe(to, "load", load, "vector loads from 16 KiB");
  add_pipe(to, "store", store, "vector stores to 16 KiB");
  add_operation(all, known, "fma", fma, to);
  for (const std::string& op : op_names()) add_operation(all, known, op, fma, to);
}

}  // namespace assay::probe
