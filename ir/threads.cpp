#include "ir/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace assay::ir {
namespace {

// Elements of the innermost dimension that lie together; 0: all, as gcd takes it.
int64_t block_of(const Layout& l) { return l.dims.back().div == 1 ? l.dims.back().mod : 1; }

class ThreadVerifier {
 public:
  explicit ThreadVerifier(const Program& p)
      : p_(p), t_(*p.threads), anchor_(p.graph.nodes[0]), inner_(p.tiles.back().extent) {}

  Diags run() {
    check_fields();
    if (diags_.empty()) check_tiles();
    if (diags_.empty())
      check_mapping("threads", t_.tasks, extent(t_.row_axis), name(t_.row_axis),
                    extent(t_.column_axis), name(t_.column_axis));
    if (!diags_.empty()) return diags_;
    for (const Staging& s : p_.staging) check_copy(s);
    check_widths();
    return diags_;
  }

 private:
  void fail(std::string message, std::string hint = "") {
    diags_.push_back(error(p_.name + ": " + std::move(message), std::move(hint)));
  }

  std::string name(int axis) const { return anchor_.axes[static_cast<size_t>(axis)].name; }
  int64_t extent(int axis) const { return inner_[static_cast<size_t>(axis)]; }
  const Tensor& tensor(int t) const { return p_.graph.tensors[static_cast<size_t>(t)]; }

  // What would say where lanes lie once more, or what no thread of a mapping does.
  void check_fields() {
    if (p_.vector_axis >= 0 || p_.vector_width != 1)
      fail("`vector` and `threads` both place lanes; one of them can");
    if (!p_.workers.empty()) fail("`workers` places waves, which `threads` does already");
    if (p_.prefetch != 0) fail("prefetch: a program with `threads` prefetches nothing");
    const int spatial = spatial_count(p_.graph, anchor_);
    for (const int a : {t_.row_axis, t_.column_axis})
      if (a < 0 || a >= spatial) fail("threads: rows and columns lie along spatial axes");
    if (t_.row_axis == t_.column_axis) fail("threads: rows and columns lie along different axes");
    if (t_.tasks.steps.empty()) fail("threads: a mapping has a step at least");
    if (t_.widths.size() != p_.graph.tensors.size())
      fail("threads: one width per tensor is needed");
  }

  void check_tiles() {
    for (int a = 0; a < spatial_count(p_.graph, anchor_); ++a) {
      for (const TileLevel& tile : p_.tiles)
        if (tile.extent[static_cast<size_t>(a)] != extent(a))
          return fail("threads hold a group's whole tile, but tiles differ along axis " + name(a));
      if (a != t_.row_axis && a != t_.column_axis && extent(a) != 1)
        fail(
            fmt::format("axis {} of neither rows nor columns of `threads` has extent {} in the "
                        "tile, expected 1",
                        name(a), extent(a)));
    }
  }

  void check_mapping(const std::string& what, const TaskMapping& m, int64_t rows,
                     const std::string& row_name, int64_t columns, const std::string& column_name) {
    if (m.rows() != rows || m.cols() != columns)
      fail(fmt::format("{}: `{}` covers {} x {} elements, expected {} along {} and {} along {}",
                       what, print(m), m.rows(), m.cols(), rows, row_name, columns, column_name));
    for (const MappingStep& s : m.steps)
      if (s.kind == MappingStep::Kind::replicate)
        fail(what + ": with `replicate` several threads have the same element");
  }

