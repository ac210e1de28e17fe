// `assay calibrate --data`. Internal to cli/.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/console/options.h"

namespace assay::cli {

struct DataRequest {  // as typed
  std::string data, profile, api, output, launch, caches;
  std::vector<std::string> overrides;
};

ExitCode run_calibrate_data(const DataRequest& r, Format format, const Context& context);

}  // namespace assay::cli
