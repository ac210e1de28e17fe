// Programs for a part of the chip's units. Beside other steps a program runs on few of them, where
// one that is best there takes less work (units x seconds) than the fastest one on all: it need not
// be cut into as many groups, and its operands are read fewer times.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/search/construct.h"
#include "hwdesc/target.h"
#include "model/machine.h"

namespace assay::compiler {

class FewUnits {  // invariant: refers to a target, a machine and a caller's threads, which outlive
                  // it
 public:
  FewUnits(const hwdesc::Target& target, const model::Machine& m, ForEach each);

  // Of the same graph in the same layouts, those that take less work by a part that counts, the
  // program for most units first. Each runs in the caches that a run of `fast` leaves. A program
  // that shares groups with producers has none.
  std::vector<ir::Program> beside(const ir::Program& fast);

 private:
  std::vector<ir::Program> search(const ir::Program& fast) const;

  const hwdesc::Target& target_;
  const ForEach each_;
  std::vector<model::Machine> parts_;  // of the chip, the largest first
  std::map<std::string, std::vector<ir::Program>> known_;
};

}  // namespace assay::compiler
