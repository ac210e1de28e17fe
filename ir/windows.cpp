#include "ir/windows.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace assay::ir {

bool is_tile(const Window& w, int64_t size) {
  return w.axis < 0 ? w.low == 0 && w.extent == size : w.low == 0 && w.extent == w.shift;
}

bool are_tiles(const Windows& w, std::span<const int64_t> shape) {
  for (size_t d = 0; d < w.dims.size(); ++d)
    if (!is_tile(w.dims[d], shape[d])) return false;
  return true;
}

namespace {

// The index as a group sees it: axis a is tile * number + place, with `number` in a variable of its
// own behind the axes.
struct GroupIndex {
  Index index;
  std::vector<Range> ranges;
  std::vector<int> numbers;  // per axis of the anchor its variable, or -1
};

GroupIndex in_group(const Program& member, const Node& node, std::span<const int> axes,
                    const Index& index) {
  GroupIndex out;
  out.numbers.assign(node.axes.size(), -1);
  const auto tile = [&](size_t a) { return member.tiles[0].extent[a]; };
  const auto is_tiled = [&](size_t a) { return a < axes.size() && axes[a] >= 0; };
  for (size_t a = 0; a < node.axes.size(); ++a)
    out.ranges.push_back({0, (is_tiled(a) ? tile(a) : node.axes[a].extent) - 1});
  for (size_t a = 0; a < node.axes.size(); ++a) {
    if (!is_tiled(a)) continue;
    out.numbers[a] = static_cast<int>(out.ranges.size());
    out.ranges.push_back({0, tile_count(member, 0, static_cast<int>(a)) - 1});
  }
  const auto place = [&](int axis) {
    const auto a = static_cast<size_t>(axis);
    return out.numbers[a] < 0 ? variable(axis) : variable(axis) + variable(out.numbers[a], tile(a));
  };
  out.index = simplify(substitute(index, place), out.ranges);
  return out;
}

// What one dimension of a read is in a group.
Result<Window> needed_window(const Program& member, const Node& node, std::span<const int> axes,
                             const Index& index, int64_t size, bool padded,
                             const std::string& tensor) {
  GroupIndex at = in_group(member, node, axes, index);
  Window out{-1, 0, size, 0, 1};
  for (size_t a = 0; a < at.numbers.size(); ++a) {
    if (at.numbers[a] < 0 || !depends_on(at.index, at.numbers[a])) continue;
    const std::optional<int64_t> shift = stride_of(at.index, at.numbers[a]);
    if (out.axis >= 0 || !shift || *shift <= 0)
      return error(member.name + " reads " + tensor +
                       " at positions that do not move evenly with one axis of a group",
                   "tiles that are kept on the chip are disjoint, or move evenly with groups");
    out.axis = axes[a];
    out.shift = *shift;
    out.groups = tile_count(member, 0, static_cast<int>(a));
    at.ranges[static_cast<size_t>(at.numbers[a])] = {0, 0};
  }
  const Range reach = range_of(at.index, at.ranges);
  if (out.axis < 0) {
    if (!padded) return out;
    out.low = std::min<int64_t>(0, reach.low);
    out.extent = std::max(size - 1, reach.high) - out.low + 1;
    return out;
  }
  out.low = reach.low;
  out.extent = reach.high - reach.low + 1;
  if (out.extent < out.shift)
    return error(member.name + " reads " + tensor + " in tiles of " + std::to_string(out.extent) +
                     " at distances of " + std::to_string(out.shift),
                 "tiles that are kept on the chip leave no gaps");
  return out;
}

bool leaves(const Window& w, int64_t size) {
  return w.low < 0 || w.low + w.shift * (w.groups - 1) + w.extent > size;
}

}  // namespace

Result<Windows> joined(const Windows& a, const Windows& b, const std::string& tensor) {
  Windows out = a;
  if (a.is_filled && b.is_filled && a.fill != b.fill)
    return error("two reads of " + tensor + " give other values outside of it");
  if (b.is_filled) out.fill = b.fill, out.is_filled = true;
  for (size_t d = 0; d < out.dims.size(); ++d) {
    Window& w = out.dims[d];
    const Window& other = b.dims[d];
    if (w.axis != other.axis || w.shift != other.shift)
      return error("two reads of " + tensor + " move otherwise with a group");
    const int64_t end = std::max(w.low + w.extent, other.low + other.extent);
    w.low = std::min(w.low, other.low);
    w.extent = end - w.low;
  }
  return out;
}

Result<Windows> needed_windows(const Program& member, std::span<const int> axes, int tensor,
                               const Layout& stored) {
  std::optional<Windows> out;
  const Tensor& t = member.graph.tensors[static_cast<size_t>(tensor)];
  for (const Node& node : member.graph.nodes)
    for (const Read& r : node.reads) {
      if (r.tensor != tensor) continue;
      if (r.lookup)
        return error(member.name + " reads " + t.name + " at positions known only at run time");
      Windows own;
      own.fill = r.fill;
      for (size_t d = 0; d < r.index.size(); ++d) {
        const bool with_outside = r.guarded && pad_of(stored, static_cast<int>(d)) != Pad{};
        const Result<Window> w =
            needed_window(member, node, axes, r.index[d], t.shape[d], with_outside, t.name);
        if (!w) return w.diags();
        own.is_filled = own.is_filled || (r.guarded && leaves(*w, t.shape[d]));
        own.dims.push_back(*w);
      }
      if (!own.is_filled) own.fill = 0;
      if (!out) {
        out = std::move(own);
        continue;
      }
      Result<Windows> both = joined(*out, own, t.name);
      if (!both) return both.diags();
      out = std::move(*both);
    }
  return out.value_or(Windows{});
}

