// Memories and TLBs.
#include <algorithm>
#include <cmath>

#include "model/constants.h"
#include "model/overlap.h"
#include "model/resolving.h"

namespace assay::model {

namespace {

// Nine tenths are held at `from`, half at `middle`, all at from (from / middle) to this power.
constexpr double kPastTail = kTail / (0.5 - kTail);

class Memories : Resolving {
 public:
  Memories(const hwdesc::Target& target, Resolution& out) : Resolving(target, out) {}

  void resolve() {
    resolve_translation();
    for (const hwdesc::MemoryLevel& l : p_.memory) resolve_level(l);
    resolve_knees();
    resolve_set_conflicts();
    // A copy fills a scratchpad by transactions of the cache behind it.
    for (size_t l = m_.levels.size(); l-- > 1;)
      if (m_.levels[l - 1].is_scratchpad) m_.levels[l - 1].line = m_.levels[l].line;
    if (m_.levels.empty())
      fail("has no memory", "declare at least the memory that holds the tensors");
    else
      m_.levels.back().last = true;
    resolve_host_link();
  }

 private:
  // Of threads, what the profile says of the host's memory; where it knows one direction, the other
  // is taken as equal. A core that copies reads and writes one after the other.
  void resolve_host_link() {
    for (const hwdesc::MemoryLevel& l : p_.memory) {
      if (l.per != "host") continue;
      const std::string base = "memory." + l.name;
      HostLink link{bandwidth(l.bandwidth.read, base + ".bandwidth.read"),
                    bandwidth(l.bandwidth.write, base + ".bandwidth.write"),
                    {}};
      const auto as_other = [](Quantity& to, const Quantity& other) {
        if (to.value <= 0) to = {other.value, other.spread, true, other.path};
      };
      as_other(link.to_device, link.from_device);
      as_other(link.from_device, link.to_device);
      if (link.to_device.value <= 0) return;
      if (l.latency.known())
        link.latency = {seconds(*l.latency.value), spread_of(l.latency), false, base + ".latency"};
      m_.host_link = link;
      return;
    }
    if (m_.simt || m_.levels.empty()) return;
    const Level& far = m_.levels.back();
    const double copy = 1 / (1 / far.per_unit_read.value + 1 / far.per_unit_write.value);
    const Quantity both{copy, far.per_unit_read.spread, true, far.per_unit_read.path};
    m_.host_link = HostLink{both, both, {}};
  }

  void resolve_translation() {
    for (const hwdesc::TlbLevel& t : p_.tlb) {
      if (t.depth == 2) resolve_walks(t);
      if (t.depth != 1 || !t.entries.known() || !t.miss.known()) continue;
      if (t.page.known()) m_.page = t.page.value->v;
      m_.tlb_entries = t.entries.value->v;
      const bool passing = t.overlapped_miss.known();  // of independent loads, as programs' are
      const auto& cost = passing ? t.overlapped_miss : t.miss;
      m_.tlb_miss = {seconds(*cost.value), spread_of(cost), false,
                     passing ? "tlb.1.overlapped_miss" : "tlb.1.miss"};
    }
  }

  void resolve_walks(const hwdesc::TlbLevel& t) {
    if (!t.entries.known() || !t.overlapped_miss.known()) return;
    const double page = t.page.known() ? t.page.value->v : m_.page, entries = t.entries.value->v;
    Level& w = m_.second_tlb;
    w.line = page;
    w.capacity = {page * (t.entries.low ? t.entries.low->v : entries), 0, false, "tlb.2.entries"};
    w.middle = page * entries;
    w.end = page * (t.entries.high ? t.entries.high->v : entries);
    w.latency = {seconds(*t.overlapped_miss.value), spread_of(t.overlapped_miss), false,
                 "tlb.2.overlapped_miss"};
  }

  // Of the device: the host's memory is farther.
  bool is_farthest(const hwdesc::MemoryLevel& l) const {
    return std::none_of(p_.memory.begin() + (&l - p_.memory.data()) + 1, p_.memory.end(),
                        [](const hwdesc::MemoryLevel& m) { return m.per != "host"; });
  }

