// Memories of two profiles that play one role, whatever they are called: a probe numbers its
// caches, a datasheet names them. Internal to hwdesc/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

struct Aligned {
  Profile profile;  // with the other one's names, where it has a memory of the same role
  std::vector<std::pair<std::string, std::string>> names;  // of a memory: the other's, its own
};

// Roles: caches of one access path, scratchpads, memories of the device, the host's. Within a role
// the order decides; where one profile has more, those of the nearest sizes (or latencies) match.
Aligned aligned_to(const Profile& reference, Profile profile);

}  // namespace assay::hwdesc
