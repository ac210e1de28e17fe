#include "cli/console/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "support/number.h"
#include "support/quantity.h"

namespace assay::console {
namespace {

// Three significant digits without an exponent.
std::string three_digits(double v) {
  const double size = std::abs(v);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", v, decimals);
}

// Decimal prefixes of rates and times, from 1e-12 on.
constexpr std::string_view kPrefixes = "pnum kMGT";

// The unit without its prefix, and the factor of the prefix; 0: not a unit with prefixes.
std::pair<std::string, double> without_prefix(const std::string& unit) {
  for (const char* base : {"B/s", "Hz", "s"}) {
    if (unit == base) return {base, 1};
    const size_t prefix = unit.size() == std::string_view(base).size() + 1 && unit.ends_with(base)
                              ? kPrefixes.find(unit[0])
                              : std::string::npos;
    if (prefix != std::string::npos)
      return {base, std::pow(1000.0, static_cast<double>(prefix) - 4)};
  }
  return {unit, 0};
}

}  // namespace

std::string rounded_quantity(const std::string& text) {
  const size_t space = text.find(' ');
  double value = 0;
  const char* end = text.data() + std::min(space, text.size());
  if (read_double(text.data(), end, value).ptr != end || text.empty()) return text;
  if (space == std::string::npos) return text.size() > 4 ? three_digits(value) : text;
  const auto [unit, factor] = without_prefix(text.substr(space + 1));
  if (const auto size = parse_quantity(text, Dimension::bytes)) return bytes(size->v);
  if (factor == 0) return three_digits(value) + " " + unit;
  size_t prefix = 4;
  for (value *= factor; std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size(); value /= 1000)
    ++prefix;
  for (; value != 0 && std::abs(value) < 0.9995 && prefix > 0; value *= 1000) --prefix;
  return three_digits(value) + " " +
         (kPrefixes[prefix] == ' ' ? "" : std::string(1, kPrefixes[prefix])) + unit;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) {
      if (c == widths.size()) widths.push_back(0);
      widths[c] = std::max(widths[c], row[c].size());
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c)
      line += (c > 0 ? "  " : "") + (c == 0 ? fmt::format("{:<{}}", row[c], widths[c])
                                            : fmt::format("{:>{}}", row[c], widths[c]));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-6) return three_digits(seconds * 1e9) + " ns";
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string percent(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:+.1f} %", ratio * 100) : "-";
}

std::string bytes(double count) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (count >= 1024 && unit + 1 < std::size(kUnits)) {
    count /= 1024;
    ++unit;
  }
  return (unit == 0 ? fmt::format("{:.0f}", count) : three_digits(count)) + " " + kUnits[unit];
}

std::string shortened(const std::string& text, size_t width) {
  if (text.size() <= width || width < 4) return text;
  const size_t tail = (width - 2) / 2;
  return text.substr(0, width - 2 - tail) + ".." + text.substr(text.size() - tail);
}

}  // namespace assay::console
