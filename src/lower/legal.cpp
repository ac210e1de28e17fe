#include "lower/legal.h"

#include <algorithm>

#include "lower/nest.h"

namespace assay::lower {

namespace {

bool affine(const ir::Index& i) {
  return std::all_of(i.terms.begin(), i.terms.end(),
                     [](const ir::Term& t) { return t.var >= 0 && t.div == 1 && t.mod == 0; });
}

void check_staging(const ir::Program& p, Diags& out) {
  for (const ir::Staging& s : p.staging) {
    const ir::Read& r = p.graph.nodes[0].reads[static_cast<size_t>(s.read)];
    const std::string& name = p.graph.tensors[static_cast<size_t>(r.tensor)].name;
    if (r.guarded) out.push_back(error(p.name + ": " + name + " is read with guards and can not be staged"));
    if (r.lookup) out.push_back(error(p.name + ": " + name + " is read at looked-up positions and can not be staged"));
    if (!std::all_of(r.index.begin(), r.index.end(), affine))
      out.push_back(error(p.name + ": " + name + " is not read at affine positions and can not be staged"));
  }
}

// The staged copies of a group lie in its own memory, where the api has such a thing.
void check_group_memory(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  const auto& limit = target.api.limits.group_memory;
  if (!limit.known() || !out.empty()) return;
  int64_t bytes = 0;
  for (const ir::Staging& s : p.staging) {
    const ir::Tensor& t = p.graph.tensors[static_cast<size_t>(
        p.graph.nodes[0].reads[static_cast<size_t>(s.read)].tensor)];
    bytes += ir::physical_elements(s.layout, staged_shape(p, s)) * ir::bytes_of(t.dtype);
  }
  if (static_cast<double>(bytes) > limit.value->v)
    out.push_back(error(p.name + ": staged copies of " + std::to_string(bytes) + " B exceed the " +
                        std::to_string(static_cast<int64_t>(limit.value->v)) + " B of group memory"));
}

// A driver may end loops without a word: one that is longer would give wrong results.
void check_iterations(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  const auto& limit = target.api.limits.iterations;
  if (!limit.known() || !out.empty()) return;
  int64_t most = 0;
  for (const Loop& l : nest_of(p).loops)
    if (!l.group) most = std::max(most, l.trips);
  for (const ir::Staging& s : p.staging) {
    const std::vector<int64_t> shape = staged_shape(p, s);
    const int vectors = copy_vector_dim(p, s);
    for (int d = 0; d < static_cast<int>(shape.size()); ++d)
      most = std::max(most, d == vectors ? shape[static_cast<size_t>(d)] / p.vector_width : shape[static_cast<size_t>(d)]);
  }
  if (static_cast<double>(most) > limit.value->v)
    out.push_back(error(p.name + ": a loop of " + std::to_string(most) + " iterations, where the driver ends loops after " +
                        std::to_string(static_cast<int64_t>(limit.value->v))));
}

void check_types(const ir::Program& p, Diags& out) {
  for (const ir::Tensor& t : p.graph.tensors)
    if (t.dtype != ir::DType::f32)
      out.push_back(error(p.name + ": tensor " + t.name + " is " + std::string(ir::name_of(t.dtype)) +
                          "; kernels are generated for f32 only"));
}

}  // namespace

int64_t live_vectors(const ir::Program& p) {
  const ir::Node& anchor = p.graph.nodes[0];
  const auto& tile = p.tiles.back().extent;
  int64_t rows = 1, vectors = 1;
  for (int a = 0; a < ir::spatial_count(p.graph, anchor); ++a) {
    const int64_t t = tile[static_cast<size_t>(a)];
    if (a == p.vector_axis)
      vectors = (t + p.vector_width - 1) / p.vector_width;
    else
      rows *= t;
  }
  if (anchor.combine == ir::Combiner::none) return static_cast<int64_t>(anchor.reads.size()) + 1;
  int64_t invariant = 0;
  for (int r = 0; r < static_cast<int>(anchor.reads.size()); ++r)
    if (p.vector_axis >= 0 && reads_axis(p, r, p.vector_axis)) invariant = vectors;
  return rows * vectors + invariant + 1;
}

namespace {

// Positions are located in the anchor's tile, one for all lanes.
void check_lookups(const ir::Program& p, Diags& out) {
  for (size_t n = 0; n < p.graph.nodes.size(); ++n) {
    const ir::Node& node = p.graph.nodes[n];
    for (const ir::Read& r : node.reads) {
      if (!r.lookup) continue;
      const std::string& name = p.graph.tensors[static_cast<size_t>(r.tensor)].name;
      const ir::Read& positions = node.reads[static_cast<size_t>(r.lookup->read)];
      if (n > 0) out.push_back(error(p.name + ": " + name + " is looked up in an epilogue"));
      if (positions.guarded) out.push_back(error(p.name + ": positions in " + name + " are read with guards"));
      if (p.vector_axis >= 0 && ir::moves_with(node, r.lookup->read, p.vector_axis))
        out.push_back(error(p.name + ": lanes look up different positions in " + name));
      for (const ir::Staging& s : p.staging)
        if (s.read == r.lookup->read) out.push_back(error(p.name + ": positions in " + name + " can not be staged"));
    }
  }
}

}  // namespace

Diags legal(const ir::Program& p, const hwdesc::Target& target) {
  Diags out = ir::verify(p);
  if (!out.empty()) return out;
  check_types(p, out);
  const Diags limits = over_limits(p, target);
  out.insert(out.end(), limits.begin(), limits.end());
  return out;
}

int64_t hoisted_vectors(const ir::Program& p) {
  const Nest nest = nest_of(p);
  if (nest.first_inner == 0 || nest.loops[nest.first_inner - 1].group || nest.loops[nest.first_inner - 1].reduce) return 0;
  const int around = nest.loops[nest.first_inner - 1].axis;
  const auto& tile = p.tiles.back().extent;
  int64_t sum = 0;
  for (size_t n = 1; n < p.graph.nodes.size(); ++n) {
    const ir::Node& node = p.graph.nodes[n];
    for (int r = 0; r < static_cast<int>(node.reads.size()); ++r) {
      if (node.reads[static_cast<size_t>(r)].tensor == p.graph.nodes[n - 1].output || ir::moves_with(node, r, around)) continue;
      int64_t vectors = 1;
      for (int a = 0; a < ir::spatial_count(p.graph, node); ++a) {
        const int64_t t = tile[static_cast<size_t>(a)];
        if (ir::moves_with(node, r, a)) vectors *= a == p.vector_axis ? (t + p.vector_width - 1) / p.vector_width : t;
      }
      sum += vectors;
    }
  }
  return sum;
}

Diags over_limits(const ir::Program& p, const hwdesc::Target& target) {
  Diags out;
  check_staging(p, out);
  check_lookups(p, out);
  check_group_memory(p, target, out);
  check_iterations(p, target, out);
  const hwdesc::DialectCapabilities& d = target.dialect;
  const int threads = hwdesc::threads_of(target);
  if (threads > 1 && p.vector_width > 1 && p.vector_width % threads != 0)
    out.push_back(error(p.name + ": vectors of " + std::to_string(p.vector_width) + " elements can not be dealt to " + std::to_string(threads) + " threads"));
  if (threads == 1 && d.known && p.vector_width > 1 &&
      std::find(d.vector_widths.begin(), d.vector_widths.end(), p.vector_width) == d.vector_widths.end())
    out.push_back(error(p.name + ": dialect " + d.name + " has no vectors of " + std::to_string(p.vector_width) + " elements"));
  const auto& registers = target.profile.execution.registers;
  const bool simd = target.profile.execution.lanes.style == hwdesc::LaneStyle::simd;
  if (simd && registers.count.known() && static_cast<double>(live_vectors(p)) > registers.count.value->v)
    out.push_back(error(p.name + ": " + std::to_string(live_vectors(p)) + " live vectors exceed the " +
                        std::to_string(static_cast<int64_t>(registers.count.value->v)) + " registers"));
  if (!p.workers.empty()) out.push_back(error(p.name + ": groups of several workers are predicted, not yet printed"));
  if (p.split_k != 1) out.push_back(error(p.name + ": split-k is not supported"));
  return out;
}

}  // namespace assay::lower
