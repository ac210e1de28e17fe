#include "model/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "lower/count.h"
#include "model/constants.h"
#include "model/resolving.h"

namespace assay::model {

namespace {

constexpr double kUnknownClock = 1e9;

class Resolver : Resolving {
 public:
  Resolver(const hwdesc::Target& target, Resolution& out)
      : Resolving(target, out), target_(target) {}

  void resolve() {
    m_.profile = p_.name;
    m_.simt = p_.execution.lanes.style == hwdesc::LaneStyle::simt;
    m_.conditions = target_.dialect.conditions;
    m_.merges = target_.dialect.merges;
    m_.copies_overlap = hwdesc::copies_overlap(p_);
    m_.copies_multicast = hwdesc::copies_multicast(p_);
    resolve_units();
    resolve_clock();
    resolve_lanes();
    resolve_pipes();
    resolve_launch();
    resolve_memories(target_, out_);
    check_clocks();
  }

 private:
  void resolve_units() {
    m_.units = instances_of("unit");
    const bool declared = std::any_of(p_.topology.begin(), p_.topology.end(), [](const auto& t) {
      return t.name == "unit" && t.count.known();
    });
    if (!declared)
      fail("has no topology level `unit` with a count",
           "add `- {name: unit, count: ...}` to topology");
  }

  void resolve_clock() {
    m_.clock = hertz("core");
    if (m_.clock <= 0)
      m_.clock =
          assume(kUnknownClock, "clocks.core.max", "1 GHz, where only ratios of times count").value;
  }

  // A device without a counter is measured in seconds, and needs none.
  void check_clocks() {
    for (const std::string& clock : out_.unknown_clocks) {
      const auto c = std::find_if(p_.clocks.begin(), p_.clocks.end(),
                                  [&](const hwdesc::Clock& k) { return k.name == clock; });
      fail(fmt::format(
               "counts ticks of `{}`, {}", clock,
               c == p_.clocks.end() ? "which is no clock of it" : "whose frequency is not known"),
           fmt::format("add `clocks: {{{}: {{max: ... MHz}}}}`, or give those values in seconds",
                       clock));
    }
  }

  void resolve_lanes() {
    for (const hwdesc::LaneMode& mode : p_.execution.lanes.modes)
      if (mode.width.known()) m_.widths.push_back(static_cast<int>(mode.width.value->v));
    std::sort(m_.widths.begin(), m_.widths.end());
    if (m_.widths.empty()) {
      m_.widths = {static_cast<int>(m_.simt ? defaults::kWaveLanes : defaults::kVectorLanes)};
      m_.assumptions.push_back("execution.lanes.modes: " + std::to_string(m_.widths[0]) + " lanes");
    }
    m_.native_width = m_.simt ? m_.widths.front() : m_.widths.back();
    const auto& r = p_.execution.registers;
    if (r.count.known()) {
      const double bytes = r.count.value->v * (r.width.known() ? r.width.value->v : 4.0) *
                           (m_.simt ? per_unit(r.per) : 1.0);
      m_.vector_registers = m_.simt ? bytes / (4.0 * m_.native_width) : r.count.value->v;
    } else {
      m_.vector_registers = m_.simt ? defaults::kWaveRegisters : defaults::kVectorRegisters;
      m_.assumptions.push_back("execution.registers.count: " +
                               std::to_string(static_cast<int>(m_.vector_registers)));
    }
    const auto& res = p_.execution.resident;
    m_.resident_groups =
        res.groups.known() ? res.groups.value->v : (m_.simt ? defaults::kGroups : 1);
    m_.resident_waves = res.threads.known() ? res.threads.value->v / m_.native_width
                                            : (m_.simt ? defaults::kWaves : 1);
  }

  // Lane-slots per second of one unit. Pre: the rate is known.
  double slots_of(const hwdesc::Pipe& pipe) const {
    const hwdesc::Rate& r = *pipe.rate.value;
    return r.v * ticks(r.clock) * per_unit(pipe.per);
  }

  // The same of a pipe by name; 0 when there is none.
  Quantity pipe(const std::string& name) const {
    for (size_t i = 0; i < p_.pipes.size(); ++i) {
      const hwdesc::Pipe& pipe = p_.pipes[i];
      if (pipe.name != name || !pipe.rate.known()) continue;
      return {slots_of(pipe), spread_of(pipe.rate), false, "pipes." + name + ".rate",
              per_unit(pipe.per)};
    }
    return {};
  }

