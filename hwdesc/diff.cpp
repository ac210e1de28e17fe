#include "hwdesc/diff.h"

#include <algorithm>
#include <map>

#include "hwdesc/align.h"
#include "hwdesc/any_value.h"
#include "hwdesc/scales.h"
#include "hwdesc/show.h"
#include "hwdesc/walk.h"

namespace assay::hwdesc {

namespace {

// The interval of a number, or the number itself where it has none.
struct Range {
  Quantity low, high;
};

struct Place {
  FieldRow row;
  std::optional<Range> range;     // of a known number
  std::optional<Range> absolute;  // the same in seconds; nullopt: its clock's frequency is unknown
  bool computed = false;          // derived or fitted, without an interval
  bool open = false;              // the number is unknown
  std::string per;                // of a rate: the level of topology that has it
  std::optional<double> in_unit;  // how many of those a unit has; nullopt: not known
  std::optional<Range> rate;      // of an operation: elements/s of a unit
  bool is_absent() const { return row.path.empty() || row.value.empty(); }
};

bool interval_known(const AnyValue& v) { return v.low && v.high; }

Range range_of(const AnyValue& v) {
  return interval_known(v) ? Range{*v.low, *v.high} : Range{*v.value, *v.value};
}

std::string text_of(const Range& r, Dimension d) {
  return print_quantity(r.low.v, r.low.clock, d) + " .. " +
         print_quantity(r.high.v, r.high.clock, d);
}

// A knee is a range, so either of its ends may lie anywhere in it.
void widen_knees(const Profile& profile, std::map<std::string, Place>& places) {
  for (const MemoryLevel& m : profile.memory) {
    if (!m.knee.from.known() || !m.knee.to.known()) continue;
    const Range whole{to_quantity(*m.knee.from.value), to_quantity(*m.knee.to.value)};
    for (const char* end : {".knee.from", ".knee.to"}) {
      Place& p = places.at("memory." + m.name + end);
      if (!p.row.interval.empty()) continue;
      p.range = whole;
      p.row.interval = text_of(whole, Dimension::bytes);
    }
  }
}

// Ticks in seconds, rates per tick in rates per second.
std::optional<Range> without_clock(const Range& r, Dimension d, const Profile& profile) {
  if (r.low.clock.empty()) return r;
  const auto hz = ticks_per_second(profile, r.low.clock);
  if (!hz) return std::nullopt;
  const double factor = d == Dimension::latency ? 1 / *hz : *hz;
  return Range{{r.low.v * factor, ""}, {r.high.v * factor, ""}};
}

void add_number(Place& to, const AnyValue& v, const Profile& profile) {
  to.open = !v.value;
  if (!v.value) return;
  to.range = range_of(v);
  to.absolute = without_clock(*to.range, v.dimension, profile);
  const Origin origin = v.source.value_or(profile.source);
  to.computed = !interval_known(v) && (origin == Origin::derived || origin == Origin::fitted);
}

std::optional<double> in_unit(const Profile& profile, const std::string& per) {
  const auto all = instances_of(profile, per), units = instances_of(profile, "unit");
  if (!all || !units) return std::nullopt;
  return *all / *units;
}

Range times(const Range& r, double factor) {
  return {{r.low.v * factor, r.low.clock}, {r.high.v * factor, r.high.clock}};
}

// What is declared per instance of a level of topology. Some bandwidths are of one unit anyway.
bool is_per_instance(const Path& path) {
  static constexpr const char* kCounts[] = {"rate", "count", "threads", "groups", "waves", "lines"};
  static constexpr const char* kOfAUnit[] = {"per_unit", "dirty_remote_read", "dirty_remote_rfo",
                                             "upgrade"};
  const auto is_last = [&](const char* key) { return path.back() == key; };
  if (std::any_of(std::begin(kOfAUnit), std::end(kOfAUnit), is_last)) return false;
  return (path.size() > 1 && path[path.size() - 2] == "bandwidth") ||
         std::any_of(std::begin(kCounts), std::end(kCounts), is_last);
}

// The nearest `per` around it.
void add_scope(const Profile& profile, Path path, std::map<std::string, Place>& places) {
  if (!is_per_instance(path)) return;
  Place& place = places[dotted(path)];
  while (place.per.empty() && path.size() > 1) {
    path.back() = "per";
    if (const auto it = places.find(dotted(path)); it != places.end())
      place.per = it->second.row.value;
    path.pop_back();
  }
  if (!place.per.empty()) place.in_unit = in_unit(profile, place.per);
}

// What a unit's pipe does of each operation. Fewer slots give more, so the ends change places.
void add_operations(const Profile& profile, std::map<std::string, Place>& places) {
  for (const ComputeOp& c : profile.compute) {
    const auto pipe = places.find("pipes." + c.pipe + ".rate");
    if (pipe == places.end() || !pipe->second.absolute || !pipe->second.in_unit) continue;
    const auto slots = [&](const std::optional<Count>& end) {
      return end ? end->v : c.slots.known() ? c.slots.value->v : 1;
    };
    const Range all = times(*pipe->second.absolute, *pipe->second.in_unit);
    for (const char* key : {".slots", ".pipe"})
      places["compute." + key_of(c) + key].rate =
          Range{{all.low.v / slots(c.slots.high), ""}, {all.high.v / slots(c.slots.low), ""}};
  }
}

std::map<std::string, Place> places_of(const Profile& profile, const std::vector<FieldRow>& list) {
  std::map<std::string, Place> out;
  for (const FieldRow& row : list) out[row.path].row = row;
  walk(profile, [&](const Path& path, const auto& member) {
    if constexpr (AValue<std::remove_cvref_t<decltype(member)>>)
      add_number(out[dotted(path)], to_any(member), profile);
  });
  walk(profile, [&](const Path& path, const auto& member) {
    if constexpr (AValue<std::remove_cvref_t<decltype(member)>>) add_scope(profile, path, out);
  });
  add_operations(profile, out);
  widen_knees(profile, out);
  return out;
}

bool meet(const Range& a, const Range& b) {
  return std::max(a.low.v, b.low.v) <= std::min(a.high.v, b.high.v);
}

// nullopt: only one of them counts ticks of a clock whose frequency is unknown.
std::optional<bool> meet(const Place& a, const Place& b) {
  if (a.rate && b.rate) return meet(*a.rate, *b.rate);
  if (!a.range || !b.range) return false;
  const bool scaled = a.per != b.per;
  if (scaled && (!a.in_unit || !b.in_unit)) return std::nullopt;
  const auto of_unit = [&](const Place& p, const Range& r) {
    return scaled ? times(r, *p.in_unit) : r;
  };
  if (a.range->low.clock == b.range->low.clock)
    return meet(of_unit(a, *a.range), of_unit(b, *b.range));
  if (!a.absolute || !b.absolute) return std::nullopt;
  return meet(of_unit(a, *a.absolute), of_unit(b, *b.absolute));
}

// A probe does not know mobile GPUs: it calls each a gpu.
bool is_gpu(const std::string& word) { return word == "gpu" || word == "mobile_gpu"; }

// What a profile can not leave out: without it the chip is another one, or predicts nothing.
bool is_needed(const std::string& path, const Profile& owner) {
  if (path == "compute.fma.f32.op" || path == "compute.mul.f32.op" || path == "topology.unit.name")
    return true;
  return std::any_of(owner.memory.begin(), owner.memory.end(), [&](const MemoryLevel& m) {
    return path == "memory." + m.name + ".name" && m.path.empty() && m.per != "host";
  });
}

bool is_circumstance(const std::string& path) {
  return path == "name" || path == "source" || path.starts_with("identity.") ||
         path.starts_with("references.") || is_remark(path);
}

struct Side {
  const Profile& profile;
  std::vector<FieldRow> rows;
  std::map<std::string, Place> places;
  explicit Side(const Profile& p) : profile(p), rows(hwdesc::rows(p)), places(places_of(p, rows)) {}
  Place at(const std::string& path) const {
    const auto it = places.find(path);
    return it == places.end() ? Place{} : it->second;
  }
};

// Where a value is declared: the values themselves are compared per unit. A memory is shared by
// another number of units, unless one profile does not know the other's level.
Verdict of_scopes(const std::string& path, const Side& left, const Side& right) {
  if (!path.starts_with("memory.") || path.ends_with(".outstanding.per")) return Verdict::within;
  const std::string ours = left.at(path).row.value, theirs = right.at(path).row.value;
  if (!instances_of(left.profile, theirs) || !instances_of(right.profile, ours))
    return Verdict::untold;
  return in_unit(left.profile, ours) == in_unit(right.profile, theirs) ? Verdict::within
                                                                       : Verdict::beyond;
}

Difference compare(const std::string& path, const Side& left_side, const Side& right_side) {
  const Place left = left_side.at(path), right = right_side.at(path);
  Difference out{
      path,           left.row.value, right.row.value, left.row.interval, right.row.interval,
      Verdict::beyond};
  if (is_circumstance(path))
    out.verdict = Verdict::circumstance;
  else if (path == "class" && is_gpu(left.row.value) && is_gpu(right.row.value))
    out.verdict = Verdict::circumstance;
  else if (left.is_absent() || right.is_absent())
    out.verdict = is_needed(path, left.is_absent() ? right_side.profile : left_side.profile) &&
                          !left.open && !right.open
                      ? Verdict::beyond
                      : Verdict::untold;
  else if (path.ends_with(".per"))
    out.verdict = of_scopes(path, left_side, right_side);
  else if (const auto same = meet(left, right); !same || *same)
    out.verdict = same ? Verdict::within : Verdict::untold;
  else if (left.open || right.open || (left.computed && right.computed))
    out.verdict = Verdict::untold;
  return out;
}

std::string side(const std::string& value, const std::string& interval) {
  if (value.empty()) return "-";
  return interval.empty() ? value : value + " [" + interval + "]";
}

}  // namespace

const char* word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::beyond:
      return "beyond";
    case Verdict::within:
      return "within";
    case Verdict::untold:
      return "untold";
    case Verdict::circumstance:
      return "circumstance";
  }
  return "";
}

