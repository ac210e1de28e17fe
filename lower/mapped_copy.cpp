#include "lower/mapped_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "lower/build.h"
#include "lower/lowering.h"

namespace assay::lower {

namespace {

// A loop over the outermost repetition of a mapping, where a thread has more runs than that.
constexpr int64_t kUnrolledRuns = 16;

const ir::Read& read_of(const ir::Program& p, const ir::Staging& s) {
  return p.graph.nodes[0].reads[static_cast<size_t>(s.read)];
}

bool is_plain(const ir::Layout& l) {
  if (l.dims.empty()) return false;
  for (size_t d = 0; d < l.dims.size(); ++d) {
    const ir::Pad pad = ir::pad_of(l, l.dims[d].dim);
    if (l.dims[d].div != 1 || l.dims[d].mod != 0 || pad.before != 0 ||
        (pad.after != 0 && d + 1 < l.dims.size()))
      return false;
  }
  return true;
}

// What the position of a copy's first element along a dimension is a multiple of.
int64_t step_of_origin(const ir::Program& p, const ir::Staging& s, int dim) {
  const ir::Index& i = read_of(p, s).index[static_cast<size_t>(dim)];
  int64_t step = ir::range_of(i, tile_ranges(p, s.level)).low;
  for (int a = 0; a < static_cast<int>(p.graph.nodes[0].axes.size()); ++a) {
    if (!ir::depends_on(i, a) || ir::tile_count(p, s.level, a) == 1) continue;
    const std::optional<int64_t> c = ir::stride_of(i, a);
    if (!c) return 1;
    step =
        std::gcd(step, *c * p.tiles[static_cast<size_t>(s.level)].extent[static_cast<size_t>(a)]);
  }
  return step;
}

}  // namespace

CopiedTile copied_tile(const ir::Program& p, const ir::Staging& s) {
  const std::vector<int64_t> shape = staged_shape(p, s);
  CopiedTile out;
  for (size_t d = 0; d < s.layout.dims.size(); ++d)
    (d + 1 == s.layout.dims.size() ? out.columns : out.rows) *=
        shape[static_cast<size_t>(s.layout.dims[d].dim)];
  return out;
}

int longest_run(const ir::Program& p, const ir::Staging& s) {
  const ir::Read& r = read_of(p, s);
  const auto t = static_cast<size_t>(r.tensor);
  const ir::Layout& source = p.layouts[t];
  if (!is_plain(s.layout) || source.dims.empty()) return 0;
  const int bytes = ir::bytes_of(p.graph.tensors[t].dtype), dim = s.layout.dims.back().dim;
  int64_t together = ir::kWidestRun / bytes;
  if (source.dims.back().dim != dim || source.dims.back().div != 1) return 1;
  const int64_t stored = ir::physical_shape(source, p.graph.tensors[t].shape).back(),
                copied = ir::physical_shape(s.layout, staged_shape(p, s)).back();
  for (const int64_t n : {stored, copied, copied_tile(p, s).columns, step_of_origin(p, s, dim),
                          ir::pad_of(source, dim).before})
    together = std::gcd(together, n);
  return static_cast<int>(together);
}

int64_t runs_of(const ir::Staging& s) { return s.tasks->items() / s.width; }

namespace {

// Turns of a loop over the runs.
int turns_of(const ir::Staging& s) {
  const ir::MappingStep& first = s.tasks->steps.front();
  const bool repeats = first.kind == ir::MappingStep::Kind::repeat && s.tasks->steps.size() > 1;
  return repeats && runs_of(s) > kUnrolledRuns ? first.rows * first.cols : 1;
}

}  // namespace

int64_t runs_at_once(const ir::Staging& s) { return runs_of(s) / turns_of(s); }

ir::TaskMapping dealt_rows(const CopiedTile& tile, int64_t threads, int width) {
  using Kind = ir::MappingStep::Kind;
  if (tile.columns % width != 0) return {};
  const int64_t runs = tile.columns / width, abreast = std::gcd(runs, threads);
  const int64_t rows = threads / abreast;
  if (tile.rows % rows != 0) return {};
  const auto small = [](int64_t n) { return static_cast<int>(n); };
  ir::TaskMapping out;
  if (tile.rows > rows || runs > abreast)
    out.steps.push_back({Kind::repeat, small(tile.rows / rows), small(runs / abreast)});
  out.steps.push_back({Kind::spatial, small(rows), small(abreast)});
  if (width > 1) out.steps.push_back({Kind::repeat, 1, width});
  return out;
}

namespace {

// Empty: it fits. `threads`: of a group.
std::string mapping_fault(const ir::Program& p, const ir::Staging& s, int64_t threads) {
  const CopiedTile tile = copied_tile(p, s);
  const ir::TaskMapping& m = *s.tasks;
  if (!is_plain(s.layout))
    return "a tile that threads copy by a mapping has whole dimensions, and is padded behind its "
           "rows only";
  if (m.rows() != tile.rows || m.cols() != tile.columns)
    return fmt::format("`{}` covers {} x {} elements, and the tile has {} rows of {}", print(m),
                       m.rows(), m.cols(), tile.rows, tile.columns);
  if (m.workers() != threads)
    return fmt::format("`{}` has {} threads, and a group {}", print(m), m.workers(), threads);
  const int most = std::gcd(longest_run(p, s), ir::neighbours_in_row(m));
  if (s.width < 1 || most % s.width != 0 || (s.width & (s.width - 1)) != 0)
    return fmt::format("width {}, where a thread has {} neighbours that lie together in both",
                       s.width, most);
  return "";
}

int64_t threads_of_group(const ir::Program& p) {
  int64_t n = p.threads ? p.threads->tasks.workers() : p.vector_width;
  for (const int w : p.workers) n *= w;
  return n;
}

}  // namespace

void check_mapped_copies(const ir::Program& p, int lanes, Diags& out) {
  for (const ir::Staging& s : p.staging) {
    if (!s.tasks || !out.empty()) continue;
    const std::string what = p.name + ": staging of " +
                             p.graph.tensors[static_cast<size_t>(read_of(p, s).tensor)].name + ": ",
                      fault = mapping_fault(p, s, threads_of_group(p));
    if (lanes == 1)
      out.push_back(error(what + "`tasks` are of threads, and lanes of this chip are none"));
    else if (!fault.empty())
      out.push_back(error(what + fault));
  }
}

namespace {

class MappedCopy {
 public:
  MappedCopy(Lowering& s, const StagedBuffer& staged, std::vector<ir::Index> origin)
      : s_(s),
        staged_(staged),
        tensor_(read_of(s.p, staged.staging).tensor),
        shape_(s.p.graph.tensors[static_cast<size_t>(tensor_)].shape),
        origin_(std::move(origin)) {}

