// Composes the physics over a program and over a plan.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "lower/count.h"
#include "model/estimate.h"
#include "model/machine.h"
#include "simulator/range.h"

namespace assay::simulator {

// On a walk through an operand, in its order: when, in parts of the walk.
using Places = std::array<double, 4>;

// What the caches hold: storage, most recently used first.
struct CacheState {
  struct Entry {
    Range range;
    double mine = 0;       // bytes of it that one unit touched
    Dealt touched;         // by the program that touched it last
    Dealt wrote;           // by the one that wrote it last
    bool written = false;  // they are one: what a unit has of it nobody else has
    bool made = false;  // some program wrote it: values that are used once, or a few times at once,
                        // before others take their place
    double missed = 0;  // bytes of it that no cache held when it was touched last
    double again = 0;   // the part of it whose place had been used again and again just before
    double began = 0, ended = 0;  // when the program that touched it last did
    double beside =
        0;  // bytes of others that a unit touched there from one walk through it to the next
    double part = 1;  // of what it did, the last such walk
    Places last{};    // when that walk came to each place for the last time
    double came = 0;  // bytes that came into the caches there
    int run = 0;      // which of the programs that was
  };
  std::vector<Entry> recent;
  double now = 0;  // s since anything ran
  int runs = 0;    // of programs so far
};

// Ranking hundreds of programs needs no words.
enum class Words { none, full };

// One program. `where`: per tensor of the program's graph the storage under which the caches know
// it. `counts`: exact counts of its loop kernel; nullptr: the closed form.
model::Estimate estimate(const ir::Program& p, const model::Machine& m, const CacheState& before,
                         std::span<const Range> where, const lower::Counts* counts = nullptr,
                         Words words = Words::full);

// The caches after the program ran.
CacheState after(const ir::Program& p, const model::Machine& m, CacheState before,
                 std::span<const Range> where);

// So many seconds of what ran last, or of nothing behind it.
void pass_time(CacheState& state, double seconds);

struct PlanEstimate {
  std::vector<model::Estimate> steps;
  model::Estimate total;
};

// A whole plan in steady state (run again and again: the first step finds what the last one left).
PlanEstimate simulate(const ir::Plan& plan, const model::Machine& m);

// The terms of an estimate as a table for people.
std::string explain(const model::Estimate& e);

}  // namespace assay::simulator
