// False sharing: what a unit loses to another one's prefetches of the lines it writes.
#include <algorithm>
#include <optional>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr double kCachedPart = 0.5;  // of a capacity: all of it is still cached by its writer

}  // namespace

// All units write runs at once: alternating runs of two units in one area, or each unit's runs in
// an area of its own with untouched gaps of the same length. Seconds per run.
void run_false_sharing(Session& s) {
  const std::optional<size_t> level = s.known.own_cache();
  const int units = s.device.units;
  if (!has_peer_units(s) || !level) return;
  const int64_t rows = std::max<int64_t>(
      16, static_cast<int64_t>(kCachedPart * s.known.levels.knees[*level].from) / (2 * kEndBytes));
  const int64_t part = rows * 2 * kEndBytes + kBlockBytes;
  const int buffer = s.bench.allocate(units * part);
  s.rounds(2, [&](size_t point) {
    const bool side_by_side = point == 0;
    Job job;
    job.kernel = access_name("ends_write", s.lanes.back());
    job.arguments = {{buffer, 0}};
    job.groups = units;
    job.work = static_cast<double>(rows);
    job.most = kMaxPasses;
    job.parameters = [=](int64_t passes) {
      std::vector<double> out = {static_cast<double>(passes), static_cast<double>(rows)};
      for (int64_t u = 0; u < units; ++u)
        out.push_back(static_cast<double>(
            (side_by_side ? u / 2 * part + u % 2 * kEndBytes : u * part) / kPlaceBytes));
      return out;
    };
    s.emit(s.bench.measure("false_sharing", side_by_side ? "between" : "own",
                           {{"level", double(*level)}}, job));
  });
}
}  // namespace assay::probe
