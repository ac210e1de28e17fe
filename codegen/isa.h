// Matrix instructions as data: hw_profiles/isa/<name>.yaml says of one its shape, where the
// elements of its operands lie (task mappings, ir/task_mapping.h), and how each dialect that has it
// spells it. A new one is a file, nothing else.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/template.h"
#include "ir/matrix.h"
#include "support/result.h"

namespace assay::codegen {

// Of a device: a fact that is at least so much, where `value` is a number, or else has this word.
struct Need {
  std::string fact, value;
  bool operator==(const Need&) const = default;
};

struct InstructionSpelling {
  std::vector<Need> needs;
  Template text;       // {a0} {a1} ...: the registers of an operand; c and d as well
  std::string header;  // what it needs in front of all kernels; may be empty
};

struct Instruction {
  ir::MatrixInstruction computes;
  std::map<std::string, InstructionSpelling, std::less<>> spellings;  // by dialect
};

// Errors: every unknown or missing key, mappings that do not cover their operand once (of what
// several workers hold: as often) or have another number of workers than the others, unknown holes;
// each with its place.
Result<Instruction> parse_instruction(std::string_view text, std::string_view file);

// Of the library.
std::string_view instruction_text(std::string_view name);  // "": there is none of that name
std::vector<std::string> instruction_names();
Result<Instruction> find_instruction(const std::string& name);

// Does the text of a dialect work on a device with these facts?
bool has_needs(const std::vector<Need>& needs,
               const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace assay::codegen
