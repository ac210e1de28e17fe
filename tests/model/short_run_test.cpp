// Short runs: what they are, and what they cost.
#include <gtest/gtest.h>

#include "model/streams.h"
#include "model/traffic.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

constexpr int64_t kRow = 4096;              // elements
constexpr double kBytes = 64.0 * kRow * 4;  // of an operand

hwdesc::Target large_l2(const std::string& more = "name=large") {
  return with(with(small_cpu(8, 1), "memory.l2.capacity=16 MiB"), more);
}

// Runs that are written into the second cache, which holds all data.
double runs_written(const ir::Program& p) {
  const model::Machine m = machine(large_l2());
  model::CachedFractions held(p.graph.tensors.size(), std::vector<double>(m.levels.size(), 1));
  for (std::vector<double>& tensor : held) tensor[0] = 0;
  return model::traffic(p, model::streams_of(p), m, held)[0].runs_written;
}

TEST(ShortRuns, EndWhereTheNestJumps) {
  EXPECT_DOUBLE_EQ(runs_written(walk(kRow, 1, 16, "j", "i, j", "i, j")), 1) << "row after row";
  EXPECT_LT(runs_written(walk(kRow, 8, 4, "j", "i, j", "i, j")), 64) << "eight rows at a time";
  EXPECT_DOUBLE_EQ(runs_written(walk(kRow, 1, 64, "j", "i, j", "j, i")), 64 * kRow / 64)
      << "a piece of each row";
}

// Seconds of transfers between the first cache and the second one, which holds the operands.
double warm(const ir::Program& p, const hwdesc::Target& t) {
  simulator::CacheState state;
  std::vector<simulator::Range> where;
  for (int64_t i = 0; i < 2; ++i) {
    const auto bytes = static_cast<int64_t>(kBytes);
    where.push_back({i * bytes, (i + 1) * bytes});
    const simulator::UnitPartition whole{i * bytes, bytes, 1};
    state.recent.push_back({where.back(), kBytes, whole, whole, i == 1});
  }
  return term(simulator::estimate(p, machine(t), state, where), "l1<-l2");
}

// Runs of 256 bytes, as the field is measured with, take what the profile says; longer ones have
// fewer begins.
TEST(ShortRuns, CostWhatTheProfileSays) {
  const hwdesc::Target plain =
      large_l2("memory.l2.bandwidth.write=64 B/cycle@core");  // of 3 GHz, as reading
  const hwdesc::Target reads = with(plain, "memory.l2.bandwidth.short_run_read=16 B/cycle@core"),
                       writes = with(plain, "memory.l2.bandwidth.short_run_write=32 B/cycle@core");
  const double quick = kBytes / 64 / 3e9;
  for (const double times : {1.0, 2.0, 4.0}) {
    const ir::Program pieces = walk(kRow, 1, static_cast<int64_t>(64 * times), "j", "i, j", "j, i");
    EXPECT_NEAR(warm(pieces, reads) - warm(pieces, plain), 3 * quick / times, 0.01 * quick);
    EXPECT_NEAR(warm(pieces, writes) - warm(pieces, plain), quick / times, 0.01 * quick);
  }
  const ir::Program whole = walk(kRow, 1, 16, "j", "i, j", "i, j");
  for (const hwdesc::Target& t : {reads, writes})
    EXPECT_NEAR(warm(whole, t), warm(whole, plain), 0.001 * quick) << "one run";
}

TEST(ShortRuns, AreNeverFaster) {
  EXPECT_EQ(*machine(large_l2("memory.l2.bandwidth.short_run_read=640 B/cycle@core"))
                 .levels[1]
                 .unprefetched_miss,
            0);
  EXPECT_FALSE(machine(large_l2()).levels[1].unprefetched_miss.has_value()) << "not measured";
}

}  // namespace
}  // namespace assay::test
