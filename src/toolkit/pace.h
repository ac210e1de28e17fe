// Whether the machine runs as fast as it can just now. Cores that share their pipes with another guest's look idle
// from within and run at half their pace; a burst of multiply-adds on all units shows it.
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
  // Errors: the kernel can not be built.
  static Result<std::unique_ptr<Pace>> load(runtime::Device& device, const hwdesc::Target& target, const std::string& cache_dir);

  // Is a burst slower than the fastest one so far by more than kSlow?
  Result<bool> slow(const runtime::CancelToken* cancel);

  // Until it is not, or the patience for this call or for all of them is at an end.
  Diags wait(const runtime::CancelToken* cancel);

  // Whole vectors of multiply-adds a second on a unit, in the latest burst; 0 before the first.
  double rate() const;

 private:
  std::unique_ptr<runtime::Module> module_;
  runtime::Launch burst_;
  double best_ = 0, latest_ = 0;  // seconds
  double waited_ = 0;
};

}  // namespace assay::toolkit
