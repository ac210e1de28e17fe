// Power and energy, where a counter can be read: of a processor that is ours alone, or of a board.
#include <algorithm>
#include <chrono>
#include <thread>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/energy.h"

namespace assay::probe {
namespace {

// Counters of processors are updated every millisecond, those of boards every 0.1 s.
constexpr double kStretch = 0.3, kBoardStretch = 1.5;  // s

// Joules so far. Errors: why there is no counter.
Result<double> energy_of(const Session& s) {
  if (s.device.simulated) return error("simulated chips have no energy counter");
  if (s.device.fact("class") != "cpu") return s.bench.module().joules();
  const Energy packages = read_energy();
  if (!packages.why.empty()) return error(packages.why);
  return packages.joules;
}

// Watts while `work` runs; 0 where the counter wrapped around.
template <class F>
double watts_of(const Session& s, F&& work) {
  const auto before = energy_of(s);
  const double started = now_seconds();
  work();
  const auto after = energy_of(s);
  const double seconds = now_seconds() - started;
  return before && after ? std::max(0.0, (*after - *before) / seconds) : 0;
}

}  // namespace

void run_power(Session& s) {
  if (const auto now = energy_of(s); !now) return s.fact("no_energy", now.diags()[0].message);
  const bool threads = s.device.threads;
  const int groups = threads ? s.known.groups : s.device.units;
  const int out = s.bench.allocate(std::max<int64_t>(kSlots, groups) * kSlotFloats * 4);
  const double stretch = threads ? kBoardStretch : kStretch;
  Job job;
  job.kernel = op_name("fma", s.known.lanes, s.known.chains);
  job.arguments = {{out, 0}};
  job.groups = groups;
  job.most = kMaxIterations;
  job.target_s = threads ? stretch / 50 : stretch;  // drivers end long kernels
  const int64_t amount = s.bench.amount_for("power", job);
  const runtime::Launch l = s.bench.launch(job, amount);
  s.rounds(2, [&](size_t i) {
    double seconds = 0;
    int runs = 0;
    const double watts = watts_of(s, [&] {
      if (i == 0) return std::this_thread::sleep_for(std::chrono::duration<double>(stretch));
      for (const double began = now_seconds(); runs == 0 || now_seconds() - began < stretch; ++runs)
        seconds += s.bench.run({&l, 1}).at(0);
    });
    if (watts <= 0) return;
    s.emit({"power", i == 0 ? "idle" : "fma", {}, "W", {watts}, {}, 0, {}});
    if (i == 0) return;
    const double each = static_cast<double>(amount) * runs *
                        op_steps("fma", s.known.chains, threads) * s.known.lanes * groups / seconds;
    s.emit({"power", "fma_rate", {}, "1", {each}, {}, 0, {}});
  });
}

}  // namespace assay::probe
