#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/bandwidth.h"
#include "model/constants.h"
#include "model/retention.h"
#include "simulator/estimator.h"
#include "simulator/transfer_cost.h"

namespace assay::simulator {

using model::TransferCost;

void Estimator::false_sharing_time() {
  if (m_.levels.size() < 2) return;
  const model::FalseSharingRuns ends = model::false_sharing_runs(p_, streams_, active_);
  if (ends.count <= 0) return;
  const model::Level& last = m_.levels[m_.levels.size() - 2];
  const bool measured = m_.false_sharing.value > 0,
             splits_lines = std::fmod(ends.run, m_.levels[0].line) != 0;
  const double passing = 2 * ends.count * last.latency.value / last.outstanding_misses;
  const double ends_cost = m_.false_sharing.value *
                           std::min(1.0, ends.run / model::kFalseSharingRunBytes) *
                           model::hit_fraction(last, held_bytes(last), last.end);
  const double split_lines =
      splits_lines ? lower::visits(p_, streams_.nest) * last.latency.value : 0;
  // Units reach their ends at the same time to the extent that their work is equal, and else by
  // chance: half of the time.
  const double in_step = moved_by_others_ / moved_;
  const double waiting =
      model::kFalselySharedPart * in_step * ends.count * (ends_cost + split_lines);
  (measured ? cost_.contention : cost_.shared_non_overlap) += measured ? waiting : passing;
  if (!measured) cost_.transfers += passing;
  add_term(
      "false sharing", measured ? waiting : passing,
      [&] { return fmt::format("{:.0f} runs of the output end in another unit's", ends.count); },
      measured ? m_.false_sharing.spread : last.latency.spread);
  if (!in_full()) return;
  if (measured)
    leaves_.contention = last_leaf({model::duration_of(m_.false_sharing)});
  else
    lines_.push_back({"false sharing",
                      passing,
                      passing,
                      0,
                      true,
                      out_.terms.back().detail,
                      {model::duration_of(last.latency)}});
}

double Estimator::held_bytes(const model::Level& level) const {
  double bytes = 0;
  for (const model::Stream& s : streams_.streams)
    if (s.staging < 0)
      bytes += model::unit_footprint(p_, streams_, s, active_, m_.levels[0].line)
                   .bytes(m_.levels[0].line);
  return bytes * std::max(1.0, active_ / level.instances);
}

void Estimator::coherence_time() {
  if (m_.levels.size() < 2) return;
  add_coherence("dirty remote read", others_.dirty_remote_read, m_.dirty_remote_read, false,
                "that another unit wrote last");
  add_coherence("dirty remote RFO", others_.dirty_remote_rfo, m_.dirty_remote_rfo, true,
                "written, which another unit wrote last");
  add_coherence("upgrade", others_.upgrade, m_.upgrade, true,
                "written, which another unit has read");
}

void Estimator::add_coherence(const char* name, double bytes, const model::Quantity& rate,
                              bool writes, const char* what) {
  if (bytes <= 0 || rate.value <= 0) return;
  size_t behind = 1;  // the memory behind the private caches
  while (behind + 1 < m_.levels.size() && !m_.levels[behind].shared) ++behind;
  const TransferCost streaming = path_transfer_cost(m_, behind, active_);
  const double seconds =
      bytes * std::max(0.0, 1 / rate.value - (writes ? streaming.write : streaming.read));
  if (seconds <= 0) return;
  cost_.shared_non_overlap += seconds;
  cost_.transfers += seconds;
  add_term(
      name, seconds, [&] { return fmt::format("{:.4g} B {}", bytes, what); }, rate.spread);
  if (in_full())
    lines_.push_back(
        {name, seconds, seconds, 0, true, out_.terms.back().detail, {model::bandwidth_of(rate)}});
}

}  // namespace assay::simulator
