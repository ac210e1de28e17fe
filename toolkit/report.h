// A compiled model as one HTML page (support/page): its graph in steps, before and after steps
// compute several programs; the traffic of both; what each step is predicted to take.
#pragma once

#include <string>

#include "compiler/compile.h"
#include "support/result.h"
#include "toolkit/bundle.h"
#include "toolkit/progress.h"

namespace assay::toolkit {

struct ReportOptions {
  compiler::Fuse before = compiler::Fuse::elementwise;  // what the bundle is shown beside
  std::string graphviz;                                 // path of its program `dot`
  Progress progress;
  const CancelToken* cancel = nullptr;
};

// `elementwise` where steps of the bundle compute several programs, else `none`.
compiler::Fuse simpler_than(const ir::Plan& plan);

// Path of Graphviz' program. Errors: it is not on PATH.
Result<std::string> find_graphviz();

struct Report {
  std::string page;
  size_t steps_before = 0, steps = 0;
  double seconds_before = 0, seconds = 0;  // predicted
};

// The plan before is chosen anew, for the bundle's profile. Errors: those of choosing it; Graphviz
// fails; cancelled.
Result<Report> report_of(const Bundle& bundle, const ReportOptions& options);

}  // namespace assay::toolkit
