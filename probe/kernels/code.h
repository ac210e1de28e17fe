// Builders of loop kernels (ir/kernel.h). Kernels have no scalar arguments: the last argument is a
// buffer of parameters.
//   counted kernels   {iterations}
//   streaming kernels {passes, blocks, place of the first block of group 0, of group 1, ...}
// A block is kBlockBytes. Groups are numbered from 0, so each can have a part of a buffer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/kernel.h"

namespace assay::probe {

inline constexpr int64_t kSlots = 256;       // groups that chase, or compute, at a time
inline constexpr int64_t kSlotFloats = 128;  // of each group's results: the widest waves there are
inline constexpr int64_t kBlocks = int64_t{1} << 22;
inline constexpr int64_t kBlockBytes = 4096;
inline constexpr int64_t kPlaceBytes = 256;  // unit of a place
inline constexpr int64_t kMaxPasses = int64_t{1} << 24;
inline constexpr int64_t kMaxIterations = int64_t{1} << 30;
inline constexpr int64_t kMaxGroups = int64_t{1} << 30;

namespace code {

// (variable / div) % mod; mod 0: none.
ir::Index part_of(int var, int64_t div, int64_t mod);

ir::Value number(double v, ir::DType type, int lanes);
ir::Value reg(const ir::Kernel& k, int id);
ir::Value load(int buffer, ir::Index at, ir::DType type, int lanes);
ir::Value splat(int buffer, ir::Index at, ir::DType type, int lanes);
ir::Value gather(int buffer, ir::Index at, ir::DType type, int lanes, int64_t stride);
ir::Value apply(ir::ValueOp op, std::vector<ir::Value> args);
ir::Value opaque(ir::Value v);
ir::Stmt set(int reg, ir::Value v);
ir::Stmt keep(int reg);
ir::Stmt scatter(int buffer, ir::Index at, ir::Value v, int64_t stride);
ir::Stmt store(int buffer, ir::Index at, ir::Value v, ir::CacheHint hint = ir::CacheHint::none);
ir::Stmt let(int var, ir::Index value);
// for (var < min(limit, bound)), not unrolled by the compiler.
ir::Stmt loop(int var, int64_t limit, ir::Index bound, ir::Block body);
ir::Stmt declare(int first, int count);

// A kernel without a body, with index variable 0 and room for kMaxGroups.
ir::Kernel empty(std::string name);
int add_buffer(ir::Kernel& k, std::string name, ir::DType type, bool written);
// The buffer of parameters, which must be the last argument.
int add_parameters(ir::Kernel& k);
// A new index variable with the n-th parameter, at most `limit`; read at the end of the body so
// far.
int parameter(ir::Kernel& k, std::string name, int buffer, ir::Index n, int64_t limit);
int add_register(ir::Kernel& k, std::string name, ir::DType type, int lanes);
int add_index(ir::Kernel& k, std::string name);

// for i < iterations: `body`; adds the buffer of parameters. The variable i is the second new one.
void counted_loop(ir::Kernel& k, ir::Block body);

// own[i] = from[i], for the whole of `own`, so many elements at a time.
ir::Stmt fill(ir::Kernel& k, int own, int from, int lanes);

// Appends `parts` to `block`, `times` times.
void repeat(ir::Block& block, int times, const ir::Block& parts);

}  // namespace code
}  // namespace assay::probe
