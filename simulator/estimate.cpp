#include "simulator/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "model/alignment.h"
#include "model/bandwidth.h"
#include "model/closed_form.h"
#include "model/control.h"
#include "model/copies.h"
#include "model/operands.h"
#include "model/residual.h"
#include "model/retention.h"
#include "model/slp.h"
#include "simulator/balance.h"
#include "simulator/chain.h"
#include "simulator/pipes.h"
#include "simulator/residency.h"
#include "simulator/transfer_cost.h"
#include "simulator/unit_cost.h"
#include "simulator/waits.h"
#include "simulator/waves.h"

namespace assay::simulator {

namespace {

using model::Estimate;
using model::Machine;
using model::Quantity;
using model::Term;
using model::TransferCost;

// What is left of the operations written once the kernel language's compiler has joined what it
// can.
lower::Counts executed(const ir::Program& p, const Machine& m, const lower::Counts& written,
                       int lanes) {
  lower::Counts joined = model::joined(p, written, lanes);
  return m.simt ? model::with_merged_loads(p, m.merged_loads, std::move(joined)) : joined;
}

class Estimator {
 public:
  Estimator(const ir::Program& p, const Machine& m, const CacheState& before,
            std::span<const Range> where, const lower::Counts* counts, Words words)
      : p_(p),
        m_(m),
        words_(words),
        streams_(model::streams_of(p)),
        joined_(model::slp_lanes(p, m.slp_lanes)),
        width_(p.vector_width * joined_),
        counts_(executed(p, m, counts != nullptr ? *counts : model::closed_form(p), joined_)),
        share_(busiest_share(p, m)),
        pipes_(m, width_, share_) {
    others_ = remote_lines(p, streams_, m, before, where);
    traffic_ = model::traffic(p, streams_, m, residency_of(p, streams_, m, before, where),
                              model::accessed_bytes(p, streams_, counts_, m.levels[0].line),
                              m.simt ? groups_at_once(p, m) : 1);
    groups_ = static_cast<double>(ir::group_count(p));
    active_ = std::min(m.units, groups_);
    moved_ = m.simt ? 1 / active_ : share_;
    moved_by_others_ = active_ > 1 ? std::min(moved_, (1 - moved_) / (active_ - 1)) : 0;
  }

  Estimate run() {
    out_.groups = groups_;
    out_.flops = ir::flops_of(p_.graph, p_.graph.nodes[0]);
    out_.balance = 1 / (share_ * active_);
    in_core();
    data();
    set_conflict();
    false_sharing();
    coherence_transfers();
    translating();
    if (!m_.simt) out_.rounds = std::ceil(groups_ / m_.units);
    const double body = m_.simt ? compose_simt() : composed(cost_, m_.together);
    overhead(body);
    const double late = joining(body);
    out_.seconds = body + fixed_ + late;
    out_.efficiency = std::min(1.0, at_best() / std::max(out_.seconds, 1e-15));
    finish();
    return out_;
  }

 private:
  // Seconds in which the units together could do the node: every operation half of a whole
  // multiply-add, every element moved once by a whole vector, one launch. No program of it is
  // faster.
  double at_best() const {
    double elements = 0;
    for (const int t : ir::arguments_of(p_))
      elements += static_cast<double>(ir::elements(p_.graph.tensors[static_cast<size_t>(t)]));
    const double lanes = m_.units * m_.native_width;
    return m_.launch.value +
           std::max(out_.flops / 2 / m_.fma_rate.value, elements / m_.load_rate.value) / lanes;
  }

  // `detail`: a function that says what the term is made of.
  template <class Detail>
  void add_term(const std::string& name, double seconds, const Detail& detail, double spread) {
    out_.terms.push_back({name, seconds, words_ == Words::full ? detail() : std::string()});
    spreads_.push_back(spread);
  }

  void note_assumed(const Quantity& q, double seconds) {
    if (q.assumed && seconds > 0) out_.assumed.push_back(q.path);
  }

