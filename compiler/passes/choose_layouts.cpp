#include "compiler/passes/choose_layouts.h"

#include <algorithm>
#include <map>

#include "ir/element.h"

namespace assay::compiler {

namespace {

bool contains(const std::vector<int>& v, int x) {
  return std::find(v.begin(), v.end(), x) != v.end();
}

// Is dimension 1 of read `r` channels? Node `n` slides a window over the read, or sums dimension 1
// with constant weights (a 1x1 window), or reduces all dimensions after it (global pooling).
bool is_window(const ir::Graph& g, const ir::Node& n, const ir::Read& r) {
  const int spatial = ir::spatial_count(g, n);
  const bool weights = std::any_of(n.reads.begin(), n.reads.end(), [&](const ir::Read& w) {
    return g.tensors[static_cast<size_t>(w.tensor)].constant >= 0;
  });
  if (!ir::is_expression(n)) return false;
  bool whole = n.combine != ir::Combiner::none;
  for (size_t d = 0; d < r.index.size(); ++d) {
    bool moves = false, reduces = false;
    for (int a = 0; a < static_cast<int>(n.axes.size()); ++a)
      if (ir::depends_on(r.index[d], a)) (a < spatial ? moves : reduces) = true;
    if (moves && reduces) return true;
    if (d == 1 && reduces && weights) return true;
    if (d <= 1 ? reduces : moves) whole = false;
  }
  return whole;
}

// Tensors with channels in dimension 1: those that windows read or write, and those linked to them
// by nodes that keep that dimension. Others of rank 4, such as attention's heads, have none.
// `all`: every tensor counts as one.
std::vector<bool> images_of(const ir::Graph& g, bool all) {
  std::vector<bool> image(g.tensors.size(), all);
  const auto rank = [&](int t) { return g.tensors[static_cast<size_t>(t)].shape.size(); };
  bool grows = !all;
  while (grows) {
    grows = false;
    const auto mark = [&](int t) {
      if (!image[static_cast<size_t>(t)]) image[static_cast<size_t>(t)] = grows = true;
    };
    for (const ir::Node& n : g.nodes) {
      if (rank(n.output) < 4) continue;
      for (const ir::Read& r : n.reads) {
        if (rank(r.tensor) < 4 || g.tensors[static_cast<size_t>(r.tensor)].constant >= 0) continue;
        if (is_window(g, n, r)) mark(r.tensor), mark(n.output);
        if (ir::stride_of(r.index[1], 1) != 1 || r.index[1].terms.size() != 1) continue;
        if (image[static_cast<size_t>(r.tensor)]) mark(n.output);
        if (image[static_cast<size_t>(n.output)]) mark(r.tensor);
      }
    }
  }
  return image;
}

// `image`: dimension 1 is channels.
ir::Layout wanted_layout(const ir::Graph& g, int tensor, int64_t block, bool image) {
  const ir::Tensor& t = g.tensors[static_cast<size_t>(tensor)];
  const int rank = static_cast<int>(t.shape.size());
  const bool channels = image && rank >= 4 && t.shape[1] >= block && block > 1;
  const ir::Layout plain = channels ? ir::blocked(rank, 1, block) : ir::row_major(rank);
  ir::Layout layout = plain;
  add_padding(g, tensor, layout);
  return channels && ir::pad_of(layout, 1) != ir::Pad{} ? plain : layout;
}

// Padding is filled once, with whole numbers: zeros, or a quantised tensor's zero point.
bool holds(ir::DType type, double value) {
  return value == 0 || (ir::bytes_of(type) == 1 && ir::converted(type, value) == value);
}

// Adds a copy of the tensor that all its readers read instead; its id.
int insert_copy(ir::Graph& g, int tensor) {
  const int rank = static_cast<int>(g.tensors[static_cast<size_t>(tensor)].shape.size());
  ir::Tensor copy = g.tensors[static_cast<size_t>(tensor)];
  copy.name += "_laid_out";
  const int id = static_cast<int>(g.tensors.size());
  for (ir::Node& n : g.nodes)
    for (ir::Read& r : n.reads)
      if (r.tensor == tensor) r.tensor = id;
  ir::Node node;
  node.name = g.tensors[static_cast<size_t>(tensor)].name + "_layout";
  node.op = "copy";
  node.output = id;
  ir::Read r;
  r.tensor = tensor;
  for (int d = 0; d < rank; ++d) {
    node.axes.push_back({"i" + std::to_string(d), copy.shape[static_cast<size_t>(d)]});
    r.index.push_back(ir::variable(d));
  }
  node.reads.push_back(std::move(r));
  node.body = ir::read(0);
  g.tensors.push_back(std::move(copy));
  g.nodes.insert(g.nodes.begin(), std::move(node));
  return id;
}

}  // namespace

void add_padding(const ir::Graph& g, int tensor, ir::Layout& layout) {
  const ir::Tensor& t = g.tensors[static_cast<size_t>(tensor)];
  std::map<double, std::vector<ir::Pad>> by_value;
  for (const ir::Node& n : g.nodes) {
    const std::vector<ir::Range> whole = ir::ranges_of(n);
    for (const ir::Read& r : n.reads) {
      // Only a reduction reads an element often enough for padding to cost less than guards.
      if (r.tensor != tensor || !r.guarded || n.combine == ir::Combiner::none ||
          !ir::is_expression(n) || !holds(t.dtype, r.fill))
        continue;
      std::vector<ir::Pad>& pad =
          by_value.try_emplace(r.fill, std::vector<ir::Pad>(t.shape.size())).first->second;
      for (size_t d = 0; d < pad.size(); ++d) {
        const ir::Range range = ir::range_of(r.index[d], whole);
        pad[d].before = std::max(pad[d].before, -range.low);
        pad[d].after = std::max(pad[d].after, range.high - (t.shape[d] - 1));
      }
    }
  }
  int64_t most = 0;
  for (auto& [value, pad] : by_value) {
    for (size_t d = 0; d < pad.size(); ++d)  // more padding than data wastes storage: guards stay
      if (pad[d].before > t.shape[d] || pad[d].after > t.shape[d]) pad[d] = {};
    int64_t size = 0;
    for (const ir::Pad& p : pad) size += p.before + p.after;
    if (size <= most) continue;
    most = size;
    layout.pad = pad;
    layout.pad_value = value;
  }
}

LaidOut choose_layouts(ir::Graph graph, int64_t block, bool free_io) {
  std::vector<bool> image = images_of(graph, free_io);
  for (int input : std::vector<int>(graph.inputs)) {
    if (free_io) break;
    const int rank = static_cast<int>(graph.tensors[static_cast<size_t>(input)].shape.size());
    if (wanted_layout(graph, input, block, image[static_cast<size_t>(input)]) !=
            ir::row_major(rank) &&
        !contains(graph.outputs, input))
      insert_copy(graph, input);
  }
  image = images_of(graph, free_io);
  LaidOut out;
  for (int t = 0; t < static_cast<int>(graph.tensors.size()); ++t) {
    const ir::Tensor& tensor = graph.tensors[static_cast<size_t>(t)];
    const bool io = contains(graph.inputs, t) || contains(graph.outputs, t);
    const bool plain = (io && !free_io) || tensor.constant >= 0;
    out.layouts.push_back(plain ? ir::row_major(static_cast<int>(tensor.shape.size()))
                                : wanted_layout(graph, t, block, image[static_cast<size_t>(t)]));
  }
  out.graph = std::move(graph);
  return out;
}

LaidOut with_row_major_tensors(LaidOut laid) {
  for (size_t t = laid.layouts.size(); t < laid.graph.tensors.size(); ++t)
    laid.layouts.push_back(ir::row_major(static_cast<int>(laid.graph.tensors[t].shape.size())));
  return laid;
}

LaidOut single_node(const ir::Graph& g, std::span<const ir::Layout> layouts, const ir::Node& n) {
  LaidOut out;
  out.graph.name = g.name;
  std::map<int, int> to;
  const auto own = [&](int tensor) {
    const auto [known, fresh] = to.emplace(tensor, static_cast<int>(to.size()));
    if (!fresh) return known->second;
    out.graph.tensors.push_back(g.tensors[static_cast<size_t>(tensor)]);
    if (static_cast<size_t>(tensor) < layouts.size())
      out.layouts.push_back(layouts[static_cast<size_t>(tensor)]);
    else
      out.layouts.push_back(ir::row_major(static_cast<int>(out.graph.tensors.back().shape.size())));
    return known->second;
  };
  ir::Node& node = out.graph.nodes.emplace_back(n);
  for (ir::Read& r : node.reads) r.tensor = own(r.tensor);
  node.output = own(node.output);
  out.graph.outputs = {node.output};
  return out;
}

}  // namespace assay::compiler
