#include "probe/inference/execution.h"

#include <fmt/format.h>

#include "probe/inference/infer.h"
#include "probe/inference/spill.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

// A group is one wave, of the driver's width.
void add_waves(const Observations& all, const Known& known, Profile& to) {
  to.execution.lanes.style = LaneStyle::simt;
  LaneMode mode;
  mode.width =
      known_value(Count{double(known.lanes)}, Origin::driver, "what the driver says of its waves",
                  fmt::format("{} groups of one wave keep all units busy", known.groups));
  if (all.fact("widths").find(' ') != std::string::npos)
    mode.width.note += "; it offers " + all.fact("widths");
  mode.name = fmt::format("wave{}", known.lanes);
  to.execution.lanes.modes.push_back(std::move(mode));
}

// The first number of chains whose kernel needs the stack shows how many vectors fit: chains and
// one operand. A compiler may reserve one for itself, so the extension's own number decides
// between.
Value<Count> register_count(const Observations& all, int lanes) {
  const std::vector<Observation> blocks = select(all, "fma", "stack", {{"lanes", lanes}});
  double base = -1, fits = 0, spills = 0;
  for (const double chains : values_of(blocks, "chains")) {
    const double bytes =
        select(all, "fma", "stack", {{"lanes", lanes}, {"chains", chains}}).back().samples.at(0);
    if (base < 0) base = bytes;
    if (bytes < base + lanes * 2)
      fits = chains;  // frames are aligned, so one more vector may add less than its bytes
    else if (spills == 0)
      spills = chains;
  }
  if (const std::optional<Isa> isa = isa_of(all);
      isa && isa->registers >= fits + 1 && (spills == 0 || isa->registers <= spills + 2))
    return known_value(
        Count{double(isa->registers)}, Origin::driver, std::string("instruction set: ") + isa->name,
        fits > 0
            ? fmt::format(
                  "the compiler keeps {:.0f} accumulators and an operand in registers, not {:.0f}",
                  fits, spills)
            : "");
  if (fits <= 0) return unknown_value<Count>("the compiler does not report stack use");
  if (spills <= 0)
    return unknown_value<Count>(fmt::format("no spill up to {:.0f} vectors", fits + 1));
  auto v =
      known_value(Count{fits + 1}, Origin::driver, "the compiler's report of stack use",
                  fmt::format("{:.0f} accumulators and an operand stay in registers, {:.0f} do not",
                              fits, spills));
  v.low = Count{fits + 1};
  v.high = Count{spills + 1};
  return v;
}

}  // namespace

void add_lanes(const Observations& all, const Known& known, Profile& to) {
  Lanes& lanes = to.execution.lanes;
  if (known.threads) return add_waves(all, known, to);
  lanes.style = LaneStyle::simd;
  for (const LaneRate& r : lane_modes(all)) {
    auto width = known_value(Count{double(r.lanes)}, Origin::measured,
                             "throughput of multiply-adds by vector width",
                             fmt::format("{:.0f} G multiply-adds/s with {} chains",
                                         r.elements_per_second * 1e-9, r.chains));
    LaneMode mode;
    mode.width = std::move(width);
    mode.name = fmt::format("v{}", r.lanes * 32);
    lanes.modes.push_back(std::move(mode));
  }
}

void add_registers(const Observations& all, const Known& known, Profile& to) {
  Registers& r = to.execution.registers;
  r.per = "unit";
  if (known.threads) return;  // infer_residency
  r.count = register_count(all, known.lanes);
  if (r.count.known()) {
    std::vector<LiveTime> times;
    double hertz = 0;
    for (const double chains :
         values_of(select(all, "fma", "fma", {{"lanes", known.lanes}}), "chains"))
      if (const auto s = summarize_at_clock(
              known, select(all, "fma", "fma", {{"lanes", known.lanes}, {"chains", chains}}),
              Estimator::throughput)) {
        times.push_back({chains + 1, *s});  // and their operand
        hertz = ticks_per_second(all, known, *s);
      }
    r.spill = spill_of(times, r.count.value->v - 1, r.count.value->v,
                       hertz);  // compilers may reserve one
  } else {
    r.spill = unknown_value<Latency>("how many registers there are is not known");
  }
  r.width = known_value(Bytes{known.lanes * 4.0}, Origin::measured, "the widest vectors that pay");
}

}  // namespace assay::probe