  void in_core() {
    const auto [split_loads, split_stores] = straddled();
    const model::Copies copied = m_.simt ? model::Copies{} : model::copies_of(p_, counts_);
    double gathered = 0, scattered = 0, splats = 0, own_gathered = 0, own_scattered = 0;
    const size_t arguments = ir::arguments_of(p_).size();
    for (size_t b = 0; b < counts_.buffers.size(); ++b) {
      const lower::AccessCount& a = counts_.buffers[b];
      splats += a.splats;
      gathered += a.gathered_lanes;
      scattered += a.scattered_lanes;
      if (m_.simt && b >= arguments)
        own_gathered += a.gathered_lanes, own_scattered += a.scattered_lanes;
    }
    // Vectors are made of lanes that lie apart one by one, which go through a vector pipe, too, but
    // for the first. A wave's threads load and store them with one instruction.
    const double together = m_.simt ? 1.0 / p_.vector_width : 1;
    const double put_in = m_.simt ? 0 : (p_.vector_width - 1.0) / p_.vector_width;
    const double moved_lanes = (gathered + scattered) * put_in;
    const double loads = counts_.loads() - gathered * (1 - together) + split_loads;
    const double stores = counts_.stores() - scattered * (1 - together) + split_stores;
    cost_.vector = pipes_.busiest(counts_, moved_lanes);
    const double in_order = loads - gathered * together - copied.single,
                 elements = m_.splat_rate.value > 0
                                ? std::clamp(splats - copied.single, 0.0, in_order)
                                : 0;
    cost_.load = pipes_.moving(in_order - elements, m_.load_rate, m_.narrow_loads) +
                 pipes_.moving(elements, m_.splat_rate, m_.narrow_splats) +
                 pipes_.moving_single(copied.single, m_.load_rate, m_.narrow_loads) +
                 apart(gathered - own_gathered, m_.gather_rate, m_.narrow_gathers, m_.load_rate) +
                 conflicting(own_gathered, m_.load_rate);
    cost_.store =
        pipes_.moving(stores - scattered * together - copied.single, m_.store_rate,
                      m_.narrow_stores) +
        pipes_.moving_single(copied.single, m_.store_rate, m_.narrow_stores) +
        apart(scattered - own_scattered, m_.scatter_rate, m_.narrow_scatters, m_.store_rate) +
        conflicting(own_scattered, m_.store_rate);
    if (m_.simt) {
      const Ports ports = through_ports(p_, m_, counts_, share_);
      cost_.load = std::max(cost_.load, ports.in);
      cost_.store = std::max(cost_.store, ports.out);
    }
    cost_.copied_load = cost_.load * std::min(1.0, copied.alone / std::max(loads, 1.0));
    cost_.copied_store = cost_.store * std::min(1.0, copied.alone / std::max(stores, 1.0));
    copied_alone_ = copied.alone / std::max(1.0, copied.all);
    const model::Copying& copies = copied.parts;
    const model::Instructions counted{
        .operations = counts_.fma + counts_.simple,
        .divisions = counts_.divide,
        .functions = counts_.math,
        .loads = std::max(0.0, loads - (m_.simt ? 0 : gathered) - copies.loads),
        .stores = std::max(0.0, stores - copied.all - (m_.simt ? 0 : scattered - copies.scattered)),
        .gathered = std::max(0.0, gathered - copies.gathered) * put_in,
        .scattered = std::max(0.0, scattered - copies.scattered) * put_in,
        .prefetches = counts_.prefetches,
        .operands = m_.simt ? 0 : model::operands_in_memory(p_, counts_, joined_),
        .iterations = counts_.iterations,
        .branches = counts_.branches};
    const double copying = model::copy_slots(copies),
                 rest = m_.simt ? model::wave_slots(counted,
                                                    lower::has_partial_sums(lower::nest_of(p_)),
                                                    m_.issue_rate.value / m_.clock)
                                : model::core_slots(counted);
    const double all = rest + copying;
    cost_.issue = pipes_.at_rate(all, m_.issue_rate);
    cost_.copied_issue = pipes_.at_rate(copying * copied_alone_, m_.issue_rate);
    cost_.chain = chain_seconds(p_, m_, streams_, counts_, share_);
    note_assumed(m_.alu_rate, counts_.simple);
    note_assumed(m_.divide_rate, counts_.divide);
    note_assumed(m_.math_rate, counts_.math);
    note_assumed(m_.issue_rate, cost_.issue >= cost_.vector ? 1 : 0);
    add_term(
        "vector", cost_.vector,
        [&] {
          return fmt::format(
              "{:.4g} multiply-adds, {:.4g} other, {:.4g} divisions, {:.4g} functions", counts_.fma,
              counts_.simple, counts_.divide, counts_.math);
        },
        m_.fma_rate.spread);
    add_term(
        "load", cost_.load, [&] { return fmt::format("{:.4g} load instructions", loads); },
        m_.load_rate.spread);
    add_term(
        "store", cost_.store, [&] { return fmt::format("{:.4g} store instructions", stores); },
        m_.store_rate.spread);
    add_term(
        "issue", cost_.issue,
        [&] {
          return fmt::format("{:.4g} slots for {:.4g} instructions", all,
                             counted.written() + copied.all);
        },
        m_.issue_rate.spread);
    add_term(
        "chain", cost_.chain, [] { return std::string("dependent accumulations"); },
        m_.fma_latency.spread);
  }

