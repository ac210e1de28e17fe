// Inference of memory access from synthetic observations. What they do not decide is unknown, or an
// interval.
#include "probe/inference/access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probe/inference/associativity.h"
#include "probe/inference/host_memory.h"
#include "probe/inference/scratch.h"
#include "probe/inference/transfer.h"
#include "probe/inference/write_policy.h"
#include "probe/kernels/kernels.h"
#include "tests/probe/synthetic.h"

namespace assay::probe {
namespace {

using test::block;

constexpr double kNear = 2e-9, kNext = 8e-9, kFar = 90e-9;

// 32 KiB, 512 KiB, far memory.
Known two_caches() {
  Known k;
  k.levels.plateaus = {
      {8 << 10, 30 << 10, kNear}, {40 << 10, 480 << 10, kNext}, {800 << 10, 64 << 20, kFar}};
  k.levels.knees = {{32 << 10, 34 << 10, 33 << 10}, {512 << 10, 540 << 10, 520 << 10}};
  return k;
}

Observations chases(double most, double per_hop_at_least) {
  Observations o;
  for (const int chains : kChases)
    o.points.push_back(block("outstanding", "chases",
                             {{"level", 2}, {"groups", 1}, {"chains", chains}},
                             std::max(kFar / std::min<double>(chains, most), per_hop_at_least)));
  return o;
}

TEST(Access, outstanding_misses_are_one_chase_over_many) {
  hwdesc::MemoryLevel l;
  add_outstanding(chases(12, 0), two_caches(), 2, l);
  EXPECT_NEAR(l.outstanding.lines.value->v, 12, 0.1);
  EXPECT_LT(l.outstanding.lines.high->v, 13);
}

TEST(Access, outstanding_misses_limited_by_bandwidth_may_be_more) {
  hwdesc::MemoryLevel l;
  l.bandwidth.per_unit.value = hwdesc::Bandwidth{64 / (kFar / 20), ""};
  add_outstanding(chases(48, kFar / 20), two_caches(), 2, l);
  EXPECT_NEAR(l.outstanding.lines.value->v, 20, 0.2);
  EXPECT_GE(l.outstanding.lines.high->v, 48);
  hwdesc::MemoryLevel still;
  add_outstanding(chases(1000, 0), two_caches(), 2, still);
  EXPECT_GE(still.outstanding.lines.high->v, 64);
  EXPECT_NE(still.outstanding.lines.note.find("there may be more"), std::string::npos);
}

TEST(Access, dirty_remote_reads) {
  Observations o;
  o.points = {
      block("coherence", "dirty_remote_read own", {{"level", 1}, {"bytes", 1 << 18}}, 1 / 200e9),
      block("coherence", "dirty_remote_read", {{"level", 1}, {"bytes", 1 << 18}}, 1 / 20e9),
      block("coherence", "upgrade own", {{"level", 1}, {"bytes", 1 << 18}}, 1 / 100e9),
      block("coherence", "upgrade", {{"level", 1}, {"bytes", 1 << 18}}, 1 / 7e9)};
  hwdesc::MemoryLevel l, nearer;
  add_dirty_remote_read(o, 1, l);
  add_dirty_remote_read(o, 0, nearer);
  ASSERT_TRUE(l.bandwidth.dirty_remote_read.known());
  EXPECT_NEAR(l.bandwidth.dirty_remote_read.value->v, 20e9, 1e8);
  EXPECT_NE(l.bandwidth.dirty_remote_read.note.find("200"), std::string::npos);
  EXPECT_EQ(l.bandwidth.dirty_remote_read.note.find("near"), std::string::npos)
      << "all blocks alike";
  EXPECT_FALSE(nearer.bandwidth.dirty_remote_read.known());
  ASSERT_TRUE(l.bandwidth.upgrade.known());
  EXPECT_NEAR(l.bandwidth.upgrade.value->v, 7e9, 1e8);
  EXPECT_FALSE(l.bandwidth.dirty_remote_rfo.known()) << "never measured";
}

// The host ran the units on different dies for a third of the time.
TEST(Access, DirtyRemoteReadsAreOfTheUsualPlacement) {
  Observations o;
  o.points = {block("coherence", "dirty_remote_read own", {{"level", 1}}, 1 / 200e9),
              block("coherence", "dirty_remote_read", {{"level", 1}}, 1 / 40e9),
              block("coherence", "dirty_remote_read", {{"level", 1}}, 1 / 40e9),
              block("coherence", "dirty_remote_read", {{"level", 1}}, 1 / 10e9)};
  hwdesc::MemoryLevel l;
  add_dirty_remote_read(o, 1, l);
  ASSERT_TRUE(l.bandwidth.dirty_remote_read.known() && l.bandwidth.dirty_remote_read.low);
  EXPECT_NEAR(l.bandwidth.dirty_remote_read.value->v, 40e9, 1e9);
  EXPECT_LT(l.bandwidth.dirty_remote_read.low->v, 11e9);
  o.points.push_back(block("coherence", "dirty_remote_read", {{"level", 1}}, 1 / 10e9));
  o.points.push_back(block("coherence", "dirty_remote_read", {{"level", 1}}, 1 / 10e9));
  add_dirty_remote_read(o, 1, l);
  EXPECT_NEAR(l.bandwidth.dirty_remote_read.value->v, 10e9, 1e9);
  EXPECT_GT(l.bandwidth.dirty_remote_read.high->v, 39e9);
}

// Steps of empty launches count as measured while units shared a die. Transfers that were mostly
// cross-die do not belong to them.
TEST(Access, DirtyRemoteReadsAreOfOneDieWhereEnoughBlocksShowIt) {
  Observations o;
  o.points = {block("coherence", "dirty_remote_rfo own", {{"level", 1}}, 1 / 200e9)};
  for (int i = 0; i < 8; ++i)
    o.points.push_back(
        block("coherence", "dirty_remote_rfo", {{"level", 1}}, i < 3 ? 1 / 40e9 : 1 / 10e9));
  hwdesc::MemoryLevel l;
  add_dirty_remote_read(o, 1, l);
  ASSERT_TRUE(l.bandwidth.dirty_remote_rfo.known() && l.bandwidth.dirty_remote_rfo.low);
  EXPECT_NEAR(l.bandwidth.dirty_remote_rfo.value->v, 40e9, 1e9);
  EXPECT_LT(l.bandwidth.dirty_remote_rfo.low->v, 11e9);
  EXPECT_NE(l.bandwidth.dirty_remote_rfo.note.find("3 of 8 blocks"), std::string::npos)
      << l.bandwidth.dirty_remote_rfo.note;
}

// A host that also runs both units on one core now and then: there nothing is transferred.
TEST(Access, BlocksOfUnitsThatShareACoreDoNotCount) {
  Observations o;
  o.points = {block("coherence", "upgrade own", {{"level", 1}}, 1 / 38e9)};
  for (int i = 0; i < 37; ++i)
    o.points.push_back(block("coherence", "upgrade", {{"level", 1}},
                             i < 5    ? 1 / 36e9
                             : i < 29 ? 1 / 12.5e9
                                      : 1 / 3e9));
  hwdesc::MemoryLevel l;
  add_dirty_remote_read(o, 1, l);
  ASSERT_TRUE(l.bandwidth.upgrade.known());
  EXPECT_NEAR(l.bandwidth.upgrade.value->v, 12.5e9, 1e8);
  EXPECT_NE(l.bandwidth.upgrade.note.find("24 of 32 blocks, and those count; in 5 others"),
            std::string::npos)
      << l.bandwidth.upgrade.note;
}

TEST(Access, FalseSharingOfAdjacentRuns) {
  Observations o;
  o.points = {block("false_sharing", "own", {{"level", 1}}, 16e-9),
              block("false_sharing", "between", {{"level", 1}}, 316e-9)};
  hwdesc::MemoryLevel l, nearer, none;
  add_false_sharing(o, 1, l);
  add_false_sharing(o, 0, nearer);
  ASSERT_TRUE(l.false_sharing.known());
  EXPECT_NEAR(l.false_sharing.value->v, 300e-9, 1e-9);
  EXPECT_EQ(l.false_sharing.value->clock, "");
  EXPECT_FALSE(nearer.false_sharing.known());
  o.points[1] = block("false_sharing", "between", {{"level", 1}}, 16e-9);
  add_false_sharing(o, 1, none);
  EXPECT_FALSE(none.false_sharing.known());
  EXPECT_NE(none.false_sharing.note, "");
}

// A cache of so many sets and ways, indexed by address bits or by a hash.
Observations lines(double sets, double ways, bool hash) {
  Observations o;
  for (double stride = 512; stride <= 32768; stride *= 2)
    for (const double odd : {1.0, 3.0, 5.0})
      for (double n = 2; n <= 40; ++n) {
        const auto line_stride = static_cast<int64_t>(stride * odd / 64);
        const double sets_met = std::max(
            1.0, sets / static_cast<double>(std::gcd(line_stride, static_cast<int64_t>(sets))));
        const bool fits = hash || n <= ways * std::min(sets_met, sets);
        o.points.push_back(
            block("ways", "lines", {{"stride", stride * odd}, {"lines", n}}, fits ? kNear : kNext));
      }
  return o;
}

TEST(Access, ways_are_known_where_strides_agree) {
  EXPECT_EQ(ways_of(lines(64, 8, false), two_caches(), 0).value->v, 8);
  EXPECT_FALSE(ways_of(lines(64, 8, true), two_caches(), 0).known());
  // 40 sets of 13 ways: at powers of two they look like 5 times as many ways, at 5 times one they
  // do not.
  EXPECT_FALSE(ways_of(lines(40, 13, false), two_caches(), 0).known());
}

// Chases through lines at a stride of a page; the second cache holds up to `held`.
TEST(Access, LinesAtAStrideOfAPageThatTheSecondCacheHolds) {
  const Known known = two_caches();
  const double here = known.levels.plateaus[1].seconds, next = known.levels.plateaus[2].seconds;
  const auto measured = [&](double held, double most, double disturbed = 0) {
    Observations o;
    for (double n = 32; n <= most; n *= 2) {
      const double missing = std::clamp(std::log2(n / held) + 0.5, 0.0, 1.0);
      o.points.push_back(block("ways", "pages", {{"stride", 4096}, {"lines", n}},
                               here + (n == disturbed ? 1 : missing) * (next - here)));
    }
    return page_lines_of(o, known, 1);
  };
  for (const double held : {100.0, 181.0, 700.0}) {
    const auto v = measured(held, 4096);
    ASSERT_TRUE(v.known()) << held;
    EXPECT_EQ(measured(held, 4096, 32).value->v, v.value->v) << "one of them was disturbed";
    EXPECT_NEAR(v.value->v, held, 0.25 * held);
    EXPECT_LE(v.low->v, v.value->v);
    EXPECT_GE(v.high->v, v.value->v);
  }
  EXPECT_FALSE(measured(10000, 4096).known()) << "more than was measured";
  EXPECT_NE(measured(10000, 4096).note, "");
}

TEST(Access, StoresToPartsOfLinesUseVectorsOfHalfALineAtMost) {
  const std::vector<int> all = {4, 8, 16}, narrow = {4}, wide = {16};
  EXPECT_EQ(row_lanes("sets_write", all), 8);
  EXPECT_EQ(row_lanes("sets_read", all), 16);
  EXPECT_EQ(row_lanes("sets_write", narrow), 4);
  EXPECT_EQ(row_lanes("sets_write", wide), 16) << "there are no others";
}

// Set conflicts in the nearest cache, 32 KiB in 8 ways or in 2, and as many adjacent lines; a clock
// of 2 GHz.
TEST(Access, SetConflictsOfLoadsAndStores) {
  const auto told_both = [](double meeting, double beside, double changed, double ways) {
    const Known known = two_caches();
    Observations o;
    for (const SetConflictCase& t : set_conflict_cases(known)) {
      o.points.push_back(block("ways", t.what(),
                               {{"stride", double(t.stride)}, {"lines", double(t.lines)}},
                               t.stores    ? changed
                               : t.one_set ? meeting
                                           : beside));
      o.points.back().clock_hz = 2e9;
    }
    hwdesc::MemoryLevel l;
    l.capacity.value = hwdesc::Bytes{32768};
    if (ways > 0) l.ways.value = hwdesc::Count{ways};
    add_set_conflict(o, known, l);
    return l;
  };
  const auto measured = [&](double meeting, double beside, double ways) {
    return told_both(meeting, beside, 1e-8, ways).set_conflict;
  };
  ASSERT_TRUE(measured(5e-9, 1e-9, 8).known());
  EXPECT_NEAR(measured(5e-9, 1e-9, 8).value->v, 10, 1e-6) << "cycles";
  EXPECT_EQ(measured(5e-9, 1e-9, 8).value->clock, "core");
  EXPECT_NEAR(measured(5e-9, 1e-9, 2).value->v, 40, 1e-6) << "four pages begin in four sets";
  const auto changed = [&](double seconds, double ways) {
    return told_both(5e-9, 1e-9, seconds, ways).set_conflict_dirty;
  };
  ASSERT_TRUE(changed(15e-9, 8).known());
  EXPECT_NEAR(changed(15e-9, 8).value->v, 30, 1e-6);
  EXPECT_NEAR(changed(15e-9, 2).value->v, 120, 1e-6);
  for (const auto& none : {measured(1.2e-9, 1e-9, 8), measured(5e-9, 1e-9, 0), changed(1.2e-9, 8),
                           changed(15e-9, 0)}) {
    EXPECT_FALSE(none.known());
    EXPECT_NE(none.note, "");
  }
  hwdesc::MemoryLevel l;
  add_set_conflict({}, two_caches(), l);
  EXPECT_FALSE(l.set_conflict.known());
  EXPECT_FALSE(l.set_conflict_dirty.known());
  EXPECT_EQ(l.set_conflict.note, "") << "never measured";
}

Observations transfers(double unit) {
  Observations o;
  for (const double level : {1, 2})
    for (const double d : {16, 32, 64, 128, 192}) {
      const double here = level == 1 ? kNext : kFar;
      o.points.push_back(block("transfer", "pair", {{"level", level}, {"distance", d}},
                               d < unit ? (here + kNear) / 2 : here));
    }
  for (const double s : {64, 128, 256, 512})
    o.points.push_back(block("transfer", "span", {{"stride", s}}, s <= 128 ? kNext : kNear));
  return o;
}

TEST(Access, units_of_transfer_and_lines) {
  EXPECT_EQ(transaction_of(transfers(32), two_caches(), 0).value->v, 32);
  EXPECT_EQ(transaction_of(transfers(64), two_caches(), 2).value->v, 64);
  // lines of 64 B that are fetched in pairs
  const auto pairs = transaction_of(transfers(128), two_caches(), 2);
  EXPECT_EQ(pairs.value->v, 64);
  EXPECT_FALSE(pairs.note.empty());
  EXPECT_FALSE(transaction_of(transfers(1000), two_caches(), 2).known());
  EXPECT_EQ(line_of(transfers(32), two_caches(), 0).value->v, 128);
  EXPECT_FALSE(line_of(transfers(32), two_caches(), 1).known());
}

// Nodes at a stride in each cache; the second cache holds twice as much.
TEST(Access, each_cache_has_lines_of_its_own) {
  Observations o = transfers(32);
  for (const double s : {64, 128, 256, 512})
    o.points.push_back(
        block("transfer", "span", {{"level", 1}, {"stride", s}}, s <= 256 ? kFar : kNext));
  EXPECT_EQ(line_of(o, two_caches(), 0).value->v, 128);
  EXPECT_EQ(line_of(o, two_caches(), 1).value->v, 256);
}

// Hops through the scratchpad, alone and after a sweep that takes six times as long.
TEST(Access, a_scratchpad_is_off_chip_where_hops_take_more_than_noise_longer) {
  const auto slowed = [](double after, double sweep, double next = 0) {
    Observations o;
    for (const double bytes : {0.0, 1e5})
      for (const double hops : {0.0, 256.0})
        o.points.push_back(
            block("scratch", "after", {{"bytes", bytes}, {"hops", hops}},
                  (bytes > 0 ? sweep : 1e-9) + (hops > 0 ? (bytes > 0 ? after : 4e-6) : 0)));
    Levels levels;  // hops of 16 ns are those of the first one
    levels.plateaus = {{1e3, 1e4, 10e-9}, {1e5, 1e6, next}, {1e7, 1e8, 10 * next}};
    return slowed_by_sweep(o, next > 0 ? levels : Levels{});
  };
  EXPECT_NEAR(slowed(8e-6, 24e-6).value(), 2, 0.01);
  EXPECT_NEAR(slowed(4.2e-6, 24e-6).value(), 1.05, 0.01);
  EXPECT_FALSE(slowed(5.6e-6, 24e-6)) << "lost in the noise of the sweep";
  EXPECT_TRUE(slowed(5.6e-6, 4e-6));
  EXPECT_FALSE(slowed(2e-6, 24e-6)) << "no faster than before";
  EXPECT_FALSE(slowed(8e-6, 24e-6, 100e-9)) << "no next cache answers that fast";
  EXPECT_TRUE(slowed(8e-6, 24e-6, 30e-9));
}

// A machine that takes twice as long in two rounds of five, in different ones for each kernel. The
// fastest launches of all rounds belong to no one state of it.
TEST(Access, a_scratchpad_is_located_though_the_machine_is_slow_for_some_rounds) {
  Observations o;
  for (int round = 0; round < 8; ++round) {
    const double slow = round % 4 == 0 ? 1 : 2;
    for (const double bytes : {0.0, 1e5})
      for (const double hops : {0.0, 256.0}) {
        // the machine recovers in the middle of one
        const bool quick = round == 4 && bytes > 0 && hops > 0;
        const double seconds =
            (bytes > 0 ? 24e-6 : 1e-9) + (hops > 0 ? (bytes > 0 ? 8e-6 : 4e-6) : 0);
        o.points.push_back(block(
            "scratch", "after", {{"bytes", bytes}, {"hops", hops}},
            seconds * (round == 0 && bytes > 0 && hops == 0 ? 1.2 : slow) * (quick ? 0.9 : 1)));
      }
  }
  EXPECT_NEAR(slowed_by_sweep(o).value_or(0), 2, 0.05);
}

TEST(Access, the_answering_level_is_the_last_one_not_slower_than_hops) {
  Levels levels;
  levels.plateaus = {{1e3, 1e4, 10e-9}, {1e5, 1e6, 100e-9}, {1e7, 1e8, 400e-9}};
  EXPECT_EQ(answering_level(levels, 8e-9), 0u);   // a memory on the chip
  EXPECT_EQ(answering_level(levels, 60e-9), 0u);  // some hops missed
  EXPECT_EQ(answering_level(levels, 96e-9), 1u);
  EXPECT_EQ(answering_level(levels, 150e-9), 1u);
  EXPECT_EQ(answering_level(levels, 500e-9), 2u);
  EXPECT_EQ(answering_level({}, 1e-9), 0u);
}

TEST(Access, banks) {
  const auto conflicts = [](double banks, double words) {
    Observations o;
    for (const int64_t s : kStrides)
      o.points.push_back(block("scratch", "stride", {{"stride", double(s)}},
                               1e-9 * std::clamp(double(s) / words, 1.0, banks / words)));
    hwdesc::MemoryLevel l;
    add_banks(o, l);
    return l.banks;
  };
  EXPECT_EQ(conflicts(32, 1).count.value->v, 32);
  EXPECT_FALSE(conflicts(32, 2).count.known()) << "as slow at a stride of two words as of one";
  EXPECT_FALSE(conflicts(1, 1).count.known());
  EXPECT_FALSE(conflicts(128, 1).count.known());
}

hwdesc::WritePolicy policy(double written, double updated) {
  Observations o;
  const auto add = [&](const char* what, double seconds) {
    o.points.push_back(block("write_policy", what, {{"level", 0}}, seconds));
  };
  add("others", 10e-6), add("cold", 14e-6), add("warm", 15e-6), add("write", 11e-6),
      add("written", 11e-6 + written);
  add("update", 15e-6), add("updated", 15e-6 + updated);
  return write_policy_of(o, 0);
}

TEST(Access, write_policy) {
  EXPECT_EQ(policy(1e-6, 1e-6), hwdesc::WritePolicy::allocate);
  EXPECT_EQ(policy(4e-6, 1e-6), hwdesc::WritePolicy::through);
  EXPECT_EQ(policy(4e-6, 4e-6), hwdesc::WritePolicy::around);
  EXPECT_EQ(policy(2.5e-6, 1e-6), hwdesc::WritePolicy::unknown);
}

TEST(Access, stores_as_fast_as_the_next_level_leave_the_policy_unknown) {
  const auto first = [](hwdesc::WritePolicy policy, double own) {
    std::vector<hwdesc::MemoryLevel> memory(3);
    for (hwdesc::MemoryLevel& l : memory) l.per = "device";
    memory[0].per = "unit";
    memory[0].write = policy;
    memory[0].bandwidth.write.value = hwdesc::Bandwidth{own, "core"};
    memory[1].name = "l2";
    memory[1].write = hwdesc::WritePolicy::allocate;
    memory[1].bandwidth.write.value = hwdesc::Bandwidth{640e9, ""};
    memory[1].bandwidth.write.low = hwdesc::Bandwidth{600e9, ""};
    raise_write_bandwidth(memory, 1e9, 8);
    EXPECT_EQ(memory[1].bandwidth.write.value->v, 640e9);
    return memory[0].bandwidth.write;
  };
  for (const auto policy :
       {hwdesc::WritePolicy::through, hwdesc::WritePolicy::around, hwdesc::WritePolicy::unknown}) {
    const auto write = first(policy, 70);
    EXPECT_EQ(*write.value, (hwdesc::Bandwidth{80, "core"}));
    EXPECT_EQ(*write.low, (hwdesc::Bandwidth{75, "core"}));
    EXPECT_EQ(write.source, hwdesc::Origin::derived);
  }
  EXPECT_EQ(first(hwdesc::WritePolicy::through, 90).value->v, 90);
  EXPECT_EQ(first(hwdesc::WritePolicy::allocate, 70).value->v, 70);
}

TEST(Access, copies_between_host_and_device) {
  EXPECT_FALSE(host_memory({}));
  Observations o;
  for (const char* way : {"to_device", "from_device"})
    for (const double bytes : {4096.0, 1048576.0 * 64})
      o.points.push_back(
          block("host", way, {{"bytes", bytes}}, 10e-6 + bytes / (way[0] == 't' ? 10e9 : 5e9)));
  const auto l = host_memory(o);
  ASSERT_TRUE(l);
  EXPECT_NEAR(l->bandwidth.read.value->v, 10e9, 0.1e9);
  EXPECT_NEAR(l->bandwidth.write.value->v, 5e9, 0.1e9);
  EXPECT_NEAR(l->latency.value->v, 10.4e-6, 0.1e-6);
}

}  // namespace
}  // namespace assay::probe