  bool lies_farther_out(const hwdesc::MemoryLevel& l) const {
    const auto behind = p_.memory.begin() + (&l - p_.memory.data());
    return std::any_of(behind, p_.memory.end(),
                       [&](const hwdesc::MemoryLevel& m) { return m.name == l.backed_by; });
  }

  // Where they were not measured: a set that is full takes a line once the one before has come from
  // the next cache. One that is written back comes and leaves.
  void resolve_set_conflicts() {
    if (m_.simt || m_.levels.size() < 2) return;
    const std::string path = "memory." + m_.levels[0].name + ".set_conflict";
    const auto assume = [](const Quantity& from, double times, const std::string& name,
                           Quantity& to) {
      if (to.value <= 0 && from.value > 0) to = {from.value * times, from.spread, true, name};
    };
    assume(m_.levels[1].latency, 1, path, m_.set_conflict);
    assume(m_.set_conflict, 2, path + "_dirty", m_.set_conflict_dirty);
  }

  // A power of two. Where sets are hashed, it is measured by how many lines at page strides
  // conflict. Unknown ways are assumed to be at least 8.
  static double sets_of(const hwdesc::MemoryLevel& l, const Level& level) {
    const double bytes = l.capacity.known() ? l.capacity.value->v : level.capacity.value;
    if (!l.ways.known() && l.page_stride_lines.known())
      return std::exp2(
          std::round(std::log2(std::max(1.0, bytes / level.line / l.page_stride_lines.value->v))));
    const double sets = std::log2(
        std::max(1.0, bytes / ((l.ways.known() ? l.ways.value->v : defaults::kWays) * level.line)));
    return std::exp2(l.ways.known() ? std::round(sets) : std::floor(sets));
  }

  void resolve_level(const hwdesc::MemoryLevel& l) {
    if (l.per == "host" || !l.link.empty() || !l.path.empty())
      return;                         // programs load from buffers
    if (lies_farther_out(l)) return;  // a part of another memory, behind the same caches
    Level out;
    const std::string base = "memory." + l.name;
    out.name = l.name;
    out.instances = instances_of(l.per);
    // A memory of the device is shared even if there is one unit, which alone reaches less than its
    // limit.
    out.shared = out.instances < m_.units || (m_.units == 1 && l.per == "device");
    out.is_scratchpad = l.managed == hwdesc::Managed::explicit_ && !is_farthest(l);
    if (l.knee.from.known())
      out.capacity = {l.knee.from.value->v, spread_of(l.knee.from), false, base + ".knee.from"};
    else if (l.capacity.known())
      out.capacity = {l.capacity.value->v, spread_of(l.capacity), false, base + ".capacity"};
    else
      out.capacity =
          assume(l.managed == hwdesc::Managed::automatic ? defaults::kFirstCacheBytes : 1e12,
                 base + ".capacity", "not known");
    if (l.capacity.known()) out.middle = l.capacity.value->v;
    out.end = l.knee.to.known() ? l.knee.to.value->v : defaults::kKneeWidth * out.capacity.value;
    if (l.transaction.known())
      out.line = l.transaction.value->v;
    else if (l.line.known())
      out.line = l.line.value->v;
    out.whole_line = l.line.known() ? l.line.value->v : out.line;
    if (l.managed == hwdesc::Managed::automatic) out.sets = sets_of(l, out);
    resolve_streamed(l, base, out);
    const double users = m_.units / out.instances;
    resolve_bandwidth(l, base, users, out);
    if (l.latency.known())
      out.latency = {seconds(*l.latency.value), spread_of(l.latency), false, base + ".latency"};
    else if (m_.simt)
      out.latency = usual_latency(l, out, base + ".latency");
    out.overlap = overlap_of(l, out, base + ".overlap");
    out.outstanding_misses = defaults::kOutstandingMisses;
    if (l.outstanding.lines.known())
      out.outstanding_misses = l.outstanding.lines.value->v * per_unit(l.outstanding.per);
    resolve_hit_curve(l.single_use_retention, out.single_use_retention);
    resolve_hit_curve(l.reuse_retention, out.reuse_retention);
    out.co_tenant_eviction = bandwidth(l.co_tenant_eviction, base + ".co_tenant_eviction");
    out.write_allocates =
        l.write == hwdesc::WritePolicy::allocate || l.write == hwdesc::WritePolicy::unknown;
    if (!out.shared) resolve_others(l.bandwidth, base + ".bandwidth.");
    if (!out.shared && l.false_sharing.known())
      m_.false_sharing = {seconds(*l.false_sharing.value), spread_of(l.false_sharing), false,
                          base + ".false_sharing"};
    if (m_.levels.empty()) resolve_nearest(l.bandwidth, base + ".bandwidth.", out);
    if (m_.levels.empty() && l.set_conflict.known())
      m_.set_conflict = {seconds(*l.set_conflict.value), spread_of(l.set_conflict), false,
                         base + ".set_conflict"};
    if (m_.levels.empty() && l.set_conflict_dirty.known())
      m_.set_conflict_dirty = {seconds(*l.set_conflict_dirty.value),
                               spread_of(l.set_conflict_dirty), false,
                               base + ".set_conflict_dirty"};
    m_.levels.push_back(std::move(out));
  }

