// Tables of schedules: groups that go through their rows in drawn orders keep what is proved of the
// schedule.
#include "runtime/queue_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "tests/ir/commands.h"

namespace assay::runtime {
namespace {

using ir::Command;
using test::barrier;
using test::run;
using test::signal;
using test::wait;
using Kind = Command::Kind;

constexpr int kUnits = 3, kSteps = 5;
constexpr int64_t kGroups = 6;  // of a step

// Groups that go through the rows of their unit, one row or the end of a run at a time.
class Execution {
 public:
  Execution(const QueueTable& table, int resident) : table_(table), resident_(resident) {
    at_.assign(static_cast<size_t>(units() * resident), 0);
    runs_.assign(at_.size(), false);
  }

  // False: all wait for ever.
  bool go(std::mt19937& rng) {
    for (now_ = 0;; ++now_) {
      std::vector<size_t> able;
      bool over = true;
      for (size_t g = 0; g < at_.size(); ++g) {
        over = over && is_over(g);
        if (!is_over(g) && (runs_[g] || can_pass(g))) able.push_back(g);
      }
      if (over || able.empty()) return over;
      step(able[rng() % able.size()]);
    }
  }

  struct Interval {  // of a command on a unit, of all its groups
    int begin = std::numeric_limits<int>::max(), end = -1;
  };
  std::map<std::pair<int, int>, Interval> runs;  // by command and unit

 private:
  int units() const { return static_cast<int>(table_.commands.size()); }
  size_t unit_of(size_t group) const { return group / static_cast<size_t>(resident_); }
  const int64_t* row(size_t g) const {
    return &table_.words[static_cast<size_t>(table_.words[unit_of(g)]) + 4 * at_[g]];
  }
  bool is_over(size_t g) const {
    return table_.words[unit_of(g)] + 4 * static_cast<int64_t>(at_[g]) ==
           table_.words[unit_of(g) + 1];
  }
  bool can_pass(size_t g) { return row(g)[0] != 2 || counters_[row(g)[1]] >= row(g)[2]; }

  void step(size_t g) {
    const int64_t* r = row(g);
    const int command = table_.commands[unit_of(g)][at_[g]];
    if (r[0] == 0) {
      Interval& i = runs[{command, static_cast<int>(unit_of(g))}];
      i.begin = std::min(i.begin, now_);
      i.end = std::max(i.end, now_);
      runs_[g] = !runs_[g];
      if (runs_[g]) return;  // it has begun
    }
    if (r[0] == 1 && (r[2] < 0 || ++counters_[r[2]] == resident_)) ++counters_[r[1]];
    ++at_[g];
  }

