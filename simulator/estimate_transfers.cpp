#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/bandwidth.h"
#include "model/copies.h"
#include "model/tlb.h"
#include "simulator/estimator.h"
#include "simulator/transfer_cost.h"

namespace assay::simulator {

using model::TransferCost;

std::pair<double, double> Estimator::bytes_from(size_t l) const {
  const model::LevelTraffic& t = traffic_[l];
  if (l + 1 == traffic_.size()) return {t.read, t.written};
  return {std::max(0.0, t.read - traffic_[l + 1].read),
          std::max(0.0, t.written - traffic_[l + 1].written)};
}

double Estimator::unprefetched_wait(size_t l, double read, double written) const {
  const model::Level& from = m_.levels[l + 1];
  const model::LevelTraffic& t = traffic_[l];
  const double line = m_.levels[0].line;
  double wait = 0, each = from.unprefetched_miss.value_or(0);
  if (from.latency.value > 0) {
    const double late =
        line / model::little_bound(from.outstanding_misses * line, from.latency.value);
    const double together = path_transfer_cost(m_, l + 1, active_).read,
                 alone = path_transfer_cost(m_, l + 1, 1).read;
    const double streaming = std::lerp(alone, together, moved_by_others_ / moved_);
    const double by_latency = std::max(0.0, late - line * streaming);
    each = std::min(by_latency, from.unprefetched_miss.value_or(by_latency));
  }
  if (t.read > 0) wait += t.unprefetched * read / t.read * each;
  if (t.written > 0)
    wait += t.runs_written * written / t.written * from.unprefetched_store.value_or(0);
  return wait * moved_;
}

Estimator::Streamed Estimator::streamed_from(size_t l) const {
  const auto [in, out] = bytes_from(l);
  const TransferCost concurrent = path_transfer_cost(m_, l + 1, active_),
                     alone = path_transfer_cost(m_, l + 1, 1),
                     nearest = transfer_cost(m_, 0, active_);
  const auto streamed = [&](double read, double written) {
    return moved_by_others_ * concurrent.seconds(read, written) +
           (moved_ - moved_by_others_) * alone.seconds(read, written);
  };
  // Only the time beyond the loads and stores of the same lines is waited for: of loads. Stores
  // wait in their buffer.
  const auto beyond = [&](double read, double written) {
    return std::max(0.0, streamed(read, written) + unprefetched_wait(l, read, written) -
                             moved_ * nearest.seconds(read, written));
  };
  const double all = beyond(in, out);
  const double waited = (1 - m_.levels[l + 1].overlap.value) * std::min(all, beyond(in, 0));
  return {in, out, streamed(in, out) + unprefetched_wait(l, in, out), all, waited};
}

void Estimator::transfer_time() {
  for (size_t l = 0; l < traffic_.size(); ++l) {
    const model::LevelTraffic& t = traffic_[l];
    const model::Level& from = m_.levels[l + 1];
    const Streamed s = streamed_from(l);
    const double copied = model::copy_fraction(streams_, t) * exposed_copies_;
    cost_.transfers += s.all;
    (from.shared ? cost_.shared_non_overlap : cost_.private_non_overlap) += s.waited;
    cost_.copied_transfers += copied * s.all;
    cost_.copied_non_overlap += copied * s.waited;
    note_assumed(from.read, s.in);
    note_assumed(from.write, s.out);
    note_assumed(from.overlap, s.waited);
    const std::string name = m_.levels[l].name + "<-" + from.name;
    add_term(
        name, s.beyond, [&] { return fmt::format("{:.4g} B in, {:.4g} B out", t.read, t.written); },
        from.read.spread);
    if (in_full())
      lines_.push_back({name,
                        s.all,
                        s.waited,
                        copied,
                        from.shared,
                        out_.terms.back().detail,
                        {model::bandwidth_of(from.read), model::bandwidth_of(from.per_unit_read),
                         model::duration_of(from.latency)}});
    out_.levels.push_back({name, t.read, t.written, s.beyond, t.working_set, from.shared});
  }
}

void Estimator::set_conflict_time() {
  if (traffic_.empty()) return;
  const double loaded = traffic_[0].set_conflicts * moved_ * m_.set_conflict.value;
  const double changed = traffic_[0].set_conflicts_dirty * moved_ * m_.set_conflict_dirty.value;
  const double copied = traffic_[0].copy_set_conflicts * moved_ * m_.set_conflict_dirty.value;
  cost_.set_conflicts = loaded + changed + (1 - exposed_copies_) * copied;
  cost_.copied_set_conflicts = exposed_copies_ * copied;
  if (cost_.set_conflicts + cost_.copied_set_conflicts <= 0) return;
  note_assumed(m_.set_conflict, loaded);
  note_assumed(m_.set_conflict_dirty, changed + copied);
  const double all = loaded + changed + copied;
  add_term(
      "set conflicts", all,
      [&] {
        return fmt::format("{:.4g} lines meet in a set, {:.4g} are changed there, {:.4g} in copies",
                           traffic_[0].set_conflicts, traffic_[0].set_conflicts_dirty,
                           traffic_[0].copy_set_conflicts);
      },
      (loaded * m_.set_conflict.spread + (changed + copied) * m_.set_conflict_dirty.spread) / all);
  if (in_full())
    leaves_.set_conflicts =
        last_leaf({model::duration_of(m_.set_conflict), model::duration_of(m_.set_conflict_dirty)});
}

void Estimator::tlb_time() {
  const double walks = model::page_walks(p_, streams_, m_),
               walking = walks * moved_ * m_.second_tlb.latency.value;
  if (walking > 0) {
    cost_.shared_non_overlap = std::max(cost_.shared_non_overlap, walking);
    add_term(
        "page walks", walking, [&] { return fmt::format("{:.4g} pages", walks); },
        m_.second_tlb.latency.spread);
    if (in_full()) leaves_.page_walks = last_leaf({model::duration_of(m_.second_tlb.latency)});
  }
  const double seconds = model::tlb_misses(p_, streams_, m_) * moved_ * m_.tlb_miss.value;
  if (seconds <= 0) return;
  cost_.tlb += seconds;
  add_term(
      "tlb misses", seconds,
      [&] { return fmt::format("{:.4g} pages anew", seconds / moved_ / m_.tlb_miss.value); },
      m_.tlb_miss.spread);
  if (in_full()) leaves_.tlb = last_leaf({model::duration_of(m_.tlb_miss)});
}

}  // namespace assay::simulator
