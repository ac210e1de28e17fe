// `--calibration FILE.yaml` of the commands that print calibrated predictions.
#pragma once

#include <string>

#include "toolkit/calibrate.h"

namespace assay::cli {

// Notes on stderr that it was made with another profile. Errors: unreadable, of another api.
Result<toolkit::Calibration> load_calibration_for(const std::string& path,
                                                  const hwdesc::Profile& profile,
                                                  const std::string& api);

}  // namespace assay::cli
