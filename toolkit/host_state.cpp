#include "toolkit/host_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "model/machine.h"
#include "probe/inference/sharing.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/passes.h"
#include "toolkit/statistics.h"

namespace assay::toolkit {
namespace {

constexpr double kSlow = 1.12;         // of the fastest burst
constexpr int kChains = 12;            // as many as hide the latency of a multiply-add
constexpr float kIterations = 20'000;  // some 60 us
constexpr auto kNap = std::chrono::milliseconds(50);
constexpr int kBursts = 3, kPairs = 6;  // of which the fastest counts, and of which most do
constexpr double kAsFast = 0.88, kAsNear = 0.7;  // of the profile's rates: the same machine
constexpr double kFaster = 1.12, kNearer = 1.5;  // the machine was slower when it was probed

int widest(const hwdesc::Target& target) {
  double lanes = 0;
  for (const hwdesc::LaneMode& m : target.profile.execution.lanes.modes)
    if (m.width.known()) lanes = std::max(lanes, m.width.value->v);
  return static_cast<int>(lanes);
}

// Bytes of which the rate says how fast they are handed over: half of what the cache surely holds;
// 0: nothing is said.
double handed_part(const hwdesc::Target& target) {
  double out = 0;
  for (const hwdesc::MemoryLevel& l : target.profile.memory)
    if (l.bandwidth.dirty_remote_read.known() && l.capacity.known())
      out = 0.5 * (l.knee.from.known() ? l.knee.from : l.capacity).value->v;
  return out;
}

// The cache that all units have together, and the one before it; null pointers: there is none.
template <class Profile>
auto last_caches(Profile& profile) {
  decltype(profile.memory.data()) own = nullptr, last = nullptr;
  for (auto& l : profile.memory) {
    if (l.managed != hwdesc::Managed::automatic || !l.capacity.known()) continue;
    own = last;
    last = &l;
  }
  const bool together = own != nullptr && own->per != "device" && last->per == "device";
  return std::pair(together ? own : nullptr, together ? last : nullptr);
}

void scale(hwdesc::Value<hwdesc::Bandwidth>& v, double by) {
  for (std::optional<hwdesc::Bandwidth>* b : {&v.value, &v.low, &v.high})
    if (*b) (*b)->v *= by;
}

Result<runtime::BufferRange> parameters(runtime::Module& module, const std::vector<float>& values) {
  const Result<int> buffer =
      module.allocate(static_cast<int64_t>(std::max<size_t>(16, values.size()) * sizeof(float)));
  if (!buffer) return buffer.diags();
  module.write({*buffer, 0}, std::as_bytes(std::span(values)));
  return runtime::BufferRange{*buffer, 0};
}

runtime::Launch on_one(int unit, int kernel, std::vector<runtime::BufferRange> arguments) {
  runtime::Launch out;
  out.kernel = kernel;
  out.arguments = std::move(arguments);
  out.queues.push_back({unit, 0, 1});
  return out;
}

runtime::Launch on_all(int kernel, int units, std::vector<runtime::BufferRange> arguments) {
  runtime::Launch out;
  out.kernel = kernel;
  out.arguments = std::move(arguments);
  for (int u = 0; u < units; ++u) out.queues.push_back({u, u, u + 1});
  return out;
}

}  // namespace

Result<std::unique_ptr<HostState>> HostState::load(runtime::Device& device,
                                                   const hwdesc::Target& target,
                                                   const std::string& cache_dir,
                                                   const Patience& patience) {
  std::unique_ptr<HostState> none;
  if (hwdesc::threads_of(target) > 1) return none;
  const std::vector<ir::Kernel> all = probe::all_kernels(probe::shape_of(device.info()));
  const int lanes = widest(target), units = device.info().units;
  const double part = units > 1 ? handed_part(target) : 0;
  std::vector<ir::Kernel> kernels;
  for (const std::string& name :
       {probe::op_name("fma", lanes, kChains), probe::access_name("write", lanes),
        probe::access_name("read", lanes)}) {
    const auto kernel =
        std::find_if(all.begin(), all.end(), [&](const ir::Kernel& k) { return k.name == name; });
    if (kernel == all.end()) return none;
    kernels.push_back(*kernel);
    if (part <= 0) break;
  }
  auto pace = std::make_unique<HostState>();
  pace->patience_ = patience;
  runtime::LoadOptions options;
  options.cache_dir = cache_dir;
  Result<std::unique_ptr<runtime::Module>> module = device.load(kernels, target, options);
  if (!module) return module.diags();
  pace->module_ = std::move(*module);
  const Result<int> out =
      pace->module_->allocate(units * probe::kSlotFloats * int64_t{sizeof(float)});
  if (!out) return out.diags();
  const Result<runtime::BufferRange> iterations = parameters(*pace->module_, {kIterations});
  if (!iterations) return iterations.diags();
  pace->burst_ = on_all(0, units, {{*out, 0}, *iterations});
  if (part <= 0) return pace;
  const auto blocks = std::max<int64_t>(1, static_cast<int64_t>(part) / probe::kBlockBytes);
  const std::vector<double> places = probe::pass_parameters(1, blocks, blocks, 0, units);
  const Result<int> buffer = pace->module_->allocate(units * blocks * probe::kBlockBytes);
  if (!buffer) return buffer.diags();
  const Result<runtime::BufferRange> where =
      parameters(*pace->module_, {places.begin(), places.end()});
  if (!where) return where.diags();
  pace->write_ = on_all(1, units, {{*buffer, 0}, *where});
  pace->read_ = on_all(2, units, {{*buffer, 0}, *where});
  for (ir::Queue& q : pace->read_.queues)
    q = {q.unit, (q.unit + 1) % units, (q.unit + 1) % units + 1};
  pace->part_ = static_cast<double>(blocks * probe::kBlockBytes);
  if (units != 2) return pace;  // of more, two that are near say nothing of the others
  if (const Diags failed = pace->prepare_elsewhere(target); !failed.empty()) return failed;
  return pace;
}

// One unit writes and reads what only the last cache holds, reads other bytes, which drive it out
// of the caches before that one, and then it or another unit reads it again, as the probe's
// experiment `found`.
Diags HostState::prepare_elsewhere(const hwdesc::Target& target) {
  const auto [own, last] = last_caches(target.profile);
  if (own == nullptr) return {};
  const double before = own->capacity.value->v, most = last->capacity.value->v / 4;
  const auto blocks = static_cast<int64_t>(std::sqrt(before * most)) / probe::kBlockBytes,
             between = static_cast<int64_t>(probe::kDrivesOut * before) / probe::kBlockBytes + 1;
  if (most <= before || blocks < 1) return {};
  const auto pass_over = [&](int64_t n) -> Result<std::vector<runtime::BufferRange>> {
    const Result<int> buffer = module_->allocate(n * probe::kBlockBytes);
    if (!buffer) return buffer.diags();
    const std::vector<double> places = probe::pass_parameters(1, n, 0, 0, 1);
    const Result<runtime::BufferRange> where = parameters(*module_, {places.begin(), places.end()});
    if (!where) return where.diags();
    return std::vector<runtime::BufferRange>{{*buffer, 0}, *where};
  };
  const auto looked_at = pass_over(blocks), driving_out = pass_over(between);
  if (!looked_at) return looked_at.diags();
  if (!driving_out) return driving_out.diags();
  constexpr int kWrite = 1, kRead = 2;
  own_ = {on_one(0, kWrite, *looked_at), on_one(0, kRead, *looked_at),
          on_one(0, kRead, *driving_out), on_one(0, kRead, *looked_at)};
  others_ = own_;
  others_.back() = on_one(1, kRead, *looked_at);
  return {};
}

Result<bool> HostState::slow(const runtime::CancelToken* cancel) {
  const std::vector<runtime::Launch> twice(2, burst_);  // the first one wakes the units
  const auto ran = module_->run(twice, {1, 0, cancel});
  if (!ran) return ran.diags();
  latest_ = ran->steps[0][1];
  if (best_ <= 0 || latest_ < best_) best_ = latest_;
  return latest_ > kSlow * best_;
}

double HostState::rate() const {
  return latest_ > 0 ? double{kIterations} * probe::op_steps("fma", kChains, false) / latest_ : 0;
}

Diags HostState::wait(const runtime::CancelToken* cancel) {
  for (double here = 0;;) {
    const Result<bool> is_slow = slow(cancel), is_apart = apart(cancel);
    if (!is_slow) return is_slow.diags();
    if (!is_apart) return is_apart.diags();
    if ((!*is_slow && !*is_apart) || here >= patience_.once || waited_ >= patience_.in_all)
      return {};
    std::this_thread::sleep_for(kNap);
    const double nap = std::chrono::duration<double>(kNap).count();
    here += nap;
    waited_ += nap;
  }
}

Result<Between> HostState::between(const runtime::CancelToken* cancel) {
  Between out;
  if (read_.queues.empty()) return out;
  std::vector<runtime::Launch> pairs;
  for (int i = 0; i < kPairs; ++i) pairs.insert(pairs.end(), {write_, read_});
  const auto ran = module_->run(pairs, {1, 0, cancel});
  if (!ran) return ran.diags();
  std::vector<double> reading, writing;
  for (size_t i = 1; i < ran->steps[0].size(); i += 2) reading.push_back(ran->steps[0][i]);
  for (size_t i = 2; i < ran->steps[0].size(); i += 2)
    writing.push_back(ran->steps[0][i]);  // the first one takes nothing back
  out.dirty_remote_read = part_ / quantile_of(std::move(reading), 0.5);
  out.upgrade = part_ / quantile_of(std::move(writing), 0.5);
  const Result<double> times = elsewhere(cancel);
  if (!times) return times.diags();
  out.elsewhere = *times;
  return out;
}

// Between::elsewhere.
Result<double> HostState::elsewhere(const runtime::CancelToken* cancel) {
  if (own_.empty()) return 0.0;
  std::vector<double> near, far;
  for (int i = 0; i < kBursts; ++i)
    for (const bool other : {false, true}) {
      const auto took = module_->run(other ? others_ : own_, {1, 0, cancel});
      if (!took) return took.diags();
      (other ? far : near).push_back(took->steps[0].back());
    }
  return quantile_of(std::move(far), 0.5) / quantile_of(std::move(near), 0.5);
}

Result<bool> HostState::apart(const runtime::CancelToken* cancel) {
  const Result<double> times = elsewhere(cancel);
  if (!times) return times.diags();
  was_cross_die_ = *times >= probe::kElsewhere;
  ++looks_;
  found_cross_die_ += was_cross_die_ ? 1 : 0;
  return was_cross_die_;
}

bool was_probed(const hwdesc::Target& target) {
  const std::vector<hwdesc::Pipe>& pipes = target.profile.pipes;
  return std::any_of(pipes.begin(), pipes.end(), [](const hwdesc::Pipe& p) {
    return p.name == "fma" && p.rate.known() && p.rate.source == hwdesc::Origin::measured;
  });
}

Result<AsProbed> as_probed(HostState& pace, const hwdesc::Target& target,
                           const runtime::CancelToken* cancel) {
  const Result<model::Machine> machine = model::prepare(target);
  if (!machine) return machine.diags();
  AsProbed out;
  for (int i = 0; i < kBursts; ++i) {
    if (const auto ran = pace.slow(cancel); !ran) return ran.diags();
    out.multiply_adds = std::max(out.multiply_adds, pace.rate() / machine->fma_rate.value);
  }
  const Result<Between> between = pace.between(cancel);
  if (!between) return between.diags();
  if (machine->dirty_remote_read.value > 0)
    out.dirty_remote_read = between->dirty_remote_read / machine->dirty_remote_read.value;
  if (machine->upgrade.value > 0) out.upgrade = between->upgrade / machine->upgrade.value;
  out.elsewhere = between->elsewhere;
  return out;
}

bool on_dies_of_their_own(const AsProbed& now) { return now.elsewhere >= probe::kElsewhere; }

hwdesc::Profile as_near_as_now(hwdesc::Profile profile, const AsProbed& now) {
  for (hwdesc::MemoryLevel& l : profile.memory) {
    if (now.dirty_remote_read > 0)
      scale(l.bandwidth.dirty_remote_read, now.dirty_remote_read),
          scale(l.bandwidth.dirty_remote_rfo, now.dirty_remote_read);
    if (now.upgrade > 0) scale(l.bandwidth.upgrade, now.upgrade);
  }
  const auto [own, last] = last_caches(profile);
  if (own == nullptr || !on_dies_of_their_own(now)) return profile;
  last->per = own->per;
  hwdesc::MemoryBandwidth& b = last->bandwidth;
  const double alone =
      b.per_unit.known() && b.read.known() ? b.per_unit.value->v / b.read.value->v : 0.5;
  for (hwdesc::Value<hwdesc::Bandwidth>* v :
       {&b.read, &b.write, &b.copy, &b.triad, &b.short_run_read, &b.short_run_write})
    scale(*v, alone);
  return profile;
}

double likeness(const AsProbed& now) {
  const auto part = [](double rate, double enough) {
    return rate > 0 ? std::min(1.0, rate / enough) : 1;
  };
  return part(now.multiply_adds, kAsFast) * part(now.dirty_remote_read, kAsNear) *
         (on_dies_of_their_own(now) ? probe::kElsewhere / now.elsewhere : 1);
}

bool as_near_as_probed(const AsProbed& now) {
  return !on_dies_of_their_own(now) &&
         (now.dirty_remote_read <= 0 ||
          (now.dirty_remote_read >= kAsNear && now.dirty_remote_read <= kNearer));
}

Diags differences(const AsProbed& now) {
  Diags out;
  const auto say = [&](std::string what, const char* hint) {
    Diag d = error(std::move(what), hint);
    d.severity = Severity::warning;
    out.push_back(std::move(d));
  };
  constexpr const char* kLater = "run it again later, or probe the device as it is now";
  const auto differs = [&](double rate, double least, double most, const char* what,
                           const char* slower, const char* faster) {
    if (rate <= 0 || (rate >= least && rate <= most)) return;
    say(fmt::format("{} at {:.2f} times the rate that the profile says: {}", what, rate,
                    rate < least ? slower : faster),
        rate < least ? kLater : "probe the device as it is now");
  };
  differs(now.multiply_adds, kAsFast, kFaster, "multiply-adds ran",
          "others use the same cores, or the host runs several units on one",
          "the chip was slower when it was probed");
  if (on_dies_of_their_own(now))
    say(fmt::format(
            "a unit takes {:.1f} times as long for what another one has brought into the last "
            "cache as for its own: the host runs them on dies that have such a cache each",
            now.elsewhere),
        kLater);
  differs(now.dirty_remote_read, kAsNear, kNearer, "units read what another one has written",
          "the host runs them further apart than when they were probed",
          "the host ran them further apart when they were probed");
  return out;
}

}  // namespace assay::toolkit
