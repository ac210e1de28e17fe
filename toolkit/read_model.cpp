// An ONNX file and the files of weights beside it -> graph.
#include <filesystem>
#include <map>

#include "compiler/import/import_onnx.h"
#include "support/files/files.h"
#include "toolkit/compile.h"
#include "toolkit/model_type.h"

namespace assay::toolkit {
namespace {

namespace fs = std::filesystem;

// The files that a model names, by paths in its own folder. Each is read once.
class FilesBeside {  // invariant: read_ holds every file that was read
 public:
  explicit FilesBeside(const std::string& model) : folder_(fs::path(model).parent_path()) {}

  Result<std::span<const std::byte>> operator()(const std::string& location) {
    const fs::path path = fs::path(location).lexically_normal();
    if (path.is_absolute() || path.empty() || *path.begin() == ".." ||
        location.find('\0') != std::string::npos) {
      Diag d = error("the model names this file for weights, outside of its folder",
                     "a model's weights lie beside it; save it again with its external data");
      d.file = location;
      return d;
    }
    const std::string whole = (folder_ / path).string();
    const auto found = read_.find(whole);
    if (found != read_.end()) return std::span<const std::byte>(found->second);
    Result<std::vector<std::byte>> bytes = read_bytes(whole);
    if (!bytes) return bytes.diags();
    return std::span<const std::byte>(read_[whole] = std::move(*bytes));
  }

 private:
  fs::path folder_;
  std::map<std::string, std::vector<std::byte>> read_;
};

}  // namespace

Result<Model> read_model(const std::string& path, const CompileOptions& options) {
  const Result<std::vector<std::byte>> bytes = read_bytes(path);
  if (!bytes) return bytes.diags();
  FilesBeside files(path);
  import::OnnxOptions o;
  o.dims = options.dims;
  o.shapes = options.shapes;
  if (options.type != "any") o.type = ir::parse_dtype(options.type);
  o.external_file = [&](const std::string& location) { return files(location); };
  Model model;
  Result<ir::Graph> graph = import::import_onnx(*bytes, path, o, &model.notes);
  if (!graph) return graph.diags();
  model.graph = std::move(*graph);
  return model;
}

Diags effect_of_type(const std::string& path, const Model& typed, const CompileOptions& options) {
  if (options.type != "f16" && options.type != "bf16") return {};
  CompileOptions as_given = options;
  as_given.type = "";
  const Result<Model> exact = read_model(path, as_given);
  if (!exact) return exact.diags();
  report(options.progress, 0, 1, "evaluating the model in " + options.type);
  const auto errors = errors_of_type(exact->graph, typed.graph);
  if (errors) return notes_of(*errors, options.type);
  Diags notes = errors.diags();
  for (Diag& d : notes) d.severity = Severity::note;
  return notes;
}

}  // namespace assay::toolkit
