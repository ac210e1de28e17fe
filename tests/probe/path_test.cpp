// Inference of constants and images, from synthetic curves.
#include "probe/inference/path.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "probe/inference/border.h"
#include "tests/probe/synthetic.h"

namespace assay::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void add_curve(Observations& o, const char* experiment, const char* what,
               const std::vector<test::SyntheticLevel>& levels, double from, double to,
               double noise = 0.01) {
  std::mt19937_64 random(3);
  for (const double bytes : test::footprints(from, to, 2)) {
    Observation x{experiment, what, {{"bytes", bytes}}, "s", {}, {0, 0, 0}, 0, {}};
    for (int i = 0; i < 3; ++i)
      x.samples.push_back(test::noisy(test::latency_at(levels, bytes), noise, random));
    o.points.push_back(std::move(x));
  }
}

const std::vector<test::SyntheticLevel> kPlain = {
    {16 << 10, 30e-9}, {512 << 10, 200e-9}, {0, 400e-9}};

Known known() {
  Known k;
  k.levels = {
      {{1 << 10, 16 << 10, 30e-9}, {32 << 10, 512 << 10, 200e-9}, {1 << 20, 64 << 20, 400e-9}},
      {{16 << 10, 20 << 10, 17 << 10}, {512 << 10, 600 << 10, 540 << 10}},
      3};
  return k;
}

hwdesc::Profile plain_memory() {
  hwdesc::Profile p;
  for (const char* name : {"l1", "l2", "dram"}) {
    hwdesc::MemoryLevel l;
    l.name = name;
    l.per = std::string(name) == "l1" ? "unit" : "device";
    l.managed =
        std::string(name) == "dram" ? hwdesc::Managed::explicit_ : hwdesc::Managed::automatic;
    p.memory.push_back(l);
  }
  return p;
}

TEST(Paths, constants_with_two_caches_of_their_own) {
  Observations o;
  o.facts = {{"constant_memory", "65536"}};
  add_curve(o, "constant", "chase", {{2 << 10, 10e-9}, {24 << 10, 60e-9}, {0, 210e-9}}, 256,
            64 << 10);
  add_curve(o, "constant", "plain", kPlain, 256, 64 << 10);
  for (const double divergent : {0.0, 1.0})
    o.points.push_back({"constant",
                        "lanes",
                        {{"bytes", 2048}, {"divergent", divergent}},
                        "s",
                        {10e-9 * (1 + 15 * divergent)},
                        {0},
                        0,
                        {}});
  hwdesc::Profile p = plain_memory();
  infer_paths(o, known(), p);
  ASSERT_EQ(p.paths.size(), 1u);
  const hwdesc::AccessPath& c = p.paths[0];
  EXPECT_THAT(c.through, ElementsAre("constant_l1", "constant_l2", "l2", "dram"));
  EXPECT_NEAR(c.latency.value->v, 10e-9, 0.5e-9);
  EXPECT_EQ(c.max_bytes.value->v, 65536);
  EXPECT_NEAR(c.divergent.value->v, 16, 1e-6);
  ASSERT_EQ(p.memory.size(), 5u);
  EXPECT_EQ(p.memory[0].name, "constant_l1");
  EXPECT_EQ(p.memory[0].path, "constant");
  EXPECT_LE(p.memory[0].capacity.low->v, 2 << 10);
  EXPECT_GE(p.memory[0].capacity.high->v, 2 << 10);
  EXPECT_NEAR(p.memory[1].latency.value->v, 60e-9, 3e-9);
  EXPECT_EQ(p.memory[2].name, "l1");
}

TEST(Paths, constants_like_global_memory) {
  Observations o;
  o.facts = {{"constant_memory", "65536"}};
  add_curve(o, "constant", "chase", kPlain, 256, 64 << 10, 0.03);
  add_curve(o, "constant", "plain", kPlain, 256, 64 << 10, 0.02);
  hwdesc::Profile p = plain_memory();
  infer_paths(o, known(), p);
  EXPECT_FALSE(p.paths.at(0).latency.known());
  EXPECT_THAT(p.paths[0].latency.note, HasSubstr("read as plain memory is"));
  EXPECT_THAT(p.paths[0].through, ElementsAre("l1", "l2", "dram"));
  EXPECT_EQ(p.memory.size(), 3u);
}

