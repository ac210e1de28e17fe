// The simplest models of a chip, beside which any other is judged.
//
//   datasheet       max(flops / peak, bytes / bandwidth)
//   three constants max(flops / (c peak), bytes / (b bandwidth)) + l
//
// c, b and l are fitted on the measurements of one chip and carried to others.
// Source: Williams, Waterman, Patterson, "Roofline", CACM 2009.
#pragma once

#include <vector>

namespace assay::toolkit {

struct RooflineInput {
  double compute = 0;   // s at the peak
  double movement = 0;  // s at the bandwidth, each byte once
  double measured = 0;  // s
};

struct RooflineConstants {
  double compute = 1, movement = 1;  // parts of the peak and of the bandwidth
  double launch = 0;                 // s
};

double roofline(const RooflineInput& in, const RooflineConstants& c = {});

// The constants of least mean |predicted / measured - 1|: parts in steps of 0.02 from 0.3 to 1,
// launches from 0 to 100 us in steps of a fifth.
RooflineConstants fit_roofline(const std::vector<RooflineInput>& rows);

}  // namespace assay::toolkit
