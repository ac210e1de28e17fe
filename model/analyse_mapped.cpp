#include "model/analyse_mapped.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <vector>

#include "lower/threads.h"
#include "model/constants.h"
#include "model/lane_addresses.h"
#include "model/operation_counts.h"

namespace assay::model {
namespace {

double ceil_div(int64_t a, int64_t b) { return static_cast<double>((a + b - 1) / b); }

// Elements between neighbours of each axis. An axis that does not occur: 0.
using Strides = std::vector<int64_t>;

// `shape`: of the tensor or tile as it is stored. An index is an axis, or one position.
Strides strides_of(const ir::Layout& layout, std::span<const int64_t> shape,
                   std::span<const ir::Index> index, size_t axes) {
  const std::vector<int64_t> extents = ir::physical_shape(layout, shape);
  Strides out(axes, 0);
  int64_t stride = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    if (const auto axis = ir::variable_of(index[static_cast<size_t>(layout.dims[d].dim)]))
      out[static_cast<size_t>(*axis)] += stride;
    stride *= extents[d];
  }
  return out;
}

// Where a mapping's tasks lie in memory: rows and columns at these distances, in elements.
struct Placed {
  const ir::TaskMapping* tasks = nullptr;
  int64_t row = 0, column = 0;
  int64_t at(ir::Task t) const { return t.row * row + t.col * column; }
};

class MappedProgram {
 public:
  MappedProgram(const ir::Program& p, const ThreadShape& shape)
      : p_(p),
        s_(shape),
        node_(p.graph.nodes[0]),
        t_(*p.threads),
        reduced_(*lower::summed_axis(p.graph, node_)),
        waves_(ceil_div(t_.tasks.workers(), shape.lanes)) {}

  MappedWork run() {
    const int64_t k = node_.axes[static_cast<size_t>(reduced_)].extent, own = inner(reduced_);
    turns_ = ceil_div(k, own);
    count_threads(static_cast<double>(own));
    for (int r = 0; r < 2; ++r) count_loads(r);
    for (const ir::Staging& s : p_.staging) count_copies(s);
    count_barriers();
    count_epilogue();
    count_results();
    count_spills(static_cast<double>(own));
    count_bytes(k);
    return out_;
  }

 private:
  int64_t inner(int axis) const { return p_.tiles.back().extent[static_cast<size_t>(axis)]; }
  const ir::Tensor& tensor(int t) const { return p_.graph.tensors[static_cast<size_t>(t)]; }
  const ir::Read& read(int r) const { return node_.reads[static_cast<size_t>(r)]; }

  // The widest load is of so many elements; wider ones are several.
  static int width_of(int width, int bytes) {
    return std::min(width, std::max(1, static_cast<int>(kWidestAccess) / bytes));
  }

  const ir::Staging* staging_of(int r) const {
    for (const ir::Staging& s : p_.staging)
      if (s.read == r) return &s;
    return nullptr;
  }

  // A step of a thread is one multiply-add of each of its elements.
  void count_threads(double own) {
    LaunchWork& w = out_.launch;
    w.entry = "mapped program";
    w.groups = static_cast<double>(ir::group_count(p_));
    w.threads = t_.tasks.workers();
    const double items = t_.tasks.items(), steps = turns_ * own;
    w.products = {items * w.threads * steps, tensor(read(0).tensor).dtype, ""};
    w.chain = steps;
    w.instructions = waves_ * (items * steps + turns_ * kLoopInstructions + kThreadInstructions);
    w.registers_per_thread = kThreadRegisters + items;
    w.waits.far = 1;
  }

  // `times`: in the group's run, of each of its waves.
  void add(double accesses, double cycles, bool scratch, double times) {
    const double turn = scratch ? s_.scratch_turn : s_.near_turn;
    (scratch ? out_.scratch_cycles : out_.near_cycles) += cycles * times * waves_;
    out_.accesses += accesses * times * waves_;
    out_.launch.instructions += accesses * times * waves_;
    out_.launch.loads += std::max(accesses, cycles / turn) * times * waves_;
  }

  // First elements of the wave's lanes.
  std::vector<int64_t> lanes_of(const Placed& placed) const {
    std::vector<int64_t> at;
    for (int l = 0; l < std::min(s_.lanes, placed.tasks->workers()); ++l)
      at.push_back(placed.at(placed.tasks->task(l, 0)));
    return at;
  }

