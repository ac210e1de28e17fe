// Energy counters of a processor's packages, by Linux' powercap
// (/sys/class/powercap/intel-rapl:N/energy_uj; AMD's processors use the same name). Reads /sys
// only.
#pragma once

#include <string>

namespace assay::probe {

inline constexpr const char* kPowercap = "/sys/class/powercap";

struct Energy {
  double joules = 0;  // of all packages together, since some moment; wraps around
  std::string why;    // why there is no value; "": there is one
};
Energy read_energy(const std::string& root = kPowercap);

}  // namespace assay::probe
