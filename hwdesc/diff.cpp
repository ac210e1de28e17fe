#include "hwdesc/diff.h"

#include <algorithm>
#include <map>

#include "hwdesc/any_value.h"
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

std::optional<double> hertz_of(const Profile& profile, const std::string& clock) {
  for (const Clock& c : profile.clocks)
    if (c.name == clock && c.max.known()) return c.max.value->v;
  return std::nullopt;
}

// Ticks in seconds, rates per tick in rates per second.
std::optional<Range> without_clock(const Range& r, Dimension d, const Profile& profile) {
  if (r.low.clock.empty()) return r;
  const auto hz = hertz_of(profile, r.low.clock);
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

std::map<std::string, Place> places_of(const Profile& profile, const std::vector<FieldRow>& list) {
  std::map<std::string, Place> out;
  for (const FieldRow& row : list) out[row.path].row = row;
  walk(profile, [&](const Path& path, const auto& member) {
    if constexpr (AValue<std::remove_cvref_t<decltype(member)>>)
      add_number(out[dotted(path)], to_any(member), profile);
  });
  widen_knees(profile, out);
  return out;
}

bool meet(const Range& a, const Range& b) {
  return std::max(a.low.v, b.low.v) <= std::min(a.high.v, b.high.v);
}

// nullopt: only one of them counts ticks of a clock whose frequency is unknown.
std::optional<bool> meet(const Place& a, const Place& b) {
  if (!a.range || !b.range) return false;
  if (a.range->low.clock == b.range->low.clock) return meet(*a.range, *b.range);
  if (!a.absolute || !b.absolute) return std::nullopt;
  return meet(*a.absolute, *b.absolute);
}

bool is_circumstance(const std::string& path) {
  return path == "name" || path == "source" || path.starts_with("identity.") ||
         path.starts_with("references.") || is_remark(path);
}

Difference compare(const std::string& path, const Place& left, const Place& right) {
  Difference out{
      path,           left.row.value, right.row.value, left.row.interval, right.row.interval,
      Verdict::beyond};
  if (is_circumstance(path))
    out.verdict = Verdict::circumstance;
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
  const std::vector<FieldRow> left_rows = rows(left), right_rows = rows(right);
  const auto lefts = places_of(left, left_rows), rights = places_of(right, right_rows);
  std::vector<Difference> out;
  for (const FieldRow& row : left_rows) {
    const auto other = rights.find(row.path);
    const Place none;
    const Place& there = other == rights.end() ? none : other->second;
    if (there.row.value != row.value) out.push_back(compare(row.path, lefts.at(row.path), there));
  }
  for (const FieldRow& row : right_rows) {
    const auto other = lefts.find(row.path);
    if (other == lefts.end() || other->second.row.path.empty())
      out.push_back(
          compare(row.path, other == lefts.end() ? Place{} : other->second, rights.at(row.path)));
  }
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
