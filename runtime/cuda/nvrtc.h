// CUDA C++ to machine code by NVRTC, loaded at run time. It needs neither driver nor device, so
// kernels can be built and inspected for a chip that is not present.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/result.h"

namespace assay::runtime::cuda {

struct Resources {          // of one kernel, as ptxas reports them
  int registers = 0;        // of a thread
  int64_t stack_bytes = 0;  // of a thread, spills included
  int64_t spill_bytes = 0;  // stores and loads together
};

struct Compiled {
  std::string cubin;
  std::map<std::string, Resources> resources;  // by entry
};

class Compiler {  // invariant: functions_ is set; architectures_ is in ascending order
 public:
  // The library named by $ASSAY_NVRTC_LIBRARY, else the system's; loaded once, never closed.
  // Errors: no library; missing functions, each by its name.
  static Result<const Compiler*> load();

  const std::string& version() const { return version_; }                   // 12.9
  const std::vector<int>& architectures() const { return architectures_; }  // 80: sm_80

  // The newest architecture whose code runs on this compute capability (90: 9.0). Errors: there is
  // none.
  Result<int> architecture_for(int capability) const;

  // Errors: the source does not compile: one diag with the log, and line and column of the first
  // error.
  Result<Compiled> compile(const std::string& source, int architecture) const;

  // Compiler flags, on which code depends besides source and architecture.
  static std::string flags();

 private:
  struct Functions;
  friend struct Loading;

  const Functions* functions_ = nullptr;
  std::string version_;
  std::vector<int> architectures_;
};

// Parses the output of ptxas -v. Entries that it does not understand are omitted.
std::map<std::string, Resources> read_resources(const std::string& log);

}  // namespace assay::runtime::cuda
