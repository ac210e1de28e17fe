#include "compiler/library/factors.h"

#include <utility>

namespace assay::compiler {

model::Machine scaled(model::Machine chip, const Factors& f) {
  const auto by = [&](Factor which) { return f[static_cast<size_t>(which)]; };
  chip.fma_rate.value *= by(Factor::multiply_adds);
  for (model::TypeRate& t : chip.types) t.multiply_adds.value *= by(Factor::multiply_adds);
  for (model::MatrixRate& r : chip.instructions) r.multiply_adds.value *= by(Factor::multiply_adds);
  for (model::Level& l : chip.levels) {
    const double rate = l.last ? by(Factor::far_memory) : l.shared ? by(Factor::shared_cache) : 1;
    l.read.value *= rate;
    l.write.value *= rate;
    l.latency.value *= by(Factor::latencies);
  }
  return chip;
}

}  // namespace assay::compiler