std::vector<Difference> diff(const Profile& left, const Profile& right) {
  const Aligned aligned = aligned_to(left, right);
  const Side ours(left), theirs(aligned.profile);
  std::vector<Difference> out;
  for (const auto& [name, own] : aligned.names)
    out.push_back({"memory." + name + ".name", name, own, "", "", Verdict::circumstance});
  for (const FieldRow& row : ours.rows) {
    const Place there = theirs.at(row.path);
    const bool other_text = there.row.value != row.value;
    if (!other_text && there.per == ours.at(row.path).per) continue;
    Difference d = compare(row.path, ours, theirs);
    if (other_text || d.verdict == Verdict::beyond) out.push_back(std::move(d));
  }
  for (const FieldRow& row : theirs.rows)
    if (ours.at(row.path).row.path.empty()) out.push_back(compare(row.path, ours, theirs));
  return out;
}

bool differs(const std::vector<Difference>& differences) {
  return std::any_of(differences.begin(), differences.end(),
                     [](const Difference& d) { return d.verdict == Verdict::beyond; });
}

std::string print_diff(const std::vector<Difference>& differences) {
  std::string out;
  for (const Difference& d : differences) {
    out += d.path + ": " + side(d.left, d.left_interval) + " -> " + side(d.right, d.right_interval);
    if (d.verdict != Verdict::beyond) out += std::string("  (") + word_of(d.verdict) + ")";
    out += "\n";
  }
  return out;
}

}  // namespace assay::hwdesc
