#include "tests/conformance/onnx_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double brain(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return static_cast<double>(value);
}

// Elements of raw_data as T, or of the typed field where there is no raw data.
template <class T, class Field>
std::vector<double> elements(const TensorProto& t, const Field& field, double (*decode)(T)) {
  std::vector<double> values;
  if (!t.has_raw_data()) {
    for (const auto v : field) values.push_back(decode(static_cast<T>(v)));
    return values;
  }
  for (size_t at = 0; at + sizeof(T) <= t.raw_data().size(); at += sizeof(T)) {
    T v;
    std::memcpy(&v, t.raw_data().data() + at, sizeof v);
    values.push_back(decode(v));
  }
  return values;
}

template <class T>
double number(T v) {
  return static_cast<double>(v);
}

// Operator -> operands whose values decide shapes or the elements that are read.
const std::map<std::string, std::vector<int>>& shape_operands() {
  static const std::map<std::string, std::vector<int>> table = {
      {"CenterCropPad", {1}}, {"ConstantOfShape", {0}}, {"CumSum", {1}},
      {"Expand", {1}},        {"Loop", {0, 1}},         {"OneHot", {1}},
      {"Pad", {1, 2, 3}},     {"Range", {0, 1, 2}},     {"ReduceL1", {1}},
      {"ReduceL2", {1}},      {"ReduceLogSum", {1}},    {"ReduceLogSumExp", {1}},
      {"ReduceMax", {1}},     {"ReduceMean", {1}},      {"ReduceMin", {1}},
      {"ReduceProd", {1}},    {"ReduceSum", {1}},       {"ReduceSumSquare", {1}},
      {"Reshape", {1}},       {"Resize", {1, 2, 3}},    {"Slice", {1, 2, 3, 4}},
      {"Split", {1}},         {"Squeeze", {1}},         {"Tile", {1}},
      {"TopK", {1}},          {"Trilu", {1}},           {"Unsqueeze", {1}},
      {"Upsample", {1}},      {"Dropout", {1, 2}}};
  return table;
}

}  // namespace

std::vector<OnnxCase> onnx_cases() {
  std::vector<OnnxCase> cases;
  for (const char* group : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
    const fs::path root = fs::path(kOnnxData) / group;
    if (!fs::is_directory(root)) continue;
    for (const auto& entry : fs::directory_iterator(root)) {
      OnnxCase c{std::string(group) + "/" + entry.path().filename().string(), entry.path(), {}};
      if (!fs::is_regular_file(c.folder / "model.onnx")) continue;
      if (!c.model.ParseFromString(bytes_of(c.folder / "model.onnx")))
        throw std::runtime_error(c.name + " is no model");
      cases.push_back(std::move(c));
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const OnnxCase& a, const OnnxCase& b) { return a.name < b.name; });
  return cases;
}

int onnx_set_count(const OnnxCase& c) {
  int count = 0;
  while (fs::is_directory(c.folder / fmt::format("test_data_set_{}", count))) ++count;
  return count;
}

std::vector<TensorProto> onnx_tensors(const OnnxCase& c, int set, const std::string& kind) {
  std::vector<TensorProto> tensors;
  for (int i = 0;; ++i) {
    const fs::path path =
        c.folder / fmt::format("test_data_set_{}", set) / fmt::format("{}_{}.pb", kind, i);
    if (!fs::is_regular_file(path)) return tensors;
    TensorProto t;
    // Sequences and optional values are other messages; their cases are refused before this is
    // read.
    if (!t.ParseFromString(bytes_of(path))) t = {};
    // bfloat16 data is stored as the 16 bits it has.
    const onnx::GraphProto& g = c.model.graph();
    const onnx::ValueInfoProto& declared = kind == "input" ? g.input(i) : g.output(i);
    if (declared.type().tensor_type().elem_type() == TensorProto::BFLOAT16)
      t.set_data_type(TensorProto::BFLOAT16);
    tensors.push_back(std::move(t));
  }
}

OnnxTensor decode(const TensorProto& t) {
  OnnxTensor out{{t.dims().begin(), t.dims().end()}, {}};
  switch (t.data_type()) {
    case TensorProto::FLOAT:
      out.values = elements<float>(t, t.float_data(), number<float>);
      break;
    case TensorProto::DOUBLE:
      out.values = elements<double>(t, t.double_data(), number<double>);
      break;
    case TensorProto::INT8:
      out.values = elements<int8_t>(t, t.int32_data(), number<int8_t>);
      break;
    case TensorProto::UINT8:
      out.values = elements<uint8_t>(t, t.int32_data(), number<uint8_t>);
      break;
    case TensorProto::BOOL:
      out.values = elements<uint8_t>(t, t.int32_data(), number<uint8_t>);
      break;
    case TensorProto::INT16:
      out.values = elements<int16_t>(t, t.int32_data(), number<int16_t>);
      break;
    case TensorProto::INT32:
      out.values = elements<int32_t>(t, t.int32_data(), number<int32_t>);
      break;
    case TensorProto::INT64:
      out.values = elements<int64_t>(t, t.int64_data(), number<int64_t>);
      break;
    case TensorProto::FLOAT16:
      out.values = elements<uint16_t>(t, t.int32_data(), half);
      break;
    case TensorProto::BFLOAT16:
      out.values = elements<uint16_t>(t, t.int32_data(), brain);
      break;
    default:
      throw std::runtime_error(fmt::format("element type {} of {}", t.data_type(), t.name()));
  }
  return out;
}

std::vector<int> fix_shape_operands(onnx::ModelProto& model,
                                    const std::vector<TensorProto>& inputs) {
  onnx::GraphProto& graph = *model.mutable_graph();
  std::set<std::string> fixed, given;
  for (const onnx::NodeProto& n : graph.node())
    if (const auto row = shape_operands().find(n.op_type()); row != shape_operands().end())
      for (int operand : row->second)
        if (operand < n.input_size()) fixed.insert(n.input(operand));
  for (const TensorProto& t : graph.initializer()) given.insert(t.name());
  std::vector<int> stay;
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> left;
  int position = 0;
  for (const onnx::ValueInfoProto& v : graph.input()) {
    if (given.contains(v.name())) continue;
    if (fixed.contains(v.name()) && position < static_cast<int>(inputs.size())) {
      *graph.add_initializer() = inputs[static_cast<size_t>(position)];
      graph.mutable_initializer(graph.initializer_size() - 1)->set_name(v.name());
    } else {
      *left.Add() = v;
      stay.push_back(position);
    }
    ++position;
  }
  graph.mutable_input()->Swap(&left);
  return stay;
}

}  // namespace assay::test
