// Whether the machine runs as fast as it can just now, and as fast as when it was probed. Cores
// that share their pipes with another guest's look idle from within and run at half their pace;
// units that a host runs on one core or on distant dies look like any others. Bursts of work show
// it: of multiply-adds, of reading and writing what another unit has just written or read, and of
// reading what it has left in the last cache.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hwdesc/target.h"
#include "runtime/device.h"
#include "support/result.h"

namespace assay::toolkit {

// How near units are to each other.
struct Between {
  double dirty_remote_read = 0,
         upgrade = 0;    // bytes a second of each unit, all at once: read of what another one has
                         // just written, written of what it has just read
  double elsewhere = 0;  // times as long as what it has read itself a unit reads in the last cache
                         // what another one has read there
};

struct Patience {
  double once = 2, in_all = 120;  // s that HostState::wait waits
};

class HostState {
 public:
  // Nothing (a null pointer) where no such kernel can be had: lanes that are threads.
  // Errors: the kernels can not be built.
  static Result<std::unique_ptr<HostState>> load(runtime::Device& device,
                                                 const hwdesc::Target& target,
                                                 const std::string& cache_dir,
                                                 const Patience& patience = {});

  // Is a burst slower than the fastest one so far by more than kSlow?
  Result<bool> slow(const runtime::CancelToken* cancel);

  // Does the host run units on dies that have a last cache each just now, though the profile says
  // that they have one together?
  Result<bool> apart(const runtime::CancelToken* cancel);

  // Until it is neither slow nor apart, or the patience for this call or for all of them is at an
  // end; looks once at least.
  Diags wait(const runtime::CancelToken* cancel);

  // As the latest look found; and the part of all looks that found it so, 0 before the first.
  bool was_cross_die() const { return was_cross_die_; }
  int looks() const { return looks_; }
  double part_cross_die() const {
    return looks_ > 0 ? static_cast<double>(found_cross_die_) / looks_ : 0;
  }

  // Whole vectors of multiply-adds a second on a unit, in the latest burst; 0 before the first.
  double rate() const;

  // Zeros where the profile knows no such rate.
  Result<Between> between(const runtime::CancelToken* cancel);

 private:
  Diags prepare_elsewhere(const hwdesc::Target& target);
  Result<double> elsewhere(const runtime::CancelToken* cancel);

  std::unique_ptr<runtime::Module> module_;
  runtime::Launch burst_, write_, read_;  // the latter without queues: none
  std::vector<runtime::Launch> own_,
      others_;       // ending in what is read of the last cache; empty: units have none together
  double part_ = 0;  // bytes of a unit
  double best_ = 0, latest_ = 0;  // seconds
  Patience patience_;
  double waited_ = 0;
  bool was_cross_die_ = false;
  int looks_ = 0, found_cross_die_ = 0;
};

// Rates just now, as parts of those that the profile says, and Between::elsewhere where the profile
// says that units have one last cache; 0: not told.
struct AsProbed {
  double multiply_adds = 0, handed = 0, reclaimed = 0, elsewhere = 0;
};

// Does the host run units on dies that have a last cache each, though they had one together when
// they were probed?
bool on_dies_of_their_own(const AsProbed& now);

// Are units about as near to each other as when they were probed, or does nobody know?
bool as_near_as_probed(const AsProbed& now);

// The profile as it would be of units as near to each other as they are now: what they hand over to
// each other (what is taken, which nobody looks at, by as much as what is handed), and whether they
// have a last cache each. Their own pace is left as it is.
hwdesc::Profile as_near_as_now(hwdesc::Profile profile, const AsProbed& now);

// Were its rates measured, so that there is something to be like?
bool was_probed(const hwdesc::Target& target);

// Errors: a burst failed, cancelled.
Result<AsProbed> as_probed(HostState& pace, const hwdesc::Target& target,
                           const runtime::CancelToken* cancel);

// 1 where nothing is slower than it may be, else the less the slower it is.
double likeness(const AsProbed& now);

// What differs by so much that times of now say nothing of the profile's: warnings.
Diags differences(const AsProbed& now);

}  // namespace assay::toolkit