  // Vector instructions per second: lane-slots over the native width and the slots an element
  // takes.
  Quantity instructions(Quantity slots, double slots_per_element) const {
    slots.value /= m_.native_width * slots_per_element;
    return slots;
  }

  const hwdesc::ComputeOp* op(const std::string& name) const {
    for (const hwdesc::ComputeOp& c : p_.compute)
      if (c.op == name && c.dtype == "f32" && c.mode.empty()) return &c;
    return nullptr;
  }

  // Rate of an operation through its pipe, or `fallback` divided by `factor`, as an assumption.
  Quantity op_rate(const std::string& name, const Quantity& fallback, double factor) {
    const hwdesc::ComputeOp* c = op(name);
    if (c != nullptr) {
      Quantity q = pipe(c->pipe);
      if (q.value > 0) {
        Quantity r = instructions(q, c->slots.known() ? c->slots.value->v : 1.0);
        r.spread += spread_of(c->slots);
        r.path = "compute." + name + ".f32";
        return r;
      }
    }
    Quantity q =
        assume(fallback.value / factor, "compute." + name + ".f32",
               "1/" + std::to_string(static_cast<int>(factor)) + " of the multiply-add rate");
    q.parts = fallback.parts;
    return q;
  }

  std::string pipe_of(const std::string& name) const {
    const hwdesc::ComputeOp* c = op(name);
    return c != nullptr ? c->pipe : m_.fma_pipe;
  }

  // Rates of a pipe in the modes of narrower vectors.
  std::vector<NarrowRate> narrow_rates(const std::string& name) const {
    std::vector<NarrowRate> out;
    for (const hwdesc::LaneMode& mode : p_.execution.lanes.modes)
      for (const hwdesc::Pipe& pipe : mode.pipes) {
        if (pipe.name != name || !pipe.rate.known() || !mode.width.known()) continue;
        out.push_back(
            {static_cast<int>(mode.width.value->v), slots_of(pipe) / mode.width.value->v});
      }
    return ascending(std::move(out));
  }

  static std::vector<NarrowRate> ascending(std::vector<NarrowRate> rates) {
    std::sort(rates.begin(), rates.end(),
              [](const NarrowRate& a, const NarrowRate& b) { return a.lanes < b.lanes; });
    return rates;
  }

  Quantity divergent_lanes(const std::string& name) const {
    const hwdesc::ComputeOp* c = op(name);
    if (c == nullptr || !c->slots.known()) return {};
    Quantity q = pipe(c->pipe);
    q.value /= c->slots.value->v;
    q.spread += spread_of(c->slots);
    q.path = "compute." + name + ".f32";
    return q;
  }

  std::vector<NarrowRate> narrow_elements(const std::string& name) const {
    std::vector<NarrowRate> out;
    for (const hwdesc::LaneMode& mode : p_.execution.lanes.modes)
      for (const hwdesc::ComputeOp& c : p_.compute)
        if (c.op == name && c.dtype == "f32" && c.mode == mode.name && !c.mode.empty() &&
            c.slots.known() && mode.width.known())
          out.push_back(
              {static_cast<int>(mode.width.value->v), pipe(c.pipe).value / c.slots.value->v});
    return ascending(std::move(out));
  }

  // Instructions in the time of one of whole vectors.
  std::vector<NarrowRate> narrow_instructions(const std::string& name,
                                              const Quantity& whole) const {
    std::vector<NarrowRate> out = narrow_elements(name);
    for (NarrowRate& n : out) n.rate /= n.lanes * whole.value;
    return out.empty() ? m_.narrow_arithmetic : out;
  }

