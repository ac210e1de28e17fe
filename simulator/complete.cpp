#include "simulator/complete.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/interval.h"

namespace assay::simulator {

double least_time(const ir::Program& p, double flops, const model::Machine& m) {
  double elements = 0;
  for (const int t : ir::arguments_of(p))
    elements += static_cast<double>(ir::elements(p.graph.tensors[static_cast<size_t>(t)]));
  const double lanes = m.units * m.native_width;
  return m.launch.value +
         std::max(flops / 2 / m.fma_rate.value, elements / m.load_rate.value) / lanes;
}

double late_start(const model::Machine& m, double active, double body) {
  return std::min(m.wakeup_skew.value * (1 - 1 / active), body * (active - 1));
}

void complete(model::Estimate& e, std::span<const double> spreads, const model::Machine& m,
              std::string_view unit) {
  const model::Term *first = nullptr, *second = nullptr;  // the largest
  double variance = 0;  // each term's uncertainty, weighted by its part
  for (size_t i = 0; i < e.terms.size(); ++i) {
    const model::Term& t = e.terms[i];
    if (first == nullptr || t.seconds > first->seconds)
      second = std::exchange(first, &t);
    else if (second == nullptr || t.seconds > second->seconds)
      second = &t;
    const double part = e.seconds > 0 ? t.seconds / e.seconds * spreads[i] : 0;
    variance += part * part;
  }
  if (first != nullptr) e.bound = first->name;
  if (second != nullptr && second->seconds > 0) e.bound_margin = first->seconds / second->seconds;
  const double spread = std::sqrt(variance);
  const model::Residual band = model::residual_of(m.residuals, unit, e);
  e.low = e.seconds * std::max(0.0, 1 - std::hypot(1 - band.low, spread));
  e.high = e.seconds * (1 + std::hypot(band.high - 1, spread));
  std::sort(e.assumed.begin(), e.assumed.end());
  e.assumed.erase(std::unique(e.assumed.begin(), e.assumed.end()), e.assumed.end());
}

}  // namespace assay::simulator
