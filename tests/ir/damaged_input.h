// What a reader must do with damaged input: report errors, or return a value that verifies and
// whose text parses to an equal value.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ir/graph.h"
#include "ir/plan.h"
#include "ir/program.h"

namespace assay::ir::samples {

inline std::string text_of(const Graph& g) { return print_graph(g); }
inline std::string text_of(const Program& p) { return print_program(p); }
inline std::string text_of(const Plan& p) { return print_plan(p); }

inline Result<Graph> parse_like(const Graph&, const std::string& text) {
  return parse_graph(text, "printed.yaml");
}
inline Result<Program> parse_like(const Program&, const std::string& text) {
  return parse_program(text, "printed.yaml");
}
inline Result<Plan> parse_like(const Plan&, const std::string& text) {
  return parse_plan(text, "printed.yaml");
}

// Large constants print as size and hash; their bytes are attached afterwards.
inline void attach_bytes(Graph& parsed, const Graph& from) {
  for (size_t i = 0; i < parsed.constants.size() && i < from.constants.size(); ++i)
    if (parsed.constants[i].bytes.empty()) parsed.constants[i].bytes = from.constants[i].bytes;
}
inline void attach_bytes(Program& parsed, const Program& from) {
  attach_bytes(parsed.graph, from.graph);
}
inline void attach_bytes(Plan&, const Plan&) {}

// Returns whether the input was accepted.
template <class T>
bool expect_errors_or_round_trip(const Result<T>& result) {
  if (!result.ok()) {
    EXPECT_TRUE(has_error(result.diags()));
    EXPECT_NE(render(result.diags()), "");
    return false;
  }
  EXPECT_EQ(render(verify(*result)), "");
  const std::string text = text_of(*result);
  Result<T> back = parse_like(*result, text);
  if (!back.ok()) {
    ADD_FAILURE() << render(back.diags()) << text;
    return true;
  }
  attach_bytes(*back, *result);
  EXPECT_EQ(text_of(*back), text);
  const bool has_nan = text.find("nan") != std::string::npos;  // which differs from itself
  EXPECT_TRUE(has_nan || *back == *result) << text;
  return true;
}

}  // namespace assay::ir::samples
