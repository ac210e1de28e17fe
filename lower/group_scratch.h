// Scratch of a program with producers: the tiles that it keeps on the chip and the scratch of each
// program's own, placed by lifetimes. What one program no longer needs, a later one overwrites.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace assay::lower {

// Arrays of one type share storage.
struct ScratchArray {
  ir::DType type = ir::DType::f32;
  int64_t bytes = 0;
};

struct ScratchPlace {
  int region = 0;
  int64_t offset = 0;  // bytes in the region
};

struct GroupScratch {
  std::vector<ScratchArray> regions;
  std::vector<ScratchPlace> tiles;             // per producer
  std::vector<std::vector<ScratchPlace>> own;  // per member, of its own scratch
  int64_t bytes = 0;
  // From the first region on, which lie one after the other.
  int64_t offset(const ScratchPlace& place) const;
};

// Per member, what it stages and what its opaque fragments need: the scratch of its kernel.
std::vector<std::vector<ScratchArray>> own_scratch(const ir::Program& p);

GroupScratch place_scratch(const ir::Program& p, const std::vector<std::vector<ScratchArray>>& own);

}  // namespace assay::lower
