#include "probe/experiments/experiments.h"

#include <array>
#include <iterator>
#include <sstream>

namespace assay::probe {
namespace {

constexpr auto kExperiments = std::to_array<Experiment>({
    {"checks", "", "", "executed iterations, loop limit, plausible times", 0.2, run_checks},
    {"clock", "compute", "", "core clock", 1.0, run_clock},
    {"line", "memory", "", "cache line", 1.2, run_line},
    {"chase", "memory", "line", "latency by footprint", 8.0, run_chase, 2},
    {"knees", "memory", "chase", "capacities", 5.0, run_knees, 2},
    {"forms", "compute", "", "multiply-adds in every form of the dialect", 0.3, run_forms},
    {"fma", "compute", "clock forms",
     "vector widths, multiply-add throughput and latency, registers", 4.0, run_fma, 2},
    {"units", "compute", "fma", "physical units", 1.2, run_units, 2},
    {"waves", "compute", "units fma", "concurrent groups that saturate all units", 1.2, run_waves},
    {"residency", "compute", "waves units", "resident groups, the register file", 0.6,
     run_residency},
    {"cyclic_scan", "memory", "knees fma", "hit curves of cyclic scans", 3.0, run_cyclic_scan, 3},
    {"latency", "memory", "knees cyclic_scan", "latency of each level", 2.0, run_latency},
    {"operations", "compute", "fma", "throughput and latency of other operations", 3.0,
     run_operations, 2},
    {"types", "compute", "fma", "throughput and latency of other element types", 1.5, run_types},
    {"matrix", "compute", "fma", "throughput and latency of matrix instructions", 0.8, run_matrix},
    {"sharing", "memory", "knees cyclic_scan", "private or shared caches", 2.0, run_sharing},
    {"shared_reads", "memory", "knees fma", "whether units share the last cache", 0.4,
     run_shared_reads, 2},
    {"instances", "memory", "sharing", "instances of a cache that serve parts of the units", 0.6,
     run_instances},
    {"access", "memory", "knees", "loads and stores per cycle", 2.0, run_access, 2},
    {"mixes", "compute", "knees", "issue width", 1.2, run_mixes, 2},
    {"bandwidth", "memory", "knees fma sharing shared_reads", "bandwidth of the caches", 4.0,
     run_bandwidth, 2},
    {"coherence", "memory", "knees fma sharing shared_reads",
     "dirty remote reads, dirty remote RFOs, upgrades", 0.4, run_coherence, 2},
    {"false_sharing", "memory", "knees fma sharing shared_reads", "false sharing of adjacent runs",
     0.4, run_false_sharing, 2},
    {"retention", "memory", "knees fma cyclic_scan",
     "single-use and reuse retention, eviction by co-tenants", 2.0, run_retention, 2},
    {"far", "memory", "knees fma cyclic_scan", "bandwidth of far memory by units", 4.0, run_far, 2},
    {"loaded_latency", "memory", "knees fma cyclic_scan residency far", "latency under load", 0.8,
     run_loaded_latency},
    {"tlb", "memory", "line", "address translation", 2.0, run_tlb},
    {"sustained", "compute", "fma", "clock under load", 1.2, run_sustained, 2},
    {"group_memory", "memory", "fma", "latency and bandwidth of the scratchpad", 1.0,
     run_group_memory},
    {"scratch", "memory", "knees fma units", "banks of the scratchpad, whether it is on the chip",
     0.6, run_scratch},
    {"write_policy", "memory", "knees fma", "write policy", 0.8, run_write_policy},
    {"transfer", "memory", "knees waves", "unit of transfer, line, vectors across lines", 1.0,
     run_transfer},
    {"ways", "memory", "knees", "associativity, set conflicts", 1.0, run_ways},
    {"outstanding", "memory", "knees fma", "outstanding misses", 2.0, run_outstanding},
    {"atomics", "memory", "fma", "atomic additions", 0.8, run_atomics},
    {"registers", "compute", "fma", "registers of a thread", 0.4, run_registers},
    {"host", "memory", "", "copies between host and device", 0.8, run_host},
    {"constant", "memory", "knees fma", "latency of constants", 0.5, run_constant},
    {"image", "memory", "knees fma", "texel blocks, latency and bandwidth of images", 0.8,
     run_image},
    {"border", "memory", "", "reads outside of images", 0.1, run_border},
    {"branches", "control", "waves", "divergent branches, barriers of a group", 0.6, run_branches},
    {"barrier", "control", "waves residency", "a barrier among resident groups", 0.4, run_barrier},
    {"vectorisation", "compute", "fma", "SLP vectorisation, load merging, unrolling", 0.2,
     run_vectorisation},
    {"read_modify_write", "memory", "fma", "read-modify-write of a vector in memory", 0.2,
     run_read_modify_write},
    {"code", "control", "", "straight-line code, instruction caches", 0.4, run_code},
    {"cold", "control", "knees fma sharing shared_reads", "code that is not cached", 0.4,
     run_cold_code, 2},
    {"power", "compute", "fma", "power and energy", 0.3, run_power},
    {"launch", "control", "", "cost of a step, of a group, of a barrier, wake-up skew", 1.0,
     run_launch, 2},
});

}  // namespace

std::span<const Experiment> experiments() { return kExperiments; }

std::vector<std::string> needs_of(const Experiment& e) {
  std::istringstream words(e.needs);
  return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace assay::probe