WindowDims dims_of(const Windows& w, std::span<const int64_t> shape) {
  WindowDims out;
  for (size_t d = 0; d < w.dims.size(); ++d) {
    const bool own = w.dims[d].axis >= 0 && !is_tile(w.dims[d], shape[d]);
    out.groups.push_back(own ? static_cast<int>(out.shape.size()) : -1);
    if (own) out.shape.push_back(w.dims[d].groups);
    out.positions.push_back(static_cast<int>(out.shape.size()));
    out.shape.push_back(own || w.dims[d].axis < 0 ? w.dims[d].extent : shape[d]);
  }
  return out;
}

Layout window_layout(const Layout& layout, const Windows& w, std::span<const int64_t> shape) {
  const WindowDims dims = dims_of(w, shape);
  Layout out;
  for (PhysicalDim p : layout.dims) {
    const auto d = static_cast<size_t>(p.dim);
    if (dims.groups[d] >= 0 && p.div == 1 && p.mod == 0) out.dims.push_back({dims.groups[d], 1, 0});
    p.dim = dims.positions[d];
    out.dims.push_back(p);
  }
  return out;
}

namespace {

// A position of the tensor, of variables that stand for its windows' dimensions.
Index position_in(const Window& w, int group, int position) {
  Index out = variable(position) + w.low;
  return group < 0 ? out : out + variable(group, w.shift);
}

Scalar scalar_of(const Index& i) {
  std::optional<Scalar> out;
  const auto add = [&](Scalar s) {
    out = out ? apply(ScalarOp::add, {std::move(*out), std::move(s)}) : std::move(s);
  };
  for (const Term& t : i.terms) {
    Scalar axis;
    axis.op = ScalarOp::axis;
    axis.operand = t.var;
    add(t.coeff == 1
            ? std::move(axis)
            : apply(ScalarOp::mul, {number(static_cast<double>(t.coeff)), std::move(axis)}));
  }
  if (i.offset != 0 || !out) add(number(static_cast<double>(i.offset)));
  return *out;
}

Scalar with_axes(Scalar s, const std::vector<Index>& of) {
  if (s.op == ScalarOp::axis) {
    const Index& i = of[static_cast<size_t>(s.operand)];
    if (const std::optional<int> v = variable_of(i)) {
      s.operand = *v;
      return s;
    }
    return scalar_of(i);
  }
  for (Scalar& a : s.args) a = with_axes(std::move(a), of);
  return s;
}

// 1 where the position is inside of the tensor.
Scalar inside(const Index& i, int64_t size) {
  // -1 < i and i < size
  return apply(ScalarOp::mul,
               {apply(ScalarOp::less, {number(-1), scalar_of(i)}),
                apply(ScalarOp::less, {scalar_of(i), number(static_cast<double>(size))})});
}

// Gives positions outside of the tensor the value that its readers expect there.
void fill_outside(Graph& g, const Windows& w, std::span<const int64_t> shape,
                  const WindowDims& dims) {
  if (g.nodes.back().combine != Combiner::none) {  // a sum is filled behind its last term
    const int output = g.outputs[0];
    Node fill;
    fill.name = fill.op = "fill";
    fill.axes.assign(g.nodes.back().axes.begin(),
                     g.nodes.back().axes.begin() + static_cast<ptrdiff_t>(dims.shape.size()));
    fill.output = output;
    Read own;
    own.tensor = static_cast<int>(g.tensors.size());
    for (size_t d = 0; d < dims.shape.size(); ++d)
      own.index.push_back(variable(static_cast<int>(d)));
    fill.reads = {std::move(own)};
    fill.body = read(0);
    Tensor sum = g.tensors[static_cast<size_t>(output)];
    sum.name += "_sum";
    g.nodes.back().output = static_cast<int>(g.tensors.size());
    g.tensors.push_back(std::move(sum));
    g.nodes.push_back(std::move(fill));
  }
  Node& last = g.nodes.back();
  for (size_t d = 0; d < shape.size(); ++d)
    if (leaves(w.dims[d], shape[d]))
      last.body =
          apply(ScalarOp::select,
                {inside(position_in(w.dims[d], dims.groups[d], dims.positions[d]), shape[d]),
                 std::move(last.body), number(w.fill)});
}

}  // namespace

