// A chase through constants, and the same through global memory.
#include <algorithm>
#include <cmath>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/path.h"
#include "probe/sampling/path_chase.h"

namespace assay::probe {
namespace {

constexpr int64_t kSmallest = 256;  // bytes
constexpr double kPerOctave = 2;

// So many bytes of nodes, in a random order.
std::vector<int32_t> nodes_of(int64_t bytes, Session& s) {
  std::vector<int32_t> order;
  for (int64_t at = 0; at + kPathStride <= bytes; at += kPathStride)
    order.push_back(static_cast<int32_t>(at / 4));
  std::shuffle(order.begin(), order.end(), s.random);
  return order;
}

}  // namespace

void run_constant(Session& s) {
  const int64_t most = std::min(kMostConstants, number_said(s, "constant_memory"));
  if (most < 4 * kSmallest) return;
  PathChase constant(s, "constant", ir::Space::constant, most / 4),
      plain(s, "constant", ir::Space::plain, most / 4);
  std::vector<int64_t> sizes;
  for (double b = kSmallest; b <= double(most) * 1.001; b *= std::exp2(1 / kPerOctave))
    sizes.push_back(static_cast<int64_t>(b / kPathStride) * kPathStride);
  s.rounds(2 * sizes.size(), [&](size_t i) {
    const int64_t bytes = sizes[i / 2];
    (i % 2 == 0 ? constant : plain)
        .measure(i % 2 == 0 ? "chase" : "plain", {{"bytes", double(bytes)}}, nodes_of(bytes, s));
  });
  if (!s.device.threads) return;
  const int64_t bytes = std::min<int64_t>(most, s.known.lanes * kPathStride);
  for (const bool divergent : {false, true})
    constant.measure("lanes", {{"bytes", double(bytes)}, {"divergent", divergent ? 1.0 : 0.0}},
                     nodes_of(bytes, s), divergent);
}

}  // namespace assay::probe
