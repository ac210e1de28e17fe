#include "model/streams.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/alignment.h"

namespace assay::model {

namespace {

std::vector<char> moving_axes(const ir::Program& p, const ir::Node& n, size_t read) {
  std::vector<char> out;
  for (int a = 0; a < static_cast<int>(p.graph.nodes[0].axes.size()); ++a)
    out.push_back(ir::moves_with(n, static_cast<int>(read), a));
  return out;
}

// Different positions looked up over a tile of the anchor's axes, at most.
int64_t positions(const ir::Node& n, const ir::Lookup& lookup, const std::vector<int64_t>& tile) {
  int64_t count = 1;
  for (int a = 0; a < static_cast<int>(tile.size()); ++a)
    if (ir::moves_with(n, lookup.read, a)) count *= tile[static_cast<size_t>(a)];
  return count;
}

const ir::Read* read_of(const ir::Program& p, const Stream& s) {
  return s.operand < 0
             ? nullptr
             : &p.graph.nodes[static_cast<size_t>(s.node)].reads[static_cast<size_t>(s.operand)];
}

// Where a stream touches its array: its read's index, or the output's own axes.
std::vector<ir::Index> index_of(const ir::Program& p, const Stream& s) {
  if (const ir::Read* r = read_of(p, s); r != nullptr && !s.written) return r->index;
  std::vector<ir::Index> own;
  for (size_t d = 0; d < p.graph.tensors[static_cast<size_t>(s.tensor)].shape.size(); ++d)
    own.push_back(ir::variable(static_cast<int>(d)));
  return own;
}

// Clipped to a dimension, from the first position on.
ir::Reach clipped(ir::Reach v, int64_t extent) {
  if (v.span <= extent) return v;
  return {extent, std::min(v.count, (extent - 1) / v.step + 1), v.step};
}

// Positions per logical dimension that a tile of the anchor's axes touches, clipped to the tensor.
// Into `out`, by way of `ranges`: both keep their memory from tile to tile.
void region(const ir::Program& p, const Stream& s, const std::vector<int64_t>& tile,
            std::vector<ir::Range>& ranges, std::vector<ir::Reach>& out) {
  const ir::Tensor& t = p.graph.tensors[static_cast<size_t>(s.tensor)];
  const auto all_of = [](int64_t n) { return ir::Reach{n, n, 1}; };
  out.clear();
  const ir::Read* r = s.written ? nullptr : read_of(p, s);
  if (r == nullptr) {
    for (size_t d = 0; d < t.shape.size(); ++d) out.push_back(all_of(tile[d]));
    return;
  }
  ranges.clear();
  for (int64_t e : tile) ranges.push_back({0, e - 1});
  const ir::Node& n = p.graph.nodes[static_cast<size_t>(s.node)];
  for (size_t d = 0; d < r->index.size(); ++d) {
    const bool looked_up = r->lookup && r->lookup->dim == static_cast<int>(d);
    out.push_back(clipped(
        looked_up ? all_of(positions(n, *r->lookup, tile)) : ir::reach_of(r->index[d], ranges),
        t.shape[d]));
  }
}

// Inner physical dimensions that are wholly covered are one run.
Footprint shape_of(const ir::Layout& layout, const std::vector<int64_t>& full,
                   const std::vector<ir::Reach>& extent, double element, double line) {
  Footprint f;
  f.rows = 1;
  f.run = f.span = element;
  double stride = element;
  bool contiguous = true;
  for (size_t p = layout.dims.size(); p-- > 0;) {
    const ir::PhysicalDim& d = layout.dims[p];
    const ir::Reach& e = extent[static_cast<size_t>(d.dim)];
    const double next = stride * static_cast<double>(e.step);
    const bool strided = e.step > 1 && next > line && d.div == 1 && d.mod == 0;
    int64_t n = (e.span + d.div - 1) / d.div;
    if (d.mod > 0) n = std::min(n, d.mod);
    n = std::min(n, full[p]);
    f.span += static_cast<double>(n - 1) * stride;
    const int64_t touched = next > line ? std::min(n, e.count) : n;
    if (contiguous && !strided) {
      f.run *= static_cast<double>(n);
      contiguous = n == full[p];
    } else {
      contiguous = false;
      if (touched > 1 && f.stride == 0) {
        f.stride = strided ? next : stride;
        f.near_rows = static_cast<double>(touched);
      } else if (touched > 1 && f.far_stride == 0) {
        f.far_stride = strided ? next : stride;
        f.far_rows = static_cast<double>(touched);
      }
      f.rows *= static_cast<double>(touched);
    }
    stride *= static_cast<double>(full[p]);
  }
  return f;
}

}  // namespace

std::vector<int64_t> tile_extents(const ir::Program& p, const lower::Nest& nest, size_t depth) {
  std::vector<int64_t> out;
  for (const ir::Axis& a : p.graph.nodes[0].axes) out.push_back(a.extent);
  for (size_t i = 0; i < depth; ++i)
    out[static_cast<size_t>(nest.loops[i].axis)] = nest.loops[i].tile;
  return out;
}

Streams streams_of(const ir::Program& p) {
  Streams out;
  out.nest = lower::walk_of(p);
  const size_t all = out.nest.loops.size();
  const ir::Node& anchor = p.graph.nodes[0];
  for (int r = 0; r < static_cast<int>(anchor.reads.size()); ++r) {
    const ir::Read& read = anchor.reads[static_cast<size_t>(r)];
    Stream s;
    s.tensor = read.tensor;
    s.operand = r;
    s.moves = moving_axes(p, anchor, static_cast<size_t>(r));
    s.end_depth = all;
    for (int i = 0; i < static_cast<int>(p.staging.size()); ++i) {
      if (p.staging[static_cast<size_t>(i)].read != r) continue;
      Stream copy = s;
      copy.staging = i;
      copy.with_gaps = s.with_gaps = true;
      out.streams.push_back(copy);
      s.end_depth = static_cast<size_t>(
          lower::staging_place(p, out.nest, p.staging[static_cast<size_t>(i)]) + 1);
    }
    out.streams.push_back(std::move(s));
  }
  const auto spatial = static_cast<size_t>(ir::spatial_count(p.graph, anchor));
  for (int n = 1; n < static_cast<int>(p.graph.nodes.size()); ++n) {
    const ir::Node& node = p.graph.nodes[static_cast<size_t>(n)];
    for (size_t r = 0; r < node.reads.size(); ++r) {
      const ir::Read& read = node.reads[r];
      if (read.tensor == p.graph.nodes[static_cast<size_t>(n) - 1].output) continue;
      Stream s;
      s.tensor = read.tensor;
      s.node = n;
      s.operand = static_cast<int>(r);
      s.moves = moving_axes(p, node, r);
      s.end_depth = out.nest.first_inner;
      out.streams.push_back(std::move(s));
    }
  }
  Stream output;
  output.tensor = p.graph.outputs[0];
  output.written = true;
  output.touched_once = !p.workers.empty();
  const bool updates = std::holds_alternative<ir::Scatter>(anchor.kind);
  output.read = updates || (lower::has_partial_sums(out.nest) && !output.touched_once);
  output.moves.assign(anchor.axes.size(), 0);
  std::fill(output.moves.begin(), output.moves.begin() + static_cast<ptrdiff_t>(spatial), char{1});
  output.end_depth = out.nest.first_inner;
  out.streams.push_back(std::move(output));
  return out;
}

bool has_gaps(const ir::Program& p, const Stream& s) {
  const ir::Read* r = s.written || s.with_gaps ? nullptr : read_of(p, s);
  return r != nullptr && std::ranges::any_of(r->index, [](const ir::Index& i) {
           return std::ranges::any_of(i.terms,
                                      [](const ir::Term& t) { return std::abs(t.coeff) > 1; });
         });
}

double Footprint::bytes(double line) const {
  const auto whole = [&](double n) { return std::max(line, std::ceil(n / line) * line); };
  const bool close = near_rows > 1 && stride > 0 && stride < line;
  const double separate =
      close ? rows / near_rows * whole((near_rows - 1) * stride + run) : rows * whole(run);
  return span > 0 ? std::min(separate, whole(span)) : separate;
}

namespace {

// Different sets that addresses at a stride map to. A stride of no whole lines drifts over all of
// them.
double distinct_sets(double stride, double line, double sets) {
  const auto line_stride = static_cast<int64_t>(stride / line), n = static_cast<int64_t>(sets);
  return static_cast<double>(line_stride) * line == stride
             ? static_cast<double>(n / std::gcd(line_stride, n))
             : sets;
}

}  // namespace

double Footprint::row_lines(double line) const {
  const bool close = near_rows > 1 && stride > 0 && stride < line;
  return far_rows * (close ? std::ceil(((near_rows - 1) * stride + run) / line)
                           : near_rows * std::ceil(run / line));
}

double Footprint::sets_touched(double line, double sets) const {
  const double near_lines = row_lines(line) / far_rows, run_lines = std::ceil(run / line);
  const double near_sets = near_lines > run_lines && stride >= line
                               ? run_lines * std::min(near_rows, distinct_sets(stride, line, sets))
                               : near_lines;
  return std::min(
      sets, std::min(sets, near_sets) *
                (far_rows > 1 ? std::min(far_rows, distinct_sets(far_stride, line, sets)) : 1));
}

double Footprint::occupied(double line, double sets) const {
  const double all = bytes(line);
  if (near_rows <= 1 || sets <= 1) return all;
  const double in_one_set = row_lines(line) / sets_touched(line, sets);
  return std::max(all, (in_one_set - 1) * sets * line);
}

double Footprint::occupied_any_sets(double line) const {
  const auto line_stride = static_cast<uint64_t>(stride / line);
  if (near_rows <= 1 || line_stride < 2 || static_cast<double>(line_stride) * line != stride)
    return bytes(line);
  return bytes(line) * static_cast<double>(line_stride & (~line_stride + 1));
}

ir::DType type_of_stream(const ir::Program& p, const Stream& s) {
  return s.staging >= 0 ? lower::staged_type(p, p.staging[static_cast<size_t>(s.staging)])
                        : p.graph.tensors[static_cast<size_t>(s.tensor)].dtype;
}

namespace {

// The layout of a stream's elements.
struct Stored {
  Stored(const ir::Program& program, const Stream& of)
      : p(program),
        stream(of),
        t(p.graph.tensors[static_cast<size_t>(of.tensor)]),
        layout(of.staging >= 0 ? p.staging[static_cast<size_t>(of.staging)].layout
                               : p.layouts[static_cast<size_t>(of.tensor)]),
        shape(of.staging >= 0 ? lower::staged_shape(p, p.staging[static_cast<size_t>(of.staging)])
                              : t.shape),
        full(ir::physical_shape(layout, shape)) {}

