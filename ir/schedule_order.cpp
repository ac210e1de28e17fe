// Runs the queues once, until they wait or end, and keeps what each command knows to be over.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/schedule.h"

namespace assay::ir {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

}  // namespace

class OrderBuilder {
 public:
  OrderBuilder(std::span<const Command> schedule, int units) : schedule_(schedule) {
    order_.classes_ = unit_classes(schedule, units);
    order_.places_.resize(schedule.size());
    for (const UnitClass& k : classes())
      for (int p = 0; p < static_cast<int>(k.queue.size()); ++p) {
        const Command& c = schedule[at(k.queue[at(p)])];
        const int id = static_cast<int>(&k - classes().data());
        if (c.kind == Command::Kind::signal) signals_[c.counter].push_back({id, p, k.units(), -1});
      }
    order_.clocks_.push_back(std::vector<int>(classes().size(), 0));
    progress_.resize(classes().size());
  }

  std::optional<Order> run(ScheduleFault* fault) {
    ready_.resize(classes().size());
    for (size_t k = 0; k < ready_.size(); ++k) ready_[k] = static_cast<int>(k);
    while (!ready_.empty()) {
      const int k = ready_.back();
      ready_.pop_back();
      advance(k);
    }
    for (int k = 0; k < static_cast<int>(classes().size()); ++k)
      if (at(progress_[at(k)].position) < classes()[at(k)].queue.size()) {
        if (fault != nullptr) *fault = stuck(k);
        return std::nullopt;
      }
    return std::move(order_);
  }

 private:
  struct Progress {
    int position = 0, clock = 0;
  };
  struct Signal {
    int unit_class = -1, position = -1;
    int units = 0;
    int clock = -1;  // of the unit that signals; -1: it has not yet
  };

  const std::vector<UnitClass>& classes() const { return order_.classes_; }

  // Until the class waits or ends.
  void advance(int k) {
    Progress& now = progress_[at(k)];
    const UnitClass& c = classes()[at(k)];
    while (at(now.position) < c.queue.size()) {
      const int id = c.queue[at(now.position)];
      const Command& command = schedule_[at(id)];
      if (command.kind == Command::Kind::wait && counters_[command.counter] < command.value) {
        waiting_[command.counter].push_back(k);
        return;
      }
      if (command.kind == Command::Kind::barrier) {
        if (++arrived_ == static_cast<int>(classes().size())) open_barrier();
        return;
      }
      if (command.kind == Command::Kind::wait) now.clock = clock_after(now.clock, command);
      order_.places_[at(id)].push_back({k, now.position, now.clock});
      if (command.kind == Command::Kind::signal) signal(k, command);
      ++now.position;
    }
  }

  void signal(int k, const Command& command) {
    for (Signal& s : signals_[command.counter])
      if (s.unit_class == k && s.position == progress_[at(k)].position)
        s.clock = progress_[at(k)].clock;
    counters_[command.counter] += classes()[at(k)].units();
    std::vector<int>& woken = waiting_[command.counter];
    ready_.insert(ready_.end(), woken.begin(), woken.end());
    woken.clear();
  }

  // Behind a barrier all is over that stands before it.
  void open_barrier() {
    std::vector<int> clock;
    for (Progress& p : progress_) clock.push_back(++p.position);
    order_.clocks_.push_back(std::move(clock));
    arrived_ = 0;
    for (int k = 0; k < static_cast<int>(classes().size()); ++k) {
      Progress& p = progress_[at(k)];
      p.clock = static_cast<int>(order_.clocks_.size()) - 1;
      const int id = classes()[at(k)].queue[at(p.position - 1)];
      order_.places_[at(id)].push_back({k, p.position - 1, p.clock});
      ready_.push_back(k);
    }
  }

