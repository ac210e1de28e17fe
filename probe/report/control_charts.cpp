#include "probe/report/chart_table.h"

namespace assay::probe {
namespace {

ChartRow clock_chart(const char* title, Samples of, Against x, Estimator estimator,
                     const char* method) {
  ChartRow out = rate_chart(title, of, std::move(x), linear_axis("clock", Kind::hertz), method);
  out.section = "Clock";
  out.estimator = estimator;
  return out;
}

std::vector<ChartRow> control_flow_charts() {
  const Axis barrier = linear_axis("time of a barrier", Kind::seconds);
  return in_section(
      "Control flow",
      {
          duration_chart(
              "Divergent branches", {"branches", "branch"},
              {"alternate",
               linear_axis("neighbouring lanes that take one branch; 0: all do", Kind::count),
               "threads"},
              linear_axis("time of a multiply-add", Kind::seconds),
              "Both branches are equally long. A wave whose lanes diverge takes twice as "
              "long; from a wave's width on, none diverges."),
          duration_chart("Barriers of a group", {"branches", "barrier"},
                         {"threads", linear_axis("threads of the group", Kind::count)}, barrier,
                         "One group alone, barrier after barrier."),
          duration_chart(
              "Barriers among groups", {"barrier", "device"},
              {"groups", log_axis("resident groups", Kind::count)},
              log_axis("time of a barrier", Kind::seconds),
              "Inside one kernel: each group increments a counter and polls it until all have "
              "arrived."),
          duration_chart(
              "Straight-line code", {"code", "straight"},
              {"steps", log_axis("steps in a loop", Kind::count)},
              linear_axis("time of a step", Kind::seconds),
              "A loop of an increasing number of steps. Where its code misses an instruction "
              "cache, steps take longer."),
          duration_chart(
              "Cold code", {"cold", "uncached cold warm"},
              {"steps", log_axis("steps of straight-line code", Kind::count)},
              log_axis("time of a launch", Kind::seconds),
              "The code runs once, after data evicted it from a unit's own caches (cold), or "
              "from all (uncached), or after other code (warm)."),
      });
}

}  // namespace

std::vector<ChartRow> control_charts() {
  std::vector<ChartRow> out = control_flow_charts();
  out.push_back(clock_chart("Clock under load", {"clock", ""},
                            {"lanes", log_axis("lanes of the concurrent vectors", Kind::count)},
                            Estimator::latency,
                            "A dependence chain of additions, one cycle each: alone (the "
                            "sentinel), and beside loads, stores and multiply-adds."));
  out.push_back(clock_chart(
      "Clock with all units active", {"sustained", ""},
      {"units", linear_axis("active units", Kind::count), "lanes"}, Estimator::throughput,
      "The same chain beside multiply-adds of the widest vectors, on all units."));
  for (ChartRow& row : in_section(
           "Launching",
           {duration_chart(
               "Cost of launching", {"launch", ""}, {}, log_axis("time", Kind::seconds),
               "eager: one launch, waited for. step: one more launch in a run. barrier: one "
               "more step inside a launch. group: one more group in a queue. join: until all "
               "units take part.")}))
    out.push_back(std::move(row));
  return out;
}

}  // namespace assay::probe