  // Cycles of a load or store of the scratchpad. Those of other elements lie a distance further for
  // all lanes, which changes no conflict.
  double scratch_cycles(const Placed& placed, int width, int bytes) const {
    std::vector<int64_t> words = lanes_of(placed);
    for (int64_t& w : words) w = w * bytes / s_.bank_width;
    return bank_cycles(words, std::max(1, width * bytes / s_.bank_width), s_.banks);
  }

  // Mean cycles of loads or stores of the nearest cache that begin at these elements.
  double near_cycles(const Placed& placed, std::span<const int64_t> begins, int width, int bytes) {
    const std::vector<int64_t> lanes = lanes_of(placed);
    std::vector<double> known(static_cast<size_t>(s_.line), 0);  // by the place in a line
    double sum = 0;
    for (const int64_t begin : begins) {
      const int64_t place = begin * bytes % s_.line;
      double& cycles = known[static_cast<size_t>(place)];
      if (cycles == 0) {
        std::vector<int64_t> at;
        for (const int64_t l : lanes) at.push_back(l * bytes + place);
        cycles = line_cycles(at, width * bytes, s_.line, s_.line);
      }
      sum += cycles;
    }
    return sum / static_cast<double>(begins.size());
  }

  // Where each access of `width` of a thread's distinct elements begins, relative to its first.
  static std::vector<int64_t> begins_of(const Placed& placed, int width) {
    const ir::Task first = placed.tasks->task(0, 0);
    std::set<int64_t> all;
    for (int i = 0; i < placed.tasks->items(); ++i)
      all.insert(placed.at(placed.tasks->task(0, i)) - placed.at(first));
    std::vector<int64_t> out;
    for (const int64_t at : all)
      if (at % width == 0 || !all.contains(at - at % width)) out.push_back(at);
    return out;
  }

  Placed placed(const Strides& strides) const {
    return {&t_.tasks, strides[static_cast<size_t>(t_.row_axis)],
            strides[static_cast<size_t>(t_.column_axis)]};
  }

  // An operand's elements that a thread holds, loaded in each turn for all its steps.
  void count_loads(int r) {
    const ir::Staging* staged = staging_of(r);
    const ir::Tensor& t = tensor(read(r).tensor);
    const std::vector<int64_t> shape = staged != nullptr ? tile_shape(*staged) : t.shape;
    const ir::Layout& layout =
        staged != nullptr ? staged->layout : p_.layouts[static_cast<size_t>(read(r).tensor)];
    const Strides strides = strides_of(layout, shape, read(r).index, node_.axes.size());
    const int bytes = ir::bytes_of(t.dtype);
    const int width = width_of(t_.widths[static_cast<size_t>(read(r).tensor)], bytes);
    const int64_t step = strides[static_cast<size_t>(reduced_)];
    const bool along_steps = step == 1;
    const Placed at = placed(strides);
    std::vector<int64_t> begins = begins_of(at, along_steps ? 1 : width);
    const double held = static_cast<double>(begins.size()) * (along_steps ? 1 : width);
    const int64_t own = inner(reduced_), stride = along_steps ? width : 1;
    std::vector<int64_t> all;
    for (int64_t k = 0; k < own; k += stride)
      for (const int64_t b : begins) all.push_back(b + k * step);
    const double n = static_cast<double>(all.size());
    const double cycles =
        staged != nullptr ? scratch_cycles(at, width, bytes) : near_cycles(at, all, width, bytes);
    add(n, n * cycles, staged != nullptr, turns_);
    // Loads of a cache come one turn ahead, into registers of their own.
    out_.launch.registers_per_thread += staged != nullptr ? held : 2 * held;
    if (staged != nullptr) {
      out_.launch.waits.scratch = turns_;
      return;
    }
    // Each step's elements lie in lines of their own, or the line has those of several.
    const double lines =
        std::min(1.0, static_cast<double>(own * step * bytes) / static_cast<double>(s_.line));
    Waits& waits = out_.launch.waits;
    waits.shared = std::max(waits.shared, turns_ * lines);
    waits.near = turns_ - waits.shared;
  }

  std::vector<int64_t> tile_shape(const ir::Staging& s) const {
    std::vector<int64_t> out;
    for (const ir::Index& i : read(s.read).index) {
      const auto axis = ir::variable_of(i);
      const ir::TileLevel& tile = p_.tiles[static_cast<size_t>(s.level)];
      out.push_back(axis ? tile.extent[static_cast<size_t>(*axis)] : 1);
    }
    return out;
  }

