// A body in place of the node that holds or calls it: model-local functions, branches of an If.
//
// The body's own names get a prefix. What a branch takes from the graph around it keeps its name,
// and so do a function's operands at the call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/import/proto.h"

namespace assay::import {

struct Inlined {
  std::vector<onnx::NodeProto> nodes;
  std::vector<std::string> outputs;  // the names of its results, in order
  std::vector<std::pair<const onnx::TensorProto*, std::string>> initialisers;  // with their names
};

// Attributes that refer to the function's parameters get the call's values, or the defaults;
// without either they are left out. Refuses more operands or outputs than the function has.
Inlined inline_call(const onnx::FunctionProto& f, const onnx::NodeProto& call,
                    const std::string& prefix);

// Refuses a branch with inputs.
Inlined inline_branch(const onnx::GraphProto& branch, const std::string& prefix);

}  // namespace assay::import
