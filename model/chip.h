// A target's numbers as `price` wants them: the machine, and rates by element type.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/matrix.h"
#include "model/machine.h"

namespace assay::model {

// A matrix instruction of the chip, at the rate of one unit.
struct MatrixRate {
  ir::MatrixInstruction instruction;
  Quantity multiply_adds;  // per s
};

struct TypeRate {
  ir::DType type = ir::DType::f32;
  Quantity multiply_adds;  // per s of a unit, through the lanes' own pipes
};

struct Chip {
  Machine machine;
  double partitions = 1;  // of a unit, each with registers and issue slots of its own
  double registers_per_thread_max = 255;
  double register_granule = 1;  // registers of a thread are allotted in multiples of it
  std::vector<TypeRate> types;
  std::vector<MatrixRate> instructions;
  // Instructions that the profile names and nobody described, so that nothing can use them.
  std::vector<std::string> undescribed;
  // s of a launch by an eager framework, in a stream, in a recorded graph; 0: not known.
  Quantity eager_launch, stream_launch, graph_launch;
};

// `described`: shapes and types of matrix instructions by name; others of the profile are left out.
// Errors: those of `prepare`.
Result<Chip> prepare_chip(const hwdesc::Target& target,
                          std::span<const ir::MatrixInstruction> described,
                          const Scaled& scaled = {});

// Multiply-adds per second of a unit on numbers of this type, accumulated in another: through the
// lanes' pipes (`instruction` empty) or a matrix instruction. 0: it has none.
double product_rate(const Chip& chip, ir::DType type, const std::string& instruction);

}  // namespace assay::model
