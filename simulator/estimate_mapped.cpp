#include "simulator/estimate_mapped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/analyse_mapped.h"
#include "model/price.h"
#include "simulator/launch_terms.h"

namespace assay::simulator {
namespace {

class MappedEstimate {
 public:
  MappedEstimate(const ir::Program& p, const model::Machine& m, TermDetail detail)
      : m_(m),
        work_(model::analyse_mapped(p, model::thread_shape_of(m))),
        launch_(work_.launch),
        terms_(m, detail) {
    terms_.estimate.flops = ir::flops_of(p.graph, p.graph.nodes[0]);
    for (const model::Level& l : m.levels) {
      if (l.is_scratchpad) continue;
      if (near_ == nullptr) near_ = &l;
      if (l.shared && &l != &m.levels.back()) shared_ = &l;
    }
    if (shared_ == nullptr) shared_ = &m.levels.back();
  }

  model::Estimate run(bool warm) {
    price_ = model::price(launch_, m_, warm ? model::Caches::warm : model::Caches::cold);
    if (std::isfinite(price_.seconds)) add_unit();
    if (std::isfinite(price_.seconds)) terms_.add_memories(price_);
    add_levels();
    terms_.add_launch(launch_, price_);
    const double lanes = m_.units * m_.native_width;
    return terms_.finish(m_.launch.value + terms_.estimate.flops / 2 / m_.fma_rate.value / lanes);
  }

 private:
  void add_unit() {
    terms_.add("multiply-adds", price_.unit.multiply_adds, m_.fma_rate,
               [&] { return fmt::format("{:.4g} a group", launch_.products.multiply_adds); });
    terms_.add("issue", price_.unit.issue, m_.issue_rate, [&] {
      return fmt::format("{:.4g} instructions a group; {:.0f} registers a thread, {:.0f} spilled",
                         launch_.instructions, launch_.registers_per_thread, work_.spilled);
    });
    terms_.add("loads and stores", price_.unit.port, m_.load_rate, [&] {
      return fmt::format(
          "{:.4g} a group, in {:.4g} turns: {:.4g} cycles in the scratchpad, {:.4g} "
          "in {}",
          work_.accesses, launch_.loads, work_.scratch_cycles, work_.near_cycles, near_->name);
    });
  }

  void add_levels() {
    const model::Level& far = m_.levels.back();
    const double asked = launch_.groups * launch_.fills;
    if (shared_ != &far)
      terms_.estimate.levels.push_back(
          {near_->name + "<-" + shared_->name, asked - launch_.written, launch_.written,
           asked / (shared_->read.value * shared_->instances), 0, true});
    terms_.estimate.levels.push_back({shared_->name + "<-" + far.name, price_.far_read,
                                      price_.far_written, price_.far, 0, true});
  }

  const model::Machine& m_;
  const model::MappedWork work_;
  const model::LaunchWork& launch_;
  const model::Level* near_ = nullptr;    // a unit's own cache
  const model::Level* shared_ = nullptr;  // the last that units share, else far memory
  model::LaunchPrice price_;
  LaunchTerms terms_;
};

}  // namespace

model::Estimate estimate_mapped(const ir::Program& p, const model::Machine& m,
                                const CacheState& before, TermDetail detail) {
  return MappedEstimate(p, m, detail).run(!before.recent.empty());
}

}  // namespace assay::simulator
