// Short runs: what they are, and what they cost.
#include <gtest/gtest.h>

#include "model/streams.h"
#include "model/traffic.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

constexpr int64_t kRow = 4096;              // elements: 16 KiB, enough for prefetchers to catch up
constexpr double kBytes = 64.0 * kRow * 4;  // of an operand

hwdesc::Target large_l2(const std::string& more = "name=large") {
  return with(with(small_cpu(8, 1), "memory.l2.capacity=16 MiB"), more);
}

// The fractions of short runs in the fills and write-backs of the first cache. The second holds all
// data.
std::pair<double, double> short_run_fractions(const ir::Program& p) {
  const model::Machine m = machine(large_l2());
  model::CachedFractions held(p.graph.tensors.size(), std::vector<double>(m.levels.size(), 1));
  for (std::vector<double>& tensor : held) tensor[0] = 0;
  const model::LevelTraffic t = model::traffic(p, model::streams_of(p), m, held)[0];
  EXPECT_GE(t.read, kBytes);
  EXPECT_GE(t.written, kBytes);
  return {t.short_run_read / t.read, t.short_run_written / t.written};
}

const auto kNone = std::pair(0.0, 0.0), kAll = std::pair(1.0, 1.0);

TEST(ShortRuns, RowAfterRowIsNot) {
  EXPECT_EQ(short_run_fractions(walk(kRow, 1, 16, "j", "i, j", "i, j")), kNone);
}
TEST(ShortRuns, LongInterleavedRowsAreNot) {
  EXPECT_EQ(short_run_fractions(walk(kRow, 8, 4, "j", "i, j", "i, j")), kNone);
}
TEST(ShortRuns, TooManyInterleavedRowsAre) {
  EXPECT_EQ(short_run_fractions(walk(kRow, 32, 4, "j", "i, j", "i, j")), kAll);
}
TEST(ShortRuns, APieceOfEachRowIs) {
  EXPECT_EQ(short_run_fractions(walk(kRow, 1, 16, "j", "i, j", "j, i")), kAll);
}

TEST(ShortRuns, ShortRowsAreOnlyWhereInterleaved) {
  const auto short_rows = [](int64_t rows) {
    const ir::Program p = walk(512, rows, 4, "j", "i, j", "i, j");
    const model::Machine m = machine(large_l2());
    const model::LevelTraffic t = model::traffic(p, model::streams_of(p), m, {})[0];
    return t.short_run_read / t.read;
  };
  EXPECT_EQ(short_rows(1), 0) << "the next row is contiguous";
  EXPECT_EQ(short_rows(8), 1);
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

TEST(ShortRuns, CostsWhatTheProfileSays) {
  const hwdesc::Target plain =
      large_l2("memory.l2.bandwidth.write=64 B/cycle@core");  // of 3 GHz, as reading
  const hwdesc::Target reads = with(plain, "memory.l2.bandwidth.short_run_read=16 B/cycle@core"),
                       writes = with(plain, "memory.l2.bandwidth.short_run_write=32 B/cycle@core");
  const ir::Program pieces = walk(kRow, 1, 16, "j", "i, j", "j, i"),
                    whole = walk(kRow, 1, 16, "j", "i, j", "i, j");
  const double quick = kBytes / 64 / 3e9;
  EXPECT_NEAR(warm(pieces, reads) - warm(pieces, plain), 3 * quick, 0.01 * quick);
  EXPECT_NEAR(warm(pieces, writes) - warm(pieces, plain), quick, 0.01 * quick);
  for (const hwdesc::Target& t : {reads, writes})
    EXPECT_DOUBLE_EQ(warm(whole, t), warm(whole, plain));
}

TEST(ShortRuns, IsNeverFaster) {
  EXPECT_EQ(machine(large_l2("memory.l2.bandwidth.short_run_read=640 B/cycle@core"))
                .levels[1]
                .short_run_read,
            1);
}

}  // namespace
}  // namespace assay::test
