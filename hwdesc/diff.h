// The differences of two profiles, field by field, and whether their intervals explain them.
// Origins are not compared. Memories are compared by role and order, whatever they are called
// (align.h). Rates declared per different levels of topology are compared per unit, operations on
// different pipes by what the pipes do.
//
//   beyond         The intervals do not overlap; a number without one must equal or lie inside the
//                  other's. Also words that differ; and a memory on the way of plain loads, or what
//                  predictions need (topology.unit, multiply-adds), that only one profile has.
//   within         The intervals overlap. Ticks of a known clock are compared as times. A knee's
//                  interval is its own range.
//   untold         Only one profile says it, a value or the frequency of its clock is unknown, or
//                  both are computed from others, which are compared themselves.
//   circumstance   name, origin, references, identity and names of memories: when and where, not
//                  what the chip is
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

enum class Verdict { beyond, within, untold, circumstance };

const char* word_of(Verdict verdict);

struct Difference {
  std::string path;
  std::string left, right;  // printed values; empty: that profile has no such field
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