  // How often a group copies a staged operand.
  double copies_at(int level) const {
    return ceil_div(node_.axes[static_cast<size_t>(reduced_)].extent,
                    p_.tiles[static_cast<size_t>(level)].extent[static_cast<size_t>(reduced_)]);
  }

  void count_copies(const ir::Staging& s) {
    const ir::Tensor& t = tensor(read(s.read).tensor);
    const std::vector<int64_t> shape = tile_shape(s);
    const std::vector<int64_t> stored = ir::physical_shape(s.layout, shape);
    const int bytes = ir::bytes_of(t.dtype), width = width_of(s.width, bytes);
    const Strides strides = strides_of(p_.layouts[static_cast<size_t>(read(s.read).tensor)],
                                       t.shape, read(s.read).index, node_.axes.size());
    const auto distance = [&](const ir::PhysicalDim& d) {
      const auto axis = ir::variable_of(read(s.read).index[static_cast<size_t>(d.dim)]);
      return axis ? strides[static_cast<size_t>(*axis)] : 0;
    };
    // Of the outer dimensions, one at most has several elements.
    Placed from{&*s.tasks, 0, distance(s.layout.dims.back())}, to{&*s.tasks, stored.back(), 1};
    for (size_t d = 0; d + 1 < s.layout.dims.size(); ++d)
      if (from.row == 0 || stored[d] > 1) from.row = distance(s.layout.dims[d]);
    const std::vector<int64_t> begins = begins_of(from, width);
    const double n = static_cast<double>(begins.size()), times = copies_at(s.level);
    add(n, n * near_cycles(from, begins, width, bytes), false, times);
    add(n, n * scratch_cycles(to, width, bytes), true, times);
    double elements = bytes;
    for (const int64_t e : stored) elements *= static_cast<double>(e);
    out_.launch.scratch_bytes += elements;
    levels_.insert(s.level);
  }

  // Loads, stores, and barriers on either side of them.
  void count_barriers() {
    for (const int level : levels_) {
      const double times = copies_at(level);
      out_.launch.waits.shared += times;
      out_.launch.waits.barriers += 2 * times;
      out_.launch.instructions += times * kLoopInstructions * waves_;
    }
  }

  // Its nodes compute with the accumulators; what else they read is loaded once in a thread.
  void count_epilogue() {
    const double threads = t_.tasks.workers();
    const auto distinct = [&](auto&& part) {
      std::set<int> all;
      for (int i = 0; i < t_.tasks.items(); ++i) all.insert(part(t_.tasks.task(0, i)));
      return static_cast<double>(all.size());
    };
    const double rows = distinct([](const ir::Task&t) { return t.row; }),
                 columns = distinct([](const ir::Task&t) { return t.col; });
    for (size_t n = 1; n < p_.graph.nodes.size(); ++n) {
      const ir::Node& node = p_.graph.nodes[n];
      lower::Counts c;
      count_body(node.body, t_.tasks.items(), c);
      Operations& all = out_.launch.operations;
      all.simple += c.simple * threads;
      all.divisions += c.divide * threads;
      all.functions += c.math * threads;
      out_.launch.instructions += waves_ * (c.simple + c.divide + lower::kExpInstructions * c.math);
      for (const ir::Read& r : node.reads) {
        if (r.tensor == p_.graph.nodes[n - 1].output) continue;
        const ir::Index at =
            ir::physical_offset(p_.layouts[static_cast<size_t>(r.tensor)], tensor(r.tensor).shape,
                                r.index, ir::ranges_of(node));
        const auto distance = [&](int axis) { return ir::stride_of(at, axis).value_or(1); };
        const Placed own{&t_.tasks, distance(t_.row_axis), distance(t_.column_axis)};
        const double loads = (own.row != 0 ? rows : 1) * (own.column != 0 ? columns : 1);
        const int64_t first = 0;
        add(loads, loads * near_cycles(own, {&first, 1}, 1, ir::bytes_of(tensor(r.tensor).dtype)),
            false, 1);
      }
    }
  }

  void count_results() {
    const auto o = static_cast<size_t>(p_.graph.outputs[0]);
    std::vector<ir::Index> own;
    for (int d = 0; d < ir::spatial_count(p_.graph, node_); ++d) own.push_back(ir::variable(d));
    const ir::Tensor& t = p_.graph.tensors[o];
    const int bytes = ir::bytes_of(t.dtype), width = width_of(t_.widths[o], bytes);
    const Placed at = placed(strides_of(p_.layouts[o], t.shape, own, node_.axes.size()));
    const std::vector<int64_t> begins = begins_of(at, width);
    const double n = static_cast<double>(begins.size());
    add(n, n * near_cycles(at, begins, width, bytes), false, 1);
  }

