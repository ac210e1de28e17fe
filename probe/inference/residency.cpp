// Resident groups and waves, and registers, of chips whose lanes are threads.
#include "probe/kernels/residency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "probe/inference/infer.h"
#include "probe/inference/spill.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

// Groups of all units at once; 0: not measured, or more than were tried.
double at_once(const Observations& all, const std::string& what, const Conditions& at = {}) {
  const std::vector<Observation> blocks = select(all, "residency", what, at);
  return blocks.empty() ? 0 : blocks.back().samples.at(0);
}

void add_resident(const Observations& all, const Known& known, Profile& to) {
  Resident& r = to.execution.resident;
  r.per = "unit";
  const bool ran = !select(all, "residency", "plain").empty();
  const double groups = at_once(all, "plain");
  if (groups <= 0) {
    r.groups = unknown_value<Count>(ran ? "as many as were tried were under way at once"
                                        : "groups that look for each other did not run");
    return;
  }
  r.groups = known_value(Count{std::floor(groups / known.units)}, Origin::measured,
                         "groups that saw each other come, each looking for a bounded time",
                         fmt::format("{:.0f} groups of one wave on all units", groups));
  for (const Observation& o : select(all, "residency", "memory"))
    if (const double some = o.samples.at(0); some > 0 && some < groups)
      r.groups.note += fmt::format("; {:.0f} that have {:.0f} KiB of group memory each", some,
                                   o.value_at("bytes") / 1024);
}

void add_coresident(const Observations& all, Profile& to) {
  if (to.apis.empty() || to.apis[0].coresident_groups != Fact::unknown) return;
  const std::vector<Observation> tries = select(all, "residency", "coresident");
  if (tries.empty() || tries[0].value_at("groups") < 2) return;
  const bool met = std::all_of(tries.begin(), tries.end(), [](const Observation& o) {
    return o.samples.at(0) >= o.value_at("groups");
  });
  to.apis[0].coresident_groups = met ? Fact::yes : Fact::no;
}

// Registers per thread of a wave, where `groups` per unit are resident: by the file and its
// granule.
struct Step {
  double groups = 0, registers = 0;
  bool all = false;  // the most of all: something else limits them
};

struct Fit {
  int granule = 1;
  double low = 0, high = 0;  // of the file, registers of one lane
};

// Of a file in `parts` parts, each of which allocates whole granules.
std::optional<Fit> fit_of(const std::vector<Step>& steps, int granule, int overhead, int parts) {
  Fit f{granule, 0, INFINITY};
  for (const Step& s : steps) {
    const double each = granule * std::ceil((s.registers + overhead) / granule),
                 groups = s.groups / parts;
    if (groups != std::floor(groups)) return std::nullopt;
    f.low = std::max(f.low, groups * each);
    if (!s.all) f.high = std::min(f.high, (groups + 1) * each - 1);
  }
  if (f.low > f.high) return std::nullopt;
  f.low *= parts;
  f.high = f.high * parts + parts - 1;
  return f;
}

// The number in an interval that the highest power of two divides: hardware has such sizes.
double roundest(double low, double high) {
  for (double step = std::exp2(24); step >= 1; step /= 2)
    if (const double n = std::ceil(low / step) * step; n <= high) return n;
  return std::round((low + high) / 2);
}

// Where no compiler reports a thread's registers: beyond the most it may have, more live values use
// no more registers.
void keep_first_of_fewest(std::vector<Step>& steps) {
  if (steps.empty()) return;
  const auto fewest =
      std::min_element(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
        return std::pair(a.groups, a.registers) < std::pair(b.groups, b.registers);
      });
  const Step first = *fewest;
  std::erase_if(steps, [&](const Step& s) {
    return s.groups == first.groups && s.registers > first.registers;
  });
}

std::vector<Step> steps_of(const Observations& all, const Known& known, bool& reported) {
  std::vector<Step> out;
  const double most = std::floor(at_once(all, "plain") / known.units);
  for (const Observation& o : select(all, "residency", "registers")) {
    const double groups = std::floor(o.samples.at(0) / known.units), said = o.value_at("reported");
    reported = said > 0;
    if (groups > 0) out.push_back({groups, said > 0 ? said : o.value_at("live"), groups >= most});
  }
  if (!reported) keep_first_of_fewest(out);
  return out;
}

