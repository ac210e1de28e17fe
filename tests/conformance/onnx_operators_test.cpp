// Every case of ONNX's operator test data is imported, evaluated in float64, compiled and run in
// machine code. Results are compared with ONNX's reference by the rule of its own runner,
// |y - want| <= 1e-7 + 1e-3 |want|.
//
// onnx_unsupported.yaml lists unsupported cases with the importer's message. A listed case that
// works fails, as does a refused one that is not listed.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "compiler/import/import_onnx.h"
#include "support/yaml.h"
#include "tests/conformance/conformance_device.h"
#include "tests/conformance/onnx_data.h"
#include "tests/conformance/onnx_machine.h"

namespace assay::test {
namespace {

// A million iterations in a group: a driver that ends loops early may refuse it, with this message.
const std::set<std::string> kLongLoops = {
    "pytorch-converted/test_MaxPool1d_stride_padding_dilation",
    "pytorch-converted/test_MaxPool2d_stride_padding_dilation"};
// The data of these cuts the digits that bf16 does not hold. ONNX says since that they round.
const std::set<std::string> kCutDigits = {"node/test_cast_FLOAT_to_BFLOAT16",
                                          "node/test_castlike_FLOAT_to_BFLOAT16",
                                          "node/test_castlike_FLOAT_to_BFLOAT16_expanded"};
// In f32 a quotient of these is a tie, which float64 sees a digit below it: another step is right.
const std::set<std::string> kTies = {"node/test_dynamicquantizelinear",
                                     "node/test_dynamicquantizelinear_expanded"};
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

struct Refused {
  std::string reason, says;
};

std::map<std::string, Refused> unsupported_cases() {
  const std::string path =
      std::string(ASSAY_SOURCE_DIR) + "/tests/conformance/onnx_unsupported.yaml";
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto document = yaml::parse(text, path);
  if (!document.ok()) throw std::runtime_error(render(document.diags()));
  std::map<std::string, Refused> refused;
  for (const yaml::Node& entry : document->root.items)
    for (const yaml::Node& name : entry.find("cases")->items)
      if (!refused
               .try_emplace(name.scalar,
                            Refused{entry.find("reason")->scalar, entry.find("says")->scalar})
               .second)
        throw std::runtime_error(name.scalar + " is listed twice");
  return refused;
}

bool near(double got, double want, double absolute) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return got == want || std::abs(got - want) <= absolute + kRelative * std::abs(want);
}

// The difference between outputs found and wanted; empty: none.
std::string difference(const std::vector<std::vector<double>>& found,
                       const std::vector<OnnxTensor>& want, double absolute = kAbsolute) {
  if (found.size() < want.size()) return "there are fewer outputs";
  for (size_t o = 0; o < want.size(); ++o) {
    if (found[o].size() != want[o].values.size())
      return "output " + std::to_string(o) + " has another size";
    for (size_t i = 0; i < found[o].size(); ++i)
      if (!near(found[o][i], want[o].values[i], absolute))
        return "output " + std::to_string(o) + " at " + std::to_string(i) + ": " +
               std::to_string(found[o][i]) + " instead of " + std::to_string(want[o].values[i]);
  }
  return "";
}

std::vector<float> floats_of(const OnnxTensor& t) { return {t.values.begin(), t.values.end()}; }

// Zeros for unread operands: those that only give a type have data of any size.
std::vector<float> input_of(const ir::Graph& g, size_t i, const onnx::TensorProto& data) {
  const int id = g.inputs[i];
  if (!ir::consumers_of(g, id).empty()) return floats_of(decode(data));
  return std::vector<float>(static_cast<size_t>(ir::elements(g.tensors[static_cast<size_t>(id)])),
                            0);
}

// The bf16 number next to a finite one, of two the even one.
double rounded_to_bf16(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<double>(std::bit_cast<float>(bits & 0xffff0000));
}

// Inputs of f64 may hold what an f32 does not.
bool fits_f32(const OnnxTensor& t) {
  return std::all_of(t.values.begin(), t.values.end(), [](double v) {
    return !std::isfinite(v) ||
           std::abs(v) <= static_cast<double>(std::numeric_limits<float>::max());
  });
}

// An imported case, with the values of each of its sets.
struct Imported {
  std::string name;
  ir::Graph graph;
  std::vector<MachineRun> runs;               // per set: inputs
  std::vector<std::vector<OnnxTensor>> want;  // per set
};

struct Outcome {
  std::vector<Imported> imported;
  std::map<std::string, std::string> refused;  // case -> what the importer said
};

Outcome import_all() {
  Outcome outcome;
  for (const OnnxCase& c : onnx_cases()) {
    onnx::ModelProto model = c.model;
    const std::vector<int> stay = fix_shape_operands(model, onnx_tensors(c, 0, "input"));
    const std::string bytes = model.SerializeAsString();
    auto graph = import::import_onnx(std::as_bytes(std::span(bytes)), c.name + "/model.onnx");
    if (!graph.ok()) {
      outcome.refused[c.name] = render(graph.diags());
      continue;
    }
    Imported imported{c.name, std::move(*graph), {}, {}};
    for (int set = 0; set < onnx_set_count(c); ++set) {
      const std::vector<onnx::TensorProto> inputs = onnx_tensors(c, set, "input");
      MachineRun run;
      for (size_t i = 0; i < stay.size(); ++i)
        run.inputs.push_back(input_of(imported.graph, i, inputs[static_cast<size_t>(stay[i])]));
      imported.runs.push_back(std::move(run));
      imported.want.emplace_back();
      for (const onnx::TensorProto& t : onnx_tensors(c, set, "output"))
        imported.want.back().push_back(decode(t));
      if (!kCutDigits.contains(c.name)) continue;
      for (size_t i = 0; i < imported.want.back()[0].values.size(); ++i)
        imported.want.back()[0].values[i] = rounded_to_bf16(imported.runs.back().inputs[0][i]);
    }
    const auto fit = [](const std::vector<OnnxTensor>& want) {
      return std::all_of(want.begin(), want.end(), fits_f32);
    };
    if (!std::all_of(imported.want.begin(), imported.want.end(), fit)) continue;
    outcome.imported.push_back(std::move(imported));
  }
  return outcome;
}

const Outcome& outcome() {
  static const Outcome all = import_all();
  return all;
}

class OnnxOperators : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GT(outcome().imported.size() + outcome().refused.size(), 1000u)
        << "there is no test data at " << kOnnxData
        << ": install libonnx-testdata (scripts/bootstrap.sh does)";
  }
};

