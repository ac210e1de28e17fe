#include "toolkit/measure.h"

namespace assay::toolkit {

Result<probe::ProbeResult> measure(const std::string& device, const probe::ProbeOptions& options) {
  return probe::probe(device, options);
}

Result<probe::ProbeResult> measure_again(const std::string& observations) {
  return probe::infer_from(observations);
}

}  // namespace assay::toolkit
