#include "model/control.h"

#include <algorithm>

namespace assay::model {

namespace {

constexpr double kIteration = 1;  // count; comparing goes with the jump
constexpr double kCondition = 1;  // compare with jump, mostly known beforehand

}  // namespace

double control_slots(double iterations, double branches, double group) {
  const double lost = std::max(1.0, group) / 2;
  return iterations * (kIteration + lost) + branches * (kCondition + lost);
}

}  // namespace assay::model
