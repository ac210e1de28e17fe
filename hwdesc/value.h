// One measured, quoted or assumed number with its origin: the atom of a profile.
//
// A value is a bare quantity or a record {value, low, high, n, source, method, ref, note} in YAML.
// Unknown is std::nullopt, never 0. `low` and `high` hold the interval of a measured value (90 %).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay::hwdesc {

// Where a number comes from. `paper`: somebody else measured it; `derived`: computed from other
// values of the profile or changed by an override; `assumed`: nobody measured it.
enum class Origin { measured, driver, datasheet, paper, fitted, derived, assumed };

// Every quantity is a double in one base unit, and, where the hardware counts in clock ticks, the
// name of the clock. An empty clock means per second (rates, bandwidths) or seconds (latencies).
struct Bytes {
  double v = 0;
  bool operator==(const Bytes&) const = default;
};
struct Count {
  double v = 0;
  bool operator==(const Count&) const = default;
};
struct Hertz {
  double v = 0;
  bool operator==(const Hertz&) const = default;
};
struct Watts {
  double v = 0;
  bool operator==(const Watts&) const = default;
};
struct Joules {
  double v = 0;
  bool operator==(const Joules&) const = default;
};
struct Seconds {
  double v = 0;
  bool operator==(const Seconds&) const = default;
};
struct Ratio {
  double v = 0;
  bool operator==(const Ratio&) const = default;
};
struct Rate {
  double v = 0;
  std::string clock;
  bool operator==(const Rate&) const = default;
};  // events per tick
struct Bandwidth {
  double v = 0;
  std::string clock;
  bool operator==(const Bandwidth&) const = default;
};  // bytes per tick
struct Latency {
  double v = 0;
  std::string clock;
  bool operator==(const Latency&) const = default;
};  // ticks, or seconds

template <class Q>
struct Value {
  std::optional<Q> value;
  std::optional<Q> low, high;
  std::optional<int64_t> n;       // samples behind a measured value
  std::optional<Origin> source;   // nullopt: the profile's default origin
  std::string method, ref, note;  // ref: a key of the profile's `references`
  bool operator==(const Value&) const = default;
  bool known() const { return value.has_value(); }
};

enum class Fact { unknown, no, yes };  // YAML: unknown | false | true

}  // namespace assay::hwdesc
