// KernelTuner's tables of CLBlast's Xgemm: a row's parameters as a program.
//
//   MWG NWG KWG      a group's tile; the reduction goes on in steps of KWG
//   MDIMC NDIMC      threads along m and n; each has MWG / MDIMC times NWG / NDIMC elements
//   SA SB            1: the group's tile of A, of B is staged in its scratchpad, KWG steps at once
//   MDIMA NDIMB      threads along m that copy A, along n that copy B; the others lie along k
//   KWI              steps that a thread unrolls
//   VWM VWN          widths of loads, stores and copies along m (A and C), along n (B)
//   STRM STRN        0: a thread's elements lie together; 1: in vectors, a vector of each thread
//                    after the other
//
// A and C lie with m innermost, B with n, as the kernel wants them.
// Source: github.com/CNugteren/CLBlast, src/kernels/level3/xgemm_part1.opencl to part3.opencl.
#pragma once

#include <map>
#include <string>

#include "ir/program.h"
#include "support/result.h"

namespace assay::toolkit {

using XgemmParameters = std::map<std::string, int>;

// `columns` and `values` of a row. Errors: a parameter that is missing or no number above 0 (of
// STRM, STRN, SA, SB: neither 0 nor 1).
Result<XgemmParameters> xgemm_parameters(const std::vector<std::string>& columns,
                                         const std::vector<std::string>& values);

// `graph`: of a product, a[m, k] * b[k, n]. Errors: another one; parameters that do not divide each
// other as the kernel needs it.
Result<ir::Program> xgemm_program(const ir::Graph& graph, const XgemmParameters& parameters);

}  // namespace assay::toolkit
