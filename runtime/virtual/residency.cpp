#include "runtime/virtual/residency.h"

#include <algorithm>

namespace assay::runtime::simulated {

Needs needs_of(const Chip& chip, const Code& code) {
  const int granules = (registers_of(chip, code) + chip.granule - 1) / chip.granule;
  return {waves_of(chip, code), code.width, granules * chip.granule, code.scratch_bytes};
}

Needs largest(const Needs& a, const Needs& b) {
  return {std::max(a.waves, b.waves), std::max(a.threads, b.threads),
          std::max(a.registers, b.registers), std::max(a.scratch_bytes, b.scratch_bytes)};
}

int Fitting::all() const { return std::min({waves, groups, scratch, registers}); }

Fitting fitting(const Chip& chip, const Needs& needs) {
  Fitting out;
  out.waves = chip.waves / needs.waves;
  if (chip.groups > 0) out.groups = chip.groups;
  if (needs.scratch_bytes > 0 && chip.scratch.capacity > 0)
    out.scratch =
        static_cast<int>(chip.scratch.capacity / static_cast<double>(needs.scratch_bytes));
  if (chip.registers > 0) out.registers = chip.registers / (needs.registers * needs.threads);
  return out;
}

int resident(const Chip& chip, const Needs& needs) {
  return std::max(1, fitting(chip, needs).all());
}

int partition_of(const Chip& chip, const Needs& needs, int group) {
  return group * std::min(needs.waves, chip.partitions) % chip.partitions;
}

}  // namespace assay::runtime::simulated
