#include "model/analyse.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "ir/computed_type.h"
#include "lower/early_loads.h"
#include "lower/instruction.h"
#include "lower/nest.h"
#include "model/constants.h"
#include "model/fragments.h"
#include "model/lane_addresses.h"
#include "model/mapped_copies.h"

namespace assay::model {

namespace {

constexpr double kFloat = sizeof(float);

// Distance in elements between neighbouring lanes. nullopt: they are not equidistant.
std::optional<int64_t> lane_distance(const ir::Program& p, const Stream& s) {
  if (p.vector_axis < 0) return 0;
  const ir::Node& node = p.graph.nodes[static_cast<size_t>(s.node)];
  const auto t = static_cast<size_t>(s.tensor);
  const std::vector<ir::Range> ranges = ir::ranges_of(node);
  if (s.written && s.staging < 0)
    return lower::lane_stride(p.layouts[t], p.graph.tensors[t].shape, p.vector_axis,
                              p.vector_width);
  for (size_t r = 0; r < node.reads.size(); ++r) {
    const ir::Read& read = node.reads[r];
    if (read.tensor != s.tensor) continue;
    if (read.lookup) return std::nullopt;
    if (s.staging < 0)
      return lower::lane_stride(p.layouts[t], p.graph.tensors[t].shape, read.index, p.vector_axis,
                                p.vector_width, ranges);
    const ir::Staging& staged = p.staging[static_cast<size_t>(s.staging)];
    return lower::lane_stride(staged.layout, lower::staged_shape(p, staged), read.index,
                              p.vector_axis, p.vector_width, ranges);
  }
  return std::nullopt;
}

// As many groups as would do all the work, were none of them partial: a unit may get whole ones.
double whole_groups(const ir::Program& p) {
  double n = 1;
  for (int a = 0; a < ir::spatial_count(p.graph, p.graph.nodes[0]); ++a)
    n *= static_cast<double>(p.graph.nodes[0].axes[static_cast<size_t>(a)].extent) /
         static_cast<double>(p.tiles[0].extent[static_cast<size_t>(a)]);
  return std::max(1.0, n);
}

class ProgramWork {
 public:
  ProgramWork(const ir::Program& p, const Streams& streams, const lower::Counts& counts,
              const WaveShape& shape, const std::vector<LevelTraffic>& traffic, size_t nearest)
      : p_(p),
        streams_(streams),
        counts_(counts),
        shape_(shape),
        traffic_(traffic),
        nearest_(nearest),
        arguments_(ir::arguments_of(p)),
        whole_groups_(whole_groups(p)),
        waves_(whole_groups_ * waves_of_group(p)) {}

  LaunchWork run() {
    w_.entry = "program";
    w_.groups = static_cast<double>(ir::group_count(p_));
    w_.threads = waves_of_group(p_) * shape_.lanes;
    w_.registers_per_thread = registers_of_thread(p_);
    w_.scratch_bytes = scratch_of_group(p_, counts_);
    count_operations();
    for (const Stream& s : streams_.streams) count_accesses(s);
    count_fragment_scratch();
    count_waits();
    w_.read = traffic_.empty() ? 0 : traffic_.back().read;
    w_.written = traffic_.empty() ? 0 : traffic_.back().written;
    return w_;
  }

 private:
  // Batches of loads of a wave's loops that compute: those of one kind of memory are waited for
  // together.
  double batches(bool staged) const {
    double loads = 0;
    for (const Stream& s : streams_.streams)
      if (!copied(s) && in_scratch(s) == staged) loads += loads_of_wave(s);
    return std::max(
        {1.0, counts_.iterations / waves_ / shape_.unrolled, loads / lower::kLoadBatch});
  }

  void count_operations() {
    const double lanes = shape_.lanes / whole_groups_;
    w_.computed = ir::computed_in(p_.graph, p_.graph.nodes[0]);
    w_.operations = {counts_.fma * lanes, counts_.simple * lanes, counts_.divide * lanes,
                     counts_.math * lanes};
    const double computing =
        counts_.fma + counts_.simple + counts_.divide + lower::kExpInstructions * counts_.math;
    const double loops = counts_.iterations / shape_.unrolled;
    w_.instructions =
        (computing + counts_.matrix + loops * kLoopInstructions + waves_ * kThreadInstructions) /
        whole_groups_;
    if (counts_.matrix > 0) count_products();
    // One element after the other is a chain; those of a register tile are side by side.
    double elements = 1;
    for (int a = 0; a < ir::spatial_count(p_.graph, p_.graph.nodes[0]); ++a) {
      const auto extent = static_cast<double>(p_.tiles.back().extent[static_cast<size_t>(a)]);
      elements *= a == p_.vector_axis ? std::ceil(extent / p_.vector_width) : extent;
    }
    w_.chain = computing / waves_ / elements;
  }

