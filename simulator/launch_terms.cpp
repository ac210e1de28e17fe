#include "simulator/launch_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/launch_tree.h"
#include "simulator/complete.h"

namespace assay::simulator {

LaunchTerms::LaunchTerms(const model::Machine& m, TermDetail detail) : m_(m), detail_(detail) {
  for (const model::Level& l : m.levels)
    if (l.shared && &l != &m.levels.back()) shared_ = &l;
  if (shared_ == nullptr) shared_ = &m.levels.back();
}

void LaunchTerms::add(const char* name, double seconds, const model::Quantity& rate,
                      const std::function<std::string()>& detail) {
  if (seconds <= 0) return;
  estimate.terms.push_back({name, seconds, detail_ == TermDetail::full ? detail() : std::string()});
  spreads_.push_back(rate.spread);
  if (rate.assumed) estimate.assumed.push_back(rate.path);
}

void LaunchTerms::add_memories(const model::LaunchPrice& price) {
  add("waits", price.waits, shared_->latency, [&] {
    return fmt::format("{:.0f} rounds of {:.0f} groups on a unit", price.rounds, price.occupancy);
  });
  for (const model::Level& l : m_.levels)
    if (price.waits > 0 && l.latency.assumed) estimate.assumed.push_back(l.latency.path);
  add("shared cache", price.shared_cache, shared_->read,
      [&] { return fmt::format("{:.4g} B", price.shared_bytes); });
  add("far memory", price.far, m_.levels.back().read,
      [&] { return fmt::format("{:.4g} B in, {:.4g} B out", price.far_read, price.far_written); });
  add("power", price.power, m_.power,
      [] { return std::string("energy of operations and bytes, at the power left for them"); });
  add("start", price.start, shared_->latency,
      [] { return std::string("code and parameters before, the last store after"); });
}

void LaunchTerms::add_launch(const model::LaunchWork& work, const model::LaunchPrice& price) {
  const double each = std::ceil(work.groups / m_.units), starts = m_.group_start.value * each;
  const double launch = m_.launch.value + std::max(0.0, starts - price.seconds);
  add("launch", launch, m_.launch,
      [&] { return fmt::format("launch and {:.0f} group starts", each); });
  const double active = std::min(m_.units, work.groups);
  const double late =
      std::min(m_.wakeup_skew.value * (1 - 1 / active), price.seconds * (active - 1));
  if (detail_ == TermDetail::full && std::isfinite(price.seconds))
    estimate.tree = model::join(
        "estimate", model::Part::Joins::sum,
        {model::leaf("launch", launch, fmt::format("launch and {:.0f} group starts", each),
                     {model::duration_of(m_.launch), model::duration_of(m_.group_start)}),
         model::leaf("wake-up skew", late, "units that begin late",
                     {model::duration_of(m_.wakeup_skew)}),
         model::launch_tree(work, price, m_)});
  add("wake-up skew", late, m_.wakeup_skew, [] { return std::string("units that begin late"); });
  estimate.seconds = price.seconds + launch + late;
  estimate.groups = work.groups;
  estimate.occupancy = price.occupancy;
  estimate.needs = {work.threads, work.registers_per_thread, work.scratch_bytes};
  estimate.rounds = price.rounds;
  estimate.balance = work.groups / (each * m_.units);
}

model::Estimate LaunchTerms::finish(double best) {
  estimate.efficiency = std::min(1.0, best / std::max(estimate.seconds, 1e-15));
  complete(estimate, spreads_, m_, "waves");
  return estimate;
}

}  // namespace assay::simulator