void add_file(const Observations& all, const Known& known, Profile& to) {
  Registers& r = to.execution.registers;
  constexpr int kOverhead = 24;  // registers besides the live ones, where no compiler reports
  bool reported = false;
  const std::vector<Step> steps = steps_of(all, known, reported);
  if (std::none_of(steps.begin(), steps.end(), [](const Step& s) { return !s.all; })) {
    r.count = unknown_value<Count>(
        steps.empty() ? "residency against registers was not measured"
                      : "as many groups are resident with many registers as with few");
    return;
  }
  std::set<int> granules;
  double low = INFINITY, high = 0;
  for (const int parts : {1, 2, 4})
    for (const int g : {1, 2, 4, 8, 16, 32})
      for (int c = 0; c <= (reported ? 0 : kOverhead); ++c)
        if (const auto f = fit_of(steps, g, c, parts)) {
          granules.insert(g);
          low = std::min(low, f->low);
          high = std::max(high, f->high);
        }
  if (granules.empty()) {
    r.count = unknown_value<Count>(
        "residency does not fall with registers as it does with a file of them");
    return;
  }
  const double lanes = known.lanes;
  r.width = known_value(Bytes{4}, Origin::assumed, "", "files of threads");
  r.count = count_value(
      {roundest(low, high) * lanes, low * lanes, high * lanes, int64_t(steps.size()), ""},
      "groups at once against registers of a thread");
  r.granule.per = "wave";
  if (granules.size() == 1)
    r.granule.regs = known_value(Count{double(*granules.begin())}, Origin::measured,
                                 "registers at which groups become fewer");
  else
    r.granule.regs =
        unknown_value<Count>(fmt::format("granules from {} to {} explain where groups become fewer",
                                         *granules.begin(), *granules.rbegin()));
}

constexpr double kSlower = 1.08;      // of each number, than where all values are in registers
constexpr double kMoreSlower = 1.35;  // of each value that was added

// The first number of live values that needs the stack, by the compiler's report or else by the
// time.
void add_most(const Observations& all, const Known& known, Profile& to) {
  Registers& r = to.execution.registers;
  const std::vector<double> live = values_of(select(all, "registers", "live"), "live");
  const auto reported = [&](const std::string& what, double n) {
    const auto blocks = select(all, "registers", what, {{"live", n}});
    return blocks.empty() ? -1.0 : blocks.back().samples.at(0);
  };
  std::vector<double> times;
  std::vector<LiveTime> steps;
  for (const double n : live) {
    steps.push_back(
        {n, *summarize(select(all, "registers", "live", {{"live", n}}), Estimator::throughput)});
    times.push_back(steps.back().step.value);
  }
  const double hertz =
      known.clock_hz > 0 && !steps.empty() ? ticks_per_second(all, known, steps.back().step) : 0;
  const auto slower_from = [&](size_t i) {  // this number and all larger ones
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(i);
    if (i == 0) return false;
    const double before = *std::min_element(times.begin(), at);
    const double added =
        (times[i] * live[i] - times[i - 1] * live[i - 1]) / (live[i] - live[i - 1]);
    return added > kMoreSlower * before && *std::min_element(at, times.end()) > kSlower * before;
  };
  double fits = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    const double n = live[i], stack = reported("stack", n);
    const bool spills = stack >= 0 ? stack > reported("stack", live.front()) : slower_from(i);
    if (!spills) {
      fits = n;
      continue;
    }
    r.spill = spill_of(steps, fits, std::max(fits, n - 1), hertz);
    if (const double said = reported("reported", n); said > 0) {
      r.per_thread_max = known_value(Count{said}, Origin::driver,
                                     "what its compiler reports of a kernel that needs the stack");
      return;
    }
    constexpr double kFewestOthers = 2, kMostOthers = 16;  // beside the live ones
    const double low = fits + kFewestOthers, high = n + kMostOthers;
    r.per_thread_max =
        count_value({roundest(low, high), low, high, 0, ""},
                    "the first number of live values for each of which more time is needed");
    r.per_thread_max.n.reset();
    return;
  }
  r.spill = unknown_value<Latency>("no kernel was seen to need the stack");
  r.per_thread_max = unknown_value<Count>(
      live.empty() ? "kernels of many live values did not run"
                   : fmt::format("no sign of the stack up to {:.0f} live values", fits));
}

}  // namespace

void infer_residency(const Observations& all, const Known& known, Profile& to) {
  add_coresident(all, to);
  if (!known.threads) return;
  add_resident(all, known, to);
  add_file(all, known, to);
  add_most(all, known, to);
}

}  // namespace assay::probe
