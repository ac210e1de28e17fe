// NaN and infinities in operators: max, min and what is made of them. Expected values as numpy
// computes them (np.maximum.reduce, np.argmax, np.clip, ...), or by plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/compiler/import/model_builder.h"
#include "tests/conformance/conformance_device.h"
#include "tests/conformance/onnx_machine.h"

namespace assay::test {
namespace {

using import::Floats;
using import::ModelBuilder;
using import::Shape;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct SpecialCase {
  std::string name;
  ModelBuilder model;
  std::vector<std::vector<float>> want;  // per output
};

// Six rows of four.
const Floats kRows = {kNaN, 1,     2,  3,     //
                      4,    kNaN,  0,  1,     //
                      1,    2,     3,  kNaN,  //
                      kInf, -kInf, 5,  6,     //
                      -1,   -2,    -3, -4,    //
                      7,    kNaN,  9,  kNaN};

SpecialCase of_rows(const std::string& op, int64_t axis, Floats want, bool last = false) {
  SpecialCase c{op + " " + std::to_string(axis) + (last ? " last" : ""), ModelBuilder(13), {want}};
  c.model.input("x", {6, 4}, kRows).output("y");
  import::NodeBuilder node = c.model.node(op.c_str(), {"x"}, {"y"});
  if (op.starts_with("Arg"))
    node.set("axis", axis).set("select_last_index", last ? 1 : 0);
  else
    node.set("axes", Shape{axis});
  return c;
}

SpecialCase elementwise(const std::string& op, const Floats& x, Floats want,
                        const std::vector<std::pair<std::string, Floats>>& more = {}) {
  SpecialCase c{op, ModelBuilder(13), {std::move(want)}};
  c.model.input("x", {static_cast<int64_t>(x.size())}, x).output("y");
  std::vector<std::string> from = {"x"};
  for (const auto& [name, values] : more) {
    from.push_back(name);
    c.model.weights(name, values.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(values.size())},
                    values);
  }
  c.model.node(op.c_str(), from, {"y"});
  return c;
}

// The first maximum of each window, and its place in the whole input.
SpecialCase pool_places() {
  SpecialCase c{"MaxPool with places", ModelBuilder(13), {{kNaN, 3, kInf}, {4, 2, 7}}};
  c.model.input("x", {1, 1, 2, 4}, {1, 2, 3, 4, kNaN, 0, -1, kInf}).output("y").output("i");
  c.model.node("MaxPool", {"x"}, {"y", "i"}).set("kernel_shape", Shape{2, 2});
  return c;
}

// Every 29th value is NaN, every 31st an infinity.
Floats sprinkled(const Shape& shape) {
  Floats x = import::Random(5).floats(shape);
  for (size_t i = 7; i < x.size(); i += 29) x[i] = kNaN;
  for (size_t i = 11; i < x.size(); i += 31) x[i] = i % 2 == 0 ? kInf : -kInf;
  return x;
}

float larger(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return kNaN;
  return a > b ? a : b;
}

// 40 channels of 9 x 9, windows of 3 x 3, stride 2, padded by 1.
SpecialCase wide_pool() {
  SpecialCase c{"MaxPool of 40 channels", ModelBuilder(13), {{}}};
  const Floats x = sprinkled({1, 40, 9, 9});
  c.model.input("x", {1, 40, 9, 9}, x).output("y");
  c.model.node("MaxPool", {"x"}, {"y"})
      .set("kernel_shape", Shape{3, 3})
      .set("strides", Shape{2, 2})
      .set("pads", Shape{1, 1, 1, 1});
  for (int k = 0; k < 40; ++k)
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 5; ++j) {
        float most = -kInf;
        for (int h = std::max(0, 2 * i - 1); h <= std::min(8, 2 * i + 1); ++h)
          for (int w = std::max(0, 2 * j - 1); w <= std::min(8, 2 * j + 1); ++w)
            most = larger(most, x[static_cast<size_t>((k * 9 + h) * 9 + w)]);
        c.want[0].push_back(most);
      }
  return c;
}

// Long rows, few of which hold a NaN; also the columns of the same.
SpecialCase wide_reduction(bool rows) {
  SpecialCase c{rows ? "ReduceMax of rows" : "ReduceMax of columns", ModelBuilder(13), {{}}};
  Floats x = import::Random(6).floats({70, 300});
  for (size_t i = 3; i < 70; i += 9) x[i * 300 + i * 4] = kNaN;
  c.model.input("x", {70, 300}, x).output("y");
  c.model.node("ReduceMax", {"x"}, {"y"}).set("axes", Shape{rows ? 1 : 0});
  c.want[0].assign(rows ? 70 : 300, -kInf);
  for (size_t i = 0; i < 70; ++i)
    for (size_t j = 0; j < 300; ++j) {
      float& to = c.want[0][rows ? i : j];
      to = larger(to, x[i * 300 + j]);
    }
  return c;
}

