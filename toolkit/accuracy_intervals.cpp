#include "toolkit/accuracy_intervals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unsupported/Eigen/SpecialFunctions>

namespace assay::toolkit {
namespace {

constexpr double kTail = 0.05;         // outside of an interval on either side
constexpr size_t kFewest = 20;         // measurements of a device that say how it differs
constexpr double kLeastSpread = 1e-6;  // rows that are all alike still have a logarithm of it
// Equally probable values that stand for a distribution. 5 and 95 % are among their levels,
// (i + 1/2) / kValues.
constexpr size_t kValues = 50;

double level(size_t i) { return (static_cast<double>(i) + 0.5) / static_cast<double>(kValues); }

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}

// Of the next value after those seen; one value says nothing of the next.
std::vector<double> prediction(const std::vector<double>& seen) {
  const double m = mean(seen), k = static_cast<double>(seen.size());
  if (seen.size() < 2) return {m};
  double squares = 0;
  for (const double x : seen) squares += (x - m) * (x - m);
  const double scale = std::sqrt(squares / (k - 1) * (1 + 1 / k));
  std::vector<double> out;
  for (size_t i = 0; i < kValues; ++i) out.push_back(m + scale * student_quantile(level(i), k - 1));
  return out;
}

// Pre: sorted, not empty. The rank is that which holds for the next of n + 1, too.
double quantile(const std::vector<double>& sorted, double p) {
  const double n = static_cast<double>(sorted.size());
  const double rank = p < 0.5 ? std::floor((n + 1) * p) : std::ceil((n + 1) * p);
  return sorted[static_cast<size_t>(std::clamp(rank, 1.0, n)) - 1];
}

double middle(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

using Logs = DeviceRatios::Logs;

struct Device {
  double offset = 0, spread = 0;
  Logs left;  // of log(measured / predicted), by regime
};

std::vector<double> all_of(const Logs& regimes) {
  std::vector<double> out;
  for (const auto& part : regimes) out.insert(out.end(), part.begin(), part.end());
  return out;
}

// What a regime's rows have in common on all devices, each of which weighs the same, is subtracted.
// Pre: `left` is without the offset.
std::array<double, kRegimes.size()> subtract_shifts(std::vector<Device>& devices) {
  std::array<double, kRegimes.size()> shifts{};
  for (size_t r = 0; r < kRegimes.size(); ++r) {
    std::vector<double> medians;
    for (const Device& d : devices)
      if (d.left[r].size() >= kFewest) medians.push_back(middle(d.left[r]));
    if (!medians.empty()) shifts[r] = mean(medians);
    for (Device& d : devices)
      for (double& x : d.left[r]) x -= shifts[r];
  }
  return shifts;
}

Device device_of(const Logs& logs) {
  Device d{middle(all_of(logs)), 0, logs};
  for (auto& part : d.left)
    for (double& x : part) x -= d.offset;
  return d;
}

double spread_of(const Device& d) {
  std::vector<double> beside = all_of(d.left);
  for (double& x : beside) x = std::abs(x);
  std::sort(beside.begin(), beside.end());
  return std::max(kLeastSpread, quantile(beside, 1 - 2 * kTail));
}

// As many values of each device, so that each weighs the same.
void add_shape(std::vector<double> left, double spread, std::vector<double>& shape) {
  std::sort(left.begin(), left.end());
  for (size_t i = 0; i < kValues; ++i) shape.push_back(quantile(left, level(i)) / spread);
}

Span span_of(const std::vector<Device>& devices, double shift, const std::vector<double>& shape) {
  std::vector<double> offsets, spreads, all;
  for (const Device& d : devices) {
    offsets.push_back(d.offset);
    spreads.push_back(std::log(d.spread));
  }
  offsets = prediction(offsets);
  for (const double spread : prediction(spreads)) {
    const double by = std::exp(spread);
    for (const double s : shape)
      for (const double offset : offsets) all.push_back(offset + by * s);
  }
  const auto at = [&](double p) {
    const auto nth = all.begin() + static_cast<std::ptrdiff_t>(p * static_cast<double>(all.size()));
    std::nth_element(all.begin(), nth, all.end());
    return *nth;
  };
  Span out;
  out.low = std::exp(shift + at(kTail));
  out.high = std::exp(shift + at(1 - kTail));
  return out;
}

}  // namespace

double student_quantile(double p, double degrees) {
  if (p < 0.5) return -student_quantile(1 - p, degrees);
  const auto below = [&](double t) {
    return 1 - Eigen::numext::betainc(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  };
  double low = 0, high = 1;
  while (below(high) < p) high *= 2;
  for (int i = 0; i < 60; ++i) (below((low + high) / 2) < p ? low : high) = (low + high) / 2;
  return high;
}

size_t regime_of(double seconds) {
  size_t r = 0;
  while (r + 1 < kRegimes.size() && seconds > kRegimes[r]) ++r;
  return r;
}

void DeviceRatios::add(const std::string& device, const std::string& kind, double measured,
                       double predicted) {
  ratios_[kind][device][regime_of(predicted)].push_back(std::log(measured / predicted));
}

Span DeviceRatios::of(const std::string& kind, size_t regime, const std::string& without) const {
  const auto found = ratios_.find(kind);
  if (found == ratios_.end()) return {};
  std::vector<Device> devices;
  for (const auto& [device, logs] : found->second)
    if (device != without && all_of(logs).size() >= kFewest) devices.push_back(device_of(logs));
  if (devices.empty()) return {};
  const auto shifts = subtract_shifts(devices);
  const bool whole = std::none_of(devices.begin(), devices.end(), [&](const Device& d) {
    return d.left[regime].size() >= kFewest;
  });
  std::vector<double> shape;
  int64_t n = 0;
  for (Device& d : devices) {
    d.spread = spread_of(d);
    const std::vector<double> left = whole ? all_of(d.left) : d.left[regime];
    if (left.size() < kFewest) continue;
    add_shape(left, d.spread, shape);
    n += static_cast<int64_t>(left.size());
  }
  Span out = span_of(devices, whole ? 0 : shifts[regime], shape);
  out.n = n;
  out.devices = static_cast<int64_t>(devices.size());
  return out;
}

std::string DeviceRatios::quantiles() const {
  std::string out;
  for (const auto& [kind, devices] : ratios_)
    for (size_t r = 0; r < kRegimes.size(); ++r) {
      const Span s = of(kind, r);
      if (s.n == 0) continue;
      const std::string below =
          r + 1 < kRegimes.size() ? fmt::format("below: {:g} us, ", kRegimes[r] * 1e6) : "";
      out += fmt::format("  - {{class: {}, {}low: {:.5g}, high: {:.5g}, devices: {}, n: {}}}\n",
                         kind, below, s.low, s.high, s.devices, s.n);
    }
  return out;
}

}  // namespace assay::toolkit
