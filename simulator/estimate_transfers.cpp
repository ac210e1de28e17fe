#include <fmt/format.h>

#include <algorithm>

#include "model/bandwidth.h"
#include "model/copies.h"
#include "model/residual.h"
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

double Estimator::unprefetched_wait(size_t l, double read, double paid) const {
  const model::Level& from = m_.levels[l + 1];
  const model::LevelTraffic& t = traffic_[l];
  if (m_.simt || from.latency.value <= 0 || t.read <= 0) return 0;
  const double line = m_.levels[0].line;
  const double late =
      line / model::little_bound(from.outstanding_misses * line, from.latency.value);
  const double each =
      std::max(0.0, late - paid * line * path_transfer_cost(m_, l + 1, active_).read);
  return t.unprefetched * read / t.read * moved_ *
         (from.unprefetched_miss ? std::min(each, *from.unprefetched_miss) : each);
}

double Estimator::short_run_slowdown(double short_runs, double all, double times) {
  return all > 0 ? 1 + short_runs / all * (times - 1) : 1;
}

void Estimator::transfer_time() {
  for (size_t l = 0; l < traffic_.size(); ++l) {
    const model::LevelTraffic& t = traffic_[l];
    const auto [in, out] = bytes_from(l);
    const model::Level& from = m_.levels[l + 1];
    const double slow_in = short_run_slowdown(t.short_run_read, t.read, from.short_run_read),
                 slow_out =
                     short_run_slowdown(t.short_run_written, t.written, from.short_run_write);
    const TransferCost concurrent =
                           path_transfer_cost(m_, l + 1, active_).slowed(slow_in, slow_out),
                       alone = path_transfer_cost(m_, l + 1, 1).slowed(slow_in, slow_out);
    const auto streamed = [&](double read, double written) {
      return moved_by_others_ * concurrent.seconds(read, written) +
             (moved_ - moved_by_others_) * alone.seconds(read, written);
    };
    // Only the time beyond the loads and stores of the same lines counts.
    const auto beyond = [&](double read, double written) {
      return std::max(0.0, streamed(read, written) -
                               moved_ * transfer_cost(m_, 0, active_).seconds(read, written));
    };
    const double streaming = streamed(in, out), all = beyond(in, out),
                 reading = std::min(all, beyond(in, 0));
    const bool shared = m_.levels[l + 1].shared;
    // A core stalls for loads; for stores only when its store buffer is full.
    const double hidden = hidden_transfer_fraction(m_, l + 1), near = hidden * all;
    const double far =
        (1 - hidden) * (m_.simt ? streaming : reading + model::kEcmNonOverlap * (all - reading));
    const double copied = model::copy_fraction(streams_, t) * exposed_copies_,
                 serialised = m_.simt ? 1 : copied + (1 - copied) * model::kEcmNonOverlap;
    const double late = unprefetched_wait(l, in, 1),
                 unprefetched = unprefetched_wait(l, in, serialised * (shared ? 1 - hidden : 1));
    cost_.transfers += streaming + late;
    cost_.private_non_overlap += serialised * near + (shared ? 0 : unprefetched);
    cost_.shared_non_overlap += far + (shared ? unprefetched : 0);
    cost_.copied_non_overlap += copied * (near + far);
    note_assumed(m_.levels[l + 1].read, in);
    note_assumed(m_.levels[l + 1].write, out);
    const std::string name = m_.levels[l].name + "<-" + m_.levels[l + 1].name;
    const double seconds = near + far + late;
    add_term(
        name, seconds, [&] { return fmt::format("{:.4g} B in, {:.4g} B out", t.read, t.written); },
        m_.levels[l + 1].read.spread);
    out_.levels.push_back(
        {name, t.read, t.written, seconds, t.working_set, m_.levels[l + 1].shared});
  }
}

void Estimator::set_conflict_time() {
  if (traffic_.empty()) return;
  // A set waits for few lines at once, so lines from behind the next cache cost more: the part of
  // the extra latency that is paid. Assumed, by loops over rows (0.75 to 1.25) and the times of
  // programs on two machines (0.25 to 0.75, and 0.2).
  constexpr double kExtraLatencyPaid = 0.25;
  // Copies mostly write lines whole, store after store: their cost over that of a line changed in
  // part. Assumed, by 20 products whose copies write 8 to 64 interleaved rows on one machine (0.6
  // to 0.8).
  constexpr double kCopiedConflict = 0.7;
  const bool farther = m_.levels.size() > 3 && !m_.levels[2].last && m_.levels[1].latency.value > 0;
  const double longer =
      farther ? kExtraLatencyPaid *
                    std::max(0.0, m_.levels[2].latency.value / m_.levels[1].latency.value - 1)
              : 0;
  const double unprefetched = farther ? traffic_[1].unprefetched_set_conflicts : 0;
  const double loaded =
      (traffic_[0].set_conflicts + longer * unprefetched) * moved_ * m_.set_conflict.value;
  const double changed = traffic_[0].set_conflicts_dirty * moved_ * m_.set_conflict_dirty.value;
  const double copied =
      kCopiedConflict * traffic_[0].copy_set_conflicts * moved_ * m_.set_conflict_dirty.value;
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
}

void Estimator::tlb_time() {
  if (m_.simt) return;
  const double walks = model::page_walks(p_, streams_, m_),
               walking = walks * moved_ * m_.second_tlb.latency.value;
  if (walking > 0) {
    cost_.shared_non_overlap = std::max(cost_.shared_non_overlap, walking);
    add_term(
        "page walks", walking, [&] { return fmt::format("{:.4g} pages", walks); },
        m_.second_tlb.latency.spread);
  }
  const double seconds = model::tlb_misses(p_, streams_, m_) * moved_ * m_.tlb_miss.value;
  if (seconds <= 0) return;
  cost_.tlb += seconds;
  add_term(
      "tlb misses", seconds,
      [&] { return fmt::format("{:.4g} pages anew", seconds / moved_ / m_.tlb_miss.value); },
      m_.tlb_miss.spread);
}

}  // namespace assay::simulator
