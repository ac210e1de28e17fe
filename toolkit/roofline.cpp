#include "toolkit/roofline.h"

#include <algorithm>
#include <cmath>

namespace assay::toolkit {

double roofline(const RooflineInput& in, const RooflineConstants& c) {
  return std::max(in.compute / c.compute, in.movement / c.movement) + c.launch;
}

RooflineConstants fit_roofline(const std::vector<RooflineInput>& rows) {
  // At most so many rows decide, evenly taken.
  constexpr size_t kMost = 2000;
  const size_t step = rows.size() / kMost + 1;
  const auto error = [&](const RooflineConstants& c) {
    double sum = 0;
    for (size_t i = 0; i < rows.size(); i += step)
      sum += std::abs(roofline(rows[i], c) / rows[i].measured - 1);
    return sum;
  };
  RooflineConstants best;
  double least = error(best);
  std::vector<double> launches = {0};
  for (double l = 1e-6; l < 1e-4; l *= 1.2) launches.push_back(l);
  for (const double launch : launches)
    for (double compute = 0.3; compute <= 1; compute += 0.02)
      for (double movement = 0.3; movement <= 1; movement += 0.02) {
        const RooflineConstants c{compute, movement, launch};
        const double e = error(c);
        if (e < least) best = c, least = e;
      }
  return best;
}

}  // namespace assay::toolkit
