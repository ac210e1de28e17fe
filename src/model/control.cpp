#include "model/control.h"

#include <algorithm>

namespace assay::model {

namespace {

constexpr double kIteration = 2;  // count, and compare with jump
constexpr double kCondition = 8;  // compare with jump for both ends of a range, along two dimensions

}  // namespace

double control_slots(double iterations, double branches, double group) {
  const double lost = std::max(1.0, group) / 2;
  return iterations * (kIteration + lost) + branches * (kCondition + lost);
}

}  // namespace assay::model
