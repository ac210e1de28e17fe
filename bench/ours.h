// The compiler's first choice for an operator, built and ready to be timed on this CPU, through the
// api cpp (cpu:0) or opencl (opencl:0).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "hwdesc/profile.h"
#include "runtime/device.h"

namespace assay::bench {

// $ASSAY_PROFILE (opencl: $ASSAY_OPENCL_PROFILE), else the demo's profile, else the generic one.
hwdesc::Profile bench_profile(const std::string& api);

class Ours {  // invariant: a loaded module whose launches compute the operator
 public:
  // nullptr, with the reason on stderr: it can not be compiled.
  static std::unique_ptr<Ours> make(const std::string& api, const std::string& operator_text,
                                    int threads);
  static std::unique_ptr<Ours> matmul(const std::string& api, const std::string& type, int n,
                                      int threads);

  double seconds_per_call(double at_least);
  double predicted_seconds() const { return compiled_.total.seconds; }
  std::string description() const;  // the register tile, group tile and staging chosen

 private:
  compiler::Compiled compiled_;
  std::unique_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Module> module_;
  std::vector<runtime::Launch> launches_;
};

}  // namespace assay::bench
