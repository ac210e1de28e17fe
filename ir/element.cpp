#include "ir/element.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/check.h"

namespace assay::ir {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

double half_to_double(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double magnitude = 0;
  if (exponent == 31)
    magnitude = fraction ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, -24);
  else
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  return (bits >> 15) ? -magnitude : magnitude;
}

uint16_t double_to_half(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < std::ldexp(1.0, -14))  // subnormal: a multiple of 2^-24; 1024 carries into normal
    return static_cast<uint16_t>(sign |
                                 static_cast<int>(std::nearbyint(std::ldexp(magnitude, 24))));
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, f in [0.5, 1)
  const int fraction = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));
  return static_cast<uint16_t>(sign | (((exponent + 14) << 10) + (fraction - 1024)));
}

// Rounds to f32 to odd first: rounding to nearest twice would be wrong near midpoints.
uint16_t double_to_bf16(double value) {
  const float f = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (std::isnan(f)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  const double back = static_cast<double>(f);
  if (back != value && (bits & 1) == 0) bits += std::fabs(back) < std::fabs(value) ? 1U : ~0U;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Floats of 8 bits: `digits` of the fraction, exponents from `low` on.
struct Float8 {
  int digits, low;
  double largest;
};
constexpr Float8 kE4m3{3, -6, 448}, kE5m2{2, -14, 57344};

double float8_to_double(const Float8& f, uint8_t bits) {
  const int ones = 1 << f.digits, fraction = bits % ones, exponent = (bits & 0x7f) / ones;
  double magnitude = exponent == 0 ? std::ldexp(fraction, f.low - f.digits)
                                   : std::ldexp(fraction + ones, exponent - 1 + f.low - f.digits);
  if (magnitude > f.largest)
    magnitude = f.digits == kE5m2.digits && fraction == 0
                    ? std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::quiet_NaN();
  return (bits >> 7) != 0 ? -magnitude : magnitude;
}

uint8_t double_to_float8(const Float8& f, double value) {
  const int sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return static_cast<uint8_t>(sign | 0x7f);
  const double magnitude = std::min(std::fabs(value), f.largest);
  if (magnitude == 0) return static_cast<uint8_t>(sign);
  int exponent = 0;
  std::frexp(magnitude, &exponent);                     // magnitude = g * 2^exponent, g in [0.5, 1)
  const int above = std::max(exponent - 1 - f.low, 0);  // 0: of denormals, too
  const int units =
      static_cast<int>(std::nearbyint(std::ldexp(magnitude, f.digits - f.low - above)));
  return static_cast<uint8_t>(sign | ((above << f.digits) + units));
}

template <class T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

}  // namespace

bool is_integer(DType t) {
  return t == DType::i8 || t == DType::u8 || t == DType::i32 || t == DType::i64 ||
         t == DType::boolean;
}

double load_element(DType t, const std::byte* at) {
  switch (t) {
    case DType::f32:
      return static_cast<double>(load<float>(at));
    case DType::f64:
      return load<double>(at);
    case DType::f16:
      return half_to_double(load<uint16_t>(at));
    case DType::bf16:
      return static_cast<double>(std::bit_cast<float>(uint32_t{load<uint16_t>(at)} << 16));
    case DType::f8e4m3:
      return float8_to_double(kE4m3, load<uint8_t>(at));
    case DType::f8e5m2:
      return float8_to_double(kE5m2, load<uint8_t>(at));
    case DType::f16x2:
    case DType::bf16x2:
      return static_cast<double>(load<uint32_t>(at));
    default:
      return static_cast<double>(load_integer(t, at));
  }
}

void store_element(DType t, std::byte* at, double value) {
  switch (t) {
    case DType::f32:
      return store(at, static_cast<float>(value));
    case DType::f64:
      return store(at, value);
    case DType::f16:
      return store(at, double_to_half(value));
    case DType::bf16:
      return store(at, double_to_bf16(value));
    case DType::f8e4m3:
      return store(at, double_to_float8(kE4m3, value));
    case DType::f8e5m2:
      return store(at, double_to_float8(kE5m2, value));
    case DType::i8:
      return store(at, saturate<int8_t>(value));
    case DType::u8:
      return store(at, saturate<uint8_t>(value));
    case DType::i32:
      return store(at, saturate<int32_t>(value));
    case DType::i64:
      return store(at, saturate<int64_t>(value));
    case DType::boolean:
      return store(at, static_cast<uint8_t>(value != 0));
    case DType::f16x2:
    case DType::bf16x2:
      return store(at, static_cast<uint32_t>(value));
  }
}

double rounded(DType t, double value) {
  std::array<std::byte, 8> element{};
  store_element(t, element.data(), value);
  return load_element(t, element.data());
}

double converted(DType t, double value) {
  return rounded(t, is_integer(t) && t != DType::boolean ? std::nearbyint(value) : value);
}

double unpack(DType number, uint32_t bits, int i) {
  std::array<std::byte, 16> element{};  // one of any type may be read from inside it
  store(element.data(), bits);
  return load_element(number, element.data() + i * bytes_of(number));
}

uint32_t pack(DType number, uint32_t bits, int i, double value) {
  std::array<std::byte, 16> element{};
  store(element.data(), bits);
  std::byte* at = element.data() + i * bytes_of(number);
  if (is_integer(number))
    store_integer(number, at, static_cast<int64_t>(value));
  else if (number == DType::f8e5m2 && std::isinf(value))  // a number of the type, not rounded to it
    store(at, static_cast<uint8_t>(value < 0 ? 0xfc : 0x7c));
  else
    store_element(number, at, value);
  return load<uint32_t>(element.data());
}

uint32_t bits_of(DType register_type, double value) {
  return register_type == DType::i32 ? static_cast<uint32_t>(static_cast<int32_t>(value))
                                     : static_cast<uint32_t>(value);
}
double of_bits(DType register_type, uint32_t bits) {
  return register_type == DType::i32 ? static_cast<double>(static_cast<int32_t>(bits))
                                     : static_cast<double>(bits);
}

int64_t load_integer(DType t, const std::byte* at) {
  switch (t) {
    case DType::i8:
      return load<int8_t>(at);
    case DType::u8:
      return load<uint8_t>(at);
    case DType::i32:
      return load<int32_t>(at);
    case DType::i64:
      return load<int64_t>(at);
    case DType::boolean:
      return load<uint8_t>(at) != 0;
    default:
      break;
  }
  ASSAY_CHECK(is_integer(t));
  return 0;
}

void store_integer(DType t, std::byte* at, int64_t value) {
  switch (t) {
    case DType::i8:
      return store(at, static_cast<int8_t>(value));
    case DType::u8:
      return store(at, static_cast<uint8_t>(value));
    case DType::i32:
      return store(at, static_cast<int32_t>(value));
    case DType::i64:
      return store(at, value);
    case DType::boolean:
      return store(at, static_cast<uint8_t>(value != 0));
    default:
      break;
  }
  ASSAY_CHECK(is_integer(t));
}

std::vector<double> doubles_of(DType t, std::span<const std::byte> bytes) {
  const size_t size = static_cast<size_t>(bytes_of(t));
  std::vector<double> values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) values[i] = load_element(t, bytes.data() + i * size);
  return values;
}

std::vector<std::byte> bytes_of_doubles(DType t, std::span<const double> values) {
  const size_t size = static_cast<size_t>(bytes_of(t));
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) store_element(t, bytes.data() + i * size, values[i]);
  return bytes;
}

}  // namespace assay::ir