  void count_spills(double own) {
    double& registers = out_.launch.registers_per_thread;
    const double spilled = std::max(0.0, registers - registers_most());
    registers -= spilled;
    out_.spilled = spilled;
    add(2 * spilled, 2 * spilled * word_cycles(), false, turns_ * own);
    spilled_bytes_ = 2 * spilled * s_.lanes * s_.bank_width * waves_ * turns_ * own;
  }

  // A group's waves are dealt to partitions, and all of them have their registers there at once.
  double registers_most() const {
    const double each = std::floor(s_.partition_registers / std::ceil(waves_ / s_.partitions));
    return std::min(s_.registers_most, std::floor(each / s_.granule) * s_.granule);
  }

  // Of a load of neighbouring words.
  double word_cycles() const {
    return std::max(1.0, double(s_.lanes) * s_.bank_width / static_cast<double>(s_.line));
  }

  void count_bytes(int64_t k) {
    LaunchWork& w = out_.launch;
    const auto has_rows = [&](int r) { return ir::moves_with(node_, r, t_.row_axis); };
    const int rows = has_rows(0) ? 0 : 1;
    const auto bytes = [&](int t) {
      return static_cast<double>(ir::elements(tensor(t))) * ir::bytes_of(tensor(t).dtype);
    };
    const auto panel = [&](int axis, int r) {
      return static_cast<double>(inner(axis) * k) * ir::bytes_of(tensor(read(r).tensor).dtype);
    };
    w.grid.rows = static_cast<double>(ir::tile_count(p_, 0, t_.row_axis));
    w.grid.columns = static_cast<double>(ir::tile_count(p_, 0, t_.column_axis));
    w.grid.batches = w.groups / (w.grid.rows * w.grid.columns);
    w.grid.row_bytes = panel(t_.row_axis, rows);
    w.grid.column_bytes = panel(t_.column_axis, 1 - rows);
    w.grid.unique_rows = bytes(read(rows).tensor);
    w.grid.unique_columns = bytes(read(1 - rows).tensor);
    const double operands = w.grid.row_bytes + w.grid.column_bytes;
    w.read = w.grid.unique_rows + w.grid.unique_columns;
    for (size_t n = 1; n < p_.graph.nodes.size(); ++n)
      for (const ir::Read& r : p_.graph.nodes[n].reads)
        if (r.tensor != p_.graph.nodes[n - 1].output) w.read += bytes(r.tensor);
    w.written = bytes(p_.graph.outputs[0]);
    w.fills = operands + w.written / w.groups + spilled_bytes_;
    const double filled = operands / static_cast<double>(s_.line);
    out_.near_cycles += filled;
    w.loads += filled / s_.near_turn;
  }

  const ir::Program& p_;
  const ThreadShape& s_;
  const ir::Node& node_;
  const ir::ThreadMapping& t_;
  const int reduced_;
  const double waves_;
  double turns_ = 1, spilled_bytes_ = 0;
  std::set<int> levels_;  // at which operands are copied
  MappedWork out_;
};

}  // namespace

ThreadShape thread_shape_of(const Machine& m) {
  ThreadShape s;
  s.lanes = m.native_width;
  if (m.banks > 0) s.banks = static_cast<int>(m.banks);
  s.bank_width = static_cast<int>(m.bank_width);
  s.registers_most = m.registers_per_thread_max;
  s.partition_registers = m.vector_registers / m.partitions;
  s.partitions = m.partitions;
  s.granule = m.register_granule;
  // Turns of at most a load a cycle.
  const auto turn = [&](const Level& l, double bytes) {
    return std::max(1.0, l.read.value / bytes / m.load_rate.value);
  };
  bool cache = false;
  for (const Level& l : m.levels) {
    if (l.is_scratchpad) s.scratch_turn = turn(l, double(s.banks) * s.bank_width);
    if (l.is_scratchpad || cache) continue;
    cache = true;
    s.line = static_cast<int64_t>(l.whole_line);
    s.near_turn = turn(l, l.whole_line);
  }
  return s;
}

MappedWork analyse_mapped(const ir::Program& p, const ThreadShape& shape) {
  return MappedProgram(p, shape).run();
}

}  // namespace assay::model
