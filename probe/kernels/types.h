// Chains of one operation on other element types than f32: what the kernels, their checks and the
// inference agree on.
//
//   fma, add, mul, div, sqrt   x = op(x, a), as with f32;
//   rsqrt                      x = 1 / sqrt(x), one operation of a compiler where there is one;
//   integers                   steps that compilers can not combine: x += a with an opaque a, or,
//                              of threads, where that takes an operation more, alternately x += y
//                              and y += x; x = x x; x = a / x
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {

struct TypedOp {
  const char* op;
  ir::DType dtype;
};
//   f16, bf16   multiply-adds of numbers, or of pairs where a thread has them; rounded each step;
//   i8          x = x x + a; dot, of i32 as bytes: x = a + the products of the bytes of x and a
inline constexpr std::array<TypedOp, 15> kTypedOps = {{{"fma", ir::DType::f64},
                                                       {"add", ir::DType::f64},
                                                       {"mul", ir::DType::f64},
                                                       {"div", ir::DType::f64},
                                                       {"sqrt", ir::DType::f64},
                                                       {"rsqrt", ir::DType::f32},
                                                       {"add", ir::DType::i32},
                                                       {"mul", ir::DType::i32},
                                                       {"div", ir::DType::i32},
                                                       {"fma", ir::DType::f16},
                                                       {"fma", ir::DType::f16x2},
                                                       {"fma", ir::DType::bf16},
                                                       {"fma", ir::DType::bf16x2},
                                                       {"fma", ir::DType::i8},
                                                       {"dot", ir::DType::i32}}};
// Chains that alternate with f32 multiply-adds: do they use different pipes?
inline constexpr std::array<TypedOp, 2> kOverlapsFma = {
    {{"fma", ir::DType::f64}, {"add", ir::DType::i32}}};

// Multiply-adds that are tried in every form of their dialect.
inline constexpr std::array<ir::DType, 6> kFormTypes = {ir::DType::f32,  ir::DType::f64,
                                                        ir::DType::f16,  ir::DType::f16x2,
                                                        ir::DType::bf16, ir::DType::bf16x2};

// "fma.f64", and "fma+fma.f64" of a pair.
bool is_narrow(ir::DType t);  // f16, bf16, i8, pairs
std::string typed_name(const TypedOp& op);
std::string beside_name(const TypedOp& op);
std::string typed_kernel(const std::string& name, int lanes, int chains);

// Interleaved chains of one operation.
ir::Kernel typed_chains(const TypedOp& op, int chains, int lanes, bool threads);

bool usable(const TypedOp& op, const KernelShape& shape);
// Of a vector as wide as `lanes` of f32; threads have one element each.
int lanes_of(ir::DType dtype, int lanes, bool threads);
// Operations of one iteration.
int typed_steps(int chains);

// Iterations after which a kernel's result is checked: bf16 counts to 256.
int64_t checked_iterations(const TypedOp& op);

// What the first chain of a kernel holds after so many of its own steps.
double typed_result(const TypedOp& op, int64_t steps, bool threads);

}  // namespace assay::probe
