#include "runtime/opencl/queues.h"

#include <algorithm>

namespace assay::runtime::opencl {
namespace {

constexpr int64_t kPieces = 4;  // of a queue

}  // namespace

Queues split_queues(const Launch& launch, int64_t groups, int units) {
  std::vector<std::vector<cl_long>> of_unit(static_cast<size_t>(units));
  const auto add = [&](int unit, int64_t begin, int64_t end) {
    auto& rows = of_unit[static_cast<size_t>(unit % units)];
    for (int64_t piece = 0; piece < kPieces; ++piece) {
      const int64_t from = begin + (end - begin) * piece / kPieces,
                    to = begin + (end - begin) * (piece + 1) / kPieces;
      if (from < to) rows.insert(rows.end(), {from, to});
    }
  };
  for (int u = 0; launch.queues.empty() && u < units; ++u)
    add(u, groups * u / units, groups * (u + 1) / units);
  for (const ir::Queue& q : launch.queues) add(q.unit, q.begin, q.end);
  size_t most = 0;
  for (const auto& rows : of_unit) most = std::max(most, rows.size());
  Queues out;
  out.count = static_cast<cl_uint>(most / 2);
  for (auto& rows : of_unit) {
    rows.resize(most, 0);
    out.ranges.insert(out.ranges.end(), rows.begin(), rows.end());
  }
  return out;
}

}  // namespace assay::runtime::opencl
