// ONNX bytes -> ir::Graph.
//
// Every ONNX node becomes one or a few tensor expressions; its output shape follows from its own
// expression, not from ONNX's shape inference, so that no opset is too new. What depends on
// constants only is folded. Values without a static shape are refused, and so is what a tensor
// expression can not express. An error names the ONNX node, its operator and its output.
// No file is opened: weights in external files are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "support/result.h"

namespace assay::import {

struct OnnxOptions {
  std::map<std::string, int64_t> dims;  // values for symbolic dimensions, such as {"N", 1}
  int64_t max_constant_bytes = int64_t{1} << 32;  // of all constants together, folded ones included
  double max_fold_points = 4e9;                   // points evaluated to fold one ONNX node
};

// `file` is only a name for messages. Errors: all that were found, not the first.
Result<ir::Graph> import_onnx(std::span<const std::byte> bytes, std::string_view file,
                              const OnnxOptions& options = {});

std::vector<std::string_view> supported_operators();

}  // namespace assay::import
