// What an experiment is given, inside its worker: the bench, what is known so far, and how long it
// may take. It sends observations and nothing else.
#pragma once

#include <functional>
#include <limits>
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
  const Observations& earlier;          // of this and earlier probes
  Known known;                          // inferred from `earlier`
  double seconds;                       // this experiment's share of the budget, from `started` on
  int fixed_rounds;                     // of a simulated device; 0: by the clock
  double started;                       // steady clock
  int64_t max_bytes;                    // largest buffer
  std::vector<int> lanes;               // f32 lanes that kernels have, ascending
  std::span<const ir::Kernel> kernels;  // of the bench
  // Some of them again, each launch by itself.
  std::function<std::unique_ptr<runtime::Module>(std::span<const ir::Kernel>)> one_by_one;
  Send send;
  std::mt19937_64 random;  // seeded: the order of points repeats
  // Called with every block that was sent.
  std::function<void(const Observation&)> after_block = {};
  // Kernels in groups of so many threads.
  std::function<std::unique_ptr<runtime::Module>(std::span<const ir::Kernel>, int threads)>
      load_with_group_size = {};
  // Kernels with an operation written in another form.
  std::function<std::unique_ptr<runtime::Module>(std::span<const ir::Kernel>,
                                                 const hwdesc::NamedText& form)>
      load_in_form = {};
  // Steady clock. The first round over an experiment's points may not take longer: half a curve
  // looks like a whole one of another chip, so it is then given up.
  double limit = std::numeric_limits<double>::infinity();
  double first_round = 0;  // s that it took

  // Rounds over points, in a new random order each time, until the share is used; at least one.
  // `measure(i)` takes one block at point i.
  void rounds(size_t points, const std::function<void(size_t)>& measure);
  // Passes through a footprint until one takes as long as the one before, or a time limit. Some
  // last caches learn over ten passes what is reused.
  void warm_up(const runtime::Launch& pass);
  bool wants_round(int round) const;  // after so many?
  bool time_left() const;             // to continue within a round
  void emit(const Observation& o);
  void fact(const std::string& name, const std::string& text);
};

double now_seconds();  // steady clock

// Ends the worker where the limit is past.
inline constexpr const char* kOutOfBudget = "budget";

}  // namespace assay::probe
