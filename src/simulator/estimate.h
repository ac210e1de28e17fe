// Composes the physics over a program and over a plan.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "lower/count.h"
#include "model/estimate.h"
#include "model/machine.h"

namespace assay::simulator {

// What the caches hold: tensors by a caller's key, most recently used first, in bytes.
struct CacheState {
  struct Entry {
    int key = -1;
    double bytes = 0;  // of the whole tensor
    double mine = 0;   // of what one unit touched of it
    int split = -1;    // the dimension along which units shared it out; -1: each touched all
    bool written = false;  // by the program that touched it last: what a unit has of it nobody else has
  };
  std::vector<Entry> recent;
};

// Ranking hundreds of programs needs no words.
enum class Words { none, full };

// One program. `keys`: per tensor of the program's graph the key under which the caches know it
// (-1: none). `counts`: exact counts of its loop kernel; nullptr: the closed form.
model::Estimate estimate(const ir::Program& p, const model::Machine& m, const CacheState& before,
                         std::span<const int> keys, const lower::Counts* counts = nullptr, Words words = Words::full);

// The caches after the program ran.
CacheState after(const ir::Program& p, const model::Machine& m, CacheState before, std::span<const int> keys);

struct PlanEstimate {
  std::vector<model::Estimate> steps;
  model::Estimate total;
};

// A whole plan in steady state (run again and again: the first step finds what the last one left).
PlanEstimate simulate(const ir::Plan& plan, const model::Machine& m);

// The terms of an estimate as a table for people.
std::string explain(const model::Estimate& e);

}  // namespace assay::simulator
