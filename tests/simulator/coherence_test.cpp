// What it costs that lines lie in another unit's own cache.
#include <gtest/gtest.h>

#include "tests/model/programs.h"

namespace assay::test {
namespace {

constexpr double kDirtyRemoteRead = 1e9, kDirtyRemoteRfo = 5e8, kUpgrade = 1e8;  // bytes/s

// Their caches hold what the products here touch.
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

// Columns are dealt out, and every unit reads all of the left operand.
double seconds(const model::Machine& m, const Entry& held) {
  const ir::Program p = product(8, 64, 128, 32);
  simulator::CacheState state;
  state.recent = {held};
  const std::vector<simulator::Range> where = {
      {0, kLeft}, {1 << 16, (1 << 16) + 128 * 64 * 4}, {kOutAt, kOutAt + kOut}};
  return simulator::estimate(p, m, state, where).seconds;
}

// The first and the second half are different units'.
simulator::Dealt halves(int64_t begin, int64_t bytes) { return {begin, bytes, 2}; }
// Every row of 64 columns is shared out, as the program does.
simulator::Dealt columns(int64_t begin) { return {begin, 64 * 4, 2}; }

Entry left(bool written) {
  return {{0, kLeft}, kLeft / 2, halves(0, kLeft), halves(0, kLeft), written};
}
Entry out(const simulator::Dealt& touched, const simulator::Dealt& wrote, bool written) {
  return {{kOutAt, kOutAt + kOut}, kOut / 2, touched, wrote, written};
}

TEST(Handed, HalfOfWhatAllReadWasWrittenByTheOtherUnit) {
  const model::Machine m = two_units(true);
  ASSERT_DOUBLE_EQ(m.dirty_remote_read.value, kDirtyRemoteRead);
  EXPECT_NEAR(seconds(m, left(true)) - seconds(m, left(false)), kLeft / 2 / kDirtyRemoteRead,
              0.1 * kLeft / 2 / kDirtyRemoteRead);
}

TEST(Handed, NothingWhereEachWroteAllOrItHasLeftTheCachesOrIsNotKnown) {
  const model::Machine m = two_units(true), silent = two_units(false);
  Entry all = left(true), gone = left(true);
  all.touched = all.wrote = {0, 0, 2};
  gone.mine = 1e9;
  for (const Entry& e : {all, gone}) {
    Entry read = e;
    read.written = false;
    EXPECT_DOUBLE_EQ(seconds(m, e), seconds(m, read));
  }
  EXPECT_LT(seconds(silent, left(true)), seconds(m, left(true)));
}

// A unit writes half of the output, and half of that was the other unit's.
TEST(Handed, WhatAnotherWroteOrReadIsTakenFromItBeforeItIsWritten) {
  const model::Machine m = two_units(true), silent = two_units(false);
  const auto extra = [&](const Entry& e) { return seconds(m, e) - seconds(silent, e); };
  const simulator::Dealt mine = columns(kOutAt), other = halves(kOutAt, kOut), all{kOutAt, 0, 2};
  EXPECT_DOUBLE_EQ(extra(out(mine, mine, true)), 0);
  EXPECT_DOUBLE_EQ(extra(out(mine, mine, false)), 0);
  EXPECT_NEAR(extra(out(other, other, true)), kOut / 4 / kDirtyRemoteRfo,
              0.1 * kOut / 4 / kDirtyRemoteRfo);
  EXPECT_NEAR(extra(out(other, mine, false)), kOut / 4 / kUpgrade, 0.1 * kOut / 4 / kUpgrade);
  EXPECT_NEAR(extra(out(mine, other, false)), kOut / 4 / kUpgrade, 0.1 * kOut / 4 / kUpgrade);
  EXPECT_NEAR(extra(out(all, mine, false)), kOut / 2 / kUpgrade, 0.1 * kOut / 2 / kUpgrade);
}

TEST(Handed, StorageIsKnownByItsBytesNotByItsTensor) {
  const model::Machine m = two_units(true), silent = two_units(false);
  Entry e = out({kOutAt - kOut, 2 * kOut, 2}, {kOutAt - kOut, 2 * kOut, 2},
                true);  // its second half lies here: the other unit's
  e.range.begin = kOutAt - kOut;
  EXPECT_NEAR(seconds(m, e) - seconds(silent, e), kOut / 4 / kDirtyRemoteRfo,
              0.1 * kOut / 4 / kDirtyRemoteRfo);
}

// What the other unit touches beside drives out what it has left, before this one comes to it.
TEST(Handed, OtherCachesLoseItWhileTheyWorkOnAsMuchElse) {
  hwdesc::Target t = small_cpu(8, 2);
  for (hwdesc::MemoryLevel& l : t.profile.memory)
    if (l.name == "l2")
      l.bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{kDirtyRemoteRead, ""};
  const double extra = seconds(machine(t), left(true)) - seconds(machine(t), left(false)),
               all = kLeft / 2 / kDirtyRemoteRead;
  EXPECT_NEAR(extra, 0.25 * all, 0.01 * all)
      << "but for the rows that it comes to before any columns";
  const auto behind = [&](bool written) {
    Entry e = left(written);
    e.beside = 32 << 10;
    return e;
  };
  EXPECT_DOUBLE_EQ(seconds(machine(t), behind(true)), seconds(machine(t), behind(false)))
      << "32 KiB of columns, caches of 4";
}

TEST(Handed, AMemoryWithNothingBehindItHandsNothingOver) {
  hwdesc::Target t = small_cpu(8, 2);
  std::erase_if(t.profile.memory, [](const hwdesc::MemoryLevel& l) { return l.name != "l2"; });
  ASSERT_EQ(t.profile.memory.size(), 1U);
  const double silent = seconds(machine(t), left(true));
  t.profile.memory[0].bandwidth.dirty_remote_read.value = hwdesc::Bandwidth{kDirtyRemoteRead, ""};
  EXPECT_DOUBLE_EQ(seconds(machine(t), left(true)), silent);
}

// Rows whose halves are two units', or which are one unit's each.
TEST(Handed, EndsInFrontOfAnotherUnitsRunCostWhatWasMeasured) {
  constexpr double kEach = 2e-6;
  constexpr double kMet = model::kInStep * kEach;  // of runs of 1 KiB
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
  EXPECT_NEAR(sharing(m, columns), 8 * kMet / 8, 1e-9) << "runs of 128 of 1024 bytes";
  EXPECT_NEAR(sharing(m, product(8, 64, 128, 48)), 8 * kMet * 192 / 1024 / 3, 1e-9)
      << "16 columns beside 48: they seldom meet";
  EXPECT_LT(sharing(silent, columns), 0.1 * kMet) << "one line each";
  hwdesc::Target four = small_cpu(8, 4);
  for (hwdesc::MemoryLevel& l : four.profile.memory)
    if (l.name == "l2") l.false_sharing.value = hwdesc::Latency{kEach, ""};
  EXPECT_NEAR(sharing(machine(four), product(8, 160, 16, 32)), 8 * kMet * 256 / 1024 / 2, 1e-9)
      << "three units have half as much to do as the first";
  EXPECT_EQ(sharing(m, whole), 0) << "one group";
  EXPECT_EQ(sharing(m, far), 0) << "no cache holds it";
  const double rest = simulator::estimate(columns, silent, {}, {}).seconds,
               with = simulator::estimate(columns, m, {}, {}).seconds;
  EXPECT_GT(with, 1.1 * std::max(rest, kMet)) << "stores leave in order";
  EXPECT_LT(with, 0.95 * (rest + kMet)) << "a unit goes on as far as it can keep them";

  // Runs of 96 bytes: every other one ends in the middle of a line, which goes over each time that
  // both units take it up.
  ir::Program torn = product(8, 48, 128, 48);
  torn.tiles[0].extent[1] = 24;
  torn.tiles[1].extent[1] = 8;
  const double line = m.levels[1].latency.value;
  EXPECT_NEAR(sharing(m, torn), 8 * (kMet * 96 / 1024 + model::kInStep * line), 1e-12);
  torn.tiles[0].extent[2] = 32;
  torn.tiles[0].order = {1, 2};
  EXPECT_NEAR(sharing(m, torn), 8 * (kMet * 96 / 1024 + 4 * model::kInStep * line), 1e-12)
      << "four parts of the reduction";
}

// Units that each have a last cache of their own find none of what the others left in theirs,
// though it holds all of it.
TEST(Handed, ALastCacheOfEachUnitsOwnKeepsDataFromTheOthers) {
  const auto far_of = [](const std::string& per, bool by_other) {
    hwdesc::Target t = small_cpu(8, 2);
    t.profile.memory[2].per = per;
    t.profile.memory[2].capacity.value = hwdesc::Bytes{1 << 22};
    const ir::Program p = product(8, 64, 128, 32);
    const std::vector<simulator::Range> where = simulator::ranges_apart(p);
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

TEST(Handed, AProgramLeavesWhatItWroteInTheCaches) {
  const ir::Program p = product(8, 64, 128, 32);
  const std::vector<simulator::Range> where = simulator::ranges_apart(p);
  for (const Entry& e : simulator::after(p, two_units(true), {}, where).recent)
    EXPECT_EQ(e.written, e.range == where[2]);
}

// What lies on a part of other storage takes that part only.
TEST(Handed, StorageThatIsUsedAgainIsCut) {
  const ir::Program p = product(8, 64, 128, 32);
  std::vector<simulator::Range> where = simulator::ranges_apart(p);
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
