#include "model/machine.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace assay::model {

namespace {

using hwdesc::Profile;

template <class Q>
double spread_of(const hwdesc::Value<Q>& v) {
  if (!v.known() || !v.low || !v.high || v.value->v == 0) return 0;
  return std::abs(v.high->v - v.low->v) / (2 * std::abs(v.value->v));
}

constexpr double kApartRun = 256;  // bytes of the runs that memory.*.bandwidth.apart_read is of
constexpr double kUnknownClock = 1e9;

class Resolver {
 public:
  explicit Resolver(const hwdesc::Target& target) : p_(target.profile), api_(target.api) {}

  Result<Machine> resolve() {
    m_.profile = p_.name;
    m_.simt = p_.execution.lanes.style == hwdesc::LaneStyle::simt;
    resolve_units();
    resolve_clock();
    resolve_lanes();
    resolve_pipes();
    resolve_launch();
    resolve_translation();
    for (const hwdesc::MemoryLevel& l : p_.memory) resolve_level(l);
    resolve_knees();
    // What a copy brings into a group's own memory comes as the cache behind it hands over.
    for (size_t l = m_.levels.size(); l-- > 1;)
      if (m_.levels[l - 1].on_chip_explicit) m_.levels[l - 1].line = m_.levels[l].line;
    check_clocks();
    if (m_.levels.empty()) fail("has no memory", "declare at least the memory that holds the tensors");
    else m_.levels.back().last = true;
    if (!diags_.empty()) return diags_;
    return m_;
  }

 private:
  void fail(const std::string& what, const std::string& hint) {
    diags_.push_back(error("profile " + p_.name + " " + what, hint));
  }

  Quantity assume(double value, const std::string& path, const std::string& why) {
    m_.assumptions.push_back(path + ": " + why);
    return {value, 0.3, true, path};
  }

  // How many instances of topology level `per` the device has.
  double instances_of(const std::string& per) const {
    double n = 1;
    if (per == "device" || per == "host") return 1;
    for (const hwdesc::TopologyLevel& t : p_.topology) {
      n *= t.count.known() ? t.count.value->v : 1;
      if (t.name == per) return n;
    }
    return 1;
  }
  // Instances of `per` inside one unit (partitions), or the fraction of one (halves).
  double per_unit(const std::string& per) const { return instances_of(per) / m_.units; }

  // Ticks per second of a value's clock; 1 where it counts in seconds.
  double ticks(const std::string& clock) const {
    if (clock.empty()) return 1;
    const double hz = hertz(clock);
    if (hz <= 0) missing_.insert(clock);
    return std::max(hz, 1.0);
  }

  double hertz(const std::string& clock) const {
    for (const hwdesc::Clock& c : p_.clocks) {
      if (c.name != clock) continue;
      const double max = c.max.known() ? c.max.value->v : 0;
      for (const char* load : {"fma", "all"})
        for (const auto& [name, value] : c.sustained)  // never above the clock without load
          if (name == load && value.known()) return max > 0 ? std::min(max, value.value->v) : value.value->v;
      return max;
    }
    return 0;
  }

  void resolve_units() {
    m_.units = instances_of("unit");
    const bool declared = std::any_of(p_.topology.begin(), p_.topology.end(),
                                      [](const auto& t) { return t.name == "unit" && t.count.known(); });
    if (!declared) fail("has no topology level `unit` with a count", "add `- {name: unit, count: ...}` to topology");
  }

  void resolve_clock() {
    m_.clock = hertz("core");
    if (m_.clock <= 0) m_.clock = assume(kUnknownClock, "clocks.core.max", "1 GHz, where only ratios of times count").value;
  }

  // A device without a counter is measured in seconds, and needs none.
  void check_clocks() {
    for (const std::string& clock : missing_) {
      const auto c = std::find_if(p_.clocks.begin(), p_.clocks.end(), [&](const hwdesc::Clock& k) { return k.name == clock; });
      fail(fmt::format("counts ticks of `{}`, {}", clock, c == p_.clocks.end() ? "which is no clock of it" : "whose frequency is not known"),
           fmt::format("add `clocks: {{{}: {{max: ... MHz}}}}`, or give those values in seconds", clock));
    }
  }

