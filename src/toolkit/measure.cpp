#include "toolkit/measure.h"

namespace assay::toolkit {

Result<probe::ProbeResult> measure(const std::string& device, const probe::ProbeOptions& options) {
  Result<std::unique_ptr<runtime::Device>> opened = runtime::open(device);
  if (!opened) return opened.diags();
  return probe::probe(**opened, options);
}

Result<probe::ProbeResult> measure_again(const std::string& observations) {
  return probe::infer_from(observations);
}

}  // namespace assay::toolkit
