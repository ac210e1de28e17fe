#include "probe/schedule.h"

#include <algorithm>
#include <utility>

#include "probe/inference/stats.h"

namespace assay::probe {
namespace {

constexpr double kFirstRound = 0.3;  // of its share, until one was seen
constexpr double kRepeated = 0.5;    // less useful by that, of steps that ran before

double rank(const Step& s) {
  return s.experiment->use + (s.repetition > 0 ? 1 + kRepeated * s.repetition : 0);
}

}  // namespace

Schedule::Schedule(std::vector<Step> steps, double seconds)
    : steps_(std::move(steps)), seconds_(seconds) {
  weights_ = weight();
}

double Schedule::weight() const {
  double out = 0;
  for (const Step& s : steps_) out += s.weight;
  return out;
}

double Schedule::loading_of(const Step& s) const {
  const auto known = known_.find(s.experiment->name);
  if (known != known_.end() && s.repetition > 0) return known->second.first;
  return base_ + (built_ > 0 ? s.kernels * built_s_ / built_ : 0);
}

double Schedule::round_of(const Step& s) const {
  const auto known = known_.find(s.experiment->name);
  if (known != known_.end()) return known->second.second;
  const double part = parts_.empty() ? kFirstRound : quantile(parts_, 0.5);
  return part * seconds_ * s.weight / weights_;
}

void Schedule::learn(const Step& s, double loading, double round) {
  base_ = base_ > 0 ? std::min(base_, loading) : loading;
  // A repetition finds its kernels built, or builds them as long again.
  double& known = known_[s.experiment->name].first;
  known = known > 0 ? std::min(known, loading) : base_;
  known_[s.experiment->name].second = round;
  parts_.push_back(round / (seconds_ * s.weight / weights_));
  if (s.kernels <= 0) return;
  built_ += s.kernels;
  built_s_ += std::max(0.0, loading - base_);
}

std::optional<Turn> Schedule::next(double left) {
  std::vector<size_t> order(steps_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(rank(steps_[a]), least_of(steps_[a])) <
           std::pair(rank(steps_[b]), least_of(steps_[b]));
  });
  std::vector<bool> fits(steps_.size(), false);
  double needed = 0, loading = 0;
  for (const size_t i : order) {
    const double own = least_of(steps_[i]);
    if (needed + own > left) continue;
    needed += own;
    loading += loading_of(steps_[i]);
    fits[i] = true;
  }
  const auto at = std::find(fits.begin(), fits.end(), true);
  if (at == fits.end()) return std::nullopt;
  const auto n = static_cast<size_t>(at - fits.begin());
  Turn out{steps_[n], 0, 0};
  // What does not fit now keeps its share: it may fit later.
  out.share = std::max(0.0, left - loading) * out.step.weight / std::max(weight(), 1e-9);
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(n));
  fits.erase(fits.begin() + static_cast<std::ptrdiff_t>(n));
  for (size_t i = 0; i < steps_.size(); ++i)
    if (fits[i] && rank(steps_[i]) < rank(out.step)) out.reserved += least_of(steps_[i]);
  return out;
}

std::vector<Step> steps_of(std::vector<Step> first, std::vector<Step> looks) {
  std::vector<Step> out;
  const size_t n = first.size();
  for (size_t i = 0, taken = 0; i < n; ++i) {
    out.push_back(first[i]);
    for (; taken < looks.size() && (taken + 1) * n <= (i + 1) * (looks.size() + 1); ++taken)
      out.push_back(looks[taken]);
  }
  return out;
}

}  // namespace assay::probe
