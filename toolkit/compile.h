// Model + profile -> bundle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "support/result.h"
#include "toolkit/bundle.h"
#include "toolkit/progress.h"

namespace assay::toolkit {

struct CompileOptions {
  std::string api;                      // of the profile; "": its first
  std::map<std::string, int64_t> dims;  // values of symbolic dimensions
  int keep =
      compiler::Options{}.keep;  // best programs per operator that are lowered and counted again
  bool build = true;             // run the kernel compiler now if a device here runs this api
  std::string cache_dir;         // of built kernels; "": the runtime's choice
  Progress progress;
  const CancelToken* cancel = nullptr;
};

// What to compile: an ONNX file or an operator such as `matmul m=1000 n=777 k=513`.
Result<ir::Graph> read_model(const std::string& path, const CompileOptions& options);
Result<ir::Graph> operator_model(const std::string& text);

// Errors: what the compiler says; a kernel that does not build. A dialect that is not known is no
// error (the bundle then has no kernels and says why), nor is a device that cannot build now (a
// note).
Result<Bundle> compile_bundle(ir::Graph graph, const hwdesc::Profile& profile,
                              const CompileOptions& options);

// The plan's loop kernels, one per program. Errors: what lower says.
Result<std::vector<ir::Kernel>> lower_plan(const ir::Plan& plan, const hwdesc::Target& target);

}  // namespace assay::toolkit
