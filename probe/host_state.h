// The state of the host that runs a device of cores: a host that shares its chip with other guests.
//
// Others are not visible from within. Cores that share their pipes with another guest look idle and
// run at half their rate; a hypervisor may place units on one core, or on dies with a last cache
// each. Short bursts of work show it:
// - multiply-adds: the rate of one unit against the fastest burst so far;
// - dirty remote reads: each unit reads what another has just written;
// - upgrades: each unit writes what another has just read;
// - cross-die look: the time of reading another unit's lines in the last cache, over its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/target.h"
#include "probe/sampling/system.h"
#include "runtime/device.h"
#include "support/result.h"

namespace assay::probe {

// Measures how long other programs keep our threads from running, from its construction on.
class ContentionWatch {
 public:
  ContentionWatch() : start_(read_cpu_times()) {}

  // Share of the time; see probe::kept_waiting.
  double share() const { return kept_waiting(start_, read_cpu_times()); }

 private:
  CpuTimes start_;
};

// Does a sample not count that was kept waiting for this share of its time?
bool disturbed(double kept_waiting);

// Waiting counts where the host's threads compute, not where they feed another device.
bool computes_here(const runtime::DeviceInfo& device);

// Positions in `memory` of the last cache and of the one before it, where all units share the last
// one; nullopt: they share none.
struct LastCaches {
  size_t own = 0, last = 0;
};
std::optional<LastCaches> shared_last_cache(const hwdesc::Profile& profile);

// Does this ratio of reading another unit's lines in the last cache over one's own mean two caches?
bool is_cross_die(double ratio);

// How fast lines move between units; 0: not measured.
struct CoherenceRates {
  double dirty_remote_read = 0, upgrade = 0;  // bytes/s of each unit, all units at once
  double cross_die_ratio = 0;  // time of reading another unit's lines in the last cache over own
};

struct Patience {
  double once = 2, in_all = 120;  // seconds that HostState::wait waits
};

class HostState {  // invariant: a loaded module, and launches of its kernels
 public:
  // A null pointer where lanes are threads: there are no such kernels. Errors: the kernels can not
  // be built.
  static Result<std::unique_ptr<HostState>> load(runtime::Device& device,
                                                 const hwdesc::Target& target,
                                                 const std::string& cache_dir,
                                                 const Patience& patience = {});

  // Is a burst slower than the fastest one so far by more than kSlow?
  Result<bool> slow(const runtime::CancelToken* cancel);

  // Cross-die placement: are units on dies with a last cache each now, though the profile has one
  // cache that all share?
  Result<bool> cross_die(const runtime::CancelToken* cancel);

  // Looks, at least once, until the host is neither slow nor cross-die, or the patience of this
  // call or of all calls has run out.
  Diags wait(const runtime::CancelToken* cancel);

  // The latest cross-die look; and the part of all looks that found it, 0 before the first.
  bool was_cross_die() const { return was_cross_die_; }
  int looks() const { return looks_; }
  double part_cross_die() const {
    return looks_ > 0 ? static_cast<double>(found_cross_die_) / looks_ : 0;
  }

  // Vector multiply-adds per second of a unit in the latest burst; 0 before the first.
  double multiply_add_rate() const;

  // Zeros where the profile does not know the rate.
  Result<CoherenceRates> coherence(const runtime::CancelToken* cancel);

 private:
  Diags prepare_cross_die(const hwdesc::Target& target);
  Result<double> cross_die_ratio(const runtime::CancelToken* cancel);

  std::unique_ptr<runtime::Module> module_;
  runtime::Launch burst_, write_, read_;  // no queues in the latter two: not measured
  // A cross-die look; its last launch is timed. Empty: units share no cache.
  std::vector<runtime::Launch> own_, others_;
  double part_ = 0;               // bytes of a unit
  double best_ = 0, latest_ = 0;  // seconds
  Patience patience_;
  double waited_ = 0;
  bool was_cross_die_ = false;
  int looks_ = 0, found_cross_die_ = 0;
};

}  // namespace assay::probe
