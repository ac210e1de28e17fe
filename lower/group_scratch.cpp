#include "lower/group_scratch.h"

#include <algorithm>
#include <utility>

#include "ir/producers.h"
#include "lower/instruction.h"
#include "lower/nest.h"
#include "support/best_fit.h"

namespace assay::lower {

namespace {

constexpr int64_t kAlignment = 64;

// The last member that reads a tile.
int last_reader(const std::vector<ir::Member>& members, int tensor) {
  for (size_t m = members.size(); m-- > 0;) {
    const std::vector<int>& ids = members[m].tensors;
    if (std::find(ids.begin(), ids.end(), tensor) != ids.end()) return static_cast<int>(m);
  }
  return 0;
}

struct Array {
  ScratchArray array;
  int first = 0, last = 0;
  ScratchPlace* place = nullptr;
};

}  // namespace

int64_t GroupScratch::offset(const ScratchPlace& place) const {
  int64_t out = place.offset;
  for (int r = 0; r < place.region; ++r) out += regions[static_cast<size_t>(r)].bytes;
  return out;
}

std::vector<std::vector<ScratchArray>> own_scratch(const ir::Program& p) {
  std::vector<std::vector<ScratchArray>> out;
  for (const ir::Member& m : ir::members_of(p)) {
    std::vector<ScratchArray>& own = out.emplace_back();
    for (const ir::Staging& s : m.program.staging) {
      const ir::DType type = staged_type(m.program, s);
      own.push_back(
          {type, ir::physical_elements(s.layout, staged_shape(m.program, s)) * ir::bytes_of(type)});
    }
    int64_t waves = 1;
    for (const int w : m.program.workers) waves *= w;
    if (const int64_t bytes = fragment_scratch(m.program); bytes > 0)
      own.push_back({ir::DType::f32, bytes * waves});
  }
  return out;
}

GroupScratch place_scratch(const ir::Program& p,
                           const std::vector<std::vector<ScratchArray>>& own) {
  const std::vector<ir::Member> members = ir::members_of(p);
  GroupScratch out;
  out.tiles.resize(p.producers.size());
  std::vector<Array> arrays;
  for (size_t i = 0; i < p.producers.size(); ++i) {
    const int tensor = ir::passed_tensor(p.producers[i]);
    if (ir::is_stored(p, tensor)) continue;
    arrays.push_back(
        {{p.graph.tensors[static_cast<size_t>(tensor)].dtype, ir::passed_bytes(p, p.producers[i])},
         static_cast<int>(i),
         last_reader(members, tensor),
         &out.tiles[i]});
  }
  out.own.resize(own.size());
  for (size_t m = 0; m < own.size(); ++m) out.own[m].resize(own[m].size());
  for (size_t m = 0; m < own.size(); ++m)
    for (size_t i = 0; i < own[m].size(); ++i)
      arrays.push_back({own[m][i], static_cast<int>(m), static_cast<int>(m), &out.own[m][i]});
  std::vector<ir::DType> types;
  for (const Array& a : arrays)
    if (std::find(types.begin(), types.end(), a.array.type) == types.end())
      types.push_back(a.array.type);
  for (const ir::DType type : types) {
    std::vector<Lived> lived;
    std::vector<ScratchPlace*> places;
    for (const Array& a : arrays) {
      if (a.array.type != type) continue;
      lived.push_back({a.first, a.last, a.array.bytes});
      places.push_back(a.place);
    }
    const Fitted fitted = fit_lifetimes(lived, kAlignment);
    for (size_t i = 0; i < places.size(); ++i)
      *places[i] = {static_cast<int>(out.regions.size()), fitted.offsets[i]};
    out.regions.push_back({type, fitted.bytes});
    out.bytes += fitted.bytes;
  }
  return out;
}

}  // namespace assay::lower
