#include "compiler/passes/views.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/passes/rewrite.h"
#include "ir/plan.h"

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

const std::vector<int64_t>& shape_of(const ir::Graph& g, int tensor) {
  return g.tensors[at(tensor)].shape;
}

// The physical dimension outside all others that have more than one position; nullopt: there is
// none, or it holds no range of a logical dimension.
std::optional<size_t> outermost(const ir::Layout& layout, const std::vector<int64_t>& shape) {
  const std::vector<int64_t> extents = ir::physical_shape(layout, shape);
  const auto found = std::ranges::find_if(extents, [](int64_t e) { return e > 1; });
  if (found == extents.end()) return std::nullopt;
  const auto p = static_cast<size_t>(found - extents.begin());
  return layout.dims[p].mod == 0 ? std::optional(p) : std::nullopt;
}

// The element of the storage where the slice begins; nullopt: it is not contiguous.
std::optional<int64_t> begin_of(const ir::Layout& layout, const std::vector<int64_t>& shape,
                                ir::DType type, const Slice& s) {
  const std::optional<size_t> p = outermost(layout, shape);
  if (!p || ir::is_padded(layout) || layout.dims[*p].dim != s.dim) return std::nullopt;
  const int64_t block = layout.dims[*p].div, end = s.begin + s.extent;
  if (s.begin % block != 0 || (end % block != 0 && end != shape[at(s.dim)])) return std::nullopt;
  int64_t begin = s.begin / block;
  const std::vector<int64_t> extents = ir::physical_shape(layout, shape);
  for (size_t q = *p + 1; q < extents.size(); ++q) begin *= extents[q];
  if (begin * ir::bytes_of(type) % ir::kPartAlignment != 0) return std::nullopt;
  return begin;
}

// --- slices that are read ---

class SliceReader {
 public:
  explicit SliceReader(LaidOut laid) : laid_(std::move(laid)) {}

  LaidOut run() {
    find_parts();
    std::vector<ir::Node> nodes;
    for (ir::Node& n : laid_.graph.nodes) {
      for (ir::Read& r : n.reads)
        if (const auto part = parts_.find({r.tensor, n.output}); part != parts_.end())
          read_part(r, part->second, nodes);
      nodes.push_back(std::move(n));
    }
    laid_.graph.nodes = std::move(nodes);
    return std::move(laid_);
  }

 private:
  // Of tensors whose readers need different parts.
  void find_parts() {
    std::map<int, std::vector<int>> readers;  // outputs of nodes
    std::map<int, bool> in_parts;
    for (const ir::Node& n : laid_.graph.nodes)
      for (const ir::Read& r : n.reads) {
        const ir::Tensor& t = laid_.graph.tensors[at(r.tensor)];
        if (t.constant >= 0 || parts_.contains({r.tensor, n.output})) continue;
        const std::optional<Slice> s = slice_read(laid_, n, r.tensor);
        bool& all = in_parts.try_emplace(r.tensor, true).first->second;
        all = all && s && begin_of(laid_.layouts[at(r.tensor)], t.shape, t.dtype, *s);
        if (s) parts_.emplace(std::pair{r.tensor, n.output}, *s);
      }
    std::map<int, std::vector<Slice>> found;
    for (const auto& [key, slice] : parts_) found[key.first].push_back(slice);
    std::erase_if(parts_, [&](const auto& part) {
      const std::vector<Slice>& of = found.at(part.first.first);
      return !in_parts.at(part.first.first) ||
             std::ranges::all_of(of, [&](const Slice& s) { return s == of[0]; });
    });
  }

  void read_part(ir::Read& r, const Slice& s, std::vector<ir::Node>& nodes) {
    const auto [known, fresh] = made_.try_emplace({r.tensor, s}, -1);
    if (fresh) known->second = add_part(r.tensor, s, nodes);
    r.tensor = known->second;
    r.index[at(s.dim)] = r.index[at(s.dim)] + -s.begin;
  }

  int add_part(int tensor, const Slice& s, std::vector<ir::Node>& nodes) {
    ir::Graph& g = laid_.graph;
    ir::Tensor part = g.tensors[at(tensor)];
    part.name += "." + std::to_string(s.begin);
    part.shape[at(s.dim)] = s.extent;
    ir::Node n;
    n.name = part.name;
    n.op = "slice";
    n.output = static_cast<int>(g.tensors.size());
    ir::Read r{tensor, {}};
    for (size_t d = 0; d < part.shape.size(); ++d) {
      n.axes.push_back({"i" + std::to_string(d), part.shape[d]});
      r.index.push_back(ir::variable(static_cast<int>(d)) +
                        (static_cast<int>(d) == s.dim ? s.begin : 0));
    }
    n.reads.push_back(std::move(r));
    n.body = ir::read(0);
    laid_.layouts.push_back(laid_.layouts[at(tensor)]);
    g.tensors.push_back(std::move(part));
    nodes.push_back(std::move(n));
    return nodes.back().output;
  }

