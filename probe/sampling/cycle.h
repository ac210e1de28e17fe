// Pointer cycles for latency: a single random cycle through all nodes of a footprint, so that each
// access needs the one before and no prefetcher can guess it.
//
// The order is random inside blocks of neighbouring nodes and random between blocks. A block is
// visited whole before the next one, so that address translation costs one miss per page and visit
// instead of one per access: what the curve shows is the caches (as `multichase -T`,
// github.com/google/multichase, does). Cyclic order makes the reuse distance of every line the
// whole footprint, whatever the order.
//
// Small blocks help prefetchers: when all lines of a few pages are wanted soon, fetching neighbours
// pays, and far memory looks up to three times as near as it is. Blocks therefore grow with the
// footprint (up to 1024 pages), and the latency of a level is taken from sparse cycles: every
// fourth line, blocks of 512 pages.
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
  int64_t second = 0;   // > 0: each node is a pair, the second element so many bytes further
  bool drift = false;   // the stride is longer by a little: after all nodes by one stride, so that
                        // all sets are used alike
  int64_t spread =
      0;  // > 0: nodes lie a multiple of it further, within their page and over all cache sets
};

// Where a node lies.
int64_t byte_of(const Cycle& cycle, int64_t node);

// Every line, for capacities. Blocks are a quarter of the footprint within 64 .. 1024 pages.
Cycle dense_cycle(int64_t bytes, int64_t line);

// Every fourth line, for latencies. Caches indexed by address bits show the same capacities.
Cycle sparse_cycle(int64_t bytes, int64_t line);

// Writes the cycle into `buffer` in visiting order; returns the element the visit starts with.
int64_t write_cycle(Bench& bench, int buffer, const Cycle& cycle, std::mt19937_64& random);

// As many cycles side by side, which share the nodes out evenly and go through the blocks together;
// each one's first element.
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

// Where lanes are threads a launch begins with first-level caches empty: all of a short way is gone
// once before what is measured begins. Where they are threads on a processor it may also run on
// another core than the one before, whose caches hold other lines: of a longer way, too.
void go_round_first(Bench& bench, const runtime::DeviceInfo& device, Job& job, int64_t hops);

}  // namespace assay::probe
