// A scatter: the tensor it begins with is copied, then each term updates the element at its
// positions, in order. Points whose positions are the same share them.
#include <algorithm>
#include <utility>

#include "lower/build.h"
#include "lower/kind_body.h"
#include "lower/kinds.h"

namespace assay::lower {

namespace {

class ScatterBody : public KindBody {
 public:
  ScatterBody(Lowering& s, const TileClass& tile, const Place& place)
      : KindBody(s, tile, place), scatter_(std::get<ir::Scatter>(s.anchor.kind)) {}

  void emit(ir::Block& out) {
    walk(scattered_axes(), place_, out, [&](const Place& at, ir::Block& inside) {
      for (const Point& pt : points_) store(at, pt, read_at(scatter_.initial, at, pt), inside);
    });
    std::vector<int> reduce;
    for (int a = ir::spatial_count(s_.p.graph, s_.anchor);
         a < static_cast<int>(s_.anchor.axes.size()); ++a)
      reduce.push_back(a);
    walk(reduce, place_, out, [&](const Place& at, ir::Block& inside) { emit_terms(at, inside); });
  }

 private:
  // Points whose terms go to the same positions, if the positions are there: reads of them may be
  // guarded.
  struct Target {
    std::vector<ir::Locate> positions;
    std::vector<ir::Condition> conditions;
    std::vector<Point> points;
  };

  // In the order of the output's storage.
  std::vector<int> scattered_axes() const {
    std::vector<int> out;
    for (const ir::PhysicalDim& d : s_.p.layouts[static_cast<size_t>(s_.anchor.output)].dims)
      if (std::find(out.begin(), out.end(), d.dim) == out.end() &&
          std::any_of(scatter_.positions.begin(), scatter_.positions.end(),
                      [&](const ir::Position& p) { return p.dim == d.dim; }))
        out.push_back(d.dim);
    return out;
  }

  Target target_of(const Place& place, const Point& pt) const {
    Target out;
    const std::vector<ir::Index> at = position(place, pt.offset);
    for (const ir::Position& p : scatter_.positions) {
      const ir::Read& r = s_.anchor.reads[static_cast<size_t>(p.read)];
      const auto t = static_cast<size_t>(r.tensor);
      const std::vector<ir::Index> index = index_at(r, at);
      ir::Locate locate;
      locate.id = s_.buffer_of.at(r.tensor);
      locate.index =
          ir::physical_offset(s_.p.layouts[t], s_.p.graph.tensors[t].shape, index, s_.ranges);
      locate.extent = s_.anchor.axes[static_cast<size_t>(p.dim)].extent;
      out.positions.push_back(std::move(locate));
      const ir::Value guard = guarded(r, r.tensor, index, ir::Value());
      for (const ir::Condition& c : guard.conditions)
        if (std::find(out.conditions.begin(), out.conditions.end(), c) == out.conditions.end())
          out.conditions.push_back(c);
    }
    return out;
  }

  void emit_terms(const Place& place, ir::Block& out) {
    std::vector<Target> targets;
    for (const Point& pt : points_) {
      Target to = target_of(place, pt);
      auto found = std::find_if(targets.begin(), targets.end(), [&](const Target& other) {
        return other.positions == to.positions && other.conditions == to.conditions;
      });
      if (found == targets.end()) found = targets.insert(targets.end(), std::move(to));
      found->points.push_back(pt);
    }
    for (Target& target : targets) {
      if (target.conditions.empty()) {
        emit_update(std::move(target), place, out);
        continue;
      }
      ir::If there{target.conditions, {}, {}};
      emit_update(std::move(target), place, there.then_body);
      append(out, std::move(there));
    }
  }

  void emit_update(Target target, const Place& place, ir::Block& out) {
    ir::If inside;
    Place to = place;
    for (size_t i = 0; i < target.positions.size(); ++i) {
      ir::Locate& locate = target.positions[i];
      locate.var = s_.new_index("at" + std::to_string(s_.ranges.size()), locate.extent);
      inside.conditions.push_back({ir::variable(locate.var), 0, locate.extent - 1});
      to = moved(std::move(to), scatter_.positions[i].dim, ir::variable(locate.var));
      append(out, std::move(locate));
    }
    for (const Point& pt : target.points) store(to, pt, updated(place, to, pt), inside.then_body);
    append(out, std::move(inside));
  }

  ir::Value updated(const Place& place, const Place& to, const Point& pt) const {
    if (s_.anchor.combine == ir::Combiner::none) return term(place, pt);
    const auto t = static_cast<size_t>(s_.anchor.output);
    std::vector<ir::Index> at = position(to, pt.offset);
    at.resize(s_.p.graph.tensors[t].shape.size());
    const ir::Value before = load(s_.anchor.output, s_.p.layouts[t], s_.p.graph.tensors[t].shape,
                                  s_.buffer_of.at(s_.anchor.output), at, pt.count, 0);
    return with_term(before, place, pt);
  }

  const ir::Scatter& scatter_;
};

}  // namespace

void emit_scatter(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out) {
  ScatterBody(s, tile, place).emit(out);
}

}  // namespace assay::lower
