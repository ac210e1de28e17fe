// The simplest models of a chip, beside which any other is judged.
//
//   datasheet       max(flops / peak, bytes / bandwidth)
//   three constants max(flops / (c peak), bytes / (b bandwidth)) + l
//
// c, b and l are fitted on the measurements of one chip and carried to others.
// Source: Williams, Waterman, Patterson, "Roofline", CACM 2009.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace assay::toolkit {

// What an operator does, however it is computed.
struct Work {
  double flops = 0;  // of all nodes; 2 for a multiply-add
  double bytes = 0;  // inputs and constants read once, outputs written once, in their types
};

// Nothing that passes between the nodes of the graph counts as moved.
Work work_of(const ir::Graph& g);

struct RooflineInput {
  double compute = 0;   // s at the peak
  double movement = 0;  // s at the bandwidth, each byte once
  double measured = 0;  // s
};

// `peak`: flops per s, 0 where the chip has none of the type; `bandwidth`: bytes per s.
RooflineInput roofline_input(const Work& work, double peak, double bandwidth, double measured);

struct RooflineConstants {
  double compute = 1, movement = 1;  // parts of the peak and of the bandwidth
  double launch = 0;                 // s
};

double roofline(const RooflineInput& in, const RooflineConstants& c = {});

// The constants of least mean |predicted / measured - 1|: parts in steps of 0.01 from 0.3 to 1,
// launches of 0, and from 1 to 100 us in steps of a fifth. No constants beat those found; of many
// rows 2000 decide, evenly taken.
RooflineConstants fit_roofline(const std::vector<RooflineInput>& rows);

}  // namespace assay::toolkit
