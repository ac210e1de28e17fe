// What steps that run at the same time share.
#pragma once

#include <vector>

#include "ir/plan.h"
#include "model/estimate.h"
#include "model/machine.h"

namespace assay::simulator {

// Memories that all units share, as positions of the machine's levels.
std::vector<size_t> shared_memories(const model::Machine& m);

// The part of a memory's bandwidth that an estimate takes while it runs, of all its instances.
double part_taken(const model::Estimate& e, const model::Level& memory);

// A step that takes longer than alone, from its first group's start to its last one's end.
model::Estimate beside_others(model::Estimate e, double seconds);

// What a group of the program takes of its unit.
model::GroupNeeds needs_of(const ir::Program& p, const model::Machine& m);

// What a group takes that has the most threads, registers and scratchpad of both.
model::GroupNeeds larger(const model::GroupNeeds& a, const model::GroupNeeds& b);

// Groups with these needs that a unit holds at once.
int residents(const model::GroupNeeds& needs, const model::Machine& m);

}  // namespace assay::simulator
