#include "compiler/stream/strip.h"

#include <algorithm>

namespace assay::compiler {

namespace {

// Values of axes in the body, as they are in the whole graph.
ir::Scalar shifted(ir::Scalar body, const std::vector<int64_t>& low) {
  for (ir::Scalar& a : body.args) a = shifted(std::move(a), low);
  if (body.op != ir::ScalarOp::axis) return body;
  const int64_t by = low[static_cast<size_t>(body.operand)];
  if (by == 0) return body;
  return ir::apply(ir::ScalarOp::add, {std::move(body), ir::number(static_cast<double>(by))});
}

class Cutter {  // invariant: refers to a graph and regions that outlive it
 public:
  Cutter(const ir::Graph& g, const Regions& regions) : g_(g), regions_(regions) {}

  Strip run(const Segment& s, const std::vector<int>& outputs) {
    out_.graph.name = "strip of " + g_.name;
    local_.assign(g_.tensors.size(), -1);
    for (const auto& [t, region] : regions_) add_tensor(t, region);
    std::vector<bool> made(g_.tensors.size(), false);
    for (int i = s.begin; i < s.end; ++i) {
      const ir::Node& n = g_.nodes[static_cast<size_t>(i)];
      if (!regions_.contains(n.output)) continue;
      made[static_cast<size_t>(n.output)] = true;
      out_.graph.nodes.push_back(cut(n));
    }
    for (const auto& [t, region] : regions_) {
      const int id = local_[static_cast<size_t>(t)];
      if (!made[static_cast<size_t>(t)] && out_.graph.tensors[static_cast<size_t>(id)].constant < 0)
        out_.graph.inputs.push_back(id);
    }
    for (const int t : outputs)
      if (regions_.contains(t)) out_.graph.outputs.push_back(local_[static_cast<size_t>(t)]);
    return std::move(out_);
  }

 private:
  void add_tensor(int t, const Region& region) {
    ir::Tensor made = g_.tensors[static_cast<size_t>(t)];
    if (!is_whole(region, made)) made.constant = -1;
    if (made.constant >= 0) {
      made.constant = static_cast<int>(out_.graph.constants.size());
      out_.graph.constants.emplace_back();
    }
    std::vector<int64_t> begin;
    for (size_t d = 0; d < region.size(); ++d) {
      made.shape[d] = region[d].high - region[d].low + 1;
      begin.push_back(region[d].low);
    }
    local_[static_cast<size_t>(t)] = static_cast<int>(out_.tensors.size());
    out_.graph.tensors.push_back(std::move(made));
    out_.tensors.push_back(t);
    out_.begins.push_back(std::move(begin));
  }

  ir::Node cut(const ir::Node& n) const {
    ir::Node out = n;
    const Region& region = regions_.at(n.output);
    std::vector<int64_t> low(n.axes.size(), 0);
    for (size_t d = 0; d < region.size(); ++d) {
      low[d] = region[d].low;
      out.axes[d].extent = region[d].high - region[d].low + 1;
    }
    out.output = local_[static_cast<size_t>(n.output)];
    const std::vector<ir::Range> ranges = ir::ranges_of(out);
    for (ir::Read& r : out.reads) move(r, low, ranges);
    out.body = shifted(std::move(out.body), low);
    return out;
  }

  void move(ir::Read& r, const std::vector<int64_t>& low, ir::Ranges ranges) const {
    // Values that are not kept whole stay inside: an unguarded read is guarded only where its range
    // is no longer seen to lie inside.
    const std::vector<int64_t>& begin =
        out_.begins[static_cast<size_t>(local_[static_cast<size_t>(r.tensor)])];
    r.tensor = local_[static_cast<size_t>(r.tensor)];
    const std::vector<int64_t>& shape = out_.graph.tensors[static_cast<size_t>(r.tensor)].shape;
    bool leaves = r.guarded && r.lookup;
    for (size_t d = 0; d < r.index.size(); ++d) {
      if (r.lookup && r.lookup->dim == static_cast<int>(d)) continue;  // whole
      const ir::Index at = ir::substitute(
          r.index[d], [&](int var) { return ir::variable(var) + low[static_cast<size_t>(var)]; });
      r.index[d] = ir::simplify(at + -begin[d], ranges);
      const ir::Range reached = ir::range_of(r.index[d], ranges);
      leaves = leaves || reached.low < 0 || reached.high >= shape[d];
    }
    r.guarded = leaves;
    if (!leaves && !r.lookup) r.fill = 0;  // as it is of reads that stay inside
  }

  const ir::Graph& g_;
  const Regions& regions_;
  Strip out_;
  std::vector<int> local_;  // per tensor of the whole graph, its number in the strip's
};

}  // namespace

Strip strip_of(const ir::Graph& g, const Segment& s, const Regions& regions,
               const std::vector<int>& outputs) {
  return Cutter(g, regions).run(s, outputs);
}

std::string key_of(const Strip& s) {
  ir::Graph g = s.graph;
  g.constants.clear();
  return ir::print_graph(g);
}

void fill_constants(Strip& s, const ir::Graph& g) {
  for (size_t t = 0; t < s.tensors.size(); ++t) {
    const ir::Tensor& from = g.tensors[static_cast<size_t>(s.tensors[t])];
    const int to = s.graph.tensors[t].constant;
    if (to >= 0)
      s.graph.constants[static_cast<size_t>(to)] = g.constants[static_cast<size_t>(from.constant)];
  }
}

}  // namespace assay::compiler
