// The operator test data of ONNX (Debian's libonnx-testdata): a model of one or a few operators,
// its inputs, and the outputs that ONNX's reference gives.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compiler/import/proto.h"
#include "support/result.h"

namespace assay::test {

inline constexpr const char* kOnnxData = "/usr/share/libonnx-testdata/data";

struct OnnxTensor {
  std::vector<int64_t> shape;
  std::vector<double> values;
};

struct OnnxCase {
  std::string name;  // folder of the data and of the case: node/test_abs
  std::filesystem::path folder;
  onnx::ModelProto model;
};

// All cases, sorted by name. Empty when the data is not installed.
std::vector<OnnxCase> onnx_cases();

// test_data_set_<set>/<kind>_<i>.pb, i = 0, 1, ...; kind is input or output.
std::vector<onnx::TensorProto> onnx_tensors(const OnnxCase& c, int set, const std::string& kind);
int onnx_set_count(const OnnxCase& c);

// Decoded here, not by the importer under test. Throws on element types that no supported case has.
OnnxTensor decode(const onnx::TensorProto& t);

// Node tests have every operand as an input of the graph, also shapes and axes. Operands whose
// values decide shapes or indices become initialisers, as exporters write them. Returns the
// positions of the other inputs.
std::vector<int> fix_shape_operands(onnx::ModelProto& model,
                                    const std::vector<onnx::TensorProto>& inputs);

}  // namespace assay::test
