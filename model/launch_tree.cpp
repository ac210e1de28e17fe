#include "model/launch_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay::model {
namespace {

using Parts = std::vector<Part>;

class LaunchTree {
 public:
  LaunchTree(const LaunchWork& w, const LaunchPrice& p, const Machine& m) : w_(w), p_(p), m_(m) {
    for (const Level& l : m.levels)
      if (&l == &m.levels.back())
        far_ = &l;
      else if (l.is_scratchpad)
        scratch_ = scratch_ == nullptr ? &l : scratch_;
      else if (l.shared)
        shared_.push_back(&l);
      else if (near_ == nullptr)
        near_ = &l;
  }

  Part run() const {
    Parts rounds = {with_times(round(p_.occupancy), p_.full_rounds), round(p_.last_groups)};
    Part units = join("units, the busiest", Part::Joins::sum, std::move(rounds));
    Part both = join("units and memories at once", Part::Joins::overlap,
                     {std::move(units), shared_caches(), far_memory()});
    Part all = join("no sooner than its energy", Part::Joins::longest, {std::move(both), power()});
    return join("launch without its overhead", Part::Joins::sum, {start(), std::move(all)});
  }

 private:
  static Part with_times(Part p, double times) {
    if (times == 1) return p;
    const std::string name = fmt::format("{:.0f} full rounds", times);
    return join(name, Part::Joins::sum, {std::move(p)}, times);
  }

  Basis latency(const Level* l) const { return l != nullptr ? duration_of(l->latency) : Basis{}; }
  const Level* last_shared() const { return shared_.empty() ? far_ : shared_.back(); }

  Basis multiply_add_rate() const {
    if (w_.products.instruction.empty()) {
      for (const TypeRate& t : m_.types)
        if (w_.products.multiply_adds > 0 && t.type == w_.products.type)
          return rate_of(t.multiply_adds);
      return rate_of(m_.fma_rate);
    }
    for (const MatrixRate& r : m_.instructions)
      if (r.instruction.name == w_.products.instruction) return rate_of(r.multiply_adds);
    return {};
  }

  // Other operations may share their pipe.
  std::string multiply_adds() const {
    const Operations& o = w_.operations;
    const auto shared = [&](const std::string& pipe, double n) {
      return pipe == m_.fma_pipe ? n : 0;
    };
    const double others = shared(m_.alu_pipe, o.simple) + shared(m_.divide_pipe, o.divisions) +
                          shared(m_.math_pipe, o.functions);
    const std::string own =
        fmt::format("{:.4g} a group", w_.products.multiply_adds + o.multiply_adds);
    return others > 0 ? own + fmt::format(", {:.4g} other operations of their pipe", others) : own;
  }

  // `all` seconds of each part of a unit.
  Part busy(std::string name, const UnitParts& all, double times = 1) const {
    const Operations& o = w_.operations;
    Part scratch = leaf("scratchpad", all.scratch,
                        fmt::format("cycles of {:.4g} B a group", w_.scratch_traffic),
                        {scratch_ != nullptr ? bandwidth_of(scratch_->read) : Basis{}});
    Part products =
        leaf("multiply-adds", all.multiply_adds, multiply_adds(), {multiply_add_rate()});
    if (all.reads_scratch)
      products = join("multiply-adds and their operands", Part::Joins::longest,
                      {std::move(products), std::exchange(scratch, leaf("", 0))});
    Part memories =
        join("scratchpad and nearest cache", Part::Joins::overlap,
             {std::move(scratch), leaf("nearest cache", all.near,
                                       fmt::format("cycles of {:.4g} B a group", w_.near_traffic),
                                       {near_ != nullptr ? bandwidth_of(near_->read) : Basis{}})});
    Part port = leaf("load and store slots", all.port,
                     fmt::format("{:.4g} instructions a group", w_.loads), {rate_of(m_.load_rate)});
    return join(
        std::move(name), Part::Joins::overlap,
        {std::move(products),
         leaf("operations", all.other_operations,
              fmt::format("{:.4g} simple, {:.4g} divisions, {:.4g} functions a group", o.simple,
                          o.divisions, o.functions),
              {rate_of(m_.alu_rate), rate_of(m_.math_rate)}),
         leaf("issue", all.issue, fmt::format("{:.4g} instructions a group", w_.instructions),
              {rate_of(m_.issue_rate)}),
         join("loads and stores", Part::Joins::longest, {std::move(port), std::move(memories)})},
        times);
  }

