#include "model/issue_slots.h"

#include <algorithm>

#include "lower/count.h"

namespace assay::model {

namespace {

// Micro-operations. A scattered lane is extracted, then stored; a loop counts, and its comparison
// fuses with the jump, as that of a condition does.
constexpr double kScattered = 2, kIteration = 2;

}  // namespace

double core_slots(const Instructions& i) {
  return i.operations + i.loads - std::min(i.operations, i.operands) + i.divisions +
         lower::kExpInstructions * i.functions + i.stores + i.gathered + kScattered * i.scattered +
         i.prefetches + kIteration * i.iterations + i.branches;
}

double copy_slots(const CopyInstructions& c) {
  return c.loads + c.stores + c.gathered + kScattered * c.scattered;
}

}  // namespace assay::model
