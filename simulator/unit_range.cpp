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

model::Machine with_residents(model::Machine m, int resident) {
  if (resident <= 0) return m;
  m.launch.value = model::resident_barrier_of(m, m.units * resident);
  m.resident_groups = std::min<double>(m.resident_groups, resident);
  return m;
}

}  // namespace assay::simulator
