// How far measured times of a chip that was never seen may lie from its estimates: counted over
// devices, each of which weighs the same, however many rows its tables have.
//
//   log(measured / predicted) = offset + shift + spread x shape
//
// Offset (its sustained clock, its library) and spread are one draw a device and class: the median,
// and the 90 % quantile of what is left beside offset and shift. Those of a new device follow from
// K known ones by Student's prediction, mean + sd sqrt(1 + 1/K) t(K - 1), of the offset and of the
// spread's logarithm. The shift is the mean over devices of their medians in a regime of the
// estimate, the shape what is left of their rows there, divided by their spreads. An interval is
// from the 5 to the 95 % quantile of the three together. One device alone says nothing of others:
// its interval has its own offset and spread.
//
// Source: Dunn, Wasserman, Ramdas, JASA 2022; Lee, Barber, Willett, arXiv 2306.06342: hierarchical
// data, groups weighted equally. Their correction for few groups is an atom of 1 / (K + 1) at
// infinity, which makes every 90 % interval of fewer than nine devices infinite; Student's is
// finite, and assumes that offsets and log spreads are normal. Internal to toolkit/.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay::toolkit {

inline constexpr std::array<double, 4> kRegimes = {10e-6, 50e-6, 200e-6, 1e9};  // s: ends

size_t regime_of(double seconds);

struct Span {
  double low = 1, high = 1;  // of measured / predicted
  int64_t n = 0;             // measurements behind it; 0: nothing is known
  int64_t devices = 0;
};

class DeviceRatios {
 public:
  using Logs = std::array<std::vector<double>, kRegimes.size()>;

  // Pre: both above 0.
  void add(const std::string& device, const std::string& kind, double measured, double predicted);

  // Of the regime, or of the whole class where no device has enough measurements in it. Other than
  // those of `without`.
  Span of(const std::string& kind, size_t regime, const std::string& without = "") const;

  // The rows of an assay/residuals/1 file, by class and regime.
  std::string quantiles() const;

 private:
  std::map<std::string, std::map<std::string, Logs>> ratios_;  // by class, by device
};

// The quantile `p` of Student's distribution with `degrees` degrees of freedom.
double student_quantile(double p, double degrees);

}  // namespace assay::toolkit
