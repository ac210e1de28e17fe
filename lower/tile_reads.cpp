// Reads of a register tile: vector loads, broadcasts, gathers, guards, lookups and staged copies.
#include <algorithm>

#include "lower/build.h"
#include "lower/tile_body.h"

namespace assay::lower {

namespace {

// The intersection.
ir::Range narrower(const ir::Range& a, const ir::Range& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

}  // namespace

ir::Value TileBody::load(int tensor, const ir::Layout& layout, std::vector<int64_t> shape,
                         int buffer, const std::vector<ir::Index>& index, int count,
                         double fill) const {
  const ir::Index offset = ir::physical_offset(layout, shape, index, s_.ranges);
  const std::optional<LaneAddress> address = split_lane(s_, offset);
  ir::Value v;
  v.dtype = s_.type;
  v.lanes = s_.width();
  v.id = buffer;
  if (!address && s_.lanes_apart()) {
    use_lane(s_);
    v.op = ir::ValueOp::gather;
    v.index = offset;
    v.number = fill;
    v.count = count;
    return v;
  }
  if (!address) {
    s_.diags.push_back(error(s_.p.name + ": lanes along axis " +
                             s_.anchor.axes[static_cast<size_t>(s_.p.vector_axis)].name +
                             " of tensor " + s_.p.graph.tensors[static_cast<size_t>(tensor)].name +
                             " are not equidistant"));
    v.op = ir::ValueOp::constant;
    return v;
  }
  v.index = address->base;
  v.number = fill;
  v.stride = address->stride;
  v.count = count;
  if (address->stride == 0) {
    v.op = ir::ValueOp::splat;
    v.count = 0;
    v.number = 0;
  } else if (address->stride == 1) {
    v.op = ir::ValueOp::load;
    v.stride = 0;
    for (size_t d = 0; d < index.size(); ++d)
      if (!s_.lanes_apart() && ir::depends_on(index[d], s_.lane) &&
          whole_vectors(layout, static_cast<int>(d), s_.width()))
        v.count = s_.width();
  } else {
    v.op = ir::ValueOp::gather;
  }
  return v;
}

bool TileBody::needs_guard(const ir::Read& r, const ir::Layout& layout,
                           const std::vector<int64_t>& shape, const std::vector<ir::Index>& index,
                           size_t dim) const {
  const ir::Range range = narrower(ir::range_of(r.index[dim], ir::ranges_of(s_.anchor)),
                                   ir::range_of(index[dim], s_.ranges));
  const ir::Pad pad = ir::pad_of_value(layout, static_cast<int>(dim), r.fill);
  return range.low < -pad.before || range.high > shape[dim] - 1 + pad.after;
}

ir::Value TileBody::guarded(const ir::Read& r, int tensor, const std::vector<ir::Index>& index,
                            ir::Value value) const {
  if (!r.guarded) return value;
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(tensor)];
  const ir::Layout& layout = s_.p.layouts[static_cast<size_t>(tensor)];
  const std::vector<ir::Range> whole = ir::ranges_of(s_.anchor);
  ir::Value g;
  g.op = ir::ValueOp::guard;
  g.dtype = s_.type;
  g.lanes = value.lanes;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!needs_guard(r, layout, t.shape, index, d)) continue;
    auto shared = shared_condition(index[d], t.shape[d], ir::range_of(r.index[d], whole), s_.lane,
                                   s_.width(), s_.ranges);
    if (s_.lanes_apart() && ir::depends_on(index[d], s_.lane)) {
      use_lane(s_);
      shared = ir::Condition{index[d], 0, t.shape[d] - 1};
    }
    if (!shared)
      s_.diags.push_back(
          error(s_.p.name + ": a guard on tensor " + t.name + " differs between lanes"));
    g.conditions.push_back(shared.value_or(ir::Condition{index[d], 0, t.shape[d] - 1}));
  }
  if (g.conditions.empty()) return value;
  g.args = {std::move(value), s_.number(r.fill)};
  return g;
}

std::vector<ir::Index> TileBody::index_at(const ir::Read& r,
                                          const std::vector<ir::Index>& at) const {
  std::vector<ir::Index> index;
  for (const ir::Index& i : r.index)
    index.push_back(ir::simplify(
        ir::substitute(i, [&](int a) { return at[static_cast<size_t>(a)]; }), s_.ranges));
  return index;
}

