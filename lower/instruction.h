// A program's matrix instruction: what it computes, and which axes of the anchor are its m, n and
// k.
//
// The anchor is a sum of products a * b. Its lanes lie along n: the program's vector axis, and its
// vector width is the number of lanes that hold a fragment. Of opaque fragments it is any width
// that deals their elements evenly: lanes hold these while they are stored. The register tile holds
// whole fragments: its extents along m, n and k are multiples of the instruction's, or the whole
// axis, whose last fragments are filled up with zeros. Other axes are unrolled.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/target.h"
#include "ir/kernel.h"
#include "ir/program.h"

namespace assay::lower {

struct KnownInstruction {
  ir::MatrixInstruction computes;
  std::vector<std::string> dialects;  // that spell it
};

// Of the library; nullptr: there is none of that name.
const KnownInstruction* known_instruction(std::string_view name);

struct MatrixProduct {
  ir::MatrixInstruction instruction;
  int a = 0, b = 1;            // reads of the anchor
  int m = -1, n = -1, k = -1;  // axes; m is -1 where an instruction has a single row
};

// Pre: ir::verify(p) is empty, and the library has its instruction.
Result<MatrixProduct> matrix_product(const ir::Program& p);

// Elements of one fragment along an axis of the anchor: 1 where it is none of the product's.
int64_t fragment_step(const MatrixProduct& product, int axis);

// Why a chip does not compute a program with its matrix instruction, and why its language does not
// print it.
void check_instruction(const ir::Program& p, const hwdesc::Target& target, Diags& out);
void check_spelling(const ir::Program& p, const hwdesc::Target& target, Diags& out);

// Elements of an opaque fragment as `lanes` hold them in each step of a loop: along rows, or along
// columns. A step has `vectors` of each lane, in columns (rows) `lanes` from each other.
struct Dealt {
  int64_t steps = 1, vectors = 1;
  ir::Index row, column;  // of the first vector
  bool along_rows = true;
};
// nullopt: the lanes do not divide it evenly. `step`, `lane`: variables.
std::optional<Dealt> dealt(const ir::Fragment& f, int lanes, bool along_rows, int step, int lane);

// Opaque fragments that a program's registers hold at once; 0: its instruction has others.
int64_t fragments_held(const ir::Program& p, const MatrixProduct& product);

// Bytes of scratch that a wave may need for fragments that it packs and unpacks.
int64_t fragment_scratch(const ir::Program& p);

// Row and column of the element that a worker has in place `item`, as expressions of its number.
struct LaneTask {
  ir::Index row, column;
};
LaneTask lane_task(const ir::TaskMapping& mapping, ir::Index worker, int item, ir::Ranges ranges);

}  // namespace assay::lower
