// The time of a graph by a vendor's library: of every operator the cheapest candidate by price.
#pragma once

#include <string>
#include <vector>

#include "compiler/library/factors.h"
#include "compiler/library/launches.h"
#include "compiler/library/residuals.h"
#include "model/estimate.h"
#include "model/price.h"

namespace assay::compiler {

// A class of operators, as measurements on the chip corrected it.
struct CalibratedKind {
  KindFactors factors;
  model::Machine chip;  // scaled by them
};

struct LibraryOptions {
  double launch = 0;  // s of each launch
  model::Caches caches = model::Caches::cold;
  Residuals residuals;
  std::vector<std::string> entries;  // of each operator, chosen before; empty: the cheapest
  std::vector<CalibratedKind> calibrated;
};

struct LibraryStep {
  LibraryOperator operation;
  std::string entry;  // of the catalogue, with its choices
  model::Estimate estimate;
  std::vector<std::string> lost;  // the next best candidates, with their times
};

// One step per operator of the library. Errors: an operator that no entry computes, with what the
// chip lacks; `g` says which node.
Result<std::vector<LibraryStep>> library_steps(const ir::Graph& g, const Catalogue& c,
                                               const model::Machine& chip,
                                               const LibraryOptions& options);

}  // namespace assay::compiler
