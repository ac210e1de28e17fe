#include "ir/program.h"

#include <algorithm>
#include <set>

#include "ir/producers.h"
#include "ir/threads.h"

namespace assay::ir {

std::vector<int> arguments_of(const Program& p) {
  std::set<int> written;
  for (const Node& n : p.graph.nodes) written.insert(n.output);
  for (const Producer& r : p.producers) written.insert(passed_tensor(r));
  std::vector<int> out;
  for (int t = 0; t < static_cast<int>(p.graph.tensors.size()); ++t)
    if (!written.contains(t)) out.push_back(t);
  out.insert(out.end(), p.graph.outputs.begin() + 1, p.graph.outputs.end());
  out.push_back(p.graph.outputs.at(0));
  return out;
}

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t extent_of(const Program& p, int axis) {
  return p.graph.nodes[0].axes[static_cast<size_t>(axis)].extent;
}

struct Verifier {
  const Program& p;
  Diags diags;

  void fail(std::string message) { diags.push_back(error(p.name + ": " + std::move(message))); }

  std::string axis_name(size_t a) const { return p.graph.nodes[0].axes[a].name; }

  void check_chain() {
    if (p.graph.outputs.empty() || (p.producers.empty() && p.graph.outputs.size() > 1))
      fail("a program without producers has exactly one output");
    if (p.layouts.size() != p.graph.tensors.size()) fail("one layout per tensor is needed");
    if (p.edges.size() + 1 != p.graph.nodes.size())
      fail("a chain of n nodes has n-1 inner edges, found " + std::to_string(p.edges.size()));
    for (size_t i = 0; i < p.edges.size(); ++i)
      if (p.edges[i].producer != static_cast<int>(i) ||
          p.edges[i].consumer != static_cast<int>(i) + 1)
        fail("inner edges must form the chain 0 -> 1 -> 2 ...");
    for (const InnerEdge& e : p.edges)
      if (e.level != "registers")
        fail("edge " + std::to_string(e.producer) + " -> " + std::to_string(e.consumer) +
             ": level '" + e.level + "', where tiles are read in registers only");
    if (!p.graph.outputs.empty() && p.graph.outputs[0] != p.graph.nodes.back().output)
      fail("the output is not what the last node computes");
  }

  const std::string& tensor_name(int t) const {
    return p.graph.tensors[static_cast<size_t>(t)].name;
  }

  // Each node of the epilogue computes an element from the same element of the node before it,
  // which is in a register. Nothing else of the tile-graph can be read.
  void check_epilogue_node(const Node& before, const Node& node) {
    const std::string name = "node " + node.name;
    if (!is_elementwise(node))
      return fail(name + " is not elementwise, and only such nodes can follow the anchor");
    const auto shape = [&](const Node& n) {
      return p.graph.tensors[static_cast<size_t>(n.output)].shape;
    };
    if (shape(node) != shape(before))
      return fail(name + " follows " + before.name + ", whose output has another shape");
    bool reads = false;
    for (const Read& r : node.reads) {
      if (r.tensor == before.output) {
        reads = true;
        for (size_t d = 0; d < r.index.size(); ++d)
          if (simplify(r.index[d], ranges_of(node)) !=
                  simplify(variable(static_cast<int>(d)), ranges_of(node)) ||
              r.lookup)
            return fail(name + " reads other elements of " + tensor_name(r.tensor) +
                        " than the one it computes");
      } else if (producer_of(p.graph, r.tensor) >= 0) {
        return fail(name + " reads " + tensor_name(r.tensor) + ", but " + before.name +
                    " is the node before it");
      }
    }
    if (!reads) fail(name + " does not read " + tensor_name(before.output));
  }

  void check_epilogue() {
    for (size_t n = 1; n < p.graph.nodes.size(); ++n)
      check_epilogue_node(p.graph.nodes[n - 1], p.graph.nodes[n]);
  }

  // Each extent divides the enclosing one, or the enclosing one is the whole axis.
  void check_extent(size_t level, size_t axis) {
    const int64_t t = p.tiles[level].extent[axis];
    const int64_t whole = extent_of(p, static_cast<int>(axis));
    const int64_t outer = level == 0 ? whole : p.tiles[level - 1].extent[axis];
    const std::string where = "tile " + std::to_string(level) + ", axis " + axis_name(axis);
    if (t < 1 || t > whole)
      fail(where + ": extent " + std::to_string(t) + " is not in 1.." + std::to_string(whole));
    else if (t > outer)
      fail(where + ": extent " + std::to_string(t) + " exceeds the enclosing tile's " +
           std::to_string(outer));
    else if (outer != whole && outer % t != 0)
      fail(where + ": extent " + std::to_string(t) + " does not divide the enclosing tile's " +
           std::to_string(outer));
  }

