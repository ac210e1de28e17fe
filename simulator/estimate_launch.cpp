#include "simulator/estimate_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "model/analyse.h"
#include "model/closed_form.h"
#include "model/price.h"
#include "model/residual.h"
#include "model/slp.h"
#include "simulator/cache_lookup.h"
#include "simulator/occupancy.h"

namespace assay::simulator {

namespace {

class LaunchEstimate {
 public:
  LaunchEstimate(const ir::Program& p, const model::Machine& m, TermDetail detail)
      : p_(p),
        m_(m),
        detail_(detail),
        nearest_(static_cast<size_t>(&nearest_cache(m) - m.levels.data())) {}

  // Were its data in the nearest cache. Bytes and what waits for them only add to it.
  double at_least(const lower::Counts& counts) {
    work_ = model::analyse(p_, model::streams_of(p_), counts, model::shape_of(m_), {}, nearest_);
    price_ = model::price(work_, m_, model::Caches::warm);
    return m_.launch.value + price_.seconds;
  }

  model::Estimate run(const CacheState& before, std::span<const Range> where,
                      const lower::Counts& counts) {
    const model::Streams streams = model::streams_of(p_);
    const double at_once = groups_per_unit(p_, m_);
    const std::vector<model::LevelTraffic> traffic =
        model::traffic(p_, streams, m_, found(streams, before, where),
                       model::accessed_bytes(p_, streams, counts, m_.levels[0].line), at_once);
    work_ = model::analyse(p_, streams, counts, model::shape_of(m_), traffic, nearest_);
    for (size_t l = nearest_; l < traffic.size(); ++l)
      if (m_.levels[l + 1].shared || l + 1 == traffic.size())
        work_.moved.push_back({traffic[l].read, traffic[l].written});
    const bool cold = before.recent.empty();
    price_ = model::price(work_, m_, cold ? model::Caches::cold : model::Caches::warm);
    out_.groups = work_.groups;
    out_.flops = ir::flops_of(p_.graph, p_.graph.nodes[0]);
    out_.occupancy = price_.occupancy;
    out_.rounds = price_.rounds;
    out_.balance = work_.groups / (std::ceil(work_.groups / m_.units) * m_.units);
    add_terms();
    add_levels(traffic);
    add_launch();
    finish();
    return out_;
  }

 private:
  // What shared caches hold. Units' own caches see no writes of other units, so a launch begins
  // with them empty.
  model::CachedFractions found(const model::Streams& streams, const CacheState& before,
                               std::span<const Range> where) const {
    model::CachedFractions held = cached_fractions(p_, streams, m_, before, where);
    for (std::vector<double>& tensor : held)
      for (size_t l = 0; l < std::min(tensor.size(), m_.levels.size()); ++l)
        if (!m_.levels[l].shared) tensor[l] = 0;
    return held;
  }

  void add(const char* name, double seconds, const model::Quantity& rate,
           const std::function<std::string()>& detail) {
    if (seconds <= 0) return;
    out_.terms.push_back({name, seconds, detail_ == TermDetail::full ? detail() : std::string()});
    spreads_.push_back(rate.spread);
    if (rate.assumed) out_.assumed.push_back(rate.path);
  }

  void add_terms() {
    const model::Level& near = m_.levels[nearest_];
    add("multiply-adds", price_.multiply_adds, m_.fma_rate,
        [&] { return fmt::format("{:.4g} a group", work_.operations.multiply_adds); });
    add("operations", price_.other_operations, m_.alu_rate, [&] {
      return fmt::format("{:.4g} simple, {:.4g} divisions, {:.4g} functions a group",
                         work_.operations.simple, work_.operations.divisions,
                         work_.operations.functions);
    });
    add("issue", price_.issue, m_.issue_rate,
        [&] { return fmt::format("{:.4g} instructions a group", work_.instructions); });
    add("scratchpad", price_.scratch, m_.levels[0].read,
        [&] { return fmt::format("cycles of {:.4g} B a group", work_.scratch_traffic); });
    add("nearest cache", price_.near, near.read, [&] {
      return fmt::format("cycles of {:.4g} B, {:.4g} loads and stores a group", work_.near_traffic,
                         work_.loads);
    });
    add("waits", price_.waits, near.latency, [&] {
      return fmt::format("{:.0f} rounds of {:.0f} groups on a unit", price_.rounds,
                         price_.occupancy);
    });
    const model::Level* behind = nearest_ + 1 < m_.levels.size() ? &m_.levels[nearest_ + 1] : &near;
    add("shared cache", price_.shared_cache, behind->read,
        [&] { return fmt::format("{:.4g} B", price_.shared_bytes); });
    add("far memory", price_.far, m_.levels.back().read, [&] {
      return fmt::format("{:.4g} B in, {:.4g} B out", price_.far_read, price_.far_written);
    });
    add("start", price_.start, behind->latency,
        [] { return std::string("code and parameters before, the last store after"); });
  }