  const QueueTable& table_;
  const int resident_;
  int now_ = 0;
  std::vector<size_t> at_;
  std::vector<bool> runs_;
  std::map<int64_t, int64_t> counters_;
};

QueueTable table_of(const std::vector<Command>& schedule, int resident) {
  const std::vector<std::vector<int64_t>> launches(kSteps, {7, 8, 9});
  return queue_table(schedule, launches, {resident, false});
}

// Runs, signals, waits and barriers that end; nullopt: these do not.
std::optional<std::vector<Command>> drawn_schedule(std::mt19937& rng) {
  std::vector<Command> out;
  for (int i = 0; i < 9; ++i) {
    const int first = static_cast<int>(rng() % kUnits),
              last = first + 1 + static_cast<int>(rng() % static_cast<unsigned>(kUnits - first)),
              counter = static_cast<int>(rng() % 2);
    const auto kind = rng() % 8;
    if (kind < 3) out.push_back(run(i % kSteps, first, last, 0, kGroups));
    if (kind == 3 || kind == 4) out.push_back(signal(counter, first, last));
    if (kind == 5 || kind == 6)
      out.push_back(wait(counter, 1 + static_cast<int64_t>(rng() % 3), first, last));
    if (kind == 7) out.push_back(barrier(kUnits));
  }
  out.push_back(run(0, 0, kUnits, 0, kGroups));
  if (!ir::Order::of(out, kUnits)) return std::nullopt;
  return out;
}

TEST(QueueTable, groups_keep_what_is_proved_of_a_schedule) {
  std::mt19937 rng(3);
  int schedules = 0, proved = 0;
  while (schedules < 1500) {
    const auto schedule = drawn_schedule(rng);
    if (!schedule) continue;
    ++schedules;
    const int resident = 1 + schedules % 3;
    const auto order = ir::Order::of(*schedule, kUnits);
    const QueueTable table = table_of(*schedule, resident);
    for (int round = 0; round < 4; ++round) {
      Execution e(table, resident);
      ASSERT_TRUE(e.go(rng));
      for (const auto& [a, first] : e.runs)
        for (const auto& [b, second] : e.runs) {
          if (!order->before(a.first, a.second, b.first, b.second)) continue;
          ++proved;
          ASSERT_LT(first.end, second.begin)
              << "commands " << a.first << " and " << b.first << " on units " << a.second << " and "
              << b.second << ", " << resident << " groups on each";
        }
    }
  }
  EXPECT_GT(proved, 1000);
}

// Kinds of a unit's rows.
std::string kinds(const QueueTable& table, size_t unit) {
  std::string out;
  for (int64_t at = table.words[unit]; at != table.words[unit + 1]; at += 4)
    out += "rsw"[table.words[static_cast<size_t>(at)]];
  return out;
}

TEST(QueueTable, groups_of_a_unit_meet_once_between_runs) {
  const Command a = run(0, 0, 2, 0, kGroups), b = run(1, 0, 2, 0, kGroups);
  const auto rows = [&](const std::vector<Command>& between, int resident = 2) {
    std::vector<Command> all{a};
    all.insert(all.end(), between.begin(), between.end());
    all.push_back(b);
    return kinds(table_of(all, resident), 0);
  };
  EXPECT_EQ(rows({}, 1), "rr");
  EXPECT_EQ(rows({}), "rswr");
  EXPECT_EQ(rows({barrier(2)}), "rswr");
  EXPECT_EQ(rows({signal(0, 0, 2)}), "rswr") << "who came to the signal is counted";
  EXPECT_EQ(rows({signal(0, 0, 2), wait(0, 2, 0, 2)}), "rswr") << "the wait is for all of them";
  EXPECT_EQ(rows({signal(0, 0, 2), wait(0, 1, 0, 2)}), "rswwr") << "it may be for the other unit";
}

TEST(QueueTable, the_rows_of_a_pass_end_with_a_barrier) {
  const std::vector<std::vector<int64_t>> launches{{5, 6}};
  const QueueTable t = queue_table(std::vector{run(0, 0, 2, 0, 4)}, launches, {1, true});
  // Places of units 0, 1 and the end; the launch; run, signal and wait of both.
  EXPECT_EQ(t.words, (std::vector<int64_t>{5, 17, 29, 5, 6,                        //
                                           0, 3,  0,  2, 1, 0, -1, 0, 2, 0, 2, 2,  //
                                           0, 3,  2,  4, 1, 0, -1, 0, 2, 0, 2, 2}));
  EXPECT_EQ(t.commands[1], (std::vector<int>{0, -1, -1}));
  EXPECT_EQ(t.counters, 1);
  EXPECT_EQ(t.most_rows, 3U);
}

TEST(QueueTable, slices_are_of_commands) {
  const std::vector<int> commands{0, -1, 1, 1, 2};
  const std::vector<uint64_t> stamps{10, 20, 25, 30, 40, 42};
  std::vector<Slice> out;
  add_slices(out, 3, commands, stamps, 5, 10);
  EXPECT_EQ(out, (std::vector<Slice>{{3, 0, 0.5, 1.5}, {3, 1, 2.0, 3.5}, {3, 2, 3.5, 3.7}}));
}

}  // namespace
}  // namespace assay::runtime
