// The state of one lowering, shared by its parts (nest, copies, register tile). Internal to lower/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "lower/instruction.h"
#include "lower/nest.h"

namespace assay::lower {

// The current position of emission: per axis the position of the innermost open tile, and the same
// for each tile level. Staged regions are relative to the latter.
struct Place {
  std::vector<ir::Index> at;                  // [axis]
  std::vector<std::vector<ir::Index>> level;  // [tile level][axis]
};

// A partial or full register tile: its extent per axis.
using TileClass = std::vector<int64_t>;

struct StagedBuffer {
  ir::Staging staging;
  int buffer = -1;
  int place = -1;              // the copy follows this loop
  std::vector<int64_t> shape;  // of the region
};

struct Lowering {
  const ir::Program& p;
  const ir::Node& anchor;
  Nest nest;
  ir::Kernel kernel;
  std::vector<ir::Range> ranges;         // per index variable of the kernel
  ir::DType type;                        // of values: that of the node that is being lowered
  int lane = -1;                         // index variable of the lane, never printed
  int64_t line_bytes = 64;               // of a cache line
  std::optional<MatrixProduct> product;  // of a program with a matrix instruction
  std::map<int, int> buffer_of;          // external tensor -> kernel buffer
  std::map<int, StagedBuffer> staged;    // read of the anchor -> its copy
  Diags diags;                           // faults found while emitting

  // `lanes`: of a wave, where the program's threads lie over two axes.
  explicit Lowering(const ir::Program& program, int lanes);

  int new_index(std::string name, int64_t limit);
  int new_register(std::string name, int lanes);  // of values
  int width() const { return width_; }
  // Lanes that lie over two axes have addresses of their own.
  bool lanes_apart() const { return product.has_value() || p.threads.has_value(); }
  ir::Value number(double n) const;  // in every lane
  ir::Value held(int reg) const;     // a register of values

 private:
  int width_;
};

// Of a group's threads, which are numbered wave by wave.
ir::Index thread_number(const Lowering& s);

// An address as base + lane * stride.
struct LaneAddress {
  ir::Index base;
  int64_t stride = 0;
};

// nullopt when lanes are not equidistant. `index` may contain the lane variable.
std::optional<LaneAddress> split_lane(const Lowering& s, const ir::Index& index);

// Allows the lane's number in addresses and conditions, where lanes are threads.
void use_lane(Lowering& s);

// Whether whole vectors along `dim` may be read past the tensor's end: its storage is blocked by a
// multiple of the vector width.
bool whole_vectors(const ir::Layout& layout, int dim, int width);

// Emits the copy by the tasks of its threads; `origin`: of the region, per dimension.
void emit_mapped_copy(Lowering& s, const StagedBuffer& staged, std::vector<ir::Index> origin,
                      ir::Block& out);

// Emits the copy of one staged operand.
void emit_copy(Lowering& s, const StagedBuffer& staged, const Place& place, ir::Block& out);

}  // namespace assay::lower
