// From summaries of samples to values of a profile, intervals and origin included.
#pragma once

#include <optional>
#include <string>

#include "hwdesc/value.h"
#include "probe/inference/stats.h"

namespace assay::probe {

inline constexpr const char* kCore = "core";  // name of the clock

template <class Q>
hwdesc::Value<Q> known_value(Q value, hwdesc::Origin source, const std::string& method,
                             const std::string& note = "") {
  hwdesc::Value<Q> v;
  v.value = std::move(value);
  v.source = source;
  v.method = method;
  v.note = note;
  return v;
}

template <class Q>
hwdesc::Value<Q> unknown_value(const std::string& why) {
  hwdesc::Value<Q> v;
  v.note = why;
  return v;
}

// A number with its interval, in base units.
struct Measured {
  double value = 0, low = 0, high = 0;
  int64_t n = 0;
  std::string note;
};

// amount / time: the interval's ends swap.
Measured inverse(const Summary& s, double amount);
Measured scaled(const Summary& s, double factor);

hwdesc::Value<hwdesc::Latency> latency_value(const Measured& m, const std::string& clock,
                                             const std::string& method);
hwdesc::Value<hwdesc::Rate> rate_value(const Measured& m, const std::string& clock,
                                       const std::string& method);
hwdesc::Value<hwdesc::Bandwidth> bandwidth_value(const Measured& m, const std::string& clock,
                                                 const std::string& method);
hwdesc::Value<hwdesc::Hertz> hertz_value(const Measured& m, const std::string& method);
hwdesc::Value<hwdesc::Seconds> seconds_value(const Measured& m, const std::string& method);
hwdesc::Value<hwdesc::Bytes> bytes_value(const Measured& m, const std::string& method);
hwdesc::Value<hwdesc::Count> count_value(const Measured& m, const std::string& method);
hwdesc::Value<hwdesc::Ratio> ratio_value(const Measured& m, const std::string& method);

}  // namespace assay::probe