TEST(Paths, constants_that_fit_in_one_cache) {
  Observations o;
  o.facts = {{"constant_memory", "16384"}};
  add_curve(o, "constant", "chase", {{1 << 20, 12e-9}, {0, 200e-9}}, 256, 16 << 10);
  add_curve(o, "constant", "plain", kPlain, 256, 16 << 10);
  hwdesc::Profile p = plain_memory();
  infer_paths(o, known(), p);
  EXPECT_THAT(p.paths.at(0).through, ElementsAre("constant_l1"));
  EXPECT_FALSE(p.memory.at(0).capacity.known());
  EXPECT_THAT(p.memory[0].capacity.note, HasSubstr("that were chased through lie in it"));
}

// A processor's driver locates a texel and loads it: the same caches, with so much overhead that
// the steps between them are small.
TEST(Paths, images_through_the_caches_of_global_memory) {
  for (const double longer : {2e-9, 6e-9, 20e-9})
    for (const auto& [noise, of_first, slower] :
         {std::tuple(0.01, 1.0, 1.0), {0.04, 1.0, 1.0}, {0.01, 0.4, 1.0}, {0.01, 1.0, 1.6}}) {
      const std::vector<test::SyntheticLevel> plain = {
          {48 << 10, 1.5e-9}, {1 << 20, 4e-9, 0.4}, {32 << 20, 20e-9, 1}, {0, 110e-9}};
      std::vector<test::SyntheticLevel> path = plain;
      for (test::SyntheticLevel& l : path) l.seconds += longer;
      path[0].capacity *= of_first;  // rows of an image use few of its sets
      path[1].capacity *= 0.6;       // co-tenants use that cache, more while this was measured,
      path[1].seconds *= slower;     // and the memory behind it
      Observations o;
      o.facts = {{"image_width", "16384"}};
      add_curve(o, "image", "chase", path, 256, 64 << 20, noise);
      for (size_t i = 2; i < o.points.size(); i += 4)  // a co-tenant, for a while each time
        for (double& seconds : o.points[i].samples)
          seconds *= o.points[i].value_at("bytes") > 100e3 ? 5 : 1;
      add_curve(o, "image", "plain", plain, 256, 64 << 20, noise);
      Known k;
      k.levels = {{{1 << 10, 40 << 10, 1.5e-9},
                   {80 << 10, 700 << 10, 4e-9},
                   {3 << 20, 20 << 20, 20e-9},
                   {100 << 20, 400 << 20, 110e-9}},
                  {{40 << 10, 80 << 10, 50 << 10},
                   {700 << 10, 3 << 20, 1 << 20},
                   {20 << 20, 100 << 20, 32 << 20}},
                  4};
      hwdesc::Profile p = plain_memory();
      hwdesc::MemoryLevel l3 = p.memory[1];
      l3.name = "l3";
      p.memory.insert(p.memory.begin() + 2, l3);
      infer_paths(o, k, p);
      EXPECT_EQ(p.memory.size(), 4u) << longer << " " << noise << " " << of_first << " " << slower;
      EXPECT_THAT(p.paths.at(0).through, ElementsAre("l1", "l2", "l3", "dram"));
      ASSERT_TRUE(p.paths[0].latency.known());
      EXPECT_NEAR(p.paths[0].latency.value->v, 1.5e-9 + longer, 0.15 * longer + 0.2e-9);
      EXPECT_THAT(p.paths[0].latency.note, HasSubstr("none of their own"));
    }
}

// A co-tenant had most of the last cache while global memory was measured beside the image, and
// less of it in between.
TEST(Paths, images_in_shared_caches_with_co_tenants) {
  const Levels plain = {{{1 << 10, 40 << 10, 1.5e-9},
                         {80 << 10, 700 << 10, 4e-9},
                         {3 << 20, 20 << 20, 20e-9},
                         {100 << 20, 400 << 20, 110e-9}},
                        {{40 << 10, 80 << 10, 50 << 10},
                         {700 << 10, 3 << 20, 1 << 20},
                         {20 << 20, 100 << 20, 32 << 20}},
                        4};
  for (const double slow : {20e-9, 50e-9}) {
    Observations o;
    o.facts = {{"image_width", "16384"}};
    add_curve(o, "image", "chase",
              {{50 << 10, 7.5e-9}, {1 << 20, 10e-9}, {32 << 20, 26e-9}, {0, 116e-9}}, 256,
              64 << 20);
    add_curve(o, "image", "plain",
              {{50 << 10, 1.5e-9}, {1 << 20, 4e-9}, {32 << 20, slow}, {0, 110e-9}}, 256, 64 << 20);
    const auto longer = extra_path_latency(path_curves(o, "image"), plain);
    ASSERT_TRUE(longer) << slow;
    EXPECT_NEAR(*longer, 6e-9, 0.2e-9);
  }
}

