// Launches that run again and again in turn, and what they touch is touched by nothing else
// meanwhile: once two turns in a row have taken the same times, the caches are as they were before
// them, and simulating a third one would change neither values nor times.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/device.h"
#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {

class Remembered {  // invariant: `last_` are the launches that touched memory, in order, none of
                    // which changes what it would do again
 public:
  void forget() { last_.clear(); }

  // What this launch takes, being the next one of a turn.
  std::optional<double> look_up(const Launch& launch, double hz) {
    for (size_t turn = 1; 2 * turn <= last_.size(); ++turn) {
      Entry before = last_[last_.size() - turn];
      if (!before.is(launch, hz) || !repeats(turn) || !apart(turn)) continue;
      const double ticks = before.ticks;
      append(std::move(before));
      return ticks;
    }
    return std::nullopt;
  }
  void note(const Launch& launch, const Code& code, double hz, double ticks) {
    if (!code.touches_memory) return;  // caches do not know of it
    if (!code.repeatable || aliases(launch)) return forget();
    Entry e{launch, hz, ticks, {}};
    for (const ir::Buffer& b : code.buffers)
      if (b.scope == ir::Scope::global) e.writes.push_back(b.written);
    append(std::move(e));
  }

 private:
  static constexpr double kSame = 2e-3;
  static constexpr size_t kLongestConflict = 8;

  struct Entry {
    Launch launch;
    double hz = 0, ticks = 0;
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
    if (last_.size() > 2 * kLongestConflict) last_.erase(last_.begin());
  }
  // The last launches, as many as are a turn, did what those before them did.
  bool repeats(size_t turn) const {
    for (size_t i = last_.size() - turn; i < last_.size(); ++i) {
      const Entry &now = last_[i], &before = last_[i - turn];
      if (!before.is(now.launch, now.hz) || std::abs(now.ticks - before.ticks) > kSame * now.ticks)
        return false;
    }
    return true;
  }
  // None of them writes what another one touches.
  bool apart(size_t turn) const {
    for (size_t i = last_.size() - turn; i < last_.size(); ++i)
      for (size_t j = last_.size() - turn; j < last_.size(); ++j)
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
