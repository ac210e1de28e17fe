#include "simulator/estimate_mapped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/analyse_mapped.h"
#include "model/price.h"
#include "model/residual.h"

namespace assay::simulator {
namespace {

class MappedEstimate {
 public:
  MappedEstimate(const ir::Program& p, const model::Machine& m, TermDetail detail)
      : m_(m),
        detail_(detail),
        work_(model::analyse_mapped(p, model::thread_shape_of(m))),
        launch_(work_.launch) {
    out_.flops = ir::flops_of(p.graph, p.graph.nodes[0]);
    for (const model::Level& l : m.levels) {
      if (l.is_scratchpad) continue;
      if (near_ == nullptr) near_ = &l;
      if (l.shared && &l != &m.levels.back()) shared_ = &l;
    }
    if (shared_ == nullptr) shared_ = &m.levels.back();
  }

  model::Estimate run(bool warm) {
    price_ = model::price(launch_, m_, warm ? model::Caches::warm : model::Caches::cold);
    out_.groups = launch_.groups;
    out_.occupancy = price_.occupancy;
    out_.rounds = price_.rounds;
    out_.balance = launch_.groups / (std::ceil(launch_.groups / m_.units) * m_.units);
    if (std::isfinite(price_.seconds)) add_terms();
    add_levels();
    add_launch();
    finish();
    return out_;
  }

 private:
  void add(const char* name, double seconds, const model::Quantity& rate,
           const std::function<std::string()>& detail) {
    if (seconds <= 0) return;
    out_.terms.push_back({name, seconds, detail_ == TermDetail::full ? detail() : std::string()});
    spreads_.push_back(rate.spread);
    if (rate.assumed) out_.assumed.push_back(rate.path);
  }

  void add_terms() {
    add("multiply-adds", price_.multiply_adds, m_.fma_rate,
        [&] { return fmt::format("{:.4g} a group", launch_.products.multiply_adds); });
    add("issue", price_.issue, m_.issue_rate, [&] {
      return fmt::format("{:.4g} instructions a group; {:.0f} registers a thread, {:.0f} spilled",
                         launch_.instructions, launch_.registers_per_thread, work_.spilled);
    });
    add("loads and stores", price_.near, m_.load_rate, [&] {
      return fmt::format(
          "{:.4g} a group, in {:.4g} turns: {:.4g} cycles in the scratchpad, {:.4g} "
          "in {}",
          work_.accesses, launch_.loads, work_.scratch_cycles, work_.near_cycles, near_->name);
    });
    add("waits", price_.waits, shared_->latency, [&] {
      return fmt::format("{:.0f} rounds of {:.0f} groups on a unit", price_.rounds,
                         price_.occupancy);
    });
    add("shared cache", price_.shared_cache, shared_->read,
        [&] { return fmt::format("{:.4g} B", price_.shared_bytes); });
    add("far memory", price_.far, m_.levels.back().read, [&] {
      return fmt::format("{:.4g} B in, {:.4g} B out", price_.far_read, price_.far_written);
    });
    add("start", price_.start, shared_->latency,
        [] { return std::string("code and parameters before, the last store after"); });
  }

  void add_levels() {
    const model::Level& far = m_.levels.back();
    const double asked = launch_.groups * launch_.fills;
    if (shared_ != &far)
      out_.levels.push_back({near_->name + "<-" + shared_->name, asked - launch_.written,
                             launch_.written, asked / (shared_->read.value * shared_->instances), 0,
                             true});
    out_.levels.push_back({shared_->name + "<-" + far.name, price_.far_read, price_.far_written,
                           price_.far, 0, true});
  }

  // Groups begin beside others; a launch in a stream waits for the one before it.
  void add_launch() {
    const double starts = m_.group_start.value * std::ceil(launch_.groups / m_.units);
    const double launch = m_.launch.value + std::max(0.0, starts - price_.seconds);
    add("launch", launch, m_.launch, [&] {
      return fmt::format("launch and {:.0f} group starts", std::ceil(launch_.groups / m_.units));
    });
    out_.seconds = price_.seconds + launch;
  }

  void finish() {
    std::vector<size_t> order(out_.terms.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return out_.terms[a].seconds > out_.terms[b].seconds;
    });
    if (!order.empty()) out_.bound = out_.terms[order[0]].name;
    if (order.size() > 1)
      out_.bound_margin = out_.terms[order[0]].seconds / out_.terms[order[1]].seconds;
    const double lanes = m_.units * m_.native_width;
    const double best = m_.launch.value + out_.flops / 2 / m_.fma_rate.value / lanes;
    out_.efficiency = std::min(1.0, best / std::max(out_.seconds, 1e-15));
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

  const model::Machine& m_;
  const TermDetail detail_;
  const model::MappedWork work_;
  const model::LaunchWork& launch_;
  const model::Level* near_ = nullptr;    // a unit's own cache
  const model::Level* shared_ = nullptr;  // the last that units share, else far memory
  model::LaunchPrice price_;
  std::vector<double> spreads_;
  model::Estimate out_;
};

}  // namespace

model::Estimate estimate_mapped(const ir::Program& p, const model::Machine& m,
                                const CacheState& before, TermDetail detail) {
  return MappedEstimate(p, m, detail).run(!before.recent.empty());
}

}  // namespace assay::simulator
