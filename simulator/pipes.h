// How long the pipes of the busiest unit take for what is counted. Internal to simulator/.
#pragma once

#include <span>

#include "lower/count.h"
#include "model/machine.h"

namespace assay::simulator {

class Pipes {  // invariant: refers to a machine that outlives it
 public:
  // `width`: lanes of the program's vectors; `share`: of the work, that the unit has; `matrix`: how
  // long a unit takes for one of the program's matrix instructions, s; `multiply_add`: what one
  // costs in those of f32.
  Pipes(const model::Machine& m, int width, double share, double matrix, double multiply_add)
      : m_(m), width_(width), share_(share), matrix_seconds_(matrix), multiply_add_(multiply_add) {}

  // All of these return seconds.
  double at_rate(double instructions, const model::Quantity& rate) const;

  // Loads or stores. Narrower vectors may have a rate of their own; single elements and gathered or
  // scattered lanes do. `otherwise`: the rate of plain loads or stores.
  double load_or_store(double instructions, const model::Quantity& whole,
                       std::span<const model::NarrowRate> narrow) const;
  double single_elements(double elements, const model::Quantity& whole,
                         std::span<const model::NarrowRate> narrow) const;
  double gather_or_scatter(double lanes, const model::Quantity& rate,
                           std::span<const model::NarrowRate> narrow,
                           const model::Quantity& otherwise) const;

  // The busiest arithmetic pipe. Operations of one pipe are serialised; pipes overlap, in a core
  // within its reorder window. Functions without a pipe of their own occupy the pipes
  // of multiply-adds and of additions. Each of `moved_lanes` takes a vector instruction.
  double busiest(const lower::Counts& counts, double moved_lanes) const;

 private:
  double arithmetic(double instructions, const model::Quantity& rate,
                    std::span<const model::NarrowRate> narrow, int width) const;

  const model::Machine& m_;
  const int width_;
  const double share_;
  const double matrix_seconds_;
  const double multiply_add_;
};

}  // namespace assay::simulator
