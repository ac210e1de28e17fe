// The compiler's own first choice for an operator, built and ready to be timed on this CPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "hwdesc/profile.h"
#include "runtime/device.h"

namespace assay::bench {

// $ASSAY_PROFILE, else the profile the demo measured, else the generic one.
hwdesc::Profile bench_profile();

class Ours {  // invariant: a loaded module whose launches compute the operator
 public:
  // nullptr (with the reason on stderr) when it can not be compiled.
  static std::unique_ptr<Ours> make(const std::string& operator_text, int threads);
  static std::unique_ptr<Ours> matmul(int n, int threads);

  double seconds_per_call(double at_least);
  double predicted_seconds() const { return compiled_.total.seconds; }
  std::string description() const;   // the register tile, group tile and staging chosen

 private:
  compiler::Compiled compiled_;
  std::unique_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Module> module_;
  std::vector<runtime::Launch> launches_;
};

}  // namespace assay::bench
