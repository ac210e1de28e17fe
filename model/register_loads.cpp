#include "model/register_loads.h"

#include <algorithm>
#include <set>

namespace assay::model {

namespace {

class RegisterLoads {
 public:
  RegisterLoads(const ir::Program& p, const lower::Nest& nest, const Grid& grid)
      : p_(p), anchor_(p.graph.nodes[0]), nest_(nest), grid_(grid) {}

  LoadCount count(const ir::Read& r, const std::vector<int64_t>& extents, size_t axes, size_t loops,
                  int fixed) const {
    std::vector<bool> moves(axes);
    std::vector<size_t> moving;
    for (size_t a = 0; a < axes; ++a) {
      moves[a] = std::any_of(r.index.begin(), r.index.end(), [&](const ir::Index& i) {
        return ir::depends_on(i, static_cast<int>(a));
      });
      if (moves[a]) moving.push_back(a);
    }
    LoadCount out{0, 0};
    for (size_t choice = 0; choice < size_t{1} << moving.size(); ++choice) {
      TileClass c{extents, 1, std::vector<Positions>(anchor_.axes.size()),
                  std::vector<bool>(anchor_.axes.size())};
      for (size_t k = 0; k < moving.size(); ++k) c.last[moving[k]] = (choice >> k & 1) != 0;
      for (size_t k = 0; k < moving.size() && c.tiles > 0; ++k)
        place(c, moving[k], moves, loops, fixed);
      if (c.tiles == 0) continue;
      const double passes = c.tiles * passes_over(moves, extents, inside(moves, c, loops, fixed));
      LoadCount l;
      for (size_t a : moving) {
        const std::vector<size_t> together = moved_together(r, a, moves);
        if (together.front() != a) continue;  // counted with an earlier axis
        const LoadCount part = in_tile(r, together, c);
        l.n *= part.n;
        l.lanes *= part.lanes;
      }
      out.n += passes * l.n;
      out.lanes += passes * l.lanes;
    }
    return out;
  }

 private:
  using Positions = std::vector<GridPosition>;

  struct TileClass {                      // full register tiles, or the last along some axes
    const std::vector<int64_t>& extents;  // of the axes
    double tiles = 1;
    std::vector<Positions> at;  // per axis
    std::vector<bool> last;
  };

  void place(TileClass& c, size_t axis, const std::vector<bool>& moves, size_t loops,
             int fixed) const {
    const int64_t whole = c.extents[axis], t = p_.tiles.back().extent[axis], rest = whole % t;
    const bool together = rest > 0 && whole / t == 1 && one_body(c, axis, moves, loops, fixed);
    c.tiles *= !c.last[axis] ? static_cast<double>(whole / t) : rest > 0 && !together ? 1.0 : 0.0;
    add_positions(grid_[axis], 0, c.last[axis] ? rest : t, c.at[axis]);
    if (together) add_positions(grid_[axis], t, rest, c.at[axis]);
  }

  // Is it the only loop over an axis, by register tiles?
  bool walks_alone(size_t loop) const {
    const lower::Loop& l = nest_.loops[loop];
    const auto a = static_cast<size_t>(l.axis);
    return l.is_sequential() &&
           lower::enclosing_extent(p_, l.level, l.axis) == anchor_.axes[a].extent &&
           l.tile == p_.tiles.back().extent[a];
  }

  // Does a loop move a load in tiles of a class? The only full tile and the last one do not move.
  bool moved_by(size_t loop, const std::vector<bool>& moves, const TileClass& c) const {
    const auto a = static_cast<size_t>(nest_.loops[loop].axis);
    return a < moves.size() && moves[a] &&
           !(walks_alone(loop) &&
             (c.last[a] || anchor_.axes[a].extent / nest_.loops[loop].tile == 1));
  }

  // The only full tile along an axis and the last one are one block of code, if no loop in them
  // moves a load.
  bool one_body(const TileClass& c, size_t axis, const std::vector<bool>& moves, size_t loops,
                int fixed) const {
    size_t own = loops;
    for (size_t i = 0; i < loops; ++i)
      if (nest_.loops[i].axis == static_cast<int>(axis) && walks_alone(i)) own = i;
    if (own == loops || static_cast<int>(own) <= fixed) return false;
    for (size_t i = own + 1; i < loops; ++i)
      if (moved_by(i, moves, c) || lower::is_condition(p_, nest_, i)) return false;
    return true;
  }

