#include "probe/footprint.h"

#include <algorithm>
#include <cmath>

#include "probe/code.h"

namespace assay::probe {
namespace {

constexpr double kMissesAll = 1.5;  // times the previous capacity: a cyclic sweep finds nothing there

int64_t in_blocks(double bytes) {
  return std::max<int64_t>(1, static_cast<int64_t>(bytes / static_cast<double>(kBlockBytes))) * kBlockBytes;
}

}  // namespace

std::optional<int64_t> footprint_within(const Levels& levels, size_t i, int sharers) {
  if (i >= levels.knees.size()) return std::nullopt;
  const double own = levels.knees[i].from / sharers;
  if (i == 0) return in_blocks(0.5 * own);
  const double previous = kMissesAll * levels.knees[i - 1].capacity;
  if (previous > 0.8 * own) return std::nullopt;
  return in_blocks(std::sqrt(previous * 0.7 * own) < previous ? 0.75 * own : std::sqrt(previous * 0.7 * own));
}

int64_t footprint_beyond(const Levels& levels, int64_t most) {
  const double end = levels.knees.empty() ? 0 : levels.knees.back().to;
  return std::min<int64_t>(most, std::max<int64_t>(in_blocks(8 * end), int64_t{64} << 20));
}

}  // namespace assay::probe
