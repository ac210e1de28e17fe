// A register tile of opaque fragments: whole fragments are loaded, multiplied and stored, and those
// of c are kept through the whole reduction. Internal to lower/.
//
// A fragment of a or b is loaded from the tensor or its staged copy, if all of it is inside and
// lies there as one of the instruction's layouts. Otherwise it is packed in scratch, element by
// element, with zeros outside of the tile: at edges, under guards, in other layouts. A fragment of
// c is stored to the output if nothing follows it and it fits there, else to scratch, from which
// lanes read it for the epilogue.
//
// Registers are few, so those of a and b are loaded again in each step of the reduction.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lower/tile_body.h"

namespace assay::lower {

class OpaqueBody final : public TileBody {  // invariant: points_ are of the fragment being stored
 public:
  OpaqueBody(Lowering& s, const TileClass& tile, const Place& place);
  void emit_begin(ir::Block& out) override;
  void emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out) override;
  void emit_end(const Place& place, const TileClass& tile, ir::Block& out) override;

 private:
  struct Accumulator {            // a fragment of c
    std::vector<int64_t> offset;  // per axis, of its first element
    int reg = -1;
  };
  struct Operand {
    char name;  // a, b or c
    int read;   // of the anchor; -1: c
    const ir::Fragment& fragment;
    int row_axis, column_axis;
    int layout = 0;            // in which it is loaded or stored
    std::vector<int> walks{};  // index variables, one for each dimension of that layout
    int scratch = -1;          // buffer; -1: not used yet
  };
  struct Memory {  // of a whole fragment
    int buffer = -1;
    ir::Index index;
    int64_t stride = 0;
  };

  Point inside(Point pt, const TileClass&) const override { return pt; }
  std::vector<int64_t> steps(const TileClass& tile, bool reduce) const;
  std::vector<std::vector<int64_t>> places(const TileClass& tile, bool reduce) const;
  void choose_layout(Operand& o);
  int new_fragment(const Operand& o);
  int loaded_register(const Operand& o, const std::vector<int64_t>& offset) const;
  bool is_inside(const Operand& o, const std::vector<int64_t>& offset, const TileClass& tile) const;
  std::optional<Memory> place_of(const Operand& o, const Element& e) const;
  std::optional<Memory> place_of_operand(const Operand& o, const Place& place,
                                         const std::vector<int64_t>& offset) const;
  std::optional<Memory> place_of_result(const Place& place, const Accumulator& c,
                                        const TileClass& tile) const;
  std::vector<ir::Index> first_element(const Operand& o, const Place& place,
                                       const std::vector<int64_t>& offset) const;
  Memory scratch_of(Operand& o);
  ir::Index in_scratch(const Operand& o, const ir::Index& row, const ir::Index& column) const;
  void load(Operand& o, const Place& place, const std::vector<int64_t>& offset,
            const TileClass& tile, int reg, ir::Block& out);
  void put_together(const Operand& o, const Place& place, const std::vector<int64_t>& offset,
                    const TileClass& tile, ir::Block& out);
  bool copy_dealt(const Operand& o, const Place& place, const std::vector<int64_t>& offset,
                  const TileClass& tile, bool along_rows, ir::Block& out);
  ir::Index with_lane(const ir::Index& index, int lane) const;
  ir::Value of_one_lane(const ir::Value& v, int lane) const;
  ir::Value element(const Operand& o, const Place& place, const std::vector<int64_t>& offset,
                    const TileClass& tile, const ir::Index& row, const ir::Index& column,
                    ir::Block& out);
  ir::Value taken_apart(const ir::Index& from) const;
  void take_apart(const Place& place, const Accumulator& c, const TileClass& tile, ir::Block& out);

  const MatrixProduct& product_;
  Operand a_, b_, c_;
  std::vector<Accumulator> accumulators_;
  std::map<std::vector<int64_t>, int> registers_;  // of a and b, by read and offset
};

}  // namespace assay::lower
