// How much of a program's operands, and of a step's code, the caches hold. Internal to simulator/.
#pragma once

#include "model/streams.h"
#include "model/traffic.h"
#include "simulator/estimate.h"
#include "simulator/operand_walk.h"

namespace assay::simulator {

model::CachedFractions cached_fractions(const ir::Program& p, const model::Streams& streams,
                                        const model::Machine& m, const CacheState& before,
                                        std::span<const Range> where);

// Lines that a unit's program finds in other units' private caches, in bytes of one unit.
struct RemoteLines {
  double dirty_remote_read = 0;  // read, and another unit wrote them last
  double dirty_remote_rfo = 0;   // written, and another unit wrote them last
  double upgrade = 0;            // written, and others have read them since they were written
  auto operator<=>(const RemoteLines&) const = default;
};
RemoteLines remote_lines(const ir::Program& p, const model::Streams& streams,
                         const model::Machine& m, const CacheState& before,
                         std::span<const Range> where);

// The same, and the caches after the program, with what is known of its operands. Pre: of `after`,
// p has no producers.
model::CachedFractions cached_fractions(const ir::Program& p, const Operands& operands,
                                        const model::Machine& m, const CacheState& before,
                                        std::span<const Range> where);
RemoteLines remote_lines(const ir::Program& p, const Operands& operands, const model::Machine& m,
                         const CacheState& before, std::span<const Range> where);
CacheState after(const ir::Program& p, const Operands& operands, const model::Machine& m,
                 CacheState before, std::span<const Range> where);

// A step's code is cached like other bytes, in a range of its own. Steps with one program share its
// code; `several` of them reuse it.
void touch_code(CacheState& state, int program, bool several, const model::Machine& m);

// Parts of the code, 0 to 1, that a unit's private caches, and all caches, have evicted; all <=
// own.
struct CodeMisses {
  double own = 0, all = 0;
};
CodeMisses code_misses(const CacheState& before, int program, const model::Machine& m);

}  // namespace assay::simulator
