// In which order experiments run, how long each may measure, and which are left out where the time
// does not suffice.
//
// An experiment costs the loading of its kernels and one round over its points, whatever its share.
// Both are learned as the probe runs: the time of a kernel that is built, and what part of its
// share a first round takes. Where what remains does not fit, the least useful experiments are left
// out, later repetitions first, of equally useful ones the longest. The rest of the time is shared
// out by weight.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probe/experiments/experiments.h"

namespace assay::probe {

struct Step {
  const Experiment* experiment = nullptr;
  int repetition = 0;
  double weight = 0;  // of this repetition
  int kernels = 0;    // that no earlier step loads
};

struct Turn {
  Step step;
  double share = 0;     // s of measuring
  double reserved = 0;  // s that more useful steps need afterwards
};

class Schedule {
 public:
  // `steps` in the order they run; `seconds` of all of them together.
  Schedule(std::vector<Step> steps, double seconds);

  // The next step, if `left` seconds suffice; nullopt: none fits. What was left out before may fit
  // now.
  std::optional<Turn> next(double left);

  // What a step took: to open the device and load its kernels; for one round over its points.
  void learn(const Step& step, double loading, double round);

  std::vector<Step> left_out() const { return steps_; }  // after `next` gave nothing
  double weight() const;                                 // of what remains

 private:
  double loading_of(const Step& s) const;
  double round_of(const Step& s) const;
  double least_of(const Step& s) const { return loading_of(s) + round_of(s); }

  std::vector<Step> steps_;  // that remain
  double seconds_ = 0, weights_ = 0;
  double base_ = 0;  // s of the fastest loading
  double built_s_ = 0, built_ = 0;
  std::vector<double> parts_;  // first rounds over shares; a few are long
  std::map<std::string, std::pair<double, double>> known_;  // loading and round by experiment
};

// The steps of a probe. Repetitions come after all first ones; looks are spread evenly.
std::vector<Step> steps_of(std::vector<Step> first, std::vector<Step> looks);

}  // namespace assay::probe
