// A chase through one argument in any address space, in a given order: what experiments on
// constants and images share.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/sampling/own_kernels.h"
#include "probe/sampling/session.h"

namespace assay::probe {

// A number among the device's facts; 0: none.
int64_t number_said(const Session& s, const char* fact);

class PathChase {  // invariant: nodes_ holds the cycle that was measured last
 public:
  // Elements of 4 bytes; of an image rows of kImageRow texels.
  PathChase(Session& s, const char* experiment, ir::Space space, int64_t elements);

  // All lanes begin at the first node, or (`divergent`) each at one of its own. The samples are
  // emitted, the fastest of them is returned. Fails where a lane ends at a wrong node, as with an
  // image that was read at its border, or another image.
  double measure(const char* what, const Conditions& at, const std::vector<int32_t>& order,
                 bool divergent = false);

 private:
  void write(const std::vector<int32_t>& order);
  void check(const std::vector<int32_t>& order, int64_t hops, bool divergent);
  std::vector<int32_t> places(const std::vector<int32_t>& order, int64_t hops,
                              bool divergent) const;

  Session& s_;
  const char* experiment_;
  bool image_;
  int lanes_;
  std::vector<int32_t> data_;
  OwnKernels own_;
  int nodes_ = -1, state_ = -1;
};

}  // namespace assay::probe
