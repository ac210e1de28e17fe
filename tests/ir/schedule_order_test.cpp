// What is proved of the order of commands, against all orders in which units can run them.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/ir/commands.h"

namespace assay::ir {
namespace {

using Kind = Command::Kind;

using test::barrier;
using test::run;
using test::signal;
using test::wait;

// All orders in which units can run their queues, one command at a time; a command that has begun
// is not over before its unit's next one begins.
class Interleavings {
 public:
  Interleavings(std::vector<Command> schedule, int units) : schedule_(std::move(schedule)) {
    queues_.resize(static_cast<size_t>(units));
    for (int i = 0; i < static_cast<int>(schedule_.size()); ++i)
      for (int u = schedule_[at(i)].first; u < schedule_[at(i)].last; ++u)
        queues_[at(u)].push_back(i);
  }

  // Explores. Returns whether every order ends.
  bool explore() {
    visit(std::vector<int>(queues_.size(), 0));
    return !stuck_;
  }
  bool some_order_ends() const { return ended_; }
  // Is command `a` over on unit x in every order before `b` begins on y?
  bool always_before(int a, int x, int b, int y) const { return !not_over_.contains({a, x, b, y}); }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }

  int counter(const std::vector<int>& positions, int id) const {
    int out = 0;
    for (size_t u = 0; u < queues_.size(); ++u)
      for (int p = 0; p < positions[u]; ++p) {
        const Command& c = schedule_[at(queues_[u][at(p)])];
        out += c.kind == Kind::signal && c.counter == id;
      }
    return out;
  }

  void visit(const std::vector<int>& positions) {
    if (!seen_.insert(positions).second) return;
    bool any = false, all_over = true;
    std::vector<size_t> at_barrier;
    for (size_t u = 0; u < queues_.size(); ++u) {
      if (at(positions[u]) == queues_[u].size()) continue;
      all_over = false;
      const int id = queues_[u][at(positions[u])];
      const Command& c = schedule_[at(id)];
      if (c.kind == Kind::barrier) {
        at_barrier.push_back(u);
        continue;
      }
      if (c.kind == Kind::wait && counter(positions, c.counter) < c.value) continue;
      note(positions, id, u);
      any = true;
      std::vector<int> next = positions;
      ++next[u];
      visit(next);
    }
    if (at_barrier.size() == queues_.size()) {
      any = true;
      std::vector<int> next = positions;
      for (int& p : next) ++p;
      visit(next);
    }
    ended_ = ended_ || all_over;
    stuck_ = stuck_ || (!any && !all_over);
  }

  // `b` may begin now on `unit`: what is not over?
  void note(const std::vector<int>& positions, int b, size_t unit) {
    for (size_t x = 0; x < queues_.size(); ++x)
      for (size_t p = at(positions[x]); p < queues_[x].size(); ++p)
        not_over_.insert({queues_[x][p], static_cast<int>(x), b, static_cast<int>(unit)});
  }

  std::vector<Command> schedule_;
  std::vector<std::vector<int>> queues_;
  std::set<std::vector<int>> seen_;
  std::set<std::tuple<int, int, int, int>> not_over_;
  bool stuck_ = false, ended_ = false;
};

std::vector<Command> drawn(std::mt19937& random, int units) {
  std::vector<Command> out;
  const int commands = 3 + static_cast<int>(random() % 6);
  for (int i = 0; i < commands; ++i) {
    const int first = static_cast<int>(random()) & 1 ? 0 : static_cast<int>(random() % units);
    const int last = first + 1 + static_cast<int>(random() % (units - first));
    switch (random() % 8) {
      case 0:
        out.push_back(barrier(units));
        break;
      case 1:
      case 2:
      case 3:
        out.push_back(signal(static_cast<int>(random() % 2), first, last));
        break;
      case 4:
      case 5:
        out.push_back(wait(static_cast<int>(random() % 2), 1 + random() % 3, first, last));
        break;
      default:
        out.push_back(run(i, first, last, 0, units));
    }
  }
  return out;
}

TEST(Order, IsWhatHoldsInAllInterleavings) {
  std::mt19937 random(11);
  int stuck = 0, proved = 0, missed = 0;
  for (int round = 0; round < 8000; ++round) {
    const int units = 2 + static_cast<int>(random() % 2);
    const std::vector<Command> schedule = drawn(random, units);
    Interleavings all(schedule, units);
    const bool ends = all.explore();
    ASSERT_EQ(ends, all.some_order_ends()) << "orders differ in whether they end";
    const std::optional<Order> order = Order::of(schedule, units);
    ASSERT_EQ(order.has_value(), ends);
    if (!order) {
      ++stuck;
      continue;
    }
    for (int a = 0; a < static_cast<int>(schedule.size()); ++a)
      for (int b = 0; b < static_cast<int>(schedule.size()); ++b) {
        const Command &ca = schedule[static_cast<size_t>(a)],
                      &cb = schedule[static_cast<size_t>(b)];
        if (a == b || ca.kind != Kind::run || cb.kind != Kind::run) continue;
        bool every = true;
        for (int x = ca.first; x < ca.last; ++x)
          for (int y = cb.first; y < cb.last; ++y) {
            const bool holds = all.always_before(a, x, b, y), says = order->before(a, x, b, y);
            ASSERT_TRUE(holds || !says)
                << "round " << round << ": " << a << " on " << x << ", " << b << " on " << y;
            proved += says;
            missed += holds && !says;
            every = every && says;
          }
        ASSERT_EQ(order->before(a, b), every);
      }
  }
  EXPECT_GT(stuck, 300);
  EXPECT_GT(proved, 3000);
  EXPECT_LT(missed, proved / 20) << "a wait may prove more than it is known to";
}

}  // namespace
}  // namespace assay::ir
