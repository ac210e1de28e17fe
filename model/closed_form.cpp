#include "model/closed_form.h"

#include <algorithm>
#include <set>

#include "ir/computed_type.h"
#include "lower/fragment_runs.h"
#include "lower/lower.h"
#include "lower/mapped_copy.h"
#include "lower/nest.h"
#include "model/operation_counts.h"
#include "model/register_loads.h"

namespace assay::model {

namespace {

using lower::AccessCount;
using lower::Counts;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

class ClosedForm {
 public:
  // `product`: of a program with a matrix instruction; nullptr: it has none.
  ClosedForm(const ir::Program& p, const lower::MatrixProduct* product)
      : p_(p),
        anchor_(p.graph.nodes[0]),
        nest_(lower::nest_of(p)),
        product_(product),
        spatial_(ir::spatial_count(p.graph, anchor_)),
        ranges_(ir::ranges_of(anchor_)) {}

  Counts compute() {
    const std::vector<int> arguments = ir::arguments_of(p_);
    out_.buffers.resize(arguments.size() + p_.staging.size());
    buffer_of_.assign(p_.graph.tensors.size(), -1);
    for (size_t i = 0; i < arguments.size(); ++i)
      buffer_of_[static_cast<size_t>(arguments[i])] = static_cast<int>(i);
    const Grid grid =
        product_ != nullptr ? grid_of_instructions(p_, *product_) : grid_of_vectors(p_);
    results_ = product_ != nullptr ? grid_of_results(p_, *product_) : grid;
    for (size_t a = 0; a < anchor_.axes.size(); ++a) {
      whole_.push_back(anchor_.axes[a].extent);
      computed_.push_back(lower::computed_extent(p_, static_cast<int>(a)));
      steps_.push_back(steps_along(a, computed_[a], grid[a]));
      ends_.push_back(steps_along(a, whole_[a], results_[a]));
    }
    for (size_t i = 0; i < p_.staging.size(); ++i)
      count_copy(p_.staging[i], static_cast<int>(arguments.size() + i));
    count_barriers();
    count_anchor();
    count_output();
    count_epilogue();
    out_.iterations += iterations_of(p_, nest_);
    return out_;
  }

 private:
  struct Steps {        // along one axis, over the whole iteration space
    double points = 1;  // unrolled positions: elements, or vectors on the vector axis
    double elements = 1;
    double tiles = 1;   // register tiles
    double single = 0;  // of the points, single numbers of a register
  };

  Steps steps_along(size_t axis, int64_t extent, const GridAxis& grid) const {
    Steps s;
    const int64_t t = p_.tiles.back().extent[axis];
    const PositionCount full = count_positions(grid, t), rest = count_positions(grid, extent % t);
    s.elements = static_cast<double>(extent);
    s.tiles = static_cast<double>(ceil_div(extent, t));
    s.points = static_cast<double>(extent / t * full.all + rest.all);
    s.single = static_cast<double>(extent / t * full.single + rest.single);
    return s;
  }

  double spatial_points(const std::vector<Steps>& along) const {
    double n = 1;
    for (int a = 0; a < spatial_; ++a) n *= along[static_cast<size_t>(a)].points;
    return n;
  }
  double reduce_points() const {
    double n = 1;
    for (size_t a = static_cast<size_t>(spatial_); a < steps_.size(); ++a) n *= steps_[a].points;
    return n;
  }

  // `n` vector loads of `index` from a buffer; `lanes` elements when they must be gathered.
  void add_loads(int buffer, const ir::Layout& layout, std::span<const int64_t> shape,
                 const std::vector<ir::Index>& index, double n, double lanes) {
    AccessCount& a = out_.buffers[static_cast<size_t>(buffer)];
    const std::optional<int64_t> stride =
        p_.vector_axis < 0
            ? 0
            : lower::lane_stride(layout, shape, index, p_.vector_axis, p_.vector_width, ranges_);
    if (p_.vector_width == 1 || stride == 0)
      a.splats += n;
    else if (stride == 1)
      a.vector_loads += n;
    else
      a.gathered_lanes += lanes;
  }

