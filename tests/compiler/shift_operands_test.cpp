// Products of bytes after one operand was shifted are the same numbers.
#include "compiler/passes/shift_operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/element.h"
#include "lower/instruction.h"
#include "support/diag.h"

namespace assay {
namespace {

using ir::DType;

// u8 by i8, as x86 has it.
std::vector<ir::MatrixInstruction> mixed() {
  return {lower::known_instruction("avx512vnni.dot.m1n16k4.u8.i32")->computes};
}

ir::Graph parsed(const std::string& text, DType result) {
  Result<ir::Graph> g = ir::parse_graph("schema: assay/graph/1\nname: g\n" + text, "g.yaml");
  if (!g) throw std::runtime_error(render(g.diags()) + text);
  for (ir::Node& n : g->nodes)
    if (n.combine == ir::Combiner::sum) g->tensors[static_cast<size_t>(n.output)].dtype = result;
  return std::move(*g);
}

int named(const ir::Graph& g, const std::string& name) {
  for (size_t t = 0; t < g.tensors.size(); ++t)
    if (g.tensors[t].name == name) return static_cast<int>(t);
  throw std::runtime_error("no tensor " + name);
}

std::vector<float> bytes(const ir::Tensor& t, std::mt19937& rng) {
  std::uniform_int_distribution<int> of(t.dtype == DType::u8 ? 0 : -128,
                                        t.dtype == DType::u8 ? 255 : 127);
  std::vector<float> out(static_cast<size_t>(ir::elements(t)));
  for (float& v : out) v = static_cast<float>(of(rng));
  return out;
}

// The input becomes a constant of random bytes.
void make_constant(ir::Graph& g, const std::string& name, std::mt19937& rng) {
  const int t = named(g, name);
  ir::Tensor& tensor = g.tensors[static_cast<size_t>(t)];
  const std::vector<float> values = bytes(tensor, rng);
  tensor.constant = static_cast<int>(g.constants.size());
  g.constants.push_back(
      {ir::bytes_of_doubles(tensor.dtype, std::vector<double>(values.begin(), values.end()))});
  g.inputs.erase(std::find(g.inputs.begin(), g.inputs.end(), t));
}

void expect_same_outputs(const ir::Graph& a, const ir::Graph& b, std::mt19937& rng) {
  ASSERT_EQ(render(ir::verify(b)), "");
  std::vector<std::vector<float>> inputs;
  for (const int t : a.inputs) inputs.push_back(bytes(a.tensors[static_cast<size_t>(t)], rng));
  const auto x = ir::evaluate(a, inputs), y = ir::evaluate(b, inputs);
  ASSERT_TRUE(x.ok() && y.ok());
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (size_t i = 0; i < a.outputs.size(); ++i)
    EXPECT_EQ((*x)[static_cast<size_t>(a.outputs[i])], (*y)[static_cast<size_t>(b.outputs[i])]);
}

bool always(const compiler::LaidOut&, const compiler::LaidOut&) { return true; }

// Every product reads u8 and i8.
void expect_mixed(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes) {
    if (n.combine != ir::Combiner::sum || n.reads.size() != 2) continue;
    std::vector<DType> types;
    for (const ir::Read& r : n.reads)
      types.push_back(g.tensors[static_cast<size_t>(r.tensor)].dtype);
    EXPECT_NE(types[0], types[1]) << n.name;
  }
}

TEST(ShiftOperands, ProductsKeepTheirNumbers) {
  std::mt19937 rng(4);
  const std::string matmul =
      "nodes:\n  - {op: matmul, out: \"c[m, n]\", axes: {m: 5, n: 7, k: 13}, combine: sum, body: "
      "\"a[m, k] * b[k, n]\"}\noutputs: [c]\n";
  const std::string conv =
      "nodes:\n  - {op: conv, out: \"c[o, y, x]\", axes: {o: 3, y: 4, x: 5, i: 2, r: 3, s: 3}, "
      "combine: sum, body: \"a[i, y + r - 1, x + s - 1 : guard -7] * b[o, i, r, s]\"}\n"
      "outputs: [c]\n";
  for (const char* type : {"i8", "u8"})
    for (const char* constant : {"", "a", "b"})
      for (const bool image : {false, true}) {
        const std::string t = type, shapes = image ? "{a: " + t + " 2x4x5, b: " + t + " 3x2x3x3}"
                                                   : "{a: " + t + " 5x13, b: " + t + " 13x7}";
        ir::Graph g = parsed("inputs: " + shapes + "\n" + (image ? conv : matmul), DType::i32);
        if (t == "u8")
          for (ir::Node& n : g.nodes) n.reads[0].fill = 7;
        if (*constant != 0) make_constant(g, constant, rng);
        const ir::Graph shifted = compiler::shift_operands(g, mixed(), 16, always);
        EXPECT_GT(shifted.nodes.size(), g.nodes.size()) << type << constant;
        expect_mixed(shifted);
        expect_same_outputs(g, shifted, rng);
      }
}

// A quantised value that a product and a sum read is written in u8 at once.
TEST(ShiftOperands, WhoRoundsWritesTheShiftedNumber) {
  std::mt19937 rng(5);
  ir::Graph g = parsed(
      "inputs: {x: f32 6x9, w: i8 9x4}\n"
      "nodes:\n"
      "  - {op: quantise, out: \"q[m, k]\", axes: {m: 6, k: 9}, body: \"round(x[m, k] * 1.5) + "
      "3\"}\n"
      "  - {op: matmul, out: \"c[m, n]\", axes: {m: 6, n: 4, k: 9}, combine: sum, body: \"q[m, k] "
      "* "
      "w[k, n]\"}\n"
      "  - {op: scale, out: \"y[m, k]\", axes: {m: 6, k: 9}, body: \"(q[m, k] - 3) * 0.5\"}\n"
      "outputs: [c, y]\n",
      DType::i32);
  g.tensors[static_cast<size_t>(named(g, "q"))].dtype = DType::i8;
  make_constant(g, "w", rng);
  const ir::Graph shifted = compiler::shift_operands(g, mixed(), 16, always);
  expect_mixed(shifted);
  EXPECT_EQ(shifted.nodes.size(), 4U) << ir::print_graph(shifted);  // and the correction
  for (const ir::Node& n : shifted.nodes) EXPECT_NE(n.op, "shift");
  expect_same_outputs(g, shifted, rng);
}

TEST(ShiftOperands, WhatAnInstructionMultipliesIsLeftAlone) {
  const ir::Graph g = parsed(
      "inputs: {a: i8 5x13, b: i8 13x7}\nnodes:\n  - {op: matmul, out: \"c[m, n]\", axes: {m: 5, "
      "n: "
      "7, k: 13}, combine: sum, body: \"a[m, k] * b[k, n]\"}\noutputs: [c]\n",
      DType::i32);
  std::vector<ir::MatrixInstruction> instructions = mixed();
  instructions.push_back(lower::known_instruction("sm80.mma.m16n8k32.i8.i32")->computes);
  EXPECT_EQ(compiler::shift_operands(g, instructions, 16, always), g);
  EXPECT_EQ(compiler::shift_operands(g, {}, 16, always), g);
  EXPECT_EQ(
      compiler::shift_operands(g, mixed(), 16, [](const auto&, const auto&) { return false; }), g);
}

}  // namespace
}  // namespace assay
