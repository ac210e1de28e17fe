// Estimates of programs against published times of each: whether the model finds the good ones.
// Internal to toolkit/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/result.h"
#include "toolkit/accuracy.h"
#include "toolkit/reference.h"

namespace assay::toolkit {

// How estimates order programs whose times were measured. Regret: the measured time of the program
// with the least estimate, over that of the fastest.
struct Ranking {
  double kendall = 0, spearman = 0;
  double regret = 1;         // among all programs
  double subset_regret = 1;  // mean over random subsets
};

// Pre: as many of both, at least one; times above 0. Ties: the first of the least estimates.
Ranking ranking_of(std::span<const double> predicted, std::span<const double> measured);

// Errors: a profile that is missing or refused; a table whose programs are not estimated as it says
// (launches other than in a stream); a row that is no program, or none for the chip; cancelled.
// `points`: the table's rows, behind those it has.
Result<ProgramAccuracy> program_accuracy(const ReferenceTable& table,
                                         const AccuracyOptions& options,
                                         std::vector<AccuracyPoint>& points);

}  // namespace assay::toolkit
