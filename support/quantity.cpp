#include "support/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>

#include "support/edit_distance.h"
#include "support/number.h"

namespace assay {

namespace {

// value = number * 10^decimal * 2^binary. `ticks`: followed by @ and the name of a clock.
struct Unit {
  const char* name;
  int decimal = 0;
  int binary = 0;
  bool ticks = false;
};

// The base unit is first in its table; zero prints in it.
constexpr std::array kBytes = {Unit{"B"},          Unit{"kB", 3},      Unit{"MB", 6},
                               Unit{"GB", 9},      Unit{"TB", 12},     Unit{"KiB", 0, 10},
                               Unit{"MiB", 0, 20}, Unit{"GiB", 0, 30}, Unit{"TiB", 0, 40}};
constexpr std::array kPlain = {Unit{""}};
constexpr std::array kHertz = {Unit{"Hz"}, Unit{"kHz", 3}, Unit{"MHz", 6}, Unit{"GHz", 9}};
constexpr std::array kWatts = {Unit{"W"}, Unit{"mW", -3}, Unit{"kW", 3}};
constexpr std::array kJoules = {Unit{"J"},      Unit{"mJ", -3},  Unit{"uJ", -6},
                                Unit{"nJ", -9}, Unit{"pJ", -12}, Unit{"fJ", -15}};
constexpr std::array kSeconds = {Unit{"s"}, Unit{"ms", -3}, Unit{"us", -6}, Unit{"ns", -9},
                                 Unit{"ps", -12}};
constexpr std::array kRate = {Unit{"/s"},     Unit{"k/s", 3},  Unit{"M/s", 6},
                              Unit{"G/s", 9}, Unit{"T/s", 12}, Unit{"/cycle", 0, 0, true}};
constexpr std::array kBandwidth = {Unit{"B/s"},          Unit{"kB/s", 3},
                                   Unit{"MB/s", 6},      Unit{"GB/s", 9},
                                   Unit{"TB/s", 12},     Unit{"KiB/s", 0, 10},
                                   Unit{"MiB/s", 0, 20}, Unit{"GiB/s", 0, 30},
                                   Unit{"TiB/s", 0, 40}, Unit{"B/cycle", 0, 0, true}};
constexpr std::array kLatency = {Unit{"s"},
                                 Unit{"ms", -3},
                                 Unit{"us", -6},
                                 Unit{"ns", -9},
                                 Unit{"ps", -12},
                                 Unit{"cycles", 0, 0, true},
                                 Unit{"cycle", 0, 0, true}};

std::span<const Unit> units(Dimension d) {
  switch (d) {
    case Dimension::bytes:
      return kBytes;
    case Dimension::count:
      return kPlain;
    case Dimension::hertz:
      return kHertz;
    case Dimension::watts:
      return kWatts;
    case Dimension::joules:
      return kJoules;
    case Dimension::seconds:
      return kSeconds;
    case Dimension::ratio:
      return kPlain;
    case Dimension::rate:
      return kRate;
    case Dimension::bandwidth:
      return kBandwidth;
    case Dimension::latency:
      return kLatency;
  }
  return kPlain;
}

constexpr std::array kDimensions = {Dimension::bytes,  Dimension::count,  Dimension::hertz,
                                    Dimension::watts,  Dimension::joules, Dimension::seconds,
                                    Dimension::ratio,  Dimension::rate,   Dimension::bandwidth,
                                    Dimension::latency};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Length of the longest number at the start of `s`: -?digits[.digits][e[+-]digits].
size_t number_length(std::string_view s) {
  size_t i = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  auto digits = [&](size_t k) {
    while (k < s.size() && is_digit(s[k])) ++k;
    return k;
  };
  size_t end = digits(i);
  if (end == i) return 0;
  if (end + 1 < s.size() && s[end] == '.' && is_digit(s[end + 1])) end = digits(end + 1);
  if (end < s.size() && (s[end] == 'e' || s[end] == 'E')) {
    size_t k = end + 1;
    if (k < s.size() && (s[k] == '-' || s[k] == '+')) ++k;
    if (digits(k) > k) end = digits(k);
  }
  return end;
}

// `digits` times 10^decimal, correctly rounded; nullopt when a double can not hold it.
std::optional<double> scaled(std::string_view digits, int decimal) {
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const size_t e = digits.find_first_of("eE");
  long exponent = decimal;
  if (e != std::string_view::npos) {
    std::string_view tail = digits.substr(e + 1);
    if (tail.starts_with('+')) tail.remove_prefix(1);
    long given = 0;
    const auto read = std::from_chars(tail.data(), tail.data() + tail.size(), given);
    if (read.ec != std::errc() || std::labs(given) > 100000) return std::nullopt;
    exponent += given;
  }
  const std::string text = std::string(digits.substr(0, e)) + "e" + std::to_string(exponent);
  double v = 0;
  const auto read = read_double(text.data(), text.data() + text.size(), v);
  if (read.ec != std::errc() || !std::isfinite(v)) return std::nullopt;
  return v;
}

Diag error_in(size_t offset, std::string message, std::string hint = "") {
  Diag d = error(std::move(message), std::move(hint));
  d.col = static_cast<int>(offset) + 1;
  return d;
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

std::string quoted(std::string_view s) { return fmt::format("'{}'", s); }

std::string lower(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return s;
}

bool is_clock_name(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
}

std::optional<Dimension> dimension_with(std::string_view unit) {
  for (Dimension d : kDimensions)
    for (const Unit& u : units(d))
      if (!unit.empty() && unit == u.name) return d;
  return std::nullopt;
}

std::string list_hint(Dimension d) {
  if (units(d).size() == 1) return std::string(name_of(d)) + " has no unit";
  return "units of " + std::string(name_of(d)) + ": " + join(units_of(d));
}

// Common spellings of a unit of the table.
std::string unit_hint(std::string_view unit, Dimension d) {
  if (unit.starts_with("KB") || unit == "K" || unit == "k") return "kB is 1000 B, KiB is 1024 B";
  if (unit.ends_with("bps") || unit.ends_with("bit/s") || unit.ends_with("b/s") || unit == "Mb" ||
      unit == "Gb")
    return "a byte is 8 bits; " + list_hint(d);
  for (const char* tick :
       {"clk", "clock", "clocks", "cyc", "FLOP/cycle", "op/cycle", "ops/cycle", "B/clk", "B/clock"})
    if (unit == tick)
      return std::string("write ") + (d == Dimension::bandwidth ? "B/cycle@core"
                                      : d == Dimension::rate    ? "/cycle@core"
                                                                : "cycles@core");
  for (const std::string& known : units_of(d))
    if (lower(known) == lower(std::string(unit))) return "did you mean '" + known + "'?";
  const std::string near = nearest(unit, units_of(d));
  if (!near.empty()) return "did you mean '" + near + "'?";
  return list_hint(d);
}

Diag unknown_unit(size_t offset, std::string_view unit, std::string_view name, Dimension d) {
  if (units(d).size() == 1)
    return error_in(offset, "unit " + quoted(unit) + " after " + name_of(d) + ", which has none");
  if (auto other = dimension_with(name))
    return error_in(offset,
                    quoted(unit) + " is the unit of " + name_of(*other) + "; " + name_of(d) +
                        " is expected here",
                    list_hint(d));
  return error_in(offset, "unknown unit " + quoted(unit), unit_hint(name, d));
}

// The unit and its clock; `offset` is where `text` stands in the whole quantity.
Result<std::pair<Unit, std::string>> parse_unit(std::string_view text, size_t offset, Dimension d) {
  const size_t at = text.find('@');
  const std::string_view name = text.substr(0, at);
  for (const Unit& u : units(d)) {
    if (name != u.name) continue;
    if (!u.ticks && at == std::string_view::npos) return std::pair{u, std::string()};
    if (!u.ticks) return error_in(offset + at, quoted(name) + " is not counted by a clock");
    if (at == std::string_view::npos)
      return error_in(offset, quoted(name) + " does not say of which clock",
                      "write " + std::string(name) + "@core, or another name of `clocks`");
    const std::string_view clock = text.substr(at + 1);
    if (!is_clock_name(clock))
      return error_in(offset + at, "the name of a clock is expected after '@'");
    return std::pair{u, std::string(clock)};
  }
  return unknown_unit(offset, text, name, d);
}

}  // namespace

const char* name_of(Dimension d) {
  switch (d) {
    case Dimension::bytes:
      return "a size";
    case Dimension::count:
      return "a count";
    case Dimension::hertz:
      return "a frequency";
    case Dimension::watts:
      return "a power";
    case Dimension::joules:
      return "an energy";
    case Dimension::seconds:
      return "a time";
    case Dimension::ratio:
      return "a ratio";
    case Dimension::rate:
      return "a rate";
    case Dimension::bandwidth:
      return "a bandwidth";
    case Dimension::latency:
      return "a latency";
  }
  return "a quantity";
}

std::vector<std::string> units_of(Dimension d) {
  std::vector<std::string> out;
  for (const Unit& u : units(d)) {
    if (*u.name == '\0' || std::string_view(u.name) == "cycle") continue;
    out.push_back(std::string(u.name) + (u.ticks ? "@core" : ""));
  }
  return out;
}

Result<double> parse_number(std::string_view text) {
  const size_t n = number_length(text);
  if (n == 0) return error_in(0, quoted(text) + " is not a number");
  if (n < text.size()) return error_in(n, quoted(text.substr(n)) + " after the number");
  const auto v = scaled(text, 0);
  if (!v) return error_in(0, quoted(text) + " is out of range");
  return *v;
}

Result<Quantity> parse_quantity(std::string_view text, Dimension d) {
  const size_t n = number_length(text);
  if (n == 0)
    return error_in(0, quoted(text) + " is not " + name_of(d),
                    units(d).size() == 1 ? "" : "a number, a space and a unit; " + list_hint(d));
  const std::string_view digits = text.substr(0, n);
  const size_t begin = std::min(text.find_first_not_of(' ', n), text.size());
  const std::string_view rest = text.substr(begin);
  if (rest.empty() && units(d).size() > 1)
    return error_in(0, quoted(digits) + " has no unit", list_hint(d));
  if (!rest.empty() && begin == n) {
    auto unit = parse_unit(rest, begin, d);
    if (!unit) return unit.diags();
    return error_in(n, "a space is expected between number and unit",
                    "write " + std::string(digits) + " " + std::string(rest));
  }
  const auto unit = parse_unit(rest, begin, d);
  if (!unit) return unit.diags();
  const auto v = scaled(digits, unit->first.decimal);
  const double value = v ? std::ldexp(*v, unit->first.binary) : 0;
  if (!v || !std::isfinite(value)) return error_in(0, quoted(digits) + " is out of range");
  return Quantity{value, unit->second};
}

namespace {

// sign, digits without point, and the power of ten of the first digit: d.ddd * 10^exponent.
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

Decimal decimal_of(double v) {
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof text, std::fabs(v), std::chars_format::scientific);
  const std::string_view s(text, static_cast<size_t>(end.ptr - text));
  Decimal out;
  out.negative = v < 0;
  const size_t e = s.find('e');
  for (char c : s.substr(0, e))
    if (c != '.') out.digits += c;
  std::string_view tail = s.substr(e + 1);
  if (tail.starts_with('+')) tail.remove_prefix(1);
  std::from_chars(tail.data(), tail.data() + tail.size(), out.exponent);
  return out;
}

std::string scientific(const Decimal& d, int exponent) {
  const std::string_view digits = d.digits;
  return fmt::format("{}{}{}e{}", digits[0], digits.size() > 1 ? "." : "", digits.substr(1),
                     exponent);
}

// `d` divided by 10^shift as text.
std::string shifted(const Decimal& d, int shift) {
  const int exponent = d.exponent - shift;
  const int n = static_cast<int>(d.digits.size());
  std::string out;
  if (exponent < -7 || exponent > 15) {
    out = scientific(d, exponent);
  } else if (exponent < 0) {
    out = "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + d.digits;
  } else if (n <= exponent + 1) {
    out = d.digits + std::string(static_cast<size_t>(exponent + 1 - n), '0');
  } else {
    const auto whole = static_cast<size_t>(exponent + 1);
    out = d.digits.substr(0, whole) + "." + d.digits.substr(whole);
  }
  return (d.negative ? "-" : "") + out;
}

// Prefers the shorter text, then the one without a fraction, then the earlier unit of the table.
bool better(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  return a.find_first_of(".e") == std::string::npos && b.find_first_of(".e") != std::string::npos;
}

}  // namespace

std::string print_number(double v) { return v == 0 ? "0" : shifted(decimal_of(v), 0); }

std::string print_quantity(double v, std::string_view clock, Dimension d) {
  ASSAY_CHECK(std::isfinite(v));
  std::string best;
  for (const Unit& u : units(d)) {
    if (u.ticks == clock.empty()) continue;
    const double in_unit = std::ldexp(v, -u.binary);
    if (std::ldexp(in_unit, u.binary) != v) continue;  // lost in the denormals
    std::string text = v == 0 ? "0" : shifted(decimal_of(in_unit), u.decimal);
    if (*u.name != '\0') text += fmt::format(" {}", u.name);
    if (u.ticks) text += fmt::format("@{}", clock);
    if (best.empty() || (v != 0 && u.name != std::string_view("cycle") && better(text, best)))
      best = text;
  }
  return best;
}

}  // namespace assay
