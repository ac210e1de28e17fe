// The words that stand for each enumeration in YAML, one table per type. A closed list: a word that
// is not here is an error with the nearest one as hint.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

template <class E>
struct Words;  // static constexpr std::array<std::pair<E, const char*>, n> list

template <>
struct Words<Origin> {
  static constexpr std::array<std::pair<Origin, const char*>, 7> list{
      {{Origin::measured, "measured"},
       {Origin::driver, "driver"},
       {Origin::datasheet, "datasheet"},
       {Origin::paper, "paper"},
       {Origin::fitted, "fitted"},
       {Origin::derived, "derived"},
       {Origin::assumed, "assumed"}}};
};

template <>
struct Words<Fact> {
  static constexpr std::array<std::pair<Fact, const char*>, 3> list{
      {{Fact::unknown, "unknown"}, {Fact::no, "false"}, {Fact::yes, "true"}}};
};

template <>
struct Words<LaneStyle> {
  static constexpr std::array<std::pair<LaneStyle, const char*>, 2> list{
      {{LaneStyle::simt, "simt"}, {LaneStyle::simd, "simd"}}};
};

template <>
struct Words<Managed> {
  static constexpr std::array<std::pair<Managed, const char*>, 2> list{
      {{Managed::automatic, "automatic"}, {Managed::explicit_, "explicit"}}};
};

template <>
struct Words<WritePolicy> {
  static constexpr std::array<std::pair<WritePolicy, const char*>, 4> list{
      {{WritePolicy::unknown, "unknown"},
       {WritePolicy::through, "through"},
       {WritePolicy::around, "around"},
       {WritePolicy::allocate, "allocate"}}};
};

template <>
struct Words<CacheRole> {
  static constexpr std::array<std::pair<CacheRole, const char*>, 4> list{
      {{CacheRole::unknown, "unknown"},
       {CacheRole::inclusive, "inclusive"},
       {CacheRole::victim, "victim"},
       {CacheRole::memory_side, "memory_side"}}};
};

template <>
struct Words<Border> {
  static constexpr std::array<std::pair<Border, const char*>, 3> list{
      {{Border::unknown, "unknown"}, {Border::zero, "zero"}, {Border::clamp, "clamp"}}};
};

template <class E>
std::string word_of(E value) {
  for (const auto& [e, word] : Words<E>::list)
    if (e == value) return word;
  return "";
}

template <class E>
std::optional<E> from_word(std::string_view word) {
  for (const auto& [e, text] : Words<E>::list)
    if (word == text) return e;
  return std::nullopt;
}

template <class E>
std::vector<std::string> words() {
  std::vector<std::string> out;
  for (const auto& [e, word] : Words<E>::list) out.push_back(word);
  return out;
}

}  // namespace assay::hwdesc