  LaidOut laid_;
  std::map<std::pair<int, int>, Slice> parts_;  // by tensor, and output of the node that reads it
  std::map<std::pair<int, Slice>, int> made_;   // tensors
};

// --- storage ---

// The part of the output's positions where a guarded read lies inside its tensor, along one axis.
std::optional<Slice> written_slice(const ir::Graph& g, const ir::Node& n, const ir::Read& r) {
  std::optional<Slice> out;
  for (size_t a = 0; a < n.axes.size(); ++a) {
    int64_t low = 0, high = n.axes[a].extent;
    for (size_t d = 0; d < r.index.size(); ++d) {
      if (!ir::depends_on(r.index[d], static_cast<int>(a))) continue;
      ir::Index own = r.index[d];
      const int64_t offset = std::exchange(own.offset, 0);
      if (own != ir::variable(static_cast<int>(a))) return std::nullopt;
      low = std::max(low, -offset);
      high = std::min(high, shape_of(g, r.tensor)[d] - offset);
    }
    if (low == 0 && high == n.axes[a].extent) continue;
    if (out || low >= high) return std::nullopt;
    out = Slice{static_cast<int>(a), low, high - low};
  }
  return out;
}

// The reads of a sum of reads.
bool collect_sum(const ir::Scalar& body, std::vector<int>& reads) {
  if (body.op == ir::ScalarOp::read) {
    reads.push_back(body.operand);
    return true;
  }
  return body.op == ir::ScalarOp::add &&
         std::ranges::all_of(body.args, [&](const ir::Scalar& a) { return collect_sum(a, reads); });
}

struct Joined {
  int tensor = -1;
  Slice slice;
  int64_t begin = 0;  // element of the output's storage
};

// Does each element of the operand lie, from the slice's first on, where the output's does?
bool lies_alike(const LaidOut& laid, const ir::Node& n, const ir::Read& r, const Joined& part) {
  const ir::Graph& g = laid.graph;
  std::vector<ir::Range> ranges = ir::ranges_of(n);
  ranges[at(part.slice.dim)] = {part.slice.begin, part.slice.begin + part.slice.extent - 1};
  const auto lone = [&](int axis) {
    const ir::Range& range = ranges[at(axis)];
    return range.low == range.high ? ir::constant(range.low) : ir::variable(axis);
  };
  std::vector<ir::Index> out, from;
  for (int a = 0; a < static_cast<int>(n.axes.size()); ++a) out.push_back(lone(a));
  for (const ir::Index& i : r.index) from.push_back(ir::substitute(i, lone));
  const auto place = [&](int tensor, const std::vector<ir::Index>& index) {
    return ir::simplify(
        ir::physical_offset(laid.layouts[at(tensor)], shape_of(g, tensor), index, ranges), ranges);
  };
  ir::Index to = place(n.output, out);
  to.offset -= part.begin;
  return to == place(r.tensor, from);
}

// Tensors that a node joins along the outermost dimension of its output; empty: it does something
// else.
std::vector<Joined> joined_by(const LaidOut& laid, const ir::Node& n) {
  const ir::Graph& g = laid.graph;
  const ir::Layout& layout = laid.layouts[at(n.output)];
  std::vector<int> reads;
  if (!ir::is_elementwise(n) || n.reads.size() < 2 || !collect_sum(n.body, reads) ||
      reads.size() != n.reads.size())
    return {};
  std::vector<Joined> out;
  for (const int read : reads) {
    const ir::Read& r = n.reads[at(read)];
    const ir::Tensor& t = g.tensors[at(r.tensor)];
    if (!r.guarded || r.fill != 0 || r.lookup || t.dtype != g.tensors[at(n.output)].dtype ||
        ir::is_padded(laid.layouts[at(r.tensor)]))
      return {};
    const std::optional<Slice> s = written_slice(g, n, r);
    if (!s) return {};
    const std::optional<int64_t> begin = begin_of(layout, shape_of(g, n.output), t.dtype, *s);
    if (!begin) return {};
    out.push_back({r.tensor, *s, *begin});
    if (!lies_alike(laid, n, r, out.back())) return {};
  }
  std::ranges::sort(out, {}, &Joined::slice);
  int64_t end = 0;
  for (const Joined& part : out) {
    if (part.slice.begin != end) return {};
    end += part.slice.extent;
  }
  return end == n.axes[at(out[0].slice.dim)].extent ? out : std::vector<Joined>{};
}

class Storage {  // invariant: refers to a graph with layouts that outlives it
 public:
  explicit Storage(const LaidOut& laid) : laid_(laid) {
    for (int t = 0; t < static_cast<int>(laid.graph.tensors.size()); ++t)
      of_.push_back({t, 0, ir::physical_elements(laid.layouts[at(t)], shape_of(laid.graph, t))});
  }

  std::vector<Stored> run() {
    for (const ir::Node& n : laid_.graph.nodes) {
      if (is_reshape(laid_.graph, n))
        reshape(n);
      else if (is_map(laid_.graph, n))
        slice(n);
      else
        join(n);
    }
    return std::move(of_);
  }