  // Lanes that lie apart: of a wave one instruction, where no rate was measured.
  double apart(double lanes, const Quantity& rate, std::span<const model::NarrowRate> narrow,
               const Quantity& otherwise) const {
    return m_.simt && rate.value <= 0 ? pipes_.at_rate(lanes / p_.vector_width, otherwise)
                                      : pipes_.moving_apart(lanes, rate, narrow, otherwise);
  }

  // Of a group's own memory: most lanes of a wave meet others in their bank.
  double conflicting(double lanes, const Quantity& rate) const {
    return pipes_.at_rate(lanes * model::kInConflict, rate);
  }

  // Second accesses of vectors that straddle a line, per kind.
  std::pair<double, double> straddled() const {
    const std::vector<int> arguments = ir::arguments_of(p_);
    const double line = m_.simt ? nearest_cache(m_).whole_line : m_.levels[0].line;
    double loads = 0, stores = 0;
    for (size_t b = 0; b < arguments.size(); ++b) {
      const auto t = static_cast<size_t>(arguments[b]);
      const lower::AccessCount& a = counts_.buffers[b];
      if (a.vector_loads + a.vector_stores == 0) continue;
      const double part =
          model::straddling(p_, p_.layouts[t], p_.graph.tensors[t], index_of(arguments[b]), line);
      loads += part * a.vector_loads;
      stores += part * a.vector_stores;
    }
    return {loads, stores};
  }

  // Where an argument is touched: its read's index, or the output's own axes.
  std::vector<ir::Index> index_of(int tensor) const {
    for (const ir::Node& n : p_.graph.nodes)
      for (const ir::Read& r : n.reads)
        if (r.tensor == tensor) return r.index;
    std::vector<ir::Index> own;
    for (size_t d = 0; d < p_.graph.tensors[static_cast<size_t>(tensor)].shape.size(); ++d)
      own.push_back(ir::variable(static_cast<int>(d)));
    return own;
  }

  // Bytes between levels l and l+1 that come from l+1 and no further.
  std::pair<double, double> from_there(size_t l) const {
    const model::LevelTraffic& t = traffic_[l];
    if (l + 1 == traffic_.size()) return {t.read, t.written};
    return {std::max(0.0, t.read - traffic_[l + 1].read),
            std::max(0.0, t.written - traffic_[l + 1].written)};
  }

