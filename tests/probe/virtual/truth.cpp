#include "tests/probe/virtual/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::probe::testing {
namespace {

using namespace hwdesc;

// levels closer in latency can not be distinguished (probe/knee.h)
constexpr double kOneLevel = 1.3;

struct Range {
  double value = 0, low = 0, high = 0;  // 0: not known
};

class Comparison {
 public:
  Comparison(const Profile& truth, const Profile& found, double tolerance, bool by_interval)
      : truth_(truth), found_(found), tolerance_(tolerance), by_interval_(by_interval) {}

  std::vector<std::string> run() {
    close("clock", hertz_of(truth_), hertz_of(found_));
    same("units", units(truth_), units(found_));
    same("lanes", widest(truth_), widest(found_));
    compare_memory();
    close("fma rate", rate(truth_, "fma"), rate(found_, "fma"));
    close("fma latency", latency(truth_, "fma"), latency(found_, "fma"));
    close("add latency", latency(truth_, "add"), latency(found_, "add"));
    compare_own_memory();
    compare_translation();
    return out_;
  }

 private:
  template <class Q, class F>
  static Range in(const Value<Q>& v, F&& base) {
    if (!v.known()) return {};
    const double value = base(*v.value);
    return {value, v.low ? base(*v.low) : value, v.high ? base(*v.high) : value};
  }
  static Range hertz_of(const Profile& p) {
    return p.clocks.empty() ? Range{} : in(p.clocks[0].max, [](const Hertz& h) { return h.v; });
  }
  static double hertz(const Profile& p) { return hertz_of(p).value; }
  // Of the whole device: `of` and its parents.
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
      if (m.width.known())
        out = out == 0 || !threads ? std::max(out, m.width.value->v)
                                   : std::min(out, m.width.value->v);
    return out;
  }
  // In seconds; lanes of one unit.
  static Range rate(const Profile& p, const std::string& name) {
    for (const Pipe& pipe : p.pipes)
      if (pipe.name == name)
        return in(pipe.rate, [&](const Rate& r) {
          return count(p, pipe.per) / units(p) * r.v * (r.clock.empty() ? 1 : hertz(p));
        });
    return {};
  }
  static Range latency(const Profile& p, const std::string& op) {
    for (const ComputeOp& c : p.compute)
      if (c.op == op && c.dtype == "f32" && c.mode.empty()) return in_seconds(p, c.latency);
    return {};
  }
  static Range in_seconds(const Profile& p, const Value<Latency>& v) {
    return in(v, [&](const Latency& l) { return l.clock.empty() ? l.v : l.v / hertz(p); });
  }
  static double speed(const Profile& p, const Bandwidth& b) {
    return b.clock.empty() ? b.v : b.v * hertz(p);
  }
  // All instances together, all units at work.
  static Range total(const Profile& p, const MemoryLevel& l, const Value<Bandwidth>& v) {
    const double all = count(p, l.per);
    const MemoryBandwidth& b = l.bandwidth;
    double share = 1;
    if (b.per_unit.known() && b.sharpness.known() && b.read.known() && all == 1)
      share = std::pow(std::pow(speed(p, *b.read.value) / (units(p) * speed(p, *b.per_unit.value)),
                                b.sharpness.value->v) +
                           1,
                       -1 / b.sharpness.value->v);
    return in(v, [&](const Bandwidth& w) { return speed(p, w) * all * share; });
  }

  // Levels of loads, near to far; of levels that can not be distinguished the farther one.
  static std::vector<const MemoryLevel*> path(const Profile& p) {
    std::vector<const MemoryLevel*> out;
    for (const MemoryLevel& l : p.memory) {
      if (!l.path.empty() || (l.managed != Managed::automatic && &l != &p.memory.back())) continue;
      const bool one =
          !out.empty() && out.back()->latency.known() && l.latency.known() &&
          in_seconds(p, l.latency).value < kOneLevel * in_seconds(p, out.back()->latency).value;
      if (one)
        out.back() = &l;
      else
        out.push_back(&l);
    }
    return out;
  }

  // What stores to this level reach: itself, or the first one farther out that takes them.
  static size_t taken_by(const std::vector<const MemoryLevel*>& truth, size_t i) {
    while (i + 1 < truth.size() && truth[i]->write != WritePolicy::allocate) ++i;
    return i;
  }

  void compare_memory() {
    const auto truth = path(truth_), found = path(found_);
    if (by_interval_ && truth.size() > found.size()) return compare_joined(truth, found);
    if (truth.size() != found.size()) {
      out_.push_back(fmt::format("memory: {} levels, found {}", truth.size(), found.size()));
      return;
    }
    const auto up_to = [&](size_t i) {
      return std::vector<const MemoryLevel*>{truth.begin(),
                                             truth.begin() + static_cast<std::ptrdiff_t>(i) + 1};
    };
    for (size_t i = 0; i < truth.size(); ++i) {
      compare_level(up_to(i), *found[i], i + 1 == truth.size());
      compare_bandwidth("write", &MemoryBandwidth::write, up_to(taken_by(truth, i)), *found[i]);
      if (taken_by(truth, i) == i)
        compare_bandwidth("copy", &MemoryBandwidth::copy, up_to(i), *found[i]);
    }
    compare_bandwidth("triad", &MemoryBandwidth::triad, up_to(truth.size() - 1), *found.back());
  }

