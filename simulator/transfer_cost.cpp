#include "simulator/transfer_cost.h"

#include <algorithm>

namespace assay::simulator {
namespace {

double seconds_per_byte(const model::Level& level, bool write, double active) {
  const double limit = (write ? level.write : level.read).value;
  if (!level.shared) return 1 / limit;
  const double alone = (write ? level.per_unit_write : level.per_unit_read).value;
  const double users = std::max(1.0, active / level.instances);
  return users / model::shared_bandwidth(users, alone, limit, level.bandwidth_exponent);
}

}  // namespace

model::TransferCost transfer_cost(const model::Machine& m, size_t l, double active) {
  const double read = seconds_per_byte(m.levels[l], false, active),
               write = seconds_per_byte(m.levels[l], true, active);
  const double serialisation =
      l == 0 ? m.load_store_serialisation : m.levels[l].read_write_serialisation;
  return {read, write, std::max({read, write, serialisation * (read + write)})};
}

model::TransferCost path_transfer_cost(const model::Machine& m, size_t l, double active) {
  model::TransferCost slowest;
  for (size_t k = 1; k <= l; ++k) {
    const model::TransferCost at = transfer_cost(m, k, active);
    slowest = {std::max(slowest.read, at.read), std::max(slowest.write, at.write),
               std::max(slowest.both, at.both)};
  }
  return slowest;
}

}  // namespace assay::simulator
