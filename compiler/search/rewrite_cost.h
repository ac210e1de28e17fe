// What a rewriting of a few nodes would cost: the sum of the estimates of the programs that
// construction would choose for them. A pass whose gain depends on the chip asks this before it
// rewrites.
#pragma once

#include <map>
#include <string>

#include "compiler/passes/choose_layouts.h"
#include "compiler/search/construct.h"
#include "hwdesc/target.h"
#include "model/machine.h"

namespace assay::compiler {

class RewriteCost {  // invariant: refers to a target and a machine that outlive it
 public:
  RewriteCost(const hwdesc::Target& target, const model::Machine& m, const ForEach& each)
      : target_(target), m_(m), each_(each) {}

  // Seconds of the nodes one after the other, each with empty caches. Infinite where a node has no
  // program. Equal tile-graphs are constructed once.
  double seconds_of(const LaidOut& laid);

 private:
  const hwdesc::Target& target_;
  const model::Machine& m_;
  const ForEach& each_;
  std::map<std::string, double> known_;
};

}  // namespace assay::compiler
