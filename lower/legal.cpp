#include "lower/legal.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/computed_type.h"
#include "lower/instruction.h"
#include "lower/legal_group.h"
#include "lower/legal_kind.h"
#include "lower/mapped_copy.h"
#include "lower/nest.h"
#include "lower/threads.h"

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
    if (r.guarded)
      out.push_back(error(p.name + ": " + name + " is read with guards and can not be staged"));
    if (r.lookup)
      out.push_back(
          error(p.name + ": " + name + " is read at looked-up positions and can not be staged"));
    if (!std::all_of(r.index.begin(), r.index.end(), affine))
      out.push_back(
          error(p.name + ": " + name + " is not read at affine positions and can not be staged"));
  }
}

int64_t waves_of(const ir::Program& p) {
  int64_t n = 1;
  for (const int w : p.workers) n *= w;
  return n;
}

// The smallest memory of a unit that code copies into.
std::optional<double> scratchpad_bytes(const hwdesc::Profile& profile) {
  std::optional<double> least;
  for (const hwdesc::MemoryLevel& l : profile.memory)
    if (hwdesc::is_scratchpad(l) && l.capacity.known())
      least = std::min(least.value_or(l.capacity.value->v), l.capacity.value->v);
  return least;
}

// Staged copies must fit, those of all pipeline stages.
void check_staged_bytes(const ir::Program& p, std::optional<double> limit, Diags& out) {
  if (!limit) return;
  int64_t bytes = 2 * sort_plan(p).elements * ir::bytes_of(ir::DType::f32);
  bytes += shared_state(p) * ir::bytes_of(ir::DType::f32);
  if (static_cast<double>(bytes) > *limit && sort_plan(p).elements > 0)
    out.push_back(error(p.name + ": sorting in " + std::to_string(bytes) +
                        " B of scratch exceeds the " +
                        std::to_string(static_cast<int64_t>(*limit)) + " B of group memory"));
  if (!out.empty()) return;
  for (const ir::Staging& s : p.staging)
    bytes += ir::physical_elements(s.layout, staged_shape(p, s)) * ir::bytes_of(staged_type(p, s)) *
             p.pipeline_stages;
  bytes += fragment_scratch(p) * waves_of(p);
  if (static_cast<double>(bytes) > *limit)
    out.push_back(error(p.name + (shared_state(p) > 0 ? ": states of " : ": staged copies of ") +
                        std::to_string(bytes) + " B exceed the " +
                        std::to_string(static_cast<int64_t>(*limit)) + " B of group memory"));
}

// Of a group: the api's limit.
void check_group_memory(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  const auto& limit = target.api.limits.group_memory;
  if (out.empty() && limit.known()) check_staged_bytes(p, limit.value->v, out);
}

// Some drivers end long loops without an error, so that results would be wrong.
void check_iterations(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  const auto& limit = target.api.limits.iterations;
  if (!limit.known() || !out.empty()) return;
  int64_t most = 0;
  for (const Loop& l : nest_of(p).loops)
    if (l.is_sequential()) most = std::max(most, l.trips);
  const ir::Node& anchor = p.graph.nodes[0];
  const int64_t sorted = sort_plan(p).block;  // terms are walked block by block
  for (int a = 0; a < static_cast<int>(anchor.axes.size()); ++a) {
    const int64_t extent = anchor.axes[static_cast<size_t>(a)].extent;
    if (ir::is_whole(anchor, a))
      most = std::max(most, sorted > 0 ? std::max(sorted, extent / sorted - 1) : extent);
  }
  for (const ir::Staging& s : p.staging) {
    if (s.tasks) continue;
    const std::vector<int64_t> shape = staged_shape(p, s);
    const int vectors = copy_vector_dim(p, s);
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      const int64_t n = shape[static_cast<size_t>(d)] / (d == vectors ? p.vector_width : 1),
                    block = copy_block(p, s, d);
      most = std::max(
          most, block == 0 || !p.workers.empty() ? n : std::max(block, (n + block - 1) / block));
    }
  }
  if (static_cast<double>(most) > limit.value->v)
    out.push_back(error(p.name + ": a loop of " + std::to_string(most) +
                        " iterations, where the driver ends loops after " +
                        std::to_string(static_cast<int64_t>(limit.value->v))));
}

