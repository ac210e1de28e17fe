#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "model/residual.h"
#include "simulator/estimator.h"
#include "simulator/occupancy.h"
#include "simulator/wave_stalls.h"

namespace assay::simulator {

using model::Quantity;

double Estimator::compose_waves() {
  const double r = out_.occupancy = groups_per_unit(p_, m_);
  const double waves = groups_ * waves_per_group(p_);
  const double per_unit = std::max(1.0, std::ceil(groups_ / m_.units));
  const double busy = std::max({cost_.vector, cost_.load, cost_.store, cost_.issue}),
               moving = cost_.private_non_overlap + cost_.shared_non_overlap;
  WaveStalls waiting = wave_stalls(p_, m_, streams_, traffic_, counts_, waves);
  waiting.computing += model::group_barrier_of(m_, waves_per_group(p_)) * counts_.barriers / waves;
  // Of a unit's partitions, a wave uses one.
  const auto alone = [&](double seconds, const Quantity& rate) {
    return seconds * std::max(1.0, rate.parts * groups_ / waves);
  };
  // One wave's instruction-level parallelism limits its issue rate.
  const double in_order =
      cost_.issue * m_.issue_rate.value * m_.fma_latency.value / model::kWaveIlp * groups_ / waves;
  const double own =
      std::max({alone(cost_.vector, m_.fma_rate), alone(cost_.load, m_.load_rate),
                alone(cost_.store, m_.store_rate), alone(cost_.issue, m_.issue_rate), in_order});
  const double copying = waiting.copying + moving / per_unit,
               computing = waiting.computing + own / per_unit;
  const bool ahead = p_.pipeline_stages > 1 && !p_.staging.empty() && m_.copies_overlap;
  const double one =
      ahead ? std::max(copying / (p_.pipeline_stages - 1), computing) : copying + computing;
  for (size_t l = 0; l < m_.levels.size(); ++l)
    note_assumed(m_.levels[l].latency, l == 0 ? waiting.computing : traffic_[l - 1].read);
  out_.rounds = std::ceil(per_unit / r);
  waited_ = (waiting.copying + waiting.computing) * out_.rounds;
  add_term(
      "stalled waves", waited_,
      [&] {
        return fmt::format("of {:.4g} waves, {:.4g} groups at a time on a unit", waves,
                           std::min(r, per_unit));
      },
      m_.levels.back().latency.spread);
  const std::array<double, 3> parts = {busy, moving, out_.rounds * one};
  return model::p_norm(parts, model::kWaveExponent);
}

}  // namespace assay::simulator
