// Copies of staged operands by a task mapping (Hidet, section 4): which thread of a group brings
// which elements of the tile, in runs of neighbours.
#pragma once

#include "ir/program.h"
#include "support/diag.h"

namespace assay::lower {

// The tile as it is stored: its elements along the innermost dimension, and all others.
struct CopiedTile {
  int64_t rows = 1, columns = 1;
};
CopiedTile copied_tile(const ir::Program& p, const ir::Staging& s);

// The longest runs, in elements, that begin at multiples of their length in the operand and in its
// copy, and of which a lane moves each at once; 0: a mapping can not copy it at all.
int longest_run(const ir::Program& p, const ir::Staging& s);

// Runs that each thread copies, and how many of them it holds in registers at once.
int64_t runs_of(const ir::Staging& s);
int64_t runs_at_once(const ir::Staging& s);

// A group's threads, in their order, over the tile's rows, neighbours in neighbouring runs. Empty:
// runs of `width` can not be dealt to them evenly.
ir::TaskMapping dealt_rows(const CopiedTile& tile, int64_t threads, int width);

// Adds what keeps copies by tasks from being printed: mappings that do not fit their tiles, and
// lanes that are no threads. `lanes`: threads of a wave; 1: elements of a vector. Pre: the program
// verifies, and what it stages is read at affine positions.
void check_mapped_copies(const ir::Program& p, int lanes, Diags& out);

}  // namespace assay::lower