  void count_products() {
    const ir::MatrixInstruction i =
        ir::widened(lower::known_instruction(p_.instruction)->computes, p_.vector_width);
    w_.products = {counts_.matrix / whole_groups_ * i.m * i.n * i.k, i.a.number, i.name};
    w_.matrix_chain = counts_.matrix / waves_ / fragments_of_tile(p_);
  }

  // The anchor's read of a stream; -1: it is the output.
  int read_of(const Stream& s) const {
    const std::vector<ir::Read>& reads = p_.graph.nodes[0].reads;
    for (size_t r = 0; r < reads.size(); ++r)
      if (!s.written && reads[r].tensor == s.tensor) return static_cast<int>(r);
    return -1;
  }

  size_t buffer_of(const Stream& s) const {
    if (s.staging >= 0) return arguments_.size() + static_cast<size_t>(s.staging);
    return static_cast<size_t>(std::find(arguments_.begin(), arguments_.end(), s.tensor) -
                               arguments_.begin());
  }

  int bytes_of(const Stream& s) const { return ir::bytes_of(type_of_stream(p_, s)); }

  // Elements between the lanes that store into a copy.
  std::optional<int64_t> stored_distance(const Stream& s) const {
    const ir::Staging& copy = p_.staging[static_cast<size_t>(s.staging)];
    return lower::lane_stride(copy.layout, lower::staged_shape(p_, copy),
                              lower::copy_vector_dim(p_, copy), p_.vector_width);
  }

  // Cycles of one load or store whose lanes lie at this distance. nullopt: at no even one.
  double divergent_cycles(const Stream& s, std::optional<int64_t> distance) const {
    if (!distance) return p_.vector_width;
    std::vector<int64_t> at;
    for (int l = 0; l < p_.vector_width; ++l) at.push_back(l * *distance);
    if (in_scratch(s)) return bank_cycles(at, 1, static_cast<int>(shape_.banks));
    const int bytes = bytes_of(s);
    for (int64_t& a : at) a *= bytes;
    const auto whole = static_cast<int64_t>(shape_.line);
    return line_cycles(at, bytes, whole, p_.vector_width * bytes);
  }

  // Cycles of one that reads or writes neighbours.
  double contiguous_cycles(const Stream& s) const {
    const double cycle = in_scratch(s) ? shape_.banks * shape_.bank_width : shape_.line;
    return std::max(1.0, p_.vector_width * bytes_of(s) / cycle);
  }

  // Of the copy that a stream is the source of, or that it is.
  double cycles_of_runs(const Stream& s) const {
    for (size_t i = 0; i < p_.staging.size(); ++i) {
      const ir::Staging& copy = p_.staging[i];
      if (!copy.tasks) continue;
      if (s.staging == static_cast<int>(i)) return run_cycles(p_, copy, shape_).store;
      if (s.staging < 0 && copy.read == read_of(s)) return run_cycles(p_, copy, shape_).load;
    }
    return 1;
  }

  void count_accesses(const Stream& s) {
    const size_t b = buffer_of(s);
    if (b >= counts_.buffers.size() || !seen_.insert(b).second) return;
    const lower::AccessCount& a = counts_.buffers[b];
    const double separate = (a.gathered_lanes + a.scattered_lanes) / p_.vector_width;
    const double fragments = a.fragment_loads + a.fragment_stores,
                 line = line_bytes(p_, read_of(s)), lines = a.line_loads + a.line_stores;
    const double runs = a.run_loads + a.run_stores;
    const double all = a.wave_loads + a.vector_loads + a.vector_stores + a.splats + separate +
                       fragments + runs + lines * line / (kFloat * p_.vector_width);
    double cycles = (a.vector_loads + a.vector_stores) * contiguous_cycles(s) + a.splats;
    const double loads = a.gathered_lanes / p_.vector_width, scattered = separate - loads;
    if (loads > 0) cycles += loads * divergent_cycles(s, lane_distance(p_, s));
    if (scattered > 0)
      cycles += scattered *
                divergent_cycles(s, s.staging < 0 ? lane_distance(p_, s) : stored_distance(s));
    if (a.wave_loads > 0) cycles += a.wave_loads * wave_load_cycles(p_, read_of(s), shape_);
    if (runs > 0) cycles += runs * cycles_of_runs(s);
    if (fragments > 0) cycles += fragments * fragment_cycles(p_, read_of(s), shape_);
    // Lines of the scratchpad are neighbours or in other banks; those of a cache take one each.
    cycles += lines * (in_scratch(s) ? line / (shape_.banks * shape_.bank_width)
                                     : std::max(1.0, line / shape_.line));
    w_.loads += all / whole_groups_;
    // An argument's address is an addition of its own.
    w_.instructions += (in_scratch(s) ? all : 2 * all) / whole_groups_;
    (in_scratch(s) ? w_.scratch_traffic : w_.near_traffic) +=
        cycles / whole_groups_ * (in_scratch(s) ? shape_.banks * shape_.bank_width : shape_.line);
  }

