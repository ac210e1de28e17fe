#include "probe/report/chart_table.h"

namespace assay::probe {

std::vector<ChartRow> compute_charts() {
  const Axis chains = linear_axis("independent chains", Kind::count),
             active_groups = log_axis("concurrent groups", Kind::count),
             live = linear_axis("live registers of each thread", Kind::count);
  return in_section(
      "Arithmetic",
      {
          heat_map(lanes_rate_chart(
              "Multiply-adds by lanes and chains", {"fma", "fma"}, {"chains", chains, "lanes"},
              linear_axis("multiply-adds, one unit", Kind::per_second),
              "Independent dependence chains of multiply-adds. One chain shows the "
              "latency, enough of them the throughput.")),
          latency_chart(
              "Stack use by chains", {"fma", "stack"}, {"chains", chains, "lanes"},
              linear_axis("stack of the kernel", Kind::bytes),
              "What the kernel's compiler reports. Where it begins to grow, registers are "
              "spilled."),
          duration_chart(
              "Operations: one chain and many", {"operations", ""}, {"", {}, "chains lanes"},
              log_axis("time of one vector operation", Kind::seconds),
              "One chain shows the latency of an operation, many the throughput. Of pairs (a+b) a "
              "step is one of either; pairs that take less than both alone use different pipes."),
          duration_chart(
              "Other element types", {"types", ""}, {"", {}, "chains"},
              log_axis("time of one vector operation", Kind::seconds),
              "The same for 64-bit floats, integers, narrow types and 1 / sqrt. Of pairs "
              "(fma+...) every other step is a multiply-add of f32."),
          duration_chart(
              "Accesses that convert", {"conversions", ""}, {"", {}, ""},
              log_axis("time of one access", Kind::seconds),
              "Loads, elements for all lanes and stores in the first cache: type in memory, type "
              "in registers. Those of f32 f32 convert nothing."),
          duration_chart(
              "Atomic additions", {"atomics", ""}, {"groups", active_groups},
              log_axis("time of an addition", Kind::seconds),
              "same: all lanes add to one address; distinct: each lane to its own; chain: the "
              "value returned is added next. group_: in the scratchpad."),
          latency_chart(
              "Resident groups by registers", {"residency", "registers"}, {"live", live},
              linear_axis("groups on all units", Kind::count),
              "Groups count arrivals for a bounded time. The first to leave has seen all that "
              "are resident."),
          latency_chart("Resident groups by scratchpad", {"residency", "memory"},
                        {"bytes", log_axis("scratchpad of each group", Kind::bytes)},
                        linear_axis("groups on all units", Kind::count),
                        "The same with a part of the scratchpad that a group may allocate."),
          duration_chart("Multiply-adds by live registers", {"registers", "live"}, {"live", live},
                         linear_axis("time of each", Kind::seconds),
                         "One wave. Where registers are spilled, each multiply-add takes longer."),
          duration_chart(
              "SLP vectorisation", {"vectorisation", "neighbours"},
              {"run", log_axis("neighbouring elements", Kind::count)},
              linear_axis("time of an element", Kind::seconds),
              "Scalar multiply-adds of runs of neighbouring elements. A compiler that makes "
              "vectors of them needs less time for longer runs."),
          latency_chart(
              "Power", {"power", "idle fma"}, {}, linear_axis("watts", Kind::count),
              "The packages' energy counter without work, and with multiply-adds on all units."),
          rate_chart(
              "Issue width: mixes of independent operations", {"mixes", ""}, {},
              linear_axis("operations, one unit", Kind::per_second),
              "Independent instructions of several kinds. The best mix shows how many one unit "
              "issues."),
          duration_chart(
              "Units at work", {"units", ""}, {"units", linear_axis("active units", Kind::count)},
              linear_axis("time of a unit's own step", Kind::seconds),
              "The same arithmetic on one unit and on all. Physical units take no longer when "
              "all are active."),
          duration_chart(
              "Groups that fill a unit each", {"units", "alone"},
              {"groups", linear_axis("concurrent groups", Kind::count)},
              linear_axis("time until the last has ended", Kind::seconds),
              "Groups that allocate all of a unit's scratchpad. With one group more than "
              "units, one unit runs two serially."),
          lanes_rate_chart(
              "Multiply-adds by groups at a time", {"waves", ""},
              {"groups", active_groups, "lanes chains"},
              log_axis("multiply-adds, whole device", Kind::per_second),
              "An increasing number of concurrent groups. Where the rate stops growing, all "
              "units are saturated."),
      });
}

}  // namespace assay::probe