  void add_levels(const std::vector<model::LevelTraffic>& traffic) {
    for (size_t l = 0; l < traffic.size(); ++l) {
      const model::Level& from = m_.levels[l + 1];
      const double all =
          from.shared ? from.read.value * from.instances : from.read.value * m_.units;
      out_.levels.push_back({m_.levels[l].name + "<-" + from.name, traffic[l].read,
                             traffic[l].written, (traffic[l].read + traffic[l].written) / all,
                             traffic[l].working_set, from.shared});
    }
  }

  // Groups begin beside others; a launch in a stream waits for the one before it.
  void add_launch() {
    const double starts = m_.group_start.value * std::ceil(work_.groups / m_.units);
    const double launch = m_.launch.value + std::max(0.0, starts - price_.seconds);
    add("launch", launch, m_.launch, [&] {
      return fmt::format("launch and {} group starts", std::ceil(work_.groups / m_.units));
    });
    const double active = std::min(m_.units, work_.groups);
    const double late =
        std::min(m_.wakeup_skew.value * (1 - 1 / active), price_.seconds * (active - 1));
    add("wake-up skew", late, m_.wakeup_skew, [] { return std::string("units that begin late"); });
    out_.seconds = price_.seconds + launch + late;
  }

  // Seconds in which the units could do the node at best: a lower bound for all programs of it.
  double best_time() const {
    double bytes = 0;
    for (const int t : ir::arguments_of(p_)) {
      const ir::Tensor& x = p_.graph.tensors[static_cast<size_t>(t)];
      bytes += static_cast<double>(ir::elements(x)) * ir::bytes_of(x.dtype);
    }
    const double lanes = m_.units * m_.native_width;
    return m_.launch.value +
           std::max(out_.flops / 2 / m_.fma_rate.value, bytes / 4 / m_.load_rate.value) / lanes;
  }

  void finish() {
    std::vector<size_t> order(out_.terms.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return out_.terms[a].seconds > out_.terms[b].seconds;
    });
    out_.bound = out_.terms[order[0]].name;
    if (order.size() > 1)
      out_.bound_margin = out_.terms[order[0]].seconds / out_.terms[order[1]].seconds;
    out_.efficiency = std::min(1.0, best_time() / std::max(out_.seconds, 1e-15));
    double variance = 0;
    for (size_t i = 0; i < out_.terms.size(); ++i) {
      const double part = out_.terms[i].seconds / out_.seconds * spreads_[i];
      variance += part * part;
    }
    const double spread = std::sqrt(variance);
    const model::Residual band =
        model::residual_of_waves(out_.efficiency, price_.waits / std::max(out_.seconds, 1e-15));
    out_.low = out_.seconds * std::max(0.0, 1 - std::hypot(1 - band.low, spread));
    out_.high = out_.seconds * (1 + std::hypot(band.high - 1, spread));
    std::sort(out_.assumed.begin(), out_.assumed.end());
    out_.assumed.erase(std::unique(out_.assumed.begin(), out_.assumed.end()), out_.assumed.end());
  }

  const ir::Program& p_;
  const model::Machine& m_;
  const TermDetail detail_;
  const size_t nearest_;
  model::LaunchWork work_;
  model::LaunchPrice price_;
  std::vector<double> spreads_;
  model::Estimate out_;
};

}  // namespace

model::Estimate estimate_launch(const ir::Program& p, const model::Machine& m,
                                const CacheState& before, std::span<const Range> where,
                                const lower::Counts& counts, TermDetail detail) {
  return LaunchEstimate(p, m, detail)
      .run(before, where, model::with_merged_loads(p, m.merged_loads, counts));
}

double at_least(const ir::Program& p, const model::Machine& m) {
  if (!m.simt || p.threads) return 0;
  return LaunchEstimate(p, m, TermDetail::none)
      .at_least(model::with_merged_loads(p, m.merged_loads, model::closed_form(p)));
}

}  // namespace assay::simulator