 private:
  bool plain(int t) const {
    return laid_.layouts[at(t)] == ir::row_major(static_cast<int>(shape_of(laid_.graph, t).size()));
  }
  bool fixed(int t) const {
    const ir::Graph& g = laid_.graph;
    return is_output(g, t) || std::ranges::find(g.inputs, t) != g.inputs.end() ||
           g.tensors[at(t)].constant >= 0;
  }

  // All that lies in `from` lies in `to` from now on.
  void move(int from, const Stored& to) {
    for (Stored& s : of_)
      if (s.tensor == from) s.tensor = to.tensor, s.begin += to.begin;
  }

  void reshape(const ir::Node& n) {
    const int operand = n.reads[0].tensor;
    if (!plain(n.output) || !plain(operand)) return;
    const Stored from = of_[at(operand)];
    if (!fixed(n.output))
      of_[at(n.output)] = from;
    else if (owns(from) && !fixed(from.tensor))
      move(from.tensor, of_[at(n.output)]);
  }

  void slice(const ir::Node& n) {
    const ir::Read& r = n.reads[0];
    const ir::Tensor& t = laid_.graph.tensors[at(r.tensor)];
    if (fixed(n.output) || t.constant >= 0 || t.dtype != laid_.graph.tensors[at(n.output)].dtype ||
        laid_.layouts[at(n.output)] != laid_.layouts[at(r.tensor)] || r.lookup)
      return;
    std::optional<Slice> s;
    for (size_t d = 0; d < r.index.size(); ++d) {
      ir::Index own = r.index[d];
      const int64_t begin = std::exchange(own.offset, 0);
      if (own != ir::variable(static_cast<int>(d))) return;
      if (n.axes[d].extent == t.shape[d]) continue;
      if (s) return;
      s = Slice{static_cast<int>(d), begin, n.axes[d].extent};
    }
    if (!s) return;
    const std::optional<int64_t> begin =
        begin_of(laid_.layouts[at(r.tensor)], t.shape, t.dtype, *s);
    if (!begin) return;
    Stored& own = of_[at(n.output)];
    own = {of_[at(r.tensor)].tensor, of_[at(r.tensor)].begin + *begin, own.elements};
  }

  // A step makes it, and it is all that lies there.
  bool owns(const Stored& s) const {
    return s.begin == 0 && s.elements == of_[at(s.tensor)].elements;
  }

  void join(const ir::Node& n) {
    const std::vector<Joined> parts = joined_by(laid_, n);
    const Stored whole = of_[at(n.output)];
    std::vector<int> owners;
    for (const Joined& part : parts) {
      const Stored& s = of_[at(part.tensor)];
      if (!owns(s) || fixed(s.tensor) || ir::producer_of(laid_.graph, s.tensor) < 0 ||
          s.tensor == whole.tensor || std::ranges::find(owners, s.tensor) != owners.end())
        return;
      owners.push_back(s.tensor);
    }
    for (size_t i = 0; i < parts.size(); ++i)
      move(owners[i], {whole.tensor, whole.begin + parts[i].begin, 0});
  }

  const LaidOut& laid_;
  std::vector<Stored> of_;
};

}  // namespace

bool overlap(const Stored& a, const Stored& b) {
  return a.tensor == b.tensor && a.begin < b.begin + b.elements && b.begin < a.begin + a.elements;
}

std::optional<Slice> slice_read(const LaidOut& laid, const ir::Node& n, int tensor) {
  const std::vector<int64_t>& shape = shape_of(laid.graph, tensor);
  const ir::Layout& layout = laid.layouts[at(tensor)];
  const std::optional<size_t> p = outermost(layout, shape);
  if (!p) return std::nullopt;
  const auto& [dim, block, mod] = layout.dims[*p];
  const std::vector<ir::Range> ranges = ir::ranges_of(n);
  int64_t low = shape[at(dim)], high = -1;
  for (const ir::Read& r : n.reads) {
    if (r.tensor != tensor) continue;
    if (r.guarded || (r.lookup && r.lookup->dim == dim)) return std::nullopt;
    const ir::Range along = ir::range_of(r.index[at(dim)], ranges);
    low = std::min(low, along.low);
    high = std::max(high, along.high);
  }
  low = low / block * block;
  high = std::min(shape[at(dim)], (high / block + 1) * block);
  if (low >= high || high - low == shape[at(dim)]) return std::nullopt;
  return Slice{dim, low, high - low};
}

bool joins(const LaidOut& laid, const ir::Node& n) { return !joined_by(laid, n).empty(); }

LaidOut read_slices(LaidOut laid) { return SliceReader(std::move(laid)).run(); }

std::vector<Stored> storage_of(const LaidOut& laid) { return Storage(laid).run(); }

std::vector<bool> free_nodes(const ir::Graph& g, const std::vector<Stored>& storage) {
  std::vector<bool> out;
  for (const ir::Node& n : g.nodes)
    out.push_back(std::ranges::any_of(n.reads, [&](const ir::Read& r) {
      return overlap(storage[at(r.tensor)], storage[at(n.output)]);
    }));
  return out;
}

}  // namespace assay::compiler
