// Which programs with a mapping of threads are priced, and printed: products of two operands,
// summed over one axis. Other axes that the sum has are of one position.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hwdesc/target.h"
#include "ir/program.h"
#include "support/diag.h"

namespace assay::lower {

// The axis that a node's sum runs over, of those that are not the output's. nullopt: several are
// longer than one, or there is none.
std::optional<int> summed_axis(const ir::Graph& g, const ir::Node& n);

// Rows of a tensor begin at multiples of so many elements: runs of a divisor of it are aligned.
int64_t row_alignment(const ir::Layout& layout, std::span<const int64_t> shape);

// Adds why a program with `threads` has no estimate on a target. Pre: ir::verify(p) is empty.
void check_threads(const ir::Program& p, const hwdesc::Target& target, Diags& out);

// Adds why one that has an estimate has no kernel: threads that are no whole waves, and widths of
// runs that are not aligned.
void check_printed_threads(const ir::Program& p, const hwdesc::Target& target, Diags& out);

}  // namespace assay::lower