  void resolve_pipes() {
    const hwdesc::ComputeOp* fma = op("fma");
    Quantity q = pipe(fma != nullptr ? fma->pipe : "fma");
    if (q.value <= 0) {
      fail("has no rate for multiply-adds",
           "add a pipe `fma` with a rate and `compute: [{op: fma, dtype: f32, pipe: fma}]`");
      return;
    }
    m_.fma_rate = instructions(q, fma != nullptr && fma->slots.known() ? fma->slots.value->v : 1.0);
    m_.fma_latency =
        fma != nullptr && fma->latency.known()
            ? Quantity{seconds(*fma->latency.value), spread_of(fma->latency), false,
                       "compute.fma.f32.latency"}
            : assume(defaults::kFmaCycles / m_.clock, "compute.fma.f32.latency", "4 cycles");
    const hwdesc::ComputeOp* update = op("update");
    if (update != nullptr && update->latency.known())
      m_.update_latency = {seconds(*update->latency.value), spread_of(update->latency), false,
                           "compute.update.f32.latency"};
    const hwdesc::ComputeOp* add = op("add");
    m_.add_latency = add != nullptr && add->latency.known()
                         ? Quantity{seconds(*add->latency.value), spread_of(add->latency), false,
                                    "compute.add.f32.latency"}
                         : m_.fma_latency;
    const auto or_lsu = [&](const char* name) {
      Quantity p = pipe(name);
      if (p.value <= 0) p = pipe("lsu");
      if (p.value > 0) return instructions(p, 1.0);
      Quantity like =
          assume(m_.fma_rate.value, std::string("pipes.") + name, "as the multiply-add rate");
      like.parts = m_.fma_rate.parts;
      return like;
    };
    m_.load_rate = or_lsu("load");
    m_.store_rate = or_lsu("store");
    m_.narrow_arithmetic = narrow_rates(fma != nullptr ? fma->pipe : "fma");
    for (NarrowRate& n : m_.narrow_arithmetic) n.rate /= instructions(q, 1.0).value;
    m_.narrow_loads = narrow_rates("load");
    m_.narrow_stores = narrow_rates("store");
    m_.gather_rate = divergent_lanes("gather");
    m_.scatter_rate = divergent_lanes("scatter");
    m_.narrow_gathers = narrow_elements("gather");
    m_.narrow_scatters = narrow_elements("scatter");
    if (Quantity lanes = divergent_lanes("splat"); lanes.value > 0) {
      m_.splat_rate = lanes;
      m_.splat_rate.value /= m_.native_width;
      m_.narrow_splats = narrow_elements("splat");
      for (NarrowRate& n : m_.narrow_splats) n.rate /= n.lanes;
    }
    m_.alu_rate = op_rate("add", m_.fma_rate, 1);
    m_.divide_rate = op_rate("div", m_.fma_rate, defaults::kDivideTime);
    m_.math_rate = op_rate("exp", m_.fma_rate, lower::kExpInstructions);
    m_.narrow_divides = narrow_instructions("div", m_.divide_rate);
    m_.narrow_math = narrow_instructions("exp", m_.math_rate);
    m_.fma_pipe = fma != nullptr ? fma->pipe : "fma";
    m_.alu_pipe = pipe_of("add");
    m_.divide_pipe = pipe_of("div");
    m_.math_pipe = pipe_of("exp");
    const auto& issue = p_.execution.issue;
    if (issue.rate.known()) {
      const hwdesc::Rate& r = *issue.rate.value;
      m_.issue_rate = {r.v * ticks(r.clock) * per_unit(issue.per), spread_of(issue.rate), false,
                       "execution.issue.rate", per_unit(issue.per)};
    } else {
      m_.issue_rate =
          assume(defaults::kIssueSlots * m_.clock, "execution.issue.rate", "4 per cycle");
      if (m_.simt) m_.issue_rate.parts = defaults::kPartitions;
    }
    if (!m_.simt) resolve_window();
  }

  // A core of more issue slots has a larger window, so that it hides about as many cycles.
  void resolve_window() {
    const double slots = m_.issue_rate.value / m_.clock;
    const bool in_order = slots <= defaults::kInOrderSlots;
    const double per_slot = in_order ? defaults::kInOrderWindowPerSlot : defaults::kWindowPerSlot;
    m_.window =
        p_.execution.window.known()
            ? p_.execution.window.value->v
            : assume(per_slot * slots, "execution.window",
                     fmt::format("{} instructions for each issue slot of a cycle", per_slot))
                  .value;
    m_.hidden_latency = m_.window / m_.issue_rate.value;
    m_.prefetch_streams =
        p_.execution.prefetch_streams.known()
            ? p_.execution.prefetch_streams.value->v
            : assume(defaults::kPrefetchStreams, "execution.prefetch_streams", "16 streams").value;
  }

  Quantity time_or(const hwdesc::Value<hwdesc::Seconds>& v, double fallback,
                   const std::string& path) {
    if (v.known()) return {v.value->v, spread_of(v), false, path};
    return assume(fallback, path, std::to_string(fallback * 1e6) + " us");
  }

