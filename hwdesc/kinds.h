// The kind of a member of a profile struct (value, word, list, part), decided by its C++ type
// alone, and how entries of lists are addressed.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hwdesc/profile.h"
#include "support/quantity.h"

namespace assay::hwdesc {

template <class Q>
inline constexpr Dimension kDimension = Dimension::count;
template <>
inline constexpr Dimension kDimension<Bytes> = Dimension::bytes;
template <>
inline constexpr Dimension kDimension<Hertz> = Dimension::hertz;
template <>
inline constexpr Dimension kDimension<Watts> = Dimension::watts;
template <>
inline constexpr Dimension kDimension<Joules> = Dimension::joules;
template <>
inline constexpr Dimension kDimension<Seconds> = Dimension::seconds;
template <>
inline constexpr Dimension kDimension<Ratio> = Dimension::ratio;
template <>
inline constexpr Dimension kDimension<Rate> = Dimension::rate;
template <>
inline constexpr Dimension kDimension<Bandwidth> = Dimension::bandwidth;
template <>
inline constexpr Dimension kDimension<Latency> = Dimension::latency;

// Quantities that may be counted by a clock.
template <class Q>
concept Clocked = requires(const Q& q) {
  q.clock;
};

template <class Q>
Quantity to_quantity(const Q& q) {
  if constexpr (Clocked<Q>)
    return {q.v, q.clock};
  else
    return {q.v, ""};
}

template <class Q>
Q from_quantity(const Quantity& q) {
  if constexpr (Clocked<Q>)
    return Q{q.v, q.clock};
  else
    return Q{q.v};
}

template <class Q>
std::string text_of(const Q& q) {
  const Quantity plain = to_quantity(q);
  return print_quantity(plain.v, plain.clock, kDimension<Q>);
}

template <class T>
struct ValueTraits : std::false_type {};
template <class Q>
struct ValueTraits<Value<Q>> : std::true_type {
  using Quantity = Q;
};
template <class T>
concept AValue = ValueTraits<std::remove_const_t<T>>::value;

template <class T>
struct NamedTraits : std::false_type {};
template <class Q>
struct NamedTraits<std::vector<std::pair<std::string, Value<Q>>>> : std::true_type {};
template <class T>
concept NamedValues = NamedTraits<std::remove_const_t<T>>::value;  // {mma: 1200 MHz}

template <class T>
concept AWord = std::same_as<std::remove_const_t<T>, std::string>;
template <class T>
concept ANumber = std::same_as<int, std::remove_const_t<T>>;
template <class T>
concept AChoice = std::is_enum_v<std::remove_const_t<T>>;
template <class T>
concept AScalar = AWord<T> || ANumber<T> || AChoice<T>;
template <class T>
concept WordList = std::same_as<std::remove_const_t<T>, std::vector<std::string>>;
template <class T>
concept NamedTexts = std::same_as<std::remove_const_t<T>, std::vector<NamedText>>;

template <class T>
struct ListTraits : std::false_type {};
template <class T>
struct ListTraits<std::vector<T>> : std::true_type {
  using Entry = T;
};
template <class T>
concept EntryList =
    ListTraits<std::remove_const_t<T>>::value && !WordList<T> && !NamedTexts<T> && !NamedValues<T>;
template <class T>
concept APart = !AValue<T> && !AScalar<T> && !ListTraits<std::remove_const_t<T>>::value;

// Entries written as a YAML map `name: {...}`; all others are lists `- {name: ...}`.
template <class T>
inline constexpr bool kMapEntry = false;
template <>
inline constexpr bool kMapEntry<Clock> = true;
template <>
inline constexpr bool kMapEntry<Api> = true;

// The one field that a bare quantity or word stands for: `memory: 1215 MHz` is {max: 1215 MHz}.
template <class T>
inline constexpr const char* kBareKey = nullptr;
template <>
inline constexpr const char* kBareKey<Clock> = "max";
template <>
inline constexpr const char* kBareKey<ImageBorder> = "gives";

// The key of a list entry in paths, `extends` and `!remove`. Empty: it has none.
template <class T>
std::string key_of(const T& entry) {
  return entry.name;
}
inline std::string key_of(const TlbLevel& t) { return std::to_string(t.depth); }
inline std::string key_of(const Instruction& i) { return i.use; }
inline std::string key_of(const ComputeOp& c) {
  return c.op + (c.dtype.empty() ? "" : "." + c.dtype) + (c.mode.empty() ? "" : "." + c.mode);
}
inline std::string key_of(const ShapePoint& s) {
  return s.units.known() ? text_of(*s.units.value) : "";
}
inline std::string key_of(const WideBarrier& b) {
  return b.threads.known() ? text_of(*b.threads.value) : "";
}
inline std::string key_of(const BarrierPoint& b) {
  return b.groups.known() ? text_of(*b.groups.value) : "";
}
inline std::string key_of(const LaneMode& m) {
  if (!m.name.empty() || !m.width.known()) return m.name;
  return text_of(*m.width.value);
}

}  // namespace assay::hwdesc
