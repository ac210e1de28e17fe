// Measurements of operators on a chip -> factors of its rates and times (compiler/library/factors).
//
//   schema: assay/factors/1
//   profile: {name: a100-sxm4-40gb, hash: 0b5c...}
//   measured: {hash: 77ae..., rows: 1274, launch: graph, caches: cold}
//   classes:
//     product: {multiply_adds: 0.93, far_memory: 0.88, low: 0.91, high: 1.15}
//
// A class is product, rows or pointwise. The factors minimise the sum of ln(measured / estimate)^2,
// with the weight of large ones falling (Huber 1964), from a normal prior of ln(factor) around 0:
// Gauss-Newton steps by a QR decomposition. A factor is kept where the measurements tell it, so
// that its standard error is below a tenth. Others stay 1 and are named. Intervals are of rows that
// were held out, five folds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/library/factors.h"
#include "hwdesc/profile.h"
#include "support/result.h"
#include "toolkit/estimate_operators.h"
#include "toolkit/reference.h"

namespace assay::toolkit {

struct FittedKind {
  compiler::KindFactors factors;
  int64_t rows = 0;
  std::vector<std::string> not_told;  // factors that the measurements do not tell, with why
  double before = 0, after = 0;       // mean |estimate / measured - 1|; after: rows held out
};

struct FittedFactors {
  std::string name, profile, data, launch, caches;  // `profile`, `data`: hashes
  std::vector<FittedKind> kinds;
};

// Errors: those of OperatorEstimator; fewer than twenty rows of every class; rows that nothing
// estimates are notes.
Result<FittedFactors> fit_factors(const hwdesc::Profile& profile, const EstimateOptions& options,
                                  const std::vector<ReferenceRow>& rows, Diags& notes);

std::string print_factors(const FittedFactors& f);

// Errors: not such a file; a missing, unknown or invalid entry; each with its place.
Result<FittedFactors> parse_factors(std::string_view text, std::string_view file);

// Estimates in row order with factors of rows of other folds. Of the same rows.
Result<std::vector<double>> held_out(const hwdesc::Profile& profile, const EstimateOptions& options,
                                     const std::vector<ReferenceRow>& rows);

}  // namespace assay::toolkit
