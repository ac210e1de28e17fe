// Choices that use the chip's matrix instructions: vectors whose lanes hold columns, a core's tile
// registers, and waves that hold fragments in a few register tiles.
#include <algorithm>
#include <utility>

#include "compiler/search/tile_choices.h"
#include "lower/nest.h"

namespace assay::compiler {

namespace {

constexpr int64_t kFragmentRegisters = 128;  // accumulators of a thread

bool moves(const ir::Read& r, int axis) {
  return std::any_of(r.index.begin(), r.index.end(),
                     [&](const ir::Index& i) { return ir::depends_on(i, axis); });
}

ir::DType type_of(const Space& s, const ir::Read& r) {
  return s.problem.graph.tensors[static_cast<size_t>(r.tensor)].dtype;
}

// The reads that are a and b of an instruction whose columns lie along `n`; false: it does not
// multiply these.
struct Operands {
  const ir::Read *a = nullptr, *b = nullptr;
};
bool multiplies(const Space& s, const ir::MatrixInstruction& i, int n, Operands& out) {
  const std::vector<ir::Read>& reads = s.anchor.reads;
  if (!s.dense || reads.size() != 2 || moves(reads[0], n) == moves(reads[1], n)) return false;
  out = moves(reads[0], n) ? Operands{&reads[1], &reads[0]} : Operands{&reads[0], &reads[1]};
  // Numbers of f32 keep their digits: tf32 is for those who ask for it.
  return type_of(s, *out.a) == i.a.number && type_of(s, *out.b) == i.b.number && !i.a.tf32 &&
         !i.b.tf32;
}

// The longest reduce axis that moves both; of those the one whose neighbours of `a` lie together.
int deep_axis(const Space& s, const Operands& of, int64_t depth) {
  int out = -1;
  bool together = false;
  const auto t = static_cast<size_t>(of.a->tensor);
  for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a) {
    if (!moves(*of.a, a) || !moves(*of.b, a) || s.extent(a) < depth) continue;
    const bool own =
        lower::lane_stride(s.problem.layouts[t], s.problem.graph.tensors[t].shape, of.a->index, a,
                           static_cast<int>(depth), ir::ranges_of(s.anchor)) == 1;
    if (out < 0 || (own && !together) || (own == together && s.extent(a) > s.extent(out))) out = a;
    together = together || own;
  }
  return out;
}

// The spatial axis of rows: it moves `a` alone. The longest; -1: none.
int row_axis(const Space& s, const Operands& of) {
  int out = -1;
  for (int a = 0; a < s.spatial; ++a)
    if (moves(*of.a, a) && !moves(*of.b, a) && (out < 0 || s.extent(a) > s.extent(out))) out = a;
  return out;
}

// Whether another instruction does the same on wider vectors.
bool has_wider(const Space& s, const ir::MatrixInstruction& i) {
  return std::any_of(s.machine.instructions.begin(), s.machine.instructions.end(),
                     [&](const model::MatrixRate& r) {
                       const ir::MatrixInstruction& other = r.instruction;
                       return other.m == 1 && other.n > i.n && !other.c.mapping.steps.empty() &&
                              other.a.number == i.a.number && other.b.number == i.b.number &&
                              other.n <= s.machine.native_width;
                     });
}

struct Fragments {
  const ir::MatrixInstruction& instruction;
  int m, n, k;  // axes
};

// Neighbours along k that a register of b holds, or that its layout in memory wants together.
int64_t neighbours(const ir::Fragment& b) {
  int64_t n = b.memory.empty() ? b.per_register() : 1;
  if (!b.memory.empty())
    for (const ir::PhysicalDim& d : b.memory[0].layout.dims)
      if (d.dim == 0) n = std::max(n, d.mod);
  return n;
}

// Registers of a thread that a fragment of c takes.
int64_t registers_of(const Space& s, const ir::Fragment& c) {
  return c.memory.empty() ? c.registers() : ceil_div(c.mapping.workers(), s.machine.native_width);
}

Choice of_waves(const Space& s, const Fragments& f, int64_t rows, int64_t columns, int64_t waves_m,
                int64_t waves_n, int64_t depth) {
  const auto m = static_cast<size_t>(f.m), n = static_cast<size_t>(f.n),
             k = static_cast<size_t>(f.k);
  Choice c = unit_choice(s);
  c.vector_axis = f.n;
  c.vector_width = f.instruction.opaque() ? s.machine.native_width : f.instruction.workers();
  c.instruction = f.instruction.name;
  c.depth_axis = f.k;
  c.depth = neighbours(f.instruction.b);
  c.register_tile[m] = rows * f.instruction.m;
  c.register_tile[n] = columns * f.instruction.n;
  c.register_tile[k] = f.instruction.k;
  for (int a = 0; a < s.spatial; ++a) c.group_tile[static_cast<size_t>(a)] = 1;
  c.group_tile[m] = c.register_tile[m] * waves_m;
  c.group_tile[n] = c.register_tile[n] * waves_n;
  c.block_tile = c.group_tile;
  for (int a = s.spatial; a < static_cast<int>(s.anchor.axes.size()); ++a)
    c.block_tile[static_cast<size_t>(a)] = 1;
  c.block_tile[k] = depth * f.instruction.k;
  for (int r = 0; r < 2; ++r)
    if (s.stageable(r)) c.staged.push_back(r);
  c.wave_groups = true;
  return c;
}

// Few, since the kernel of each is counted: groups of up to eight waves.
void add_waves(const Space& s, const Fragments& f, std::vector<Choice>& out) {
  constexpr std::pair<int64_t, int64_t> kWaves[] = {{1, 1}, {1, 2}, {2, 2}, {2, 4}, {4, 2}};
  const ir::MatrixInstruction& i = f.instruction;
  const auto fits = [&](int64_t tile, int axis) { return tile <= s.extent(axis); };
  for (const int64_t rows : {1, 2, 4})
    for (const int64_t columns : {2, 4, 8}) {
      if (rows * columns * registers_of(s, i.c) > kFragmentRegisters) continue;
      for (const auto& [waves_m, waves_n] : kWaves) {
        if (!fits(rows * i.m * waves_m, f.m) || !fits(columns * i.n * waves_n, f.n)) continue;
        for (const int64_t vectors : {1, 2})  // of a row that is copied
          if (const int64_t depth = std::max<int64_t>(1, vectors * s.machine.native_width / i.k);
              fits(depth * i.k, f.k))
            out.push_back(of_waves(s, f, rows, columns, waves_m, waves_n, depth));
      }
    }
}

// Rows of a whose distance is a power of two meet in few sets of a cache, so it may be copied, too.
void add_copies(const Space& s, const Fragments& f, Choice c, int b, bool packed,
                std::vector<Choice>& out) {
  const auto k = static_cast<size_t>(f.k);
  if (packed || !s.stageable(b)) out.push_back(c);
  std::vector<int> copied;
  if (!packed && s.stageable(b)) copied.push_back(b);
  for (const bool both : {false, true}) {
    if (both && s.stageable(1 - b)) copied.push_back(1 - b);
    if (copied.empty() || (both && copied.back() != 1 - b)) continue;
    c.staged = copied;
    std::sort(c.staged.begin(), c.staged.end());
    for (const int64_t part : {s.extent(f.k), round_up(int64_t{512}, f.instruction.k)}) {
      c.block_tile = c.group_tile;
      c.block_tile[k] = std::min(part, s.extent(f.k));
      out.push_back(c);
      if (part >= s.extent(f.k)) break;
    }
  }
}

// Are neighbours along an axis neighbours in the output?
bool is_stored_along(const Space& s, int axis) {
  const auto t = static_cast<size_t>(s.problem.graph.outputs[0]);
  std::vector<ir::Index> at;
  for (size_t d = 0; d < s.problem.graph.tensors[t].shape.size(); ++d)
    at.push_back(ir::variable(static_cast<int>(d)));
  return lower::lane_stride(s.problem.layouts[t], s.problem.graph.tensors[t].shape, at, axis,
                            s.machine.native_width, ir::ranges_of(s.anchor)) == 1;
}

// Tiles of a core's registers: as many fragments as they hold. Of a constant b that is packed the
// layout suits; another one is copied in parts of the reduction.
void add_tiles(const Space& s, const Fragments& f, int b, std::vector<Choice>& out) {
  constexpr std::pair<int64_t, int64_t> kTiles[] = {{2, 2}, {1, 3}, {3, 1}, {1, 2}, {2, 1}, {1, 1}};
  const ir::MatrixInstruction& i = f.instruction;
  const auto m = static_cast<size_t>(f.m), n = static_cast<size_t>(f.n),
             k = static_cast<size_t>(f.k);
  const bool packed =
      s.problem.packable[static_cast<size_t>(s.anchor.reads[static_cast<size_t>(b)].tensor)];
  for (const auto& [rows, columns] : kTiles) {
    if (rows * columns + rows + columns > i.registers ||
        (rows > 1 && (rows - 1) * i.m >= s.extent(f.m)) ||
        (columns > 1 && (columns - 1) * i.n >= s.extent(f.n)))
      continue;
    std::vector<int64_t> tile(s.anchor.axes.size(), 1);
    tile[m] = std::min(rows * i.m, s.extent(f.m));
    tile[n] = std::min(columns * i.n, s.extent(f.n));
    for (const std::vector<int64_t>& group : group_tiles(s, tile))
      for (const bool outer : {true, false}) {
        Choice c = unit_choice(s);
        c.vector_axis = f.n;
        c.vector_width = s.machine.native_width;
        c.instruction = i.name;
        c.depth_axis = f.k;
        c.depth = neighbours(i.b);
        c.register_tile = tile;
        c.register_tile[k] = std::min<int64_t>(i.k, s.extent(f.k));
        c.group_tile = group;
        c.vector_axis_outer = outer;
        add_copies(s, f, c, b, packed, out);
      }
  }
}

}  // namespace