  Part waits() const {
    const GroupWaits& g = p_.group_waits;
    const Waits& n = w_.waits;
    const auto count = [](double loads) {
      return fmt::format("{:.4g} one after the other", loads);
    };
    const Basis scratch = latency(scratch_ != nullptr ? scratch_ : near_);
    return join("waits of a group", Part::Joins::sum,
                {leaf("far memory's loads", g.far, count(n.far), {latency(far_)}),
                 leaf("loads of what it read before", g.rereads, count(n.rereads),
                      {latency(near_), latency(last_shared()), latency(far_)}),
                 leaf("shared cache's loads", g.shared, count(n.shared), {latency(last_shared())}),
                 leaf("nearest cache's loads", g.near, count(n.near), {latency(near_)}),
                 leaf("scratchpad's loads", g.scratch, count(n.scratch), {scratch}),
                 leaf("barriers", g.barriers, count(n.barriers), {scratch}),
                 leaf("dependent multiply-adds", g.multiply_adds, count(n.multiply_adds),
                      {duration_of(m_.fma_latency)}),
                 leaf("dependent operations", g.chain,
                      fmt::format("{:.4g} of a wave, beyond the slots they fill", w_.chain),
                      {duration_of(m_.fma_latency)}),
                 leaf("steps", g.steps,
                      fmt::format("{:.4g}, operands {:.4g} ahead, and a barrier each",
                                  w_.steps.count, w_.steps.ahead),
                      {latency(last_shared()), latency(far_)})});
  }

  Part round(double groups) const {
    if (groups <= 0) return leaf("", 0);
    Part first = busy("first group, alone on the unit", p_.alone);
    Part start = leaf("group start", p_.group_start, "", {duration_of(m_.group_start)});
    const double counted = first.seconds + p_.group_start;
    Part all = busy(fmt::format("{:.0f} groups at once", groups), p_.group, groups);
    Part starts = leaf("group starts", groups * p_.group_start, "", {duration_of(m_.group_start)});
    const bool others = all.seconds + starts.seconds > counted;
    Part rest = others ? join("the other groups", Part::Joins::sum,
                              {std::move(all), std::move(starts),
                               leaf("less the first, counted above", -counted)})
                       : leaf("", 0);
    Part after = join("others beside the waits", Part::Joins::overlap, {std::move(rest), waits()});
    return join(fmt::format("round of {:.0f} groups", groups), Part::Joins::sum,
                {std::move(first), std::move(start), std::move(after)});
  }

  Part shared_caches() const {
    Basis by;
    for (const Level* l : shared_) by = bandwidth_of(l->read);
    return leaf("shared cache", p_.shared_cache, fmt::format("{:.4g} B", p_.shared_bytes), {by});
  }

  Part far_memory() const {
    const double both = far_->read_write_serialisation * (p_.far_in + p_.far_out),
                 most = std::max({p_.far_in, p_.far_out, both});
    return join("far memory", Part::Joins::sum,
                {join("reads and writes", Part::Joins::longest,
                      {leaf("far memory, read", p_.far_in, fmt::format("{:.4g} B", p_.far_read),
                            {bandwidth_of(far_->read)}),
                       leaf("far memory, written", p_.far_out,
                            fmt::format("{:.4g} B", p_.far_written), {bandwidth_of(far_->write)}),
                       leaf("both through one bus", p_.far_out > 0 ? both : 0)}),
                 leaf("turns of the bus", p_.far - most)});
  }

  Part power() const {
    return leaf("energy", p_.power, "of operations and bytes, at the power left for them",
                {power_of(m_.power)});
  }

  Part start() const {
    return leaf("start", p_.start, "code and parameters before, the last store after",
                {latency(last_shared())});
  }

  const LaunchWork& w_;
  const LaunchPrice& p_;
  const Machine& m_;
  const Level *scratch_ = nullptr, *near_ = nullptr, *far_ = nullptr;
  std::vector<const Level*> shared_;
};

}  // namespace

Part launch_tree(const LaunchWork& work, const LaunchPrice& price, const Machine& m) {
  return LaunchTree(work, price, m).run();
}

}  // namespace assay::model