// The position is located once for all reads there. A guard skips loads outside the tensor.
ir::Value TileBody::read_looked_up(const ir::Read& r, const std::vector<ir::Index>& at, int count,
                                   ir::Block& out) {
  const ir::Read& positions = s_.anchor.reads[static_cast<size_t>(r.lookup->read)];
  const ir::Tensor &t = s_.p.graph.tensors[static_cast<size_t>(r.tensor)],
                   &p = s_.p.graph.tensors[static_cast<size_t>(positions.tensor)];
  const int64_t extent = t.shape[static_cast<size_t>(r.lookup->dim)];
  ir::Locate locate;
  locate.id = s_.buffer_of.at(positions.tensor);
  locate.index = ir::physical_offset(s_.p.layouts[static_cast<size_t>(positions.tensor)], p.shape,
                                     index_at(positions, at), s_.ranges);
  locate.extent = extent;
  const auto found = std::find_if(located_.begin(), located_.end(),
                                  [&](const Located& l) { return l.statement == locate; });
  int var = found == located_.end() ? -1 : found->var;
  if (var < 0) {
    var = s_.new_index("at" + std::to_string(s_.ranges.size()), extent);
    located_.push_back({locate, var});
    locate.var = var;
    append(out, locate);
  }
  std::vector<ir::Index> index = index_at(r, at);
  index[static_cast<size_t>(r.lookup->dim)] = ir::variable(var);
  ir::Value g;
  g.op = ir::ValueOp::guard;
  g.dtype = s_.type;
  g.lanes = s_.width();
  g.conditions.push_back({ir::variable(var), 0, extent - 1});
  g.args = {load(r.tensor, s_.p.layouts[static_cast<size_t>(r.tensor)], t.shape,
                 s_.buffer_of.at(r.tensor), index, count, 0),
            s_.number(r.fill)};
  return guarded(r, r.tensor, index, std::move(g));
}

ir::Value TileBody::read_external(const ir::Read& r, const std::vector<ir::Index>& at,
                                  int count) const {
  const std::vector<ir::Index> index = index_at(r, at);
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(r.tensor)];
  ir::Value v = load(r.tensor, s_.p.layouts[static_cast<size_t>(r.tensor)], t.shape,
                     s_.buffer_of.at(r.tensor), index, count, 0);
  return guarded(r, r.tensor, index, std::move(v));
}

ir::Value TileBody::read_anchor(int read, const Place& place, const std::vector<int64_t>& offset,
                                int count, ir::Block& out) {
  return read_at(read, place, position(place, offset), count, out);
}

TileBody::Element TileBody::element_of(int read, const Place& place,
                                       const std::vector<ir::Index>& at) const {
  const ir::Read& r = s_.anchor.reads[static_cast<size_t>(read)];
  const auto it = s_.staged.find(read);
  const auto tensor = static_cast<size_t>(r.tensor);
  if (it == s_.staged.end())
    return {s_.p.layouts[tensor], s_.p.graph.tensors[tensor].shape, s_.buffer_of.at(r.tensor),
            index_at(r, at)};
  const StagedBuffer& staged = it->second;
  const auto level = static_cast<size_t>(staged.staging.level);
  const std::vector<ir::Range> tile = tile_ranges(s_.p, staged.staging.level);
  std::vector<ir::Index> local;
  for (const ir::Index& i : r.index) {
    const int64_t low = ir::range_of(i, tile).low;
    ir::Index inside = ir::substitute(i, [&](int a) {
      const auto ax = static_cast<size_t>(a);
      return at[ax] + place.level[level][ax] * -1;
    });
    local.push_back(ir::simplify(inside + -low, s_.ranges));
  }
  return {staged.staging.layout, staged.shape, staged.buffer, std::move(local)};
}

ir::Value TileBody::read_at(int read, const Place& place, const std::vector<ir::Index>& at,
                            int count, ir::Block& out) {
  const ir::Read& r = s_.anchor.reads[static_cast<size_t>(read)];
  if (r.lookup) return read_looked_up(r, at, count, out);
  if (!s_.staged.contains(read)) return read_external(r, at, count);
  const Element e = element_of(read, place, at);
  return load(r.tensor, e.layout, e.shape, e.buffer, e.index, count, 0);
}

}  // namespace assay::lower
