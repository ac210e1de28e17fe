#include "support/page/text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace assay::page {
namespace {

struct Prefix {
  double factor;
  const char* text;
};

constexpr std::array<Prefix, 7> kDecimal = {
    {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1, ""}, {1, ""}}};
constexpr std::array<Prefix, 7> kTimes = {
    {{1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}, {1e-12, "p"}, {1e-12, "p"}, {1e-12, "p"}}};
constexpr std::array<Prefix, 7> kBinary = {{{1099511627776.0, "Ti"},
                                            {1073741824.0, "Gi"},
                                            {1048576.0, "Mi"},
                                            {1024.0, "Ki"},
                                            {1, ""},
                                            {1, ""},
                                            {1, ""}}};

std::string digits(double v) { return fmt::format("{:.4g}", std::stod(fmt::format("{:.3g}", v))); }

std::string prefixed(double v, const std::array<Prefix, 7>& prefixes, const char* unit) {
  if (v == 0 || !std::isfinite(v)) return fmt::format("{} {}", v, unit);
  for (const Prefix& p : prefixes)
    if (std::abs(v) >= p.factor * 0.9995)  // 999.96 reads as the next prefix's 1
      return fmt::format("{} {}{}",
                         std::abs(v) >= 999.5 * p.factor ? fmt::format("{:.0f}", v / p.factor)
                                                         : digits(v / p.factor),
                         p.text, unit);
  const Prefix& last = prefixes.back();
  return fmt::format("{} {}{}", digits(v / last.factor), last.text, unit);
}

}  // namespace

const char* word_of(Kind kind) {
  constexpr std::array<const char*, 7> kWords = {
      "bytes", "seconds", "hertz", "per_second", "bytes_per_second", "count", "share"};
  return kWords[static_cast<size_t>(kind)];
}

std::string human(double v, Kind kind) {
  switch (kind) {
    case Kind::bytes:
      return prefixed(v, kBinary, "B");
    case Kind::seconds:
      return prefixed(v, kTimes, "s");
    case Kind::hertz:
      return prefixed(v, kDecimal, "Hz");
    case Kind::per_second:
      return prefixed(v, kDecimal, "/s");
    case Kind::bytes_per_second:
      return prefixed(v, kDecimal, "B/s");
    case Kind::share:
      return digits(100 * v) + " %";
    case Kind::count:
      break;
  }
  return v == std::round(v) && std::abs(v) < 1e6 ? fmt::format("{:.0f}", v) : digits(v);
}

std::string html(std::string_view text) {
  // The JSON writer replaces invalid UTF-8.
  const std::string clean =
      nlohmann::json::parse(nlohmann::json(std::string(text))
                                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
          .get<std::string>();
  std::string out;
  for (const char c : clean) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\t':
      case '\n':
        out += c;
        break;
      default:
        static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? out += "\uFFFD" : out += c;
    }
  }
  return out;
}

std::string script_safe(std::string json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out;
}

}  // namespace assay::page