  void check_order(size_t level) {
    const TileLevel& tile = p.tiles[level];
    std::set<int> seen;
    for (int a : tile.order) {
      if (a < 0 || a >= static_cast<int>(tile.extent.size()))
        fail("tile order names an axis that does not exist");
      else if (!seen.insert(a).second)
        fail("tile order names axis " + axis_name(static_cast<size_t>(a)) + " twice");
    }
    for (size_t a = 0; a < tile.extent.size(); ++a) {
      const int64_t outer =
          level == 0 ? extent_of(p, static_cast<int>(a)) : p.tiles[level - 1].extent[a];
      if (tile.extent[a] < outer && !seen.contains(static_cast<int>(a)))
        fail("tile " + std::to_string(level) + " does not walk axis " + axis_name(a));
    }
  }

  void check_tiles() {
    const size_t axes = p.graph.nodes[0].axes.size();
    if (p.tiles.empty()) fail("at least one tile level is needed");
    for (size_t l = 0; l < p.tiles.size(); ++l) {
      if (p.tiles[l].extent.size() != axes) {
        fail("tile " + std::to_string(l) + " needs an extent per axis");
        return;
      }
      for (size_t a = 0; a < axes; ++a) check_extent(l, a);
      check_order(l);
    }
  }

  void check_vector() {
    if (p.vector_width < 1) fail("vector width must be at least 1");
    if (p.vector_axis >= spatial_count(p.graph, p.graph.nodes[0]))
      fail("the vector axis must be spatial");
    if (p.vector_axis < 0 && p.vector_width != 1) fail("a vector width needs a vector axis");
    if (p.vector_axis < 0 || p.tiles.empty()) return;
    const int64_t t = p.tiles.back().extent[static_cast<size_t>(p.vector_axis)];
    // With an instruction the tile holds its fragments, which lower's `legal` checks.
    if (p.instruction.empty() && t % p.vector_width != 0 && t != extent_of(p, p.vector_axis))
      fail("the register tile along the vector axis is not a multiple of the vector width");
  }

  // The loops of a kind walk its axes inside the register tile.
  void check_kind() {
    const Node& anchor = p.graph.nodes[0];
    for (size_t n = 1; n < p.graph.nodes.size(); ++n)
      if (!is_expression(p.graph.nodes[n]) || !is_expression(anchor))
        fail("a scan, a scatter, a sort or a tuple reduction is a program of its own");
    for (size_t l = 0; l < p.tiles.size(); ++l)
      for (size_t a = 0; a < std::min(anchor.axes.size(), p.tiles[l].extent.size()); ++a)
        if (is_whole(anchor, static_cast<int>(a)) && p.tiles[l].extent[a] != anchor.axes[a].extent)
          fail("tile " + std::to_string(l) + ": axis " + axis_name(a) + " lies whole in each tile");
    const auto* sort = std::get_if<Sort>(&anchor.kind);  // its lanes may share the terms
    const auto* tuple = std::get_if<TupleReduction>(&anchor.kind);
    const int shared = sort != nullptr ? sort->axis : tuple != nullptr ? tuple->axis : -1;
    if (p.vector_axis >= 0 && is_whole(anchor, p.vector_axis) && p.vector_axis != shared)
      fail("lanes lie along axis " + axis_name(static_cast<size_t>(p.vector_axis)) +
           ", which one worker walks");
  }

  void check_staging() {
    std::set<int> seen;
    for (const Staging& s : p.staging) {
      if (s.read < 0 || s.read >= static_cast<int>(p.graph.nodes[0].reads.size()))
        fail("staging names a read that does not exist");
      else if (!seen.insert(s.read).second)
        fail("a read is staged twice");
      if (s.level < 0 || s.level >= static_cast<int>(p.tiles.size()))
        fail("staging names a tile level that does not exist");
    }
    if (p.pipeline_stages < 1) fail("pipeline stages are counted from 1");
    if (p.pipeline_stages > 1 && p.staging.empty())
      fail("pipeline_stages " + std::to_string(p.pipeline_stages) +
           ": stages are of staged copies, and nothing is staged");
  }
};

}  // namespace

int64_t tile_count(const Program& p, int level, int axis) {
  return ceil_div(extent_of(p, axis),
                  p.tiles[static_cast<size_t>(level)].extent[static_cast<size_t>(axis)]);
}

int64_t group_count(const Program& p) {
  int64_t n = 1;
  for (size_t a = 0; a < p.tiles[0].extent.size(); ++a)
    if (!is_reduce(p.graph, p.graph.nodes[0], static_cast<int>(a)))
      n *= tile_count(p, 0, static_cast<int>(a));
  return n;
}

Diags tile_faults(const Program& p) {
  Verifier v{p, {}};
  v.check_tiles();
  v.check_vector();
  return v.diags;
}

Diags verify(const Program& p) {
  Verifier v{p, {}};
  if (p.graph.nodes.empty()) return {error(p.name + ": a program needs at least one node")};
  v.diags = verify(p.graph);
  if (!v.diags.empty()) return v.diags;
  v.check_chain();
  v.check_epilogue();
  v.check_tiles();
  v.check_vector();
  v.check_staging();
  v.check_kind();
  if (v.diags.empty()) v.diags = thread_faults(p);
  for (const Producer& r : p.producers) {
    const Diags own = verify(r.program);
    v.diags.insert(v.diags.end(), own.begin(), own.end());
  }
  if (v.diags.empty() && !p.producers.empty()) v.diags = producer_faults(p);
  return v.diags;
}

}  // namespace assay::ir