  void resolve_launch() {
    const std::string base = "apis." + api_.name;
    // A schedule inside one launch pays its barrier between steps, and no wake-up skew.
    if (api_.device_barrier.known())
      m_.launch = {api_.device_barrier.value->v, spread_of(api_.device_barrier), false,
                   base + ".device_barrier"};
    else
      m_.launch =
          time_or(api_.launch.stream, m_.simt ? defaults::kWaveLaunch : defaults::kCoreLaunch,
                  base + ".launch.stream");
    if (api_.wakeup_skew.known() && !api_.device_barrier.known())
      m_.wakeup_skew = {api_.wakeup_skew.value->v, spread_of(api_.wakeup_skew), false,
                        base + ".wakeup_skew"};
    if (api_.launch.cold.known())
      m_.cold_code = {api_.launch.cold.value->v, spread_of(api_.launch.cold), false,
                      base + ".launch.cold"};
    if (api_.launch.uncached.known())
      m_.uncached_code = {api_.launch.uncached.value->v, spread_of(api_.launch.uncached), false,
                          base + ".launch.uncached"};
    if (api_.slp_lanes.known())
      m_.slp_lanes = std::max(1, static_cast<int>(api_.slp_lanes.value->v));
    if (api_.merged_loads.known())
      m_.merged_loads = std::max(1, static_cast<int>(api_.merged_loads.value->v));
    if (api_.unrolled.known()) m_.unrolled = std::max(1, static_cast<int>(api_.unrolled.value->v));
    m_.group_start = time_or(api_.group_start, defaults::kGroupStart, base + ".group_start");
    if (api_.group_barrier.known())
      m_.group_barrier = {api_.group_barrier.value->v, spread_of(api_.group_barrier), false,
                          base + ".group_barrier"};
    for (const hwdesc::WideBarrier& b : api_.wide_barrier)
      if (b.threads.known() && b.time.known())
        m_.wide_barriers.push_back(
            {b.threads.value->v / m_.native_width,
             {b.time.value->v, spread_of(b.time), false, base + ".wide_barrier"}});
    for (const hwdesc::BarrierPoint& b : api_.coresident_barrier)
      if (b.groups.known() && b.time.known())
        m_.resident_barriers.push_back(
            {b.groups.value->v,
             {b.time.value->v, spread_of(b.time), false, base + ".coresident_barrier"}});
    std::ranges::sort(m_.resident_barriers, {}, &ResidentBarrier::groups);
    std::sort(m_.wide_barriers.begin(), m_.wide_barriers.end(),
              [](const WideBarrier& a, const WideBarrier& b) { return a.waves < b.waves; });
  }

  const hwdesc::Target& target_;
};

}  // namespace

double group_barrier_of(const Machine& m, double waves) {
  double below = 1, time = m.group_barrier.value;
  for (const WideBarrier& b : m.wide_barriers) {
    if (time <= 0)
      time = b.time.value;  // not known of one wave: at most that of the smallest group
    if (waves <= b.waves)
      return waves <= below ? time
                            : time + (b.time.value - time) * (waves - below) / (b.waves - below);
    below = b.waves;
    time = b.time.value;
  }
  return time;
}

double resident_barrier_of(const Machine& m, double groups) {
  const ResidentBarrier* below = nullptr;
  for (const ResidentBarrier& b : m.resident_barriers) {
    if (groups <= b.groups)
      return below == nullptr ? b.time.value
                              : std::lerp(below->time.value, b.time.value,
                                          (groups - below->groups) / (b.groups - below->groups));
    below = &b;
  }
  return below == nullptr ? 0 : below->time.value;
}

const Level& nearest_cache(const Machine& m) {
  return *std::find_if(m.levels.begin(), m.levels.end() - 1,
                       [](const Level& l) { return !l.is_scratchpad; });
}

Result<Machine> prepare(const hwdesc::Target& target, const Scaled& scaled,
                        std::span<const ir::MatrixInstruction> described) {
  Resolution out;
  out.scaled = scaled;
  Resolver(target, out).resolve();
  resolve_types(target, described, out);
  if (!out.diags.empty()) return out.diags;
  out.machine.residuals = program_residuals();
  return out.machine;
}

}  // namespace assay::model
