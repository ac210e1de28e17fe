// Copies of staged operands: the region of one tile, from the tensor's layout into the layout of
// the scratch buffer. Each element is copied once, by one of the group's waves. Loads are vectors
// along the source's contiguous dimension. Stores are vectors where the copy is contiguous along it
// too, else scatters.
#include <algorithm>
#include <optional>

#include "lower/build.h"
#include "lower/lowering.h"

namespace assay::lower {

namespace {

struct Copy {
  Lowering& s;
  const StagedBuffer& staged;
  int tensor = -1;
  std::vector<int64_t> shape;     // of the tensor
  std::vector<ir::Index> origin;  // of the region, per dimension
  int vector_dim = -1;            // contiguous in the source; -1: scalar copy
  int shared_dim = -1;            // distributed over the waves of the group

  const ir::Layout& source_layout() const { return s.p.layouts[static_cast<size_t>(tensor)]; }
};

// Region origin per dimension: the least index inside the tile, which negative coefficients put
// before that of the tile's first position.
std::vector<ir::Index> region_origin(const Lowering& s, const StagedBuffer& staged,
                                     const Place& place) {
  const ir::Read& r = s.anchor.reads[static_cast<size_t>(staged.staging.read)];
  const auto level = static_cast<size_t>(staged.staging.level);
  const std::vector<ir::Range> inside = tile_ranges(s.p, staged.staging.level);
  std::vector<ir::Index> out;
  for (const ir::Index& i : r.index) {
    const int64_t low = ir::range_of(i, inside).low - i.offset;
    ir::Index at =
        ir::substitute(i, [&](int a) { return place.level[level][static_cast<size_t>(a)]; });
    out.push_back(ir::simplify(at + low, s.ranges));
  }
  return out;
}

// A loop over `n` positions, or over each wave's part of them where the dimension is distributed.
// Returns the loop and its current position.
std::pair<ir::For, ir::Index> walk(const Copy& c, int dim, const char* name, int64_t n) {
  Lowering& s = c.s;
  const bool shared = dim == c.shared_dim;
  ir::For loop;
  loop.limit = shared ? (n + s.kernel.waves - 1) / s.kernel.waves : n;
  loop.var = s.new_index(name + std::to_string(s.ranges.size()), loop.limit);
  if (!shared) return {std::move(loop), ir::variable(loop.var)};
  const ir::Index first = ir::variable(s.kernel.wave, loop.limit);
  if (loop.limit * s.kernel.waves > n) loop.bounds.push_back(ir::constant(n) + first * -1);
  const ir::Index at = first + ir::variable(loop.var);
  return {std::move(loop), at};
}

// Bounds such a loop by position `end`.
void clip(const Copy& c, int dim, const ir::Index& end, ir::For& loop) {
  loop.bounds.push_back(dim == c.shared_dim ? end + ir::variable(c.s.kernel.wave, -loop.limit)
                                            : end);
}

// Emits `body` for positions of [0, n) before `end`. Walks block by block where layouts have
// blocks, so that addresses need no division.
template <class Body>
void emit_walk(const Copy& c, int dim, const char* name, int64_t n,
               const std::optional<ir::Index>& end, ir::Block& out, const Body& body) {
  Lowering& s = c.s;
  const int64_t block = dim == c.shared_dim ? 0 : copy_block(s.p, c.staged.staging, dim);
  if (block == 0) {
    auto [loop, at] = walk(c, dim, name, n);
    if (end) clip(c, dim, *end, loop);
    body(at, loop.body);
    append(out, std::move(loop));
    return;
  }
  auto [blocks, number] = walk(c, dim, name, (n + block - 1) / block);
  auto [inside, place] = walk(c, dim, name, block);
  const ir::Index first = number * block;
  if (n % block != 0) inside.bounds.push_back(ir::constant(n) + first * -1);
  if (end) {
    blocks.bounds.push_back(ir::divide(*end + (block - 1), block, s.ranges));
    inside.bounds.push_back(*end + first * -1);
  }
  body(first + place, inside.body);
  append(blocks.body, std::move(inside));
  append(out, std::move(blocks));
}

ir::Value copied_vector(const Copy& c, const ir::Index& from, int count) {
  ir::Value v;
  v.op = ir::ValueOp::load;
  v.lanes = c.s.width();
  v.count = count;
  v.id = c.s.buffer_of.at(c.tensor);
  v.index = from;
  v.dtype = c.s.kernel.buffers[static_cast<size_t>(c.staged.buffer)].dtype;
  return v;
}

// One vector (or scalar, width 1) of the region at local position `local` (per dimension).
void emit_element(const Copy& c, std::vector<ir::Index> local, int count, ir::Block& out) {
  Lowering& s = c.s;
  std::vector<ir::Index> global;
  for (size_t d = 0; d < local.size(); ++d) global.push_back(local[d] + c.origin[d]);
  const ir::Index from = ir::physical_offset(c.source_layout(), c.shape, global, s.ranges);
  std::vector<ir::Index> to_index = local;
  if (c.vector_dim >= 0) {
    auto& along = to_index[static_cast<size_t>(c.vector_dim)];
    along = along + ir::variable(s.lane);
  }
  const ir::Index to =
      ir::physical_offset(c.staged.staging.layout, c.staged.shape, to_index, s.ranges);
  const std::optional<LaneAddress> split = split_lane(s, to);
  ir::Store store;
  store.id = c.staged.buffer;
  ASSAY_CHECK(split.has_value());
  store.index = split->base;
  store.stride = c.vector_dim >= 0 ? split->stride : 1;
  const bool whole =
      c.vector_dim >= 0 && whole_vectors(c.staged.staging.layout, c.vector_dim, s.width());
  store.count = whole ? s.width() : count;
  store.value = copied_vector(c, from, count);
  if (c.vector_dim < 0) store.value.lanes = store.value.count = store.count = 1;
  append(out, std::move(store));
}

// The vector dimension: whole vectors, then a partial one at the end of the tensor or region.
void emit_vector_dim(const Copy& c, const std::vector<ir::Index>& local, ir::Block& out) {
  Lowering& s = c.s;
  const auto d = static_cast<size_t>(c.vector_dim);
  const int64_t w = s.width(), region = c.staged.shape[d], size = c.shape[d];
  const int64_t full = region / w;
  const ir::Index origin_vectors = ir::divide(c.origin[d], w, s.ranges);
  const bool clipped = ir::range_of(c.origin[d], s.ranges).high + region > size;
  if (full > 0) {
    std::optional<ir::Index> end;
    if (clipped) end = ir::constant(size / w) + origin_vectors * -1;
    emit_walk(c, c.vector_dim, "v", full, end, out, [&](const ir::Index& at, ir::Block& inside) {
      std::vector<ir::Index> inner = local;
      inner[d] = at * w;
      emit_element(c, std::move(inner), static_cast<int>(w), inside);
    });
  }
  // The partial vector: at the tensor's end if that is inside the region, else at the region's.
  const auto partial = [&](const ir::Index& at, int64_t count, std::vector<ir::Condition> when) {
    ir::If cond;
    cond.conditions = std::move(when);
    if (c.vector_dim == c.shared_dim)
      cond.conditions.push_back({ir::variable(s.kernel.wave), 0, 0});
    std::vector<ir::Index> inner = local;
    inner[d] = at;
    ir::Block body;
    emit_element(c, std::move(inner), static_cast<int>(count), body);
    if (cond.conditions.empty()) {
      out.insert(out.end(), body.begin(), body.end());
    } else {
      cond.then_body = std::move(body);
      append(out, std::move(cond));
    }
  };
  const int64_t rest_of_region = region % w, rest_of_tensor = size % w;
  if (clipped && rest_of_tensor > 0) {
    ir::Condition c1;  // the tensor's last vector lies in this region
    c1.index = origin_vectors;
    c1.low = size / w - (region + w - 1) / w + 1;
    c1.high = size / w;
    partial(ir::constant(size - rest_of_tensor) + c.origin[d] * -1, rest_of_tensor, {c1});
  } else if (!clipped && rest_of_region > 0) {
    partial(ir::constant(full * w), rest_of_region, {});
  }
}

void emit_dims(const Copy& c, size_t next, const std::vector<int>& dims,
               std::vector<ir::Index> local, ir::Block& out) {
  Lowering& s = c.s;
  if (next == dims.size()) {
    if (c.vector_dim >= 0)
      emit_vector_dim(c, local, out);
    else
      emit_element(c, std::move(local), 1, out);
    return;
  }
  const auto d = static_cast<size_t>(dims[next]);
  const int64_t region = c.staged.shape[d];
  if (region == 1) {
    emit_dims(c, next + 1, dims, std::move(local), out);
    return;
  }
  std::optional<ir::Index> end;
  if (ir::range_of(c.origin[d], s.ranges).high + region > c.shape[d])
    end = ir::constant(c.shape[d]) + c.origin[d] * -1;
  emit_walk(c, dims[next], "c", region, end, out, [&](const ir::Index& at, ir::Block& inside) {
    std::vector<ir::Index> inner = local;
    inner[d] = at;
    emit_dims(c, next + 1, dims, std::move(inner), inside);
  });
}

// The outermost dimension with a step for every wave, else the one with the most steps. -1: each
// has a single step.
int shared_dim(const Copy& c, const std::vector<int>& dims) {
  int best = -1;
  int64_t most = 1;
  const auto consider = [&](int dim, int64_t n) {
    if (n <= most || most >= c.s.kernel.waves) return;
    most = n;
    best = dim;
  };
  for (const int d : dims) consider(d, c.staged.shape[static_cast<size_t>(d)]);
  if (c.vector_dim >= 0)
    consider(c.vector_dim, c.staged.shape[static_cast<size_t>(c.vector_dim)] / c.s.width());
  return best;
}

}  // namespace

void emit_copy(Lowering& s, const StagedBuffer& staged, const Place& place, ir::Block& out) {
  Copy c{s, staged, s.anchor.reads[static_cast<size_t>(staged.staging.read)].tensor, {}, {}};
  c.shape = s.p.graph.tensors[static_cast<size_t>(c.tensor)].shape;
  c.origin = region_origin(s, staged, place);
  if (staged.staging.tasks) return emit_mapped_copy(s, staged, std::move(c.origin), out);
  c.vector_dim = copy_vector_dim(s.p, staged.staging);
  std::vector<int> dims;  // in the source's storage order, each once, the vector dimension last
  for (const ir::PhysicalDim& d : c.source_layout().dims)
    if (d.dim != c.vector_dim && std::find(dims.begin(), dims.end(), d.dim) == dims.end())
      dims.push_back(d.dim);
  std::vector<ir::Index> local(c.shape.size(), ir::constant(0));
  if (s.kernel.waves > 1) c.shared_dim = shared_dim(c, dims);
  if (s.kernel.waves == 1 || c.shared_dim >= 0) return emit_dims(c, 0, dims, std::move(local), out);
  ir::If first;
  first.conditions.push_back({ir::variable(s.kernel.wave), 0, 0});
  emit_dims(c, 0, dims, std::move(local), first.then_body);
  append(out, std::move(first));
}

}  // namespace assay::lower
