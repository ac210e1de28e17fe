// Loaded latency: a chase while other groups stream through the same level.
#include "probe/inference/loaded_latency.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/inference/footprint.h"
#include "probe/inference/stats.h"
#include "probe/kernels/code.h"
#include "probe/kernels/loaded_latency.h"
#include "probe/sampling/cycle.h"

namespace assay::probe {
namespace {

constexpr double kTarget = 0.7e-3, kSimulatedTarget = 15e-6;  // s of a launch
constexpr std::array<double, 6> kSlowdowns = {
    1, 1.15, 1.4, 2, 3.5, 8};  // time of a block of a stream over its time without rests
// Of them: half of the bandwidth is among these, and rests are slow to simulate.
constexpr size_t kSimulatedSlowdowns = 5;
constexpr int kSpare = 2;  // times the groups that saturate far memory: more of them only queue
constexpr double kLonger = 1.08;  // the chase outlasts the streams by so much,
constexpr double kLeast = 1.03;   // by at least so much,
constexpr int kTries = 6;         // else it is made longer
constexpr int64_t kRests = 64;    // that calibrate one
constexpr int kSamples = 5, kSimulatedSamples = 2;
// Operations of a launch without rests. Beyond these, launches with rests take minutes to simulate.
constexpr int64_t kMostSimulated = 100'000;

struct Load {  // of every group that streams
  int64_t passes = 0, blocks = 0, rest = 0;
};

class Loaded {
 public:
  Loaded(Session& s, size_t level, int64_t nodes, int64_t area)
      : s_(s),
        level_(level),
        area_(area / kBlockBytes),
        chase_(ChaseArea::make(s.bench, nodes)),
        from_(s.bench.allocate(area)) {
    far_ = level + 1 == s.known.levels.plateaus.size();
    const int most = s.known.memory_groups,
              enough = s.known.streaming_groups > 0
                           ? std::min(most, kSpare * s.known.streaming_groups)
                           : most;
    others_ = (s.device.threads ? std::max(2, s.known.even(enough)) : s.device.units) - 1;
    others_ = static_cast<int>(std::clamp<int64_t>(others_, 1, area_));
    const Cycle cycle = sparse_cycle(nodes, static_cast<int64_t>(s.known.line));
    chase_.start_at(s.bench, 0, write_cycle(s.bench, chase_.nodes, cycle, s.random));
  }

  // Calibrates a block, a rest and the length of the streams. False: simulating it would take too
  // long.
  bool calibrate() {
    const int64_t most = std::max<int64_t>(1, area_ / others_ - 1);
    Load l{1, far_ ? 1 : most, 0};
    int64_t& amount = far_ ? l.blocks : l.passes;
    const int64_t limit = far_ ? most : kMaxPasses;
    int64_t executed = 0;
    const auto streams = [&] {
      const int64_t before = s_.bench.executed();
      const double t = times({{0, l}}).at(0);
      executed = s_.bench.executed() - before;
      return t;
    };
    double t = streams();
    while (executed <= kMostSimulated && t < target() / 2 && amount < limit) {
      amount = std::min(
          limit,
          std::max(amount + 1, amount * static_cast<int64_t>(std::clamp(target() / t, 2.0, 16.0))));
      t = streams();
    }
    if (executed > kMostSimulated) return false;
    whole_ = l;
    Load resting = l;
    resting.rest = kRests;
    amount_of(resting) = std::max<int64_t>(1, amount / 8);
    const double per = t / double(amount_of(l)),
                 slow = times({{0, resting}}).at(0) / double(amount_of(resting));
    per_ = per;
    per_rest_ = std::max(1e-3 * per, (slow - per) / kRests);
    hops_ = std::max<int64_t>(
        1, static_cast<int64_t>(target() / std::max(1e-9, times({{8, {}}}).at(0) / 8)));
    return true;
  }

  void measure(double slower) {
    Load l = whole_;
    l.rest = static_cast<int64_t>(std::lround((slower - 1) * per_ / per_rest_));
    amount_of(l) = std::max<int64_t>(1, static_cast<int64_t>(double(amount_of(whole_)) / slower));
    amount_of(l) = std::min(amount_of(l), loops_allow(l));
    const int64_t hops = hops_beside(l);
    const double bytes = double(l.passes * l.blocks * others_) * kBlockBytes;
    const Conditions at = {{"level", double(level_)},
                           {"others", others_},
                           {"slower", slower},
                           {"hops", double(hops * kLoadedHops)},
                           {"bytes", bytes}};
    Observation both{"loaded_latency", "both", at, "s", {}, {}, 0, {}},
        alone{"loaded_latency", "alone", at, "s", {}, {}, 0, {}},
        streams{"loaded_latency", "streams", at, "s", {}, {}, 0, {}};
    for (int i = 0; i < (s_.device.simulated ? kSimulatedSamples : kSamples); ++i)
      s_.bench.sample(both, [&] {
        const std::vector<double> t = times({{hops, {}}, {0, l}, {hops, l}});
        alone.samples.push_back(t[0]);
        streams.samples.push_back(t[1]);
        return t[2];
      });
    // Repeated samples were repeated in all three.
    for (Observation* o : {&alone, &streams}) {
      o->samples.erase(o->samples.begin(),
                       o->samples.end() - static_cast<std::ptrdiff_t>(both.samples.size()));
      o->disturbed = both.disturbed;
      o->foreign = both.foreign;
      s_.emit(*o);
    }
    s_.emit(both);
  }

