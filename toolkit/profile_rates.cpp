#include "toolkit/profile_rates.h"

#include "model/machine.h"

namespace assay::toolkit {

Result<PeakRates> peak_rates(const hwdesc::Target& target) {
  const Result<model::Machine> machine = model::prepare(target);
  if (!machine) return machine.diags();
  return PeakRates{machine->units,
                   2 * machine->fma_rate.value * machine->native_width * machine->units,
                   machine->levels.back().read.value};
}

Result<probe::ProfileRates> unit_rates(const hwdesc::Target& target) {
  const Result<model::Machine> machine = model::prepare(target);
  if (!machine) return machine.diags();
  return probe::ProfileRates{machine->fma_rate.value, machine->dirty_remote_read.value,
                             machine->upgrade.value};
}

}  // namespace assay::toolkit
