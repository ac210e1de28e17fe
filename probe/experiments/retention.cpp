// How long the last cache keeps lines: over time, and while other data passes through it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/inference/footprint.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr double kCachedPart = 0.5;  // of a capacity: all of it is still cached by its writer
constexpr double kIdle[] = {0.03e-3, 0.3e-3, 1e-3, 3e-3, 10e-3, 30e-3};  // s; the first one is none
// Times what caches hold: so large a buffer is evicted before it is reused.
constexpr double kBeyondCached = 8;

}  // namespace

// Every unit writes a part that only the last cache holds, and evicts it from the caches before
// that one. Then it reads the part, after all units have read other data, or after a pause of
// dependent additions. Evicted lines take as long as far memory.
// "reused": the same of data that it has read and written from there a few times before, which some
// caches retain longer. Seconds per byte of all.
void run_retention(Session& s) {
  const size_t n = s.known.levels.knees.size();
  if (s.device.threads || s.device.simulated || n < 2)
    return;  // the unit of a group is unknown; simulated devices have no co-tenants
  const int units = s.device.units;
  const KneePoint& before = s.known.levels.knees[n - 2];
  const auto part = std::max<int64_t>(
                 1, static_cast<int64_t>(kCachedPart * before.from) / kBlockBytes),
             hot = static_cast<int64_t>(kEvictionFactor * before.to) / kBlockBytes + 1;
  const int64_t room = std::min(
      s.max_bytes,
      std::max<int64_t>(int64_t{256} << 20, static_cast<int64_t>(kBeyondCached * s.known.cached)));
  const int buffer = s.bench.allocate(room);
  BlockCursor cursor(room);  // longer than any cache
  const auto pass = [&](const char* access, int64_t blocks, int64_t first) {
    return s.bench.launch(all_units_pass(s, access, buffer, blocks, first), 1);
  };
  const int again = s.bench.allocate(units * part * kBlockBytes);
  const auto own = [&](const char* access) {
    return s.bench.launch(all_units_pass(s, access, again, part), 1);
  };
  const runtime::Launch evicting = s.bench.launch(
      all_units_pass(s, "read", s.bench.allocate(units * hot * kBlockBytes), hot), 1);
  const std::vector<int64_t> between = evicting_blocks(s.known, units, part, cursor.blocks());
  // Pauses of the intended length, whatever the clock was before.
  const auto adding = [&](double seconds) {
    const Job job = s.bench.sentinel_job(units, kIdle[1]);
    const int64_t some = s.bench.amount_for("retention", job);
    const runtime::Launch measured = s.bench.launch(job, some);
    return s.bench.launch(
        job, std::min(job.most, static_cast<int64_t>(static_cast<double>(some) * seconds /
                                                     s.bench.run({&measured, 1}).at(0)) +
                                    1));
  };
  const size_t once = std::size(kIdle) + between.size();  // then those of reused data
  s.rounds(once + between.size(), [&](size_t point) {
    const bool pause = point < std::size(kIdle), used = point >= once;
    const int64_t passing = pause ? 0 : between[point - (used ? once : std::size(kIdle))];
    const runtime::Launch idle = pause ? adding(kIdle[point]) : runtime::Launch{};
    Observation o{"retention",
                  pause  ? "pause"
                  : used ? "reused"
                         : "single_use",
                  {{"part", double(part * kBlockBytes)}, {"units", double(units)}},
                  "s",
                  {},
                  {},
                  0,
                  {}};
    pause ? o.at["idle"] = kIdle[point]
          : o.at["bytes"] = static_cast<double>(units * passing * kBlockBytes);
    for (int i = 0; i < 3; ++i)
      s.bench.sample(o, [&] {
        if (used) {
          const runtime::Launch others = pass("read", passing, cursor.next(units * passing));
          const std::vector<runtime::Launch> list = {own("write"), evicting,     own("read"),
                                                     evicting,     own("write"), evicting,
                                                     others,       own("read")};
          return s.bench.run(list).back() / static_cast<double>(units * part * kBlockBytes);
        }
        const int64_t mine = cursor.next(units * part);
        const std::vector<runtime::Launch> list = {
            pass("write", part, mine), evicting,
            pause ? idle : pass("read", passing, cursor.next(units * passing)),
            pass("read", part, mine)};
        return s.bench.run(list).back() / static_cast<double>(units * part * kBlockBytes);
      });
    s.emit(o);
  });
}
}  // namespace assay::probe