  // The tile's elements as they are stored: rows along the innermost dimension.
  void check_copy(const Staging& s) {
    const Read& r = anchor_.reads[static_cast<size_t>(s.read)];
    const std::string what = "staging of " + tensor(r.tensor).name;
    if (!s.tasks || s.tasks->steps.empty())
      return fail(what + ": `tasks` is missing", "it says which thread copies which elements");
    int64_t rows = 1, columns = 1;
    for (size_t d = 0; d < s.layout.dims.size(); ++d) {
      const PhysicalDim& dim = s.layout.dims[d];
      const bool last = d + 1 == s.layout.dims.size();
      const Pad pad = pad_of(s.layout, dim.dim);
      const std::optional<int> axis = variable_of(r.index[static_cast<size_t>(dim.dim)]);
      if (dim.div != 1 || dim.mod != 0 || pad.before != 0 || (pad.after != 0 && !last))
        return fail(what +
                    ": a tile that threads copy by a mapping has whole dimensions, and is "
                    "padded behind its rows only");
      if (!axis) return fail(what + ": its positions are not the axes themselves");
      (last ? columns : rows) *=
          p_.tiles[static_cast<size_t>(s.level)].extent[static_cast<size_t>(*axis)];
    }
    check_mapping(what, *s.tasks, rows, "its rows", columns, "its innermost dimension");
    if (s.tasks->workers() != t_.tasks.workers())
      fail(fmt::format("{}: {} threads copy, and `threads` has {}", what, s.tasks->workers(),
                       t_.tasks.workers()));
    const Layout& source = p_.layouts[static_cast<size_t>(r.tensor)];
    const int64_t together =
        source.dims.back().dim == s.layout.dims.back().dim ? block_of(source) : 1;
    check_width(what, s.width, std::gcd(together, int64_t{neighbours_in_row(*s.tasks)}));
  }

  void check_width(const std::string& what, int width, int64_t together) {
    if (width < 1 || together % width != 0)
      fail(fmt::format("{}: width {}, where a thread has {} neighbours in memory", what, width,
                       together));
  }

  void check_widths() {
    for (size_t r = 0; r < anchor_.reads.size(); ++r) {
      const Read& read = anchor_.reads[r];
      const auto t = static_cast<size_t>(read.tensor);
      const auto staged = std::find_if(p_.staging.begin(), p_.staging.end(), [&](const Staging& s) {
        return s.read == static_cast<int>(r);
      });
      check_width("loads of " + tensor(read.tensor).name, t_.widths[t],
                  neighbours_of_thread(
                      p_, staged == p_.staging.end() ? p_.layouts[t] : staged->layout, read.index));
    }
    for (int t = 0; t < static_cast<int>(t_.widths.size()); ++t)
      if (t_.widths[static_cast<size_t>(t)] != 1 && t != p_.graph.outputs[0] &&
          std::none_of(anchor_.reads.begin(), anchor_.reads.end(),
                       [&](const Read& r) { return r.tensor == t; }))
        fail("threads: a width of " + tensor(t).name + ", which is no operand of the first node");
    std::vector<Index> own;
    for (int d = 0; d < spatial_count(p_.graph, anchor_); ++d) own.push_back(variable(d));
    const auto out = static_cast<size_t>(p_.graph.outputs[0]);
    check_width("stores of " + tensor(p_.graph.outputs[0]).name, t_.widths[out],
                neighbours_of_thread(p_, p_.layouts[out], own));
  }

  const Program& p_;
  const ThreadMapping& t_;
  const Node& anchor_;
  const std::vector<int64_t>& inner_;
  Diags diags_;
};

}  // namespace

int64_t neighbours_of_thread(const Program& p, const Layout& layout, std::span<const Index> index) {
  if (layout.dims.empty()) return 1;
  const std::optional<int> axis = variable_of(index[static_cast<size_t>(layout.dims.back().dim)]);
  if (!axis) return 1;
  const ThreadMapping& t = *p.threads;
  const int64_t own = *axis == t.row_axis      ? neighbours_in_column(t.tasks)
                      : *axis == t.column_axis ? neighbours_in_row(t.tasks)
                                               : p.tiles.back().extent[static_cast<size_t>(*axis)];
  return std::gcd(own, block_of(layout));
}

Diags thread_faults(const Program& p) {
  if (p.threads) return ThreadVerifier(p).run();
  for (const Staging& s : p.staging) {
    if (!s.tasks && s.width != 1)
      return {error(p.name + ": `width` of a staging is of the runs that its `tasks` deal out")};
    if (!s.tasks) continue;
    if (s.tasks->steps.empty())
      return {error(p.name + ": `tasks` of a staging: a mapping has a step at least")};
    for (const MappingStep& step : s.tasks->steps)
      if (step.kind == MappingStep::Kind::replicate)
        return {error(p.name + ": `tasks` of a staging: with `replicate` several threads copy the "
                               "same element")};
  }
  return {};
}

}  // namespace assay::ir
