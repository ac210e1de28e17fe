// Random programs with a matrix instruction, and what they compute on numbers of their types.
#pragma once

#include <random>
#include <string>

#include "tests/lower/problems.h"

namespace assay::test {

// `target` with these instructions in its profile.
hwdesc::Target with_instruction(hwdesc::Target target, const std::string& name);

// A product that the instruction computes: of matrices, transposed ones, batches, or a convolution.
// Extents hold primes and ones. Layouts, tiles, staging and waves are drawn, too.
ir::Program random_matrix_program(const std::string& instruction, const hwdesc::Target& target,
                                  std::mt19937& rng);

// Small numbers that every type holds, tf32 included.
std::vector<std::vector<float>> small_inputs(const ir::Graph& g, std::mt19937& rng);

// How far an output may be from the reference: what storing it rounds, and sums in f32.
double tolerance(const ir::Program& p);

}  // namespace assay::test
