// Kernels of one experiment alone: drivers that build kernels in every process would build them for
// all experiments.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "probe/sampling/session.h"

namespace assay::probe {

struct OwnKernels {
  // In groups of `threads`; with the kernels of every bench.
  OwnKernels(Session& s, std::vector<ir::Kernel> own, int threads)
      : kernels(with_bench(s, std::move(own))),
        module(s.load_with_group_size(kernels, threads)),
        bench(*module, kernels, s.device) {
    bench.limit_loops(s.known.most_iterations);
  }

  // Each launch by itself; where lanes are threads, in groups of one wave.
  OwnKernels(Session& s, std::vector<ir::Kernel> own)
      : kernels(with_bench(s, std::move(own))),
        module(s.device.threads ? s.load_with_group_size(kernels, s.known.lanes)
                                : s.one_by_one(kernels)),
        bench(*module, kernels, s.device) {
    bench.limit_loops(s.known.most_iterations);
  }

  // With an operation written in this form ("fma.f32", mad).
  OwnKernels(Session& s, std::vector<ir::Kernel> own, const hwdesc::NamedText& form)
      : kernels(with_bench(s, std::move(own))),
        module(s.load_in_form(kernels, form)),
        bench(*module, kernels, s.device) {
    bench.limit_loops(s.known.most_iterations);
  }

  std::vector<ir::Kernel> kernels;
  std::unique_ptr<runtime::Module> module;
  Bench bench;

 private:
  static std::vector<ir::Kernel> with_bench(const Session& s, std::vector<ir::Kernel> own) {
    for (const ir::Kernel& k : s.kernels)
      if (k.name == "sentinel" || k.name == "nothing") own.push_back(k);
    return own;
  }
};

// Building used up the time: no further kernels. It may take several shares.
inline bool out_of_time(const Session& s) {
  constexpr double kMost = 4;  // s
  return now_seconds() - s.started >
         s.seconds + (s.fixed_rounds > 0 ? kMost : std::min(kMost, kMost * s.seconds));
}

}  // namespace assay::probe