  // Seconds that lines no prefetcher knew of take beyond those that stream in: a core has only so
  // many misses in flight (Little's law), though no more than was measured: some fetch lines in
  // pairs, or know of strides. Lines that come from further away wait there. `read`: bytes paid for
  // here; `paid`: the part of the time they stream in that is surely counted beside this.
  double waited(size_t l, double read, double paid) const {
    const model::Level& from = m_.levels[l + 1];
    const model::LevelTraffic& t = traffic_[l];
    if (m_.simt || from.latency.value <= 0 || t.read <= 0) return 0;
    const double line = m_.levels[0].line;
    const double late =
        line / model::little_bound(from.misses_in_flight * line, from.latency.value);
    const double each =
        std::max(0.0, late - paid * line * path_transfer_cost(m_, l + 1, active_).read);
    return t.unprefetched * read / t.read * moved_ *
           (from.run_start ? std::min(each, *from.run_start) : each);
  }

  // Times as long, where a part of the bytes lies apart.
  static double slowed(double apart, double all, double times) {
    return all > 0 ? 1 + apart / all * (times - 1) : 1;
  }

  void data() {
    for (size_t l = 0; l < traffic_.size(); ++l) {
      const model::LevelTraffic& t = traffic_[l];
      const auto [in, out] = from_there(l);
      const model::Level& from = m_.levels[l + 1];
      const double slow_in = slowed(t.short_run_read, t.read, from.short_run_read),
                   slow_out = slowed(t.short_run_written, t.written, from.short_run_write);
      const TransferCost together =
                             path_transfer_cost(m_, l + 1, active_).slowed(slow_in, slow_out),
                         alone = path_transfer_cost(m_, l + 1, 1).slowed(slow_in, slow_out);
      const auto streamed = [&](double read, double written) {
        return moved_by_others_ * together.seconds(read, written) +
               (moved_ - moved_by_others_) * alone.seconds(read, written);
      };
      // What is overlapped with loads and stores counts beyond what those take.
      const auto beyond = [&](double read, double written) {
        return std::max(0.0, streamed(read, written) -
                                 moved_ * transfer_cost(m_, 0, active_).seconds(read, written));
      };
      const double streaming = streamed(in, out), all = beyond(in, out),
                   reading = std::min(all, beyond(in, 0));
      const bool shared = m_.levels[l + 1].shared;
      // A core waits for loads, and for the lines that its stores wait for only when it can keep no
      // more of them.
      const double hidden = hidden_part(m_, l + 1), near = hidden * all;
      const double far =
          (1 - hidden) * (m_.simt ? streaming : reading + model::kEcmNonOverlap * (all - reading));
      const double copied = model::copied_part(streams_, t) * copied_alone_,
                   set_conflicts = m_.simt ? 1 : copied + (1 - copied) * model::kEcmNonOverlap;
      const double late = waited(l, in, 1),
                   apart = waited(l, in, set_conflicts * (shared ? 1 - hidden : 1));
      cost_.streaming += streaming + late;
      cost_.near += set_conflicts * near + (shared ? 0 : apart);
      cost_.far += far + (shared ? apart : 0);
      cost_.copied_near += copied * (near + far);
      note_assumed(m_.levels[l + 1].read, in);
      note_assumed(m_.levels[l + 1].write, out);
      const std::string name = m_.levels[l].name + "<-" + m_.levels[l + 1].name;
      const double seconds = near + far + late;
      add_term(
          name, seconds,
          [&] { return fmt::format("{:.4g} B in, {:.4g} B out", t.read, t.written); },
          m_.levels[l + 1].read.spread);
      out_.levels.push_back(
          {name, t.read, t.written, seconds, t.working_set, m_.levels[l + 1].shared});
    }
  }