// Loads and stores convert what is computed in f32 or i32. What passes through memory in between
// must not be rounded, nor what passes through registers be rounded in memory.
void check_types(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  for (const ir::Tensor& t : p.graph.tensors) {
    const std::string type(ir::name_of(t.dtype));
    const bool printed =
        t.dtype == ir::DType::f32 || !target.dialect.known ||
        std::ranges::find(target.dialect.dtypes, type) != target.dialect.dtypes.end();
    if (ir::accumulation_of(t.dtype) != ir::DType::f32 && !ir::is_whole(t.dtype))
      out.push_back(
          error(p.name + ": tensor " + t.name + " is " + type +
                "; kernels are generated for f32, f16, bf16, f8e4m3, f8e5m2, i8, u8 and i32"));
    else if (!printed)
      out.push_back(error(p.name + ": tensor " + t.name + " is " + type + ", which " +
                          target.dialect.name + " can not store"));
  }
  for (size_t n = 0; n + 1 < p.graph.nodes.size(); ++n)
    if (const ir::Node& node = p.graph.nodes[n]; !ir::keeps_value(p.graph, node))
      out.push_back(
          error(p.name + ": node " + node.name + " is rounded to " +
                std::string(ir::name_of(p.graph.tensors[static_cast<size_t>(node.output)].dtype)) +
                ", which registers are not"));
  const ir::Tensor& result = p.graph.tensors[static_cast<size_t>(p.graph.outputs[0])];
  const ir::Node& anchor = p.graph.nodes[0];
  if (result.dtype == ir::computed_in(p.graph, anchor)) return;
  if (has_partial_sums(nest_of(p)))
    out.push_back(error(p.name + ": partial sums would be rounded to " +
                            std::string(ir::name_of(result.dtype)) + " in the output",
                        "tile the reduction inside the output's tiles"));
  const bool whole = std::all_of(anchor.reads.begin(), anchor.reads.end(), [&](const ir::Read& r) {
    return ir::is_whole(p.graph.tensors[static_cast<size_t>(r.tensor)].dtype);
  });
  if (std::holds_alternative<ir::Scatter>(anchor.kind) && anchor.combine != ir::Combiner::none &&
      !(whole && ir::is_whole(result.dtype)))
    out.push_back(error(p.name + ": each update would be rounded to " +
                        std::string(ir::name_of(result.dtype))));
}

}  // namespace

int64_t live_vectors(const ir::Program& p) {
  const ir::Node& anchor = p.graph.nodes[0];
  const auto& tile = p.tiles.back().extent;
  int64_t rows = 1, vectors = 1;
  for (int a = 0; a < ir::spatial_count(p.graph, anchor); ++a) {
    const int64_t t = tile[static_cast<size_t>(a)];
    if (ir::is_whole(anchor, a)) continue;
    if (a == p.vector_axis)
      vectors = (t + p.vector_width - 1) / p.vector_width;
    else
      rows *= t;
  }
  // Opaque fragments have registers of their own; their elements pass one vector at a time.
  if (fragment_scratch(p) > 0) return 2;
  if (std::holds_alternative<ir::Scan>(anchor.kind))
    return rows * vectors + static_cast<int64_t>(anchor.reads.size());
  if (const auto* tuple = std::get_if<ir::TupleReduction>(&anchor.kind))
    return live_states(*tuple, static_cast<int>(anchor.reads.size()), rows * vectors);
  if (!ir::is_expression(anchor) || anchor.combine == ir::Combiner::none)
    return static_cast<int64_t>(anchor.reads.size()) + 1;
  int64_t invariant = 0;
  for (int r = 0; r < static_cast<int>(anchor.reads.size()); ++r)
    if (p.vector_axis >= 0 && reads_axis(p, r, p.vector_axis)) invariant = vectors;
  return rows * vectors + invariant + 1;
}

