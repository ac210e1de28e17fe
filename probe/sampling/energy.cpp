#include "probe/sampling/energy.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace assay::probe {

// Packages are zones of one number; zones of two numbers are parts of them.
Energy read_energy(const std::string& root) {
  Energy all;
  std::error_code none;
  int packages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root, none)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("intel-rapl:") || std::count(name.begin(), name.end(), ':') != 1)
      continue;
    double microjoules = 0;
    if (!(std::ifstream(entry.path() / "energy_uj") >> microjoules))
      return {0, "the energy counters of " + root + " are not readable by this user"};
    all.joules += microjoules * 1e-6;
    ++packages;
  }
  if (packages == 0) all.why = "there is no energy counter in " + root;
  return all;
}

}  // namespace assay::probe
