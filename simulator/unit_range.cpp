#include "simulator/unit_range.h"

#include <algorithm>

namespace assay::simulator {

model::Machine part_of(const model::Machine& m, int first, int last) {
  model::Machine out = m;
  out.units = last - first;
  out.first_unit = m.first_unit + first;
  for (model::Level& l : out.levels)
    if (l.shared && l.instances > 1) l.instances = std::max(1.0, l.instances * out.units / m.units);
  return out;
}

}  // namespace assay::simulator
