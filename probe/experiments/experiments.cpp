#include "probe/experiments/experiments.h"

#include <array>
#include <iterator>
#include <sstream>

namespace assay::probe {
namespace {

constexpr auto kExperiments = std::to_array<Experiment>({
    {"checks", "", "", "executed counts are what was asked for", 0.2, run_checks},
    {"clock", "compute", "", "core clock", 1.0, run_clock},
    {"line", "memory", "", "cache line", 1.2, run_line},
    {"chase", "memory", "line", "latency by footprint, coarse", 8.0, run_chase, 2},
    {"knees", "memory", "chase", "capacities, both sides confirmed", 5.0, run_knees, 2},
    {"forms", "compute", "", "multiply-adds in every form the dialect has", 0.3, run_forms},
    {"fma", "compute", "clock forms", "vector widths, multiply-add rate and latency, registers",
     4.0, run_fma, 2},
    {"units", "compute", "fma", "units are real", 1.2, run_units, 2},
    {"waves", "compute", "units fma", "groups at a time that keep all units busy", 1.2, run_waves},
    {"residency", "compute", "waves units", "groups under way at once, the register file", 0.6,
     run_residency},
    {"cyclic_scan", "memory", "knees fma", "what caches hold of data scanned cyclically", 3.0,
     run_cyclic_scan, 3},
    {"latency", "memory", "knees cyclic_scan", "latency of each level", 2.0, run_latency},
    {"operations", "compute", "fma", "rates and latencies of other operations", 3.0, run_operations,
     2},
    {"types", "compute", "fma", "rates and latencies of other element types", 1.5, run_types},
    {"matrix", "compute", "fma", "rates and latencies of matrix instructions", 0.8, run_matrix},
    {"sharing", "memory", "knees cyclic_scan", "private or shared caches", 2.0, run_sharing},
    {"shared_reads", "memory", "knees fma", "what a unit finds of what another one has read", 0.4,
     run_shared_reads, 2},
    {"instances", "memory", "sharing", "caches of a kind that serve parts of the units", 0.6,
     run_instances},
    {"access", "memory", "knees", "loads and stores per tick", 2.0, run_access, 2},
    {"mixes", "compute", "knees", "issue rate", 1.2, run_mixes, 2},
    {"bandwidth", "memory", "knees fma sharing shared_reads", "bandwidth of the caches", 4.0,
     run_bandwidth, 2},
    {"coherence", "memory", "knees fma sharing shared_reads",
     "what a unit reads of another one's cache", 0.4, run_coherence, 2},
    {"false_sharing", "memory", "knees fma sharing shared_reads",
     "runs that end in front of another unit's", 0.4, run_false_sharing, 2},
    {"retention", "memory", "knees fma cyclic_scan",
     "what the last cache keeps of data that was used once", 2.0, run_retention, 2},
    {"far", "memory", "knees fma cyclic_scan", "bandwidth of far memory by units", 4.0, run_far, 2},
    {"loaded_latency", "memory", "knees fma cyclic_scan residency far",
     "latency while others stream", 0.8, run_loaded_latency},
    {"tlb", "memory", "line", "address translation", 2.0, run_tlb},
    {"sustained", "compute", "fma", "clock under load", 1.2, run_sustained, 2},
    {"group_memory", "memory", "fma", "memory of a group's own", 1.0, run_group_memory},
    {"scratch", "memory", "knees fma units",
     "banks, and whether a group's own memory is on the chip", 0.6, run_scratch},
    {"write_policy", "memory", "knees fma", "what a store that misses does", 0.8, run_write_policy},
    {"transfer", "memory", "knees waves", "unit of transfer, line, vectors across lines", 1.0,
     run_transfer},
    {"ways", "memory", "knees", "lines of one set", 1.0, run_ways},
    {"outstanding", "memory", "knees fma", "misses under way at once", 2.0, run_outstanding},
    {"atomics", "memory", "fma", "additions in one step", 0.8, run_atomics},
    {"registers", "compute", "fma", "registers of a thread", 0.4, run_registers},
    {"host", "memory", "", "copies between host and device", 0.8, run_host},
    {"constant", "memory", "knees fma", "constants", 0.5, run_constant},
    {"image", "memory", "knees fma", "images", 0.8, run_image},
    {"border", "memory", "", "reads outside of images", 0.1, run_border},
    {"branches", "control", "waves", "branches that lanes disagree on, barriers of a group", 0.6,
     run_branches},
    {"barrier", "control", "waves residency", "a barrier among groups that run at once", 0.4,
     run_barrier},
    {"vectorisation", "compute", "fma",
     "operations on neighbours and loops, of which compilers make less", 0.2, run_vectorisation},
    {"read_modify_write", "memory", "fma", "a vector in memory, updated again and again", 0.2,
     run_read_modify_write},
    {"code", "control", "", "straight-line code", 0.4, run_code},
    {"cold", "control", "knees fma sharing shared_reads", "code that is not at hand", 0.4, run_cold,
     2},
    {"power", "compute", "fma", "power and energy", 0.3, run_power},
    {"launch", "control", "", "cost of a step, of a group, of a barrier", 1.0, run_launch, 2},
});

}  // namespace

std::span<const Experiment> experiments() { return kExperiments; }

std::vector<std::string> needs_of(const Experiment& e) {
  std::istringstream words(e.needs);
  return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace assay::probe
