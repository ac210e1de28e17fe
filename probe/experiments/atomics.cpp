// Atomic additions.
#include "probe/kernels/atomics.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

constexpr int64_t kCheckedIterations = 10;
constexpr double kSimulatedVectors = 20e-6,
                 // Each addition is interpreted; of waves a bench takes a tenth.
    kSimulatedWaves = 200e-6;

struct Point {
  std::string kind;
  int groups = 1;
};

bool has_kernel(const Session& s, const std::string& name) {
  return std::any_of(s.kernels.begin(), s.kernels.end(),
                     [&](const ir::Kernel& k) { return k.name == name; });
}

struct AtomicBench {
  Session& s;
  int lanes = atomic_lanes(s.lanes.front(), s.device.threads);
  int all = s.device.threads ? s.known.groups : s.device.units;
  int out = s.bench.allocate(std::max<int64_t>(all, kSlots) * kSlotFloats * 4);

  Job job_of(const Point& p) const {
    Job job;
    job.kernel = atomic_kernel(p.kind, lanes);
    job.arguments = {{out, 0}};
    job.groups = p.groups;
    job.work = static_cast<double>(kAtomicSteps * lanes) * (s.device.threads ? p.groups : 1);
    job.most = kMaxIterations;
    job.target_s = !s.device.simulated ? 0.5e-3
                   : s.device.threads  ? kSimulatedWaves
                                       : kSimulatedVectors;
    return job;
  }

  int32_t first_number() const {
    int32_t value = 0;
    s.bench.module().read({out, 0}, std::as_writable_bytes(std::span<int32_t>(&value, 1)));
    return value;
  }

  // No addition may be lost.
  void check(const std::string& kind) const {
    const int groups = kind == "same" ? all : 1;
    const Job job = job_of({kind, groups});
    const int32_t before = kind == "same" ? first_number() : 0;
    const runtime::Launch l = s.bench.launch(job, kCheckedIterations);
    s.bench.run({&l, 1});
    const int64_t expected = kCheckedIterations * kAtomicSteps * lanes * groups,
                  found = int64_t{first_number()} - before;
    if (found != expected)
      fail({error(fmt::format("{} additions by {} groups gave {}, expected {}", job.kernel, groups,
                              found, expected))});
  }
};

}  // namespace

void run_atomics(Session& s) {
  const AtomicBench bench{s};
  std::vector<Point> points;
  for (const std::string where : {"", "group_"})
    for (const std::string kind : kAtomicKinds) {
      if (!has_kernel(s, atomic_kernel(where + kind, bench.lanes))) continue;
      if (kind == "same") bench.check(where + kind);
      points.push_back({where + kind, 1});
      if (kind != "chain" && bench.all > 1) points.push_back({where + kind, bench.all});
    }
  s.rounds(points.size(), [&](size_t i) {
    const Point& p = points[i];
    s.emit(s.bench.measure("atomics", p.kind, {{"groups", p.groups}}, bench.job_of(p)));
  });
}

}  // namespace assay::probe
