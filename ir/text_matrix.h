// Matrix instructions as text: shape, types and mappings of an isa file. Its spellings in kernel
// languages are codegen's (codegen/isa.h).
#pragma once

#include "ir/matrix.h"
#include "support/yaml_reader.h"

namespace assay::ir {

// `name`, `shape`, `a`, `b` and `c` of such a file. Errors go to the reader, with their places:
// missing keys, and types that do not hold the numbers. Mappings cover every element of their
// operand equally often, have equal worker counts, and all operands or none have one.
MatrixInstruction read_instruction(yaml::Reader& r, const yaml::Node& root);

}  // namespace assay::ir
