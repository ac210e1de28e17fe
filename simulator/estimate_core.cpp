#include <fmt/format.h>

#include <algorithm>

#include "model/alignment.h"
#include "model/copies.h"
#include "model/issue_slots.h"
#include "model/operands.h"
#include "simulator/chain.h"
#include "simulator/estimator.h"

namespace assay::simulator {

using model::Quantity;

void Estimator::in_core_time() {
  const auto [split_loads, split_stores] = straddling_accesses();
  const model::Copies copied = model::copies_of(p_, counts_, m_.window);
  double gathered = 0, scattered = 0, splats = 0;
  for (const lower::AccessCount& a : counts_.buffers) {
    splats += a.splats;
    gathered += a.gathered_lanes;
    scattered += a.scattered_lanes;
  }
  // A core gathers and scatters lane by lane: each but a vector's first is inserted or extracted by
  // a vector pipe.
  const double inserted = (p_.vector_width - 1.0) / p_.vector_width;
  const double moved_lanes = (gathered + scattered) * inserted;
  const double loads = counts_.loads() + split_loads, stores = counts_.stores() + split_stores;
  cost_.vector = pipes_.busiest(counts_, moved_lanes);
  const double in_order = loads - gathered - copied.single_elements,
               elements = m_.splat_rate.value > 0
                              ? std::clamp(splats - copied.single_elements, 0.0, in_order)
                              : 0;
  cost_.load = pipes_.load_or_store(in_order - elements, m_.load_rate, m_.narrow_loads) +
               pipes_.load_or_store(elements, m_.splat_rate, m_.narrow_splats) +
               pipes_.single_elements(copied.single_elements, m_.load_rate, m_.narrow_loads) +
               pipes_.gather_or_scatter(gathered, m_.gather_rate, m_.narrow_gathers, m_.load_rate);
  cost_.store =
      pipes_.load_or_store(stores - scattered - copied.single_elements, m_.store_rate,
                           m_.narrow_stores) +
      pipes_.single_elements(copied.single_elements, m_.store_rate, m_.narrow_stores) +
      pipes_.gather_or_scatter(scattered, m_.scatter_rate, m_.narrow_scatters, m_.store_rate);
  cost_.copied_load = cost_.load * std::min(1.0, copied.exposed / std::max(loads, 1.0));
  cost_.copied_store = cost_.store * std::min(1.0, copied.exposed / std::max(stores, 1.0));
  exposed_copies_ = copied.exposed / std::max(1.0, copied.total);
  const model::CopyInstructions& copies = copied.parts;
  const model::Instructions counted{
      .operations = counts_.fma + counts_.simple + counts_.matrix,
      .divisions = counts_.divide,
      .functions = counts_.math,
      .loads = std::max(0.0, loads - gathered - copies.loads),
      .stores = std::max(0.0, stores - copied.total - (scattered - copies.scattered)),
      .gathered = std::max(0.0, gathered - copies.gathered) * inserted,
      .scattered = std::max(0.0, scattered - copies.scattered) * inserted,
      .prefetches = counts_.prefetches,
      .operands = model::operands_in_memory(p_, counts_, slp_lanes_),
      .iterations = counts_.iterations,
      .branches = counts_.branches};
  const double copying = model::copy_slots(copies), rest = model::core_slots(counted);
  const double all = rest + copying;
  cost_.issue = pipes_.at_rate(all, m_.issue_rate);
  cost_.copied_issue = pipes_.at_rate(copying * exposed_copies_, m_.issue_rate);
  cost_.chain = chain_seconds(p_, m_, streams_, counts_, share_);
  note_assumed(m_.alu_rate, counts_.simple);
  note_assumed(m_.divide_rate, counts_.divide);
  note_assumed(m_.math_rate, counts_.math);
  note_assumed(m_.issue_rate, cost_.issue >= cost_.vector ? 1 : 0);
  add_term(
      "vector", cost_.vector,
      [&] {
        return fmt::format(
            "{}{:.4g} multiply-adds, {:.4g} other, {:.4g} divisions, {:.4g} functions",
            counts_.matrix > 0 ? fmt::format("{:.4g} {}, ", counts_.matrix, p_.instruction) : "",
            counts_.fma, counts_.simple, counts_.divide, counts_.math);
      },
      m_.fma_rate.spread);
  if (in_full())
    leaves_.vector = last_leaf({model::rate_of(m_.fma_rate), model::rate_of(m_.alu_rate),
                                model::rate_of(m_.divide_rate), model::rate_of(m_.math_rate)});
  add_term(
      "load", cost_.load, [&] { return fmt::format("{:.4g} load instructions", loads); },
      m_.load_rate.spread);
  if (in_full()) leaves_.load = last_leaf({model::rate_of(m_.load_rate)});
  add_term(
      "store", cost_.store, [&] { return fmt::format("{:.4g} store instructions", stores); },
      m_.store_rate.spread);
  if (in_full()) leaves_.store = last_leaf({model::rate_of(m_.store_rate)});
  add_term(
      "issue", cost_.issue,
      [&] {
        return fmt::format("{:.4g} slots for {:.4g} instructions", all,
                           counted.without_control() + copied.total);
      },
      m_.issue_rate.spread);
  if (in_full()) leaves_.issue = last_leaf({model::rate_of(m_.issue_rate)});
  add_term(
      "chain", cost_.chain, [] { return std::string("dependent accumulations"); },
      m_.fma_latency.spread);
  if (in_full()) leaves_.chain = last_leaf({model::duration_of(m_.fma_latency)});
}

std::pair<double, double> Estimator::straddling_accesses() const {
  const std::vector<int> arguments = ir::arguments_of(p_);
  const double line = m_.levels[0].line;
  double loads = 0, stores = 0;
  for (size_t b = 0; b < arguments.size(); ++b) {
    const auto t = static_cast<size_t>(arguments[b]);
    const lower::AccessCount& a = counts_.buffers[b];
    if (a.vector_loads + a.vector_stores == 0) continue;
    const double part =
        model::straddling(p_, p_.layouts[t], p_.graph.tensors[t], index_of(arguments[b]), line);
    loads += part * a.vector_loads;
    stores += part * a.vector_stores;
  }
  return {loads, stores};
}

}  // namespace assay::simulator
