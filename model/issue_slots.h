// Issue slots: of counted operations, and of loops and conditions (counting, comparing, jumping).
#pragma once

namespace assay::model {

// As a program is counted. `gathered` and `scattered` are lanes, without each vector's first.
struct Instructions {
  double operations = 0, divisions = 0, functions = 0;
  double loads = 0, stores = 0, gathered = 0, scattered = 0, prefetches = 0;
  // Of the loads, those folded into the one operation that needs them (model/operands).
  double operands = 0;
  double iterations = 0;  // of all loops
  double branches = 0;    // conditions evaluated

  // All but those of loops and conditions.
  double without_control() const {
    return operations + divisions + functions + loads + stores + gathered + scattered + prefetches;
  }
};

// Of copies of staged operands, which run before the loops that compute. Loads and stores are whole
// vectors; `gathered` and `scattered` are lanes that are inserted or extracted.
struct CopyInstructions {
  double loads = 0, stores = 0, gathered = 0, scattered = 0;
};

// Of a core, in micro-operations: what the instructions of the kernel are, counted. A memory
// operand of an operation takes no slot of its own. A gathered lane is loaded by the instruction
// that inserts it.
double core_slots(const Instructions& i);
// The same of copies, whose loops only increment their positions.
double copy_slots(const CopyInstructions& c);

}  // namespace assay::model
