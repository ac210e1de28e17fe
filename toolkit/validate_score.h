// The figures of a validation.
// - e = predicted / measured - 1
// - spearman: rank correlation over the drawn programs
// - kendall_good: tau-b among programs within 1.5x of the fastest drawn; needs three
// - regret: time of the first choice / fastest time, neighbours included
// - coverage: share of the drawn programs whose time lies in the estimate's interval
// - half_width: (high - low) / 2 / predicted, median
//
// `mape` is the mean |e| over the first choices, one per operator: what a user of the compiler
// sees. `mape_all` is over all drawn programs, also those that would never be chosen. Neighbours
// count for regret only. Wrong programs are counted as wrong and enter no other figure.
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
  double disturbed = 0;       // share of the samples
  Figure multiply_add_ratio;  // rate over the profile's, median of the programs
  Spent spent;
};

Score score_of(const Validation& v);

double error_of(const ProgramRow& row);

Json to_json(const Validation& v, const Score& s);

// The figures that a calibration changes.
Json figures(const Score& s);

// One line per program, in the order of the rows.
std::string print_csv(const Validation& v);

}  // namespace assay::toolkit
