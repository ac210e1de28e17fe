// How long the pipes of the busiest unit take for what is counted. Internal to simulator/.
#pragma once

#include <span>

#include "lower/count.h"
#include "model/machine.h"

namespace assay::simulator {

class Pipes {  // invariant: refers to a machine that outlives it
 public:
  // `width`: lanes of the program's vectors; `share`: of the work, that the unit has.
  Pipes(const model::Machine& m, int width, double share) : m_(m), width_(width), share_(share) {}

  // Seconds, all of them.
  double at_rate(double instructions, const model::Quantity& rate) const;

  // Loads or stores: those of narrower vectors may have a rate of their own, lanes that lie apart
  // do.
  double moving(double instructions, const model::Quantity& whole,
                std::span<const model::NarrowRate> narrow) const;
  double moving_single(double elements, const model::Quantity& whole,
                       std::span<const model::NarrowRate> narrow) const;
  double moving_apart(double lanes, const model::Quantity& apart,
                      std::span<const model::NarrowRate> narrow,
                      const model::Quantity& otherwise) const;

  // Operations of one pipe wait for each other, pipes work side by side; of a core as far as it
  // looks ahead. Functions that have no pipe of their own are made of multiply-adds and additions
  // alike. `moved_lanes` go through a vector pipe one by one.
  double busiest(const lower::Counts& counts, double moved_lanes) const;

 private:
  double arithmetic(double instructions, const model::Quantity& rate,
                    std::span<const model::NarrowRate> narrow, int width) const;

  const model::Machine& m_;
  const int width_;
  const double share_;
};

}  // namespace assay::simulator
