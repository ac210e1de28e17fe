// Constants, images and latency under load, on simulated chips.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/virtual/found.h"

namespace assay::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using testing::expect_told;
using testing::level;

const hwdesc::Profile& found(const std::string& name) {
  return testing::found_of(
      testing::chip_file(name),
      {"checks", "clock", "line", "chase", "knees", "fma", "waves", "units", "cyclic_scan",
       "latency", "sharing", "bandwidth", "far", "loaded_latency", "constant", "image", "border"},
      int64_t{24} << 20);
}

const hwdesc::AccessPath& path(const hwdesc::Profile& p, const std::string& name) {
  for (const hwdesc::AccessPath& a : p.paths)
    if (a.name == name) return a;
  throw std::runtime_error(p.name + " has no path " + name);
}

void expect_holds(const hwdesc::Value<hwdesc::Bytes>& v, double truth) {
  ASSERT_TRUE(v.known()) << v.note;
  EXPECT_LE(v.low->v, truth);
  EXPECT_GE(v.high->v, truth);
}

TEST(PathsOfWaves, constants) {
  const hwdesc::Profile& p = found("paths");
  EXPECT_THAT(path(p, "constant").through, ElementsAre("constant_l1", "constant_l2", "l2", "dram"));
  expect_told(path(p, "constant").latency, 14, 0.05);
  expect_told(path(p, "constant").divergent, 12, 0.05);
  expect_told(path(p, "constant").max_bytes, 64 << 10, 0);
  expect_holds(level(p, "constant_l1").capacity, 2 << 10);
  expect_holds(level(p, "constant_l2").capacity, 24 << 10);
  expect_told(level(p, "constant_l2").latency, 80, 0.05);
}

TEST(PathsOfWaves, images) {
  const hwdesc::Profile& p = found("paths");
  EXPECT_THAT(path(p, "texture").through, ElementsAre("texture_l1", "l2", "dram"));
  EXPECT_EQ(path(p, "texture").form, "image2d");
  expect_told(path(p, "texture").latency, 90, 0.05);
  expect_holds(level(p, "texture_l1").capacity, 1 << 10);
  expect_told(level(p, "texture_l1").line, 64, 0);
  expect_told(path(p, "texture").block.width, 4, 0);
  expect_told(path(p, "texture").block.height, 4, 0);
  expect_told(path(p, "texture").max_width, 16384, 0);
  EXPECT_TRUE(path(p, "texture").bandwidth.known());
  EXPECT_EQ(path(p, "texture").border.gives, hwdesc::Border::clamp);
  EXPECT_THAT(path(p, "texture").border.method,
              HasSubstr("far outside of images are read: as its profile says"));
  size_t told = 0;
  for (const auto& [format, rate] : path(p, "texture").formats) {
    told += rate.known() ? 1 : 0;
    if (rate.known()) continue;
    EXPECT_THAT(rate.note, HasSubstr("keeps numbers as their type: no " + format));
  }
  EXPECT_EQ(told, 3u);  // of f32
  EXPECT_EQ(path(p, "texture").formats.size(), 9u);
}

// An Adreno 640: its texture cache is small, not faster than memory, and before the one of buffers.
TEST(PathsOfWaves, a_real_chips_images) {
  const hwdesc::Profile& p = testing::found_of(
      "qualcomm/adreno-640",
      {"checks", "clock", "line", "chase", "knees", "fma", "waves", "units", "image", "border"},
      int64_t{8} << 20);
  EXPECT_EQ(path(p, "texture").through.at(0), "texture_l1");
  expect_holds(level(p, "texture_l1").capacity, 1 << 10);
  expect_told(level(p, "texture_l1").line, 64, 0);
  EXPECT_NEAR(path(p, "texture").latency.value->v / 585e6, 130.1e-9, 3e-9);  // cycles of its clock
  expect_told(path(p, "texture").block.width, 16, 0);
  expect_told(path(p, "texture").block.height, 1, 0);
  EXPECT_THAT(path(p, "texture").latency.note, Not(HasSubstr("none of their own")));
  EXPECT_EQ(path(p, "texture").border.gives, hwdesc::Border::zero);
}

// The chase waits for the outstanding lines of all others: longer than alone, and more so the
// busier the memory is.
void expect_loaded(const hwdesc::MemoryLevel& l, double alone) {
  ASSERT_TRUE(l.loaded_latency.half.known()) << l.loaded_latency.half.note;
  EXPECT_GT(l.loaded_latency.half.value->v, 0.97 * alone);
  EXPECT_LT(l.loaded_latency.half.value->v, 1.6 * alone);
  if (!l.loaded_latency.nine_tenths.known()) return;
  EXPECT_GE(l.loaded_latency.nine_tenths.value->v, l.loaded_latency.half.value->v);
}

TEST(LoadedLatency, of_cores) { expect_loaded(level(found("two-levels"), "dram"), 90e-9); }

TEST(LoadedLatency, of_waves) { expect_loaded(level(found("paths"), "dram"), 420e-9); }

TEST(PathsOfCores, there_are_none) {
  EXPECT_THAT(path(found("two-levels"), "constant").latency.note, HasSubstr("no constants"));
}

}  // namespace
}  // namespace assay::probe
