// The state of one lowering, shared by its parts (nest, copies, register tile). Internal to lower/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "lower/nest.h"

namespace assay::lower {

// Where the code being emitted stands: per axis the absolute position of the innermost open tile,
// and the same at the opening of each tile level (what staged regions are relative to).
struct Place {
  std::vector<ir::Index> at;                  // [axis]
  std::vector<std::vector<ir::Index>> level;  // [tile level][axis]
};

// A partial or full register tile: its extent per axis.
using TileClass = std::vector<int64_t>;

struct StagedBuffer {
  ir::Staging staging;
  int buffer = -1;
  int place = -1;              // after which loop the copy stands
  std::vector<int64_t> shape;  // of the region
};

struct Lowering {
  const ir::Program& p;
  const ir::Node& anchor;
  Nest nest;
  ir::Kernel kernel;
  std::vector<ir::Range> ranges;       // per index variable of the kernel; the last is not special
  int lane = -1;                       // index variable that stands for the lane, never printed
  int64_t line = 16;                   // elements of a cache line
  std::map<int, int> buffer_of;        // external tensor -> kernel buffer
  std::map<int, StagedBuffer> staged;  // read of the anchor -> its copy
  Diags diags;                         // what turned out to be impossible on the way

  explicit Lowering(const ir::Program& program);

  int new_index(std::string name, int64_t limit);
  int new_register(std::string name, int lanes);
  int width() const { return p.vector_width; }
};

// An address split into the part that is the same for all lanes and the distance between lanes.
struct LaneAddress {
  ir::Index base;
  int64_t stride = 0;
};

// nullopt when lanes are not equidistant. `index` may contain the lane variable.
std::optional<LaneAddress> split_lane(const Lowering& s, const ir::Index& index);

// Elements along `dim` may be read a whole vector at a time past the tensor's end, because the
// storage is blocked by a multiple of the vector's width.
bool whole_vectors(const ir::Layout& layout, int dim, int width);

// Emits the copy of one staged operand.
void emit_copy(Lowering& s, const StagedBuffer& staged, const Place& place, ir::Block& out);

// Emits declaration and initial value of the accumulators, and returns their registers; then, per
// reduce position, the body; then epilogue and store. Called in this order by the nest.
class TileBody {  // invariant: accumulators stand for one tile class at one place
 public:
  TileBody(Lowering& s, TileClass tile, const Place& place);
  void emit_begin(ir::Block& out);
  void emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out);
  // `tile`: what of the tile lies inside of the tensors.
  void emit_end(const Place& place, const TileClass& tile, ir::Block& out);

 private:
  struct Point {                  // one accumulator
    std::vector<int64_t> offset;  // per axis, inside the tile; the vector axis: the first lane
    int row = 0, vector = 0;
    int count = 1;  // lanes inside the tensor
    int reg = -1;
  };
  Point inside(Point pt, const TileClass& tile) const;
  std::vector<ir::Index> position(const Place& place, const std::vector<int64_t>& offset) const;
  ir::Value load(int tensor, const ir::Layout& layout, std::vector<int64_t> shape, int buffer,
                 const std::vector<ir::Index>& index, int count, double fill) const;
  ir::Value read_anchor(int read, const Place& place, const std::vector<int64_t>& offset, int count,
                        ir::Block& out);
  ir::Value read_external(const ir::Read& r, const std::vector<ir::Index>& at, int count) const;
  ir::Value read_looked_up(const ir::Read& r, const std::vector<ir::Index>& at, int count,
                           ir::Block& out);
  std::vector<ir::Index> index_at(const ir::Read& r, const std::vector<ir::Index>& at) const;
  ir::Value guarded(const ir::Read& r, int tensor, const std::vector<ir::Index>& index,
                    ir::Value value) const;
  ir::Value scalar_value(const ir::Scalar& e, const std::vector<ir::Value>& reads,
                         const std::vector<ir::Index>& at) const;
  ir::Value combined(const ir::Value& acc, const ir::Scalar& body,
                     const std::vector<ir::Value>& reads, const std::vector<ir::Index>& at) const;
  std::vector<ir::Value> shared_reads(const Place& place, const std::vector<int64_t>& offset,
                                      const Point& pt, std::map<std::vector<int64_t>, int>& seen,
                                      ir::Block& out);
  ir::Value partial_sum(const Point& pt);
  void add_partial_sums(const Place& place, ir::Block& out);
  void emit_prefetch(const Place& place, const std::vector<int64_t>& reduce_offset, ir::Block& out);
  void store(const Place& place, const Point& pt, ir::Value value, ir::Block& out);
  ir::Value epilogue(const Place& place, const Point& pt, ir::Value value) const;
  std::vector<ir::Condition> outer_reduce_at(const Place& place, bool first) const;

  Lowering& s_;
  TileClass tile_;
  Place place_;
  std::vector<Point> points_;
  // Positions located since the current block began: (buffer, index, extent) and their variables.
  struct Located {
    ir::Locate statement;
    int var = -1;
  };
  std::vector<Located> located_;
};

}  // namespace assay::lower
