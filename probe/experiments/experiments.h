// The table of experiments, in the order they run: what each needs, what it provides, its share of
// the budget.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/sampling/cycle.h"
#include "probe/sampling/session.h"

namespace assay::probe {

struct Experiment {
  const char* name;
  const char* topic;  // what `--only` may name instead: compute, memory, control
  const char* needs;  // names, separated by spaces; a missing one is replaced by its default
  const char* provides;
  double weight;  // of the budget
  // 0: needed to predict; 1: refines; 2: special. Where time is short, the least useful are left
  // out.
  int use;
  // Beside the sentinel and the empty one. `#` is a number, `*` any word without `_`, `**` any.
  const char* kernels;
  void (*run)(Session&);  // in the worker; throws what ends it
  // Repetitions, spread over the probe since co-tenant load changes; they share the weight.
  int times = 1;
};

inline constexpr int kLookTimes = 6;

std::span<const Experiment> experiments();
std::vector<std::string> needs_of(const Experiment& e);

// Those among `all` that it runs. `fills`: also those of fill_caches.
std::vector<ir::Kernel> kernels_of(const Experiment& e, std::span<const ir::Kernel> all,
                                   bool fills = false);
bool matches(std::string_view pattern, std::string_view name);

// Concurrent groups that saturate a pipe whose latency is longer than that of f32 multiply-adds.
inline int deeper_groups(const Known& known, bool threads) {
  return threads ? std::max(known.groups, known.even(4 * known.groups)) : known.groups;
}

// 1, next(1), next(next(1)), ... below `all`, then `all`.
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

// Loads and stores that convert (conversions.cpp).
void run_conversions(Session& s);

// Matrix instructions (matrix.cpp).
void run_matrix(Session& s);

// Atomic additions (atomics.cpp).
void run_atomics(Session& s);

// Resident groups, registers of a thread (residency.cpp).
void run_residency(Session& s);
void run_registers(Session& s);

// Divergent branches, barriers of a group (branches.cpp).
void run_branches(Session& s);

// Read-modify-write of one vector (read_modify_write.cpp).
void run_read_modify_write(Session& s);

// A barrier among all groups (barrier.cpp).
void run_barrier(Session& s);

// SLP vectorisation, load merging (vectorisation.cpp).
void run_vectorisation(Session& s);

// Straight-line code (code.cpp, cold_code.cpp), power (power.cpp).
void run_code(Session& s);
void run_cold_code(Session& s);
void run_power(Session& s);

// Caches (cache.cpp), TLBs (translation.cpp), shared last cache (shared_reads.cpp).
void run_line(Session& s);
void run_chase(Session& s);
void run_knees(Session& s);
void run_latency(Session& s);
void run_tlb(Session& s);
void run_sharing(Session& s);
void run_looks(Session& s);  // looks.cpp: caches and multiply-adds
// Two touches at one of these distances, in each of many pairs.
inline constexpr std::array<int64_t, 10> kPairDistances = {8,  16, 24,  32,  48,
                                                           64, 96, 128, 192, 256};
class PairTouches {
 public:
  explicit PairTouches(Session& s);
  // Returns the clock beside it; 0: unknown.
  double measure(const std::string& experiment, size_t distance);

 private:
  static constexpr int64_t kPairStride = 512;
  Session& s_;
  bool large_;
  int64_t pairs_;
  ChaseArea area_;
};
// One block at one footprint: a new cycle, one warm pass where affordable, samples.
void chase_block(Session& s, const std::string& experiment, const ChaseArea& area, int64_t bytes);

// How memory is accessed: a file each of the same name; outstanding misses in access.cpp.
void run_outstanding(Session& s);
void run_border(Session& s);
void run_constant(Session& s);
void run_coherence(Session& s);
void run_shared_reads(Session& s);
void run_false_sharing(Session& s);
void run_retention(Session& s);
void run_instances(Session& s);
void run_host(Session& s);
void run_image(Session& s);
void run_loaded_latency(Session& s);
void run_write_policy(Session& s);
void run_scratch(Session& s);
void run_transfer(Session& s);
void run_ways(Session& s);  // associativity.cpp

// Bandwidth of memory, cost of launching.
void run_access(Session& s);     // stream.cpp
void run_bandwidth(Session& s);  // stream.cpp
void run_cyclic_scan(Session& s);
void run_far(Session& s);
void run_launch(Session& s);
void run_group_memory(Session& s);  // cache.cpp

}  // namespace assay::probe