namespace {

// A lookup is located once per register tile, so that all lanes share its position.
void check_lookups(const ir::Program& p, Diags& out) {
  for (size_t n = 0; n < p.graph.nodes.size(); ++n) {
    const ir::Node& node = p.graph.nodes[n];
    for (const ir::Read& r : node.reads) {
      if (!r.lookup) continue;
      const std::string& name = p.graph.tensors[static_cast<size_t>(r.tensor)].name;
      const ir::Read& positions = node.reads[static_cast<size_t>(r.lookup->read)];
      if (n > 0) out.push_back(error(p.name + ": " + name + " is looked up in an epilogue"));
      if (positions.guarded)
        out.push_back(error(p.name + ": positions in " + name + " are read with guards"));
      if (p.vector_axis >= 0 && ir::moves_with(node, r.lookup->read, p.vector_axis))
        out.push_back(error(p.name + ": lanes look up different positions in " + name));
      for (const ir::Staging& s : p.staging)
        if (s.read == r.lookup->read)
          out.push_back(error(p.name + ": positions in " + name + " can not be staged"));
    }
  }
}

// Each wave computes one register tile of each tile that a group's waves share. Where a group walks
// several of these along an axis, they divide it, or what is past its end is computed as well.
bool has_tile_per_wave(const ir::Program& p, const Nest& nest) {
  for (int a = 0; a < static_cast<int>(p.workers.size()); ++a) {
    const int64_t workers = p.workers[static_cast<size_t>(a)],
                  inner = p.tiles.back().extent[static_cast<size_t>(a)];
    const auto loops = std::count_if(nest.loops.begin(), nest.loops.end(),
                                     [&](const Loop& l) { return l.wave && l.axis == a; });
    if (workers < 1 || (workers > 1 && (ir::is_reduce(p.graph, p.graph.nodes[0], a) || loops != 1)))
      return false;
    if (workers == 1) continue;
    const auto wave = std::find_if(nest.loops.begin(), nest.loops.end(),
                                   [&](const Loop& l) { return l.wave && l.axis == a; });
    const int64_t shared = enclosing_extent(p, wave->level, a);
    if ((shared + inner - 1) / inner != workers) return false;
    const int64_t extent = p.graph.nodes[0].axes[static_cast<size_t>(a)].extent,
                  group = p.tiles[0].extent[static_cast<size_t>(a)];
    if (shared != group && (group % shared != 0 || shared % inner != 0 ||
                            (!computes_whole_tiles(p) && extent % shared != 0)))
      return false;
  }
  return p.workers.size() == p.graph.nodes[0].axes.size();
}

// Waves that share copies compute whole register tiles, past the end of an axis as well: what they
// read there must be staged.
void check_whole_tiles(const ir::Program& p, const Nest& nest, Diags& out) {
  const ir::Node& anchor = p.graph.nodes[0];
  if (anchor.combine == ir::Combiner::none)
    out.push_back(error(p.name + ": waves stage operands of reductions only"));
  if (has_partial_sums(nest))
    out.push_back(error(p.name + ": waves that share staged operands can not pass partial sums "
                                 "through the output"));
  for (const ir::Staging& s : p.staging)
    for (const Loop& l : nest.loops)
      if (l.wave && l.level <= s.level)
        out.push_back(error(p.name + ": an operand is staged inside of a wave's tile"));
  for (int a = 0; a < static_cast<int>(anchor.axes.size()); ++a) {
    if (computed_extent(p, a) == anchor.axes[static_cast<size_t>(a)].extent) continue;
    for (int r = 0; r < static_cast<int>(anchor.reads.size()); ++r) {
      const std::string& name =
          p.graph.tensors[static_cast<size_t>(anchor.reads[static_cast<size_t>(r)].tensor)].name;
      const bool staged = std::any_of(p.staging.begin(), p.staging.end(),
                                      [&](const ir::Staging& s) { return s.read == r; });
      if (!staged && reads_axis(p, r, a))
        out.push_back(error(p.name + ": " + name +
                            " would be read past the end of an axis; it can be staged"));
      for (const ir::Index& i : anchor.reads[static_cast<size_t>(r)].index)
        if (staged && affine(i) && ir::stride_of(i, a).value_or(0) < 0)
          out.push_back(error(p.name + ": " + name + " is read backwards, past its beginning"));
    }
  }
}

void check_waves(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  if (p.workers.empty() || !out.empty()) return;
  const int threads = hwdesc::threads_of(target);
  const Nest nest = nest_of(p);
  if (!has_tile_per_wave(p, nest))
    out.push_back(
        error(p.name + ": a group has as many waves as register tiles, in one loop for each axis"));
  if (threads == 1)
    out.push_back(
        error(p.name + ": groups of several waves are for chips whose lanes are threads"));
  if (target.dialect.known && !target.dialect.group_barrier)
    out.push_back(error(p.name + ": dialect " + target.dialect.name + " has no barriers"));
  if (!p.staging.empty() && out.empty()) check_whole_tiles(p, nest, out);
  int64_t all = threads;
  for (const int w : p.workers) all *= w;
  const auto& own = target.api.limits.threads_per_group;
  const auto& limit = own.known() ? own : target.profile.execution.threads_per_group_max;
  if (limit.known() && static_cast<double>(all) > limit.value->v)
    out.push_back(error(p.name + ": " + std::to_string(all) + " threads in a group, of " +
                        std::to_string(static_cast<int64_t>(limit.value->v)) + " at most"));
}

}  // namespace

