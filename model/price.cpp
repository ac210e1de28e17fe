#include "model/price.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "model/overlap.h"
#include "model/retention.h"

namespace assay::model {
namespace {

struct Memories {  // of a machine, as a group sees them
  const Level* scratch = nullptr;
  const Level* near = nullptr;       // a unit's own cache
  std::vector<const Level*> caches;  // that units share, near to far
  const Level* shared = nullptr;     // the last of them
  const Level* far = nullptr;
};

Memories memories_of(const Machine& m) {
  Memories out;
  for (const Level& l : m.levels) {
    if (&l == &m.levels.back())
      out.far = &l;
    else if (l.is_scratchpad)
      out.scratch = out.scratch != nullptr ? out.scratch : &l;
    else if (l.shared)
      out.caches.push_back(out.shared = &l);
    else if (out.near == nullptr)
      out.near = &l;
  }
  return out;
}

// Part of what many groups read that a cache no longer holds when they read it again, where
// `footprint` bytes are filled between. Replacement as good as random, since groups interleave: a
// line survives n fills of a cache of c lines with exp(-n / c). Misses fill, too.
double missed(const Level& level, double footprint) {
  if (footprint <= 0) return 0;
  const double fills = footprint / level.capacity.value;
  double part = 0;
  for (int i = 0; i < 20; ++i) part = 1 - std::exp(-fills * (1 + part));
  return part;
}

// Bytes of operands that reach the shared cache's far side, where `at_once` groups run. Their tiles
// lie in the most square block, so that they share rows and columns.
double operand_bytes(const TileGrid& g, double at_once, const Level* cache) {
  const double unique = g.unique_rows + g.unique_columns;
  if (cache != nullptr && unique <= cache->capacity.value * cache->instances) return unique;
  const double tiles = g.rows * g.columns, groups = tiles * g.batches * g.splits;
  const double together = std::clamp(at_once, 1.0, tiles);
  double down = std::sqrt(together * g.column_bytes / std::max(g.row_bytes, 1.0));
  down = std::clamp(down, 1.0, g.rows);
  const double across = std::clamp(together / down, 1.0, g.columns);
  down = std::clamp(together / across, 1.0, g.rows);
  const double each = (down * g.row_bytes + across * g.column_bytes) / (down * across);
  return std::clamp(each * groups, unique, groups * (g.row_bytes + g.column_bytes));
}

class Pricing {
 public:
  Pricing(const LaunchWork& w, const Machine& m, Caches caches)
      : w_(w), m_(m), memory_(memories_of(m_)), caches_(caches) {}

  LaunchPrice run() {
    out_.occupancy = groups_at_once(w_, m_);
    if (out_.occupancy < 1) {
      out_.seconds = std::numeric_limits<double>::infinity();
      return out_;
    }
    const double busiest = std::ceil(w_.groups / m_.units);
    at_once_ = std::min(w_.groups, out_.occupancy * m_.units);
    count_bytes();
    const double units = unit_time(busiest);
    out_.far = far_time();
    out_.power = power_time();
    // Code, then parameters come from the shared cache; the last store goes there. Data that no
    // cache holds was not translated lately either: its page's entry comes from far memory.
    out_.start = m_.simt ? 3 * latency(memory_.shared) : 0;
    if (m_.simt && caches_ == Caches::cold) out_.start += latency(memory_.far);
    const std::array<double, 3> parts = {units, out_.shared_cache, out_.far};
    out_.seconds = out_.start + std::max(overlapped(parts), out_.power);
    return out_;
  }

 private:
  bool is_product() const { return w_.grid.row_bytes > 0; }

  // A cache's time for the bytes that are asked of it.
  void ask(const Level& cache, double bytes) {
    out_.shared_bytes = std::max(out_.shared_bytes, bytes);
    out_.shared_cache = std::max(out_.shared_cache, bytes / (cache.read.value * cache.instances));
  }

