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

// When a walk through an operand reaches four places of it, in order: as parts of the walk, 0 to 1.
using WalkTimes = std::array<double, 4>;

// What the caches hold: storage, most recently used first.
struct CacheState {
  struct Entry {
    Range range;
    double unit_bytes = 0;  // bytes of it that one unit touched
    UnitPartition touched;  // by the program that touched it last
    UnitPartition wrote;    // by the one that wrote it last
    bool written = false;   // the program that touched it last wrote it: each unit owns its part
    bool produced = false;  // some program wrote it: values used once, or a few times, then dead
    double missed = 0;      // bytes that no cache held when it was touched last
    // The part that caches retain like data used several times, since its place was.
    double reuse_fraction = 0;
    double began = 0, ended = 0;  // s, of the program that touched it last
    // The last walk of a unit through it: bytes of others that it touches between two walks, and
    // the part of that program's work.
    double others_between = 0;
    double walk_fraction = 1;
    WalkTimes last{};          // when that walk touched each place last
    double missed_by_run = 0;  // bytes that its whole program missed
    int run = 0;               // number of that program
  };
  std::vector<Entry> recent;
  double now = 0;  // s since anything ran
  int runs = 0;    // of programs so far
};

// Ranking hundreds of programs needs no text.
enum class TermDetail { none, full };

// One program. `where`: per tensor of the program's graph the storage under which the caches know
// it. `counts`: exact counts of its loop kernel; nullptr: the closed form.
model::Estimate estimate(const ir::Program& p, const model::Machine& m, const CacheState& before,
                         std::span<const Range> where, const lower::Counts* counts = nullptr,
                         TermDetail detail = TermDetail::full);

// One unit of a chip whose units are cores, beside busy others.
model::Machine busy_unit(const model::Machine& m);

// One group's part of a program that shares groups with others. `group`: extents of its tile per
// axis of the anchor.
ir::Program tile_of_group(const ir::Program& p, std::span<const int64_t> group);

// Such a part, with the caches that it leaves. `unit`: as `busy_unit` says; `counts`: of the tile.
model::Estimate estimate_tile(const ir::Program& p, const ir::Program& tile,
                              std::span<const int64_t> group, const model::Machine& unit,
                              const lower::Counts& counts);

// What a program of a tile-graph finds in a group, where lanes are threads.
struct InGroup {
  std::vector<bool> on_chip = {};  // per tensor of its graph: is its tile in a scratchpad?
  double scratch_bytes = 0;        // that a group holds beside the program's own copies
  double repeats = 1;              // groups that compute each of the program's tiles
  // Per tensor that the group itself has stored, the part that caches which units share still hold.
  std::vector<double> held = {};
};

// A program that shares groups with others, as a launch of its own. Pre: m.simt, no p.threads.
model::Estimate estimate_member(const ir::Program& p, const model::Machine& m,
                                const CacheState& before, std::span<const Range> where,
                                const InGroup& group, const lower::Counts& counts,
                                TermDetail detail = TermDetail::none);

// A lower bound of a program's time, from its instructions alone. Cheaper. Pre: no p.threads and no
// producers.
double at_least(const ir::Program& p, const model::Machine& m, const lower::Counts& counts,
                const InGroup& group = {});

// The caches after the program ran.
CacheState after(const ir::Program& p, const model::Machine& m, CacheState before,
                 std::span<const Range> where);

// Lets time pass: in the program that ran last, or after it.
void pass_time(CacheState& state, double seconds);

// Vector registers that all waves of a group need at once.
double registers_per_group(const ir::Program& p);

// A transfer of a plan over the link to the host: its latency, and its bytes over the bandwidth.
// Pre: the machine knows the link.
model::Estimate estimate(const ir::Plan& plan, const ir::Transfer& t, const model::Machine& m);

// Storage that no program wrote: whatever the caches held of it is of no use.
void forget(CacheState& state, const Range& bytes);

// A command of a schedule on units that do alike. Seconds from the start of the plan. Of phases,
// whose groups the chip deals itself: as many units as the step's part of the phase's groups.
struct Slice {
  int first = 0, last = 0;  // units [first, last)
  int command = 0;          // position in the schedule (ir::schedule_of)
  double begin = 0, end = 0;
};

struct PlanEstimate {
  // Of a schedule or phases: each step beside what runs at the same time, from its first group's
  // start to its last one's end, without launches.
  std::vector<model::Estimate> steps;
  std::vector<bool> left_out;              // per step, by its condition; empty: none
  std::vector<model::Estimate> phases;     // of a plan with phases, each with its launch
  std::vector<model::Estimate> transfers;  // by position in Plan::transfers
  model::Estimate total;                   // of both
  std::vector<Slice> timeline;             // by begin; without transfers
};

// Groups of a plan that each unit can have at once from the first step to the last, as large as the
// largest of its steps; 0: some step does not fit, or lanes are no threads. `needs`: of all steps
// together.
int most_resident(const ir::Plan& plan, const model::Machine& m,
                  model::GroupNeeds* needs = nullptr);

// A whole plan in steady state: it runs again and again, so the first step finds the caches as the
// last one leaves them. Pre: of a plan with transfers, the machine knows the link to the host.
PlanEstimate simulate(const ir::Plan& plan, const model::Machine& m,
                      TermDetail detail = TermDetail::full);

// The terms of an estimate as a table for people.
std::string explain(const model::Estimate& e);

}  // namespace assay::simulator