// As fast as what is behind it, but smaller than global memory's first cache, or larger, or faster:
// a cache of its own.
TEST(Paths, images_with_a_texture_cache) {
  const std::vector<std::vector<test::SyntheticLevel>> all = {
      {{2 << 10, 36e-9}, {16 << 10, 50e-9}, {512 << 10, 210e-9}, {0, 410e-9}},
      {{96 << 10, 40e-9}, {512 << 10, 210e-9}, {0, 410e-9}},
      {{16 << 10, 15e-9}, {512 << 10, 200e-9}, {0, 400e-9}}};
  for (const auto& path : all) {
    Observations o;
    o.facts = {{"image_width", "16384"}};
    add_curve(o, "image", "chase", path, 256, 8 << 20);
    add_curve(o, "image", "plain", kPlain, 256, 8 << 20);
    EXPECT_FALSE(extra_path_latency(path_curves(o, "image"), known().levels)) << path[0].capacity;
    if (path[0].capacity == 16 << 10)
      continue;  // its own is as large as the first, which can not be distinguished
    hwdesc::Profile p = plain_memory();
    infer_paths(o, known(), p);
    EXPECT_EQ(p.memory.at(0).name, "texture_l1") << path[0].capacity;
  }
}

Observations touched(const std::vector<std::pair<const char*, double>>& answers) {
  Observations o;
  o.facts = {{"image_width", "64"}, {"image_outside", "a sampler that clamps"}};
  o.endings = {{"border", Outcome::done, 1, ""}};
  o.points.push_back({"border", "inside", {{"nearest", 7}}, "1", {7}, {}, 0, {}});
  for (const auto& [where, got] : answers)
    o.points.push_back({"border", where, {{"nearest", 7}}, "1", {got}, {}, 0, {}});
  return o;
}

TEST(Paths, a_border_is_what_all_reads_outside_give) {
  using hwdesc::Border;
  EXPECT_EQ(
      border_of(touched({{"left", 0}, {"far", 0}})),
      (hwdesc::ImageBorder{
          Border::zero,
          "texels beside, above, below and far outside of images are read: a sampler that clamps",
          ""}));
  EXPECT_EQ(border_of(touched({{"left", 7}, {"far", 7}})).gives, Border::clamp);
  const hwdesc::ImageBorder mixed =
      border_of(touched({{"left", 7}, {"right", 0}, {"right", 513}, {"far", 0}}));
  EXPECT_EQ(mixed.gives, Border::unknown);
  EXPECT_EQ(
      mixed.note,
      "neither 0 everywhere nor the nearest texel: far: 0; left: the nearest texel; right: 0, 513");
}

TEST(Paths, a_border_is_unknown_where_nothing_right_was_read) {
  Observations wrong = touched({{"left", 0}});
  wrong.points[0].samples = {0};
  EXPECT_EQ(border_of(wrong).gives, hwdesc::Border::unknown);
  EXPECT_THAT(border_of(wrong).note, HasSubstr("inside"));
  Observations undefined = touched({});
  undefined.facts.pop_back();
  undefined.points.clear();
  EXPECT_THAT(border_of(undefined).note, HasSubstr("the api leaves undefined"));
  EXPECT_EQ(border_of({}), hwdesc::ImageBorder{});
  hwdesc::Profile p = plain_memory();
  infer_paths(touched({{"left", 0}}), known(), p);  // of an experiment alone
  EXPECT_EQ(p.paths.at(0).border.gives, hwdesc::Border::zero);
}

TEST(Paths, a_language_without_constants) {
  Observations o;
  o.endings = {{"constant", Outcome::done, 1, ""}};
  hwdesc::Profile p = plain_memory();
  infer_paths(o, known(), p);
  EXPECT_THAT(p.paths.at(0).latency.note, HasSubstr("no constants"));
  p = plain_memory();
  infer_paths({}, known(), p);
  EXPECT_TRUE(p.paths.empty());
}

TEST(Paths, texels_of_a_block_are_those_before_the_first_miss) {
  EXPECT_EQ(fetched_texels({{1, 10}, {2, 10.2}, {4, 19}, {8, 20}}), 4);
  EXPECT_EQ(fetched_texels({{1, 10}, {2, 20}, {4, 20}}), 2);
  EXPECT_FALSE(fetched_texels({{1, 10}, {2, 10}, {4, 10.5}}));         // all alike
  EXPECT_FALSE(fetched_texels({{1, 10}, {2, 20}, {4, 11}, {8, 20}}));  // neither
}

