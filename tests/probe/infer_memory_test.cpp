// Memory levels of a synthetic machine: sizes, rates, private or shared, and what co-tenants hide
// of them.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "probe/inference/footprint.h"
#include "probe/inference/infer.h"
#include "probe/inference/known.h"
#include "tests/probe/synthetic_machine.h"

namespace assay::probe {
namespace {

using test::block;
using test::inferred;
using test::kClock;
using test::kKiB;
using test::kMiB;
using test::synthetic_machine;

TEST(Infer, GivesTheMemoryBack) {
  const hwdesc::Profile p = inferred(synthetic_machine());
  ASSERT_EQ(p.memory.size(), 4u);
  EXPECT_EQ(p.memory[0].name, "l1");
  EXPECT_EQ(p.memory[3].name, "dram");
  EXPECT_EQ(p.memory[1].per, "unit");
  EXPECT_EQ(p.memory[2].per, "device");
  EXPECT_NEAR(p.memory[0].latency.value->v, 5, 0.1);
  EXPECT_NEAR(p.memory[3].latency.value->v, 100e-9, 3e-9);
  EXPECT_NEAR(std::log2(p.memory[1].capacity.value->v / kMiB), 0, 0.25);
  EXPECT_EQ(p.memory[0].line.value->v, 64);
  EXPECT_NEAR(p.memory[3].bandwidth.read.value->v, 40e9, 2e9);
  EXPECT_TRUE(p.memory[3].bandwidth.sharpness.known());
}

// Footprints that may fit into one cache prove nothing; larger ones do.
TEST(Infer, ACacheIsPrivateOnlyIfAllUnitsTogetherNeedMoreThanOneHolds) {
  const auto with = [](double bytes) {
    Observations o = synthetic_machine();
    o.facts.insert(o.facts.end(),
                   {{"class", "cpu"}, {"declared.l3", "16384K, shared by CPUs 0-3, line 64"}});
    std::erase_if(o.points, [](const Observation& p) {
      return p.experiment == "sharing" && p.at.at("level") == 2;
    });
    for (const double n : {1, 4})
      o.points.push_back(
          block("sharing", "chase", {{"level", 2}, {"units", n}, {"bytes", bytes}}, 1e-8));
    return inferred(o).memory.at(2).per;
  };
  EXPECT_EQ(with(3 * kMiB), "device") << "as declared";
  EXPECT_EQ(with(11 * kMiB), "unit") << "44 MiB in a cache of 16";
}

// All units reach at least what one unit reaches; more is certain only where they share nothing.
TEST(Infer, ABandwidthIsAsWideAsItsSharingIsUnknown) {
  const auto low = [](const char* without) {
    Observations o = synthetic_machine();
    o.points.push_back(block("bandwidth", "read",
                             {{"level", 1}, {"units", 1}, {"lanes", 16}, {"bytes", 2e5}},
                             1 / (64 * kClock)));
    o.points.back().clock_hz = kClock;
    std::erase_if(o.points, [&](const Observation& p) { return p.experiment == without; });
    for (Observation& p : o.points)
      if (p.experiment == "sharing") p.at["bytes"] = 3 * kMiB;
    const auto& read = inferred(o).memory.at(1).bandwidth.read;
    EXPECT_NEAR(read.value->v, 64, 1);
    return read.low->v;
  };
  EXPECT_GT(low(""), 55);
  EXPECT_LT(low("sharing"), 16.1);
}

// A level is as fast as its fastest footprint.
TEST(Infer, OfSeveralFootprintsTheFastestCounts) {
  Observations o = synthetic_machine();
  const auto add = [&](double bytes, double per_tick) {
    o.points.push_back(block("bandwidth", "read",
                             {{"level", 1}, {"units", 1}, {"lanes", 16}, {"bytes", bytes}},
                             1 / (per_tick * kClock)));
    o.points.back().clock_hz = kClock;
  };
  add(176 * kKiB, 32);
  add(600 * kKiB, 54);
  const auto read = inferred(o).memory.at(1).bandwidth.read;
  EXPECT_NEAR(read.value->v, 54, 0.5);
  EXPECT_NE(read.method.find("600 KiB"), std::string::npos) << read.method;
}

// The bandwidth of a shared cache depends on physical pages: it differs between footprints and
// between programs.
TEST(Infer, OfSeveralFootprintsInASharedCacheTheMedianCounts) {
  Observations o = synthetic_machine();
  const auto add = [&](double bytes, double rate) {
    o.points.push_back(block("bandwidth", "copy",
                             {{"level", 2}, {"units", 4}, {"lanes", 16}, {"bytes", bytes}},
                             1 / rate));
  };
  add(3 * kMiB, 160e9);
  add(3.2 * kMiB, 250e9);
  const auto copy = inferred(o).memory.at(2).bandwidth.copy;
  EXPECT_NEAR(copy.value->v, 200e9, 1e9);
  EXPECT_LT(copy.low->v, 161e9);
  EXPECT_GT(copy.high->v, 249e9);
  EXPECT_NE(copy.method.find("3072 to 3277 KiB each"), std::string::npos) << copy.method;
}

// A slowdown seen only while others used the machine decides nothing: the declared sharing counts.
TEST(Infer, CoTenantsDoNotMakeACacheShared) {
  Observations o = synthetic_machine();
  o.facts.emplace_back("class", "cpu");
  o.facts.emplace_back("declared.l3", "16384K, shared by CPUs 0, line 64 B");
  for (Observation& p : o.points)
    if (p.experiment == "sharing") p.foreign = 0.5;
  const hwdesc::Profile p = inferred(o);
  EXPECT_EQ(p.memory[1].per, "unit");
  EXPECT_EQ(p.memory[2].per, "unit");
  EXPECT_NE(p.memory[2].capacity.note.find("as the system declares"), std::string::npos);
}

// Nor does a co-tenant on the other thread of each core, which the system does not know: a unit
// alone is mostly as slow.
TEST(Infer, UnitsThatAreMostlyAsSlowAloneShareNothing) {
  const auto per_of = [](double alone) {
    Observations o = synthetic_machine();
    o.facts.emplace_back("class", "cpu");
    o.facts.emplace_back("declared.l3", "16384K, shared by CPUs 0, line 64 B");
    for (Observation& p : o.points)
      if (p.experiment == "sharing" && p.at.at("level") == 2)
        p.samples = p.at.at("units") == 1 ? std::vector<double>{1e-8, alone, alone, alone, alone}
                                          : std::vector<double>(5, 1.7e-8);
    return inferred(o).memory.at(2).per;
  };
  EXPECT_EQ(per_of(1.6e-8), "unit") << "as declared";
  EXPECT_EQ(per_of(1.1e-8), "device") << "measured, against what is declared";
}

// Nor do units that a host mostly runs on the two threads of one core: multiply-adds are as slow
// together, too.
TEST(Infer, UnitsThatAreMostlyOnOneCoreShareNothing) {
  const auto per_of = [](double beside) {
    Observations o = synthetic_machine();
    o.facts.emplace_back("class", "cpu");
    o.facts.emplace_back("declared.l3", "16384K, shared by CPUs 0, line 64 B");
    o.points.push_back(block("sharing", "control", {{"units", 1}}, 1e-9));
    o.points.push_back(block("sharing", "control", {{"units", 4}}, beside));
    o.points.back().samples.front() = 1e-9;
    return inferred(o).memory.at(2).per;
  };
  EXPECT_EQ(per_of(2e-9), "unit") << "as declared";
  EXPECT_EQ(per_of(1e-9), "device") << "measured, against what is declared";
}

// Co-tenants make a knee smaller than the cache: both footprints fit in the declared size, and
// prove nothing.
TEST(Infer, UnitsWhoseFootprintsFitInTheDeclaredCacheTogetherMayShareIt) {
  const auto l3_of = [](const std::string& declared) {
    Observations o = synthetic_machine();
    o.facts.emplace_back("class", "cpu");
    o.facts.emplace_back("declared.l3", declared + ", shared by CPUs 0-3, line 64 B");
    for (Observation& p : o.points) {
      if (p.experiment != "sharing" || p.at.at("level") != 2) continue;
      p.at["bytes"] = 64 << 20;
      p.samples = std::vector<double>(5, 1e-8);
    }
    return inferred(o).memory.at(2);
  };
  EXPECT_EQ(l3_of("1048576K").per, "device") << "4 of 64 MiB in 1 GiB";
  EXPECT_NE(l3_of("1048576K").capacity.note.find("may fit together: as the system declares"),
            std::string::npos);
  EXPECT_EQ(l3_of("131072K").per, "unit") << "measured, against what is declared";
}

// Two dies declared as one: the lines that another unit has read are in its cache and not in this
// one's.
TEST(Infer, ACacheThatAnotherUnitMissesIsNotShared) {
  const auto l3_of = [](double other, double foreign = 0, double waiting = 0) {
    Observations o = synthetic_machine();
    o.facts.emplace_back("class", "cpu");
    o.facts.emplace_back("declared.l3", "16384K, shared by CPUs 0-3, line 64 B");
    std::erase_if(o.points, [](const Observation& p) {
      return p.experiment == "sharing" && p.at.at("level") == 2;
    });
    o.points.push_back(block("shared_reads", "own", {{"level", 2}}, 1e-11));
    o.points.push_back(block("shared_reads", "other", {{"level", 2}}, other));
    o.points.back().foreign = foreign;
    o.points.back().disturbed.assign(5, waiting);
    return inferred(o).memory.at(2);
  };
  EXPECT_EQ(l3_of(1.2e-11).per, "device") << "as declared";
  EXPECT_EQ(l3_of(4e-11).per, "unit");
  EXPECT_NE(l3_of(4e-11).capacity.note.find(
                "takes 4.0 times as long as its own, whatever the system declares"),
            std::string::npos);
  EXPECT_EQ(l3_of(4e-11, 0.5).per, "device") << "others used the machine";
  EXPECT_EQ(l3_of(4e-11, 0, 0.3).per, "device") << "it was kept waiting";
}

// While units are on two dies, experiments use the same sharing as on one die: the host changes it
// back.
TEST(Infer, ACacheDeclaredAsSharedIsPrivateInNoExperiment) {
  const auto known = [](const std::string& cpus) {
    Observations o = synthetic_machine();
    o.facts.emplace_back("class", "cpu");
    o.facts.emplace_back("declared.l3", "16384K, shared by CPUs " + cpus + ", line 64 B");
    std::erase_if(o.points, [](const Observation& p) {
      return p.experiment == "sharing" && p.at.at("level") == 2;
    });
    o.points.push_back(block("shared_reads", "own", {{"level", 2}}, 1e-11));
    o.points.push_back(block("shared_reads", "other", {{"level", 2}}, 4e-11));
    return known_from(o);
  };
  const Known cross_die = known("0-3"), alone = known("0");
  ASSERT_EQ(cross_die.sharing.size(), 3u);
  EXPECT_FALSE(cross_die.sharing[2].shared);
  EXPECT_FALSE(cross_die.sharing[2].always_private());
  EXPECT_TRUE(cross_die.sharing[1].always_private());
  EXPECT_TRUE(alone.sharing[2].always_private());
  const auto past = footprint_past_private(cross_die, 1);
  ASSERT_TRUE(past.has_value());
  EXPECT_NEAR(static_cast<double>(*past), 2.5 * cross_die.levels.knees[1].capacity, 1e5)
      << "past the second cache, not the third";
}

// Served by the third cache while it was two.
TEST(Infer, DirtyRemoteReadsAreOfPrivateCaches) {
  const auto l3_of = [](double other) {
    Observations o = synthetic_machine();
    o.facts.emplace_back("class", "cpu");
    o.facts.emplace_back("declared.l3", "16384K, shared by CPUs 0-3, line 64 B");
    std::erase_if(o.points, [](const Observation& p) {
      return p.experiment == "sharing" && p.at.at("level") == 2;
    });
    const auto add = [&](const char* experiment, const char* what, double seconds) {
      o.points.push_back(block(experiment, what, {{"level", 2}}, seconds));
    };
    add("shared_reads", "own", 1e-11), add("shared_reads", "other", other);
    add("coherence", "dirty_remote_read own", 1e-11), add("coherence", "dirty_remote_read", 2e-11);
    add("false_sharing", "own", 1e-9), add("false_sharing", "between", 9e-9);
    return inferred(o).memory.at(2);
  };
  EXPECT_TRUE(l3_of(4e-11).bandwidth.dirty_remote_read.known());
  EXPECT_TRUE(l3_of(4e-11).false_sharing.known());
  EXPECT_FALSE(l3_of(1.2e-11).bandwidth.dirty_remote_read.known()) << "one cache of all";
  EXPECT_FALSE(l3_of(1.2e-11).false_sharing.known());
}

// Six waves on a unit of four parts leave two parts with twice as many as the others: four are
// faster.
TEST(Infer, OfCachesTheFastestNumberOfGroupsCounts) {
  Observations o = synthetic_machine();
  o.facts.insert(o.facts.end(), {{"lanes", "threads"}, {"widths", "8"}});
  for (const auto& [groups, rate] :
       {std::pair{24.0, 75e9}, std::pair{16.0, 100e9}, std::pair{4.0, 30e9}})
    o.points.push_back(
        block("bandwidth", "copy", {{"level", 2}, {"units", groups}, {"bytes", 4096}}, 1 / rate));
  EXPECT_NEAR(inferred(o).memory.at(2).bandwidth.copy.value->v, 100e9, 1e9);
}

TEST(Infer, OfFarMemoryNearlyAllGroupsCount) {
  Observations o = synthetic_machine();
  o.facts.insert(o.facts.end(), {{"lanes", "threads"}, {"widths", "8"}});
  const double far = static_cast<double>(inferred(o).memory.size() - 1);
  for (const auto& [groups, rate] : {std::pair{400.0, 90e9}, std::pair{390.0, 100e9},
                                     std::pair{380.0, 110e9}, std::pair{200.0, 300e9}}) {
    o.points.push_back(
        block("far", "copy", {{"level", far}, {"units", groups}, {"bytes", 4 << 20}}, 1 / rate));
    o.points.back().foreign = kNobody;
  }
  EXPECT_NEAR(inferred(o).memory.back().bandwidth.copy.value->v, 100e9, 1e9);
}

// A sample that writes 64 MiB where the cache before holds 16 MiB is no rate of far memory.
TEST(Infer, StoresThatACacheAbsorbsAreNoRateOfFarMemory) {
  const auto bandwidth = [](double bytes, bool threads) {
    Observations o = synthetic_machine();
    if (threads) o.facts.insert(o.facts.end(), {{"lanes", "threads"}, {"widths", "8"}});
    const double far = static_cast<double>(inferred(o).memory.size() - 1);
    for (const char* what : {"read", "write"})
      o.points.push_back(
          block("far", what, {{"level", far}, {"units", 400}, {"bytes", bytes}}, 1e-11));
    return inferred(o).memory.back().bandwidth;
  };
  EXPECT_FALSE(bandwidth(256 << 10, true).write.known());
  EXPECT_NE(bandwidth(256 << 10, true)
                .write.note.find(
                    "a sample writes 64 MiB at most, of which the cache before takes up to 1"),
            std::string::npos)
      << bandwidth(256 << 10, true).write.note;
  EXPECT_TRUE(bandwidth(256 << 10, true).read.known());
  EXPECT_TRUE(bandwidth(4 << 20, true).write.known());
  EXPECT_TRUE(bandwidth(256 << 10, false).write.known());
}

// Of two chases through a shared cache the later one may have been disturbed.
TEST(Infer, TheLatencyOfASharedCacheIncludesTheCurve) {
  const auto latency = [](double level, double again, bool simulated = false) {
    Observations o = synthetic_machine();
    if (simulated) o.facts.emplace_back("simulated", "yes");
    o.points.push_back(block("latency", "chase", {{"level", level}, {"bytes", 4 << 20}}, again));
    return inferred(o).memory.at(static_cast<size_t>(level)).latency;
  };
  const auto usual = latency(2, 20e-9), held_up = latency(2, 80e-9);
  EXPECT_NEAR(usual.value->v, 60, 1);
  EXPECT_EQ(usual.note, "");
  EXPECT_NEAR(held_up.value->v, 240, 1);
  EXPECT_NEAR(held_up.low->v, 60, 2);
  EXPECT_NE(held_up.note.find("the latency curve shows 60"), std::string::npos) << held_up.note;
  EXPECT_GT(latency(2, 80e-9, true).low->v, 200) << "no co-tenants";
  EXPECT_GT(latency(1, 80e-9).low->v, 200) << "a unit's own";
}

// Where co-tenants evict lines of the first cache, the second loads of a pair are slow as well.
TEST(Infer, TheDeclaredLineCountsWhereNoDistanceDecides) {
  const auto line = [](const std::vector<double>& times, const char* said) {
    Observations o;
    o.facts = {{"class", "cpu"}, {"declared.l1", said}};
    const double distances[] = {16, 32, 48, 64, 96, 128};
    for (size_t i = 0; i < times.size(); ++i)
      o.points.push_back(block("line", "pair", {{"distance", distances[i]}}, times[i] * 1e-9));
    return line_by_pairs(o);
  };
  const std::vector<double> sharp = {3, 3, 3.1, 4.2, 4.2, 4.3},
                            smeared = {4.8, 5.0, 5.2, 5.8, 6.1, 7.2};
  EXPECT_EQ(line(sharp, "32K, shared by CPUs 0, line 64 B").bytes, 64);
  EXPECT_FALSE(line(sharp, "32K, shared by CPUs 0, line 64 B").declared);
  EXPECT_EQ(line(sharp, "32K, shared by CPUs 0, line 128 B").bytes, 64)
      << "what is measured clearly stands";
  EXPECT_EQ(line(smeared, "32K, shared by CPUs 0, line 64 B").bytes, 64);
  EXPECT_TRUE(line(smeared, "32K, shared by CPUs 0, line 64 B").declared);
  EXPECT_NE(line(smeared, "32K, shared by CPUs 0").bytes, 64) << "unknown";
}

}  // namespace
}  // namespace assay::probe