  void count_anchor() {
    const double points = spatial_points(steps_) * reduce_points();
    if (product_ != nullptr) {
      out_.matrix += points;
      for (int r = 0; r < 2; ++r) count_operand(r);
      return;
    }
    const bool reduces = anchor_.combine != ir::Combiner::none;
    const bool fused = anchor_.combine == ir::Combiner::sum && anchor_.body.op == ir::ScalarOp::mul;
    if (fused) {
      out_.fma += points;
      count_arguments(anchor_.body, points, out_);
    } else {
      count_body(anchor_.body, points, out_);
      if (reduces) out_.simple += points;
    }
    for (size_t r = 0; r < anchor_.reads.size(); ++r) {
      if (ir::is_used(anchor_, static_cast<int>(r))) count_read(static_cast<int>(r), reduces);
      if (anchor_.reads[r].lookup) count_lookup(static_cast<int>(r));
    }
  }

  // A looked-up position is located once per register tile and position in it that it moves with.
  void count_lookup(int read) {
    const ir::Lookup& lookup = *anchor_.reads[static_cast<size_t>(read)].lookup;
    for (int other = 0; other < read; ++other)  // found by an earlier read of equal extent
      if (anchor_.reads[static_cast<size_t>(other)].lookup && same_positions(other, read)) return;
    double n = 1;
    for (size_t a = 0; a < steps_.size(); ++a)
      n *= ir::moves_with(anchor_, lookup.read, static_cast<int>(a)) ? steps_[a].points
                                                                     : steps_[a].tiles;
    out_.buffers[static_cast<size_t>(buffer_of_[static_cast<size_t>(
                     anchor_.reads[static_cast<size_t>(lookup.read)].tensor)])]
        .splats += n;
    out_.simple += lower::kLocateCost * n;
  }

  bool same_positions(int a, int b) const {
    const ir::Read &x = anchor_.reads[static_cast<size_t>(a)],
                   &y = anchor_.reads[static_cast<size_t>(b)];
    const auto extent = [&](const ir::Read& r) {
      return p_.graph.tensors[static_cast<size_t>(r.tensor)]
          .shape[static_cast<size_t>(r.lookup->dim)];
    };
    return x.lookup->read == y.lookup->read && extent(x) == extent(y);
  }

  // Reads at looked-up positions are made for every point. Only what accumulators of one position
  // share is loaded once.
  LoadCount repeated(int read, bool shares) const {
    LoadCount out;
    for (size_t a = 0; a < steps_.size(); ++a) {
      const Steps& s = steps_[a];
      const bool shared = shares && static_cast<int>(a) < spatial_ &&
                          !lower::reads_axis(p_, read, static_cast<int>(a));
      out.n *= shared ? s.tiles : s.points;
      out.lanes *= shared ? s.tiles : s.elements;
    }
    return out;
  }

  struct Source {  // where a read of the anchor comes from
    int buffer = -1;
    const ir::Layout& layout;
    std::vector<int64_t> shape;
    int fixed = -1;  // the last loop that its loads can not leave
  };

  Source source_of(int read) const {
    const auto t = static_cast<size_t>(anchor_.reads[static_cast<size_t>(read)].tensor);
    for (size_t i = 0; i < p_.staging.size(); ++i)
      if (p_.staging[i].read == read)
        return {static_cast<int>(out_.buffers.size() - p_.staging.size() + i), p_.staging[i].layout,
                lower::staged_shape(p_, p_.staging[i]),
                lower::staging_place(p_, nest_, p_.staging[i])};
    return {buffer_of_[t], p_.layouts[t], p_.graph.tensors[t].shape};
  }

  LoadCount loads_of(const ir::Read& r, const std::vector<int64_t>& extents, int fixed,
                     const Grid& grid) const {
    return register_loads(p_, nest_, r, extents, steps_.size(), nest_.loops.size(), fixed, grid);
  }

  void count_read(int read, bool reduces) {
    const ir::Read& r = anchor_.reads[static_cast<size_t>(read)];
    const Source from = source_of(read);
    const LoadCount l = r.lookup ? repeated(read, reduces)
                                 : loads_of(r, computed_, from.fixed, grid_of_vectors(p_));
    add_loads(from.buffer, from.layout, from.shape, r.index, l.n, l.lanes);
  }