TEST(Paths, rows_that_are_fetched_separately_make_blocks_of_one_row) {
  const std::vector<CurvePoint> steps = {{1, 10}, {2, 10.2}, {4, 19}, {8, 20}},
                                dear = {{1, 20}, {2, 19.5}, {4, 20}, {8, 20}},
                                cheap = {{1, 10}, {2, 10}, {4, 10}, {8, 10}};
  const auto is = [](const std::optional<TexelBlock>& b, double width, double height) {
    return b && b->width == width && b->height == height;
  };
  EXPECT_TRUE(is(block_of(steps, steps), 4, 4));
  EXPECT_TRUE(is(block_of(steps, dear), 4, 1));
  EXPECT_TRUE(is(block_of(dear, steps), 1, 4));
  EXPECT_FALSE(block_of(steps, cheap));  // higher than what was measured
  EXPECT_FALSE(block_of(dear, dear));
  EXPECT_FALSE(block_of(steps, {}));
}

void add_recorded(Observations& o, const char* what, const std::string& name) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/data/curves/" + name + ".csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const size_t comma = line.find(',');
    o.points.push_back({"image",
                        what,
                        {{"bytes", std::stod(line.substr(0, comma))}},
                        "s",
                        {std::stod(line.substr(comma + 1))},
                        {0},
                        0,
                        {}});
  }
}

// An Adreno 640 as ArchProbe measured it: 1 KiB before the cache of buffers, too, at 128 KiB.
TEST(Paths, the_recorded_texture_cache_is_before_the_cache_of_buffers) {
  Observations o;
  o.facts = {{"image_width", "16384"}, {"image_height", "16384"}};
  add_recorded(o, "chase", "adreno640_image");
  add_recorded(o, "plain", "adreno640_buffer");
  Known k;
  k.levels = {{{1 << 10, 128 << 10, 112.9e-9}, {1 << 20, 64 << 20, 300e-9}},
              {{128 << 10, 140 << 10, 132 << 10}},
              2};
  hwdesc::Profile p = plain_memory();
  p.memory.erase(p.memory.begin() + 1);
  infer_paths(o, k, p);
  ASSERT_EQ(p.paths.size(), 1u);
  EXPECT_EQ(p.paths[0].name, "texture");
  EXPECT_THAT(p.paths[0].through, ElementsAre("texture_l1", "l1", "dram"));
  EXPECT_NEAR(p.paths[0].latency.value->v, 130.1e-9, 1e-9);
  EXPECT_EQ(p.paths[0].max_width.value->v, 16384);
  EXPECT_FALSE(p.paths[0].block.width.known());
  EXPECT_EQ(p.memory[0].name, "texture_l1");
  EXPECT_LE(p.memory[0].capacity.low->v, 1024);
  EXPECT_GE(p.memory[0].capacity.high->v, 1024);
}

// Blocks of four by four texels: a line of 64 B.
TEST(Paths, blocks_of_texels_are_lines) {
  Observations o;
  o.facts = {{"image_width", "16384"}};
  add_recorded(o, "chase", "adreno640_image");
  for (const char* what : {"across", "down"})
    for (const double d : {1, 2, 4, 8, 16})
      o.points.push_back(
          {"image", what, {{"distance", d}}, "s", {d < 4 ? 80e-9 : 150e-9}, {0}, 0, {}});
  for (const double texel : {1, 2, 4})
    o.points.push_back(
        {"image", "read", {{"texel", texel}}, "s", {1 / (texel * 20e9)}, {0}, 0, {}});
  o.points.push_back(
      {"image", "read_small", {{"texel", 4}, {"number", 2}}, "s", {1 / 50e9}, {0}, 0, {}});
  o.facts.emplace_back("no_image.rg8", "the driver said why");
  hwdesc::Profile p = plain_memory();
  infer_paths(o, known(), p);
  EXPECT_EQ(p.paths.at(0).block.width.value->v, 4);
  std::vector<std::string> formats;
  for (const auto& [format, rate] : p.paths[0].formats)
    formats.push_back(fmt::format(
        "{}: {}", format, rate.known() ? fmt::format("{:.0f}", rate.value->v / 1e9) : rate.note));
  EXPECT_THAT(formats, ElementsAre("r32f: 20", "rg32f: 40", "rgba16f: 50", "rgba32f: 80",
                                   "rg8: the driver said why"));
  EXPECT_EQ(p.paths[0].block.height.value->v, 4);
  EXPECT_EQ(p.paths[0].texel.value->v, 4);
  EXPECT_NEAR(p.paths[0].bandwidth.value->v, 80e9, 1e9);
  EXPECT_EQ(p.memory.at(0).line.value->v, 64);
}

}  // namespace
}  // namespace assay::probe
