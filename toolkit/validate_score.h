// What a validation says of the model.
//
//   e            predicted / measured - 1
//   spearman     rank correlation over the drawn programs
//   kendall_good tau-b among those within 1.5x of the fastest drawn; needs three
//   regret       time of the first choice / fastest of all measured, neighbours of the best
//   included coverage     share of the drawn programs whose time lies within the estimate's
//   interval half_width   (high - low) / 2 / predicted, median
//
// `mape` is the mean |e| over the first choices, one per operator: what a compiler's user sees.
// `mape_all` is over all drawn programs, where a program that nobody would choose counts as much as
// the one that runs. Neighbours count for regret only; wrong programs count for nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "toolkit/estimate_json.h"
#include "toolkit/validate.h"

namespace assay::toolkit {

inline constexpr double kGood = 1.5;  // within this factor of the fastest

using Figure = std::optional<double>;  // nullopt: too few programs for it

struct Errors {
  int programs = 0;
  Figure mape, median, p90, bias;  // |e|: mean, median, 90 % quantile; e: mean
  Figure coverage, half_width;
};

struct OperatorScore {
  std::string name;
  Errors all;
  Figure first_error;  // e of the first choice
  double first_s = 0, best_s = 0;
  Figure spearman, kendall_good, regret;
  int good = 0, measured = 0, wrong = 0;
};

struct Regime {  // by measured time
  std::string name;
  Errors all, first;
};

struct Score {
  std::vector<OperatorScore> operators;
  std::vector<Regime> regimes;
  Errors all, first, best_tenth, uniform;
  Figure spearman_median, kendall_good_median, regret_geomean;
  int measured = 0, wrong = 0;
  double disturbed = 0;  // share of the samples
  Figure pace;  // multiply-adds a second over what the profile says, median of the programs
  Spent spent;
};

Score score_of(const Validation& v);

double error_of(const ProgramRow& row);

Json to_json(const Validation& v, const Score& s);

// What calibrating can change of a score.
Json figures(const Score& s);

// One line per program, the best tenth of each operator first as drawn.
std::string print_csv(const Validation& v);

}  // namespace assay::toolkit
