// How much of a program's operands the caches already hold. Internal to simulator/.
#pragma once

#include "model/streams.h"
#include "model/traffic.h"
#include "simulator/estimate.h"

namespace assay::simulator {

model::Residency residency_of(const ir::Program& p, const model::Streams& streams,
                              const model::Machine& m, const CacheState& before,
                              std::span<const Range> where);

// Lines that a unit's program finds in other units' own caches, in bytes of one unit.
struct RemoteLines {
  double dirty_remote_read = 0;  // read, and another unit wrote them last
  double dirty_remote_rfo = 0;   // written, and another unit wrote them last
  double upgrade = 0;            // written, and others have read them since somebody wrote them
};
RemoteLines remote_lines(const ir::Program& p, const model::Streams& streams,
                         const model::Machine& m, const CacheState& before,
                         std::span<const Range> where);

// A step's code lies in the caches like other bytes, behind none of a plan's tensors: what takes
// longer where a unit's own have lost it, and longer still where all have. Those of one program are
// one; several of them use it again and again.
void remember_code(CacheState& state, int program, bool several, const model::Machine& m);
struct CodeLost {
  double own = 0, all = 0;  // parts of it, 0 to 1, that a unit's own caches have lost, and all
                            // caches; all <= own
};
CodeLost code_lost(const CacheState& before, int program, const model::Machine& m);

}  // namespace assay::simulator
