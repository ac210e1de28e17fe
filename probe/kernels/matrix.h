// Matrix instructions: what the kernels, their check and the inference agree on.
//
//   matrix_<name>_<c>   c independent chains d = a b + d of one instruction. One chain shows the
//                       latency, the best number of chains the throughput. All numbers of a and b
//                       are 1, so that each step adds k. Opaque fragments are loaded from scratch.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {

inline constexpr std::array<int, 5> kMatrixChains = {1, 2, 4, 8, 16};
inline constexpr int64_t kMatrixChecked = 2;  // iterations after which a result is checked

// Of kMatrixChains, as many as there are registers for.
std::vector<int> matrix_chains(const ir::MatrixInstruction& i);

std::string matrix_kernel(const std::string& instruction, int chains);
int matrix_steps(int chains);  // instructions of one iteration

// The first number of d after so many steps.
double matrix_result(const ir::MatrixInstruction& i, int64_t steps);

// Adds the types and matrix instructions that the device's facts and its dialect support.
void add_abilities(const runtime::DeviceInfo& info, KernelShape& shape);

}  // namespace assay::probe
