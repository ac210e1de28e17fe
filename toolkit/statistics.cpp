#include "toolkit/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

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

double pairs_of(size_t n) { return static_cast<double>(n) * (static_cast<double>(n) - 1) / 2; }

// Pairs within the groups of neighbours that are the same.
template <class Same>
double tied_pairs(size_t n, const Same& same) {
  double sum = 0;
  for (size_t begin = 0, end = 0; begin < n; begin = end) {
    for (end = begin + 1; end < n && same(begin, end);) ++end;
    sum += pairs_of(end - begin);
  }
  return sum;
}

// Sorts, and counts the pairs that stood the other way round.
double sorting_swaps(std::vector<double>& values) {
  double swaps = 0;
  std::vector<double> merged(values.size());
  for (size_t width = 1; width < values.size(); width *= 2) {
    for (size_t begin = 0; begin < values.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, values.size()),
                   end = std::min(begin + 2 * width, values.size());
      for (size_t l = begin, r = middle, out = begin; out < end; ++out) {
        const bool right = l == middle || (r < end && values[r] < values[l]);
        if (right) swaps += static_cast<double>(middle - l);
        merged[out] = values[right ? r++ : l++];
      }
    }
    values.swap(merged);
  }
  return swaps;
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
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(x[a], y[a]) < std::pair(x[b], y[b]); });
  std::vector<double> ys;
  for (const size_t i : order) ys.push_back(y[i]);
  const auto same_x = [&](size_t a, size_t b) { return x[order[a]] == x[order[b]]; };
  const double pairs = pairs_of(x.size()), tied_x = tied_pairs(x.size(), same_x);
  const double tied_both = tied_pairs(
      x.size(), [&](size_t a, size_t b) { return same_x(a, b) && y[order[a]] == y[order[b]]; });
  const double discordant = sorting_swaps(ys);
  const double tied_y = tied_pairs(x.size(), [&](size_t a, size_t b) { return ys[a] == ys[b]; });
  const double untied_x = pairs - tied_x, untied_y = pairs - tied_y;
  if (untied_x <= 0 || untied_y <= 0) return std::nullopt;
  const double agree = pairs - tied_x - tied_y + tied_both - 2 * discordant;
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