  // Opaque fragments that are packed and unpacked: each access is of all lanes of a wave.
  void count_fragment_scratch() {
    for (size_t b = arguments_.size() + p_.staging.size();
         lower::fragment_scratch(p_) > 0 && b < counts_.buffers.size(); ++b) {
      const lower::AccessCount& a = counts_.buffers[b];
      const double all = a.vector_loads + a.vector_stores + a.fragment_loads + a.fragment_stores +
                         (a.gathered_lanes + a.scattered_lanes) / p_.vector_width + a.line_loads +
                         a.line_stores;
      w_.loads += all / whole_groups_;
      w_.instructions += all / whole_groups_;
      w_.scratch_traffic += all / whole_groups_ * shape_.banks * shape_.bank_width;
    }
  }

  // Is it read by a copy of a staged operand?
  bool copied(const Stream& s) const {
    return s.staging < 0 && s.tensor != arguments_.back() &&
           s.end_depth < streams_.nest.loops.size();
  }

  double loads_of_wave(const Stream& s) const {
    const size_t b = buffer_of(s);
    if (!s.read || b >= counts_.buffers.size()) return 0;
    const lower::AccessCount& a = counts_.buffers[b];
    return (a.vector_loads + a.splats + a.gathered_lanes / p_.vector_width + a.fragment_loads +
            a.run_loads + a.wave_loads) /
               waves_ +
           a.line_loads * line_bytes(p_, read_of(s)) / (kFloat * p_.vector_width) / waves_;
  }

  // How often a wave copies a staged operand.
  double copies_of_wave(const Stream& s) const {
    double times = 1;
    for (size_t i = 0; i < std::min(s.end_depth, streams_.nest.loops.size()); ++i)
      if (streams_.nest.loops[i].is_sequential())
        times *= static_cast<double>(streams_.nest.loops[i].trips);
    return times;
  }

  // Of batches of loads, those that wait for the memory behind boundary `l`.
  double reaching(size_t l, size_t stream, double loads, double batches) const {
    if (l >= traffic_.size() || loads <= 0) return 0;
    const double lines = traffic_[l].streams[stream].read / shape_.sector / waves_;
    return batches * (1 - std::pow(1 - std::min(1.0, lines / loads), loads / batches));
  }

  void add_waits(size_t stream, double loads, double batches) {
    const double shared = reaching(nearest_, stream, loads, batches),
                 far =
                     traffic_.empty()
                         ? 0
                         : std::min(shared, reaching(traffic_.size() - 1, stream, loads, batches));
    w_.waits.far += far;
    w_.waits.shared += shared - far;
    w_.waits.near += batches - shared;
  }

  void count_waits() {
    const double of_scratch = batches(true), of_memory = batches(false);
    double scratch = 0, most = 0;
    size_t slowest = 0;
    bool ahead = false;
    for (size_t i = 0; i < streams_.streams.size(); ++i) {
      const Stream& s = streams_.streams[i];
      const double loads = loads_of_wave(s);
      if (loads <= 0) continue;
      const double batches = std::min(loads, in_scratch(s) ? of_scratch : of_memory);
      if (in_scratch(s)) {
        scratch = std::max(scratch, batches);
      } else if (copied(s)) {
        const double copies = copies_of_wave(s);
        if (p_.pipeline_stages > 1 && shape_.copies_overlap) {
          w_.steps = {copies, p_.pipeline_stages - 1.0};
          ahead = true;
        } else {
          const double together = std::min(shape_.unrolled, double{lower::kLoadBatch});
          add_waits(i, loads, std::min(loads, copies * std::ceil(loads / copies / together)));
        }
      } else if (batches > most) {
        most = batches, slowest = i;
      }
    }
    if (most > 0) add_waits(slowest, loads_of_wave(streams_.streams[slowest]), most);
    w_.waits.scratch = scratch;
    if (!ahead) w_.waits.barriers = counts_.barriers / waves_;
  }

