// The terms of a launch's price, as an estimate. Internal to simulator/.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/price.h"
#include "simulator/estimate.h"

namespace assay::simulator {

class LaunchTerms {  // invariant: refers to a machine that outlives it
 public:
  LaunchTerms(const model::Machine& m, TermDetail detail);

  // What every launch has: waits, shared caches, far memory, start. Other terms come before.
  void add(const char* name, double seconds, const model::Quantity& rate,
           const std::function<std::string()>& detail);
  void add_memories(const model::LaunchPrice& price);

  // Groups begin beside others; a launch in a stream waits for the one before it.
  void add_launch(const model::LaunchWork& work, const model::LaunchPrice& price);

  // `best`: s in which the units could do it. Bound, efficiency, interval.
  model::Estimate finish(double best);

  model::Estimate estimate;

 private:
  const model::Machine& m_;
  const TermDetail detail_;
  const model::Level* shared_ = nullptr;  // the last that units share, else far memory
  std::vector<double> spreads_;
};

}  // namespace assay::simulator
