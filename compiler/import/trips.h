// The trips of one Loop or Scan, whose body stands in the graph once per trip.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/import/importer.h"

namespace assay::import {

inline constexpr const char* kUnrolledHint =
    "the nodes of each trip stand in the plan, so their number must be known beforehand";

// Of an attribute; refuses a node without it.
const onnx::GraphProto& graph_of(const onnx::NodeProto& n, std::string_view name);

class Importer::Trips {
 public:
  // Of the node's attribute `body`.
  Trips(Importer& importer, const onnx::NodeProto& n);

  const onnx::GraphProto& body() const { return *body_.body; }

  // Refuses a body with other inputs, with fewer outputs, or with too few for the node. Returns how
  // many outputs there are beyond those.
  size_t check_counts(size_t inputs, size_t outputs) const;

  // One trip on the values of the body's inputs: those of its outputs. Refuses more than
  // kMostUnrolled trips, or nodes of all trips.
  std::vector<int> add(const std::vector<int>& inputs);

  // Binds an output of the node to a tensor, which is named after it if the trips computed it.
  void bind(int output, int tensor);

  int64_t number() const { return number_; }  // of the next trip

 private:
  void count();

  Importer& in_;
  const onnx::NodeProto& n_;
  Repeated body_;
  size_t first_node_;
  int first_tensor_, entered_;  // the first that the trips add, and that comes after a trip
  int64_t unrolled_, number_ = 0;
};

}  // namespace assay::import
