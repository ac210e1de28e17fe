// The bundle: everything that is needed to run a compiled model, in memory and as a directory.
//
// | file            | holds                                  |
// |-----------------|----------------------------------------|
// | plan.yaml       | what to run (ir::print_plan)           |
// | graph.yaml      | the model as imported                  |
// | constants.bin   | its constants, row-major               |
// | profile.yaml    | the profile that it was compiled for   |
// | estimate.json   | the estimates, hashes, the version     |
// | weights.bin     | the constants in their layouts         |
// | kernels/        | sources, for people                    |
// | <model>.h       | inputs and outputs, for C              |
// | build.json      | how long compiling took                |
//
// estimate.json has a hash of each part, and reading refuses a bundle with a changed part. A run
// renders the kernels from the plan again.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "hwdesc/profile.h"
#include "ir/graph.h"
#include "ir/plan.h"
#include "model/estimate.h"
#include "support/result.h"
#include "support/version.h"

namespace assay::toolkit {

inline constexpr const char* kPlanFile = "plan.yaml";

struct KernelSource {
  std::string name;  // file name inside kernels/
  std::string text;
  bool operator==(const KernelSource&) const = default;
};

struct Bundle {
  ir::Graph graph;  // as imported, constants included
  hwdesc::Profile profile;
  std::string api;  // name of the profile's api it was compiled for
  ir::Plan plan;
  std::vector<model::Estimate> estimates;  // per step
  std::vector<model::Estimate> transfers;  // per transfer of the plan
  model::Estimate total;
  // plan.weights_bytes, then plan.host_weights_bytes
  std::vector<std::byte> weights;
  std::vector<KernelSource> kernels;
  std::string no_kernels;  // why `kernels` is empty; "" when it is not
  double plan_s = 0;       // choosing; without the kernel compiler and packing
  double build_s = 0;      // the kernel compiler; 0: not built, or from the cache
  Diags notes;             // of compiling, not kept on disk
  // As compiler::Compiled has them; not kept on disk.
  std::vector<std::string> considered, streamed;
  compiler::Scheduled scheduled;
  std::vector<std::string> traffic;  // a line per boundary
  bool operator==(const Bundle&) const = default;
};

// Errors: see support/files/files.h. `directory` is replaced if it holds a bundle.
Diags write_bundle(const Bundle& bundle, const std::string& directory);

struct ReadOptions {
  bool constants = true;  // false: graph.constants stay empty; only a check needs them
};

// Errors: no bundle there; a part is missing, unreadable or changed.
Result<Bundle> read_bundle(const std::string& directory, const ReadOptions& options = {});

// The api of the profile that a bundle was compiled for; "": no bundle there, or it does not say.
std::string api_of_bundle(const std::string& directory);

// A C header with name, shape, type and size of every input and output.
std::string print_header(const Bundle& bundle);

}  // namespace assay::toolkit
