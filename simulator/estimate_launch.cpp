#include "simulator/estimate_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/analyse.h"
#include "model/closed_form.h"
#include "model/conversions.h"
#include "model/price.h"
#include "model/slp.h"
#include "simulator/cache_lookup.h"
#include "simulator/estimator.h"
#include "simulator/launch_terms.h"

namespace assay::simulator {

namespace {

class LaunchEstimate {
 public:
  LaunchEstimate(const ir::Program& p, const model::Machine& m, const InGroup& group,
                 TermDetail detail)
      : p_(p),
        m_(m),
        group_(group),
        nearest_(static_cast<size_t>(&model::nearest_cache(m) - m.levels.data())),
        terms_(m, detail) {}

  // Were its data in the nearest cache. Bytes and what waits for them only add to it.
  double at_least(const lower::Counts& counts) {
    work_ = model::analyse(p_, streams(), counts, model::shape_of(m_), {}, nearest_);
    share_group();
    price_ = model::price(work_, m_, model::Caches::warm);
    return m_.launch.value + price_.seconds;
  }

  model::Estimate run(const CacheState& before, std::span<const Range> where,
                      const lower::Counts& counts) {
    const model::Streams streams = this->streams();
    model::LaunchWork size;
    size.threads = model::waves_of_group(p_) * m_.native_width;
    size.registers_per_thread = model::registers_of_thread(p_);
    size.scratch_bytes = model::scratch_of_group(p_, counts) + group_.scratch_bytes;
    const double at_once = std::max(1.0, model::groups_at_once(size, m_));
    std::vector<model::LevelTraffic> traffic =
        model::traffic(p_, streams, m_, found(streams, before, where),
                       model::accessed_bytes(p_, streams, counts, m_.levels[0].line), at_once);
    work_ = model::analyse(p_, streams, counts, model::shape_of(m_), traffic, nearest_);
    share_group();
    // Groups that compute a tile again read it again, from memory that units share.
    for (size_t l = 0; l + 1 < traffic.size(); ++l) traffic[l].read *= group_.repeats;
    for (size_t l = nearest_; l < traffic.size(); ++l)
      if (m_.levels[l + 1].shared || l + 1 == traffic.size())
        work_.moved.push_back({traffic[l].read, traffic[l].written});
    const bool cold = before.recent.empty();
    price_ = model::price(work_, m_, cold ? model::Caches::cold : model::Caches::warm);
    terms_.estimate.flops = ir::flops_of(p_.graph, p_.graph.nodes[0]);
    add_unit();
    terms_.add_memories(price_);
    add_levels(traffic);
    terms_.add_launch(work_, price_);
    return terms_.finish(best_time());
  }

 private:
  model::Streams streams() const {
    model::Streams out = model::streams_of(p_);
    for (model::Stream& s : out.streams) {
      const auto t = static_cast<size_t>(s.tensor);
      s.on_chip = s.staging < 0 && t < group_.on_chip.size() && group_.on_chip[t];
    }
    return out;
  }

  void share_group() {
    work_.scratch_bytes += group_.scratch_bytes;
    work_.groups *= group_.repeats;
  }

  // What shared caches hold. Units' own caches see no writes of other units, so a launch begins
  // with them empty.
  model::CachedFractions found(const model::Streams& streams, const CacheState& before,
                               std::span<const Range> where) const {
    model::CachedFractions held = cached_fractions(p_, streams, m_, before, where);
    for (size_t t = 0; t < held.size(); ++t)
      for (size_t l = 0; l < std::min(held[t].size(), m_.levels.size()); ++l)
        if (!m_.levels[l].shared)
          held[t][l] = 0;
        else if (t < group_.held.size())
          held[t][l] = std::max(held[t][l], group_.held[t]);
    return held;
  }

  void add_unit() {
    const model::Level& near = m_.levels[nearest_];
    terms_.add("multiply-adds", price_.unit.multiply_adds, m_.fma_rate, [&] {
      return work_.products.instruction.empty()
                 ? fmt::format("{:.4g} a group", work_.operations.multiply_adds)
                 : fmt::format("{:.4g} a group by {}", work_.products.multiply_adds,
                               work_.products.instruction);
    });
    terms_.add("operations", price_.unit.other_operations, m_.alu_rate, [&] {
      return fmt::format("{:.4g} simple, {:.4g} divisions, {:.4g} functions a group",
                         work_.operations.simple, work_.operations.divisions,
                         work_.operations.functions);
    });
    terms_.add("issue", price_.unit.issue, m_.issue_rate,
               [&] { return fmt::format("{:.4g} instructions a group", work_.instructions); });
    terms_.add("loads and stores", price_.unit.port, m_.load_rate,
               [&] { return fmt::format("{:.4g} instructions a group", work_.loads); });
    terms_.add("scratchpad", price_.unit.scratch, m_.levels[0].read,
               [&] { return fmt::format("cycles of {:.4g} B a group", work_.scratch_traffic); });
    terms_.add("nearest cache", price_.unit.near, near.read,
               [&] { return fmt::format("cycles of {:.4g} B a group", work_.near_traffic); });
  }

  void add_levels(const std::vector<model::LevelTraffic>& traffic) {
    for (size_t l = 0; l < traffic.size(); ++l) {
      const model::Level& from = m_.levels[l + 1];
      const double all =
          from.shared ? from.read.value * from.instances : from.read.value * m_.units;
      terms_.estimate.levels.push_back(
          {m_.levels[l].name + "<-" + from.name, traffic[l].read, traffic[l].written,
           (traffic[l].read + traffic[l].written) / all, traffic[l].working_set, from.shared});
    }
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
           std::max(terms_.estimate.flops / 2 / m_.fma_rate.value, bytes / 4 / m_.load_rate.value) /
               lanes;
  }

  const ir::Program& p_;
  const model::Machine& m_;
  const InGroup& group_;
  const size_t nearest_;
  model::LaunchWork work_;
  model::LaunchPrice price_;
  LaunchTerms terms_;
};

}  // namespace

model::Estimate estimate_launch(const ir::Program& p, const model::Machine& m,
                                const CacheState& before, std::span<const Range> where,
                                const lower::Counts& counts, TermDetail detail,
                                const InGroup& group) {
  return LaunchEstimate(p, m, group, detail)
      .run(before, where,
           model::with_merged_loads(p, m.merged_loads, model::with_conversions(p, m, counts)));
}

double registers_per_group(const ir::Program& p) {
  return model::waves_of_group(p) * model::registers_of_thread(p);
}

model::Estimate estimate_member(const ir::Program& p, const model::Machine& m,
                                const CacheState& before, std::span<const Range> where,
                                const InGroup& group, const lower::Counts& counts,
                                TermDetail detail) {
  return estimate_launch(p, m, before, where, counts, detail, group);
}

double at_least(const ir::Program& p, const model::Machine& m, const lower::Counts& counts,
                const InGroup& group) {
  if (!m.simt) return Estimator(p, m, &counts, TermDetail::none).at_least();
  return LaunchEstimate(p, m, group, TermDetail::none)
      .at_least(model::with_merged_loads(p, m.merged_loads, model::with_conversions(p, m, counts)));
}

}  // namespace assay::simulator
