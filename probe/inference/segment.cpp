#include "probe/inference/segment.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "probe/inference/stats.h"

namespace assay::probe {
namespace {

struct Sums {  // prefix sums: cost of any run in O(1)
  std::vector<double> y, yy;

  explicit Sums(std::span<const double> values) : y(values.size() + 1), yy(values.size() + 1) {
    for (size_t i = 0; i < values.size(); ++i) {
      y[i + 1] = y[i] + values[i];
      yy[i + 1] = yy[i] + values[i] * values[i];
    }
  }
  double mean(size_t begin, size_t end) const {
    return (y[end] - y[begin]) / static_cast<double>(end - begin);
  }
  double cost(size_t begin, size_t end) const {
    const double sum = y[end] - y[begin];
    return std::max(0.0, yy[end] - yy[begin] - sum * sum / static_cast<double>(end - begin));
  }
};

}  // namespace

std::vector<Segment> segment(std::span<const double> y, double penalty) {
  const Sums sums(y);
  const size_t n = y.size();
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<size_t> from(n + 1, 0);
  best[0] = 0;
  for (size_t end = 1; end <= n; ++end)
    for (size_t begin = 0; begin < end; ++begin) {
      const double total = best[begin] + sums.cost(begin, end) + penalty;
      if (total < best[end]) {
        best[end] = total;
        from[end] = begin;
      }
    }
  std::vector<Segment> out;
  for (size_t end = n; end > 0; end = from[end])
    out.push_back({from[end], end, sums.mean(from[end], end)});
  std::reverse(out.begin(), out.end());
  return out;
}

double noise_of(std::span<const double> y) {
  if (y.size() < 3) return 0;
  std::vector<double> steps;
  for (size_t i = 1; i < y.size(); ++i) steps.push_back(std::abs(y[i] - y[i - 1]));
  return 1.4826 * quantile(std::move(steps), 0.5) / std::sqrt(2.0);
}

std::vector<double> isotonic(std::span<const double> y) {
  struct Pool {
    double sum;
    size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (const double v : y) {
    pools.push_back({v, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back() = {pools.back().sum + last.sum, pools.back().count + last.count};
    }
  }
  std::vector<double> out;
  for (const Pool& p : pools) out.insert(out.end(), p.count, p.mean());
  return out;
}

}  // namespace assay::probe
