// Model + profile -> bundle.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "support/result.h"
#include "toolkit/bundle.h"
#include "toolkit/progress.h"

namespace assay::toolkit {

struct CompileOptions {
  std::string api;                                     // of the profile; "": its first
  std::map<std::string, int64_t> dims;                 // values of symbolic dimensions
  std::map<std::string, std::vector<int64_t>> shapes;  // of a model's inputs
  // Of a model's values: f32, f16 or bf16; any: as the model says, in f32 where the api stores no
  // such type; "": as the model says.
  std::string type;
  // Best programs per operator that are lowered, so that their counts are exact.
  int keep = compiler::Options{}.keep;
  compiler::Fuse fuse = compiler::Options{}.fuse;
  compiler::Schedule schedule = compiler::Options{}.schedule;
  // Bytes of device memory for intermediate values and weights; what does not fit is streamed from
  // the host's. nullopt: no limit.
  std::optional<int64_t> memory = {};
  bool build = true;      // run the kernel compiler now if a device here runs this api
  std::string cache_dir;  // of built kernels; "": the runtime's choice
  Progress progress;
  const CancelToken* cancel = nullptr;
};

struct Model {
  ir::Graph graph;
  Diags notes;  // what is computed otherwise than the model says
};

// What to compile: an ONNX file, with the weights beside it, or an operator such as
// `matmul m=1000 n=777 k=513`. Errors: the importer's; a file of weights that can not be read or
// lies outside of the model's folder.
Result<Model> read_model(const std::string& path, const CompileOptions& options);

// What `options.type` changes in the model's outputs, as notes; none when it narrows nothing.
// Errors: those of read_model; an evaluation that is too large is a note.
Diags effect_of_type(const std::string& path, const Model& typed, const CompileOptions& options);
Result<ir::Graph> operator_model(const std::string& text);
std::vector<std::string> operator_names();

// Why the target's api can not print kernels; "": it can.
std::string why_no_kernels(const hwdesc::Target& target);

// Chooses the programs of a plan; prints and builds nothing. Errors: the compiler's; a chip without
// room for the plan.
Result<compiler::Compiled> choose_programs(const ir::Graph& graph, const hwdesc::Target& target,
                                           const CompileOptions& options);

// Errors: those of choose_programs; a kernel that does not build. An unknown dialect is no error:
// the bundle has no kernels and says why. A device that can not build now is a note.
Result<Bundle> compile_bundle(ir::Graph graph, const hwdesc::Profile& profile,
                              const CompileOptions& options);

// The plan's loop kernels, one per program. Errors: those of lower.
Result<std::vector<ir::Kernel>> lower_plan(const ir::Plan& plan, const hwdesc::Target& target);

}  // namespace assay::toolkit
