#include "cli/calibration_option.h"

#include "cli/console/report.h"

namespace assay::cli {

Result<toolkit::Calibration> load_calibration_for(const std::string& path,
                                                  const hwdesc::Profile& profile,
                                                  const std::string& api) {
  Result<toolkit::Calibration> calibration = toolkit::load_calibration(path);
  if (!calibration) return calibration;
  const Diags misfit = toolkit::misfits(*calibration, profile, api);
  if (has_error(misfit)) return misfit;
  console::print_diags(misfit);
  return calibration;
}

}  // namespace assay::cli
