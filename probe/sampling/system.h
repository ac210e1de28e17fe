// What the operating system knows about a measurement: how much CPU time was not ours, and what it
// declares about the machine. Reads /proc and /sys only. Declared figures become notes. Only a
// cache's nominal size replaces a measurement, where it is inside the measured knee.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay::probe {

// Running totals since some start, in seconds.
struct CpuTimes {
  double wall = 0;
  double own = 0;     // CPU time of this process, all threads
  double busy = 0;    // of all CPUs of the machine (10 ms steps)
  double stolen = 0;  // taken by the hypervisor (10 ms steps)
  double waited = 0;  // our threads ready to run, but another one ran (exact)
  int cpus = 1;
};

CpuTimes read_cpu_times();

// Of one short sample: the share of its time that others kept our threads from running. Our own
// threads that wait for each other do not count: the wait is at most the time that processors did
// not run us. Exact but for what is running at the moment (a tick).
double kept_waiting(const CpuTimes& before, const CpuTimes& after);

// Of a window of 0.2 s or more: the share of the machine's CPU time that others used or took. The
// counters advance in steps of 10 ms, so two steps are deducted.
double co_tenant_share(const CpuTimes& before, const CpuTimes& after);

// os, memory, huge pages, declared caches and load, by name.
std::vector<std::pair<std::string, std::string>> declared_facts();

}  // namespace assay::probe