  // The caches' and far memory's bytes, as they were counted.
  void take_bytes() {
    for (size_t i = 0; i < std::min(w_.moved.size() - 1, memory_.caches.size()); ++i)
      ask(*memory_.caches[i], w_.moved[i].read + w_.moved[i].written);
    out_.far_read = w_.moved.back().read;
    out_.far_written = w_.moved.back().written;
  }

  // Bytes over each boundary: what a memory is asked for is what the nearer ones do not hold.
  void count_bytes() {
    if (!w_.moved.empty()) return take_bytes();
    if (is_product()) {
      double asked = w_.groups * w_.fills;
      for (const Level* cache : memory_.caches) {
        ask(*cache, asked);
        asked = operand_bytes(w_.grid, at_once_, cache) + w_.written;
      }
      out_.far_read =
          memory_.caches.empty() ? operand_bytes(w_.grid, at_once_, nullptr) : asked - w_.written;
    } else {
      const double again = w_.passes - 1, read = w_.group_read * out_.occupancy,
                   moved = read + w_.group_written * out_.occupancy,
                   together = moved * std::min(m_.units, w_.groups);
      double missing = memory_.near == nullptr
                           ? 1
                           : missed(*memory_.near, memory_.near->write_allocates ? moved : read);
      near_hits_ = 1 - missing;
      for (const Level* cache : memory_.caches) {
        ask(*cache, w_.read * (1 + again * missing) + w_.written);
        missing *= missed(*cache, together / cache->instances);
      }
      reread_from_far_ = missing;
      out_.far_read = w_.read * (1 + again * missing);
    }
    out_.far_written = w_.written;
    if (memory_.shared != nullptr && w_.handed_read + w_.handed_written > 0) {
      const double gone =
          missed(*memory_.shared, (w_.handed_read + w_.handed_written) / memory_.shared->instances);
      out_.far_read -= w_.handed_read * (1 - gone);
      out_.far_written -= w_.handed_written * (1 - gone);
    }
    if (caches_ == Caches::warm && memory_.shared != nullptr) {
      const double all = w_.read + w_.written;
      out_.far_read *= missed(*memory_.shared, all / memory_.shared->instances);
    }
  }

  double far_time() {
    const Level& far = *memory_.far;
    out_.far_in = out_.far_read / far.read.value;
    out_.far_out = out_.far_written / far.write.value;
    const double read = out_.far_in, write = out_.far_out;
    const double turning = std::min(read, write) * 2 * (far.read_write_turnaround - 1);
    return std::max({read, write, far.read_write_serialisation * (read + write)}) + turning;
  }

  // The energy of operations and bytes at the power that is left for them. A chip that reaches its
  // cap lowers its clock.
  double power_time() const {
    if (m_.power.value <= 0) return 0;
    const double each =
        w_.products.multiply_adds * product_energy(m_, w_.products.type, w_.products.instruction) +
        w_.operations.multiply_adds * product_energy(m_, ir::DType::f32, "") +
        w_.operations.simple * m_.simple_energy.value +
        w_.operations.divisions * m_.divide_energy.value +
        w_.operations.functions * m_.math_energy.value +
        (memory_.scratch != nullptr ? w_.scratch_traffic * memory_.scratch->energy.value : 0) +
        (memory_.near != nullptr ? w_.near_traffic * memory_.near->energy.value : 0);
    const double shared =
        memory_.shared != nullptr ? out_.shared_bytes * memory_.shared->energy.value : 0;
    const double far = (out_.far_read + out_.far_written) * memory_.far->energy.value;
    return (w_.groups * each + shared + far) / m_.power.value;
  }

