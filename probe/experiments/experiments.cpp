#include "probe/experiments/experiments.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

namespace assay::probe {
namespace {

constexpr auto kExperiments = std::to_array<Experiment>({
    {"checks", "", "", "executed iterations, loop limit, plausible times", 0.2, 0,
     "op_fma_#_# chase", run_checks},
    {"clock", "compute", "", "core clock", 1.0, 0, "tick_*_#", run_clock},
    {"line", "memory", "", "cache line", 1.2, 0, "chase", run_line},
    {"chase", "memory", "line", "latency by footprint", 8.0, 0, "chase", run_chase, 2},
    {"knees", "memory", "chase", "capacities", 5.0, 0, "chase", run_knees, 2},
    {"forms", "compute", "", "multiply-adds in every form of the dialect", 0.3, 1, "", run_forms},
    {"fma", "compute", "clock forms",
     "vector widths, multiply-add throughput and latency, registers", 4.0, 0, "op_fma_#_#", run_fma,
     2},
    {"units", "compute", "fma", "physical units", 1.2, 0, "op_fma_#_# alone", run_units, 2},
    {"waves", "compute", "units fma", "concurrent groups that saturate all units", 1.2, 0,
     "op_fma_#_#", run_waves},
    {"residency", "compute", "waves units", "resident groups, the register file", 0.6, 1, "meet",
     run_residency},
    {"cyclic_scan", "memory", "knees fma", "hit curves of cyclic scans", 3.0, 0,
     "read_# write_# around_#", run_cyclic_scan, 3},
    {"looks", "memory", "knees fma", "capacities and multiply-adds at other times", 2.4, 0,
     "chase op_fma_#_#", run_looks, kLookTimes},
    {"latency", "memory", "knees cyclic_scan", "latency of each level", 2.0, 0, "chase",
     run_latency},
    {"operations", "compute", "fma", "throughput and latency of other operations", 3.0, 1,
     "op_*_#_# op_fma_add_#_# op_fma_mul_#_# op_fma_max_#_# op_add_max_#_# op_exp_div_#_#",
     run_operations, 2},
    {"types", "compute", "fma", "throughput and latency of other element types", 1.5, 1,
     "op_*_*_#_# op_*_*_*_#_# op_dot_#_#", run_types},
    {"conversions", "compute", "fma", "loads and stores that convert", 0.6, 2, "", run_conversions},
    {"matrix", "compute", "fma", "throughput and latency of matrix instructions", 0.8, 1,
     "matrix_**", run_matrix},
    {"sharing", "memory", "knees cyclic_scan", "private or shared caches", 2.0, 0,
     "chase op_fma_#_#", run_sharing, 2},
    {"launch", "control", "", "cost of a step, of a group, of a barrier, wake-up skew", 1.0, 0, "",
     run_launch, 2},
    {"shared_reads", "memory", "knees fma", "whether units share the last cache", 0.4, 1,
     "read_# write_#", run_shared_reads, 2},
    {"instances", "memory", "sharing", "instances of a cache that serve parts of the units", 0.6, 2,
     "chase", run_instances},
    {"access", "memory", "knees", "loads and stores per cycle", 2.0, 0,
     "read_# splat_# write_# copy_# gather_# scatter_#", run_access, 2},
    {"mixes", "compute", "knees", "issue width", 1.2, 1, "mix_**", run_mixes, 2},
    {"bandwidth", "memory", "knees fma sharing shared_reads", "bandwidth of the caches", 4.0, 0,
     "read_# write_# copy_# around_# short_run_read_# short_run_write_#", run_bandwidth, 2},
    {"coherence", "memory", "knees fma sharing shared_reads",
     "dirty remote reads, dirty remote RFOs, upgrades", 0.4, 2, "read_# write_#", run_coherence, 2},
    {"false_sharing", "memory", "knees fma sharing shared_reads", "false sharing of adjacent runs",
     0.4, 2, "ends_write_#", run_false_sharing, 2},
    {"retention", "memory", "knees fma cyclic_scan",
     "single-use and reuse retention, eviction by co-tenants", 2.0, 2, "read_# write_#",
     run_retention, 2},
    {"far", "memory", "knees fma cyclic_scan", "bandwidth of far memory by units", 4.0, 0,
     "read_# write_# copy_# write_stream_# copy_stream_# triad_# around_# short_run_read_# "
     "short_run_write_#",
     run_far, 2},
    {"loaded_latency", "memory", "knees fma cyclic_scan residency far", "latency under load", 0.8,
     1, "loaded_#", run_loaded_latency},
    {"tlb", "memory", "line", "address translation", 2.0, 1, "chase pages_read_# lines_read_#",
     run_tlb},
    {"sustained", "compute", "fma", "clock under load", 1.2, 1, "tick_*_#", run_sustained, 2},
    {"group_memory", "memory", "fma", "latency and bandwidth of the scratchpad", 1.0, 1,
     "group_chase group_read_# group_write_#", run_group_memory},
    {"scratch", "memory", "knees fma units", "banks of the scratchpad, whether it is on the chip",
     0.6, 1, "group_stride_#_# group_after_sweep_#", run_scratch},
    {"write_policy", "memory", "knees fma", "write policy", 0.8, 1, "rewrite_#", run_write_policy},
    {"transfer", "memory", "knees waves", "unit of transfer, line, vectors across lines", 1.0, 1,
     "chase within_# across_#", run_transfer, 2},
    {"ways", "memory", "knees", "associativity, set conflicts", 1.0, 2,
     "chase sets_read_# sets_write_# lines_read_#", run_ways},
    {"outstanding", "memory", "knees fma", "outstanding misses", 2.0, 1, "chases_#",
     run_outstanding},
    {"atomics", "memory", "fma", "atomic additions", 0.8, 2, "atomic_*_# atomic_*_*_#",
     run_atomics},
    {"registers", "compute", "fma", "registers of a thread", 0.4, 2, "", run_registers},
    {"host", "memory", "", "copies between host and device", 0.8, 1, "", run_host},
    {"constant", "memory", "knees fma", "latency of constants", 0.5, 2, "", run_constant},
    {"image", "memory", "knees fma", "texel blocks, latency and bandwidth of images", 0.8, 2, "",
     run_image},
    {"border", "memory", "", "reads outside of images", 0.1, 2, "", run_border},
    {"branches", "control", "waves", "divergent branches, barriers of a group", 0.6, 1,
     "branch_# barriers", run_branches},
    {"barrier", "control", "waves residency", "a barrier among resident groups", 0.4, 1, "meet",
     run_barrier},
    {"vectorisation", "compute", "fma", "SLP vectorisation, load merging, unrolling", 0.2, 2,
     "words_# neighbours_# unroll", run_vectorisation},
    {"read_modify_write", "memory", "fma", "read-modify-write of a vector in memory", 0.2, 2,
     "update_#", run_read_modify_write},
    {"code", "control", "", "straight-line code, instruction caches", 0.4, 2, "straight_#",
     run_code},
    {"cold", "control", "knees fma sharing shared_reads", "code that is not cached", 0.4, 2,
     "straight_# read_#", run_cold_code, 2},
    {"power", "compute", "fma", "power and energy", 0.3, 2, "op_fma_#_#", run_power},
});

}  // namespace

std::span<const Experiment> experiments() { return kExperiments; }

namespace {

std::vector<std::string> words_of(const char* text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::vector<std::string> needs_of(const Experiment& e) { return words_of(e.needs); }

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  const bool all = pattern.starts_with("**");
  const char c = pattern.front();
  if (c != '*' && c != '#')
    return !name.empty() && name.front() == c && matches(pattern.substr(1), name.substr(1));
  const std::string_view rest = pattern.substr(all ? 2 : 1);
  for (size_t n = 0; n < name.size() && (all || (c == '#' ? is_digit(name[n]) : name[n] != '_'));)
    if (matches(rest, name.substr(++n))) return true;
  return false;
}

std::vector<ir::Kernel> kernels_of(const Experiment& e, std::span<const ir::Kernel> all,
                                   bool fills) {
  std::vector<std::string> patterns = words_of(e.kernels);
  patterns.insert(patterns.end(), {"sentinel", "nothing"});
  if (fills) patterns.emplace_back("read_#");
  std::vector<ir::Kernel> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out), [&](const ir::Kernel& k) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& p) { return matches(p, k.name); });
  });
  return out;
}

}  // namespace assay::probe
