// Quantities as text: number, space, unit, from a closed table. `12 B/cycle@core`, `490 GB/s`,
// `4 cycles@core`, `400 ns`, `16 /cycle@core`, `1410 MHz`, `164 KiB` (KiB is 1024 B, kB is 1000 B).
//
// Decimal prefixes scale the digits, not the double: 400 ns is the double nearest to 400e-9. So
// printing the shortest digits and reading them back is exact.
// Post-condition: parse_quantity(print_quantity(v, clock, d), d) == {v, clock} for every finite v.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace assay {

// The dimension of a value. Base units: B, Hz, W, J, s. A rate is events, and a bandwidth bytes,
// per clock tick or per second. A latency is in ticks or seconds.
enum class Dimension {
  bytes,
  count,
  hertz,
  watts,
  joules,
  seconds,
  ratio,
  rate,
  bandwidth,
  latency
};

struct Quantity {
  double v = 0;       // in the base unit
  std::string clock;  // the word after `@`; empty: per second, or seconds
  bool operator==(const Quantity&) const = default;
};

// Errors carry no file; `col` is the 1-based column of the fault within `text`.
Result<Quantity> parse_quantity(std::string_view text, Dimension dimension);

// Shortest exact text, in the unit that makes it shortest. `v` must be finite.
std::string print_quantity(double v, std::string_view clock, Dimension dimension);

// A plain number. Errors: with the column where reading stopped.
Result<double> parse_number(std::string_view text);

// Shortest digits that read back as `v`.
std::string print_number(double v);

const char* name_of(Dimension dimension);                // "a size", "a bandwidth", ...
std::vector<std::string> units_of(Dimension dimension);  // as written; `@core` stands for any clock

}  // namespace assay
