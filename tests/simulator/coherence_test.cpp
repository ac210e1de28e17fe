// The cost of lines that another unit's private cache holds.
#include <gtest/gtest.h>

#include "tests/model/programs.h"

namespace assay::test {
namespace {

constexpr double kDirtyRemoteRead = 1e9, kDirtyRemoteRfo = 5e8, kUpgrade = 1e8;  // bytes/s

// Its units' caches hold the footprints of the products here.
model::Machine two_units(bool known) {
  hwdesc::Target t = small_cpu(8, 2);
  t.profile.memory[1].capacity.value = hwdesc::Bytes{1 << 18};
  t.profile.memory[2].capacity.value = hwdesc::Bytes{1 << 20};
  for (hwdesc::MemoryLevel& l : t.profile.memory) {
    if (l.name != "l2" || !known) continue;
    l.bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{kDirtyRemoteRead, ""};
    l.bandwidth.dirty_remote_rfo.value = hwdesc::Bandwidth{kDirtyRemoteRfo, ""};
    l.bandwidth.upgrade.value = hwdesc::Bandwidth{kUpgrade, ""};
  }
  return machine(t);
}

using Entry = simulator::CacheState::Entry;

constexpr int64_t kLeft = 8 * 128 * 4, kOut = 8 * 64 * 4;  // bytes
constexpr int64_t kOutAt = 1 << 20;

// Units split the columns, and each reads all of the left operand.
double seconds(const model::Machine& m, const Entry& held) {
  const ir::Program p = product(8, 64, 128, 32);
  simulator::CacheState state;
  state.recent = {held};
  const std::vector<simulator::Range> where = {
      {0, kLeft}, {1 << 16, (1 << 16) + 128 * 64 * 4}, {kOutAt, kOutAt + kOut}};
  return simulator::estimate(p, m, state, where).seconds;
}

// Each half belongs to another unit.
simulator::UnitPartition halves(int64_t begin, int64_t bytes) { return {begin, bytes, 2}; }
// The units split every row of 64 columns, as the program does.
simulator::UnitPartition columns(int64_t begin) { return {begin, 64 * 4, 2}; }

Entry left(bool written) {
  return {{0, kLeft}, kLeft / 2, halves(0, kLeft), halves(0, kLeft), written};
}
Entry out(const simulator::UnitPartition& touched, const simulator::UnitPartition& wrote,
          bool written) {
  return {{kOutAt, kOutAt + kOut}, kOut / 2, touched, wrote, written};
}

TEST(Coherence, HalfOfASharedOperandWasWrittenByTheOtherUnit) {
  const model::Machine m = two_units(true);
  ASSERT_DOUBLE_EQ(m.dirty_remote_read.value, kDirtyRemoteRead);
  EXPECT_NEAR(seconds(m, left(true)) - seconds(m, left(false)), kLeft / 2 / kDirtyRemoteRead,
              0.1 * kLeft / 2 / kDirtyRemoteRead);
}

TEST(Coherence, CostsNothingForOwnOrEvictedLinesOrWhereUnknown) {
  const model::Machine m = two_units(true), silent = two_units(false);
  Entry all = left(true), gone = left(true);
  all.touched = all.wrote = {0, 0, 2};
  gone.unit_bytes = 1e9;
  for (const Entry& e : {all, gone}) {
    Entry read = e;
    read.written = false;
    EXPECT_DOUBLE_EQ(seconds(m, e), seconds(m, read));
  }
  EXPECT_LT(seconds(silent, left(true)), seconds(m, left(true)));
}

// A unit writes half of the output. The other unit's cache held half of that.
TEST(Coherence, AStoreTakesLinesThatAnotherUnitWroteOrRead) {
  const model::Machine m = two_units(true), silent = two_units(false);
  const auto extra = [&](const Entry& e) { return seconds(m, e) - seconds(silent, e); };
  const simulator::UnitPartition mine = columns(kOutAt), other = halves(kOutAt, kOut),
                                 all{kOutAt, 0, 2};
  EXPECT_DOUBLE_EQ(extra(out(mine, mine, true)), 0);
  EXPECT_DOUBLE_EQ(extra(out(mine, mine, false)), 0);
  EXPECT_NEAR(extra(out(other, other, true)), kOut / 4 / kDirtyRemoteRfo,
              0.1 * kOut / 4 / kDirtyRemoteRfo);
  EXPECT_NEAR(extra(out(other, mine, false)), kOut / 4 / kUpgrade, 0.1 * kOut / 4 / kUpgrade);
  EXPECT_NEAR(extra(out(mine, other, false)), kOut / 4 / kUpgrade, 0.1 * kOut / 4 / kUpgrade);
  EXPECT_NEAR(extra(out(all, mine, false)), kOut / 2 / kUpgrade, 0.1 * kOut / 2 / kUpgrade);
}

TEST(Coherence, StorageIsMatchedByItsBytesNotByItsTensor) {
  const model::Machine m = two_units(true), silent = two_units(false);
  Entry e = out({kOutAt - kOut, 2 * kOut, 2}, {kOutAt - kOut, 2 * kOut, 2},
                true);  // its second half is here, and the other unit's
  e.range.begin = kOutAt - kOut;
  EXPECT_NEAR(seconds(m, e) - seconds(silent, e), kOut / 4 / kDirtyRemoteRfo,
              0.1 * kOut / 4 / kDirtyRemoteRfo);
}

// What the other unit touches meanwhile evicts its lines, before this one reads them.
TEST(Coherence, OtherUnitsEvictTheirOwnLinesMeanwhile) {
  hwdesc::Target t = small_cpu(8, 2);
  for (hwdesc::MemoryLevel& l : t.profile.memory)
    if (l.name == "l2")
      l.bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{kDirtyRemoteRead, ""};
  const double extra = seconds(machine(t), left(true)) - seconds(machine(t), left(false)),
               all = kLeft / 2 / kDirtyRemoteRead;
  EXPECT_NEAR(extra, 0.25 * all, 0.01 * all) << "but for the rows that it reads before any columns";
  const auto behind = [&](bool written) {
    Entry e = left(written);
    e.others_between = 32 << 10;
    return e;
  };
  EXPECT_DOUBLE_EQ(seconds(machine(t), behind(true)), seconds(machine(t), behind(false)))
      << "32 KiB of columns, caches of 4 KiB";
}

TEST(Coherence, AMemoryWithNothingBehindItHasNoDirtyRemoteReads) {
  hwdesc::Target t = small_cpu(8, 2);
  std::erase_if(t.profile.memory, [](const hwdesc::MemoryLevel& l) { return l.name != "l2"; });
  ASSERT_EQ(t.profile.memory.size(), 1U);
  const double silent = seconds(machine(t), left(true));
  t.profile.memory[0].bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{kDirtyRemoteRead, ""};
  EXPECT_DOUBLE_EQ(seconds(machine(t), left(true)), silent);
}

// Rows that two units split, or that belong to one unit each.
TEST(Coherence, FalseSharingAtTheEndsOfRunsCostsWhatWasMeasured) {
  constexpr double kEach = 2e-6;  // of runs of 1 KiB
  hwdesc::Target t = small_cpu(8, 2);
  const model::Machine silent = machine(t);
  for (hwdesc::MemoryLevel& l : t.profile.memory)
    if (l.name == "l2") l.false_sharing.value = hwdesc::Latency{kEach, ""};
  const model::Machine m = machine(t);
  const auto sharing = [](const model::Machine& of, const ir::Program& p) {
    for (const model::Term& term : simulator::estimate(p, of, {}, {}).terms)
      if (term.name == "false sharing") return term.seconds;
    return 0.0;
  };
  const ir::Program columns = product(8, 64, 128, 32), whole = product(8, 64, 128, 64),
                    far = product(4096, 4096, 16, 2048);
  const double met = sharing(m, columns);  // of eight runs of 128 of 1024 bytes
  EXPECT_GT(met, 0.25 * kEach) << "units reach the ends of some runs at the same time";
  EXPECT_LT(met, 0.75 * kEach) << "but not of all";
  EXPECT_NEAR(sharing(m, product(8, 128, 64, 64)), 2 * met, 1e-9) << "runs twice as long";
  EXPECT_NEAR(sharing(m, product(8, 64, 128, 48)), 8 * met * 192 / 1024 / 3, 1e-9)
      << "16 columns next to 48: they seldom share a line";
  EXPECT_LT(sharing(silent, columns), 0.1 * met) << "one line each";
  hwdesc::Target four = small_cpu(8, 4);
  for (hwdesc::MemoryLevel& l : four.profile.memory)
    if (l.name == "l2") l.false_sharing.value = hwdesc::Latency{kEach, ""};
  EXPECT_NEAR(sharing(machine(four), product(8, 160, 16, 32)), 8 * met * 256 / 1024 / 2, 1e-9)
      << "three units have half as much to do as the first";
  EXPECT_EQ(sharing(m, whole), 0) << "one group";
  EXPECT_EQ(sharing(m, far), 0) << "no cache holds it";
  const double rest = simulator::estimate(columns, silent, {}, {}).seconds,
               with = simulator::estimate(columns, m, {}, {}).seconds;
  EXPECT_GT(with, 1.1 * std::max(rest, met)) << "stores leave in order";
  EXPECT_DOUBLE_EQ(with, rest + met);

  // Runs of 96 bytes: every other one ends within a line, which moves to the other unit each time
  // that both write it.
  ir::Program torn = product(8, 48, 128, 48);
  torn.tiles[0].extent[1] = 24;
  torn.tiles[1].extent[1] = 8;
  const double line = m.levels[1].latency.value;
  const double part = met / kEach;  // of all ends
  EXPECT_NEAR(sharing(m, torn), 8 * (met * 96 / 1024 + part * line), 1e-12);
  torn.tiles[0].extent[2] = 32;
  torn.tiles[0].order = {1, 2};
  EXPECT_NEAR(sharing(m, torn), 8 * (met * 96 / 1024 + 4 * part * line), 1e-12)
      << "four parts of the reduction";
}

// Where each unit has a last cache of its own, it never hits lines in the others', though those
// hold all of them.
TEST(Coherence, ALastCachePerUnitHidesDataFromOtherUnits) {
  const auto far_of = [](const std::string& per, bool by_other) {
    hwdesc::Target t = small_cpu(8, 2);
    t.profile.memory[2].per = per;
    t.profile.memory[2].capacity.value = hwdesc::Bytes{1 << 22};
    const ir::Program p = product(8, 64, 128, 32);
    const std::vector<simulator::Range> where = simulator::separate_ranges(p);
    const model::Machine m = machine(t);
    simulator::CacheState state = simulator::after(p, m, {}, where);
    if (by_other)
      for (Entry& e : state.recent) e.touched.begin += e.touched.period / 2;
    for (const model::LevelUse& l : simulator::estimate(p, m, state, where).levels)
      if (l.boundary == "l3<-dram") return l.read_bytes + l.written_bytes;
    return -1.0;
  };
  EXPECT_EQ(far_of("unit", false), 0);
  EXPECT_EQ(far_of("device", true), 0);
  EXPECT_GT(far_of("unit", true), 0);
}

TEST(Coherence, AProgramLeavesItsOutputInTheCaches) {
  const ir::Program p = product(8, 64, 128, 32);
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  for (const Entry& e : simulator::after(p, two_units(true), {}, where).recent)
    EXPECT_EQ(e.written, e.range == where[2]);
}

// A new entry replaces only the part of an old one that it overlaps.
TEST(Coherence, ReusedStorageReplacesOverlappingEntries) {
  const ir::Program p = product(8, 64, 128, 32);
  std::vector<simulator::Range> where = simulator::separate_ranges(p);
  where[0] = where[1] = {};
  simulator::CacheState state;
  state.recent = {{{where[2].begin - 1000, where[2].end + 500}, 300, {}, {}, false}};
  int64_t rest = 0;
  for (const Entry& e : simulator::after(p, two_units(true), state, where).recent)
    rest += e.range == where[2] ? 0 : e.range.end - e.range.begin;
  EXPECT_EQ(rest, 1500);
}

}  // namespace
}  // namespace assay::test
