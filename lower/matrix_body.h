// A register tile of matrix instructions: its accumulators are fragments of c, kept through the
// whole reduction. Internal to lower/.
//
// Each step of the reduction loads the fragments of a and b that the tile needs once, then
// multiplies every pair. What lies outside of the tile is 0: in the last step of a reduction that
// is no multiple of the instruction's k, and past the ends of rows and columns.
//
// A fragment whose copy in scratch has the runs that the instruction names is loaded by the wave at
// once. Else a register of several numbers is loaded at once where they are neighbours in memory.
// Elsewhere, and where only some of them are inside, it is put together from single numbers.
// Alternatives that were not taken: only layouts whose numbers are neighbours (no operand as a
// model brings it), and copies to scratch that transpose (they cost a barrier, and cores need
// none). Addresses are expressions of the lane, which the printer spells; tables of offsets would
// need loads of their own.
#pragma once

#include <map>
#include <vector>

#include "lower/tile_body.h"

namespace assay::lower {

class MatrixBody final : public TileBody {  // invariant: points_ are the registers of accumulators_
 public:
  MatrixBody(Lowering& s, const TileClass& tile, const Place& place);
  void emit_begin(ir::Block& out) override;
  void emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out) override;

 private:
  struct Accumulator {            // a fragment of c
    std::vector<int64_t> offset;  // per axis, of its first element
    std::vector<int> points;      // its registers, in points_
  };
  struct Held {  // the element of each lane in one place of a fragment
    LaneTask task;
    std::vector<int64_t> rows, columns;  // per lane
  };
  struct Operand {
    int read;
    const ir::Fragment& fragment;
    int row_axis, column_axis;
    const std::vector<Held>& held;
  };
  struct Inside {  // of one element of each lane
    int count = 0;
    std::vector<ir::Condition> conditions;
    std::vector<bool> lanes;
  };

  Point inside(Point pt, const TileClass& tile) const override;
  std::vector<Held> held_in(const ir::Fragment& f) const;
  Inside all_inside() const;
  void limit(const ir::Index& at, const std::vector<int64_t>& lanes, int64_t offset, int64_t extent,
             Inside& to) const;
  std::vector<int64_t> steps(const TileClass& tile, bool reduce) const;
  // What tells a read's fragments from each other.
  std::vector<int64_t> key_of(int read, const std::vector<int64_t>& offset) const;
  void order_accumulators();
  // The registers of a fragment; loads them before their first use in a step.
  const std::vector<int>& fragment(const Operand& o, const Place& place,
                                   const std::vector<int64_t>& offset, const TileClass& tile,
                                   ir::Block& out);
  bool load_in_runs(const Operand& o, const Place& place, const std::vector<int64_t>& offset,
                    const TileClass& tile, std::vector<int>& regs, ir::Block& out);
  ir::Value number(const Operand& o, const Place& place, const std::vector<int64_t>& offset,
                   const TileClass& tile, int item, Inside& in, ir::Block& out);
  ir::Value register_value(const Operand& o, const Place& place, const std::vector<int64_t>& offset,
                           const TileClass& tile, int reg, ir::Block& out);

  const MatrixProduct& product_;
  const std::vector<Held> a_, b_, c_;
  std::vector<Accumulator> accumulators_;
  std::map<std::vector<int64_t>, std::vector<int>> loaded_;  // in this step
};

}  // namespace assay::lower
