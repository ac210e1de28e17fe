#include "lower/legal_kind.h"

#include <algorithm>

#include "lower/nest.h"

namespace assay::lower {

namespace {

// Lanes along the last reduce axis, whose states are combined in halves.
void check_shared_rows(const ir::Program& p, Diags& out) {
  const ir::Node& anchor = p.graph.nodes[0];
  const int last = static_cast<int>(anchor.axes.size()) - 1, width = p.vector_width;
  if ((width & (width - 1)) != 0)
    out.push_back(error(p.name + ": the states of " + std::to_string(width) +
                        " lanes are not combined in halves"));
  for (int r = 0; r < static_cast<int>(anchor.reads.size()); ++r) {
    const ir::Read& read = anchor.reads[static_cast<size_t>(r)];
    if (!ir::is_used(anchor, r) || !ir::moves_with(anchor, r, last)) continue;
    const ir::Tensor& t = p.graph.tensors[static_cast<size_t>(read.tensor)];
    if (read.guarded)
      out.push_back(error(p.name + ": a guard on tensor " + t.name + " differs between lanes"));
    else if (!lane_stride(p.layouts[static_cast<size_t>(read.tensor)], t.shape,
                          vector_index(read.index, last, width, ir::ranges_of(anchor))))
      out.push_back(error(p.name + ": lanes along axis " +
                          anchor.axes[static_cast<size_t>(last)].name + " of tensor " + t.name +
                          " are not equidistant"));
  }
}

}  // namespace

int64_t live_states(const ir::TupleReduction& tuple, int reads, int64_t points) {
  const auto components = static_cast<int64_t>(tuple.state.size());
  const ir::Shared step =
      ir::share_parts(ir::steps_of(tuple), static_cast<int>(components) + reads);
  return points * components + static_cast<int64_t>(step.parts.size()) + reads + components;
}

void check_kind(const ir::Program& p, int threads, Diags& out) {
  const ir::Node& anchor = p.graph.nodes[0];
  if (ir::is_expression(anchor)) return;
  const auto fail = [&](const char* what) {
    out.push_back(error(p.name + ": a scan, a scatter, a sort or a tuple reduction " + what));
  };
  if (!p.staging.empty()) fail("stages no operand");
  if (p.prefetch != 0) fail("prefetches nothing");
  if (std::any_of(p.workers.begin(), p.workers.end(), [](int n) { return n > 1; }))
    fail("is computed by one wave of a group");
  if (std::holds_alternative<ir::Sort>(anchor.kind))
    for (int a = 0; a < ir::spatial_count(p.graph, anchor); ++a)
      if (!ir::is_whole(anchor, a) &&
          p.tiles.back().extent[static_cast<size_t>(a)] > (a == p.vector_axis ? p.vector_width : 1))
        out.push_back(error(p.name + ": a sort's register tile is one vector"));
  const int shares = sort_plan(p).shares;
  if (shares > 1 && threads > 1)
    out.push_back(error(p.name +
                        ": lanes along the order of a sort exchange terms, which threads " +
                        "can not without barriers"));
  if ((shares & (shares - 1)) != 0)
    out.push_back(error(p.name + ": " + std::to_string(shares) +
                        " lanes along the order of a sort are not merged in halves"));
  if (shared_state(p) > 0) check_shared_rows(p, out);
  const auto* scatter = std::get_if<ir::Scatter>(&anchor.kind);
  if (scatter == nullptr || p.vector_axis < 0) return;
  for (const ir::Position& at : scatter->positions)
    if (ir::moves_with(anchor, at.read, p.vector_axis))
      out.push_back(error(p.name + ": lanes are scattered to different positions"));
}

}  // namespace assay::lower
