// Power and energy, where a counter can be read: of a processor that is ours alone.
#include <chrono>
#include <thread>

#include "probe/code.h"
#include "probe/energy.h"
#include "probe/experiments.h"
#include "probe/kernels.h"

namespace assay::probe {
namespace {

constexpr double kStretch = 0.3;  // s: counters move every millisecond, and others come and go

// Watts while `work` runs; 0 where the counter has run over.
template <class F>
double watts_of(F&& work) {
  const double before = read_energy().joules, started = now_seconds();
  work();
  const double seconds = now_seconds() - started;
  return std::max(0.0, (read_energy().joules - before) / seconds);
}

}  // namespace

void run_power(Session& s) {
  const std::string why = s.device.simulated ? "simulated chips tell no energy"
                          : s.device.fact("class") != "cpu" ? "no counter of such a device is known"
                                                 : read_energy().why;
  if (!why.empty()) return s.fact("no_energy", why);
  const int out = s.bench.allocate(kSlots * kSlotFloats * 4), units = s.device.units;
  Job job;
  job.kernel = op_name("fma", s.known.lanes, s.known.chains);
  job.arguments = {{out, 0}};
  job.groups = units;
  job.most = kMaxIterations;
  job.target_s = kStretch;
  const int64_t amount = s.bench.amount_for("power", job);
  const runtime::Launch l = s.bench.launch(job, amount);
  s.rounds(2, [&](size_t i) {
    double seconds = 0;
    const double watts = watts_of([&] {
      if (i == 0) std::this_thread::sleep_for(std::chrono::duration<double>(kStretch));
      else seconds = s.bench.run({&l, 1}).at(0);
    });
    if (watts <= 0) return;
    s.emit({"power", i == 0 ? "idle" : "fma", {}, "W", {watts}, {}, 0, {}});
    if (i == 0) return;
    const double each = static_cast<double>(amount) * op_steps(s.known.chains) * s.known.lanes * units / seconds;
    s.emit({"power", "fma_rate", {}, "1", {each}, {}, 0, {}});
  });
}

}  // namespace assay::probe
