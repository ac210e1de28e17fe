#include "toolkit/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/check.h"

namespace assay::toolkit {
namespace {

std::vector<double> mid_ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i)
      ranks[order[i]] = 0.5 * static_cast<double>(begin + end - 1);
  }
  return ranks;
}

}  // namespace

std::optional<double> spearman(std::span<const double> x, std::span<const double> y) {
  ASSAY_CHECK(x.size() == y.size());
  const std::vector<double> a = mid_ranks(x), b = mid_ranks(y);
  const double centre = 0.5 * (static_cast<double>(x.size()) - 1);
  double both = 0, of_a = 0, of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - centre) * (b[i] - centre);
    of_a += (a[i] - centre) * (a[i] - centre);
    of_b += (b[i] - centre) * (b[i] - centre);
  }
  if (of_a <= 0 || of_b <= 0) return std::nullopt;
  return both / std::sqrt(of_a * of_b);
}

std::optional<double> kendall(std::span<const double> x, std::span<const double> y) {
  ASSAY_CHECK(x.size() == y.size());
  double agree = 0, untied_x = 0, untied_y = 0;
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = i + 1; j < x.size(); ++j) {
      const int a = (x[i] < x[j]) - (x[j] < x[i]), b = (y[i] < y[j]) - (y[j] < y[i]);
      agree += a * b;
      untied_x += a * a;
      untied_y += b * b;
    }
  if (untied_x <= 0 || untied_y <= 0) return std::nullopt;
  return agree / std::sqrt(untied_x * untied_y);
}

double quantile_of(std::vector<double> values, double q) {
  ASSAY_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double part = at - static_cast<double>(below);
  return values[below] * (1 - part) + values[above] * part;
}

std::optional<double> mean(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> median(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  return quantile_of({values.begin(), values.end()}, 0.5);
}

std::optional<double> geometric_mean(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (double v : values) {
    ASSAY_CHECK(v > 0);
    sum += std::log(v);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace assay::toolkit