  // Seconds that one group keeps each part of its unit busy.
  void busy_of_group() {
    UnitParts& g = out_.group;
    const double rate = product_rate(m_, w_.products.type, w_.products.instruction);
    g.multiply_adds = rate > 0 ? w_.products.multiply_adds / rate : 0;
    const double lanes = m_.native_width;
    g.multiply_adds += w_.operations.multiply_adds * multiply_add_cost(m_, w_.computed) /
                       (m_.fma_rate.value * lanes);
    const double simple = w_.operations.simple / (m_.alu_rate.value * lanes),
                 divisions = w_.operations.divisions / (m_.divide_rate.value * lanes),
                 functions = w_.operations.functions / (m_.math_rate.value * lanes);
    if (m_.alu_pipe == m_.fma_pipe) g.multiply_adds += simple;
    if (m_.divide_pipe == m_.fma_pipe) g.multiply_adds += divisions;
    if (m_.math_pipe == m_.fma_pipe) g.multiply_adds += functions;
    g.other_operations = (m_.math_pipe == m_.fma_pipe ? 0 : functions) +
                         (m_.divide_pipe == m_.fma_pipe ? 0 : divisions) +
                         (m_.alu_pipe == m_.fma_pipe ? 0 : simple);
    g.issue = w_.instructions / m_.issue_rate.value;
    g.scratch = memory_.scratch != nullptr ? w_.scratch_traffic / memory_.scratch->read.value : 0;
    g.near = memory_.near != nullptr ? w_.near_traffic / memory_.near->read.value : 0;
    if (w_.loads > 0) g.port = w_.loads / m_.load_rate.value;
    g.reads_scratch = w_.products.reads_scratch;
    // Alone, each of its waves has one of the unit's issuers, and one part of its pipes.
    const double piped = m_.fma_rate.parts / used_of(m_.fma_rate.parts),
                 issued = m_.issuers / used_of(m_.issuers), n = parts_of_group();
    out_.alone = {piped * g.multiply_adds / n,
                  piped * g.other_operations / n,
                  issued * g.issue / n,
                  g.port / n,
                  g.scratch / n,
                  g.near / n,
                  g.reads_scratch};
  }

  // Groups whose waves meet at barriers work and wait as one; other waves each for themselves.
  bool waves_meet() const { return w_.waits.barriers > 0 || w_.steps.count > 0; }

  double waves() const { return m_.simt ? std::ceil(w_.threads / m_.native_width) : 1; }

  // What works and waits as one: how many of them a group has, and how many of the unit's parts one
  // uses. Waves that an issuer serves by turns compute side by side.
  double parts_of_group() const { return waves_meet() ? 1 : waves(); }
  double used_of(double parts) const { return std::min(parts, waves_meet() ? waves() : 1.0); }

  double latency(const Level* level) const { return level != nullptr ? level->latency.value : 0; }

  // Beside the time that it is busy.
  void waits_of_group(double busy) {
    const Waits& n = w_.waits;
    GroupWaits& out = out_.group_waits;
    const double scratch = latency(memory_.scratch != nullptr ? memory_.scratch : memory_.near);
    const double shared = latency(memory_.shared != nullptr ? memory_.shared : memory_.far);
    const double known_barrier = group_barrier_of(m_, waves());
    const double barrier = waves() <= 1 ? 0 : known_barrier > 0 ? known_barrier : scratch;
    const double reread = near_hits_ * latency(memory_.near) +
                          (1 - near_hits_ - reread_from_far_) * shared +
                          reread_from_far_ * latency(memory_.far);
    // A core's prefetchers and reorder window fetch streams ahead.
    if (m_.simt) out.far = n.far * latency(memory_.far), out.rereads = n.rereads * reread;
    out.near = n.near * latency(memory_.near);
    out.shared = n.shared * shared;
    out.scratch = n.scratch * scratch;
    out.barriers = n.barriers * barrier;
    out.multiply_adds = n.multiply_adds * m_.fma_latency.value;
    // Dependent operations leave slots free, where a wave has nothing else to issue.
    const double issued = out_.group.issue * m_.issuers / waves();
    const MatrixRate* matrix = matrix_rate(m_, w_.products.instruction);
    const double instruction = matrix != nullptr && matrix->latency.value > 0
                                   ? matrix->latency.value
                                   : m_.fma_latency.value;
    out.chain =
        std::max(0.0, w_.chain * m_.fma_latency.value + w_.matrix_chain * instruction - issued);
    if (w_.steps.count > 0) {
      // Operands come from the shared cache, or, where a group is the first to want them, from
      // behind.
      const double first =
          out_.shared_bytes > 0 ? std::min(1.0, out_.far_read / out_.shared_bytes) : 0;
      const double latency_of_load = shared + first * (latency(memory_.far) - shared);
      const double step = busy / w_.steps.count,
                   arrives = latency_of_load / std::max(1.0, w_.steps.ahead);
      out.steps = w_.steps.count * (std::max(0.0, arrives - step) + barrier);
    }
  }

