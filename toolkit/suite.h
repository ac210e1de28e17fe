// Suites: lists of operators that a validation measures.
//
//   schema: assay/suite/1
//   name: mine
//   operators: [matmul m=64 n=64 k=64, relu n=1000]
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace assay::toolkit {

struct Suite {
  std::string name;
  std::vector<std::string> operators;  // as compiler::parse_operator takes them, distinct
  bool operator==(const Suite&) const = default;
};

// Errors, each with its place: not such a file, an operator that can not be parsed.
Result<Suite> parse_suite(std::string_view text, std::string_view file);

// A path if such a file exists, else a name of the library. Errors: no such suite (lists the
// library's), and those of parse_suite.
Result<Suite> load_suite(const std::string& name_or_path);

struct EmbeddedSuite {
  std::string_view name, text;
};
std::span<const EmbeddedSuite> embedded_suites();

}  // namespace assay::toolkit