  void resolve_lanes() {
    for (const hwdesc::LaneMode& mode : p_.execution.lanes.modes)
      if (mode.width.known()) m_.widths.push_back(static_cast<int>(mode.width.value->v));
    std::sort(m_.widths.begin(), m_.widths.end());
    if (m_.widths.empty()) {
      m_.widths = {m_.simt ? 32 : 4};
      m_.assumptions.push_back("execution.lanes.modes: " + std::to_string(m_.widths[0]) + " lanes");
    }
    m_.native_width = m_.simt ? m_.widths.front() : m_.widths.back();
    const auto& r = p_.execution.registers;
    if (r.count.known()) {
      const double bytes = r.count.value->v * (r.width.known() ? r.width.value->v : 4.0) *
                           (m_.simt ? per_unit(r.per) : 1.0);
      m_.vector_registers = m_.simt ? bytes / (4.0 * m_.native_width) : r.count.value->v;
    } else {
      m_.vector_registers = m_.simt ? 512 : 16;
      m_.assumptions.push_back("execution.registers.count: " + std::to_string(static_cast<int>(m_.vector_registers)));
    }
    const auto& res = p_.execution.resident;
    m_.resident_groups = res.groups.known() ? res.groups.value->v : (m_.simt ? 16 : 1);
    m_.resident_waves = res.threads.known() ? res.threads.value->v / m_.native_width : (m_.simt ? 32 : 1);
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
      return {slots_of(pipe), spread_of(pipe.rate), false, "pipes." + name + ".rate", per_unit(pipe.per)};
    }
    return {};
  }