  Footprint within(const std::vector<int64_t>& tile, double line) {
    region(p, stream, tile, ranges, extent);
    for (size_t d = 0; d < extent.size(); ++d) {
      extent[d] = clipped(extent[d], shape[d]);
      if (stream.with_gaps) extent[d] = {extent[d].span, extent[d].span, 1};
    }
    return shape_of(layout, full, extent, ir::bytes_of(type_of_stream(p, stream)), line);
  }

  const ir::Program& p;
  const Stream& stream;
  const ir::Tensor& t;
  const ir::Layout& layout;
  std::vector<int64_t> shape, full;
  std::vector<ir::Range> ranges;
  std::vector<ir::Reach> extent;
};

// What one of `units` units covers of the outermost loop's axis.
std::vector<int64_t> covered_by_unit(const ir::Program& p, const lower::Nest& nest, double units) {
  std::vector<int64_t> mine = tile_extents(p, nest, 0);
  if (nest.loops.empty() || !nest.loops[0].group || units <= 1) return mine;
  const lower::Loop& dealt = nest.loops[0];
  int64_t& extent = mine[static_cast<size_t>(dealt.axis)];
  extent = std::min(extent, dealt.tile * static_cast<int64_t>(
                                             std::ceil(static_cast<double>(dealt.trips) / units)));
  return mine;
}

}  // namespace

Footprint unit_footprint(const ir::Program& p, const Streams& s, const Stream& stream, double units,
                         double line) {
  return Stored(p, stream).within(covered_by_unit(p, s.nest, units), line);
}

std::vector<Footprint> footprints(const ir::Program& p, const Streams& s, const Stream& stream,
                                  double line) {
  Stored stored(p, stream);
  std::vector<int64_t> tile = tile_extents(p, s.nest, 0);
  std::vector<Footprint> out;
  out.reserve(std::min(stream.end_depth, s.nest.loops.size()) + 1);
  for (size_t depth = 0; depth <= std::min(stream.end_depth, s.nest.loops.size()); ++depth) {
    if (depth > 0) {
      const lower::Loop& l = s.nest.loops[depth - 1];
      tile[static_cast<size_t>(l.axis)] = l.tile;
      if (!stream.moves[static_cast<size_t>(l.axis)]) {
        out.push_back(out.back());
        continue;
      }
    }
    out.push_back(stored.within(tile, line));
  }
  return out;
}

Footprint rows_written_by_copy(const ir::Program& p, const Stream& copy, double line) {
  const ir::Staging& staging = p.staging[static_cast<size_t>(copy.staging)];
  const Stored stored(p, copy);
  // The vectors' dimension, else the last one of the source's layout that has several positions.
  std::vector<int> dims;
  for (const ir::PhysicalDim& d : p.layouts[static_cast<size_t>(copy.tensor)].dims)
    dims.push_back(d.dim);
  if (const int vectors = lower::copy_vector_dim(p, staging); vectors >= 0) dims.push_back(vectors);
  const auto walked = std::find_if(dims.rbegin(), dims.rend(),
                                   [&](int d) { return stored.shape[static_cast<size_t>(d)] > 1; });
  std::vector<ir::Reach> extent(stored.shape.size(), ir::Reach{1, 1, 1});
  if (walked != dims.rend())
    extent[static_cast<size_t>(*walked)] = {stored.shape[static_cast<size_t>(*walked)],
                                            stored.shape[static_cast<size_t>(*walked)], 1};
  return shape_of(stored.layout, stored.full, extent, ir::bytes_of(type_of_stream(p, copy)), line);
}

namespace {

// Elements of a lane's run in the copy that a stream is the source of, or that it is.
int run_width(const ir::Program& p, const Stream& st) {
  for (size_t i = 0; i < p.staging.size(); ++i) {
    const ir::Staging& s = p.staging[i];
    const int source = p.graph.nodes[0].reads[static_cast<size_t>(s.read)].tensor;
    if (st.staging < 0 ? source == st.tensor : st.staging == static_cast<int>(i)) return s.width;
  }
  return 1;
}

}  // namespace

std::vector<double> accessed_bytes(const ir::Program& p, const Streams& s,
                                   const lower::Counts& counts, double line) {
  const std::vector<int> arguments = ir::arguments_of(p);
  std::vector<double> out;
  for (const Stream& st : s.streams) {
    const ir::Tensor& t = p.graph.tensors[static_cast<size_t>(st.tensor)];
    const auto at = std::find(arguments.begin(), arguments.end(), st.tensor) - arguments.begin();
    const lower::AccessCount& a =
        counts.buffers[st.staging < 0 ? static_cast<size_t>(at)
                                      : arguments.size() + static_cast<size_t>(st.staging)];
    const double split = st.staging < 0 ? straddling(p, p.layouts[static_cast<size_t>(st.tensor)],
                                                     t, index_of(p, st), line)
                                        : 0;
    const double bytes = p.vector_width * ir::bytes_of(type_of_stream(p, st));
    const double vector = std::max(1.0, bytes / line) + split;
    const double runs =
        (a.run_loads + a.run_stores) * std::max(1.0, bytes * run_width(p, st) / line);
    out.push_back(line * (vector * (a.vector_loads + a.vector_stores) + runs + a.splats +
                          a.gathered_lanes + a.scattered_lanes + a.line_loads + a.line_stores));
  }
  return out;
}

FalseSharingRuns false_sharing_runs(const ir::Program& p, const Streams& s, double units) {
  if (s.nest.loops.empty() || !s.nest.loops[0].group || units <= 1) return {};
  const Footprint f = unit_footprint(p, s, s.streams.back(), units, 0);
  return f.rows > 1 ? FalseSharingRuns{f.rows, f.run} : FalseSharingRuns{};
}

}  // namespace assay::model
