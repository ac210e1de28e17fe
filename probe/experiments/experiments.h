// The table of experiments: what is run, in order, what each needs to have run before and what it
// provides, and its part of the budget.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probe/sampling/session.h"

namespace assay::probe {

struct Experiment {
  const char* name;
  const char* topic;  // what `--only` may name instead: compute, memory, control
  const char* needs;  // names, separated by spaces; a missing one is replaced by its default
  const char* provides;
  double weight;          // of the budget
  void (*run)(Session&);  // in the worker; throws what ends it
  int times =
      1;  // that it runs, each with a part of its budget and far apart: other guests come and go
};

std::span<const Experiment> experiments();
std::vector<std::string> needs_of(const Experiment& e);

// Groups at a time whose chains keep a pipe busy although its results take longer than those of
// multiply-adds of f32.
inline int deeper_groups(const Known& known, bool threads) {
  return threads ? std::max(known.groups, known.even(4 * known.groups)) : known.groups;
}

// 1, what is next to it, ... below `all`, and all.
inline std::vector<int> counts_up_to(int all, int (*next)(int)) {
  std::vector<int> out;
  for (int n = 1; n < all; n = next(n)) out.push_back(n);
  out.push_back(all);
  return out;
}

// Arithmetic (compute.cpp).
void run_checks(Session& s);
void run_clock(Session& s);
void run_fma(Session& s);
void run_operations(Session& s);
void run_mixes(Session& s);
void run_waves(Session& s);
void run_units(Session& s);
void run_sustained(Session& s);

// Operations on other types (types.cpp).
void run_forms(Session& s);
void run_types(Session& s);

// Matrix instructions (matrix.cpp).
void run_matrix(Session& s);

// Additions in one step (atomics.cpp).
void run_atomics(Session& s);

// Groups under way at once, registers of a thread (residency.cpp).
void run_residency(Session& s);
void run_registers(Session& s);

// Branches that lanes disagree on, barriers (branches.cpp).
void run_branches(Session& s);

// A vector in memory, updated over and over (update.cpp).
void run_read_modify_write(Session& s);

// A barrier among all groups (barrier.cpp).
void run_barrier(Session& s);

// Scalar operations on neighbours (joined.cpp).
void run_vectorisation(Session& s);

// Straight-line code; power (straight.cpp, power.cpp).
void run_code(Session& s);
void run_cold(Session& s);  // cold.cpp
void run_power(Session& s);

// Caches (cache.cpp).
void run_line(Session& s);
void run_chase(Session& s);
void run_knees(Session& s);
void run_latency(Session& s);
void run_tlb(Session& s);  // translation.cpp
void run_sharing(Session& s);

// How memory is accessed (access.cpp).
void run_outstanding(Session& s);
void run_border(Session& s);        // border.cpp
void run_constant(Session& s);      // constant.cpp
void run_coherence(Session& s);     // handed.cpp
void run_shared_reads(Session& s);  // found.cpp
void run_false_sharing(Session& s);
void run_retention(Session& s);
void run_instances(Session& s);       // instances.cpp
void run_host(Session& s);            // host.cpp
void run_image(Session& s);           // image.cpp
void run_loaded_latency(Session& s);  // loaded.cpp
void run_write_policy(Session& s);    // rewrite.cpp
void run_scratch(Session& s);         // scratch.cpp
void run_transfer(Session& s);        // transfer.cpp
void run_ways(Session& s);            // sets.cpp

// Throughput of memory, cost of launching.
void run_access(Session& s);        // stream.cpp
void run_bandwidth(Session& s);     // stream.cpp
void run_cyclic_scan(Session& s);   // streamed.cpp
void run_far(Session& s);           // far.cpp
void run_launch(Session& s);        // launch.cpp
void run_group_memory(Session& s);  // cache.cpp

}  // namespace assay::probe
