// What an experiment is given, inside its worker: the bench, what is known so far, and how long it
// may take. It sends observations and nothing else.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/sampling/bench.h"
#include "probe/sampling/worker.h"

namespace assay::probe {

struct Session {
  Bench& bench;
  const runtime::DeviceInfo& device;
  const Observations& earlier;  // of this and earlier probes
  Known known;                  // inferred from `earlier`
  double seconds;               // this experiment's share of the budget, from `started` on
  int turns;  // of a simulated device: how many rounds, whatever time they take; 0: by the clock
  double started;                       // steady clock
  int64_t max_bytes;                    // largest buffer
  std::vector<int> lanes;               // f32 lanes that kernels have, ascending
  std::span<const ir::Kernel> kernels;  // of the bench
  // Some of them again, each launch on its own.
  std::function<std::unique_ptr<runtime::Module>(std::span<const ir::Kernel>)> one_by_one;
  Send send;
  std::mt19937_64 random;                               // seeded: the order of points repeats
  std::function<void(const Observation&)> behind = {};  // called with every block that was sent
  // Kernels in groups of so many threads.
  std::function<std::unique_ptr<runtime::Module>(std::span<const ir::Kernel>, int threads)>
      in_groups_of = {};
  // Kernels with an operation written in another form.
  std::function<std::unique_ptr<runtime::Module>(std::span<const ir::Kernel>,
                                                 const hwdesc::NamedText& form)>
      in_form = {};

  // Rounds over points, in a new random order each time, until the share is used; at least one.
  // `measure(i)` takes one block at point i.
  void rounds(size_t points, const std::function<void(size_t)>& measure);
  // Passes through a footprint until one takes as long as the one before, or it takes a long time:
  // some last caches learn over ten of them what is used again and again.
  void warm_up(const runtime::Launch& pass);
  bool another(int round) const;  // is there to be a round after so many?
  bool goes_on() const;           // and is it to go on, within one?
  void emit(const Observation& o);
  void fact(const std::string& name, const std::string& text);
};

double now_seconds();  // steady clock

}  // namespace assay::probe
