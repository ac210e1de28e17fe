// CUDA C++ to machine code by NVRTC, loaded at run time. It needs neither a driver nor a device, so
// kernels for a chip that is not here can be built and looked at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/result.h"

namespace assay::runtime::cuda {

struct Resources {          // of one kernel, as the assembler reports them
  int registers = 0;        // of a thread
  int64_t stack_bytes = 0;  // of a thread, spills included
  int64_t spill_bytes = 0;  // stores and loads together
};

struct Compiled {
  std::string cubin;
  std::map<std::string, Resources> resources;  // by entry
};

class Compiler {  // invariant: functions are there; architectures are in ascending order
 public:
  // The library named by $ASSAY_NVRTC_LIBRARY, else the system's; loaded once and kept.
  // Errors: there is none; it lacks functions (each by its name).
  static Result<const Compiler*> load();

  const std::string& version() const { return version_; }                   // 12.9
  const std::vector<int>& architectures() const { return architectures_; }  // 80: sm_80

  // The newest architecture whose code a device of this compute capability (90: 9.0) runs. Errors:
  // there is none.
  Result<int> architecture_for(int capability) const;

  // Errors: the source does not compile: one diag, the log in its message, line and column of the
  // first error.
  Result<Compiled> compile(const std::string& source, int architecture) const;

  // What code depends on, besides source and architecture.
  static std::string flags();

 private:
  struct Functions;
  friend struct Loading;

  const Functions* functions_ = nullptr;
  std::string version_;
  std::vector<int> architectures_;
};

// Reads what the assembler says with -v. Entries whose lines are not understood are left out.
std::map<std::string, Resources> read_resources(const std::string& log);

}  // namespace assay::runtime::cuda
