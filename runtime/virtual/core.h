// When operations begin and end on one unit.
//
// Vectors (processors): operations are taken in program order, `issue` a tick, as long as no more
// than a window of them is under way; each begins when its operands are there and its pipe has
// room. Threads (SIMT units): a wave issues in order; waves of a partition share its issue and its
// pipes, and the one that can go first goes first (launcher.h). Those of one group go in step,
// spread over partitions that follow each other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/virtual/chip.h"
#include "runtime/virtual/code.h"
#include "runtime/virtual/defaults.h"

namespace assay::runtime::simulated {

struct Unit {                              // what its waves, or its one stream of vectors, share
  std::vector<double> front;               // per partition: the next issue
  std::vector<std::vector<double>> pipes;  // per partition: when each is free again
  double near_read = 0, near_write = 0;    // the first cache's ports
  double own_memory = 0;                   // the groups' own memory
  std::vector<double> window;              // when operations of the last window retire
  size_t place = 0;
  double retired = 0;

  void restart(const Chip& chip);
  void shift(double by);
};

class Core {  // invariant: one stream of operations on a unit; time never goes back
 public:
  // `spread`: partitions that its waves lie on.
  Core(const Chip& chip, Unit& unit, int partition, int spread)
      : chip_(chip),
        unit_(&unit),
        partition_(static_cast<size_t>(partition)),
        spread_(static_cast<size_t>(spread)),
        part_(1.0 / spread) {
    own_ = !chip.threads;
    tick_ = 1 / chip.modes.back().issue;
  }

  // The time at which an operation begins whose operands are there at `ready`.
  double begin(const Op& op, double ready) {
    const double dispatch = room();
    double start = std::max(dispatch, ready);
    if (op.pipe >= 0) start = take_pipe(static_cast<size_t>(op.pipe), op.busy, dispatch, start);
    issue(op.issues, own_ ? dispatch : start);
    return start;
  }
  // The first cache's port hands over for so many ticks.
  double pass(double& port, double ticks, double start) {
    const double passed = take(port, ticks, own_ ? dispatched_ : start, start);
    time_ = std::max(time_, passed);  // a wave goes on when its access is on its way
    return passed;
  }
  void end(double done) {
    ++operations_;
    if (!own_) {
      last_ = std::max(last_, done);
      under_way_[turn_] = done;
      if (++turn_ == under_way_.size()) turn_ = 0;
      return;
    }
    unit_->retired = std::max(unit_->retired, done);
    unit_->window[unit_->place] = unit_->retired;
    if (++unit_->place == unit_->window.size()) unit_->place = 0;
  }
  // Instructions that nobody waits for.
  void control(double issues) {
    if (issues <= 0) return;
    const double at = std::max(room(), own_ ? 0.0 : time_);
    issue(issues, at);
    if (own_) end(at + tick_ * issues);
  }

  double time() const { return own_ ? unit_->front[partition_] : time_; }
  double has_room() const { return under_way_[turn_]; }  // a wave's window, from then on
  double finished() const {
    return own_ ? std::max(unit_->front[partition_], unit_->retired) : std::max(time_, last_);
  }
  // Nothing begins before.
  void wait_until(double at) {
    if (own_)
      unit_->front[partition_] = std::max(unit_->front[partition_], at);
    else
      time_ = std::max(time_, at);
  }
  void shift(double by) {
    time_ += by;
    last_ += by;
    for (double& t : under_way_) t += by;
    if (own_) unit_->shift(by);
  }
  // Of a group's waves only a part has lanes that go this way.
  void take_part(double of_waves) { part_ = of_waves / static_cast<double>(spread_); }
  int64_t operations() const { return operations_; }  // so far
  Unit& unit() { return *unit_; }

 private:
  double room() const {
    double front = unit_->front[partition_];
    for (size_t k = 1; k < spread_; ++k) front = std::max(front, unit_->front[on(k)]);
    return own_ ? std::max(front, unit_->window[unit_->place])
                : std::max({front, time_, under_way_[turn_]});
  }
  void issue(double issues, double at) {
    dispatched_ = at;
    const double next = at + issues * part_ * tick_;
    for (size_t k = 0; k < spread_; ++k) unit_->front[on(k)] = next;
    if (!own_) time_ = next;
  }
  // A processor looks ahead: what waits for its operands does not hold up what comes after it, so
  // room on a pipe is taken from when the operation was dispatched. A wave holds it from when it
  // begins.
  double take(double& free, double busy, double dispatch, double start) {
    if (own_) {
      free = std::max(free, dispatch) + busy;
      return std::max(start, free - busy);
    }
    start = std::max(start, free);
    free = start + busy;
    return start;
  }
  // A pipe that each partition has works for its own waves only.
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
  bool own_ = true;  // the unit is this stream's alone
  double tick_ = 1;  // of one issue
  double part_ = 1;  // of an operation's work, that one partition has
  double time_ = 0, last_ = 0, dispatched_ = 0;
  std::array<double, defaults::kWaveWindow> under_way_{};  // when a wave's last operations are done
  size_t turn_ = 0;
  int64_t operations_ = 0;
};

inline void Unit::restart(const Chip& chip) {
  const auto partitions = static_cast<size_t>(chip.partitions);
  front.assign(partitions, 0);
  pipes.assign(partitions, std::vector<double>(chip.pipes.size(), 0));
  near_read = near_write = own_memory = retired = 0;
  window.assign(static_cast<size_t>(chip.threads ? 1 : defaults::kWindow),
                0);  // waves have one of their own
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