  Quantity usual_latency(const hwdesc::MemoryLevel& l, const Level& level,
                         const std::string& path) {
    using namespace defaults;
    const bool first = std::none_of(m_.levels.begin(), m_.levels.end(),
                                    [](const Level& before) { return !before.is_scratchpad; });
    Quantity q = level.is_scratchpad ? assume(kScratchpadTicks / m_.clock, path, "25 ticks")
                 : is_farthest(l)    ? assume(kFar, path, "400 ns")
                 : first             ? assume(kFirstTicks / m_.clock, path, "32 ticks")
                                     : assume(kFurtherTicks / m_.clock, path, "220 ticks");
    if (!m_.levels.empty()) q.value = std::max(q.value, m_.levels.back().latency.value);
    return q;
  }

  // By default, as much of a line's time as the reorder window hides of its latency.
  Quantity overlap_of(const hwdesc::MemoryLevel& l, const Level& level, const std::string& path) {
    if (l.overlap.known()) return {l.overlap.value->v, spread_of(l.overlap), false, path};
    if (m_.simt || level.latency.value <= 0) return {level.shared ? 0.0 : 1.0, 0, false, path};
    return {hidden_fraction(level.latency.value, m_.hidden_latency), 0,
            !p_.execution.window.known(), "execution.window"};
  }

  // Concurrent loads and stores; and serialised ones, where a load needs the store before it.
  void resolve_nearest(const hwdesc::MemoryBandwidth& b, const std::string& base,
                       const Level& nearest) {
    const double copy = bandwidth(b.copy, base + "copy").value;
    if (copy > 0)
      m_.load_store_serialisation =
          std::clamp(2 / copy / (1 / nearest.read.value + 1 / nearest.write.value), 0.5, 1.0);
    if (m_.update_latency.value <= 0)
      m_.update_latency = {nearest.latency.value + m_.fma_latency.value, nearest.latency.spread,
                           true, "compute.update.f32.latency"};
  }

  void resolve_others(const hwdesc::MemoryBandwidth& b, const std::string& base) {
    if (b.dirty_remote_read.known())
      m_.dirty_remote_read = bandwidth(b.dirty_remote_read, base + "dirty_remote_read");
    if (b.dirty_remote_rfo.known())
      m_.dirty_remote_rfo = bandwidth(b.dirty_remote_rfo, base + "dirty_remote_rfo");
    if (b.upgrade.known()) m_.upgrade = bandwidth(b.upgrade, base + "upgrade");
  }

  // Programs stream, so a cyclic scan is preferred. Nine tenths are held at `from`, one tenth at
  // `to`. The ends lie where those lines reach 1 and 0.
  void resolve_streamed(const hwdesc::MemoryLevel& l, const std::string& base, Level& out) {
    const hwdesc::HitCurve& s = l.cyclic_scan;
    if (!s.from.known()) return;
    const double from = s.from.value->v;
    double to = s.to.known() ? s.to.value->v : 0;
    if (!s.to.known()) {
      to = s.middle.known() ? s.middle.value->v / from * s.middle.value->v
                            : std::max(out.end, defaults::kScanWidth * from);
      m_.assumptions.push_back(base + ".cyclic_scan.to: " +
                               (s.middle.known() ? "as far beyond the middle as `from` is before it"
                                                 : "the knee's end, at least twice `from`"));
    }
    out.cyclic_scan = true;
    out.middle = s.middle.known() ? s.middle.value->v : std::sqrt(from * to);
    out.middle_hits = 0.5;
    out.capacity = {from * std::pow(from / out.middle, kPastTail), spread_of(s.from), false,
                    base + ".cyclic_scan.from"};
    out.end = to * std::pow(to / out.middle, kPastTail);
  }

