// What the register tiles of all kinds share: the points of the tile, their terms, loops over the
// axes that lie whole in it. Internal to lower/.
#pragma once

#include <functional>
#include <vector>

#include "lower/tile_body.h"

namespace assay::lower {

class KindBody : public TileBody {
 public:
  KindBody(Lowering& s, TileClass tile, const Place& place);

 protected:
  using Inside = std::function<void(const Place& place, ir::Block& out)>;

  static Place moved(Place place, int axis, ir::Index at);
  // Loops over all of the axes, the first one outermost.
  void walk(const std::vector<int>& axes, const Place& place, ir::Block& out, const Inside& inside);
  // The value of the body at a point.
  ir::Value term(const Place& place, const Point& pt) const;
  // `sum` combined with the term at a point.
  ir::Value with_term(const ir::Value& sum, const Place& place, const Point& pt) const;
  ir::Value read_at(int read, const Place& place, const Point& pt) const;

 private:
  std::vector<ir::Value> terms(const Place& place, const Point& pt) const;
};

}  // namespace assay::lower
