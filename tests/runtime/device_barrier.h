// Device barriers between the groups of a launch: remaining polls, and arrivals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/codegen/kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {

struct BarrierOutcome {
  std::vector<int32_t> left;  // polls, per group
  int32_t arrived = 0;
};

inline BarrierOutcome run_barriers(Module& module, int64_t groups) {
  BarrierOutcome out{std::vector<int32_t>(static_cast<size_t>(groups), -1), 0};
  const BufferRange left{module.allocate(groups * 4).value(), 0},
      arrived{module.allocate(4).value(), 0};
  module.write(arrived, std::as_bytes(std::span(&out.arrived, 1)));
  const auto times = module.run(std::vector{Launch{0, {left, arrived}, {}}}, {});
  if (!times.ok()) ADD_FAILURE() << render(times.diags());
  module.read(left, std::as_writable_bytes(std::span(out.left)));
  module.read(arrived, std::as_writable_bytes(std::span(&out.arrived, 1)));
  return out;
}

// `load` makes a module of one kernel. `concurrent`: groups run concurrently for sure. Otherwise
// barriers may fail, but must end.
template <class Load>
void expect_barriers(const Load& load, bool concurrent) {
  constexpr int kBarriers = 5, kLooks = 2000;
  const auto outcome = [&](int64_t groups, int all) {
    const auto module = load(assay::testing::barriers_of_all(groups, kBarriers, all, kLooks));
    return module == nullptr ? BarrierOutcome{} : run_barriers(*module, groups);
  };
  const BarrierOutcome alone = outcome(1, 1);
  EXPECT_EQ(alone.left, std::vector<int32_t>{kLooks - kBarriers});
  EXPECT_EQ(alone.arrived, kBarriers);
  const BarrierOutcome waiting = outcome(1, 2);
  EXPECT_EQ(waiting.left, std::vector<int32_t>{0});
  EXPECT_EQ(waiting.arrived, kBarriers);
  const BarrierOutcome several = outcome(3, 3);
  EXPECT_EQ(several.arrived, 3 * kBarriers);
  const bool all_succeeded =
      std::ranges::all_of(several.left, [](int32_t left) { return left > 0; });
  EXPECT_TRUE(all_succeeded || !concurrent);
  for (const int32_t left : several.left)
    EXPECT_LE(left, all_succeeded ? kLooks - kBarriers : kLooks);
}

}  // namespace assay::runtime
