// Options of commands that read a model or an operator.
#pragma once

#include <string>
#include <vector>

#include "cli/console/options.h"
#include "support/diag.h"
#include "toolkit/compile.h"

namespace assay::cli {

struct ModelShapes {
  std::vector<std::string> dims, shapes;  // as typed
};

void declare_shapes(console::Options& options, ModelShapes& to);

// Errors: what is no dimension or shape, or given twice.
Diags read_shapes(const ModelShapes& typed, toolkit::CompileOptions& out);

// The help of `--op`: an example and the operators' names, in lines as long as the help's others.
std::string operator_help();

}  // namespace assay::cli
