// The end of a register tile: epilogue and store.
#include <algorithm>

#include "ir/computed_type.h"
#include "lower/build.h"
#include "lower/tile_body.h"

namespace assay::lower {

// The point clipped to `tile`; a count of 0: nothing of it is inside.
TileBody::Point TileBody::inside(Point pt, const TileClass& tile) const {
  for (int a = 0; a < ir::spatial_count(s_.p.graph, s_.anchor); ++a) {
    const int64_t left = tile[static_cast<size_t>(a)] - pt.offset[static_cast<size_t>(a)];
    if (left <= 0)
      pt.count = 0;
    else if (a == s_.p.vector_axis)
      pt.count = static_cast<int>(std::min<int64_t>(pt.count, left));
  }
  return pt;
}

ir::Value TileBody::epilogue(const Place& place, const Point& pt, ir::Value value, ir::Block& out) {
  const std::vector<ir::Index> at = position(place, pt);
  const auto external = [&](const ir::Read& r) {
    ir::Value v = read_external(r, at, pt.count);
    return pt.conditions.empty() ? v : guard_value(pt.conditions, std::move(v));
  };
  const ir::DType of_anchor = s_.type;
  for (size_t n = 1; n < s_.p.graph.nodes.size(); ++n) {
    const ir::Node& node = s_.p.graph.nodes[n];
    s_.type = ir::computed_in(s_.p.graph, node);
    if (value.dtype != s_.type) value = converted(std::move(value), out);
    std::vector<ir::Value> reads;
    for (const ir::Read& r : node.reads)
      reads.push_back(r.tensor == s_.p.graph.nodes[n - 1].output ? value : external(r));
    value = scalar_value(node.body, reads, at);
  }
  s_.type = of_anchor;
  return value;
}

// In a register of the present type, since it may be read several times.
ir::Value TileBody::converted(ir::Value value, ir::Block& out) {
  ir::Value v;
  v.op = ir::ValueOp::convert;
  v.dtype = s_.type;
  v.lanes = s_.width();
  v.args = {std::move(value)};
  const int reg =
      s_.new_register("converted" + std::to_string(s_.kernel.registers.size()), s_.width());
  append(out, ir::Declare{{reg}});
  append(out, ir::Assign{reg, std::move(v)});
  return s_.held(reg);
}

void TileBody::store(const Place& place, const Point& pt, ir::Value value, ir::Block& out) {
  const int target = s_.p.graph.outputs[0];
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(target)];
  const ir::Layout& layout = s_.p.layouts[static_cast<size_t>(target)];
  std::vector<ir::Index> at = position(place, pt);
  at.resize(t.shape.size());
  const ir::Index offset = ir::physical_offset(layout, t.shape, at, s_.ranges);
  std::optional<LaneAddress> address = split_lane(s_, offset);
  if (!address && s_.lanes_apart()) {
    use_lane(s_);
    address = LaneAddress{offset, 0};
  }
  ir::Store st;
  st.id = s_.buffer_of.at(target);
  st.conditions = pt.conditions;
  if (!address) {
    s_.diags.push_back(
        error(s_.p.name + ": lanes of the output " + t.name + " are not equidistant"));
    return;
  }
  st.index = address->base;
  st.stride = s_.width() == 1 ? 1 : address->stride;
  st.count = !s_.lanes_apart() && s_.p.vector_axis >= 0 && st.stride == 1 &&
                     whole_vectors(layout, s_.p.vector_axis, s_.width())
                 ? s_.width()
                 : pt.count;
  st.value = std::move(value);
  append(out, std::move(st));
}

void TileBody::emit_end(const Place& place, const TileClass& tile, ir::Block& out) {
  const bool partial = has_partial_sums(s_.nest);
  ir::Block finish, keep_partial;
  located_.clear();
  if (adds_late(s_.p, s_.nest)) add_partial_sums(place, out);
  for (const Point& whole : points_) {
    const Point pt = inside(whole, tile);
    if (pt.count <= 0) continue;
    ir::Value value;
    if (s_.anchor.combine == ir::Combiner::none) {
      std::vector<ir::Value> reads;
      for (size_t r = 0; r < s_.anchor.reads.size(); ++r)
        reads.push_back(ir::is_used(s_.anchor, static_cast<int>(r))
                            ? read_anchor(static_cast<int>(r), place, pt.offset, pt.count, finish)
                            : ir::Value());
      value = scalar_value(s_.anchor.body, reads, position(place, pt.offset));
    } else {
      value = s_.held(pt.reg);
      if (partial) store(place, pt, value, keep_partial);
    }
    value = epilogue(place, pt, std::move(value), finish);
    store(place, pt, std::move(value), finish);
  }
  if (!partial || s_.p.graph.nodes.size() == 1) {
    out.insert(out.end(), finish.begin(), finish.end());
    return;
  }
  append(out, ir::If{outer_reduce_at(place, false), std::move(finish), std::move(keep_partial)});
}

}  // namespace assay::lower