  // Vector instructions per second: lane-slots over the native width and the slots an element takes.
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
    Quantity q = assume(fallback.value / factor, "compute." + name + ".f32", "1/" + std::to_string(static_cast<int>(factor)) + " of the multiply-add rate");
    q.parts = fallback.parts;
    return q;
  }

  std::string pipe_of(const std::string& name) const {
    const hwdesc::ComputeOp* c = op(name);
    return c != nullptr ? c->pipe : m_.fma_pipe;
  }

  // What the modes of narrower vectors say of a pipe.
  std::vector<NarrowRate> narrow_rates(const std::string& name) const {
    std::vector<NarrowRate> out;
    for (const hwdesc::LaneMode& mode : p_.execution.lanes.modes)
      for (const hwdesc::Pipe& pipe : mode.pipes) {
        if (pipe.name != name || !pipe.rate.known() || !mode.width.known()) continue;
        out.push_back({static_cast<int>(mode.width.value->v), slots_of(pipe) / mode.width.value->v});
      }
    return ascending(std::move(out));
  }

  static std::vector<NarrowRate> ascending(std::vector<NarrowRate> rates) {
    std::sort(rates.begin(), rates.end(), [](const NarrowRate& a, const NarrowRate& b) { return a.lanes < b.lanes; });
    return rates;
  }

  Quantity lanes_apart(const std::string& name) const {
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
        if (c.op == name && c.dtype == "f32" && c.mode == mode.name && !c.mode.empty() && c.slots.known() && mode.width.known())
          out.push_back({static_cast<int>(mode.width.value->v), pipe(c.pipe).value / c.slots.value->v});
    return ascending(std::move(out));
  }

  // Instructions in the time of one of whole vectors.
  std::vector<NarrowRate> narrow_instructions(const std::string& name, const Quantity& whole) const {
    std::vector<NarrowRate> out = narrow_elements(name);
    for (NarrowRate& n : out) n.rate /= n.lanes * whole.value;
    return out.empty() ? m_.narrow_arithmetic : out;
  }

  double seconds(const hwdesc::Latency& l) const { return l.v / ticks(l.clock); }

  void resolve_pipes() {
    const hwdesc::ComputeOp* fma = op("fma");
    Quantity q = pipe(fma != nullptr ? fma->pipe : "fma");
    if (q.value <= 0) {
      fail("has no rate for multiply-adds", "add a pipe `fma` with a rate and `compute: [{op: fma, dtype: f32, pipe: fma}]`");
      return;
    }
    m_.fma_rate = instructions(q, fma != nullptr && fma->slots.known() ? fma->slots.value->v : 1.0);
    m_.fma_latency = fma != nullptr && fma->latency.known()
                         ? Quantity{seconds(*fma->latency.value), spread_of(fma->latency), false, "compute.fma.f32.latency"}
                         : assume(4 / m_.clock, "compute.fma.f32.latency", "4 cycles");
    const hwdesc::ComputeOp* update = op("update");
    if (update != nullptr && update->latency.known())
      m_.update_latency = {seconds(*update->latency.value), spread_of(update->latency), false, "compute.update.f32.latency"};
    const hwdesc::ComputeOp* add = op("add");
    m_.add_latency = add != nullptr && add->latency.known()
                         ? Quantity{seconds(*add->latency.value), spread_of(add->latency), false, "compute.add.f32.latency"}
                         : m_.fma_latency;
    const auto or_lsu = [&](const char* name) {
      Quantity p = pipe(name);
      if (p.value <= 0) p = pipe("lsu");
      if (p.value > 0) return instructions(p, 1.0);
      Quantity like = assume(m_.fma_rate.value, std::string("pipes.") + name, "as the multiply-add rate");
      like.parts = m_.fma_rate.parts;
      return like;
    };
    m_.load_rate = or_lsu("load");
    m_.store_rate = or_lsu("store");
    m_.narrow_arithmetic = narrow_rates(fma != nullptr ? fma->pipe : "fma");
    for (NarrowRate& n : m_.narrow_arithmetic) n.rate /= instructions(q, 1.0).value;
    m_.narrow_loads = narrow_rates("load");
    m_.narrow_stores = narrow_rates("store");
    m_.gather_rate = lanes_apart("gather");
    m_.scatter_rate = lanes_apart("scatter");
    m_.narrow_gathers = narrow_elements("gather");
    m_.narrow_scatters = narrow_elements("scatter");
    if (Quantity lanes = lanes_apart("splat"); lanes.value > 0) {
      m_.splat_rate = lanes;
      m_.splat_rate.value /= m_.native_width;
      m_.narrow_splats = narrow_elements("splat");
      for (NarrowRate& n : m_.narrow_splats) n.rate /= n.lanes;
    }
    m_.alu_rate = op_rate("add", m_.fma_rate, 1);
    m_.divide_rate = op_rate("div", m_.fma_rate, 16);
    m_.math_rate = op_rate("exp", m_.fma_rate, 32);
    m_.narrow_divides = narrow_instructions("div", m_.divide_rate);
    m_.narrow_math = narrow_instructions("exp", m_.math_rate);
    m_.fma_pipe = fma != nullptr ? fma->pipe : "fma";
    m_.alu_pipe = pipe_of("add");
    m_.divide_pipe = pipe_of("div");
    m_.math_pipe = pipe_of("exp");
    const auto& issue = p_.execution.issue;
    if (issue.rate.known()) {
      const hwdesc::Rate& r = *issue.rate.value;
      m_.issue_rate = {r.v * ticks(r.clock) * per_unit(issue.per), spread_of(issue.rate), false, "execution.issue.rate", per_unit(issue.per)};
    } else {
      m_.issue_rate = assume(4 * m_.clock, "execution.issue.rate", "4 per cycle");
      if (m_.simt) m_.issue_rate.parts = 4;
    }
  }

  Quantity time_or(const hwdesc::Value<hwdesc::Seconds>& v, double fallback, const std::string& path) {
    if (v.known()) return {v.value->v, spread_of(v), false, path};
    return assume(fallback, path, std::to_string(fallback * 1e6) + " us");
  }

  void resolve_launch() {
    const std::string base = "apis." + api_.name;
    // A schedule that runs inside one launch pays its barrier between steps, and its units are awake.
    if (api_.device_barrier.known())
      m_.launch = {api_.device_barrier.value->v, spread_of(api_.device_barrier), false, base + ".device_barrier"};
    else
      m_.launch = time_or(api_.launch.stream, m_.simt ? 3e-6 : 1e-6, base + ".launch.stream");
    if (api_.unit_join.known() && !api_.device_barrier.known())
      m_.unit_join = {api_.unit_join.value->v, spread_of(api_.unit_join), false, base + ".unit_join"};
    if (api_.launch.cold.known()) m_.cold = {api_.launch.cold.value->v, spread_of(api_.launch.cold), false, base + ".launch.cold"};
    if (api_.joined_lanes.known()) m_.joined_lanes = std::max(1, static_cast<int>(api_.joined_lanes.value->v));
    if (api_.joined_loads.known()) m_.joined_loads = std::max(1, static_cast<int>(api_.joined_loads.value->v));
    m_.group_start = time_or(api_.group_start, 50e-9, base + ".group_start");
    if (api_.group_barrier.known()) m_.group_barrier = {api_.group_barrier.value->v, spread_of(api_.group_barrier), false, base + ".group_barrier"};
    for (const hwdesc::WideBarrier& b : api_.wide_barrier)
      if (b.threads.known() && b.time.known())
        m_.wide_barriers.push_back({b.threads.value->v / m_.native_width, {b.time.value->v, spread_of(b.time), false, base + ".wide_barrier"}});
    std::sort(m_.wide_barriers.begin(), m_.wide_barriers.end(), [](const WideBarrier& a, const WideBarrier& b) { return a.waves < b.waves; });
  }

  void resolve_translation() {
    for (const hwdesc::TlbLevel& t : p_.tlb) {
      if (t.depth == 2) resolve_walks(t);
      if (t.depth != 1 || !t.entries.known() || !t.miss.known()) continue;
      if (t.page.known()) m_.page = t.page.value->v;
      m_.translations = t.entries.value->v;
      const bool passing = t.passing.known();  // of loads that do not wait for each other, as programs' do not
      const auto& cost = passing ? t.passing : t.miss;
      m_.translation = {seconds(*cost.value), spread_of(cost), false, passing ? "tlb.1.passing" : "tlb.1.miss"};
    }
  }

  void resolve_walks(const hwdesc::TlbLevel& t) {
    if (!t.entries.known() || !t.passing.known()) return;
    const double page = t.page.known() ? t.page.value->v : m_.page, entries = t.entries.value->v;
    Level& w = m_.walked;
    w.line = page;
    w.capacity = {page * (t.entries.low ? t.entries.low->v : entries), 0, false, "tlb.2.entries"};
    w.middle = page * entries;
    w.end = page * (t.entries.high ? t.entries.high->v : entries);
    w.latency = {seconds(*t.passing.value), spread_of(t.passing), false, "tlb.2.passing"};
  }

  Quantity bandwidth(const hwdesc::Value<hwdesc::Bandwidth>& v, const std::string& path) const {
    if (!v.known()) return {};
    return {v.value->v * ticks(v.value->clock), spread_of(v), false, path};
  }

  // The device's own; the host's lies behind it.
  bool is_farthest(const hwdesc::MemoryLevel& l) const {
    return std::none_of(p_.memory.begin() + (&l - p_.memory.data()) + 1, p_.memory.end(), [](const hwdesc::MemoryLevel& m) { return m.per != "host"; });
  }

  bool lies_farther_out(const hwdesc::MemoryLevel& l) const {
    const auto behind = p_.memory.begin() + (&l - p_.memory.data());
    return std::any_of(behind, p_.memory.end(), [&](const hwdesc::MemoryLevel& m) { return m.name == l.backed_by; });
  }

  // A power of two. Where nobody told the ways, they are at least 8.
  static double sets_of(const hwdesc::MemoryLevel& l, const Level& level) {
    const double bytes = l.capacity.known() ? l.capacity.value->v : level.capacity.value;
    const double sets = std::log2(std::max(1.0, bytes / ((l.ways.known() ? l.ways.value->v : 8.0) * level.line)));
    return std::exp2(l.ways.known() ? std::round(sets) : std::floor(sets));
  }

  void resolve_level(const hwdesc::MemoryLevel& l) {
    if (l.per == "host" || !l.link.empty() || !l.path.empty()) return;  // programs load from buffers
    if (lies_farther_out(l)) return;  // a name for a part of another memory, as near as the caches make it
    Level out;
    const std::string base = "memory." + l.name;
    out.name = l.name;
    out.instances = instances_of(l.per);
    // The device's, though it may have one unit only: one unit alone reaches less of it than all it can give.
    out.shared = out.instances < m_.units || (m_.units == 1 && l.per == "device");
    out.on_chip_explicit = l.managed == hwdesc::Managed::explicit_ && !is_farthest(l);
    if (l.knee.from.known())
      out.capacity = {l.knee.from.value->v, spread_of(l.knee.from), false, base + ".knee.from"};
    else if (l.capacity.known())
      out.capacity = {l.capacity.value->v, spread_of(l.capacity), false, base + ".capacity"};
    else
      out.capacity = assume(l.managed == hwdesc::Managed::automatic ? 32768.0 : 1e12, base + ".capacity", "not known");
    if (l.capacity.known()) out.middle = l.capacity.value->v;
    out.end = l.knee.to.known() ? l.knee.to.value->v : 1.5 * out.capacity.value;
    if (l.transaction.known()) out.line = l.transaction.value->v;
    else if (l.line.known()) out.line = l.line.value->v;
    out.whole_line = l.line.known() ? l.line.value->v : out.line;
    if (l.managed == hwdesc::Managed::automatic) out.sets = sets_of(l, out);
    resolve_streamed(l, base, out);
    const double users = m_.units / out.instances;
    resolve_bandwidth(l, base, users, out);
    if (l.latency.known()) out.latency = {seconds(*l.latency.value), spread_of(l.latency), false, base + ".latency"};
    else if (m_.simt) out.latency = usual_latency(l, out, base + ".latency");
    if (l.outstanding.lines.known()) out.misses_in_flight = l.outstanding.lines.value->v * per_unit(l.outstanding.per);
    out.write_allocates = l.write == hwdesc::WritePolicy::allocate || l.write == hwdesc::WritePolicy::unknown;
    if (!out.shared) resolve_others(l.bandwidth, base + ".bandwidth.");
    if (!out.shared && l.false_sharing.known()) m_.false_sharing = {seconds(*l.false_sharing.value), spread_of(l.false_sharing), false, base + ".false_sharing"};
    if (m_.levels.empty()) resolve_nearest(l.bandwidth, base + ".bandwidth.", out);
    m_.levels.push_back(std::move(out));
  }

  // Where nobody has measured what waves wait for: what they do on the library's GPUs where somebody has, whose own memories lie 23 to
  // 48 ticks away, first caches 30 to 125, second ones 211 to 266, far memories 317 to 405 ns.
  Quantity usual_latency(const hwdesc::MemoryLevel& l, const Level& level, const std::string& path) {
    constexpr double kOwnMemory = 25, kFirst = 32, kFurther = 220, kFar = 400e-9;
    const bool first = std::none_of(m_.levels.begin(), m_.levels.end(), [](const Level& before) { return !before.on_chip_explicit; });
    Quantity q = level.on_chip_explicit ? assume(kOwnMemory / m_.clock, path, "25 ticks")
                 : is_farthest(l)       ? assume(kFar, path, "400 ns")
                 : first                ? assume(kFirst / m_.clock, path, "32 ticks")
                                        : assume(kFurther / m_.clock, path, "220 ticks");
    if (!m_.levels.empty()) q.value = std::max(q.value, m_.levels.back().latency.value);
    return q;
  }

  // Loads and stores side by side, and one after the other where what is loaded was just stored.
  void resolve_nearest(const hwdesc::MemoryBandwidth& b, const std::string& base, const Level& nearest) {
    const double copy = bandwidth(b.copy, base + "copy").value;
    if (copy > 0) m_.together = std::clamp(2 / copy / (1 / nearest.read.value + 1 / nearest.write.value), 0.5, 1.0);
    if (m_.update_latency.value <= 0) m_.update_latency = {nearest.latency.value + m_.fma_latency.value, nearest.latency.spread, true, "compute.update.f32.latency"};
  }

  void resolve_others(const hwdesc::MemoryBandwidth& b, const std::string& base) {
    if (b.handed.known()) m_.handed = bandwidth(b.handed, base + "handed");
    if (b.taken.known()) m_.taken = bandwidth(b.taken, base + "taken");
    if (b.reclaimed.known()) m_.reclaimed = bandwidth(b.reclaimed, base + "reclaimed");
  }

  // What programs do is stream. Nine tenths are held at `from`, one tenth at `to`: the ends lie where those lines,
  // drawn on, reach all and nothing.
  void resolve_streamed(const hwdesc::MemoryLevel& l, const std::string& base, Level& out) {
    const hwdesc::Streamed& s = l.streamed;
    if (!s.from.known()) return;
    const double from = s.from.value->v;
    double to = s.to.known() ? s.to.value->v : 0;
    if (!s.to.known()) {
      to = s.middle.known() ? s.middle.value->v / from * s.middle.value->v : std::max(out.end, 2 * from);
      m_.assumptions.push_back(base + ".streamed.to: " + (s.middle.known() ? "as far beyond the middle as `from` is before it" : "the knee's end, at least twice `from`"));
    }
    out.streamed = true;
    out.middle = s.middle.known() ? s.middle.value->v : std::sqrt(from * to);
    out.middle_held = 0.5;
    out.capacity = {from * std::pow(from / out.middle, 0.25), spread_of(s.from), false, base + ".streamed.from"};
    out.end = to * std::pow(to / out.middle, 0.25);
  }

  // A probe's capacity is where the latency crosses the geometric middle of two levels: so much of it hits there.
  void resolve_knees() {
    for (size_t l = 0; l + 1 < m_.levels.size(); ++l) {
      Level& level = m_.levels[l];
      if (level.streamed) continue;
      const double near = level.latency.value, far = m_.levels[l + 1].latency.value;
      if (near <= 0 || far <= near || level.middle <= level.capacity.value || level.middle >= level.end)
        level.middle = 0;
      else
        level.middle_held = (far - std::sqrt(near * far)) / (far - near);
    }
  }

  void resolve_bandwidth(const hwdesc::MemoryLevel& l, const std::string& base, double users, Level& out) {
    out.read = bandwidth(l.bandwidth.read, base + ".bandwidth.read");
    if (out.read.value <= 0) out.read = bandwidth(l.bandwidth.copy, base + ".bandwidth.copy");
    if (out.read.value <= 0)
      out.read = m_.levels.empty() ? assume(m_.load_rate.value * m_.native_width * 4 * users, base + ".bandwidth.read", "as the load pipe")
                                   : assume(m_.levels.back().read.value * m_.levels.back().instances / 2 / out.instances, base + ".bandwidth.read", "half of the nearer memory's");
    out.write = bandwidth(l.bandwidth.write, base + ".bandwidth.write");
    if (out.write.value <= 0) out.write = assume(out.read.value / 2, base + ".bandwidth.write", "half of read");
    const double copy = bandwidth(l.bandwidth.copy, base + ".bandwidth.copy").value;
    if (copy > 0) out.together = std::clamp(2 / copy / (1 / out.read.value + 1 / out.write.value), 0.5, 1.0);
    out.per_unit_read = bandwidth(l.bandwidth.per_unit, base + ".bandwidth.per_unit");
    if (out.per_unit_read.value <= 0) {
      out.per_unit_read = out.read;
      if (out.shared) out.per_unit_read.value = std::min(out.read.value, 4 * out.read.value / users);
    }
    out.per_unit_write = out.write;
    out.per_unit_write.value = out.write.value * out.per_unit_read.value / out.read.value;
    const auto slower = [&](const hwdesc::Value<hwdesc::Bandwidth>& apart, const Quantity& whole) {
      return apart.known() ? std::max(1.0, whole.value / bandwidth(apart, "").value) : 1;
    };
    out.apart_read = slower(l.bandwidth.apart_read, out.read);
    out.apart_write = slower(l.bandwidth.apart_write, out.write);
    if (l.bandwidth.apart_read.known()) out.run_start = kApartRun * users / out.read.value * (out.apart_read - 1);
    if (l.bandwidth.sharpness.known()) out.sharpness = l.bandwidth.sharpness.value->v;
  }

  const Profile& p_;
  const hwdesc::Api& api_;
  Machine m_;
  Diags diags_;
  mutable std::set<std::string> missing_;  // clocks whose ticks values count, though nobody knows how long those are
};

}  // namespace

double group_barrier_of(const Machine& m, double waves) {
  double below = 1, time = m.group_barrier.value;
  for (const WideBarrier& b : m.wide_barriers) {
    if (time <= 0) time = b.time.value;  // of one wave nothing is known: no longer than of the smallest group
    if (waves <= b.waves) return waves <= below ? time : time + (b.time.value - time) * (waves - below) / (b.waves - below);
    below = b.waves;
    time = b.time.value;
  }
  return time;
}

Result<Machine> prepare(const hwdesc::Target& target) { return Resolver(target).resolve(); }

}  // namespace assay::model
