#include "simulator/phase_dispatch.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace assay::simulator {

std::vector<DispatchSpan> dispatch(std::span<const DispatchedStep> steps, double slots) {
  std::vector<DispatchSpan> out;
  std::map<double, double> free = {{0, slots}};  // slots by the time at which they become free
  for (const DispatchedStep& step : steps) {
    DispatchSpan span{free.begin()->first, 0};
    double left = step.groups;
    while (left > 0) {
      const auto [at, count] = *free.begin();
      // Many rounds of equal groups at once: all slots go on together.
      if (free.size() == 1 && left > count) {
        const double rounds = std::floor(left / count), end = at + rounds * step.seconds;
        free = {{end, count}};
        left -= rounds * count;
        span.end = std::max(span.end, end);
        continue;
      }
      const double taken = std::min(left, count), end = at + step.seconds;
      free.erase(free.begin());
      if (count > taken) free[at] += count - taken;
      free[end] += taken;
      left -= taken;
      span.end = std::max(span.end, end);
    }
    out.push_back(span);
  }
  return out;
}

}  // namespace assay::simulator
