// What a unit reads of another one's cache.
#include <algorithm>
#include <string>
#include <vector>

#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/kernels.h"

namespace assay::probe {
namespace {

constexpr double kHeld = 0.5;  // of a capacity: the writer still has all of it
constexpr int kPairs = 4;      // of a launch that writes and one that reads, in a sample

// The largest cache of a unit's own; none: nullptr.
const KneePoint* own_cache(const Known& known, size_t& level) {
  const KneePoint* out = nullptr;
  for (size_t i = 0; i < known.levels.knees.size() && i < known.sharing.size(); ++i)
    if (!known.sharing[i].shared) {
      out = &known.levels.knees[i];
      level = i;
    }
  return out;
}

// One pass of every unit over its own blocks.
Job pass_over(const Session& s, const char* access, int buffer, int64_t blocks) {
  Job job;
  job.kernel = access_name(access, s.known.lanes);
  job.arguments = {{buffer, 0}};
  job.groups = s.device.units;
  job.parameters = [blocks, units = s.device.units](int64_t passes) {
    std::vector<double> out = {static_cast<double>(passes), static_cast<double>(blocks)};
    for (int u = 0; u < units; ++u) out.push_back(static_cast<double>(u * blocks * (kBlockBytes / kPlaceBytes)));
    return out;
  };
  return job;
}

}  // namespace

// Every unit writes its part of a buffer, and then reads or writes the part of the one `over` places further; 0: its own.
// Where it was read, writing it again takes it back from who read it.
void run_handed(Session& s) {
  size_t level = 0;
  const KneePoint* cache = own_cache(s.known, level);
  const int units = s.device.units;
  if (s.device.threads || s.device.simulated || units < 2 || cache == nullptr) return;  // simulated caches know nothing of each other
  const int64_t blocks = std::max<int64_t>(1, static_cast<int64_t>(kHeld * cache->from) / kBlockBytes);
  const int buffer = s.bench.allocate(units * blocks * kBlockBytes);
  const auto launch = [&](const char* access, size_t over) {
    runtime::Launch out = s.bench.launch(pass_over(s, access, buffer, blocks), 1);
    for (ir::Queue& q : out.queues) q.unit = (q.unit + units - static_cast<int>(over)) % units;
    std::sort(out.queues.begin(), out.queues.end(), [](const ir::Queue& a, const ir::Queue& b) { return a.unit < b.unit; });
    return out;
  };
  s.rounds(4, [&](size_t turn) {
    const size_t over = turn % 2;
    const bool reads = turn < 2;
    std::vector<runtime::Launch> list;
    for (int i = 0; i < kPairs; ++i) list.insert(list.end(), {launch("write", 0), launch(reads ? "read" : "write", over)});
    const auto observation = [&](std::string what) {
      if (over == 0) what += " own";
      return Observation{"handed", what, {{"level", double(level)}, {"bytes", double(blocks * kBlockBytes)}}, "s", {}, {}, 0, {}};
    };
    // Of all launches of a run, the first, third, ...: first 0; the others: first 1. Seconds per byte.
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
    sample(observation(reads ? "handed" : "taken"), 1);
    if (reads) sample(observation("reclaimed"), 0);
  });
}

}  // namespace assay::probe
