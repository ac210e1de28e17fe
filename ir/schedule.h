// What the queue of each unit of a plan holds, in order (Rammer, OSDI'20, section 3: rTasks on
// virtual execution units), and which commands are over before which begin.
//
// A command stands in the queues of a range of units. A counter begins at 0. At `signal` a unit
// adds 1 to it, when all before it in its queue is over and visible to others. At `wait` it goes on
// when the counter has reached a value. Counters only grow, so one order in which the queues can
// run shows that they end in every order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/result.h"

namespace assay::ir {

struct Plan;

// Groups [begin, end) of a launch on a unit.
struct Queue {
  int unit = 0;
  int64_t begin = 0, end = 0;
  bool operator==(const Queue&) const = default;
};

struct Command {
  enum class Kind {
    run,     // groups [begin, end) of a step, dealt evenly to the units, in contiguous parts
    signal,  // adds 1 to a counter
    wait,    // until a counter has reached a value
    barrier  // of all units
  };
  Kind kind = Kind::run;
  int first = 0, last = 0;     // units [first, last); of a barrier all
  int step = -1;               // run
  int64_t begin = 0, end = 0;  // run: groups
  int counter = -1;            // signal, wait
  int64_t value = 0;           // wait
  bool operator==(const Command&) const = default;
};

// Groups of a command's step that a unit of its range runs: [first, second).
std::pair<int64_t, int64_t> groups_of(const Command& run, int unit);

// The plan's schedule. Where it has none: all steps, each dealt evenly to all units, with a barrier
// behind each phase, or else behind each step in their order.
std::vector<Command> schedule_of(const Plan& plan);

// Units with the same commands, [first, last).
struct UnitClass {
  int first = 0, last = 0;
  std::vector<int> queue;  // positions in the schedule
  int units() const { return last - first; }
};
std::vector<UnitClass> unit_classes(std::span<const Command> schedule, int units);
size_t count_unit_classes(std::span<const Command> schedule, int units);

struct ScheduleFault {
  int command = -1;  // position in the schedule; -1: of all of it
  Diag diag;
};

// Which commands are over before which begin, in all orders in which the queues can run: vector
// clocks (Fidge 1988, Mattern 1989) per class of units. What a wait proves are those signals
// without which its counter can not reach the value.
class Order {
 public:
  // nullopt: a unit waits for ever, as `stuck` says if asked. Pre: units and counters of the
  // commands are in range.
  static std::optional<Order> of(std::span<const Command> schedule, int units,
                                 ScheduleFault* stuck = nullptr);

  const std::vector<UnitClass>& classes() const { return classes_; }
  // Is all of command `a` over, on each of its units, before `b` begins on any of its own?
  bool before(int a, int b) const;
  // Is command `a` over on unit `x` before `b` begins on unit `y`?
  bool before(int a, int x, int b, int y) const;

  // Several commands at once, such as all that touch a tensor.
  struct Span {
    std::vector<int> last;   // per class: position of the last of them; -1: none
    std::vector<int> known;  // per class: what is over before any of them begins
    int only = -1;           // the class of all of them; -1: there are several
    int first = -1;          // position of the first of them in it
  };
  Span span_of(std::span<const int> commands) const;
  // Are all of `a` over before any of `b` begins?
  bool before(const Span& a, const Span& b) const;

 private:
  struct Place {  // of a command in the queue of a class
    int unit_class = -1, position = -1, clock = -1;
  };
  friend class OrderBuilder;
  const Place* place_on(int command, int unit_class) const;
  int class_of(int unit) const;

  std::vector<UnitClass> classes_;
  std::vector<std::vector<Place>> places_;  // per command
  // Per clock and class: commands of its queue that all of its units have behind them.
  std::vector<std::vector<int>> clocks_;
};

// What is wrong with the plan's schedule: a group that runs twice or never, units that wait for
// ever, steps that touch the same bytes at once. Each names the steps. Part of verify(). Pre: the
// plan's tensors and arguments are sound.
std::vector<ScheduleFault> schedule_faults(const Plan& plan);

}  // namespace assay::ir
