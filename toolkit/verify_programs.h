// Checks programs of a plan alone against the float64 reference of their own graphs. So an error of
// one kernel shows even where a whole model would hide it.
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

// On random operands; one per program of the plan. Errors: those of place(), cancelled.
Result<std::vector<ProgramVerdict>> verify_programs(const Bundle& bundle,
                                                    const RunOptions& options);

// Of a whole model that rounds to whole numbers inside, of its largest output. One value that is
// rounded the other way changes all that follow, so this finds tensors in each other's place only.
inline constexpr double kRoundingModelLimit = 0.25;

// The plan's steps in order, each on what the device computed before it, then the whole model by
// the limit above. `outputs`: of run_bundle. Errors: those of place() and evaluate; cancelled.
Result<Verdict> check_steps(const Bundle& bundle, const Values& inputs, const Values& outputs,
                            const RunOptions& options);

}  // namespace assay::toolkit
