// Kept journals -> the intervals of estimates (model/interval.h), as text for
// hw_profiles/residuals/programs.yaml.
//
// An index (assay/journals/1) lists the journals, each with its profile and its use: `fit` gives
// quantiles here, `judge` is never looked at while the model is changed. Regimes of a bound have
// equally many programs each.
#pragma once

#include <string>

#include "support/result.h"
#include "toolkit/progress.h"

namespace assay::toolkit {

struct ProgramResiduals {
  std::string text;   // of the file
  int programs = 0;   // behind it
  double inside = 0;  // the part of these within the quantiles of their regime
};

// Errors: an index that can not be read, no journal to fit, those of judge_again.
Result<ProgramResiduals> program_residuals(const std::string& index, const Progress& progress = {},
                                           const CancelToken* cancel = nullptr);

}  // namespace assay::toolkit
