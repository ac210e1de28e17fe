// What a load or store of a line costs that another unit's cache holds modified or shared.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr double kCachedPart = 0.5;  // of a capacity: all of it is still cached by its writer
constexpr int kPairs = 4;            // of a launch that writes and one that reads, in a sample

}  // namespace

// Every unit writes its part of a buffer, then reads or writes the part of the unit `over` places
// further; 0: its own. Where a part was read by another unit, writing it again is an upgrade.
void run_coherence(Session& s) {
  const std::optional<size_t> level = s.known.own_cache();
  const int units = s.device.units;
  if (!has_peer_units(s) || !level) return;
  const int64_t blocks = std::max<int64_t>(
      1, static_cast<int64_t>(kCachedPart * s.known.levels.knees[*level].from) / kBlockBytes);
  const int buffer = s.bench.allocate(units * blocks * kBlockBytes);
  const auto launch = [&](const char* access, size_t over) {
    runtime::Launch out = s.bench.launch(all_units_pass(s, access, buffer, blocks), 1);
    for (ir::Queue& q : out.queues) q.unit = (q.unit + units - static_cast<int>(over)) % units;
    std::sort(out.queues.begin(), out.queues.end(),
              [](const ir::Queue& a, const ir::Queue& b) { return a.unit < b.unit; });
    return out;
  };
  s.rounds(4, [&](size_t point) {
    const size_t over = point % 2;
    const bool reads = point < 2;
    std::vector<runtime::Launch> list;
    for (int i = 0; i < kPairs; ++i)
      list.insert(list.end(), {launch("write", 0), launch(reads ? "read" : "write", over)});
    const auto observation = [&](std::string what) {
      if (over == 0) what += " own";
      return Observation{
          "coherence", what, {{"level", double(*level)}, {"bytes", double(blocks * kBlockBytes)}},
          "s",         {},   {},
          0,           {}};
    };
    // Seconds per byte of every second launch of a run: of the writes (`first` 0) or of what
    // follows (1).
    const auto sample = [&](Observation o, size_t first) {
      for (int i = 0; i < 6; ++i)
        s.bench.sample(o, [&] {
          const std::vector<double> times = s.bench.run(list);
          double sum = 0;
          for (size_t t = first; t < times.size(); t += 2) sum += times[t];
          return sum / kPairs / static_cast<double>(blocks * kBlockBytes);
        });
      s.emit(o);
    };
    sample(observation(reads ? "dirty_remote_read" : "dirty_remote_rfo"), 1);
    if (reads) sample(observation("upgrade"), 0);
  });
}
}  // namespace assay::probe
