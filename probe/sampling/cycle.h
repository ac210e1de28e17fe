// Pointer cycles for latency: one random cycle through all nodes of a footprint. Each load depends
// on the one before, and no prefetcher can predict it.
//
// The order is random inside blocks of neighbouring nodes and random between blocks. A block is
// visited whole before the next one. So address translation costs one miss per page and visit
// instead of one per access, and the curve shows the caches (as `multichase -T`,
// github.com/google/multichase, does). Cyclic order makes the reuse distance of every line the
// whole footprint.
//
// Small blocks help prefetchers: when all lines of a few pages are used soon, fetching neighbours
// pays, and far memory looks up to three times as fast as it is. Blocks therefore grow with the
// footprint (up to 1024 pages). The latency of a level is taken from sparse cycles: every fourth
// line, blocks of 512 pages.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "probe/kernels/pages.h"
#include "probe/sampling/bench.h"

namespace assay::probe {

struct Cycle {
  int64_t begin = 0;  // byte offset of the first node
  int64_t nodes = 0;
  int64_t stride = 64;  // bytes from node to node
  int64_t block = 0;    // nodes of a block; 0: one block
  int64_t second = 0;   // > 0: each node is a pair; the distance of its second element in bytes
  // The stride is slightly longer, by one stride over all nodes, so that all sets are used equally.
  bool drift = false;
  // > 0: nodes are offset by multiples of it within their page, over all cache sets
  int64_t spread = 0;
};

// Byte offset of a node.
int64_t byte_of(const Cycle& cycle, int64_t node);

// Every line, for capacities. Blocks are a quarter of the footprint within 64 .. 1024 pages.
Cycle dense_cycle(int64_t bytes, int64_t line);

// Every fourth line, for latencies. Caches indexed by address bits show the same capacities.
Cycle sparse_cycle(int64_t bytes, int64_t line);

struct Extent {
  int64_t begin = 0, bytes = 0;
};

// Writes the cycle into `buffer` in visiting order; returns the first element of the visit.
// `blocks`: where its blocks lie, in the order in which they are visited; nullptr: not asked.
int64_t write_cycle(Bench& bench, int buffer, const Cycle& cycle, std::mt19937_64& random,
                    std::vector<Extent>* blocks = nullptr);

// Several independent cycles, which divide the nodes evenly and advance through the blocks
// together; the first element of each.
std::vector<int64_t> write_cycles(Bench& bench, int buffer, const Cycle& cycle, int chains,
                                  std::mt19937_64& random);

// A buffer for cycles and the state of the chases in it.
struct ChaseArea {
  int nodes = -1, state = -1;
  static ChaseArea make(Bench& bench, int64_t bytes);
  void start_at(Bench& bench, int slot, int64_t element) const;
};

// Hops on `units` units, each from its own slot's state.
Job chase_job(const ChaseArea& area, int units, double target_s);

// Where lanes are threads, first-level caches are empty when a launch begins, so a lap of a short
// cycle precedes the measurement. Threads of a processor may also run on another core than before,
// with other lines in its caches; there longer cycles get a lap, too.
void add_warm_lap(Bench& bench, const runtime::DeviceInfo& device, Job& job, int64_t hops);

}  // namespace assay::probe
