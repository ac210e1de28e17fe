#include "probe/host_state.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "probe/inference/sharing.h"
#include "probe/inference/stats.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr double kSlow = 1.12;         // of the fastest burst
constexpr int kChains = 12;            // as many as hide the latency of a multiply-add
constexpr float kIterations = 20'000;  // some 60 us
constexpr auto kNap = std::chrono::milliseconds(50);
constexpr int kLooks = 3, kPairs = 6;  // of which the median counts

int widest(const hwdesc::Target& target) {
  double lanes = 0;
  for (const hwdesc::LaneMode& m : target.profile.execution.lanes.modes)
    if (m.width.known()) lanes = std::max(lanes, m.width.value->v);
  return static_cast<int>(lanes);
}

// Bytes that a unit writes for another to read: half of what the cache surely holds. 0: the profile
// knows no such rate.
double dirty_bytes(const hwdesc::Target& target) {
  double out = 0;
  for (const hwdesc::MemoryLevel& l : target.profile.memory)
    if (l.bandwidth.dirty_remote_read.known() && l.capacity.known())
      out = 0.5 * (l.knee.from.known() ? l.knee.from : l.capacity).value->v;
  return out;
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

bool disturbed(double kept_waiting) { return kept_waiting > kDisturbed; }

bool computes_here(const runtime::DeviceInfo& device) {
  return !device.simulated && device.fact("class") == "cpu";
}

bool is_cross_die(double ratio) { return ratio >= kRemoteCacheRatio; }

std::optional<LastCaches> shared_last_cache(const hwdesc::Profile& profile) {
  std::vector<size_t> caches;
  for (size_t i = 0; i < profile.memory.size(); ++i) {
    const hwdesc::MemoryLevel& l = profile.memory[i];
    if (l.managed == hwdesc::Managed::automatic && l.capacity.known()) caches.push_back(i);
  }
  if (caches.size() < 2) return std::nullopt;
  const LastCaches out{caches[caches.size() - 2], caches.back()};
  const bool shared =
      profile.memory[out.own].per != "device" && profile.memory[out.last].per == "device";
  return shared ? std::optional(out) : std::nullopt;
}

Result<std::unique_ptr<HostState>> HostState::load(runtime::Device& device,
                                                   const hwdesc::Target& target,
                                                   const std::string& cache_dir,
                                                   const Patience& patience) {
  std::unique_ptr<HostState> none;
  if (hwdesc::threads_of(target) > 1) return none;
  const std::vector<ir::Kernel> all = all_kernels(shape_of(device.info()));
  const int lanes = widest(target), units = device.info().units;
  const double part = units > 1 ? dirty_bytes(target) : 0;
  std::vector<ir::Kernel> kernels;
  for (const std::string& name :
       {op_name("fma", lanes, kChains), access_name("write", lanes), access_name("read", lanes)}) {
    const auto kernel =
        std::find_if(all.begin(), all.end(), [&](const ir::Kernel& k) { return k.name == name; });
    if (kernel == all.end()) return none;
    kernels.push_back(*kernel);
    if (part <= 0) break;
  }
  auto host = std::make_unique<HostState>();
  host->patience_ = patience;
  runtime::LoadOptions options;
  options.cache_dir = cache_dir;
  Result<std::unique_ptr<runtime::Module>> module = device.load(kernels, target, options);
  if (!module) return module.diags();
  host->module_ = std::move(*module);
  const Result<int> out = host->module_->allocate(units * kSlotFloats * int64_t{sizeof(float)});
  if (!out) return out.diags();
  const Result<runtime::BufferRange> iterations = parameters(*host->module_, {kIterations});
  if (!iterations) return iterations.diags();
  host->burst_ = on_all(0, units, {{*out, 0}, *iterations});
  if (part <= 0) return host;
  const auto blocks = std::max<int64_t>(1, static_cast<int64_t>(part) / kBlockBytes);
  const std::vector<double> places = pass_parameters(1, blocks, blocks, 0, units);
  const Result<int> buffer = host->module_->allocate(units * blocks * kBlockBytes);
  if (!buffer) return buffer.diags();
  const Result<runtime::BufferRange> where =
      parameters(*host->module_, {places.begin(), places.end()});
  if (!where) return where.diags();
  host->write_ = on_all(1, units, {{*buffer, 0}, *where});
  host->read_ = on_all(2, units, {{*buffer, 0}, *where});
  for (ir::Queue& q : host->read_.queues)
    q = {q.unit, (q.unit + 1) % units, (q.unit + 1) % units + 1};
  host->part_ = static_cast<double>(blocks * kBlockBytes);
  if (units != 2) return host;  // of more units, two on one die say nothing of the others
  if (const Diags failed = host->prepare_cross_die(target); !failed.empty()) return failed;
  return host;
}

// A unit writes and reads bytes that fit only in the last cache. It reads others, which evict them
// from the nearer caches. Then it, or another unit, reads the first bytes again.
Diags HostState::prepare_cross_die(const hwdesc::Target& target) {
  const std::optional<LastCaches> caches = shared_last_cache(target.profile);
  if (!caches) return {};
  const std::vector<hwdesc::MemoryLevel>& memory = target.profile.memory;
  const double before = memory[caches->own].capacity.value->v,
               most = memory[caches->last].capacity.value->v / 4;
  const auto blocks = static_cast<int64_t>(std::sqrt(before * most)) / kBlockBytes,
             between = static_cast<int64_t>(kEvictionFactor * before) / kBlockBytes + 1;
  if (most <= before || blocks < 1) return {};
  const auto blocks_of = [&](int64_t n) -> Result<std::vector<runtime::BufferRange>> {
    const Result<int> buffer = module_->allocate(n * kBlockBytes);
    if (!buffer) return buffer.diags();
    const std::vector<double> places = pass_parameters(1, n, 0, 0, 1);
    const Result<runtime::BufferRange> where = parameters(*module_, {places.begin(), places.end()});
    if (!where) return where.diags();
    return std::vector<runtime::BufferRange>{{*buffer, 0}, *where};
  };
  const auto lines = blocks_of(blocks), evicting = blocks_of(between);
  if (!lines) return lines.diags();
  if (!evicting) return evicting.diags();
  constexpr int kWrite = 1, kRead = 2;
  own_ = {on_one(0, kWrite, *lines), on_one(0, kRead, *lines), on_one(0, kRead, *evicting),
          on_one(0, kRead, *lines)};
  others_ = own_;
  others_.back() = on_one(1, kRead, *lines);
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

double HostState::multiply_add_rate() const {
  return latest_ > 0 ? double{kIterations} * op_steps("fma", kChains, false) / latest_ : 0;
}

Diags HostState::wait(const runtime::CancelToken* cancel) {
  for (double here = 0;;) {
    const Result<bool> is_slow = slow(cancel), is_cross = cross_die(cancel);
    if (!is_slow) return is_slow.diags();
    if (!is_cross) return is_cross.diags();
    if ((!*is_slow && !*is_cross) || here >= patience_.once || waited_ >= patience_.in_all)
      return {};
    std::this_thread::sleep_for(kNap);
    const double nap = std::chrono::duration<double>(kNap).count();
    here += nap;
    waited_ += nap;
  }
}

Result<CoherenceRates> HostState::coherence(const runtime::CancelToken* cancel) {
  CoherenceRates out;
  if (read_.queues.empty()) return out;
  std::vector<runtime::Launch> pairs;
  for (int i = 0; i < kPairs; ++i) pairs.insert(pairs.end(), {write_, read_});
  const auto ran = module_->run(pairs, {1, 0, cancel});
  if (!ran) return ran.diags();
  std::vector<double> reading, writing;
  for (size_t i = 1; i < ran->steps[0].size(); i += 2) reading.push_back(ran->steps[0][i]);
  for (size_t i = 2; i < ran->steps[0].size(); i += 2)
    writing.push_back(ran->steps[0][i]);  // the first one upgrades nothing
  out.dirty_remote_read = part_ / quantile(std::move(reading), 0.5);
  out.upgrade = part_ / quantile(std::move(writing), 0.5);
  const Result<double> times = cross_die_ratio(cancel);
  if (!times) return times.diags();
  out.cross_die_ratio = *times;
  return out;
}

Result<double> HostState::cross_die_ratio(const runtime::CancelToken* cancel) {
  if (own_.empty()) return 0.0;
  std::vector<double> near, far;
  for (int i = 0; i < kLooks; ++i)
    for (const bool other : {false, true}) {
      const auto took = module_->run(other ? others_ : own_, {1, 0, cancel});
      if (!took) return took.diags();
      (other ? far : near).push_back(took->steps[0].back());
    }
  return quantile(std::move(far), 0.5) / quantile(std::move(near), 0.5);
}

Result<bool> HostState::cross_die(const runtime::CancelToken* cancel) {
  const Result<double> times = cross_die_ratio(cancel);
  if (!times) return times.diags();
  was_cross_die_ = is_cross_die(*times);
  ++looks_;
  found_cross_die_ += was_cross_die_ ? 1 : 0;
  return was_cross_die_;
}

}  // namespace assay::probe
