// Identity, clocks, units, costs of launching.
#include <fmt/format.h>

#include <algorithm>

#include "probe/inference/doubts.h"
#include "probe/inference/host_memory.h"
#include "probe/inference/infer.h"
#include "probe/inference/sharing.h"
#include "probe/inference/translation.h"
#include "probe/inference/values.h"
#include "probe/inference/vectorisation.h"
#include "probe/kernels/pages.h"
#include "probe/kernels/vectorisation.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kShortestJoin = 1e-6;
constexpr double kCoTenant = 0.1;  // of the whole machine

void add_identity(const Observations& all, Profile& to) {
  for (const char* key : {"cpu", "isa", "platform", "version", "driver", "os", "compiler", "memory",
                          "huge_pages", "load_before", "date"})
    if (const std::string text = all.fact(key); !text.empty()) to.identity.emplace_back(key, text);
  if (const std::string text = doubts_of(all); !text.empty())
    to.identity.emplace_back("times", text);
  if (const std::string text = unfinished(all); !text.empty())
    to.identity.emplace_back("unfinished", text);
}

constexpr double kLeastSustained =
    0.6;  // of the free clock: below, units were more likely kept waiting than slower

Value<Hertz> sustained_value(const Summary& s, const Value<Hertz>& max, bool units_are_real) {
  if (!max.known() || 1 / s.value < kLeastSustained * max.value->v || !units_are_real)
    return unknown_value<Hertz>(fmt::format(
        "units shared cores, or others used them, whenever it was measured: {:.2f} GHz at best",
        1e-9 / s.value));
  return hertz_value(
      inverse(s, 1),
      "the same chain with multiply-adds of the widest vectors beside it, all units");
}

void add_clocks(const Observations& all, Profile& to) {
  Clock core;
  core.name = kCore;
  if (all.fact("lanes") == "threads") {
    const std::string said = all.fact("clock_hz");
    core.max = said.empty()
                   ? unknown_value<Hertz>(
                         "the driver does not say, and no counter of cycles can be read: times are "
                         "in seconds")
                   : known_value(Hertz{std::stod(said)}, Origin::driver, "what the driver says");
    to.clocks.push_back(std::move(core));
    return;
  }
  const auto free = free_clock(all);
  core.max = free ? hertz_value(*free, "chain of dependent integer additions, one tick each")
                  : unknown_value<Hertz>("the clock experiment did not run");
  if (const auto s = summarize(select(all, "sustained", "fma"), Estimator::throughput))
    core.sustained.emplace_back("fma", sustained_value(*s, core.max, units_are_real(all)));
  to.clocks.push_back(std::move(core));
}

Value<Count> unit_count(const Observations& all) {
  const std::string said = all.fact("units");
  const double usable = said.empty() ? 0 : std::stod(said);
  const std::vector<double> counts = values_of(select(all, "units", "fma"), "units");
  if (usable <= 0) return unknown_value<Count>("the system does not say how many there are");
  const auto reach = units_speedup(all);
  if (!reach)
    return known_value(Count{usable}, Origin::driver, "usable CPUs",
                       "their throughput was not measured");
  const std::string note = fmt::format("{:.0f} units reach {:.2f} times the multiply-adds of one",
                                       counts.back(), *reach);
  if (!units_are_real(all))
    return known_value(Count{usable}, Origin::driver, "usable CPUs",
                       note + ": they share cores, or others used them during the measurement");
  auto v = known_value(Count{usable}, Origin::measured,
                       "usable CPUs, confirmed by how their throughput adds up", note);
  return v;
}

// Co-tenants on a processor delay the last group as well.
bool no_co_tenants(const Observations& all) {
  const auto blocks = select(all, "units", "alone");
  const bool processor = all.fact("class") == "cpu";  // processes of the host do not occupy a GPU
  return !processor || std::all_of(blocks.begin(), blocks.end(),
                                   [](const Observation& o) { return o.foreign <= kCoTenant; });
}

