// Products whose threads lie over two axes of a group's tile (Hidet, section 4): each holds a small
// matrix of elements, so that what it loads is used along both axes.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "compiler/search/tile_choices.h"
#include "lower/threads.h"

namespace assay::compiler {

namespace {

struct Axes {
  int row = -1, column = -1, reduced = -1;
};

// Of a product of two f32 matrices, the columns lying together in the output.
std::optional<Axes> axes_of(const Space& s) {
  const std::vector<ir::Read>& reads = s.anchor.reads;
  const std::optional<int> summed = lower::summed_axis(s.problem.graph, s.anchor);
  if (!s.machine.simt || !s.dense || reads.size() != 2 || !summed) return std::nullopt;
  for (const ir::Tensor& t : s.problem.graph.tensors)
    if (t.dtype != ir::DType::f32) return std::nullopt;
  Axes out;
  out.reduced = *summed;
  out.column = s.storage_order().empty() ? -1 : s.storage_order().back();
  const auto moves = [&](int read, int axis) { return ir::moves_with(s.anchor, read, axis); };
  if (out.column < 0 || moves(0, out.column) == moves(1, out.column)) return std::nullopt;
  const int of_columns = moves(0, out.column) ? 0 : 1;
  for (int a = 0; a < s.spatial; ++a)
    if (!moves(of_columns, a) && moves(1 - of_columns, a) &&
        (out.row < 0 || s.extent(a) > s.extent(out.row)))
      out.row = a;
  return out.row < 0 ? std::nullopt : std::optional(out);
}

struct Tile {  // threads of a group, and elements of a thread
  int threads_m, threads_n, rows, columns;
};

// A thread's columns lie together in runs that one load brings.
ir::TaskMapping tasks_of(const Tile& t) {
  using Step = ir::MappingStep::Kind;
  constexpr int kTogether = 4;
  const int together = std::min(t.columns, kTogether);
  ir::TaskMapping out;
  if (t.columns > together) out.steps.push_back({Step::repeat, 1, t.columns / together});
  out.steps.push_back({Step::spatial, t.threads_m, t.threads_n});
  out.steps.push_back({Step::repeat, t.rows, together});
  return out;
}

Choice choice_of(const Space& s, const Axes& axes, const Tile& t, int64_t unrolled) {
  Choice c = unit_choice(s);
  const auto m = static_cast<size_t>(axes.row), n = static_cast<size_t>(axes.column);
  for (int a = 0; a < s.spatial; ++a) c.group_tile[static_cast<size_t>(a)] = 1;
  c.group_tile[m] = int64_t{t.threads_m} * t.rows;
  c.group_tile[n] = int64_t{t.threads_n} * t.columns;
  c.register_tile = c.group_tile;
  c.register_tile[static_cast<size_t>(axes.reduced)] = unrolled;
  c.threads = ir::ThreadMapping{axes.row, axes.column, tasks_of(t), {}};
  return c;
}

}  // namespace

std::vector<Choice> thread_choices(const Space& s) {
  constexpr std::array<std::pair<int, int>, 5> kThreads = {
      {{8, 8}, {4, 16}, {8, 16}, {16, 8}, {16, 16}}};
  constexpr std::array<std::pair<int, int>, 5> kElements = {
      {{4, 4}, {8, 4}, {4, 8}, {8, 8}, {2, 4}}};
  std::vector<Choice> out;
  const std::optional<Axes> axes = axes_of(s);
  if (!axes) return out;
  const int64_t depth = s.extent(axes->reduced);
  const bool scratchpad = std::any_of(s.machine.levels.begin(), s.machine.levels.end(),
                                      [](const model::Level& l) { return l.is_scratchpad; });
  for (const auto& [threads_m, threads_n] : kThreads)
    for (const auto& [rows, columns] : kElements) {
      const Tile t{threads_m, threads_n, rows, columns};
      if (int64_t{t.threads_m} * t.rows > s.extent(axes->row) ||
          int64_t{t.threads_n} * t.columns > s.extent(axes->column))
        continue;
      for (const int64_t unrolled : {4, 8}) {
        if (unrolled > depth) continue;
        Choice c = choice_of(s, *axes, t, unrolled);
        out.push_back(c);
        for (const int r : {0, 1})
          if (scratchpad && s.stageable(r)) c.staged.push_back(r);
        for (const int64_t copied : {8, 16, 32}) {
          if (copied > depth || c.staged.size() != 2) continue;
          c.block_tile = c.group_tile;
          c.block_tile[static_cast<size_t>(axes->reduced)] = copied;
          out.push_back(c);
        }
      }
    }
  return out;
}

}  // namespace assay::compiler
