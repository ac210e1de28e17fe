// The library's rates and clocks give what the makers publish: f32 and matrix instructions in
// operations a second, memory not above its nominal bandwidth.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "hwdesc/library.h"
#include "hwdesc/scales.h"

namespace assay {
namespace {

using hwdesc::Profile;

Profile library(const std::string& name) {
  auto p = hwdesc::load_from_library(name);
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return p.ok() ? std::move(*p) : Profile{};
}

double instances(const Profile& p, const std::string& per) {
  const auto n = hwdesc::instances_of(p, per);
  EXPECT_TRUE(n.has_value()) << p.name << ": " << per;
  return n.value_or(1);
}

// 1e12 operations a second, two for each multiply-add, at `mhz`.
double trillions(const Profile& p, const std::string& per, double rate, double mhz) {
  return rate * instances(p, per) * mhz * 1e6 * 2 / 1e12;
}

double of_f32(const Profile& p, double mhz) {
  const auto fma = std::find_if(p.compute.begin(), p.compute.end(), [](const auto& c) {
    return c.op == "fma" && c.dtype == "f32" && c.mode.empty();
  });
  const auto pipe = std::find_if(p.pipes.begin(), p.pipes.end(),
                                 [&](const auto& x) { return x.name == fma->pipe; });
  return trillions(p, pipe->per, pipe->rate.value->v, mhz);
}

double of_instruction(const Profile& p, const std::string& use, double mhz) {
  for (const hwdesc::Instruction& i : p.instructions)
    if (i.use == "isa/" + use) return trillions(p, i.per, i.rate.value->v, mhz);
  ADD_FAILURE() << p.name << " has no " << use;
  return 0;
}

struct Published {
  const char* profile;
  double mhz;   // the clock that the maker's figures are for
  double f32;   // TFLOPS
  double gb_s;  // nominal, of memory
};

TEST(Datasheet, F32AndMemory) {
  for (const Published& d : {Published{"nvidia/t4", 1590, 8.1, 320},
                             {"nvidia/rtx-2080-ti", 1545, 13.4, 616},
                             {"nvidia/p100-pcie-16gb", 1303, 9.3, 732},
                             {"nvidia/p4", 1074, 5.5, 192},
                             {"nvidia/v100-pcie-32gb", 1380, 14.1, 900},
                             {"nvidia/v100-sxm2-16gb", 1530, 15.7, 900},
                             {"nvidia/a100-pcie-40gb", 1410, 19.5, 1555},
                             {"nvidia/a100-sxm4-80gb", 1410, 19.5, 2039},
                             {"nvidia/l4", 2040, 30.3, 300},
                             {"nvidia/l40s", 2520, 91.6, 864},
                             {"nvidia/h100-sxm5-80gb", 1980, 66.9, 3352},
                             {"nvidia/b200", 1979, 75, 8000},
                             {"amd/mi100", 1502, 23.1, 1229},
                             {"amd/mi300x", 2100, 163.4, 5325},
                             {"qualcomm/adreno-740", 680, 2.09, 67.2}}) {
    const Profile p = library(d.profile);
    EXPECT_NEAR(of_f32(p, d.mhz), d.f32, 0.01 * d.f32) << d.profile;
    EXPECT_NEAR(p.clocks[0].max.value->v, d.mhz * 1e6, 1e6) << d.profile;
    const auto memory = std::find_if(p.memory.begin(), p.memory.end(), [](const auto& m) {
      return m.managed == hwdesc::Managed::explicit_ && m.per == "device";
    });
    ASSERT_NE(memory, p.memory.end()) << d.profile;
    EXPECT_LE(memory->bandwidth.read.value->v, d.gb_s * 1e9) << d.profile;
    EXPECT_GE(memory->bandwidth.read.value->v, 0.65 * d.gb_s * 1e9) << d.profile;
  }
}

TEST(Datasheet, MatrixInstructions) {
  struct Row {
    const char *profile, *use;
    double mhz, published;
  };
  for (const Row& r : {Row{"nvidia/t4", "sm75.mma.m16n8k8.f16.f32", 1590, 65},
                       {"nvidia/t4", "sm75.mma.m8n8k16.i8.i32", 1590, 130},
                       {"nvidia/rtx-2080-ti", "sm75.mma.m16n8k8.f16.f16", 1545, 107.6},
                       {"nvidia/rtx-2080-ti", "sm75.mma.m16n8k8.f16.f32", 1545, 53.8},
                       {"nvidia/a100-sxm4-40gb", "sm80.mma.m16n8k16.bf16.f32", 1410, 312},
                       {"nvidia/a100-sxm4-40gb", "sm80.mma.m16n8k8.tf32.f32", 1410, 156},
                       {"nvidia/a100-sxm4-40gb", "sm80.mma.m16n8k32.i8.i32", 1410, 624},
                       {"nvidia/a100-sxm4-40gb", "sm80.mma.m8n8k4.f64.f64", 1410, 19.5},
                       {"nvidia/l4", "sm80.mma.m16n8k16.f16.f32", 2040, 121},
                       {"nvidia/l4", "sm80.mma.m16n8k32.i8.i32", 2040, 242},
                       {"nvidia/l40s", "sm80.mma.m16n8k8.tf32.f32", 2520, 183},
                       {"nvidia/h100-sxm5-80gb", "sm90.wgmma.bf16.f32", 1830, 989.4},
                       {"nvidia/h100-sxm5-80gb", "sm90.wgmma.i8.i32", 1830, 1979},
                       {"nvidia/b200", "sm100.tcgen05.f16.f32", 1855, 2250},
                       {"nvidia/b200", "sm100.tcgen05.i8.i32", 1855, 4500},
                       {"amd/mi100", "gfx908.mfma.f32.32x32x8.f16", 1502, 184.6},
                       {"amd/mi100", "gfx908.mfma.f32.32x32x4.bf16", 1502, 92.3},
                       {"amd/mi210", "gfx90a.mfma.f32.32x32x8.bf16", 1700, 181},
                       {"amd/mi210", "gfx90a.mfma.f64.16x16x4.f64", 1700, 45.3},
                       {"amd/mi300x", "gfx942.mfma.f32.32x32x8.bf16", 2100, 1307.4},
                       {"amd/mi300x", "gfx942.mfma.f32.32x32x4.xf32", 2100, 653.7},
                       {"amd/mi300x", "gfx942.mfma.i32.32x32x16.i8", 2100, 2614.9}}) {
    EXPECT_NEAR(of_instruction(library(r.profile), r.use, r.mhz), r.published, 0.012 * r.published)
        << r.profile << " " << r.use;
  }
}

// A card that its power cap slows down says so: above the board's base clock, below the highest.
TEST(Datasheet, CardsThatThrottleHaveASustainedClock) {
  struct Row {
    const char* profile;
    double base_mhz;
  };
  for (const Row& r : {Row{"nvidia/t4", 585}, {"nvidia/l4", 795}, {"nvidia/a100-pcie-40gb", 765}}) {
    const Profile p = library(r.profile);
    ASSERT_FALSE(p.clocks.empty());
    int loads = 0;
    for (const auto& [load, clock] : p.clocks[0].sustained) {
      EXPECT_GE(clock.value->v, r.base_mhz * 1e6) << r.profile << " " << load;
      EXPECT_LT(clock.value->v, p.clocks[0].max.value->v) << r.profile << " " << load;
      EXPECT_FALSE(clock.ref.empty()) << r.profile << " " << load;
      ++loads;
    }
    EXPECT_EQ(loads, 2) << r.profile;
  }
}

}  // namespace
}  // namespace assay
