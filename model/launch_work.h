// What one launch does, in counts that follow from a program and its shape alone. `analyse`
// functions fill it; `price` turns it into seconds of a chip (model/price.h).
//
// Groups are alike. A group's counts are totals over its threads and its whole run. Bytes of the
// launch are those of far memory, were every cache to hold all it can.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace assay::model {

// Operations of a group through one kind of pipe, in elements.
struct Operations {
  double multiply_adds = 0, simple = 0, divisions = 0, functions = 0;  // functions: exp, tanh, ...
};

// Multiply-adds of a group's products.
struct Products {
  double multiply_adds = 0;
  ir::DType type = ir::DType::f32;  // of the operands
  std::string instruction;          // matrix instruction; empty: the lanes' own pipes
  // Operands come from the scratchpad while it computes: the instruction reads them itself, or
  // fragments of the next step are loaded during this one.
  bool reads_scratch = false;
};

// What a group waits for, one after the other, where nothing of its own is left to do meanwhile.
// Waves of a group that has no barriers wait each for themselves.
struct Waits {
  double far = 0;      // loads of far memory
  double shared = 0;   // loads of the cache that units share
  double near = 0;     // loads of the unit's own cache
  double rereads = 0;  // loads of what the group has loaded before
  double scratch = 0;  // loads of a scratchpad, exchanges between lanes
  double barriers = 0;
  double multiply_adds = 0;  // of a chain
};

// The main loop of a product: each step copies its operands while `ahead` others are computed.
struct Steps {
  double count = 0;
  double ahead = 1;
};

// Tiles of a product's result. Groups that run at once share the operands of their rows and
// columns.
struct TileGrid {
  double rows = 1, columns = 1, batches = 1, splits = 1;
  double row_bytes = 0, column_bytes = 0;      // of the operand that a row, a column of tiles needs
  double unique_rows = 0, unique_columns = 0;  // bytes of both operands, each once
};

struct BytesMoved {  // of all units together
  double read = 0, written = 0;
};

struct LaunchWork {
  std::string_view entry;  // of the catalogue, or what else it is; outlives this
  double groups = 1;
  double threads = 1;  // of a group
  double registers_per_thread = 0;
  double scratch_bytes = 0;             // of a group
  Operations operations;                // of a group
  ir::DType computed = ir::DType::f32;  // type of its multiply-adds
  Products products;                    // of a group
  double instructions = 0;              // issued by the group's waves
  double scratch_traffic = 0;  // bytes of scratchpad cycles that its loads and stores occupy
  double near_traffic = 0;     // bytes of cycles of the unit's nearest cache, in the same way
  double loads = 0;            // instructions of its waves that load or store
  double chain = 0;            // dependent operations of a wave, one after the other
  double matrix_chain = 0;     // dependent matrix instructions of a wave
  double fills = 0;            // of these, what comes from the memories behind it, of a product
  Waits waits;                 // of a group
  Steps steps;                 // of a group
  TileGrid grid;               // empty unless it is a product
  // Of the launch: bytes that are read at least, written, and read once more by each further pass
  // over what a group read before.
  double read = 0, written = 0;
  double passes = 1;
  // Of these bytes, those that the next launch reads, and those that the one before wrote: caches
  // hand over what they can hold.
  double handed_written = 0, handed_read = 0;
  double group_read = 0, group_written = 0;  // bytes of a group between two passes
  // Where they are known: bytes over each boundary behind the unit's own memories, near to far.
  // Then `grid`, `passes` and data between launches say nothing.
  std::vector<BytesMoved> moved;
};

}  // namespace assay::model
