#include "simulator/run_queues.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace assay::simulator {

namespace {

using ir::Command;
using Kind = Command::Kind;

// Up to so many units each advances on its own. Of more, units of one class do, as their slowest.
constexpr int kUnitsApart = 16;

constexpr double kNever = std::numeric_limits<double>::infinity();

size_t at(int i) { return static_cast<size_t>(i); }

class QueueRunner {
 public:
  QueueRunner(std::span<const Command> schedule, int units, const QueueCosts& costs,
              const std::function<RunDemand(int)>& demand_of)
      : schedule_(schedule), costs_(costs), demand_of_(demand_of), demands_(schedule.size()) {
    for (const ir::UnitClass& k : ir::unit_classes(schedule, units)) {
      const int parts = units <= kUnitsApart ? k.units() : 1, each = k.units() / parts;
      for (int p = 0; p < parts; ++p)
        lanes_.push_back({k.first + p * each, k.first + (p + 1) * each, k.queue});
    }
  }

  QueueTimes run() {
    for (Lane& lane : lanes_) advance(lane);
    while (true) {
      share();
      double next = kNever;
      for (const Lane& lane : lanes_) next = std::min(next, end_of(lane));
      if (next == kNever) break;
      pass(next);
    }
    std::ranges::stable_sort(out_.slices, {}, &Slice::begin);
    out_.seconds = now_;
    return std::move(out_);
  }

 private:
  enum class State { running, pausing, waiting, at_barrier, over };
  struct Reached {  // by a counter
    int64_t value = 0;
    double time = 0;
  };
  struct Lane {  // units that advance together
    int first = 0, last = 0;
    std::vector<int> queue;
    size_t position = 0;
    State state = State::over;
    double left = 0, speed = 1;  // running: s of work alone; pausing: s
    double since = 0;            // the command's begin
    bool has_run = false;        // and come to nothing else since
    int units() const { return last - first; }
  };

  const Command& command(const Lane& lane) const {
    return schedule_[at(lane.queue[lane.position])];
  }

  double end_of(const Lane& lane) const {
    if (lane.state == State::running || lane.state == State::pausing)
      return now_ + lane.left / lane.speed;
    return kNever;
  }

  // Begins commands up to one that takes time.
  void advance(Lane& lane) {
    for (; lane.position < lane.queue.size(); ++lane.position) {
      const Command& c = command(lane);
      lane.since = now_;
      lane.speed = 1;
      const bool follows = std::exchange(lane.has_run, c.kind == Kind::run);
      switch (c.kind) {
        case Kind::run:
          lane.left = work_of(lane, c);
          if (lane.left <= 0) continue;
          if (follows) lane.left += costs_.between;
          lane.state = State::running;
          return;
        case Kind::signal:
          signal(c.counter, lane.units());
          continue;
        case Kind::wait: {
          const double seen = seen_at(c);
          if (seen <= now_) continue;
          if (seen < kNever)
            pause(lane, seen - now_);
          else
            lane.state = State::waiting;
          return;
        }
        case Kind::barrier:
          lane.state = State::at_barrier;
          if (std::ranges::all_of(lanes_,
                                  [](const Lane& l) { return l.state == State::at_barrier; }))
            for (Lane& l : lanes_) pause(l, costs_.barrier);
          return;
      }
    }
    lane.state = State::over;
  }

  void pause(Lane& lane, double seconds) {
    lane.state = State::pausing;
    lane.left = seconds;
  }

  void signal(int counter, int times) {
    std::vector<Reached>& history = counters_[counter];
    const int64_t value = (history.empty() ? 0 : history.back().value) + times;
    history.push_back({value, now_});
    for (Lane& lane : lanes_)
      if (lane.state == State::waiting && command(lane).counter == counter &&
          command(lane).value <= value)
        pause(lane, costs_.hand_off);
  }

  // When other units see that the counter has the value.
  double seen_at(const Command& wait) {
    for (const Reached& r : counters_[wait.counter])
      if (r.value >= wait.value) return r.time + costs_.hand_off;
    return kNever;
  }

  double work_of(const Lane& lane, const Command& c) {
    std::optional<RunDemand>& demand = demands_[static_cast<size_t>(&c - schedule_.data())];
    if (!demand) demand = demand_of_(static_cast<int>(&c - schedule_.data()));
    int64_t most = 0;
    for (int u = lane.first; u < lane.last; ++u) {
      const auto [begin, end] = ir::groups_of(c, u);
      most = std::max(most, end - begin);
    }
    return demand->seconds * static_cast<double>(most) / demand->most_groups;
  }

  // The part of a memory that a unit of the lane takes alone.
  double wanted(const Lane& lane, size_t memory) const {
    const Command& c = command(lane);
    const RunDemand& d = *demands_[static_cast<size_t>(&c - schedule_.data())];
    return d.bandwidths[memory] / (c.last - c.first);
  }

  void share() {
    for (Lane& lane : lanes_)
      if (lane.state == State::running) lane.speed = 1;
    for (size_t m = 0; m < costs_.memories; ++m) share(m);
  }

  // Each unit gets what it wants, or the part that is left for each of those that want more.
  void share(size_t memory) {
    struct Wish {
      Lane* lane = nullptr;
      double part = 0;
    };
    std::vector<Wish> wishes;
    double all = 0, users = 0;
    for (Lane& lane : lanes_) {
      if (lane.state != State::running) continue;
      wishes.push_back({&lane, wanted(lane, memory)});
      all += wishes.back().part * lane.units();
      users += lane.units();
    }
    if (all <= 1) return;
    std::ranges::stable_sort(wishes, {}, &Wish::part);
    double left = 1;
    for (const Wish& w : wishes) {
      const double part = std::min(w.part, left / users);
      if (w.part > 0) w.lane->speed = std::min(w.lane->speed, part / w.part);
      left -= part * w.lane->units();
      users -= w.lane->units();
    }
  }

  // To the next completion.
  void pass(double until) {
    std::vector<Lane*> done;
    for (Lane& lane : lanes_) {
      if (lane.state != State::running && lane.state != State::pausing) continue;
      if (end_of(lane) <= until) done.push_back(&lane);
      lane.left -= (until - now_) * lane.speed;
    }
    now_ = until;
    for (Lane* lane : done) {
      if (now_ > lane->since)
        out_.slices.push_back(
            {lane->first, lane->last, lane->queue[lane->position], lane->since, now_});
      lane->state = State::over;
      ++lane->position;
    }
    for (Lane* lane : done) advance(*lane);
  }

  std::span<const Command> schedule_;
  const QueueCosts& costs_;
  const std::function<RunDemand(int)>& demand_of_;
  std::vector<std::optional<RunDemand>> demands_;
  std::vector<Lane> lanes_;
  std::map<int, std::vector<Reached>> counters_;
  double now_ = 0;
  QueueTimes out_;
};

}  // namespace

QueueTimes run_queues(std::span<const Command> schedule, int units, const QueueCosts& costs,
                      const std::function<RunDemand(int command)>& demand_of) {
  return QueueRunner(schedule, units, costs, demand_of).run();
}

}  // namespace assay::simulator
