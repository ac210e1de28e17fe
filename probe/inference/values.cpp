#include "probe/inference/values.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "support/number.h"

namespace assay::probe {
namespace {

constexpr int kDigits = 4, kTimeDigits = 3;

const char* note_of(Trust trust) {
  switch (trust) {
    case Trust::quiet:
      return "";
    case Trust::undisturbed:
      return "others used other units meanwhile";
    case Trust::all:
      return "others used the machine throughout";
  }
  return "";
}

template <class Q>
Q quantity(double v, const std::string& clock) {
  Q q;
  const bool is_time = clock.empty() && v < 1;
  const int digits = std::is_same_v<Q, hwdesc::Hertz> ? kDigits + 1
                     : is_time                        ? kTimeDigits
                                                      : kDigits;
  q.v = std::is_same_v<Q, hwdesc::Bytes> ? std::round(v) : rounded_to(v, digits);
  if constexpr (requires { q.clock; }) q.clock = clock;
  return q;
}

// The spread of a value between runs, beyond its samples' own. The core's clock and co-tenants'
// load change slowly, so that a run sees one state of them. From repeated probes of shared
// machines; sizes hardly depend on it.
template <class Q>
double between_runs(const std::string& clock) {
  if constexpr (std::is_same_v<Q, hwdesc::Bytes>)
    return 0.01;
  else if constexpr (std::is_same_v<Q, hwdesc::Count> || std::is_same_v<Q, hwdesc::Ratio>)
    return 0.03;  // slots are quotients of rates
  else if constexpr (std::is_same_v<Q, hwdesc::Seconds>)
    return 0.45;
  else if constexpr (std::is_same_v<Q, hwdesc::Bandwidth>)
    return clock.empty() ? 0.25 : 0.06;
  else if constexpr (std::is_same_v<Q, hwdesc::Latency>)
    return clock.empty() ? 0.1 : 0.06;
  else
    return 0.06;
}

template <class Q>
hwdesc::Value<Q> value_of(const Measured& m, const std::string& clock, const std::string& method) {
  auto v = known_value(quantity<Q>(m.value, clock), hwdesc::Origin::measured, method, m.note);
  const double runs = between_runs<Q>(clock);
  v.low = quantity<Q>(std::max(std::min(m.low, m.value * (1 - runs)), 0.0),
                      clock);  // differences may be negative
  v.high = quantity<Q>(std::max(m.high, m.value * (1 + runs)), clock);
  v.n = m.n;
  return v;
}

Measured with(const Summary& s, double value, double low, double high) {
  return {value, low, high, s.n, note_of(s.trust)};
}

}  // namespace

Measured inverse(const Summary& s, double amount) {
  return with(s, amount / s.value, amount / s.high, amount / s.low);
}
Measured scaled(const Summary& s, double factor) {
  return with(s, s.value * factor, s.low * factor, s.high * factor);
}

hwdesc::Value<hwdesc::Latency> latency_value(const Measured& m, const std::string& clock,
                                             const std::string& method) {
  return value_of<hwdesc::Latency>(m, clock, method);
}
hwdesc::Value<hwdesc::Rate> rate_value(const Measured& m, const std::string& clock,
                                       const std::string& method) {
  return value_of<hwdesc::Rate>(m, clock, method);
}
hwdesc::Value<hwdesc::Bandwidth> bandwidth_value(const Measured& m, const std::string& clock,
                                                 const std::string& method) {
  return value_of<hwdesc::Bandwidth>(m, clock, method);
}
hwdesc::Value<hwdesc::Hertz> hertz_value(const Measured& m, const std::string& method) {
  return value_of<hwdesc::Hertz>(m, "", method);
}
hwdesc::Value<hwdesc::Seconds> seconds_value(const Measured& m, const std::string& method) {
  return value_of<hwdesc::Seconds>(m, "", method);
}
hwdesc::Value<hwdesc::Bytes> bytes_value(const Measured& m, const std::string& method) {
  return value_of<hwdesc::Bytes>(m, "", method);
}
hwdesc::Value<hwdesc::Count> count_value(const Measured& m, const std::string& method) {
  return value_of<hwdesc::Count>(m, "", method);
}
hwdesc::Value<hwdesc::Ratio> ratio_value(const Measured& m, const std::string& method) {
  return value_of<hwdesc::Ratio>(m, "", method);
}

}  // namespace assay::probe
