// What inputs hold, in a graph's text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph.h"

namespace assay::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string text(const std::string& types) {
  return "schema: assay/graph/1\nname: g\ntensors:\n  ids: f32 5\n  x: f32 5\n  y: f32 5\n"
         "inputs: [ids, x]\n" +
         types +
         "outputs: [y]\nnodes:\n"
         "  - {name: y, op: add, out: \"y[i]\", axes: {i: 5}, body: \"ids[i] + x[i]\"}\n";
}

TEST(InputTypes, AreKeptInText) {
  const auto g = parse_graph(text("input_types: [i64, f32]\n"), "g.yaml");
  ASSERT_TRUE(g.ok()) << render(g.diags());
  EXPECT_THAT(g->input_types, ElementsAre(DType::i64, DType::f32));
  EXPECT_THAT(print_graph(*g),
              HasSubstr("inputs: [ids, x]\noutputs: [y]\ninput_types: [i64, f32]\n"));
  EXPECT_EQ(parse_graph(print_graph(*g), "g.yaml").value(), *g);
  const auto without = parse_graph(text(""), "g.yaml");
  EXPECT_TRUE(without->input_types.empty());
  EXPECT_EQ(print_graph(*without).find("input_types"), std::string::npos);
}

TEST(InputTypes, WrongOnesAreFaults) {
  const auto fault = [](const std::string& types) {
    return render(parse_graph(text(types), "g.yaml").diags());
  };
  EXPECT_THAT(fault("input_types: [i64]\n"),
              HasSubstr("g.yaml:8:14: error: 1 input types are given, the graph has 2 inputs"));
  EXPECT_THAT(fault("input_types: [i64, word]\n"),
              HasSubstr("g.yaml:8:20: error: word is not an element type"));
}

}  // namespace
}  // namespace assay::ir
