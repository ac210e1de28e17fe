// `--calibration FILE.yaml` of commands that show what it makes of their predictions.
#pragma once

#include <string>

#include "toolkit/calibrate.h"

namespace assay::cli {

// What it was made with that differs from the profile is said on stderr. Errors: unreadable, of
// another api.
Result<toolkit::Calibration> load_calibration_for(const std::string& path,
                                                  const hwdesc::Profile& profile,
                                                  const std::string& api);

}  // namespace assay::cli