TEST_F(OnnxOperators, AreRefusedForTheListedReason) {
  const std::map<std::string, Refused> listed = unsupported_cases();
  for (const auto& [name, said] : outcome().refused) {
    const auto row = listed.find(name);
    if (row == listed.end())
      ADD_FAILURE() << name << " is refused and not listed:\n" << said;
    else
      EXPECT_NE(said.find(row->second.says), std::string::npos)
          << name << " is refused for another reason:\n"
          << said;
    EXPECT_NE(said.find(name + "/model.onnx: error: "), std::string::npos) << said;
  }
  for (const auto& [name, row] : listed)
    EXPECT_TRUE(outcome().refused.contains(name))
        << name << " is listed (" << row.reason << ") and is not refused";
}

TEST_F(OnnxOperators, HaveTheShapesOfTheReference) {
  for (const Imported& c : outcome().imported)
    for (size_t o = 0; o < c.want[0].size(); ++o) {
      const auto id = static_cast<size_t>(c.graph.outputs[o]);
      EXPECT_EQ(c.graph.tensors[id].shape, c.want[0][o].shape) << c.name << " output " << o;
    }
}

TEST_F(OnnxOperators, AreRightInFloat64) {
  for (const Imported& c : outcome().imported)
    for (size_t set = 0; set < c.runs.size(); ++set) {
      const auto values = ir::evaluate_stored(c.graph, c.runs[set].inputs);
      if (!values.ok()) {
        ADD_FAILURE() << c.name << ": " << render(values.diags());
        continue;
      }
      std::vector<std::vector<double>> found;
      for (int id : c.graph.outputs) found.push_back((*values)[static_cast<size_t>(id)]);
      const double absolute = kTies.contains(c.name) ? 1 : kAbsolute;
      EXPECT_EQ(difference(found, c.want[set], absolute), "") << c.name;
    }
}

TEST_F(OnnxOperators, AreRightInMachineCode) {
  std::string absence;
  const auto device = open_tested_device(absence);
  if (device == nullptr) GTEST_SKIP() << absence;
  const std::vector<Imported>& imported = outcome().imported;
  const auto every = static_cast<size_t>(tested_every());
  std::vector<MachineCase> cases;
  for (size_t i = 0; i < imported.size(); i += every)
    cases.push_back({imported[i].name, &imported[i].graph, imported[i].runs});
  const Diags faults = run_in_machine_code(*device, cases);
  EXPECT_FALSE(has_error(faults)) << render(faults);
  for (size_t i = 0; i < cases.size(); ++i)
    if (!cases[i].ended_early.empty())
      EXPECT_TRUE(kLongLoops.contains(cases[i].name)) << cases[i].ended_early;
    else
      for (size_t set = 0; set < cases[i].runs.size(); ++set)
        EXPECT_EQ(difference(cases[i].runs[set].outputs, imported[i * every].want[set]), "")
            << cases[i].name;
}

}  // namespace
}  // namespace assay::test
