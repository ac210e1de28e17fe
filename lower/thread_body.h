// The register tile of a thread, where a group's threads lie over two axes of its tile: elements
// that a task mapping deals to each (Hidet, section 4). Internal to lower/.
//
// Each step of the reduction loads the rows' elements of one operand and the columns' elements of
// the other, then multiplies every pair. Neighbours are loaded and stored in runs, as the program's
// widths say; at the end of a reduction, where a run would leave the tile, one by one.
#pragma once

#include <vector>

#include "lower/tile_body.h"

namespace assay::lower {

class ThreadBody final : public TileBody {  // invariant: points_ are the items of the mapping
 public:
  ThreadBody(Lowering& s, const TileClass& tile, const Place& place);
  void emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out) override;
  void emit_end(const Place& place, const TileClass& tile, ir::Block& out) override;

 private:
  struct Operand {
    int read = -1;
    int axis = -1;                  // rows' or columns'
    std::vector<ir::Index> places;  // along it: each that the thread has, once
    std::vector<size_t> of_point;   // in `places`
  };
  struct Element {  // of an operand, at one step of the reduction
    ir::Index address;
    int buffer = -1, reg = -1;
    std::vector<ir::Condition> conditions;
  };
  using Step = std::vector<int64_t>;  // offsets along the axes

  Operand operand(int read) const;
  std::vector<ir::Condition> limits(int axis, const ir::Index& at, const TileClass& tile) const;
  Point inside(Point pt, const TileClass& tile) const override;
  void store(const Place& place, const Point& pt, ir::Value value, ir::Block& out) override;
  // Elements of all steps, each in a register of its own.
  std::vector<std::vector<Element>> elements(const Operand& o, const Place& place,
                                             const std::vector<Step>& steps);
  int width_of(int tensor) const;
  // Runs of `width`, then what is in none.
  void move(std::vector<Element*> elements, int width, bool stores, ir::Block& out);

  std::vector<Element> results_;  // of emit_end, in order of the points
};

}  // namespace assay::lower
