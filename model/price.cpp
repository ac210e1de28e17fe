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

double joined(std::span<const double> parts) { return overlapped(parts); }

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
    // Code, then parameters come from the shared cache; the last store goes there. Data that no
    // cache holds was not translated lately either: its page's entry comes from far memory.
    out_.start = m_.simt ? 3 * latency(memory_.shared) : 0;
    if (m_.simt && caches_ == Caches::cold) out_.start += latency(memory_.far);
    const std::array<double, 3> parts = {units, out_.shared_cache, out_.far};
    out_.seconds = out_.start + joined(parts);
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

  double far_time() const {
    const Level& far = *memory_.far;
    const double read = out_.far_read / far.read.value, write = out_.far_written / far.write.value;
    const double turning = std::min(read, write) * 2 * (far.read_write_turnaround - 1);
    return std::max({read, write, far.read_write_serialisation * (read + write)}) + turning;
  }

  // Seconds that one group keeps each part of its unit busy.
  double busy_of_group() {
    const double rate = product_rate(m_, w_.products.type, w_.products.instruction);
    multiply_adds_ = rate > 0 ? w_.products.multiply_adds / rate : 0;
    const double lanes = m_.native_width;
    multiply_adds_ += w_.operations.multiply_adds / (m_.fma_rate.value * lanes);
    const double simple = w_.operations.simple / (m_.alu_rate.value * lanes),
                 divisions = w_.operations.divisions / (m_.divide_rate.value * lanes),
                 functions = w_.operations.functions / (m_.math_rate.value * lanes);
    if (m_.alu_pipe == m_.fma_pipe) multiply_adds_ += simple;
    if (m_.divide_pipe == m_.fma_pipe) multiply_adds_ += divisions;
    if (m_.math_pipe == m_.fma_pipe) multiply_adds_ += functions;
    others_ = (m_.math_pipe == m_.fma_pipe ? 0 : functions) +
              (m_.divide_pipe == m_.fma_pipe ? 0 : divisions) +
              (m_.alu_pipe == m_.fma_pipe ? 0 : simple);
    issue_ = w_.instructions / m_.issue_rate.value;
    scratch_ = memory_.scratch != nullptr ? w_.scratch_traffic / memory_.scratch->read.value : 0;
    near_ = memory_.near != nullptr ? w_.near_traffic / memory_.near->read.value : 0;
    if (w_.loads > 0) port_ = w_.loads / m_.load_rate.value;
    return busy(m_.issuers);
  }

  // Of so many of a unit's issuers, and of as many parts of its pipes.
  double busy(double used) const {
    const double piped = std::max(1.0, m_.fma_rate.parts / used), issued = m_.issuers / used;
    const std::array<double, 2> memories = {scratch_, near_};
    const std::array<double, 4> parts = {piped * multiply_adds_, piped * others_, issued * issue_,
                                         std::max(port_, joined(memories))};
    return joined(parts);
  }

  // Groups whose waves meet at barriers work and wait as one; other waves each for themselves.
  bool waves_meet() const { return w_.waits.barriers > 0 || w_.steps.count > 0; }

  double waves() const { return m_.simt ? std::ceil(w_.threads / m_.native_width) : 1; }

  // What works and waits as one: how many of them a group has, and the issuers that one uses.
  double parts_of_group() const { return waves_meet() ? 1 : waves(); }
  double issuers_used() const { return std::min(m_.issuers, waves_meet() ? waves() : 1.0); }

  double latency(const Level* level) const { return level != nullptr ? level->latency.value : 0; }

  // Seconds in which a group waits, were it alone on its unit: beside the time that it is busy.
  double waits_of_group(double busy) const {
    const Waits& n = w_.waits;
    const double scratch = latency(memory_.scratch != nullptr ? memory_.scratch : memory_.near);
    const double shared = latency(memory_.shared != nullptr ? memory_.shared : memory_.far);
    const double known_barrier = group_barrier_of(m_, waves());
    const double barrier = waves() <= 1 ? 0 : known_barrier > 0 ? known_barrier : scratch;
    const double reread = near_hits_ * latency(memory_.near) +
                          (1 - near_hits_ - reread_from_far_) * shared +
                          reread_from_far_ * latency(memory_.far);
    // A core's prefetchers and reorder window fetch streams ahead.
    const double loads = m_.simt ? n.far * latency(memory_.far) + n.rereads * reread : 0;
    double all = loads + n.near * latency(memory_.near) + n.shared * shared + n.scratch * scratch +
                 n.barriers * barrier + n.multiply_adds * m_.fma_latency.value;
    // Dependent operations leave slots free, where a wave has nothing else to issue.
    const double issued = issue_ * m_.issuers / waves();
    all += std::max(0.0, w_.chain * m_.fma_latency.value - issued);
    if (w_.steps.count > 0) {
      // Operands come from the shared cache, or, where a group is the first to want them, from
      // behind.
      const double first =
          out_.shared_bytes > 0 ? std::min(1.0, out_.far_read / out_.shared_bytes) : 0;
      const double latency_of_load = shared + first * (latency(memory_.far) - shared);
      const double step = busy / w_.steps.count,
                   arrives = latency_of_load / std::max(1.0, w_.steps.ahead);
      all += w_.steps.count * (std::max(0.0, arrives - step) + barrier);
    }
    return all;
  }

  // The busiest unit runs `groups`, some at once. Full rounds, then a smaller one.
  double unit_time(double groups) {
    const double busy_all = busy_of_group(), waits = waits_of_group(busy_all);
    const double start = m_.simt ? 0 : m_.group_start.value;
    // Alone on a unit.
    const double one = busy(issuers_used()) / parts_of_group();
    // The first one's waits are filled by what the others do.
    const auto round = [&](double n) {
      if (n <= 0) return 0.0;
      const std::array<double, 2> parts = {std::max(0.0, n * (busy_all + start) - one - start),
                                           waits};
      return one + start + joined(parts);
    };
    const double r = out_.occupancy, full = std::floor(groups / r);
    out_.rounds = std::ceil(groups / r);
    out_.multiply_adds = groups * multiply_adds_;
    out_.other_operations = groups * others_;
    out_.issue = groups * issue_;
    out_.scratch = groups * scratch_;
    out_.near = groups * near_;
    out_.port = groups * port_;
    out_.waits = out_.rounds * waits;
    return full * round(r) + round(groups - full * r);
  }

  const LaunchWork& w_;
  const Machine& m_;
  const Memories memory_;
  const Caches caches_;
  LaunchPrice out_;
  double at_once_ = 1, near_hits_ = 0, reread_from_far_ = 1;
  double multiply_adds_ = 0, others_ = 0, issue_ = 0, scratch_ = 0, near_ = 0;
  double port_ = 0;  // of loads and stores, whatever they find
};

}  // namespace

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
  const std::array<std::pair<const char*, double>, 9> parts = {{{"multiply-adds", p.multiply_adds},
                                                                {"operations", p.other_operations},
                                                                {"issue", p.issue},
                                                                {"loads and stores", p.port},
                                                                {"scratchpad", p.scratch},
                                                                {"nearest cache", p.near},
                                                                {"waits", p.waits},
                                                                {"shared cache", p.shared_cache},
                                                                {"far memory", p.far}}};
  return std::max_element(parts.begin(), parts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace assay::model