  // Lines of rows that share a few sets of the nearest cache, which takes them one after the other
  // there; a core goes on meanwhile.
  void set_conflict() {
    if (traffic_.empty()) return;
    // A set waits for few lines at once, so the longer for those from behind the next cache: by
    // what that is further away, were all of them alone. Assumed, by loops over rows (0.75 to 1.25)
    // and the times of programs on two machines (0.25 to 0.75, and 0.2): a quarter of it.
    constexpr double kWaitedFor = 0.25;
    // Of a line that is changed in part, by copies, which mostly write them whole behind one
    // another: assumed, by 20 products whose copies write 8 to 64 places side by side on one
    // machine (0.6 to 0.8).
    constexpr double kCopiedTurns = 0.7;
    const bool farther =
        m_.levels.size() > 3 && !m_.levels[2].last && m_.levels[1].latency.value > 0;
    const double longer =
        farther ? kWaitedFor *
                      std::max(0.0, m_.levels[2].latency.value / m_.levels[1].latency.value - 1)
                : 0;
    const double loaded =
        (traffic_[0].set_conflicts + longer * traffic_[1].unprefetched_set_conflicts) * moved_ *
        m_.set_conflict.value;
    const double changed = traffic_[0].set_conflicts_dirty * moved_ * m_.set_conflict_dirty.value;
    const double copied =
        kCopiedTurns * traffic_[0].copy_set_conflicts * moved_ * m_.set_conflict_dirty.value;
    cost_.sets = loaded + changed + (1 - copied_alone_) * copied;
    cost_.copied_sets = copied_alone_ * copied;
    if (cost_.sets + cost_.copied_sets <= 0) return;
    note_assumed(m_.set_conflict, loaded);
    note_assumed(m_.set_conflict_dirty, changed + copied);
    const double all = loaded + changed + copied;
    add_term(
        "set conflicts", all,
        [&] {
          return fmt::format(
              "{:.4g} lines meet in a set, {:.4g} are changed there, {:.4g} in copies",
              traffic_[0].set_conflicts, traffic_[0].set_conflicts_dirty,
              traffic_[0].copy_set_conflicts);
        },
        (loaded * m_.set_conflict.spread + (changed + copied) * m_.set_conflict_dirty.spread) /
            all);
  }

  // Pages whose translation is no longer at hand; a core waits for it, though not with its
  // arithmetic. Those that no buffer holds keep its loads from going on, but for what is on its way
  // from far.
  void translating() {
    if (m_.simt) return;
    const double walks = model::pages_walked(p_, streams_, m_),
                 walking = walks * moved_ * m_.walked.latency.value;
    if (walking > 0) {
      cost_.far = std::max(cost_.far, walking);
      add_term(
          "page walks", walking, [&] { return fmt::format("{:.4g} pages", walks); },
          m_.walked.latency.spread);
    }
    const double seconds = model::pages_missed(p_, streams_, m_) * moved_ * m_.translation.value;
    if (seconds <= 0) return;
    cost_.translation += seconds;
    add_term(
        "tlb misses", seconds,
        [&] { return fmt::format("{:.4g} pages anew", seconds / moved_ / m_.translation.value); },
        m_.translation.spread);
  }

  // A prefetcher that runs on behind the end of a run takes lines which another unit is about to
  // write: they go over and come back, one after the other, while a unit that has other things to
  // do goes on. Not measured: one, by way of the last cache, as other misses do. What no cache
  // holds comes from the far memory anyway.
  void false_sharing() {
    if (m_.simt || m_.levels.size() < 2) return;
    const model::SharedEnds ends = model::shared_ends(p_, streams_, active_);
    if (ends.count <= 0) return;
    const model::Level& last = m_.levels[m_.levels.size() - 2];
    const bool measured = m_.false_sharing.value > 0,
               torn = std::fmod(ends.run, m_.levels[0].line) != 0;
    const double passing = 2 * ends.count * last.latency.value / last.misses_in_flight;
    const double ends_cost = m_.false_sharing.value * std::min(1.0, ends.run / model::kSharedRun) *
                             model::hit_fraction(last, held_bytes(last), last.end);
    const double torn_apart = torn ? lower::visits(p_, streams_.nest) * last.latency.value : 0;
    const double in_step =
        moved_by_others_ /
        moved_;  // they come to their ends at the same time as far as they have as much to do
    const double waiting = model::kInStep * in_step * ends.count * (ends_cost + torn_apart);
    (measured ? cost_.contended : cost_.far) += measured ? waiting : passing;
    if (!measured) cost_.streaming += passing;
    add_term(
        "false sharing", measured ? waiting : passing,
        [&] { return fmt::format("{:.0f} runs of the output end in another unit's", ends.count); },
        measured ? m_.false_sharing.spread : last.latency.spread);
  }