  // Registers of a matrix instruction's operand. Numbers that one load does not bring are put into
  // their register one by one.
  void count_operand(int read) {
    const ir::Read& r = anchor_.reads[static_cast<size_t>(read)];
    const Source from = source_of(read);
    const auto operand = grid_of_operand(p_, *product_, read, from.layout, from.shape);
    const auto k = static_cast<size_t>(product_->k);
    std::vector<int64_t> in_runs = computed_;
    in_runs[k] = lower::runs_by_row(p_, *product_, read)
                     ? computed_[k] - computed_[k] % product_->instruction.k
                     : 0;
    AccessCount& to = out_.buffers[static_cast<size_t>(from.buffer)];
    LoadCount all = loads_of(r, computed_, from.fixed, operand.grid);
    if (in_runs[k] > 0) {
      to.wave_loads += loads_of(r, in_runs, from.fixed, grid_of_instructions(p_, *product_)).n;
      const LoadCount less = loads_of(r, in_runs, from.fixed, operand.grid);
      all = {all.n - less.n, all.lanes - less.lanes};
    }
    double placed = 1, single = 0;
    for (size_t a = 0; a < steps_.size(); ++a) {
      const Steps s = steps_along(a, computed_[a], operand.grid[a]);
      if (a == k) {
        const Steps less =
            in_runs[k] > 0 ? steps_along(a, in_runs[a], operand.grid[a]) : Steps{0, 0, 0, 0};
        single = operand.joined ? s.single - less.single : s.points - less.points;
      } else {
        placed *=
            lower::reads_axis(p_, read, static_cast<int>(a)) || static_cast<int>(a) >= spatial_
                ? s.points
                : s.tiles;
      }
    }
    if (product_->instruction.b.per_register() > 1)
      out_.simple += lower::kInsertInstructions * placed * single;
    if (product_->instruction.m > 1) {
      to.fragment_loads += all.n;
      return;
    }
    count_numbers(r, from, operand, all, to);
  }

  // Of vectors: the end of the reduction, which fills no register, is loaded as single numbers.
  void count_numbers(const ir::Read& r, const Source& from, const OperandGrid& operand,
                     const LoadCount& all, AccessCount& to) {
    std::vector<int64_t> whole = computed_;
    int64_t& depth = whole[static_cast<size_t>(product_->k)];
    depth -= depth % operand.grid[static_cast<size_t>(product_->k)].numbers;
    const LoadCount joined = !operand.joined || depth == 0
                                 ? LoadCount{0, 0}
                                 : loads_of(r, whole, from.fixed, operand.grid);
    add_loads(from.buffer, from.layout, from.shape, r.index, all.n - joined.n,
              all.lanes - joined.lanes);
    const std::optional<int64_t> stride = lower::lane_stride(
        from.layout, from.shape, r.index, p_.vector_axis, p_.vector_width, ranges_);
    if (stride == 0)
      to.splats += joined.n;
    else if (stride == product_->instruction.b.per_register())
      to.vector_loads += joined.n;
    else
      to.gathered_lanes += joined.lanes;
  }

  void count_output() {
    const auto t = static_cast<size_t>(p_.graph.outputs[0]);
    AccessCount& a = out_.buffers[static_cast<size_t>(buffer_of_[t])];
    const double n = spatial_points(ends_), passes = lower::visits(p_, nest_);
    if (product_ != nullptr && product_->instruction.m > 1) {
      a.fragment_stores += n;
      return;
    }
    double lanes = 1;
    for (int i = 0; i < spatial_; ++i) lanes *= ends_[static_cast<size_t>(i)].elements;
    std::optional<int64_t> stride = 1;
    if (p_.vector_width > 1)
      stride = lower::lane_stride(p_.layouts[t], p_.graph.tensors[t].shape, p_.vector_axis,
                                  p_.vector_width);
    const bool contiguous = stride == 1;
    (contiguous ? a.vector_stores : a.scattered_lanes) += (contiguous ? n : lanes) * passes;
    if (passes <= 1) return;
    if (lower::adds_late(p_, nest_)) {
      out_.prefetches += n * (passes - 1);
      out_.simple += n * (passes - 1);
    }
    if (p_.vector_width == 1)
      a.splats += n * (passes - 1);
    else
      (contiguous ? a.vector_loads : a.gathered_lanes) += (contiguous ? n : lanes) * (passes - 1);
  }

  void count_epilogue() {
    const double n = spatial_points(ends_);
    double lanes = 1;
    for (int i = 0; i < spatial_; ++i) lanes *= ends_[static_cast<size_t>(i)].elements;
    for (size_t k = 1; k < p_.graph.nodes.size(); ++k) {
      const ir::Node& node = p_.graph.nodes[k];
      count_body(node.body, n, out_);
      if (ir::computed_in(p_.graph, node) != ir::computed_in(p_.graph, p_.graph.nodes[k - 1]))
        out_.simple += n;  // the value is converted
      for (const ir::Read& r : node.reads) {
        if (r.tensor == p_.graph.nodes[k - 1].output) continue;
        const auto t = static_cast<size_t>(r.tensor);
        LoadCount l{n, lanes};
        if (!r.lookup)  // with partial sums it is conditional
          l = register_loads(
              p_, nest_, r, whole_, static_cast<size_t>(spatial_), nest_.first_inner,
              lower::has_partial_sums(nest_) ? static_cast<int>(nest_.first_inner) - 1 : -1,
              results_);
        if (moves_lanes(r))
          out_.buffers[static_cast<size_t>(buffer_of_[t])].fragment_loads += l.n;
        else
          add_loads(buffer_of_[t], p_.layouts[t], p_.graph.tensors[t].shape, r.index, l.n, l.lanes);
      }
    }
  }

