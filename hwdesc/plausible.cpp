#include "hwdesc/plausible.h"

#include <algorithm>
#include <cmath>

#include "hwdesc/any_value.h"
#include "hwdesc/scales.h"
#include "hwdesc/target.h"

namespace assay::hwdesc {

namespace {

constexpr double kRounding = 1.01;  // printed values are rounded
// Instructions that a unit issues in a tick, where a profile does not say: more than any does.
constexpr double kMostIssued = 16;

struct Range {
  double low = 0, high = 0;
};

// In seconds or per second, times the instances of `per`; nullopt: not known.
template <class Q>
std::optional<Range> absolute(const Profile& p, const Value<Q>& v, const std::string& per) {
  const auto ticks = v.known() ? ticks_per_second(p, v.value->clock) : std::nullopt;
  const auto instances = per.empty() ? std::optional<double>(1) : instances_of(p, per);
  if (!ticks || !instances) return std::nullopt;
  const double times = kDimension<Q> == Dimension::latency ? 1 / *ticks : *ticks * *instances;
  return Range{(v.low ? v.low->v : v.value->v) * times, (v.high ? v.high->v : v.value->v) * times};
}

// Four digits of it, in base units.
std::string rounded(double v, Dimension d) {
  const double step = std::pow(10, std::floor(std::log10(v)) - 3);
  return print_quantity(std::round(v / step) * step, "", d);
}

class MemoryOrder {  // invariant: refers to a profile that outlives it
 public:
  MemoryOrder(Findings& out, const Profile& p) : out_(out), p_(p) {}

  void check() {
    for (size_t i = 0; i < p_.memory.size(); ++i)
      for (size_t k = i; k-- > 0;)
        if (comes_before(p_.memory[k], p_.memory[i])) {
          compare(p_.memory[k], p_.memory[i]);
          break;
        }
  }

 private:
  static bool is_cache(const MemoryLevel& m) { return m.managed == Managed::automatic; }

  // A load passes `near` on its way to `far`.
  static bool comes_before(const MemoryLevel& near, const MemoryLevel& far) {
    if (!far.backed_by.empty() || far.per == "host" || !far.link.empty()) return false;
    if (!near.backed_by.empty()) return false;
    if (near.managed == far.managed) return near.path == far.path;
    return is_cache(near) && !is_scratchpad(far) && !is_cache(far) && near.path.empty();
  }

  void compare(const MemoryLevel& near, const MemoryLevel& far) {
    const std::string path = "memory." + far.name,
                      nearer = "that of '" + near.name + "', which is listed nearer",
                      hint = "memory is listed near to far";
    const auto soon = absolute(p_, near.latency, ""), late = absolute(p_, far.latency, "");
    if (soon && late && late->high < soon->low)
      warn(out_, path + ".latency", "shorter than " + nearer, hint);
    if (near.capacity.known() && far.capacity.known() &&
        far.capacity.value->v <= near.capacity.value->v)
      warn(out_, path + ".capacity",
           (far.capacity.value->v < near.capacity.value->v ? "smaller than " : "not larger than ") +
               nearer,
           hint);
    const auto fast = absolute(p_, near.bandwidth.read, near.per),
               slow = absolute(p_, far.bandwidth.read, far.per);
    if (fast && slow && slow->low > kRounding * fast->high)
      warn(out_, path + ".bandwidth.read",
           rounded(slow->low, Dimension::bandwidth) + " of all instances, more than the " +
               rounded(fast->high, Dimension::bandwidth) + " of '" + near.name +
               "', which is listed nearer",
           "bandwidth is per instance of `per`, not a total");
  }

  Findings& out_;
  const Profile& p_;
};

// Elements that one 4-byte lane holds; nullopt: no such type is known.
std::optional<double> per_lane(const std::string& dtype) {
  static constexpr std::pair<const char*, double> kTypes[] = {
      {"f64", 1},  {"f32", 1}, {"i32", 1}, {"u32", 1}, {"tf32", 1},   {"i64", 1},   {"f16", 2},
      {"bf16", 2}, {"i16", 2}, {"i8", 4},  {"u8", 4},  {"f8e4m3", 4}, {"f8e5m2", 4}};
  for (const auto& [name, elements] : kTypes)
    if (dtype == name) return elements;
  return std::nullopt;
}

class Rates {  // invariant: refers to a profile that outlives it
 public:
  Rates(Findings& out, const Profile& p) : out_(out), p_(p) {}

  void check() {
    double widest = 0;
    for (const LaneMode& m : p_.execution.lanes.modes) {
      if (!m.width.known()) continue;
      widest = std::max(widest, m.width.value->v);
      const Issue& issue = m.issue.rate.known() ? m.issue : p_.execution.issue;
      if (const auto most = lanes(issue, m.width.value->v))
        for (const Pipe& pipe : m.pipes)
          check_pipe("execution.lanes.modes." + key_of(m) + ".pipes." + pipe.name, pipe, *most);
    }
    const auto most = widest > 0 ? lanes(p_.execution.issue, widest) : std::nullopt;
    if (!most) return;
    for (const Pipe& pipe : p_.pipes)
      if (check_pipe("pipes." + pipe.name, pipe, *most)) check_operations(pipe, *most);
  }

 private:
  // Lanes that the chip issues in a second, at most.
  std::optional<double> lanes(const Issue& issue, double width) const {
    if (issue.rate.known()) {
      const auto rate = absolute(p_, issue.rate, issue.per);
      return rate ? std::optional(rate->high * width) : std::nullopt;
    }
    const auto ticks = ticks_per_second(p_, "core"), units = instances_of(p_, "unit");
    if (!ticks || !units) return std::nullopt;
    return kMostIssued * *ticks * *units * width;
  }

  bool within(const std::string& path, double rate, double most) {
    if (rate <= kRounding * most) return true;
    warn(out_, path,
         rounded(rate, Dimension::rate) +
             " of all instances, where clock, lanes and issue rate allow " +
             rounded(most, Dimension::rate),
         "rates are per instance of `per`, and count elements of 4 bytes");
    return false;
  }

  bool check_pipe(const std::string& path, const Pipe& pipe, double most) {
    const auto rate = absolute(p_, pipe.rate, pipe.per);
    return !rate || within(path + ".rate", rate->low, most);
  }

  void check_operations(const Pipe& pipe, double most) {
    const auto rate = absolute(p_, pipe.rate, pipe.per);
    for (const ComputeOp& c : p_.compute) {
      const auto packed = per_lane(c.dtype);
      if (!rate || !packed || c.pipe != pipe.name || !c.slots.known()) continue;
      const double slots = c.slots.high ? c.slots.high->v : c.slots.value->v;
      within("compute." + key_of(c) + ".slots", rate->low / slots, most * *packed);
    }
  }

  Findings& out_;
  const Profile& p_;
};

}  // namespace

void check_plausible(Findings& out, const Profile& p) {
  MemoryOrder(out, p).check();
  Rates(out, p).check();
}

}  // namespace assay::hwdesc