  const ir::Program& p_;
  const Streams& streams_;
  const lower::Counts& counts_;
  const WaveShape& shape_;
  const std::vector<LevelTraffic>& traffic_;
  const size_t nearest_;
  const std::vector<int> arguments_;
  const double whole_groups_;
  const double waves_;  // as many as would do it all, were no group partial
  std::set<size_t> seen_;
  LaunchWork w_;
};

}  // namespace

WaveShape shape_of(const Machine& m) {
  WaveShape s;
  s.lanes = m.native_width;
  s.banks = m.banks > 0 ? m.banks : m.native_width;
  s.bank_width = m.bank_width;
  for (const Level& l : m.levels)
    if (!l.is_scratchpad) {
      s.line = l.whole_line;
      s.sector = l.line;
      break;
    }
  s.unrolled = m.unrolled;
  s.copies_overlap = m.copies_overlap;
  return s;
}

double waves_of_group(const ir::Program& p) {
  double waves = 1;
  for (const int64_t n : p.workers) waves *= static_cast<double>(n);
  return waves;
}

namespace {

// Of a wave for its opaque fragments: behind the staged copies, where the kernel needs any.
double fragment_scratch(const ir::Program& p, const lower::Counts& counts) {
  if (lower::fragment_scratch(p) == 0) return 0;
  const ir::MatrixInstruction& i = lower::known_instruction(p.instruction)->computes;
  const auto bytes = [](const ir::Fragment& f) {
    return double{1} * f.mapping.workers() * ir::bytes_of(f.number);
  };
  double all = 0;
  for (size_t b = ir::arguments_of(p).size() + p.staging.size(); b < counts.buffers.size(); ++b)
    all += counts.buffers[b].line_stores > 0 ? bytes(i.c) : std::max(bytes(i.a), bytes(i.b));
  return all;
}

}  // namespace

double scratch_of_group(const ir::Program& p, const lower::Counts& counts) {
  double bytes =
      static_cast<double>(2 * lower::sort_plan(p).elements + lower::shared_state(p)) * kFloat;
  for (const ir::Staging& s : p.staging)
    bytes += static_cast<double>(ir::physical_elements(s.layout, lower::staged_shape(p, s))) *
             ir::bytes_of(lower::staged_type(p, s)) * p.pipeline_stages;
  return bytes + fragment_scratch(p, counts) * waves_of_group(p);
}

double registers_of_thread(const ir::Program& p) {
  const ir::Node& anchor = p.graph.nodes[0];
  const auto along = [&](int axis) {
    const auto extent = static_cast<double>(p.tiles.back().extent[static_cast<size_t>(axis)]);
    return axis == p.vector_axis ? std::ceil(extent / p.vector_width) : extent;
  };
  const auto held = [&](const auto& moves) {
    double n = 1;
    for (int a = 0; a < ir::spatial_count(p.graph, anchor); ++a)
      if (!ir::is_whole(anchor, a) && moves(a)) n *= along(a);
    return n;
  };
  if (!p.instruction.empty()) return kThreadRegisters + fragment_registers(p);
  double operands = 0;
  if (anchor.combine != ir::Combiner::none)
    for (int r = 0; r < static_cast<int>(anchor.reads.size()); ++r)
      operands += held([&](int a) { return ir::moves_with(anchor, r, a); });
  const auto* tuple = std::get_if<ir::TupleReduction>(&anchor.kind);
  const double components = tuple == nullptr ? 1 : static_cast<double>(tuple->state.size());
  // What is copied and what is multiplied are not held at the same time.
  return kThreadRegisters + components * held([](int) { return true; }) +
         std::max(operands, run_registers(p));
}

LaunchWork analyse(const ir::Program& p, const Streams& streams, const lower::Counts& counts,
                   const WaveShape& shape, const std::vector<LevelTraffic>& traffic,
                   size_t nearest) {
  return ProgramWork(p, streams, counts, shape, traffic, nearest).run();
}

}  // namespace assay::model