  // What is over once the counter has the value: what the unit knew, and all before each signal
  // without which it could not have it.
  int clock_after(int before, const Command& wait) {
    std::vector<Signal>& all = signals_[wait.counter];
    int64_t total = 0;
    for (const Signal& s : all) total += s.units;
    std::vector<int> clock = order_.clocks_[at(before)];
    for (const Signal& s : all) {
      int64_t later = 0;  // of one unit, this signal included
      for (const Signal& o : all) later += o.unit_class == s.unit_class && o.position >= s.position;
      if (total - later >= wait.value) continue;
      clock[at(s.unit_class)] = std::max(clock[at(s.unit_class)], s.position + 1);
      const std::vector<int>& known = order_.clocks_[at(s.clock)];
      for (size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], known[k]);
    }
    if (clock == order_.clocks_[at(before)]) return before;
    order_.clocks_.push_back(std::move(clock));
    return static_cast<int>(order_.clocks_.size()) - 1;
  }

  ScheduleFault stuck(int k) const {
    const UnitClass& c = classes()[at(k)];
    const int position = progress_[at(k)].position;
    const int id = c.queue[at(position)];
    const Command& command = schedule_[at(id)];
    std::string behind;
    for (size_t p = at(position); p < c.queue.size() && behind.empty(); ++p)
      if (const Command& next = schedule_[at(c.queue[p])]; next.kind == Command::Kind::run)
        behind = fmt::format(", before it runs step {}", next.step);
    if (command.kind == Command::Kind::barrier)
      return {id, error(fmt::format("unit {} waits for ever at a barrier{}", c.first, behind))};
    const auto reached = counters_.find(command.counter);
    return {id,
            error(fmt::format("unit {} waits for ever for counter {} to reach {}{}", c.first,
                              command.counter, command.value, behind),
                  fmt::format("it reaches {}", reached == counters_.end() ? 0 : reached->second))};
  }

  std::span<const Command> schedule_;
  Order order_;
  std::map<int, std::vector<Signal>> signals_;
  std::map<int, int64_t> counters_;
  std::map<int, std::vector<int>> waiting_;
  std::vector<Progress> progress_;
  std::vector<int> ready_;
  int arrived_ = 0;
};

std::optional<Order> Order::of(std::span<const Command> schedule, int units, ScheduleFault* stuck) {
  return OrderBuilder(schedule, units).run(stuck);
}

const Order::Place* Order::place_on(int command, int unit_class) const {
  for (const Place& p : places_[at(command)])
    if (p.unit_class == unit_class) return &p;
  return nullptr;
}

int Order::class_of(int unit) const {
  const auto next = std::ranges::upper_bound(classes_, unit, {}, &UnitClass::first);
  return static_cast<int>(next - classes_.begin()) - 1;
}

bool Order::before(int a, int b) const {
  for (const Place& of_a : places_[at(a)])
    for (const Place& of_b : places_[at(b)]) {
      const bool same_unit = of_a.unit_class == of_b.unit_class &&
                             classes_[at(of_a.unit_class)].units() == 1 &&
                             of_a.position < of_b.position;
      if (!same_unit && clocks_[at(of_b.clock)][at(of_a.unit_class)] <= of_a.position) return false;
    }
  return true;
}

bool Order::before(int a, int x, int b, int y) const {
  const Place *of_a = place_on(a, class_of(x)), *of_b = place_on(b, class_of(y));
  if (of_a == nullptr || of_b == nullptr) return true;
  if (x == y && of_a->position < of_b->position) return true;
  return clocks_[at(of_b->clock)][at(of_a->unit_class)] > of_a->position;
}

Order::Span Order::span_of(std::span<const int> commands) const {
  Span out{std::vector<int>(classes_.size(), -1), {}, -1, -1};
  bool several = false;
  for (const int c : commands)
    for (const Place& p : places_[at(c)]) {
      int& last = out.last[at(p.unit_class)];
      last = std::max(last, p.position);
      const std::vector<int>& clock = clocks_[at(p.clock)];
      if (out.known.empty()) {
        out.known = clock;
        out.only = p.unit_class;
        out.first = p.position;
        continue;
      }
      for (size_t k = 0; k < clock.size(); ++k) out.known[k] = std::min(out.known[k], clock[k]);
      several = several || p.unit_class != out.only;
      out.first = std::min(out.first, p.position);
    }
  if (several) out.only = -1;
  return out;
}

bool Order::before(const Span& a, const Span& b) const {
  if (b.known.empty()) return true;
  for (int k = 0; k < static_cast<int>(classes_.size()); ++k) {
    if (a.last[at(k)] < 0 || b.known[at(k)] > a.last[at(k)]) continue;
    const bool same_unit = b.only == k && classes_[at(k)].units() == 1 && b.first > a.last[at(k)];
    if (!same_unit) return false;
  }
  return true;
}

}  // namespace assay::ir
