// What another chip would change: the same programs on it, and programs chosen anew for it; and how
// much an estimate depends on each number of a profile.
#pragma once

#include <string>
#include <vector>

#include "toolkit/estimate_operators.h"

namespace assay::toolkit {

struct WhatIf {
  GraphEstimate before;
  GraphEstimate fixed;  // the programs of `before` on the other chip
  GraphEstimate anew;
  Diags notes;  // why the programs of `before` do not run there; `fixed` is empty then
};

// Errors: those of OperatorEstimator.
Result<WhatIf> what_if(const ir::Graph& graph, const hwdesc::Profile& before,
                       const hwdesc::Profile& after, const EstimateOptions& options);

struct Sensitivity {
  std::string path;      // of the field
  bool assumed = false;  // the profile assumes it, or does not know it
  // Change of the time where the value is 1.05 and 2 times as large, relative to the time. Programs
  // stay as they are.
  double slightly = 0, doubled = 0;
};

// Of every number on which the estimate depends, the largest effect first. Structural numbers
// (widths of lanes, lines, pages) are left as they are.
Result<std::vector<Sensitivity>> sensitivities(const ir::Graph& graph,
                                               const hwdesc::Profile& profile,
                                               const EstimateOptions& options);

}  // namespace assay::toolkit
