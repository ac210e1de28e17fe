// Hit curve of the caches under cyclic scans of all units.
#include <memory>
#include <optional>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/experiments/shared_reads.h"
#include "probe/experiments/stream_point.h"
#include "probe/inference/footprint.h"

namespace assay::probe {

// Each unit scans its own part, from inside the first cache to beyond the last. Simulated devices
// read the last footprint, which is far memory, chunk by chunk, since whole passes take long to
// simulate.
// Co-tenant load and the dies of the units change within seconds. So later sweeps measure the end
// of the last cache again, and check in between whether the units share one.
// After each footprint, a little of the buffer's second half is read, which only the largest
// footprints use. That tells in which state of far memory it was measured.
void run_cyclic_scan(Session& s) {
  constexpr double kWellWithin = 8;
  constexpr size_t kLooks = 3;
  // Times what caches hold: so much other data evicts everything.
  constexpr double kLeavesNothing = 4;
  constexpr int kSamplesOfALook = 3;
  if (s.device.threads) return;  // the unit of a group is unknown
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
  const Job last =
      far_job(s.bench, points.back(), from, from, std::make_shared<BlockCursor>(whole));
  Job beyond = far_job(s.bench, points.back(), from, from, std::make_shared<BlockCursor>(half),
                       half / kBlockBytes);
  beyond.samples = kSamplesOfALook;
  const bool shows_state =
      !s.bench.simulated() && static_cast<double>(half) >= kLeavesNothing * s.known.cached;
  const auto look_beyond = [&] {
    if (shows_state) s.emit(s.bench.measure("cyclic_scan", "beyond", {}, beyond));
  };
  const std::optional<SharedReads> shared_reads =
      s.device.units == 2 ? SharedReads::make(s)
                          // Two of several units on one die say nothing of the others.
                          : std::nullopt;
  s.rounds(points.size() + (shared_reads ? kLooks : 0), [&](size_t i) {
    if (i >= points.size()) {
      for (const bool other : {false, true})
        shared_reads->measure(s, "cyclic_scan", other, kSamplesOfALook);
      return look_beyond();
    }
    Conditions at = conditions_of(points[i]);
    at.erase("level");  // the sweep itself shows which footprints belong to which level
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