std::vector<SpecialCase> special_cases() {
  const Floats x = {kNaN, -1, 2, -kInf, kInf, 0};
  return {of_rows("ReduceMax", 1, {kNaN, kNaN, kNaN, kInf, -1, kNaN}),
          of_rows("ReduceMin", 1, {kNaN, kNaN, kNaN, -kInf, -4, kNaN}),
          of_rows("ReduceMax", 0, {kNaN, kNaN, 9, kNaN}),
          of_rows("ReduceMin", 0, {kNaN, kNaN, -3, kNaN}),
          of_rows("ArgMax", 1, {0, 1, 3, 0, 0, 1}),
          of_rows("ArgMin", 1, {0, 1, 3, 1, 3, 1}),
          of_rows("ArgMax", 1, {0, 1, 3, 0, 0, 3}, true),
          elementwise("Relu", x, {kNaN, 0, 2, 0, kInf, 0}),
          elementwise("Clip", x, {kNaN, 0, 2, 0, 6, 0}, {{"low", {0}}, {"high", {6}}}),
          elementwise("HardSigmoid", x, {kNaN, 0.3f, 0.9f, 0, 1, 0.5f}),
          elementwise("Max", x, {kNaN, kNaN, 2, 3, kInf, 0}, {{"b", {1, kNaN, -1, 3, 2, -2}}}),
          elementwise("Min", x, {kNaN, kNaN, -1, -kInf, 2, -2}, {{"b", {1, kNaN, -1, 3, 2, -2}}}),
          elementwise("Abs", x, {kNaN, 1, 2, kInf, kInf, 0}),
          elementwise("Neg", x, {kNaN, 1, -2, kInf, -kInf, 0}),
          pool_places(),
          wide_pool(),
          wide_reduction(true),
          wide_reduction(false)};
}

void expect_right(const std::string& name, const std::vector<std::vector<double>>& found,
                  const std::vector<std::vector<float>>& want) {
  ASSERT_EQ(found.size(), want.size()) << name;
  for (size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(found[o].size(), want[o].size()) << name;
    for (size_t i = 0; i < want[o].size(); ++i) {
      const auto wanted = static_cast<double>(want[o][i]);
      const bool right = std::isnan(wanted)   ? std::isnan(found[o][i])
                         : std::isinf(wanted) ? found[o][i] == wanted
                                              : std::abs(found[o][i] - wanted) < 1e-6;
      EXPECT_TRUE(right) << name << ", output " << o << " at " << i << ": " << found[o][i]
                         << " instead of " << wanted;
    }
  }
}

TEST(SpecialValues, AreRightInFloat64) {
  for (const SpecialCase& c : special_cases()) {
    const Result<ir::Graph> g = c.model.import();
    ASSERT_TRUE(g.ok()) << c.name << ": " << render(g.diags());
    const auto all = ir::evaluate(*g, c.model.inputs);
    ASSERT_TRUE(all.ok()) << c.name << ": " << render(all.diags());
    std::vector<std::vector<double>> found;
    for (const int id : g->outputs) found.push_back((*all)[static_cast<size_t>(id)]);
    expect_right(c.name, found, c.want);
  }
}

TEST(SpecialValues, AreRightInMachineCode) {
  std::string absence;
  const auto device = open_tested_device(absence);
  if (device == nullptr) GTEST_SKIP() << absence;
  const std::vector<SpecialCase> all = special_cases();
  std::vector<ir::Graph> graphs;
  std::vector<MachineCase> cases;
  graphs.reserve(all.size());
  for (const SpecialCase& c : all) {
    Result<ir::Graph> g = c.model.import();
    ASSERT_TRUE(g.ok()) << c.name << ": " << render(g.diags());
    graphs.push_back(std::move(*g));
    cases.push_back({c.name, &graphs.back(), {{c.model.inputs, {}}}});
  }
  const Diags faults = run_in_machine_code(*device, cases);
  ASSERT_FALSE(has_error(faults)) << render(faults);
  for (size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(cases[i].ended_early, "");
    expect_right(cases[i].name, cases[i].runs[0].outputs, all[i].want);
  }
}

}  // namespace
}  // namespace assay::test
