#include "support/number.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

namespace assay {
namespace {

const char* digits(const char* at, const char* last) {
  return std::find_if(at, last, [](char c) { return c < '0' || c > '9'; });
}

// The end of the mantissa that begins at `first`; `first` when there is none.
const char* mantissa_end(const char* first, const char* last) {
  const char* at = first != last && *first == '-' ? first + 1 : first;
  const char* whole = digits(at, last);
  if (whole == last || *whole != '.') return whole == at ? first : whole;
  const char* end = digits(whole + 1, last);
  return whole == at && end == whole + 1 ? first : end;
}

// The end of the exponent that begins at `mantissa`, if there is one.
const char* exponent_end(const char* mantissa, const char* last) {
  if (mantissa == last || (*mantissa != 'e' && *mantissa != 'E')) return mantissa;
  const char* at = mantissa + 1;
  if (at != last && (*at == '+' || *at == '-')) ++at;
  const char* end = digits(at, last);
  return end == at ? mantissa : end;
}

}  // namespace

std::from_chars_result read_double_by_strtod(const char* first, const char* last, double& value) {
  const char* mantissa = mantissa_end(first, last);
  if (mantissa == first) return {first, std::errc::invalid_argument};
  const char* end = exponent_end(mantissa, last);
  const double read = std::strtod(std::string(first, end).c_str(), nullptr);
  const bool lost =
      read == 0 && std::any_of(first, mantissa, [](char c) { return c >= '1' && c <= '9'; });
  if (lost || std::isinf(read)) return {end, std::errc::result_out_of_range};
  value = read;
  return {end, std::errc()};
}

std::from_chars_result read_double(const char* first, const char* last, double& value) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(first, last, value);
#else
  return read_double_by_strtod(first, last, value);
#endif
}

double rounded_to(double v, int digits) {
  if (v == 0 || !std::isfinite(v)) return v;
  const int exponent = digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(v))));
  const double scale = std::pow(10.0, std::abs(exponent));
  return exponent >= 0 ? std::round(v * scale) / scale : std::round(v / scale) * scale;
}

}  // namespace assay
