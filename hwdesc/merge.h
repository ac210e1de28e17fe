// Two profiles of one chip, seen through different apis, as one: the first, and what only the
// second knows.
//
//   values      the first's stay; where it has none, or says unknown, the second's stand with their
//   origin references  of values that were taken come along; where a key names another source in
//   the first, under a key of their own entries     an api, pipe, operation, ... that only the
//   second has is added conflicts   what both say of the chip's structure must agree: words, counts
//   and sizes of topology, execution and
//               memory (sizes beyond their intervals), the caches and levels there are. What was
//               measured through another api otherwise (a rate, a latency) is no conflict: the
//               first's stays
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

enum class Prefer { first, second };  // what stands where both disagree

struct Conflict {
  std::string path;
  std::string first, second;                // printed values; "-": that profile has no such entry
  std::string first_origin, second_origin;  // of values: where they come from; "": a word
  bool operator==(const Conflict&) const = default;
};

struct Merged {
  Profile profile;  // conflicts decided as preferred; without a preference as the first says
  std::vector<Conflict> conflicts;  // in table order
  std::vector<std::string> taken;  // paths of the second's values and entries that the first lacked
};

Merged merge(const Profile& first, const Profile& second,
             std::optional<Prefer> prefer = std::nullopt);

}  // namespace assay::hwdesc
