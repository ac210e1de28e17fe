// What two profiles say differently, place by place, and whether that is more than their intervals
// allow. Numbers are compared, not where they come from.
//
//   beyond         both have intervals and these do not meet; or one has none and lies outside the
//   other's; or neither
//                  has one; words that differ, and entries that only one has
//   within         the intervals meet; ticks of a clock that is known are times. A knee is an
//   interval itself: its from .. to untold         one of them does not know the value, or the
//   clock whose ticks it counts; or both computed it from
//                  others, which are compared themselves
//   circumstance   name, origin, references and identity: when and where, not what the chip is
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

enum class Verdict { beyond, within, untold, circumstance };

const char* word_of(Verdict verdict);

struct Difference {
  std::string path;
  std::string left, right;  // printed values; empty: that profile has no such place
  std::string left_interval, right_interval;  // "low .. high"; empty: not known
  Verdict verdict = Verdict::beyond;
  bool operator==(const Difference&) const = default;
};

// In the order of `left`, then what only `right` has.
std::vector<Difference> diff(const Profile& left, const Profile& right);

// Whether any of them is beyond.
bool differs(const std::vector<Difference>& differences);

// One line each: `path: left -> right`; "-" where there is nothing, intervals in brackets, the
// verdict at the end unless it is `beyond`.
std::string print_diff(const std::vector<Difference>& differences);

}  // namespace assay::hwdesc
