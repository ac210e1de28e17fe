#include "probe/experiments/stream_point.h"

#include <algorithm>

#include "probe/inference/footprint.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

constexpr int kFarSimulated = 8;  // noise of 3 % leaves less than 1 % of the median of two rounds

// From one group's chunk to the next: an odd number of blocks, so that groups in step use different
// sets, with room for the stagger.
int64_t group_spacing(int64_t chunk) { return chunk + (chunk % 2 == 0 ? 1 : 2); }

}  // namespace

bool copies(const std::string& access) { return access.starts_with("copy") || access == "triad"; }
double streams(const std::string& access) { return access == "triad" ? 3 : copies(access) ? 2 : 1; }
bool in_short_runs(const std::string& access) { return access.starts_with("short_run"); }
bool reads(const std::string& access) {
  return !access.starts_with("write") && access != "scatter" && access != "short_run_write";
}

Job window_job(const StreamPoint& p, int units, int from, double target_s) {
  Job job;
  job.kernel = access_name("read", p.lanes);
  job.arguments = {{from, 0}};
  job.groups = p.units;
  job.parameters = [p, units](int64_t passes) {
    std::vector<double> out = pass_parameters(passes, p.window, 0, 0, p.units);
    const int64_t windows = p.bytes / kBlockBytes / p.window;
    for (int g = 0; g < p.units; ++g)
      out[static_cast<size_t>(g) + 2] =
          static_cast<double>(window_of_group(g, units, windows) * p.window * kPlaces);
    return out;
  };
  job.work = static_cast<double>(p.window * kBlockBytes) * p.units;
  job.most = kMaxPasses;
  job.target_s = target_s;
  return job;
}

Job stream_job(const StreamPoint& p, int from, int to, double target_s) {
  Job job;
  job.kernel = access_name(p.around ? "around" : p.access, p.lanes);
  if (reads(p.access)) job.arguments.push_back({from, p.read_from});
  if (p.access == "triad") job.arguments.push_back({p.other, 0});
  if (copies(p.access) || !reads(p.access)) job.arguments.push_back({to, p.written_from});
  const int64_t blocks = std::max<int64_t>(1, p.bytes / kBlockBytes);
  job.groups = p.units;
  const int64_t room =
      in_short_runs(p.access) ? (blocks * kRowBytes + kBlockBytes - 1) / kBlockBytes : blocks;
  job.parameters = [=, units = p.units, together = p.together, around = p.around](int64_t passes) {
    std::vector<double> out = pass_parameters(passes, blocks, together ? 0 : room, 0, units);
    for (int g = 0; around && g < units; ++g)
      out[static_cast<size_t>(g) + 2] = static_cast<double>(g * blocks / units);
    return out;
  };
  job.work = static_cast<double>(blocks * kBlockBytes) * p.units * streams(p.access);
  job.most = kMaxPasses;
  job.target_s = target_s;
  return job;
}

Conditions conditions_of(const StreamPoint& p) {
  return {{"lanes", p.lanes},
          {"units", p.units},
          {"bytes", static_cast<double>(p.bytes)},
          {"level", p.level}};
}

Job far_job(const Bench& bench, const StreamPoint& p, int from, int to,
            const std::shared_ptr<BlockCursor>& cursor, int64_t first) {
  Job job = stream_job(p, from, to, 0.3e-3);
  const int64_t all = far_bytes_of_a_sample(cursor->blocks() * kBlockBytes) / kBlockBytes;
  const bool several = p.units > 1;
  const int64_t most =
      std::clamp<int64_t>(all / p.units - (several ? 2 : 0), 1, kFarChunk / kBlockBytes);
  const int64_t step = bench.simulated() ? 1 : most;
  job.parameters = [=, units = p.units](int64_t amount) {
    const int64_t chunk = amount * step;
    const int64_t part = several ? group_spacing(chunk) : chunk;
    return pass_parameters(1, chunk, part, first + cursor->next(part * units), units, several);
  };
  job.work = static_cast<double>(step * kBlockBytes) * p.units * streams(p.access);
  job.most = most / step;
  job.samples = 6;
  job.simulated = kFarSimulated;
  job.settles = false;
  return job;
}

}  // namespace assay::probe
