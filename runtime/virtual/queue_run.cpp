#include "runtime/virtual/queue_run.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "runtime/queue_table.h"
#include "runtime/virtual/residency.h"

namespace assay::runtime::simulated {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int64_t kRun = 0, kSignal = 1;  // of rows; the third is a wait
constexpr int64_t kRowWords = 4;

QueueTable table_of(std::span<const ir::Command> schedule, size_t jobs, int resident) {
  std::vector<std::vector<int64_t>> numbers;
  for (size_t j = 0; j < jobs; ++j) numbers.push_back({static_cast<int64_t>(j)});
  return queue_table(schedule, numbers, {resident, false});
}

Needs largest_of(const Chip& chip, std::span<const Job> jobs) {
  Needs out;
  for (const Job& j : jobs) out = largest(out, needs_of(chip, *j.code));
  return out;
}

// Stream `unit * resident + place` is the place-th group that stays on the unit.
class QueueRun final : public Streams {
 public:
  QueueRun(Machine& machine, std::span<const Job> jobs, std::span<const ir::Command> schedule,
           int resident, const QueueCosts& costs)
      : Streams(machine, jobs, true),
        costs_(costs),
        resident_(resident),
        table_(table_of(schedule, jobs.size(), resident)),
        needs_(largest_of(machine.chip, jobs)),
        counters_(static_cast<size_t>(table_.counters)),
        at_work_(table_.commands.size(), 0) {
    for (const std::vector<int>& rows : table_.commands) over_.emplace_back(rows.size(), 0.0);
    for (size_t u = 0; u < table_.commands.size(); ++u)
      for (int place = 0; place < resident; ++place) {
        add(static_cast<int>(u));
        members_.emplace_back();
      }
    for (size_t id = 0; id < members_.size(); ++id) ready_.push_back({id, 0});
    go_on();
  }

  QueueOutcome outcome() {
    QueueOutcome out{run(), {}};
    for (size_t id = 0; id < members_.size() && out.all.fault.empty(); ++id)
      ASSAY_CHECK(members_[id].row == rows_of(id));
    for (size_t u = 0; u < over_.size(); ++u) {
      add_slices(static_cast<int>(u), out.slices);
      if (!over_[u].empty()) out.all.ticks = std::max(out.all.ticks, over_[u].back());
    }
    return out;
  }

 private:
  struct Counter {
    std::vector<double> times;  // of its signals, ascending
    std::vector<size_t> waiting;
    double reaches(int64_t value) const {
      const auto n = static_cast<size_t>(std::max<int64_t>(value, 0));
      return n == 0 ? -kNever : n <= times.size() ? times[n - 1] : kNever;
    }
  };
  struct Member {  // of a unit
    size_t row = 0;
    double came = 0;              // to the row
    int64_t group = 0, last = 0;  // of the row's run: the next one, and the end
  };
  struct Ready {
    size_t id;
    double at;
  };

  size_t unit_of(size_t id) const { return id / static_cast<size_t>(resident_); }
  size_t rows_of(size_t id) const { return table_.commands[unit_of(id)].size(); }
  const int64_t* row(size_t id) const {
    return &table_.words[static_cast<size_t>(table_.words[unit_of(id)]) +
                         kRowWords * members_[id].row];
  }
  Counter& counter(int64_t n) { return counters_[static_cast<size_t>(n)]; }

  void ended(size_t id, double at) override {
    Member& m = members_[id];
    if (m.group < m.last) return start_next(id, at);
    --at_work_[unit_of(id)];
    leave_row(id, at);
    ready_.push_back({id, at});
    go_on();
  }

  // Members go on in the order in which they became ready.
  void go_on() {
    while (!ready_.empty()) {
      const Ready r = ready_.front();
      ready_.pop_front();
      advance(r.id, r.at);
    }
    const auto active =
        static_cast<int>(std::ranges::count_if(at_work_, [](int n) { return n > 0; }));
    if (active > 0 && active != active_) machine_.hierarchy.share_among(active_ = active);
  }

  void leave_row(size_t id, double at) {
    double& over = over_[unit_of(id)][members_[id].row++];
    over = std::max(over, at);
  }

  // Up to a row that takes time, or that waits for others.
  void advance(size_t id, double at) {
    Member& m = members_[id];
    for (; m.row < rows_of(id); leave_row(id, at)) {
      m.came = at;
      const int64_t* r = row(id);
      if (r[0] == kRun) {
        m.group = r[2] + static_cast<int64_t>(id) % resident_;
        m.last = r[3];
        if (m.group >= m.last) continue;
        ++at_work_[unit_of(id)];
        return start_next(id, at);
      }
      if (r[0] == kSignal) {
        signal(r[1], r[2], at);
        continue;
      }
      const double seen = seen_at(id);
      if (seen == kNever) return counter(r[1]).waiting.push_back(id);
      at = std::max(at, seen);
    }
  }

  void start_next(size_t id, double at) {
    Member& m = members_[id];
    const auto job = static_cast<int>(table_.words[static_cast<size_t>(row(id)[1])]);
    const int place = static_cast<int>(id) % resident_;
    begin(id, job, chip_.threads ? partition_of(chip_, needs_, place) : 0, m.group, at);
    m.group += resident_;
  }

  // `own` >= 0: the unit's groups count themselves there, and the last one signals.
  void signal(int64_t number, int64_t own, double at) {
    if (own >= 0) {
      count(own, at);
      const std::vector<double>& came = counter(own).times;
      if (came.size() < static_cast<size_t>(resident_)) return;
      at = came.back();
    }
    count(number, at);
  }

  void count(int64_t number, double at) {
    Counter& c = counter(number);
    c.times.insert(std::ranges::upper_bound(c.times, at), at);
    std::erase_if(c.waiting, [&](size_t id) {
      const double seen = seen_at(id);
      if (seen == kNever) return false;
      const double from = std::max(members_[id].came, seen);
      leave_row(id, from);
      ready_.push_back({id, from});
      return true;
    });
  }

  // When the member sees that the counter of its row has reached the value. Rows of no command are
  // of its unit alone.
  double seen_at(size_t id) {
    const int64_t* r = row(id);
    const bool own = table_.commands[unit_of(id)][members_[id].row] < 0;
    return counter(r[1]).reaches(r[2]) + (own ? costs_.meeting : costs_.barrier);
  }

  // Rows of a command are one slice. A row lasts until the last member has left it.
  void add_slices(int unit, std::vector<Slice>& to) const {
    const auto u = static_cast<size_t>(unit);
    const std::vector<int>& commands = table_.commands[u];
    for (size_t i = 0; i < commands.size(); ++i) {
      if (commands[i] < 0) continue;
      if (i > 0 && commands[i - 1] == commands[i])
        to.back().end = over_[u][i];
      else
        to.push_back({unit, commands[i], i > 0 ? over_[u][i - 1] : 0, over_[u][i]});
    }
  }

  const QueueCosts costs_;
  const int resident_;
  const QueueTable table_;
  const Needs needs_;
  std::vector<Member> members_;  // per stream
  std::vector<Counter> counters_;
  std::vector<std::vector<double>> over_;  // per unit and row
  std::vector<int> at_work_;               // per unit: members with a group
  std::deque<Ready> ready_;
  int active_ = -1;
};

}  // namespace

QueueOutcome simulate_queues(Machine& machine, std::span<const Job> jobs,
                             std::span<const ir::Command> schedule, int resident,
                             const QueueCosts& costs) {
  return QueueRun(machine, jobs, schedule, resident, costs).outcome();
}

}  // namespace assay::runtime::simulated