  static void resolve_hit_curve(const hwdesc::HitCurve& s, HitCurve& out) {
    if (!s.from.known() || !s.middle.known()) return;
    const double from = s.from.value->v, middle = s.middle.value->v,
                 to = s.to.known() ? s.to.value->v : middle / from * middle;
    out = {from * std::pow(from / middle, kPastTail), middle, 0.5,
           to * std::pow(to / middle, kPastTail)};
  }

  // A probe's capacity is where the latency crosses the geometric mean of two levels, which gives
  // the hit rate there.
  void resolve_knees() {
    for (size_t l = 0; l + 1 < m_.levels.size(); ++l) {
      Level& level = m_.levels[l];
      if (level.cyclic_scan) continue;
      const double near = level.latency.value, far = m_.levels[l + 1].latency.value;
      if (near <= 0 || far <= near || level.middle <= level.capacity.value ||
          level.middle >= level.end)
        level.middle = 0;
      else
        level.middle_hits = (far - std::sqrt(near * far)) / (far - near);
    }
  }

  void resolve_bandwidth(const hwdesc::MemoryLevel& l, const std::string& base, double users,
                         Level& out) {
    out.read = bandwidth(l.bandwidth.read, base + ".bandwidth.read");
    if (out.read.value <= 0) out.read = bandwidth(l.bandwidth.copy, base + ".bandwidth.copy");
    if (out.read.value <= 0)
      out.read =
          m_.levels.empty()
              ? assume(m_.load_rate.value * m_.native_width * 4 * users, base + ".bandwidth.read",
                       "as the load pipe")
              : assume(m_.levels.back().read.value * m_.levels.back().instances / 2 / out.instances,
                       base + ".bandwidth.read", "half of the nearer memory's");
    out.write = bandwidth(l.bandwidth.write, base + ".bandwidth.write");
    if (out.write.value <= 0)
      out.write = m_.simt && is_farthest(l)
                      ? assume(out.read.value, base + ".bandwidth.write", "as read")
                      : assume(out.read.value / 2, base + ".bandwidth.write", "half of read");
    const double copy = bandwidth(l.bandwidth.copy, base + ".bandwidth.copy").value;
    if (copy > 0) {
      const double ratio = 2 / copy / (1 / out.read.value + 1 / out.write.value);
      out.read_write_serialisation = std::clamp(ratio, 0.5, 1.0);
      out.read_write_turnaround = std::max(1.0, ratio);
    }
    out.per_unit_read = bandwidth(l.bandwidth.per_unit, base + ".bandwidth.per_unit");
    if (out.per_unit_read.value <= 0) {
      out.per_unit_read = out.read;
      if (out.shared)
        out.per_unit_read.value =
            std::min(out.read.value, defaults::kUnitShares * out.read.value / users);
    }
    out.per_unit_write = out.write;
    out.per_unit_write.value = out.write.value * out.per_unit_read.value / out.read.value;
    // What a short run takes longer than so many bytes of a long one, its begin costs.
    const auto begin = [&](const hwdesc::Value<hwdesc::Bandwidth>& short_runs,
                           const Quantity& whole) -> std::optional<double> {
      if (!short_runs.known()) return std::nullopt;
      const double longer = 1 / bandwidth(short_runs, "").value - 1 / whole.value;
      return hwdesc::kShortRunBytes * users * std::max(0.0, longer);
    };
    out.unprefetched_miss = begin(l.bandwidth.short_run_read, out.read);
    out.unprefetched_store = begin(l.bandwidth.short_run_write, out.write);
    out.bandwidth_exponent = defaults::kSharpness;
    if (l.bandwidth.sharpness.known()) out.bandwidth_exponent = l.bandwidth.sharpness.value->v;
  }
};

}  // namespace

void resolve_memories(const hwdesc::Target& target, Resolution& out) {
  Memories(target, out).resolve();
}

}  // namespace assay::model
