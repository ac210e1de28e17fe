// Target = a profile, one of its apis, and the capabilities of that api's dialect. Programs are
// lowered and estimated for it; `lower model simulator compiler` know nothing else of a chip.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/profile.h"
#include "support/result.h"

namespace assay::hwdesc {

// Typed capabilities of a kernel language, from dialects/<name>.yaml (`capabilities:`).
struct DialectCapabilities {
  std::string name;
  std::vector<int> vector_widths;   // explicit vectors it can spell, in elements; {1} for SIMT C
  bool group_barrier = false;       // barriers within a group
  bool group_memory = false;        // scratchpad of a group
  bool prefetch = false;            // software prefetch
  bool schedules = false;           // steps of a plan run side by side, on units with queues
  bool merges = false;              // steps of one phase of a plan are one launch
  bool conditions = false;          // steps are left out where Step::needed_if does not hold
  std::vector<std::string> math;    // exp, tanh, ... it can spell
  std::vector<std::string> dtypes;  // element types it can store
  std::vector<std::string> lanes;   // styles of lanes it prints for: simd, simt; empty: any
  bool known = false;               // false: no dialect file: programs are predicted, not printed
};

struct Target {
  Profile profile;
  Api api;
  DialectCapabilities dialect;
};

// Threads of a wave, over which its vectors are distributed: the lanes of the narrowest mode where
// lanes are threads, else 1.
int threads_of(const Target& target);

// Memory of a unit that code copies into.
bool is_scratchpad(const MemoryLevel& level);

// Does one of `movers` copy into a scratchpad while its unit computes?
bool copies_overlap(const Profile& profile);

// Does one of them fill the scratchpads of several units at once?
bool copies_multicast(const Profile& profile);

// Text of a dialect file by name; empty: there is none.
// Errors: the api is not in the profile (names those that are), or its dialect file is wrong.
// `api_name` empty: the only api, or the first.
Result<Target> select_target(const Profile& profile, std::string_view api_name,
                             std::string_view dialect_yaml);

}  // namespace assay::hwdesc
