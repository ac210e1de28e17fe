// Short looks at capacities, lines and multiply-adds, at several times of the probe: a neighbour
// comes and goes, and the best look counts.
#include <algorithm>
#include <cmath>
#include <set>

#include "probe/experiments/experiments.h"
#include "probe/inference/footprint.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/cycle.h"

namespace assay::probe {
namespace {

constexpr double kMostBytes = 8 << 20;  // of a short look: a larger cycle takes long to write
// Parts of a size that is declared, or was found.
constexpr double kParts[] = {0.7, 0.85, 0.95, 1, 1.05, 1.2, 1.5};

std::vector<int64_t> sizes_of(const Session& s) {
  std::set<int64_t> out;
  const auto line = static_cast<int64_t>(s.known.line);
  const auto add = [&](double size) {
    for (const double part : kParts)
      if (const double bytes = part * size; bytes > 0 && bytes <= kMostBytes)
        out.insert(std::max<int64_t>(1, std::llround(bytes / static_cast<double>(line))) * line);
  };
  for (size_t i = 0; i < s.known.levels.knees.size(); ++i) {
    add(s.known.levels.knees[i].capacity);
    add(declared_bytes(s.earlier, i));
  }
  std::erase_if(out, [&](int64_t bytes) { return bytes > s.max_bytes; });
  return {out.begin(), out.end()};
}

void look_at_multiply_adds(Session& s, int out) {
  Job job;
  job.kernel = op_name("fma", s.known.lanes, s.known.chains);
  job.arguments = {{out, 0}};
  job.work = op_steps("fma", s.known.chains, false);
  job.most = kMaxIterations;
  job.target_s = 0.4e-3;
  s.emit(
      s.bench.measure("looks", "fma", {{"lanes", s.known.lanes}, {"chains", s.known.chains}}, job));
}

}  // namespace

void run_looks(Session& s) {
  if (s.device.threads) return;  // their groups are nobody's neighbours on a core
  const std::vector<int64_t> sizes = sizes_of(s);
  if (sizes.empty()) return;
  const ChaseArea area = ChaseArea::make(s.bench, sizes.back());
  const int out = s.bench.allocate(kSlots * kSlotFloats * 4);
  PairTouches touches(s);
  const size_t pairs = kPairDistances.size();
  s.rounds(pairs + sizes.size() + 1, [&](size_t i) {
    if (i < pairs) return static_cast<void>(touches.measure("looks", i));
    if (i == pairs) return look_at_multiply_adds(s, out);
    chase_block(s, "looks", area, sizes[i - pairs - 1]);
  });
}

}  // namespace assay::probe
