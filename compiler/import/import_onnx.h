// ONNX bytes -> ir::Graph.
//
// Every ONNX node becomes one or a few tensor expressions; its output shape follows from its own
// expression, not from ONNX's shape inference. What depends on constants only is folded.
// Model-local functions are inlined, and so is the branch of an If whose condition is constant. Of
// another If both are, and elements are chosen. Recurrent operators, Loop and Scan are unrolled.
// Values without a static shape are refused, and so is what a tensor expression can not express. An
// error names the ONNX node, its operator and its output.
// No file is opened: the caller reads those that hold weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace assay::import {

// The newest version of ONNX's operators that is known. Of a later one they are read as of this
// one, with a note.
inline constexpr int64_t kNewestOpset = 28;

// The bytes of a file with weights, by its path relative to the model; they stay valid during the
// import.
using ExternalFile = std::function<Result<std::span<const std::byte>>(const std::string& location)>;

struct OnnxOptions {
  std::map<std::string, int64_t> dims;  // values for symbolic dimensions, such as {"N", 1}
  std::map<std::string, std::vector<int64_t>> shapes;  // of inputs whose shape is not fixed
  ExternalFile external_file;                          // empty: weights in files are refused
  int64_t max_constant_bytes = int64_t{1} << 32;  // of all constants together, folded ones included
  // Of the values that are floating-point numbers; none: as the model says.
  std::optional<ir::DType> type = {};
  double max_fold_points = 4e9;  // points evaluated to fold one ONNX node
};

// `file` is only a name for messages. Errors: all that were found, not the first. `notes` gets what
// is computed otherwise than the model says: an unknown opset, f64 in f32, an If with both
// branches.
Result<ir::Graph> import_onnx(std::span<const std::byte> bytes, std::string_view file,
                              const OnnxOptions& options = {}, Diags* notes = nullptr);

// Of ONNX itself, or of another domain such as com.microsoft.
std::vector<std::string_view> supported_operators(std::string_view domain = "");

}  // namespace assay::import
