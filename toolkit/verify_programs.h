// Checks each program of a plan alone, on random operands, against the float64 reference of its own
// graph. So an error of one kernel shows even where a whole model would hide it.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"
#include "toolkit/verify.h"

namespace assay::toolkit {

struct ProgramVerdict {
  std::string program;
  Verdict verdict;
};

// One per program of the plan. Errors: those of place(), cancelled.
Result<std::vector<ProgramVerdict>> verify_programs(const Bundle& bundle,
                                                    const RunOptions& options);

}  // namespace assay::toolkit
