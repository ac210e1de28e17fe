#include "simulator/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/computed_type.h"
#include "model/closed_form.h"
#include "model/conversions.h"
#include "model/slp.h"
#include "simulator/complete.h"
#include "simulator/estimate_group.h"
#include "simulator/estimate_launch.h"
#include "simulator/estimate_mapped.h"
#include "simulator/estimator.h"
#include "simulator/load_balance.h"
#include "simulator/unit_cost.h"

namespace assay::simulator {

using model::Estimate;
using model::Machine;
using model::Quantity;

Estimator::Estimator(const ir::Program& p, const Machine& m, const lower::Counts* counts,
                     TermDetail words)
    : p_(p),
      m_(m),
      detail_(words),
      streams_(model::streams_of(p)),
      slp_lanes_(model::slp_lanes(p, m.slp_lanes)),
      width_(p.vector_width * slp_lanes_),
      counts_(model::with_slp(
          p, model::with_conversions(p, m, counts != nullptr ? *counts : model::closed_form(p)),
          slp_lanes_)),
      share_(busiest_share(p, m)),
      pipes_(m, width_, share_, model::seconds_of_instruction(m, p.instruction),
             model::multiply_add_cost(m, ir::computed_in(p.graph, p.graph.nodes[0]))) {
  groups_ = static_cast<double>(ir::group_count(p));
  active_ = std::min(m.units, groups_);
  moved_ = share_;
  moved_by_others_ = active_ > 1 ? std::min(moved_, (1 - moved_) / (active_ - 1)) : 0;
}

double Estimator::at_least() {
  in_core_time();
  const double body = ecm_time(cost_, m_.load_store_serialisation);
  launch_time();
  return body + fixed_ + late_start(m_, active_, body);
}

Estimate Estimator::run(const CacheState& before, std::span<const Range> where) {
  others_ = remote_lines(p_, streams_, m_, before, where);
  traffic_ = model::traffic(p_, streams_, m_, cached_fractions(p_, streams_, m_, before, where),
                            model::accessed_bytes(p_, streams_, counts_, m_.levels[0].line));
  out_.groups = groups_;
  out_.flops = ir::flops_of(p_.graph, p_.graph.nodes[0]);
  out_.balance = 1 / (share_ * active_);
  in_core_time();
  transfer_time();
  set_conflict_time();
  false_sharing_time();
  coherence_time();
  tlb_time();
  out_.rounds = std::ceil(groups_ / m_.units);
  const double core = ecm_time(cost_, m_.load_store_serialisation), power = power_time();
  const double body = std::max(core, power);
  launch_time();
  const double late = wakeup_time(body);
  out_.seconds = body + fixed_ + late;
  if (in_full()) {
    using Joins = model::Part::Joins;
    model::Part unit =
        join("no sooner than its energy", Joins::longest,
             {core_tree(cost_, m_.load_store_serialisation, leaves_, lines_),
              model::leaf("energy", power, "of multiply-adds and bytes, at the power left for them",
                          {model::power_of(m_.power)})});
    out_.tree =
        join("estimate", Joins::sum,
             {std::move(unit),
              model::leaf("launch", fixed_, "with group starts",
                          {model::duration_of(m_.launch), model::duration_of(m_.group_start)}),
              model::leaf("wake-up skew", late, "units that begin late",
                          {model::duration_of(m_.wakeup_skew)})});
  }
  out_.efficiency = std::min(1.0, least_time(p_, out_.flops, m_) / std::max(out_.seconds, 1e-15));
  complete(out_, spreads_, m_, "cores");
  return out_;
}

double Estimator::power_time() {
  if (m_.power.value <= 0) return 0;
  double joules = out_.flops / 2 * model::product_energy(m_, ir::DType::f32, "") +
                  (counts_.loads() + counts_.stores()) * 4 * width_ * m_.levels[0].energy.value;
  for (size_t l = 0; l < traffic_.size(); ++l)
    joules += (traffic_[l].read + traffic_[l].written) * m_.levels[l + 1].energy.value;
  const double seconds = joules / m_.power.value;
  add_term(
      "power", seconds, [&] { return fmt::format("{:.4g} J", joules); }, m_.power.spread);
  return seconds;
}

void Estimator::note_assumed(const Quantity& q, double seconds) {
  if (q.assumed && seconds > 0) out_.assumed.push_back(q.path);
}

std::vector<ir::Index> Estimator::index_of(int tensor) const {
  for (const ir::Node& n : p_.graph.nodes)
    for (const ir::Read& r : n.reads)
      if (r.tensor == tensor) return r.index;
  std::vector<ir::Index> own;
  for (size_t d = 0; d < p_.graph.tensors[static_cast<size_t>(tensor)].shape.size(); ++d)
    own.push_back(ir::variable(static_cast<int>(d)));
  return own;
}

double Estimator::wakeup_time(double body) {
  const double late = late_start(m_, active_, body);
  if (late > 0)
    add_term(
        "wake-up skew", late, [] { return std::string("units that begin late"); },
        m_.wakeup_skew.spread);
  return late;
}

void Estimator::launch_time() {
  const double starts = m_.group_start.value * std::ceil(groups_ / m_.units);
  fixed_ = m_.launch.value + starts;  // a launch in a stream waits for the one before it
  note_assumed(m_.launch, 1);
  add_term(
      "launch", fixed_,
      [&] { return fmt::format("launch and {} group starts", std::ceil(groups_ / m_.units)); },
      m_.launch.spread);
}

Estimate estimate(const ir::Program& p, const Machine& m, const CacheState& before,
                  std::span<const Range> where, const lower::Counts* counts, TermDetail detail) {
  if (!p.producers.empty()) return estimate_group(p, m, before, where, detail);
  if (p.threads) return estimate_mapped(p, m, before, detail);
  if (m.simt)
    return estimate_launch(p, m, before, where, counts != nullptr ? *counts : model::closed_form(p),
                           detail);
  return Estimator(p, m, counts, detail).run(before, where);
}

}  // namespace assay::simulator
