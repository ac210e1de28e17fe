// Counts as closed forms give them, as text that names what differs.
#pragma once

#include <fmt/format.h>

#include <string>

#include "lower/count.h"

namespace assay::test {

// Without what closed forms leave out, or count otherwise: prefetches, branches, copies' loops.
inline std::string comparable_text(const lower::Counts& c) {
  std::string out = fmt::format("fma {} simple {} divide {} math {} matrix {} barriers {}\n", c.fma,
                                c.simple, c.divide, c.math, c.matrix, c.barriers);
  for (const lower::AccessCount& a : c.buffers)
    out += fmt::format(
        "  vector loads {} splats {} gathered {} fragments {} stores {} scattered {} fragments "
        "{} runs {} {} waves {}\n",
        a.vector_loads, a.splats, a.gathered_lanes, a.fragment_loads, a.vector_stores,
        a.scattered_lanes, a.fragment_stores, a.run_loads, a.run_stores, a.wave_loads);
  return out;
}

}  // namespace assay::test
