// The operators that `parse_operator` knows: name, parameters and graph. Internal to compiler/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace assay::compiler {

struct Parameter {
  const char* name;
  int64_t standard;  // 0: must be given; -1: half the window
};

using Values = std::map<std::string, int64_t>;

struct Operator {
  const char* name;
  std::vector<Parameter> parameters;
  ir::Graph (*make)(const Values&);
};

const std::vector<Operator>& operators();
const std::vector<Operator>& element_operators();  // those on vectors and matrices

}  // namespace assay::compiler