  // What an instance of the level is to hold of all arguments.
  double held_bytes(const model::Level& level) const {
    double bytes = 0;
    for (const model::Stream& s : streams_.streams)
      if (s.staging < 0)
        bytes += model::part_of_unit(p_, streams_, s, active_, m_.levels[0].line)
                     .bytes(m_.levels[0].line);
    return bytes * std::max(1.0, active_ / level.instances);
  }

  // Lines in another unit's own cache come out of it, and lines that it has read are taken from it
  // before they are written: both take longer than what both units share.
  void coherence_transfers() {
    if (m_.levels.size() < 2) return;
    add_coherence("dirty remote read", others_.dirty_remote_read, m_.dirty_remote_read, false,
                  "that another unit wrote last");
    add_coherence("dirty remote RFO", others_.dirty_remote_rfo, m_.dirty_remote_rfo, true,
                  "written, which another unit wrote last");
    add_coherence("upgrade", others_.upgrade, m_.upgrade, true,
                  "written, which another unit has read");
  }

  void add_coherence(const char* name, double bytes, const model::Quantity& rate, bool writes,
                     const char* what) {
    if (bytes <= 0 || rate.value <= 0) return;
    size_t behind = 1;  // the memory behind a unit's own caches
    while (behind + 1 < m_.levels.size() && !m_.levels[behind].shared) ++behind;
    const TransferCost streaming = path_transfer_cost(m_, behind, active_);
    const double seconds =
        bytes * std::max(0.0, 1 / rate.value - (writes ? streaming.write : streaming.read));
    if (seconds <= 0) return;
    cost_.far += seconds;
    cost_.streaming += seconds;
    add_term(
        name, seconds, [&] { return fmt::format("{:.4g} B {}", bytes, what); }, rate.spread);
  }

  // Groups that are on a unit at a time hide what each of them waits for; a unit is as fast as the
  // busiest of its parts, or as its groups come one after the other. With stages, copies for later
  // steps are under way while a group computes.
  double compose_simt() {
    const double r = out_.occupancy = groups_at_once(p_, m_);
    const double waves = groups_ * waves_per_group(p_);
    const double per_unit = std::max(1.0, std::ceil(groups_ / m_.units));
    const double busy = std::max({cost_.vector, cost_.load, cost_.store, cost_.issue}),
                 moving = cost_.near + cost_.far;
    Waits waiting = waits_of_a_wave(p_, m_, streams_, traffic_, counts_, waves);
    waiting.computing +=
        model::group_barrier_of(m_, waves_per_group(p_)) * counts_.barriers / waves;
    // Of what a unit has several of, a wave has one.
    const auto alone = [&](double seconds, const Quantity& rate) {
      return seconds * std::max(1.0, rate.parts * groups_ / waves);
    };
    // Nor has it an instruction for every tick: most need what one of the last few computes.
    const double in_order =
        cost_.issue * m_.issue_rate.value * m_.fma_latency.value / model::kAlone * groups_ / waves;
    const double own =
        std::max({alone(cost_.vector, m_.fma_rate), alone(cost_.load, m_.load_rate),
                  alone(cost_.store, m_.store_rate), alone(cost_.issue, m_.issue_rate), in_order});
    const double copying = waiting.copying + moving / per_unit,
                 computing = waiting.computing + own / per_unit;
    const double one = p_.pipeline_stages > 1
                           ? std::max(copying / (p_.pipeline_stages - 1), computing)
                           : copying + computing;
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
    return model::joined(parts, model::kWavesSharpness);
  }

