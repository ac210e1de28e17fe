// Energy counters of a processor's packages, as Linux' powercap shows them
// (/sys/class/powercap/intel-rapl:N/energy_uj; AMD's processors have them under the same name).
// Reads /sys only.
#pragma once

#include <string>

namespace assay::probe {

inline constexpr const char* kPowercap = "/sys/class/powercap";

struct Energy {
  double joules = 0;  // of all packages together, since some moment; runs over now and then
  std::string why;    // it can not be told; "": it can
};
Energy read_energy(const std::string& root = kPowercap);

}  // namespace assay::probe
