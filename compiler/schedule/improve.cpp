#include "compiler/schedule/improve.h"

#include <algorithm>
#include <random>

#include "compiler/schedule/timed_list.h"

namespace assay::compiler {

namespace {

// Steps that list schedules place, of one plan.
constexpr size_t kMostPlaced = 300'000;

constexpr double kNear = 1e-3;  // of the least: not worth a step more

// What the mean end of steps counts beside the last one. It tells which of two schedules is nearer
// to a shorter one, where several steps end last.
constexpr double kMeanEnd = 0.1;

size_t at(int i) { return static_cast<size_t>(i); }

class Climb {  // invariant: refers to a problem and its options, which outlive it
 public:
  Climb(const ListProblem& p, const WidthOptions& options, double least)
      : options_(options),
        least_(least),
        list_(p, options),
        left_(kMostPlaced / std::max<size_t>(1, p.seconds.size())) {}

  std::vector<Assigned> from(const std::vector<std::vector<int>>& starts) {
    for (const std::vector<int>& start : starts) {
      now_ = start;
      judge();
    }
    now_ = best_choice_;
    while (left_ > 0 && end_ > (1 + kNear) * least_ && (climb_critical() || climb_any())) {
    }
    return std::move(best_);
  }

 private:
  // Are these widths as good as the best, or better?
  bool judge() {
    left_ -= left_ > 0;
    const double end = list_.run(now_);
    double ends = 0;
    for (const Assigned& a : list_.assigned()) ends += a.end;
    const double value = end + kMeanEnd * ends / static_cast<double>(now_.size());
    if (best_.empty() || end < end_) {
      best_ = list_.assigned();
      end_ = end;
    }
    if (!best_choice_.empty() && value > value_) return false;
    if (best_choice_.empty() || value < value_) {
      critical_ = list_.critical();
      is_better_ = true;
    }
    value_ = value;
    best_choice_ = now_;
    return true;
  }

  bool tried(int s, int by) {
    int& choice = now_[at(s)];
    const int old = choice, last = static_cast<int>(options_[at(s)].size()) - 1;
    choice = std::clamp(old + by, 0, last);
    if (choice == old) return false;
    if (judge()) return true;
    choice = old;
    return false;
  }

  bool climb_critical() {
    is_better_ = false;
    const std::vector<int> critical = critical_;
    for (const int s : critical)
      for (const int by : {1, -1, 2, -2})
        if (left_ > 0 && tried(s, by)) break;
    return is_better_;
  }

  // Also to schedules that are as good, from which better ones may be near.
  bool climb_any() {
    is_better_ = false;
    const size_t most = 4 * options_.size();
    for (size_t i = 0; i < most && left_ > 0 && !is_better_; ++i) {
      const auto draw = static_cast<size_t>(draws_());
      tried(static_cast<int>(draw / 2 % options_.size()), draw % 2 == 0 ? 1 : -1);
    }
    return is_better_;
  }

  const WidthOptions& options_;
  const double least_;
  TimedList list_;
  size_t left_;                         // schedules that may be tried
  std::vector<int> now_, best_choice_;  // the best by value
  std::vector<int> critical_;           // of it
  std::vector<Assigned> best_;          // that which ends first
  double end_ = 0, value_ = 0;
  bool is_better_ = false;
  std::mt19937 draws_{1};
};

}  // namespace

std::vector<Assigned> improved(const ListProblem& problem, const WidthOptions& options,
                               const std::vector<std::vector<int>>& starts, double least) {
  return Climb(problem, options, least).from(starts);
}

}  // namespace assay::compiler