// The units that groups ran on; the note has what the driver says.
Value<Count> unit_count_by_groups(const Observations& all) {
  const int found = no_co_tenants(all) ? units_from(all) : 0;
  const std::string said = all.fact("compute_units");
  const std::string why = units_from(all) > 0
                              ? "others used the machine while groups that fill a unit ran"
                              : "groups that fill a unit did not run";
  if (found <= 0)
    return said.empty()
               ? unknown_value<Count>(why + ", and the driver does not say")
               : known_value(Count{std::stod(said)}, Origin::driver, "what the driver says", why);
  auto v = known_value(Count{double(found)}, Origin::measured,
                       "one more group that fills a unit, and the last to end takes twice as long");
  if (said.empty()) return v;
  v.note = "the driver says " + said;
  // Groups of which several fit a unit look like more units.
  const double driver = std::stod(said), most = units_that_ran(all);
  if (driver != most) {
    v.low = Count{std::min(driver, most)};
    v.high = Count{std::max(driver, most)};
    v.note += fmt::format(", and {:.0f} groups ran at once: the interval holds both", most);
  }
  return v;
}

// A time of the launch experiment; nullopt: not measured.
std::optional<Summary> launch_time(const Observations& all, const std::string& what) {
  return summarize(select(all, "launch", what), Estimator::throughput);
}

// The same of steps between units.
std::optional<Summary> time_between_units(const Observations& all, const std::string& what) {
  return summarize(same_die_blocks(select(all, "launch", what)), Estimator::throughput);
}

// The difference of two long steps is a cost where it is nearly always positive; else it is noise.
bool is_a_cost(const std::vector<Observation>& blocks) {
  std::vector<double> samples = all_samples(blocks);
  return !samples.empty() && quantile(std::move(samples), 0.1) > kShortestJoin;
}

constexpr double kNothing = 1e-6;  // of a difference: rounding error

// The time that evicted code adds, of several sizes, all short. It differs from run to run, which
// is no noise: eight of ten. Cached code takes two or three times as long at some times as at
// others, so each visit has its own.
Value<Seconds> cold_time(const Observations& all, const Known& known, const char* what,
                         const char* method) {
  if (known.threads)
    return unknown_value<Seconds>(
        "groups are dealt out by the device, and nobody knows which unit ran the code before");
  std::vector<double> longer;
  for (const Observations& visit : visits_of(all, "cold"))
    for (const double steps : values_of(select(visit, "cold", what), "steps")) {
      const std::vector<double> cold = all_samples(select(visit, "cold", what, {{"steps", steps}}));
      const std::vector<double> warm =
          all_samples(select(visit, "cold", "warm", {{"steps", steps}}));
      if (warm.empty()) continue;
      for (const double s : cold) longer.push_back(s - quantile(warm, 0.5));
    }
  if (longer.empty())
    return unknown_value<Seconds>("code that other memory has driven out did not run");
  const Measured middle{quantile(longer, 0.5),
                        quantile(longer, 0.1),
                        quantile(longer, 0.9),
                        static_cast<int64_t>(longer.size()),
                        {}};
  if (middle.low <= kNothing * middle.value)
    return unknown_value<Seconds>(
        "code that other memory has driven out takes no longer, as much as the times differ");
  return seconds_value(middle, method);
}

Value<Bytes> stated_bytes(const Observations& all, const std::string& fact) {
  const std::string text = all.fact(fact);
  if (text.empty()) return {};
  return known_value(Bytes{std::stod(text)}, Origin::driver, "what the driver says");
}

void add_limits(const Observations& all, Api& api) {
  api.limits.group_memory = stated_bytes(all, "group_memory");
  api.limits.allocation = stated_bytes(all, "largest_buffer");
  if (const std::string most = all.fact("group_threads"); !most.empty())
    api.limits.threads_per_group =
        known_value(Count{std::stod(most)}, Origin::driver, "what the driver says");
  if (const std::string most = all.fact("loop_limit"); !most.empty())
    api.limits.iterations = known_value(Count{std::stod(most)}, Origin::measured,
                                        "the longest loop that counted all of its iterations");
  if (all.fact("group_memory_type") == "global")
    api.limits.group_memory.note = "lies in far memory, behind the caches";
  if (all.fact("images") == "yes") api.features.emplace_back("images");
  const std::string extensions = all.fact("extensions");
  for (const auto& [extension, feature] :
       {std::pair{"cl_khr_global_int32_base_atomics", "atomics.global.i32"},
        {"cl_khr_local_int32_base_atomics", "atomics.local.i32"},
        {"cl_khr_int64_base_atomics", "atomics.i64"},
        {"cl_khr_fp16", "f16"},
        {"cl_khr_fp64", "f64"},
        {"cl_khr_command_buffer", "command_buffer"},
        {"cl_khr_subgroups", "subgroups"}})
    if (extensions.find(extension) != std::string::npos) api.features.emplace_back(feature);
}

