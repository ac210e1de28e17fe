#include "probe/sampling/passes.h"

#include <cmath>

#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

// Places spread evenly over a block, for any number of groups: multiples of the golden ratio.
int64_t stagger_of(int64_t group) {
  constexpr double kGolden = 0.6180339887498949;
  const double at = static_cast<double>(group) * kGolden;
  return static_cast<int64_t>((at - std::floor(at)) * static_cast<double>(kPlaces));
}

}  // namespace

std::vector<double> pass_parameters(int64_t passes, int64_t blocks, int64_t part, int64_t first,
                                    int groups, bool staggered) {
  std::vector<double> out = {static_cast<double>(passes), static_cast<double>(blocks)};
  for (int64_t g = 0; g < groups; ++g)
    out.push_back(
        static_cast<double>((first + part * g) * kPlaces + (staggered ? stagger_of(g) : 0)));
  return out;
}

bool has_neighbours(const runtime::DeviceInfo& device) {
  return device.simulated && !device.threads && !device.fact("neighbours").empty();
}

void fill_caches(Session& s, int buffer, const std::vector<Fill>& blocks) {
  std::vector<runtime::Launch> list;
  for (const Fill& f : blocks) {
    const int64_t whole = f.block.bytes / kBlockBytes;  // the rest is a few lines
    if (whole == 0) continue;
    Job job;
    job.kernel = access_name("read", s.lanes.back());
    job.arguments = {{buffer, f.block.begin}};
    job.first_unit = f.unit;
    job.parameters = [whole](int64_t passes) { return pass_parameters(passes, whole, 0, 0, 1); };
    list.push_back(s.bench.launch(job, 1));
  }
  if (!list.empty()) s.bench.run(list);
}

Job unit_pass(const Session& s, int unit, const char* access, int buffer, int64_t blocks) {
  Job job;
  job.kernel = access_name(access, s.known.lanes);
  job.arguments = {{buffer, 0}};
  job.first_unit = unit;
  job.parameters = [blocks](int64_t passes) { return pass_parameters(passes, blocks, 0, 0, 1); };
  return job;
}

Job all_units_pass(const Session& s, const char* access, int buffer, int64_t blocks,
                   int64_t first) {
  Job job = unit_pass(s, 0, access, buffer, blocks);
  job.groups = s.device.units;
  job.parameters = [blocks, first, units = s.device.units](int64_t passes) {
    return pass_parameters(passes, blocks, blocks, first, units);
  };
  return job;
}

Job vectors_of_rows(const Session& s, const char* access, int buffer, int64_t rows,
                    double target_s) {
  Job job;
  job.kernel = access_name(access, row_lanes(access, s.lanes));
  job.arguments = {{buffer, 0}};
  job.groups = 1;
  job.parameters = [rows](int64_t passes) {
    return std::vector<double>{static_cast<double>(passes), static_cast<double>(rows), 0};
  };
  job.work = static_cast<double>(rows);
  job.most = kMaxPasses;
  job.target_s = target_s;
  return job;
}

}  // namespace assay::probe