  // The last loop that moves a load in tiles of a class, or that the load can not leave.
  int inside(const std::vector<bool>& moves, const TileClass& c, size_t loops, int fixed) const {
    for (size_t i = 0; i < loops; ++i)
      if (!nest_.loops[i].is_sequential() || moved_by(i, moves, c) ||
          lower::is_condition(p_, nest_, i))
        fixed = std::max(fixed, static_cast<int>(i));
    return fixed;
  }

  // How often loops up to `place` walk the axes that do not move a load.
  double passes_over(const std::vector<bool>& moves, const std::vector<int64_t>& extents,
                     int place) const {
    double n = 1;
    for (size_t a = 0; a < moves.size(); ++a) {
      int64_t tile = 0;
      for (int i = 0; i <= place; ++i)
        if (nest_.loops[static_cast<size_t>(i)].axis == static_cast<int>(a))
          tile = nest_.loops[static_cast<size_t>(i)].tile;
      if (!moves[a] && tile > 0) n *= static_cast<double>((extents[a] + tile - 1) / tile);
    }
    return n;
  }

  // The axes that share dimensions of a read with `axis`, directly or through others; ascending.
  static std::vector<size_t> moved_together(const ir::Read& r, size_t axis,
                                            const std::vector<bool>& moves) {
    std::vector<bool> in(moves.size());
    in[axis] = true;
    for (bool grows = true; grows;) {
      grows = false;
      for (const ir::Index& i : r.index) {
        const auto moved = [&](size_t a) {
          return moves[a] && ir::depends_on(i, static_cast<int>(a));
        };
        bool any = false;
        for (size_t a = 0; a < in.size(); ++a) any = any || (in[a] && moved(a));
        for (size_t a = 0; any && a < in.size(); ++a)
          if (moved(a) && !in[a]) in[a] = grows = true;
      }
    }
    std::vector<size_t> out;
    for (size_t a = 0; a < in.size(); ++a)
      if (in[a]) out.push_back(a);
    return out;
  }

  // Do neighbours along an axis share elements, as the filters of a group do?
  static bool shares_elements(const ir::Read& r, const std::vector<size_t>& axes) {
    return std::any_of(axes.begin(), axes.end(), [&](size_t a) {
      return std::all_of(r.index.begin(), r.index.end(), [&](const ir::Index& i) {
        const int axis = static_cast<int>(a);
        return !ir::depends_on(i, axis) || ir::run_of(i, axis) > 1;
      });
    });
  }

  // Different loads in one register tile of a class.
  LoadCount in_tile(const ir::Read& r, const std::vector<size_t>& axes, const TileClass& c) const {
    const auto several =
        std::count_if(axes.begin(), axes.end(), [&](size_t a) { return c.at[a].size() > 1; });
    if (several == 0 || (several == 1 && !shares_elements(r, axes))) {
      LoadCount all;  // nothing can overlap
      for (size_t a : axes) {
        all.n *= static_cast<double>(c.at[a].size());
        double lanes = 0;
        for (const GridPosition& x : c.at[a]) lanes += static_cast<double>(x.count);
        all.lanes *= lanes;
      }
      return all;
    }
    std::set<std::vector<int64_t>> seen;
    LoadCount out{0, 0};
    std::vector<size_t> chosen(axes.size());
    std::vector<int64_t> at(anchor_.axes.size(), 0), key;
    for (;;) {
      int64_t lanes = 1;
      for (size_t k = 0; k < axes.size(); ++k) {
        at[axes[k]] = c.at[axes[k]][chosen[k]].first;
        lanes *= c.at[axes[k]][chosen[k]].count;
      }
      key.assign(1, lanes);
      for (const ir::Index& i : r.index) key.push_back(ir::evaluate(i, at));
      if (seen.insert(key).second) {
        out.n += 1;
        out.lanes += static_cast<double>(lanes);
      }
      size_t k = 0;
      while (k < axes.size() && ++chosen[k] == c.at[axes[k]].size()) chosen[k++] = 0;
      if (k == axes.size()) return out;
    }
  }

  const ir::Program& p_;
  const ir::Node& anchor_;
  const lower::Nest& nest_;
  const Grid& grid_;
};

}  // namespace

LoadCount register_loads(const ir::Program& p, const lower::Nest& nest, const ir::Read& r,
                         const std::vector<int64_t>& extents, size_t axes, size_t loops, int fixed,
                         const Grid& grid) {
  return RegisterLoads(p, nest, grid).count(r, extents, axes, loops, fixed);
}

}  // namespace assay::model
