// Whether the machine runs as fast as it can just now, and as fast as when it was probed. Cores that share their pipes with another guest's
// look idle from within and run at half their pace; units that a host runs on one core or on distant dies look like any others. Bursts of
// work on all units show it: of multiply-adds, and of reading what another unit has just written.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "hwdesc/target.h"
#include "runtime/device.h"

namespace assay::toolkit {

class Pace {
 public:
  // Nothing (a null pointer) where no such kernel can be had: lanes that are threads.
  // Errors: the kernels can not be built.
  static Result<std::unique_ptr<Pace>> load(runtime::Device& device, const hwdesc::Target& target, const std::string& cache_dir);

  // Is a burst slower than the fastest one so far by more than kSlow?
  Result<bool> slow(const runtime::CancelToken* cancel);

  // Until it is not, or the patience for this call or for all of them is at an end.
  Diags wait(const runtime::CancelToken* cancel);

  // Whole vectors of multiply-adds a second on a unit, in the latest burst; 0 before the first.
  double rate() const;

  // Bytes a second that each unit reads, all at once, of what another one has just written; 0 where the profile knows no such rate.
  Result<double> handed(const runtime::CancelToken* cancel);

 private:
  std::unique_ptr<runtime::Module> module_;
  runtime::Launch burst_, write_, read_;  // the latter without queues: none
  double part_ = 0;                       // bytes of a unit
  double best_ = 0, latest_ = 0;          // seconds
  double waited_ = 0;
};

// Rates just now, as parts of those that the profile says; 0: not told.
struct AsProbed {
  double multiply_adds = 0, handed = 0;
};

// Were its rates measured, so that there is something to be like?
bool was_probed(const hwdesc::Target& target);

// Errors: a burst failed, cancelled.
Result<AsProbed> as_probed(Pace& pace, const hwdesc::Target& target, const runtime::CancelToken* cancel);

// 1 where nothing is slower than it may be, else the less the slower it is.
double likeness(const AsProbed& now);

// What differs by so much that times of now say nothing of the profile's: warnings.
Diags differences(const AsProbed& now);

}  // namespace assay::toolkit
