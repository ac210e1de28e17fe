// One register tile: accumulators as named vectors, the unrolled body, epilogue and store. Internal
// to lower/.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lower/lowering.h"

namespace assay::lower {

// All offsets inside a box, last dimension fastest.
std::vector<std::vector<int64_t>> offsets_in(const std::vector<int64_t>& box);

// Emits declaration and initial values of the accumulators, then the body per reduce position, then
// epilogue and store. The emitter calls these in this order.
class TileBody {  // invariant: the accumulators belong to one tile class at one place
 public:
  TileBody(Lowering& s, TileClass tile, const Place& place);
  virtual ~TileBody() = default;
  TileBody(const TileBody&) = delete;
  TileBody& operator=(const TileBody&) = delete;
  virtual void emit_begin(ir::Block& out);
  virtual void emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out);
  // `tile`: the part of the tile inside the tensors.
  virtual void emit_end(const Place& place, const TileClass& tile, ir::Block& out);

 protected:
  struct Point {                  // one accumulator
    std::vector<int64_t> offset;  // per axis, inside the tile; the vector axis: the first lane
    int row = 0, vector = 0;      // of a fragment, row: its place in the lanes' registers
    int count = 1;                // lanes inside the tensor
    int reg = -1;
    // Of a fragment: what the lane adds to the offset, per axis, and which lanes are inside.
    std::vector<ir::Index> lane = {};
    std::vector<ir::Condition> conditions = {};
  };
  virtual Point inside(Point pt, const TileClass& tile) const;
  std::vector<ir::Index> position(const Place& place, const std::vector<int64_t>& offset) const;
  std::vector<ir::Index> position(const Place& place, const Point& pt) const;
  ir::Value load(int tensor, const ir::Layout& layout, std::vector<int64_t> shape, int buffer,
                 const std::vector<ir::Index>& index, int count, double fill) const;
  ir::Value read_anchor(int read, const Place& place, const std::vector<int64_t>& offset, int count,
                        ir::Block& out);
  ir::Value read_at(int read, const Place& place, const std::vector<ir::Index>& at, int count,
                    ir::Block& out);
  ir::Value read_external(const ir::Read& r, const std::vector<ir::Index>& at, int count) const;
  ir::Value read_looked_up(const ir::Read& r, const std::vector<ir::Index>& at, int count,
                           ir::Block& out);
  // Where an element of the anchor's read is: in its staged copy, else in the tensor.
  struct Element {
    const ir::Layout& layout;
    std::vector<int64_t> shape;
    int buffer = -1;
    std::vector<ir::Index> index;
  };
  Element element_of(int read, const Place& place, const std::vector<ir::Index>& at) const;
  std::vector<ir::Index> index_at(const ir::Read& r, const std::vector<ir::Index>& at) const;
  // May the position lie outside of the tensor, and of padding that holds what the read asks for?
  bool needs_guard(const ir::Read& r, const ir::Layout& layout, const std::vector<int64_t>& shape,
                   const std::vector<ir::Index>& index, size_t dim) const;
  ir::Value guarded(const ir::Read& r, int tensor, const std::vector<ir::Index>& index,
                    ir::Value value) const;
  ir::Value epilogue(const Place& place, const Point& pt, ir::Value value, ir::Block& out);
  ir::Value converted(ir::Value value, ir::Block& out);
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
  virtual void store(const Place& place, const Point& pt, ir::Value value, ir::Block& out);
  std::vector<ir::Condition> outer_reduce_at(const Place& place, bool first) const;

  Lowering& s_;
  TileClass tile_;
  Place place_;
  std::vector<Point> points_;
  // Lookups located since the current block began, and the variables of their positions.
  struct Located {
    ir::Locate statement;
    int var = -1;
  };
  std::vector<Located> located_;
};

}  // namespace assay::lower