  void emit(ir::Block& out) {
    use_lane(s_);
    const ir::TaskMapping& all = *staged_.staging.tasks;
    const ir::MappingStep& first = all.steps.front();
    const int times = turns_of(staged_.staging);
    if (times == 1) return append(out, copy(all, ir::constant(0), ir::constant(0)));
    const ir::TaskMapping inner{{all.steps.begin() + 1, all.steps.end()}};
    ir::For loop;
    loop.limit = times;
    loop.var = s_.new_index("c" + std::to_string(s_.ranges.size()), times);
    const ir::Index turn = ir::variable(loop.var);
    append(loop.body, copy(inner, ir::divide(turn, first.cols, s_.ranges) * inner.rows(),
                           ir::modulo(turn, first.cols, s_.ranges) * inner.cols()));
    append(out, std::move(loop));
  }

 private:
  ir::Copy copy(const ir::TaskMapping& m, const ir::Index& row, const ir::Index& column) const {
    ir::Copy out;
    out.from = s_.buffer_of.at(tensor_);
    out.to = staged_.buffer;
    out.lanes = s_.width();
    out.numbers = staged_.staging.width;
    for (int item = 0; item < m.items(); item += out.numbers) {
      const LaneTask task = lane_task(m, thread_number(s_), item, s_.ranges);
      out.runs.push_back(run(row + task.row, column + task.column));
    }
    return out;
  }

  ir::Run run(ir::Index row, const ir::Index& column) const {
    const ir::Layout& layout = staged_.staging.layout;
    std::vector<ir::Index> local(shape_.size(), ir::constant(0));
    local[static_cast<size_t>(layout.dims.back().dim)] = column;
    for (size_t d = layout.dims.size() - 1; d-- > 0;) {
      const auto dim = static_cast<size_t>(layout.dims[d].dim);
      const int64_t extent = staged_.shape[dim];
      local[dim] = d == 0 ? row : ir::modulo(row, extent, s_.ranges);
      if (d > 0) row = ir::divide(row, extent, s_.ranges);
    }
    ir::Run out;
    std::vector<ir::Index> global;
    for (size_t d = 0; d < local.size(); ++d) {
      global.push_back(local[d] + origin_[d]);
      if (ir::range_of(origin_[d], s_.ranges).high + staged_.shape[d] > shape_[d])
        out.conditions.push_back({ir::simplify(global[d], s_.ranges), 0, shape_[d] - 1});
    }
    out.from =
        ir::physical_offset(s_.p.layouts[static_cast<size_t>(tensor_)], shape_, global, s_.ranges);
    out.to = ir::physical_offset(layout, staged_.shape, local, s_.ranges);
    return out;
  }

  Lowering& s_;
  const StagedBuffer& staged_;
  const int tensor_;
  const std::vector<int64_t>& shape_;  // of the operand
  const std::vector<ir::Index> origin_;
};

}  // namespace

void emit_mapped_copy(Lowering& s, const StagedBuffer& staged, std::vector<ir::Index> origin,
                      ir::Block& out) {
  MappedCopy(s, staged, std::move(origin)).emit(out);
}

}  // namespace assay::lower
