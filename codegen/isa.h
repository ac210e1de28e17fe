// Matrix instructions as data. hw_profiles/isa/<name>.yaml holds an instruction's shape, which lane
// holds which elements of its operands (ir/task_mapping.h), and its text in each dialect that has
// it. A new instruction is a new file, without code.
//
// An opaque fragment (tile registers, lanes that a vendor deals as it likes) has layouts in memory
// instead of a mapping. Texts load, store and zero it whole. Shape and types are
// enough to price an instruction. One whose operands lie elsewhere (scratchpad, the edges of an
// array) has neither; then there is no text, and no kernel uses it.
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

// A requirement on a device: the fact is at least `value` if that is a number, else has this word.
struct Need {
  std::string fact, value;
  bool operator==(const Need&) const = default;
};

struct InstructionSpelling {
  std::vector<Need> needs;
  Template text;       // {a0} {a1} ...: the registers of an operand; c and d as well
  std::string header;  // what it needs in front of all kernels; may be empty
  // {r0} {r1} ... and {address}, of the lane's run: loads of fragments that have such runs.
  Template a_by_row, a_by_column, b_by_row, b_by_column;
  // Of opaque fragments, whose text has {a} {b} {c}, c in place, and {a_layout} {b_layout}:
  std::string begin, end;  // of a kernel's groups
  std::string sync;        // between lanes that write scratch and fragments that read it, and back
  Template declare_a, declare_b, declare_c;  // none where registers have numbers
  Template zero, load_a, load_b, store_c;
};

struct Instruction {
  ir::MatrixInstruction computes;
  std::map<std::string, InstructionSpelling, std::less<>> spellings;  // by dialect; may be empty
};

// Errors: unknown or missing keys, unknown holes, a text without fragments. So are mappings that do
// not cover every element of their operand equally often, whose worker counts differ, or that only
// some operands have. Each error has its place in the file.
Result<Instruction> parse_instruction(std::string_view text, std::string_view file);

// From the library inside the binary.
std::string_view instruction_text(std::string_view name);  // "" if there is none
std::vector<std::string> instruction_names();
Result<Instruction> find_instruction(const std::string& name);

// Does the text of a dialect work on a device with these facts?
bool has_needs(const std::vector<Need>& needs,
               const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace assay::codegen