Result<Graph> making_windows(Graph g, const Windows& w) {
  const int output = g.outputs[0];
  const std::vector<int64_t> shape = g.tensors[static_cast<size_t>(output)].shape;
  const WindowDims dims = dims_of(w, shape);
  const auto added = static_cast<int>(dims.shape.size() - shape.size());
  std::vector<bool> made(g.tensors.size(), false);
  for (const Node& n : g.nodes) {
    made[static_cast<size_t>(n.output)] = true;
    if (g.tensors[static_cast<size_t>(n.output)].shape != shape)
      return error(n.name + " walks other axes than the tensor that a group keeps");
  }
  for (Node& n : g.nodes) {
    std::vector<Axis> axes(dims.shape.size());
    std::vector<Index> of;
    for (size_t d = 0; d < shape.size(); ++d) {
      axes[static_cast<size_t>(dims.positions[d])] = {
          n.axes[d].name, dims.shape[static_cast<size_t>(dims.positions[d])]};
      if (dims.groups[d] >= 0)
        axes[static_cast<size_t>(dims.groups[d])] = {n.axes[d].name + "_group", w.dims[d].groups};
      of.push_back(position_in(is_tile(w.dims[d], shape[d]) ? Window{} : w.dims[d], dims.groups[d],
                               dims.positions[d]));
    }
    for (size_t a = shape.size(); a < n.axes.size(); ++a) {
      of.push_back(variable(static_cast<int>(a) + added));
      axes.push_back(n.axes[a]);
    }
    n.axes = std::move(axes);
    const std::vector<Range> ranges = ranges_of(n);
    for (Read& r : n.reads) {
      if (made[static_cast<size_t>(r.tensor)]) {  // its own element, in a register
        r.index.clear();
        for (size_t d = 0; d < dims.shape.size(); ++d)
          r.index.push_back(variable(static_cast<int>(d)));
        continue;
      }
      const std::vector<int64_t>& size = g.tensors[static_cast<size_t>(r.tensor)].shape;
      for (size_t d = 0; d < r.index.size(); ++d) {
        r.index[d] = simplify(
            substitute(r.index[d], [&](int a) { return of[static_cast<size_t>(a)]; }), ranges);
        const Range reach = range_of(r.index[d], ranges);
        r.guarded = r.guarded || reach.low < 0 || reach.high >= size[d];
      }
    }
    n.body = with_axes(std::move(n.body), of);
  }
  for (size_t t = 0; t < g.tensors.size(); ++t)
    if (made[t]) g.tensors[t].shape = dims.shape;
  if (w.is_filled) fill_outside(g, w, shape, dims);
  return g;
}

void read_windows(Graph& g, int tensor, const Windows& w, std::span<const int> axes,
                  std::span<const int64_t> tile) {
  const std::vector<int64_t> shape = g.tensors[static_cast<size_t>(tensor)].shape;
  const WindowDims dims = dims_of(w, shape);
  for (Node& n : g.nodes) {
    const std::vector<Range> ranges = ranges_of(n);
    for (Read& r : n.reads) {
      if (r.tensor != tensor) continue;
      std::vector<Index> index(dims.shape.size());
      bool guarded = false;
      for (size_t d = 0; d < shape.size(); ++d) {
        const Window& own = w.dims[d];
        const auto position = static_cast<size_t>(dims.positions[d]);
        index[position] = r.index[d];
        if (is_tile(own, shape[d])) {
          const Range reach = range_of(r.index[d], ranges);
          guarded = guarded || (r.guarded && (reach.low < 0 || reach.high >= shape[d]));
          continue;
        }
        index[position] = r.index[d] + -own.low;
        if (dims.groups[d] < 0) continue;
        // The axis is tile * group + place, so that the distance of windows cancels out.
        Index group;
        for (size_t a = 0; a < axes.size(); ++a) {
          if (axes[a] != own.axis) continue;
          const Index axis = variable(static_cast<int>(a));
          group = divide(axis, tile[a], ranges);
          const Index parts = group * tile[a] + modulo(axis, tile[a], ranges);
          index[position] = substitute(index[position], [&](int v) {
            return v == static_cast<int>(a) ? parts : variable(v);
          });
        }
        index[position] = simplify(index[position] + group * -own.shift, ranges);
        index[static_cast<size_t>(dims.groups[d])] = std::move(group);
      }
      r.index = std::move(index);
      r.guarded = guarded;
    }
  }
  g.tensors[static_cast<size_t>(tensor)].shape = dims.shape;
}

std::vector<Overlap> overlaps_of(const Program& producer) {
  std::vector<Overlap> out;
  const Node& anchor = producer.graph.nodes[0];
  for (int d = 1; d < spatial_count(producer.graph, anchor); ++d) {
    const int64_t groups = anchor.axes[static_cast<size_t>(d - 1)].extent,
                  extent = anchor.axes[static_cast<size_t>(d)].extent;
    const auto overlap = [&](const Index& i) -> int64_t {
      const int64_t of_group = stride_of(i, d - 1).value_or(0), own = stride_of(i, d).value_or(0);
      return own > 0 && of_group > 0 && of_group % own == 0 ? of_group / own : 0;
    };
    int64_t shift = 0;
    for (const Read& r : anchor.reads)
      for (const Index& i : r.index) shift = std::max(shift, overlap(i));
    if (shift > 0 && shift < extent) out.push_back({d, groups, extent, shift});
  }
  return out;
}

}  // namespace assay::ir
