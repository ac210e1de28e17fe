// Merges two profiles of one chip, probed through different apis: the first, and what only the
// second knows.
//
//   values      The first's win. Where they are unknown, the second's are added with their origin.
//   references  Those of added values are added, under a new key where the first uses the key
//               for another source.
//   entries     An api, pipe, operation, ... that only the second has is added.
//   conflicts   Both must agree on the chip's structure: its caches and levels, and the words,
//               counts and sizes of topology, execution and memory (within intervals). Rates and
//               latencies may differ by api: the first's win.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

enum class Prefer { first, second };  // which wins a conflict

struct Conflict {
  std::string path;
  std::string first, second;                // printed values; "-": that profile has no such entry
  std::string first_origin, second_origin;  // of values; "": a word
  bool operator==(const Conflict&) const = default;
};

struct Merged {
  Profile profile;  // conflicts resolved as preferred; without a preference, the first's
  std::vector<Conflict> conflicts;  // in table order
  std::vector<std::string> added;   // paths of values and entries added from the second
};

Merged merge(const Profile& first, const Profile& second,
             std::optional<Prefer> prefer = std::nullopt);

}  // namespace assay::hwdesc