  // Units that begin late: the others take over their share meanwhile, at most all of it.
  double joining(double body) {
    const double late = std::min(m_.wakeup_skew.value * (1 - 1 / active_), body * (active_ - 1));
    if (late > 0)
      add_term(
          "wake-up skew", late, [] { return std::string("units that begin late"); },
          m_.wakeup_skew.spread);
    return late;
  }

  void overhead(double body) {
    const double starts = m_.group_start.value * std::ceil(groups_ / m_.units);
    fixed_ = m_.launch.value + starts;  // a launch in a stream waits for the one before it
    if (m_.simt)
      fixed_ = m_.launch.value + std::max(0.0, starts - body);  // groups begin beside others
    note_assumed(m_.launch, 1);
    add_term(
        "launch", fixed_,
        [&] { return fmt::format("launch and {} group starts", std::ceil(groups_ / m_.units)); },
        m_.launch.spread);
  }

  void finish() {
    std::vector<size_t> order(out_.terms.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return out_.terms[a].seconds > out_.terms[b].seconds;
    });
    out_.bound = out_.terms[order[0]].name;
    if (order.size() > 1 && out_.terms[order[1]].seconds > 0)
      out_.bound_margin = out_.terms[order[0]].seconds / out_.terms[order[1]].seconds;
    // The profile's uncertainty, each term's weighted by its part, and the model's own residual.
    double variance = 0;
    for (size_t i = 0; i < out_.terms.size(); ++i) {
      const double part = out_.seconds > 0 ? out_.terms[i].seconds / out_.seconds * spreads_[i] : 0;
      variance += part * part;
    }
    const double spread = std::sqrt(variance);
    const model::Residual band =
        m_.simt ? model::residual_of_waves(out_.efficiency, waited_ / std::max(out_.seconds, 1e-15))
                : model::residual_of(certainty());
    out_.low = out_.seconds * std::max(0.0, 1 - std::hypot(1 - band.low, spread));
    out_.high = out_.seconds * (1 + std::hypot(band.high - 1, spread));
    std::sort(out_.assumed.begin(), out_.assumed.end());
    out_.assumed.erase(std::unique(out_.assumed.begin(), out_.assumed.end()), out_.assumed.end());
  }

  model::Certainty certainty() const {
    const double all = std::max(out_.seconds, 1e-15);
    const std::vector<int> arguments = ir::arguments_of(p_);
    return {.efficiency = out_.efficiency,
            .halvings = std::log2(std::max(1.0, static_cast<double>(m_.native_width) / width_)),
            .blocks = std::ranges::any_of(
                arguments,
                [&](int t) {
                  return model::inside_blocks(p_, p_.layouts[static_cast<size_t>(t)], index_of(t));
                }),
            .near = cost_.near / all,
            .far = cost_.far / all,
            .vector = cost_.vector / all,
            .issue = cost_.issue / all,
            .sets = cost_.sets / all,
            .contended = cost_.contended / all};
  }

  const ir::Program& p_;
  const Machine& m_;
  const Words words_;
  const model::Streams streams_;
  const int joined_;  // scalar operations that are one instruction
  const int width_;   // of the vectors that are executed
  const lower::Counts counts_;
  const double share_;  // of the work, that the busiest unit has
  const Pipes pipes_;
  std::vector<model::LevelTraffic> traffic_;
  RemoteLines others_;
  double copied_alone_ = 0;  // the part of copies that overlaps with no arithmetic
  double groups_ = 1, active_ = 1, fixed_ = 0;
  double moved_ = 1,
         moved_by_others_ =
             0;  // of what memories move: the busiest unit's part, and each other's while it lasts
  double waited_ = 0;  // s that groups wait for loads, one after the other
  UnitCost cost_;
  std::vector<double> spreads_;
  Estimate out_;
};

}  // namespace

Estimate estimate(const ir::Program& p, const Machine& m, const CacheState& before,
                  std::span<const Range> where, const lower::Counts* counts, Words words) {
  return Estimator(p, m, before, where, counts, words).run();
}

}  // namespace assay::simulator
