#include "compiler/search/candidate_times.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "model/closed_form.h"

namespace assay::compiler {

namespace {

constexpr size_t kAtOnce = 8;  // estimates, after which the limit is known anew

// The slowest of the `keep` fastest so far, from which on bounds are too long.
class Limit {
 public:
  explicit Limit(int keep) : keep_(static_cast<size_t>(keep)) {}

  bool excludes(double least) const {
    return best_.size() >= keep_ && least > kAlike * best_.top();
  }
  void add(double seconds) {
    best_.push(seconds);
    if (best_.size() > keep_) best_.pop();
  }

 private:
  size_t keep_;
  std::priority_queue<double> best_;
};

}  // namespace

CandidateTimes::CandidateTimes(const Problem& problem, const model::Machine& m,
                               const simulator::CacheState& before,
                               std::span<const simulator::Range> where, const ForEach& each)
    : problem_(problem), machine_(m), before_(before), where_(where), each_(each) {
  if (!problem.group.empty() && !m.simt) unit_ = simulator::busy_unit(m);
}

void CandidateTimes::each(size_t n, const std::function<void(size_t)>& f) const {
  if (each_) return each_(n, f);
  for (size_t i = 0; i < n; ++i) f(i);
}

Bounded CandidateTimes::bound(ir::Program p) const {
  Bounded out{std::move(p)};
  if (unit_) out.tile = simulator::tile_of_group(out.program, problem_.group);
  const ir::Program& priced = out.tile ? *out.tile : out.program;
  if (priced.threads) return out;
  out.counts = model::closed_form(priced);
  out.least = simulator::at_least(priced, unit_ ? *unit_ : machine_, out.counts, problem_.on_chip);
  return out;
}

model::Estimate CandidateTimes::estimate(const Bounded& b) const {
  if (unit_) return simulator::estimate_tile(b.program, *b.tile, problem_.group, *unit_, b.counts);
  if (!problem_.group.empty())
    return simulator::estimate_member(b.program, machine_, before_, where_, problem_.on_chip,
                                      b.counts);
  return simulator::estimate(b.program, machine_, before_, where_,
                             b.program.threads ? nullptr : &b.counts, simulator::TermDetail::none);
}

std::vector<Candidate> CandidateTimes::fastest(std::vector<Bounded>& all, int keep) const {
  std::stable_sort(all.begin(), all.end(),
                   [](const Bounded& a, const Bounded& b) { return a.least < b.least; });
  std::vector<Candidate> out;
  Limit limit(keep);
  for (size_t first = 0; first < all.size() && !limit.excludes(all[first].least);) {
    const size_t n = std::min(kAtOnce, all.size() - first);
    std::vector<model::Estimate> estimates(n);
    each(n, [&](size_t i) { estimates[i] = estimate(all[first + i]); });
    for (size_t i = 0; i < n && !limit.excludes(all[first + i].least); ++i) {
      limit.add(estimates[i].seconds);
      out.push_back({std::move(all[first + i].program), std::move(estimates[i])});
    }
    first += n;
  }
  return out;
}

}  // namespace assay::compiler
