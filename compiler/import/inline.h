// A body in place of the node that holds or calls it: model-local functions, branches of an If,
// trips of a Loop or Scan.
//
// The body's own names get a prefix. What a branch or a trip takes from the graph around it keeps
// its name, and so do a function's operands at the call.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/proto.h"

namespace assay::import {

struct Inlined {
  std::vector<onnx::NodeProto> nodes;
  std::vector<std::string> outputs;  // the names of its results, in order
  std::vector<std::string> inputs;   // of a trip: the names that its inputs are to have
  std::vector<std::pair<const onnx::TensorProto*, std::string>> initialisers;  // with their names
};

// Attributes that refer to the function's parameters get the call's values, or the defaults;
// without either they are left out. Refuses more operands or outputs than the function has.
Inlined inline_call(const onnx::FunctionProto& f, const onnx::NodeProto& call,
                    const std::string& prefix);

// Refuses a branch with inputs.
Inlined inline_branch(const onnx::GraphProto& branch, const std::string& prefix);

// A body that stands in the graph once per trip. Initialisers, and nodes that depend on no input of
// the body, stand there once.
struct Repeated {
  const onnx::GraphProto* body = nullptr;
  std::string prefix;
  std::vector<const onnx::NodeProto*> once, each;  // nodes of the body, by where they stand
  std::set<std::string> varying;                   // its names that are others in each trip
};

Repeated repeated(const onnx::GraphProto& body, const std::string& prefix);
Inlined inline_once(const Repeated& r);
Inlined inline_trip(const Repeated& r, int64_t trip);

}  // namespace assay::import