Diags legal(const ir::Program& p, const hwdesc::Target& target) {
  Diags out = ir::verify(p);
  if (!out.empty()) return out;
  if (!p.producers.empty()) return over_limits_together(p, target);
  const Diags limits = over_limits(p, target);
  out.insert(out.end(), limits.begin(), limits.end());
  if (p.pipeline_stages > 1)
    out.push_back(error(p.name + ": pipeline_stages " + std::to_string(p.pipeline_stages) +
                            ": copies ahead of their step are not generated",
                        "pipeline_stages: 1"));
  return out;
}

Diags unpriceable(const ir::Program& p, const hwdesc::Target& target) {
  if (!p.producers.empty()) return unpriceable_together(p, target);
  Diags out;
  check_instruction(p, target, out);
  check_staged_bytes(p, scratchpad_bytes(target.profile), out);
  if (p.pipeline_stages > 1 && !hwdesc::copies_overlap(target.profile))
    out.push_back(error(p.name + ": pipeline_stages " + std::to_string(p.pipeline_stages) + ": " +
                            target.profile.name +
                            " has no mover that copies into a scratchpad meanwhile",
                        "pipeline_stages: 1, or one of `movers` with async: true"));
  if (p.split_k != 1) out.push_back(error(p.name + ": split-k is not supported"));
  check_threads(p, target, out);
  return out;
}

namespace {

void add_constants(const ir::Scalar& e, std::set<double>& out) {
  if (e.op == ir::ScalarOp::constant) out.insert(e.value);
  for (const ir::Scalar& a : e.args) add_constants(a, out);
}

}  // namespace

int64_t hoisted_vectors(const ir::Program& p) {
  const Nest nest = nest_of(p);
  if (nest.first_inner == 0 || !nest.loops[nest.first_inner - 1].is_sequential() ||
      nest.loops[nest.first_inner - 1].reduce)
    return 0;
  const int around = nest.loops[nest.first_inner - 1].axis;
  const auto& tile = p.tiles.back().extent;
  int64_t sum = 0;
  std::set<double> constants;
  for (size_t n = 1; n < p.graph.nodes.size(); ++n) {
    const ir::Node& node = p.graph.nodes[n];
    add_constants(node.body, constants);
    for (int r = 0; r < static_cast<int>(node.reads.size()); ++r) {
      if (node.reads[static_cast<size_t>(r)].tensor == p.graph.nodes[n - 1].output ||
          ir::moves_with(node, r, around))
        continue;
      int64_t vectors = 1;
      for (int a = 0; a < ir::spatial_count(p.graph, node); ++a) {
        const int64_t t = tile[static_cast<size_t>(a)];
        if (ir::moves_with(node, r, a))
          vectors *= a == p.vector_axis ? (t + p.vector_width - 1) / p.vector_width : t;
      }
      sum += vectors;
    }
  }
  return sum + static_cast<int64_t>(constants.size());
}

Diags over_limits(const ir::Program& p, const hwdesc::Target& target) {
  Diags out = unpriceable(p, target);
  check_printed_threads(p, target, out);
  check_spelling(p, target, out);
  check_types(p, target, out);
  check_staging(p, out);
  check_mapped_copies(p, hwdesc::threads_of(target), out);
  check_lookups(p, out);
  check_kind(p, hwdesc::threads_of(target), out);
  check_group_memory(p, target, out);
  check_iterations(p, target, out);
  const hwdesc::DialectCapabilities& d = target.dialect;
  const int threads = hwdesc::threads_of(target);
  if (threads > 1 && p.vector_width > 1 && p.vector_width % threads != 0)
    out.push_back(error(p.name + ": vectors of " + std::to_string(p.vector_width) +
                        " elements can not be dealt to " + std::to_string(threads) + " threads"));
  if (threads == 1 && d.known && p.vector_width > 1 &&
      std::find(d.vector_widths.begin(), d.vector_widths.end(), p.vector_width) ==
          d.vector_widths.end())
    out.push_back(error(p.name + ": dialect " + d.name + " has no vectors of " +
                        std::to_string(p.vector_width) + " elements"));
  const auto& registers = target.profile.execution.registers;
  const bool simd = target.profile.execution.lanes.style == hwdesc::LaneStyle::simd;
  if (simd && registers.count.known() &&
      static_cast<double>(live_vectors(p)) > registers.count.value->v)
    out.push_back(
        error(p.name + ": " + std::to_string(live_vectors(p)) + " live vectors exceed the " +
              std::to_string(static_cast<int64_t>(registers.count.value->v)) + " registers"));
  check_waves(p, target, out);
  return out;
}

}  // namespace assay::lower