void add_api(const Observations& all, const Known& known, Profile& to) {
  Api api;
  api.name = all.fact("api").empty() ? "cpp" : all.fact("api");
  api.dialect = all.fact("dialect").empty() ? api.name : all.fact("dialect");
  // On the CPU each unit is a thread of this process. Of a driver's groups it is never assumed.
  api.coresident_groups = all.fact("threads") == "own" ? Fact::yes : Fact::unknown;
  add_limits(all, api);
  if (const auto s = launch_time(all, "eager"))
    api.launch.eager =
        seconds_value(scaled(*s, 1), "one launch on all units, waited for, seen from outside");
  if (const auto s = time_between_units(all, "step")) {
    api.launch.stream =
        seconds_value(scaled(*s, 1), "200 steps of one empty group per unit in one run, per step");
    if (all.fact("threads") == "own")
      api.device_barrier =
          seconds_value(scaled(*s, 1), "the same steps: an empty step is its barrier");
  }
  if (const auto s = time_between_units(all, "barrier"))
    api.device_barrier = seconds_value(
        scaled(*s, 1), "200 steps of one empty group per unit in one kernel, per step");
  if (const auto s = launch_time(all, "recorded"); s && s->value > 0)
    api.launch.graph = seconds_value(scaled(*s, 1),
                                     "200 such steps recorded and handed over as one, less two of "
                                     "them, per step, seen from outside");
  else
    api.launch.graph = unknown_value<Seconds>(
        s ? "200 recorded launches take no longer than two, as much as they differ"
        : all.fact(kUnrecorded).empty() ? "recorded launches were not measured"
                                        : all.fact(kUnrecorded));
  if (const auto s = launch_time(all, "beside"); s && s->value > 0)
    api.launch.beside = seconds_value(scaled(*s, 1),
                                      "200 empty launches with a barrier behind every eighth, less "
                                      "25 with one behind each, per further launch");
  else if (s)
    api.launch.beside = unknown_value<Seconds>(
        "eight launches without barriers take no longer than one, as much as they differ");
  api.launch.cold = cold_time(all, known, "cold",
                              "straight-line code, once behind other memory of 2.5 times a unit's "
                              "own caches, less once behind other code");
  api.launch.uncached =
      cold_time(all, known, "uncached",
                "straight-line code, once behind other memory of twice what the last cache may "
                "hold and a launch of other code, less once behind other code alone");
  if (const auto s = launch_time(all, "join");
      s && s->value > kShortestJoin && is_a_cost(select(all, "launch", "join")))
    api.wakeup_skew =
        seconds_value(scaled(*s, 1), "steps of 0.4 ms on all units, less the same on one");
  api.map = map_time(all);
  if (!known.threads)
    api.slp_lanes = slp_lanes(all, known.lanes);
  else {
    api.merged_loads = merged_loads(all);
    api.unrolled = unrolled_iterations(
        all, known.levels.plateaus.empty() ? 0 : known.levels.plateaus.front().seconds);
  }
  if (const auto s = launch_time(all, "group"))
    api.group_start = seconds_value(scaled(*s, 1), "empty groups in one queue, per group");
  to.apis.push_back(std::move(api));
}

}  // namespace

void infer_machine(const Observations& all, const Known& known, Profile& to) {
  add_identity(all, to);
  add_clocks(all, to);
  to.topology.push_back({"unit", known.threads ? unit_count_by_groups(all) : unit_count(all)});
  add_api(all, known, to);
  add_tlb(all, known, to);
}

}  // namespace assay::probe
