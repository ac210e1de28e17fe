#include "probe/inference/instances.h"

#include <gtest/gtest.h>

#include "tests/probe/synthetic.h"

namespace assay::probe::test {
namespace {

using namespace hwdesc;

constexpr double kMiB = 1 << 20, kHere = 200e-9, kBeyond = 600e-9;

Known gpu() {
  Known k;
  k.threads = true;
  k.units = 108;
  k.groups = 16 * 108;
  k.levels.plateaus = {
      {1024, 100e3, 30e-9}, {300e3, 19 * kMiB, kHere}, {24 * kMiB, 512 * kMiB, kBeyond}};
  k.levels.knees = {{128e3, 200e3, 160e3}, {19 * kMiB, 22 * kMiB, 20 * kMiB}};
  k.sharing = {{false, ""}, {true, ""}};
  return k;
}

// Up to `held` capacities are as fast as one unit alone.
Observations chases(double held, double beyond = kBeyond) {
  Observations o;
  for (double times = kHitsInTwo; times < 8; times *= 2) {
    const bool fits = times < held;
    o.points.push_back(block("instances", "chase",
                             {{"level", 1}, {"times", times}, {"groups", 54}, {"bytes", 1 << 20}},
                             fits ? kHere : beyond));
    if (!fits) break;
  }
  return o;
}

Profile chip(double units) {
  Profile p;
  TopologyLevel unit;
  unit.name = "unit";
  unit.count.value = Count{units};
  p.topology.push_back(unit);
  for (const char* per : {"unit", "device", "device"}) {
    MemoryLevel l;
    l.per = per;
    l.managed = p.memory.size() == 2 ? Managed::explicit_ : Managed::automatic;
    l.bandwidth.read.value = Bandwidth{5.4e12, ""};
    if (p.memory.size() == 1) {
      l.knee.from.value = Bytes{19 * kMiB};
      l.knee.to.value = Bytes{22 * kMiB};
    }
    p.memory.push_back(l);
  }
  return p;
}

TEST(Instances, the_total_capacity_gives_the_number_of_caches) {
  EXPECT_EQ(instances_of(chases(1), gpu(), 1), 1);
  EXPECT_EQ(instances_of(chases(2), gpu(), 1), 2);
  EXPECT_EQ(instances_of(chases(4), gpu(), 1), 4);
  EXPECT_FALSE(instances_of(chases(100), gpu(), 1))
      << "all of it hits: perhaps each unit has its own";
  EXPECT_FALSE(instances_of(chases(1, (kHere + kBeyond) / 2), gpu(), 1))
      << "half of it hits: random replacement";
  EXPECT_FALSE(instances_of({}, gpu(), 1));
}

TEST(Instances, units_are_divided_among_them) {
  Profile p = chip(108);
  divide_among_instances(chases(2), gpu(), p);
  ASSERT_EQ(p.topology.size(), 2u);
  EXPECT_EQ(p.topology[0].name, p.memory[1].per);
  EXPECT_EQ(p.topology[0].count.value->v, 2);
  EXPECT_EQ(p.topology[1].count.value->v, 54);
  EXPECT_DOUBLE_EQ(p.memory[1].bandwidth.read.value->v, 2.7e12);
  EXPECT_EQ(p.memory[0].per, "unit");
  EXPECT_EQ(p.memory[2].per, "device");
}

TEST(Instances, one_cache_and_units_that_do_not_divide_stay_as_they_are) {
  Profile one = chip(108), odd = chip(107);
  const Profile one_before = one, odd_before = odd;
  divide_among_instances(chases(1), gpu(), one);
  divide_among_instances(chases(2), gpu(), odd);
  EXPECT_EQ(one, one_before);
  EXPECT_EQ(odd, odd_before);
}

// Equally many groups on each part of a unit: a divisor of the number that saturates it.
TEST(Instances, groups_that_load_the_parts_of_units_evenly) {
  const Known k = gpu();
  EXPECT_EQ(k.level(6 * 108), 4 * 108);
  EXPECT_EQ(k.level(8 * 108), 8 * 108);
  EXPECT_EQ(k.level(40 * 108), 40 * 108);
  EXPECT_EQ(k.level(50), 50);
}

}  // namespace
}  // namespace assay::probe::test
