// When operations begin and end on one unit.
//
// Vectors (processors): operations are dispatched in program order, `issue` per tick, while the
// reorder window has room. Each begins when its operands are ready and its pipe is free.
// Threads (SIMT units): a wave issues in order. Waves of a partition share its issue slots and
// pipes, and the first ready one issues (launcher.h). Waves of one group run in lockstep on
// consecutive partitions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/virtual/chip.h"
#include "runtime/virtual/code.h"
#include "runtime/virtual/defaults.h"

namespace assay::runtime::simulated {

struct Unit {                              // shared by its waves, or of its one stream of vectors
  std::vector<double> front;               // per partition: the next issue
  std::vector<std::vector<double>> pipes;  // per partition: when each is free again
  double near_read = 0, near_write = 0;    // the first cache's ports
  double own_memory = 0;                   // the group memory's port
  std::vector<double> window;              // when operations of the last window retire
  size_t place = 0;
  double retired = 0;

  void restart(const Chip& chip);
  void shift(double by);
};

class Core {  // invariant: one stream of operations on a unit; time never goes back
 public:
  // `spread`: number of partitions that its waves occupy.
  Core(const Chip& chip, Unit& unit, int partition, int spread)
      : chip_(chip),
        unit_(&unit),
        partition_(static_cast<size_t>(partition)),
        spread_(static_cast<size_t>(spread)),
        part_(1.0 / spread) {
    exclusive_ = !chip.threads;
    tick_ = 1 / chip.modes.back().issue;
  }

  // When an operation begins whose operands are ready at `ready`.
  double begin(const Op& op, double ready) {
    const double dispatch = room();
    double start = std::max(dispatch, ready);
    if (op.pipe >= 0) start = take_pipe(static_cast<size_t>(op.pipe), op.busy, dispatch, start);
    issue(op.issues, exclusive_ ? dispatch : start);
    return start;
  }
  // Occupies a port of the first cache or of group memory for `ticks`.
  double pass(double& port, double ticks, double start) {
    const double passed = take(port, ticks, exclusive_ ? dispatched_ : start, start);
    time_ = std::max(time_, passed);  // a wave continues once its access is issued
    return passed;
  }
  // Occupies another pipe than the operation's own, from `ready` on. Returns when it is done.
  double convert(const Op& op, double ready) {
    if (op.converts_on < 0) return ready;
    return take_pipe(static_cast<size_t>(op.converts_on), op.converting,
                     exclusive_ ? dispatched_ : ready, ready) +
           op.converting;
  }
  void end(double done) {
    ++operations_;
    if (!exclusive_) {
      last_ = std::max(last_, done);
      in_flight_[slot_] = done;
      if (++slot_ == in_flight_.size()) slot_ = 0;
      return;
    }
    unit_->retired = std::max(unit_->retired, done);
    unit_->window[unit_->place] = unit_->retired;
    if (++unit_->place == unit_->window.size()) unit_->place = 0;
  }
  // Instructions on which nothing depends.
  void control(double issues) {
    if (issues <= 0) return;
    const double at = std::max(room(), exclusive_ ? 0.0 : time_);
    issue(issues, at);
    if (exclusive_) end(at + tick_ * issues);
  }

  double time() const { return exclusive_ ? unit_->front[partition_] : time_; }
  double has_room() const { return in_flight_[slot_]; }  // when a wave's window has room
  double finished() const {
    return exclusive_ ? std::max(unit_->front[partition_], unit_->retired) : std::max(time_, last_);
  }
  // Nothing begins before `at`.
  void wait_until(double at) {
    if (exclusive_)
      unit_->front[partition_] = std::max(unit_->front[partition_], at);
    else
      time_ = std::max(time_, at);
  }
  void shift(double by) {
    time_ += by;
    last_ += by;
    for (double& t : in_flight_) t += by;
    if (exclusive_) unit_->shift(by);
  }
  // Only this part of a group's waves has active lanes.
  void take_part(double of_waves) { part_ = of_waves / static_cast<double>(spread_); }
  int64_t operations() const { return operations_; }  // so far
  Unit& unit() { return *unit_; }

 private:
  double room() const {
    double front = unit_->front[partition_];
    for (size_t k = 1; k < spread_; ++k) front = std::max(front, unit_->front[on(k)]);
    return exclusive_ ? std::max(front, unit_->window[unit_->place])
                      : std::max({front, time_, in_flight_[slot_]});
  }
  void issue(double issues, double at) {
    dispatched_ = at;
    const double next = at + issues * part_ * tick_;
    for (size_t k = 0; k < spread_; ++k) unit_->front[on(k)] = next;
    if (!exclusive_) time_ = next;
  }
  // A processor executes out of order: an operation that waits for operands does not block later
  // ones. So it reserves its pipe from its dispatch on. A wave reserves it when it begins.
  double take(double& free, double busy, double dispatch, double start) {
    if (exclusive_) {
      free = std::max(free, dispatch) + busy;
      return std::max(start, free - busy);
    }
    start = std::max(start, free);
    free = start + busy;
    return start;
  }
  // A pipe per partition serves that partition's waves only.
  double take_pipe(size_t p, double busy, double dispatch, double start) {
    if (!chip_.pipe_per_partition[p])
      return take(unit_->pipes[0][p], busy * part_ * static_cast<double>(spread_), dispatch, start);
    if (spread_ == 1) return take(unit_->pipes[partition_][p], busy * part_, dispatch, start);
    for (size_t k = 0; k < spread_; ++k) start = std::max(start, unit_->pipes[on(k)][p]);
    for (size_t k = 0; k < spread_; ++k) unit_->pipes[on(k)][p] = start + busy * part_;
    return start;
  }
  size_t on(size_t k) const {
    return spread_ == 1 ? partition_ : (partition_ + k) % unit_->front.size();
  }

  const Chip& chip_;
  Unit* unit_;
  size_t partition_, spread_;
  bool exclusive_ = true;  // the stream has the unit to itself: a processor
  double tick_ = 1;        // of one issue
  double part_ = 1;        // of an operation's work, per partition
  double time_ = 0, last_ = 0, dispatched_ = 0;
  std::array<double, defaults::kWaveWindow> in_flight_{};  // ends of a wave's last operations
  size_t slot_ = 0;
  int64_t operations_ = 0;
};

inline void Unit::restart(const Chip& chip) {
  const auto partitions = static_cast<size_t>(chip.partitions);
  front.assign(partitions, 0);
  pipes.assign(partitions, std::vector<double>(chip.pipes.size(), 0));
  near_read = near_write = own_memory = retired = 0;
  window.assign(static_cast<size_t>(chip.threads ? 1 : defaults::kWindow),
                0);  // waves have windows of their own
  place = 0;
}

inline void Unit::shift(double by) {
  for (double& t : front) t += by;
  for (auto& p : pipes)
    for (double& t : p) t += by;
  for (double* t : {&near_read, &near_write, &own_memory, &retired}) *t += by;
  for (double& t : window) t += by;
}

}  // namespace assay::runtime::simulated
