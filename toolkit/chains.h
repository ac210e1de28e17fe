// Chains of operators, of which each reads the one before: small graphs for asking whether steps
// should be computed together. `matmul m=256 n=512 k=64 | softmax rows=256 columns=512`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace assay::toolkit {

// Operators as `assay compile --op` takes them; the first operand of each after the first is the
// result of the one before. Errors: those of the operators; a result that has another shape or type
// than the operand.
Result<ir::Graph> chain_of(const std::string& text);

// Distinct chains of two or more nodes that kernels can compute in one step: products, softmax,
// normalisations, sums of rows, convolutions, in sizes that are uniform in their logarithm, primes
// among them. The same seed gives the same chains.
std::vector<std::string> draw_chains(int count, uint64_t seed);

}  // namespace assay::toolkit
