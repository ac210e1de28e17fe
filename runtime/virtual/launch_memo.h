// Memoizes a periodic sequence of launches. Once two periods took the same times and nothing else
// accessed their memory, caches are in the same state after each period. Simulating a third one
// would change neither values nor times.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/device.h"
#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {

class LaunchMemo {  // invariant: last_ are the last launches that accessed memory, in order, all of
                    // them repeatable
 public:
  void clear() { last_.clear(); }

  struct Took {
    double ticks = 0;
    std::vector<Crossing> moved;
  };

  // What the launch took, if it is the next one of a memoized period.
  std::optional<Took> look_up(const Launch& launch, double hz) {
    for (size_t period = 1; 2 * period <= last_.size(); ++period) {
      Entry before = last_[last_.size() - period];
      if (!before.is(launch, hz) || !repeats(period) || !independent(period)) continue;
      Took took = before.took;
      append(std::move(before));
      return took;
    }
    return std::nullopt;
  }
  void note(const Launch& launch, const Code& code, double hz, Took took) {
    if (!code.touches_memory) return;  // it does not change the caches
    if (!code.repeatable || aliases(launch)) return clear();
    Entry e{launch, hz, std::move(took), {}};
    for (const ir::Buffer& b : code.buffers)
      if (b.scope == ir::Scope::global) e.writes.push_back(b.written);
    append(std::move(e));
  }

 private:
  static constexpr double kSame = 2e-3;
  static constexpr size_t kLongestPeriod = 8;

  struct Entry {
    Launch launch;
    double hz = 0;
    Took took;
    std::vector<bool> writes;  // its arguments

    bool is(const Launch& l, double at) const {
      const auto same = [](const BufferRange& a, const BufferRange& b) {
        return a.buffer == b.buffer && a.offset == b.offset;
      };
      return l.kernel == launch.kernel && at == hz && l.queues == launch.queues &&
             std::ranges::equal(l.arguments, launch.arguments, same);
    }
    bool writes_what(const Entry& other) const {
      for (size_t i = 0; i < launch.arguments.size(); ++i)
        for (const BufferRange& b : other.launch.arguments)
          if (writes[i] && b.buffer == launch.arguments[i].buffer) return true;
      return false;
    }
  };

  void append(Entry e) {
    last_.push_back(std::move(e));
    if (last_.size() > 2 * kLongestPeriod) last_.erase(last_.begin());
  }
  // The last two periods are the same launches and took the same times.
  bool repeats(size_t period) const {
    for (size_t i = last_.size() - period; i < last_.size(); ++i) {
      const Entry &now = last_[i], &before = last_[i - period];
      if (!before.is(now.launch, now.hz) ||
          std::abs(now.took.ticks - before.took.ticks) > kSame * now.took.ticks)
        return false;
    }
    return true;
  }
  // No launch of the period writes what another one accesses.
  bool independent(size_t period) const {
    for (size_t i = last_.size() - period; i < last_.size(); ++i)
      for (size_t j = last_.size() - period; j < last_.size(); ++j)
        if (!last_[i].is(last_[j].launch, last_[j].hz) && last_[i].writes_what(last_[j]))
          return false;
    return true;
  }
  static bool aliases(const Launch& launch) {
    for (size_t i = 0; i < launch.arguments.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (launch.arguments[i].buffer == launch.arguments[j].buffer) return true;
    return false;
  }

  std::vector<Entry> last_;
};

}  // namespace assay::runtime::simulated
