// `path op value` changes a profile: `memory.hbm.bandwidth*=2`, `topology.unit.count=264`,
// `memory.*.latency+=10 ns`. The same in `overrides:` of a file, on the command line, in sweeps.
//
//   =   sets a value, word, choice or fact; `=unknown` removes a value
//   *=  multiplies a value, or all known numbers of a structure but its ratios; intervals scale too
//   +=  adds a quantity of the same unit
//   *   as a whole path segment matches any key
//
// A changed value becomes `derived`, and its `method` says what was done.
#pragma once

#include <string>
#include <string_view>

#include "hwdesc/profile.h"
#include "support/result.h"

namespace assay::hwdesc {

// Errors carry no file; `col` is the 1-based column within `text`. Nothing matched: the nearest
// path.
Result<Profile> apply_override(const Profile& profile, std::string_view text);

}  // namespace assay::hwdesc