  // Fewer levels than the truth has: each of them is in the wide knee of another.
  void compare_joined(const std::vector<const MemoryLevel*>& truth,
                      const std::vector<const MemoryLevel*>& found) {
    for (size_t i = 0; i + 1 < truth.size(); ++i) {
      const double bytes = truth[i]->capacity.value->v;
      const auto holds = [&](const MemoryLevel* f) {
        return f->knee.from.known() && f->knee.from.value->v * (1 - tolerance_) <= bytes &&
               bytes <= f->knee.to.value->v * (1 + tolerance_);
      };
      if (std::none_of(found.begin(), found.end(), holds))
        out_.push_back(fmt::format("{}: no level found that might be it", truth[i]->name));
    }
  }

  // `way`: the levels before it, then the level itself: data passes through all of them.
  void compare_level(const std::vector<const MemoryLevel*>& way, const MemoryLevel& f, bool last) {
    const MemoryLevel& t = *way.back();
    if (!last && (t.per == "device") != (f.per == "device"))
      out_.push_back(fmt::format("{}: per {}, found per {}", t.name, t.per, f.per));
    if (!last && t.capacity.known() && f.knee.from.known()) {
      const double bytes = t.capacity.value->v;
      if (bytes < f.knee.from.value->v * (1 - tolerance_) ||
          bytes > f.knee.to.value->v * (1 + tolerance_))
        out_.push_back(fmt::format("{}: capacity {}, found a knee from {} to {}", t.name, bytes,
                                   f.knee.from.value->v, f.knee.to.value->v));
    }
    if (t.line.known() && f.line.known() && !last)
      same(t.name + " line", t.line.value->v, f.line.value->v);
    if (t.transaction.known() && f.transaction.known() && !last)
      same(t.name + " transaction", t.transaction.value->v, f.transaction.value->v);
    close(t.name + " latency", in_seconds(truth_, t.latency), in_seconds(found_, f.latency));
    compare_bandwidth("read", &MemoryBandwidth::read, way, f);
  }

  // No more than the levels before it transfer, and the one pipe for loads and stores.
  void compare_bandwidth(const char* what, const Value<Bandwidth> MemoryBandwidth::*of,
                         const std::vector<const MemoryLevel*>& way, const MemoryLevel& f) {
    Range least = total(truth_, *way.back(), way.back()->bandwidth.*of);
    const Range through = rate(truth_, "lsu");
    if (const double most = through.value * 4 * units(truth_); most > 0 && most < least.value)
      least = {most, most, most};
    for (const MemoryLevel* l : way)
      if (const Range r = total(truth_, *l, l->bandwidth.*of); r.value > 0 && r.value < least.value)
        least = r;
    close(fmt::format("{} {}", f.name, what), least, total(found_, f, f.bandwidth.*of));
  }

  static const MemoryLevel* own_memory(const Profile& p) {
    const auto own = [](const MemoryLevel& l) {
      return l.managed == Managed::explicit_ && l.per == "unit";
    };
    const auto at = std::find_if(p.memory.begin(), p.memory.end(), own);
    return at == p.memory.end() ? nullptr : &*at;
  }
  void compare_own_memory() {
    const MemoryLevel *t = own_memory(truth_), *f = own_memory(found_);
    if (t == nullptr || f == nullptr) return;
    if (t->backed_by.empty() != f->backed_by.empty())
      out_.push_back(fmt::format("{}: {}on the chip, found otherwise", t->name,
                                 t->backed_by.empty() ? "" : "not "));
    close(t->name + " latency", in_seconds(truth_, t->latency), in_seconds(found_, f->latency));
  }

  // Translation that was found must exist; what was not found is not compared.
  void compare_translation() {
    for (size_t i = 0; i < found_.tlb.size(); ++i) {
      const TlbLevel& f = found_.tlb[i];
      if (i >= truth_.tlb.size() || !truth_.tlb[i].entries.known()) {
        out_.push_back(
            fmt::format("translation: {} entries found, there are none", f.entries.value->v));
        continue;
      }
      const double entries = truth_.tlb[i].entries.value->v;
      if (entries < f.entries.low->v * (1 - tolerance_) ||
          entries > f.entries.high->v * (1 + tolerance_))
        out_.push_back(
            fmt::format("translation: {} entries, found {}", entries, f.entries.value->v));
      const Range truth = in_seconds(truth_, truth_.tlb[i].miss),
                  found = in_seconds(found_, f.miss);
      if (truth.value < found.low || truth.value > found.high)
        close("translation miss", truth, found);
    }
  }

  void same(const std::string& what, double truth, double found) {
    if (truth > 0 && found > 0 && found != truth)
      out_.push_back(fmt::format("{}: {}, found {}", what, truth, found));
  }
  void close(const std::string& what, const Range& truth, const Range& found) {
    if (truth.value <= 0 || found.value <= 0 ||
        std::abs(found.value / truth.value - 1) <= tolerance_)
      return;
    if (by_interval_ && found.low <= truth.value && truth.value <= found.high) return;
    out_.push_back(fmt::format("{}: {:.4g}, found {:.4g} ({:+.1f} %)", what, truth.value,
                               found.value, 100 * (found.value / truth.value - 1)));
  }

  const Profile& truth_;
  const Profile& found_;
  const double tolerance_;
  const bool by_interval_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> differences(const Profile& truth, const Profile& found, double tolerance) {
  return Comparison(truth, found, tolerance, false).run();
}

std::vector<std::string> contradictions(const Profile& truth, const Profile& found,
                                        double tolerance) {
  return Comparison(truth, found, tolerance, true).run();
}

}  // namespace assay::probe::testing
