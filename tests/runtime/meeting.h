// Groups of a launch that meet, on whatever runs them: what is left of their looks, and how many
// came in all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "codegen/kernels.h"
#include "runtime/host.h"

namespace assay::runtime {

struct Met {
  std::vector<int32_t> left;  // per group
  int32_t come = 0;
};

inline Met run_meeting(Module& module, int64_t groups) {
  Met out{std::vector<int32_t>(static_cast<size_t>(groups), -1), 0};
  const BufferRange left{module.allocate(groups * 4).value(), 0},
      come{module.allocate(4).value(), 0};
  module.write(come, std::as_bytes(std::span(&out.come, 1)));
  const auto times = module.run(std::vector{Launch{0, {left, come}, {}}}, {});
  if (!times.ok()) ADD_FAILURE() << render(times.diags());
  module.read(left, std::as_writable_bytes(std::span(out.left)));
  module.read(come, std::as_writable_bytes(std::span(&out.come, 1)));
  return out;
}

// `load`: a module of the one kernel. Whether several groups run at once nobody says: they end in
// any case.
template <class Load>
void expect_meetings(const Load& load, bool at_once) {
  constexpr int kBarriers = 5, kLooks = 2000;
  const auto met = [&](int64_t groups, int all) {
    const auto module = load(testing::barriers_of_all(groups, kBarriers, all, kLooks));
    return module == nullptr ? Met{} : run_meeting(*module, groups);
  };
  const Met alone = met(1, 1);
  EXPECT_EQ(alone.left, std::vector<int32_t>{kLooks - kBarriers});
  EXPECT_EQ(alone.come, kBarriers);
  const Met waiting = met(1, 2);
  EXPECT_EQ(waiting.left, std::vector<int32_t>{0});
  EXPECT_EQ(waiting.come, kBarriers);
  const Met several = met(3, 3);
  EXPECT_EQ(several.come, 3 * kBarriers);
  const bool met_each_time =
      std::ranges::all_of(several.left, [](int32_t left) { return left > 0; });
  EXPECT_TRUE(met_each_time || !at_once);
  for (const int32_t left : several.left)
    EXPECT_LE(left, met_each_time ? kLooks - kBarriers : kLooks);
}

}  // namespace assay::runtime