  // The busiest unit runs `groups`, some at once. Full rounds, then a smaller one.
  double unit_time(double groups) {
    busy_of_group();
    waits_of_group(joined(out_.group));
    out_.group_start = m_.simt ? 0 : m_.group_start.value;
    const double r = out_.occupancy;
    const UnitParts& g = out_.group;
    out_.full_rounds = std::floor(groups / r);
    out_.last_groups = groups - out_.full_rounds * r;
    out_.rounds = std::ceil(groups / r);
    out_.unit = {groups * g.multiply_adds, groups * g.other_operations, groups * g.issue,
                 groups * g.port,          groups * g.scratch,          groups * g.near};
    out_.waits = out_.rounds * out_.group_waits.total();
    return out_.full_rounds * round_time(out_, r) + round_time(out_, out_.last_groups);
  }

  const LaunchWork& w_;
  const Machine& m_;
  const Memories memory_;
  const Caches caches_;
  LaunchPrice out_;
  double at_once_ = 1, near_hits_ = 0, reread_from_far_ = 1;
};

}  // namespace

double joined(const UnitParts& p) {
  const double products = p.reads_scratch ? std::max(p.multiply_adds, p.scratch) : p.multiply_adds;
  const std::array<double, 2> memories = {p.reads_scratch ? 0 : p.scratch, p.near};
  const std::array<double, 4> parts = {products, p.other_operations, p.issue,
                                       std::max(p.port, overlapped(memories))};
  return overlapped(parts);
}

// The first group's waits are filled by what the others do.
double round_time(const LaunchPrice& p, double groups) {
  if (groups <= 0) return 0;
  const double first = joined(p.alone) + p.group_start;
  const std::array<double, 2> parts = {
      std::max(0.0, groups * (joined(p.group) + p.group_start) - first), p.group_waits.total()};
  return first + overlapped(parts);
}

double groups_at_once(const LaunchWork& w, const Machine& m) {
  if (!m.simt) return 1;
  const Level* scratch = memories_of(m).scratch;
  const double lanes = m.native_width, waves = std::ceil(w.threads / lanes);
  double groups = std::min(m.resident_groups, std::floor(m.resident_waves / waves));
  if (w.registers_per_thread > 0) {
    const double each = std::ceil(w.registers_per_thread / m.register_granule) * m.register_granule;
    // Registers are a partition's: waves are dealt to partitions whole.
    const double per_partition =
        std::floor(m.vector_registers / m.partitions / std::min(each, m.registers_per_thread_max));
    groups = std::min(groups, std::floor(per_partition * m.partitions / waves));
  }
  if (w.scratch_bytes > 0)
    groups = std::min(
        groups, scratch == nullptr ? 0 : std::floor(scratch->capacity.value / w.scratch_bytes));
  return groups;
}

LaunchPrice price(const LaunchWork& work, const Machine& m, Caches caches) {
  return Pricing(work, m, caches).run();
}

std::string bound_of(const LaunchPrice& p) {
  const std::array<std::pair<const char*, double>, 10> parts = {
      {{"multiply-adds", p.unit.multiply_adds},
       {"operations", p.unit.other_operations},
       {"issue", p.unit.issue},
       {"loads and stores", p.unit.port},
       {"scratchpad", p.unit.scratch},
       {"nearest cache", p.unit.near},
       {"waits", p.waits},
       {"shared cache", p.shared_cache},
       {"far memory", p.far},
       {"power", p.power}}};
  return std::max_element(parts.begin(), parts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace assay::model
