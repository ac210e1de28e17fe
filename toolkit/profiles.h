// Profiles by name or path, with overrides, and targets made of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "hwdesc/target.h"
#include "support/result.h"

namespace assay::toolkit {

struct LoadProfileOptions {
  bool consistent = true;  // also refuse contradictions within the profile
  Diags* notes = nullptr;  // gets what it inherits and is in doubt (hwdesc/inherited.h)
};

bool profile_exists(const std::string& name_or_path);

// A path of a file, or of a directory with a profile.yaml in it, as a probe writes it. Else a name
// of the library: `<vendor>/<chip>`, the chip alone, or the profile's own name. A parent
// (`extends`) is looked up beside the file, then in the library. Errors: no such profile (names the
// nearest), and all faults in it.
Result<hwdesc::Profile> load_profile(const std::string& name_or_path,
                                     const LoadProfileOptions& options = {});

// `path op value`, in order. Returns all errors, with `--set` as their file.
Result<hwdesc::Profile> apply_overrides(hwdesc::Profile profile,
                                        std::span<const std::string> overrides);

std::string print_profile_text(const hwdesc::Profile& profile);  // canonical
Result<hwdesc::Profile> parse_profile_text(const std::string& text, const std::string& file,
                                           const LoadProfileOptions& options = {});

// hwdesc::check, and what predicting for each of its apis refuses.
Diags check_profile(const hwdesc::Profile& profile);

// The profile's api (`api` empty: the first) with its dialect from the library.
Result<hwdesc::Target> target_of(const hwdesc::Profile& profile, const std::string& api);

}  // namespace assay::toolkit
