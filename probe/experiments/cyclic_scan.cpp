// What the last cache keeps of data that all units stream through.
#include <memory>
#include <optional>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/experiments/shared_reads.h"
#include "probe/experiments/stream_point.h"
#include "probe/inference/footprint.h"

namespace assay::probe {

// All units, each its own part, from inside the first cache to beyond the last. Simulated devices
// read the last footprint, which is far memory, chunk by chunk: passes over the whole of it would
// take long. Elsewhere others of the sweep leave its first chunks in the cache. What others leave
// of the last cache, and which dies the units are on, changes within seconds: later sweeps look
// again at where it ends, and each of them, in between, whether the units have one such cache at
// the time. Behind each footprint a little is read of the buffer's half that only the largest ones
// reach: which of the states that far memory shows it was taken in.
void run_cyclic_scan(Session& s) {
  constexpr double kWellWithin = 8;
  constexpr size_t kLooks = 3;
  constexpr double kLeavesNothing = 4;  // times what caches hold: what is read of so much more is
                                        // in none of them when it is its turn again
  constexpr int kSamplesOfALook = 3;
  if (s.device.threads) return;  // nobody knows which unit a group is on
  std::vector<int64_t> sizes = scan_footprints(s.known, s.device.units, s.max_bytes);
  std::erase_if(sizes, [&](int64_t bytes) {
    return static_cast<double>(bytes * s.device.units) < s.known.held / kWellWithin;
  });
  if (sizes.size() < 2) return;
  const int from = s.bench.allocate(sizes.back() * s.device.units);
  std::vector<StreamPoint> points;
  for (const int64_t bytes : sizes)
    points.push_back({"read", s.known.lanes, s.device.units, bytes, 0});
  const int64_t whole = sizes.back() * s.device.units, half = whole / 2 / kBlockBytes * kBlockBytes;
  const Job last = far_job(s.bench, points.back(), from, from, std::make_shared<Way>(whole));
  Job beyond =
      far_job(s.bench, points.back(), from, from, std::make_shared<Way>(half), half / kBlockBytes);
  beyond.samples = kSamplesOfALook;
  const bool shows_state =
      !s.bench.simulated() && static_cast<double>(half) >= kLeavesNothing * s.known.cached;
  const auto look_beyond = [&] {
    if (shows_state) s.emit(s.bench.measure("cyclic_scan", "beyond", {}, beyond));
  };
  const std::optional<Found> found =
      s.device.units == 2 ? Found::make(s)
                          : std::nullopt;  // of more, two that are near say nothing of the others
  s.rounds(points.size() + (found ? kLooks : 0), [&](size_t i) {
    if (i >= points.size()) {
      for (const bool other : {false, true}) found->look(s, "cyclic_scan", other, kSamplesOfALook);
      return look_beyond();
    }
    Conditions at = conditions_of(points[i]);
    at.erase("level");  // which footprints show which level is what the sweep is to tell
    if (s.bench.simulated() && i + 1 == points.size())
      return s.emit(s.bench.measure("cyclic_scan", "read", at, last));
    const Job job = stream_job(points[i], from, from, 1e-3);
    const runtime::Launch pass = s.bench.launch(job, 1);
    s.warm_up(pass);
    s.emit(s.bench.measure("cyclic_scan", "read", at, job));
    look_beyond();
  });
}

}  // namespace assay::probe