 private:
  double target() const { return s_.device.simulated ? kSimulatedTarget : kTarget; }
  int64_t& amount_of(Load& l) const { return far_ ? l.blocks : l.passes; }
  int64_t loops_allow(const Load& l) const {
    const int64_t each = 1 + loaded_parts(s_.known.lanes) * (1 + l.rest);
    Job job;
    job.most = int64_t{1} << 40;
    const int64_t all = s_.bench.most_of(job) / 2;
    return std::max<int64_t>(1, far_ ? all / each : all / (1 + l.blocks * each));
  }

  // Far memory: successive parts of the area, so that no cache holds them. A cache: each group its
  // own part.
  runtime::Launch launch(int64_t hops, const Load& l) {
    Job job;
    job.kernel = loaded_name(s_.known.lanes);
    job.arguments = {{chase_.nodes, 0}, {from_, 0}, {chase_.state, 0}};
    job.groups = 1 + others_;
    job.parameters = [&](int64_t) {
      std::vector<double> out = {double(hops), double(l.passes), double(l.blocks), double(l.rest)};
      const int64_t all = l.blocks * others_;
      if (far_ && l.passes > 0 && (at_ += all) + all > area_) at_ = 0;
      const int64_t first = far_ ? at_ : 0, part = far_ ? l.blocks : area_ / others_;
      for (int g = 0; g < others_; ++g)
        out.push_back(double((first + g * part) * (kBlockBytes / kPlaceBytes)));
      return out;
    };
    return s_.bench.launch(job, 1);
  }

  std::vector<double> times(const std::vector<std::pair<int64_t, Load>>& of) {
    std::vector<runtime::Launch> list;
    for (const auto& [hops, load] : of) list.push_back(launch(hops, load));
    return s_.bench.run(list);
  }

  // Iterations of the chase that outlast the streams a little.
  int64_t hops_beside(const Load& l) {
    Job job;
    job.most = kMaxIterations;
    const int64_t most = s_.bench.most_of(job) / 2;
    const double streams = times({{0, l}}).at(0);
    int64_t hops =
        std::clamp<int64_t>(static_cast<int64_t>(double(hops_) * streams / target()), 1, most);
    for (int i = 0; i < kTries; ++i) {
      const std::vector<double> t = times({{hops, {}}, {0, l}, {hops, l}});
      if (t[2] < kLeast * t[1]) {
        hops = std::min(most, hops + std::max<int64_t>(1, hops / 4));
        continue;
      }
      const auto one = latency_under_load({t[0], t[1], t[2], double(hops * kLoadedHops)});
      if (!one) break;
      const int64_t wanted = std::clamp<int64_t>(
          static_cast<int64_t>(std::ceil(kLonger * t[1] / *one / kLoadedHops)), 1, most);
      if (std::abs(wanted - hops) * 10 <= hops) break;
      hops = wanted;
    }
    return hops;
  }

  Session& s_;
  size_t level_;
  int64_t area_;  // blocks that the streams read
  ChaseArea chase_;
  int from_, others_ = 1;
  bool far_ = true;
  int64_t at_ = 0, hops_ = 1;
  Load whole_;
  double per_ = 1,
         per_rest_ = 1;  // seconds of a block or pass, and of a rest in each of its parts
};

}  // namespace

void run_loaded_latency(Session& s) {
  const std::vector<Plateau>& plateaus = s.known.levels.plateaus;
  if (plateaus.empty() || (!s.device.threads && s.device.units < 2)) return;
  // Where a unit has one resident group, the chase displaces a stream, which the streams alone
  // would have.
  if (s.device.threads && s.known.resident > 0 && s.known.resident <= s.known.units) return;
  std::vector<Loaded> levels;
  const int64_t beyond = footprint_beyond(s.known, s.max_bytes / 2);
  levels.emplace_back(s, plateaus.size() - 1, beyond, beyond);
  // The streams' parts and the chase's share the last cache; none of them fits in a private one.
  const size_t last = s.known.levels.knees.size();
  if (const auto each =
          s.device.threads ? std::nullopt : footprint_of_streams(s.known, s.device.units);
      last > 0 && s.known.sharing[last - 1].shared && each)
    levels.emplace_back(s, last - 1, *each, *each * (s.device.units - 1));
  if (!std::all_of(levels.begin(), levels.end(), [](Loaded& l) { return l.calibrate(); }))
    return s.fact("loaded_left_out", "the streams take too long to simulate");
  const size_t points = s.device.simulated ? kSimulatedSlowdowns : kSlowdowns.size();
  s.rounds(levels.size() * points,
           [&](size_t i) { levels[i / points].measure(kSlowdowns[i % points]); });
}

}  // namespace assay::probe
