// What the steps of a plan keep on the chip, for people.
#pragma once

#include <string>
#include <vector>

#include "ir/plan.h"
#include "model/estimate.h"

namespace assay::toolkit {

// Per tensor that stays on the chip a line: the memory that holds its tile, the tile's bytes, and
// what steps of their own would write and read of the whole tensor. Empty: there are no producers.
std::vector<std::string> passed_tiles(const ir::Program& p);

// The same per step that computes several programs, below a line with its groups. Steps alike once.
std::vector<std::string> passed_tiles(const ir::Plan& plan);

// Estimated traffic over each boundary of the memories, beside what it is where every tile-graph is
// a step of its own (`separate` empty: not shown).
std::vector<std::string> traffic_lines(const std::vector<model::LevelUse>& plan,
                                       const std::vector<model::LevelUse>& separate);

}  // namespace assay::toolkit
