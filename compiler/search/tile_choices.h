// Tiles and vector axes that the policies of construction choose from. Internal to search/.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/search/space.h"

namespace assay::compiler {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

struct VectorChoice {
  int axis = -1;
  int width = 1;
  Space::LaneCost cost;
};

// The best two axes for the widest vectors, those that waste least by rounding up first. An axis
// that needs gathers or scatters is left out where another needs none. Waves gather well, and
// their rows may be shorter than a wave, so they keep it.
std::vector<VectorChoice> vector_choices(const Space& s);

// Register tiles along the rows (spatial axes but the vector axis), innermost in storage first, of
// at most `limit` vectors. Vector axis -1: none.
std::vector<std::vector<int64_t>> row_tiles(const Space& s, int vector_axis, int64_t limit);

// Is an operand that moves with the lanes reused along `axis`?
bool reuses_vectors(const Space& s, int vector_axis, int axis);

// Register tiles of a wave, of at most `limit` vectors: along the axis that reuses vectors, and
// with it along the innermost other row, which reuses the other operand.
std::vector<std::vector<int64_t>> wave_tiles(const Space& s, int vector_axis, int64_t limit);

// Rows of accumulators, of `vectors` vectors each, that a register file holds.
int64_t accumulator_limit(const Space& s, int64_t vectors);

// The longest reduce axis; -1: none.
int longest_reduction(const Space& s);

}  // namespace assay::compiler