  // Does it differ between the lanes of a wave that hold a fragment?
  bool moves_lanes(const ir::Read& r) const {
    return product_ != nullptr && product_->instruction.m > 1 &&
           std::any_of(r.index.begin(), r.index.end(), [&](const ir::Index& i) {
             return ir::depends_on(i, product_->m) || ir::depends_on(i, product_->n);
           });
  }

  void count_copy(const ir::Staging& s, int buffer) {
    const ir::Read& r = anchor_.reads[static_cast<size_t>(s.read)];
    const int place = lower::staging_place(p_, nest_, s);
    if (s.tasks) {
      const double runs = passes_of(p_, nest_, place) * static_cast<double>(lower::runs_of(s));
      out_.buffers[static_cast<size_t>(buffer_of_[static_cast<size_t>(r.tensor)])].run_loads +=
          runs;
      out_.buffers[static_cast<size_t>(buffer)].run_stores += runs;
      return;
    }
    double repeats = 1;  // loops that redo the copy without moving its region
    for (int a = 0; a < static_cast<int>(anchor_.axes.size()); ++a) {
      if (lower::reads_axis(p_, s.read, a)) continue;
      for (int i = place; i >= 0; --i) {
        const lower::Loop& l = nest_.loops[static_cast<size_t>(i)];
        if (l.axis != a || l.wave) continue;  // waves copy together
        repeats *= static_cast<double>(ir::tile_count(p_, l.level, a));
        break;
      }
    }
    const int v = lower::copy_vector_dim(p_, s);
    double n = repeats, elements = repeats;
    for (size_t d = 0; d < r.index.size(); ++d) {
      n *= copied_along(p_, s, d, static_cast<int>(d) == v ? p_.vector_width : 1);
      elements *= copied_along(p_, s, d, 1);
    }
    AccessCount& source =
        out_.buffers[static_cast<size_t>(buffer_of_[static_cast<size_t>(r.tensor)])];
    AccessCount& copy = out_.buffers[static_cast<size_t>(buffer)];
    (v >= 0 ? source.vector_loads : source.splats) += n;
    const bool contiguous =
        v < 0 || lower::lane_stride(s.layout, lower::staged_shape(p_, s), v, p_.vector_width) == 1;
    (contiguous ? copy.vector_stores : copy.scattered_lanes) += contiguous ? n : elements;
  }

  // A barrier of the group's waves before and after the copies at one place of the nest.
  void count_barriers() {
    if (std::none_of(p_.workers.begin(), p_.workers.end(), [](int64_t n) { return n > 1; })) return;
    std::set<int> places;
    for (const ir::Staging& s : p_.staging) places.insert(lower::staging_place(p_, nest_, s));
    for (const int place : places) out_.barriers += 2 * passes_of(p_, nest_, place);
  }

  const ir::Program& p_;
  const ir::Node& anchor_;
  const lower::Nest nest_;
  const lower::MatrixProduct* product_;
  const int spatial_;
  const std::vector<ir::Range> ranges_;  // of the anchor's axes
  // Extents of the axes, and those that register tiles compute.
  std::vector<int64_t> whole_, computed_;
  std::vector<Steps> steps_;
  std::vector<Steps> ends_;  // of what is stored
  Grid results_;
  std::vector<int> buffer_of_;
  Counts out_;
};

}  // namespace

// The loops of a kind are few and their trips known, so counting them is as cheap.
Counts closed_form(const ir::Program& p) {
  const auto counted = [&] { return lower::count(lower::kernel_for_counting(p)); };
  if (!ir::is_expression(p.graph.nodes[0])) return counted();
  if (p.instruction.empty()) return ClosedForm(p, nullptr).compute();
  const auto product = lower::matrix_product(p);
  if (!product || !has_closed_form(p, *product)) return counted();
  return ClosedForm(p, &*product).compute();
}

}  // namespace assay::model
