#include "truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::probe::testing {
namespace {

using namespace hwdesc;

class Comparison {
 public:
  Comparison(const Profile& truth, const Profile& found, double tolerance) : truth_(truth), found_(found), tolerance_(tolerance) {}

  std::vector<std::string> run() {
    close("clock", hertz(truth_), hertz(found_));
    same("units", units(truth_), units(found_));
    same("lanes", widest(truth_), widest(found_));
    compare_memory();
    close("fma rate", rate(truth_, "fma"), rate(found_, "fma"));
    close("fma latency", latency(truth_, "fma"), latency(found_, "fma"));
    close("add latency", latency(truth_, "add"), latency(found_, "add"));
    return out_;
  }

 private:
  static double hertz(const Profile& p) { return !p.clocks.empty() && p.clocks[0].max.known() ? p.clocks[0].max.value->v : 0; }
  // Of the whole device: `of` and what it lies in.
  static double count(const Profile& p, const std::string& of) {
    double n = 1;
    if (of == "device") return n;
    for (const TopologyLevel& t : p.topology) {
      if (!t.count.known()) return 0;
      n *= t.count.value->v;
      if (t.name == of) break;
    }
    return n;
  }
  static double units(const Profile& p) { return count(p, "unit"); }
  static double widest(const Profile& p) {
    double out = 0;
    const bool threads = p.execution.lanes.style == LaneStyle::simt;
    for (const LaneMode& m : p.execution.lanes.modes)
      if (m.width.known()) out = out == 0 || !threads ? std::max(out, m.width.value->v) : std::min(out, m.width.value->v);
    return out;
  }
  // In seconds; lanes of one unit.
  static double rate(const Profile& p, const std::string& name) {
    for (const Pipe& pipe : p.pipes)
      if (pipe.name == name && pipe.rate.known())
        return count(p, pipe.per) / units(p) * pipe.rate.value->v * (pipe.rate.value->clock.empty() ? 1 : hertz(p));
    return 0;
  }
  static double latency(const Profile& p, const std::string& op) {
    for (const ComputeOp& c : p.compute)
      if (c.op == op && c.dtype == "f32" && c.latency.known()) return seconds(p, *c.latency.value);
    return 0;
  }
  static double seconds(const Profile& p, const Latency& l) { return l.clock.empty() ? l.v : l.v / hertz(p); }
  static double speed(const Profile& p, const Bandwidth& b) { return b.clock.empty() ? b.v : b.v * hertz(p); }
  // All instances together, all units at work.
  static double total(const Profile& p, const MemoryLevel& l, const Value<Bandwidth>& v) {
    if (!v.known()) return 0;
    const double limit = speed(p, *v.value), all = count(p, l.per);
    const MemoryBandwidth& b = l.bandwidth;
    if (!b.per_unit.known() || !b.sharpness.known() || all > 1) return limit * all;
    const double units_reach = units(p) * speed(p, *b.per_unit.value) * limit / speed(p, *b.read.value), sharp = b.sharpness.value->v;
    return limit * std::pow(std::pow(limit / units_reach, sharp) + 1, -1 / sharp);
  }

  // What loads go through, near to far.
  static std::vector<const MemoryLevel*> path(const Profile& p) {
    std::vector<const MemoryLevel*> out;
    for (const MemoryLevel& l : p.memory)
      if (l.path.empty() && (l.managed == Managed::automatic || &l == &p.memory.back())) out.push_back(&l);
    return out;
  }

  void compare_memory() {
    const auto truth = path(truth_), found = path(found_);
    if (truth.size() != found.size()) {
      out_.push_back(fmt::format("memory: {} levels, found {}", truth.size(), found.size()));
      return;
    }
    for (size_t i = 0; i < truth.size(); ++i) compare_level(*truth[i], *found[i], i + 1 == truth.size());
  }

  void compare_level(const MemoryLevel& t, const MemoryLevel& f, bool last) {
    if (!last && (t.per == "device") != (f.per == "device")) out_.push_back(fmt::format("{}: per {}, found per {}", t.name, t.per, f.per));
    if (!last && t.capacity.known() && f.knee.from.known()) {
      const double bytes = t.capacity.value->v;
      if (bytes < f.knee.from.value->v * (1 - tolerance_) || bytes > f.knee.to.value->v * (1 + tolerance_))
        out_.push_back(fmt::format("{}: capacity {}, found a knee from {} to {}", t.name, bytes, f.knee.from.value->v, f.knee.to.value->v));
    }
    if (t.line.known() && f.line.known() && !last) same(t.name + " line", (t.transaction.known() ? t.transaction : t.line).value->v, f.line.value->v);
    if (t.latency.known() && f.latency.known()) close(t.name + " latency", seconds(truth_, *t.latency.value), seconds(found_, *f.latency.value));
    compare_bandwidth(t, f, last);
  }

  // Stores pass caches by that do not bring their lines in.
  void compare_bandwidth(const MemoryLevel& t, const MemoryLevel& f, bool last) {
    const auto compare = [&](const char* what, const Value<Bandwidth> MemoryBandwidth::*of) {
      close(t.name + " " + what, total(truth_, t, t.bandwidth.*of), total(found_, f, f.bandwidth.*of));
    };
    compare("read", &MemoryBandwidth::read);
    if (!last && t.write != WritePolicy::allocate) return;
    compare("write", &MemoryBandwidth::write);
    compare("copy", &MemoryBandwidth::copy);
  }

  void same(const std::string& what, double truth, double found) {
    if (truth > 0 && found != truth) out_.push_back(fmt::format("{}: {}, found {}", what, truth, found));
  }
  void close(const std::string& what, double truth, double found) {
    if (truth > 0 && found > 0 && std::abs(found / truth - 1) > tolerance_)
      out_.push_back(fmt::format("{}: {:.4g}, found {:.4g} ({:+.1f} %)", what, truth, found, 100 * (found / truth - 1)));
  }

  const Profile& truth_;
  const Profile& found_;
  const double tolerance_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> differences(const Profile& truth, const Profile& found, double tolerance) { return Comparison(truth, found, tolerance).run(); }

}  // namespace assay::probe::testing
