// How far measured times lay from estimates: counted, not fitted.
//
// Split-conformal intervals (Vovk et al.; Angelopoulos and Bates, arXiv 2107.07511): quantiles of
// measured / predicted over kept journals, for each kind of unit and regime. A regime is the part
// that bounds the time, and how far the estimate lies from the node's least time on the chip.
// `assay calibrate --residuals` writes the file and names the journals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/estimate.h"
#include "support/result.h"

namespace assay::model {

struct Residual {
  std::string unit;          // cores, waves
  std::string bound;         // as bound_class says
  double below = 0;          // of efficiencies up to here, and above the entry before
  double low = 1, high = 1;  // measured / predicted: 90 % lie within
};

// Of programs whatever bounds them: where a bound has no quantiles of its own.
inline constexpr std::string_view kAnyBound = "any";

// vector, load, store: a port; issue: slots and chains; transfers: lines between memories; other:
// launches, waits, what units take from each other.
std::string_view bound_class(const Estimate& e);

// Errors: unknown or missing keys, a quantile that is not positive, low above high.
Result<std::vector<Residual>> parse_residuals(std::string_view text, std::string_view file);

// Those of the library.
const std::vector<Residual>& program_residuals();

// The regime's; of any bound, where its own has none. Without any, half to twice.
Residual residual_of(const std::vector<Residual>& all, std::string_view unit, const Estimate& e);

}  // namespace assay::model
