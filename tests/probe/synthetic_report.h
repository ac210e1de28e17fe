// A synthetic probe with something in every kind of chart: rows of the report's table, an uncovered
// experiment, waiting threads, a failed experiment, and text that would break a page that trusts
// it.
#pragma once

#include "hwdesc/profile.h"
#include "probe/inference/infer.h"
#include "tests/probe/synthetic.h"

namespace assay::probe::test {

inline constexpr const char* kHostile = "</script><img src=x onerror=alert(1)> \"'&{{body}}";

inline void add_blocks(Observations& to, const std::string& experiment, const std::string& what,
                       const Conditions& at, double seconds) {
  for (int i = 0; i < 3; ++i)
    to.points.push_back(block(experiment, what, at, seconds * (1 + 0.01 * i)));
}

inline void add_arithmetic(Observations& to) {
  for (const double lanes : {4.0, 8.0, 16.0}) {
    for (const double chains : {1.0, 4.0, 8.0, 16.0})
      add_blocks(to, "fma", "fma", {{"lanes", lanes}, {"chains", chains}},
                 1.3e-9 / std::min(chains, 8.0));
    for (const char* load : {"read", "write", "fma"})
      add_blocks(to, "clock", load, {{"lanes", lanes}}, 1 / 3e9);
    for (const char* access : {"read", "write", "gather"})
      add_blocks(to, "access", access,
                 {{"lanes", lanes}, {"bytes", 16384}, {"units", 1}, {"level", 0}},
                 1e-11 * 16 / lanes);
  }
  Observation stack = block("fma", "stack", {{"lanes", 16}, {"chains", 16}}, 8);
  stack.unit = "B";
  to.points.push_back(stack);
  for (const char* op : {"add", "div", "fma+add"})
    for (const double chains : {1.0, 10.0})
      add_blocks(to, "operations", op, {{"lanes", 16}, {"chains", chains}}, 2e-9 / chains);
  for (const char* mix : {"integer", "load_integer"}) add_blocks(to, "mixes", mix, {}, 5e-11);
  for (const double units : {1.0, 2.0}) add_blocks(to, "units", "fma", {{"units", units}}, 1.3e-10);
  add_blocks(to, "sustained", "fma", {{"lanes", 16}, {"units", 2}}, 1 / 2.9e9);
  add_blocks(to, "clock", "sentinel", {}, 1 / 3e9);
}

inline void add_memory(Observations& to) {
  for (const double d : {8.0, 16.0, 32.0, 64.0, 128.0})
    add_blocks(to, "line", "pair", {{"distance", d}}, d < 64 ? 2e-9 : 3e-9);
  for (const double bytes : {16384.0, 262144.0, 67108864.0})
    add_blocks(to, "latency", "chase",
               {{"bytes", bytes},
                {"level", bytes < 1e5   ? 0
                          : bytes < 1e6 ? 1
                                        : 2}},
               bytes < 1e5   ? 1.3e-9
               : bytes < 1e6 ? 4e-9
                             : 9e-8);
  for (const double units : {1.0, 2.0}) {
    add_blocks(to, "sharing", "chase", {{"bytes", 30000}, {"level", 0}, {"units", units}}, 1.3e-9);
    for (const char* access : {"read", "write", "copy"}) {
      add_blocks(to, "bandwidth", access,
                 {{"bytes", 16384}, {"lanes", 16}, {"level", 0}, {"units", units}}, 2e-12 / units);
      add_blocks(to, "far", access,
                 {{"bytes", 6.7e7 / units}, {"lanes", 16}, {"level", 2}, {"units", units}},
                 3e-11 / units);
    }
  }
  for (double bytes = 16384; bytes < 1e8; bytes *= 2)
    add_blocks(to, "cyclic_scan", "read", {{"bytes", bytes}, {"lanes", 16}, {"units", 2}},
               bytes < 4e4   ? 1e-12
               : bytes < 9e5 ? 4e-12
                             : 3e-11);
  for (const double stride : {64.0, 4096.0, 69632.0})
    for (double nodes = 16; nodes < 5000; nodes *= 2)
      add_blocks(to, "tlb", "pages", {{"nodes", nodes}, {"stride", stride}},
                 stride > 64 && nodes > 90 ? 4e-9 : 1.3e-9);
  for (const char* what : {"chase", "read"})
    add_blocks(to, "group_memory", what, {{"bytes", 16384}}, 1e-9);
}

inline Observations synthetic_observations(const std::string& name = "Made-up chip") {
  Observations out;
  out.points =
      chase_observations({{32768, 1.3e-9, 0}, {1048576, 4e-9, 0.5}, {0, 9e-8, 0}}, 0.02, 7);
  add_memory(out);
  add_arithmetic(out);
  for (const char* what : {"eager", "step", "group"})
    add_blocks(out, "launch", what, {{"units", 2}}, what[0] == 'e' ? 2e-5 : 1e-7);
  for (const double banks : {1.0, 2.0, 4.0, 8.0, 16.0})
    add_blocks(out, "banks", name, {{"ways", banks}}, 1e-9 * banks);
  out.points[40].disturbed[0] = 0.4;
  out.points[50].foreign = 0.7;
  out.facts = {{"name", name},
               {"api", "cpp"},
               {"units", "2"},
               {"memory_bytes", "8589934592"},
               {"date", "2026-01-02"},
               {"driver", name},
               {"declared.l1", "32K, shared by CPUs 0"},
               {"device", "cpu:0"},
               {"budget_s", "40"},
               {"threads", "own"}};
  out.endings = {{"chase", Outcome::done, 8.25, ""},
                 {"banks", Outcome::crashed, 0.5, "ended by signal 11 " + name}};
  for (const Observation& o : out.points)
    if (o.experiment != "banks" && !out.finished(o.experiment))
      out.endings.push_back({o.experiment, Outcome::done, 1, ""});
  return out;
}

}  // namespace assay::probe::test