std::vector<Choice> by_instructions(const Space& s, const std::vector<Choice>& choices) {
  std::vector<Choice> out;
  for (const model::MatrixRate& rate : s.machine.instructions) {
    const ir::MatrixInstruction& i = rate.instruction;
    if (i.m != 1 || i.c.mapping.steps.empty() || has_wider(s, i)) continue;
    for (Choice c : choices) {
      Operands of;
      if (c.vector_width % i.n != 0 || !multiplies(s, i, c.vector_axis, of)) continue;
      // As many vectors, since they are as many registers.
      int64_t& columns = c.register_tile[static_cast<size_t>(c.vector_axis)];
      if (columns % c.vector_width == 0) columns = columns / c.vector_width * i.n;
      c.vector_width = i.n;
      c.depth_axis = deep_axis(s, of, i.k);
      if (c.depth_axis < 0) continue;
      c.depth = i.b.per_register();
      c.instruction = i.name;
      c.register_tile[static_cast<size_t>(c.depth_axis)] = i.k;
      c.prefetch = 0;
      out.push_back(std::move(c));
    }
  }
  return out;
}

std::vector<Choice> fragment_choices(const Space& s) {
  std::vector<Choice> out;
  for (const model::MatrixRate& rate : s.machine.instructions) {
    const ir::MatrixInstruction& i = rate.instruction;
    const int lanes = s.machine.native_width;
    const bool fits =
        i.opaque() ? i.registers == 0 && i.m * i.n % lanes == 0 : i.m > 1 && i.workers() == lanes;
    if (!i.has_fragments() || !fits) continue;
    for (int n = 0; n < s.spatial; ++n) {
      Operands of;
      if (s.is_batch_axis(n) || s.extent(n) < i.n || !multiplies(s, i, n, of)) continue;
      const int m = row_axis(s, of), k = deep_axis(s, of, i.k);
      if (m >= 0 && k >= 0 && s.extent(m) >= i.m) add_waves(s, {i, m, n, k}, out);
    }
  }
  return out;
}

std::vector<Choice> tile_register_choices(const Space& s) {
  std::vector<Choice> out;
  for (const model::MatrixRate& rate : s.machine.instructions) {
    const ir::MatrixInstruction& i = rate.instruction;
    if (i.registers == 0 || !i.opaque() || i.n % s.machine.native_width != 0) continue;
    for (int n = 0; n < s.spatial; ++n) {
      Operands of;
      if (s.is_batch_axis(n) || !multiplies(s, i, n, of) || !is_stored_along(s, n)) continue;
      const int m = row_axis(s, of), k = deep_axis(s, of, 1);
      const int b = of.b == &s.anchor.reads[0] ? 0 : 1;
      if (m >= 0 && k >= 0) add_tiles(s, {i, m, n, k}, b, out);
    }
  }
  return out;
}

}  // namespace assay::compiler
