// Simulated access paths: constants and images have caches in front of those of plain loads.
#include <numeric>
#include <tuple>

#include "probe/kernels/path.h"
#include "tests/runtime/virtual_chip.h"

namespace assay::runtime {
namespace {

using testing::Chip;

// Constants: 2 KiB at 10 ticks, 8 times that for divergent lanes. Images: 1 KiB at 90 ticks, in
// blocks of 4 x 4 texels.
std::string with_paths() {
  std::string chip = testing::kSmallWaves;
  chip.insert(chip.find("  - {name: l1"),
              "  - {name: constant_l1, per: unit, managed: automatic, path: constant, capacity: 2 "
              "KiB, latency: 10 cycles@core, line: 64 B, bandwidth: {read: 32 B/cycle@core}}\n"
              "  - {name: texture_l1, per: unit, managed: automatic, path: texture, capacity: 1 "
              "KiB, latency: 90 cycles@core, line: 64 B}\n");
  chip.insert(chip.find("compute:"),
              "paths:\n  - {name: constant, through: [constant_l1, l1, dram], limits: {bytes: 32 "
              "KiB}, divergent: 8}\n"
              "  - {name: texture, through: [texture_l1, dram], form: image2d, limits: {width: "
              "2048, height: 512}, block: {width: 4, height: 4}}\n");
  return chip;
}

// Ticks per hop of a random chase of all lanes through nodes at `places`. `divergent`: lanes start
// at different nodes.
double chase(ir::Space space, std::vector<int32_t> places, bool divergent = false) {
  constexpr int kLanes = 8;
  constexpr int64_t kElements = int64_t{256} << 10, kIterations = 512;
  Chip chip(with_paths());
  const int64_t elements = space == ir::Space::image ? kElements : 32 << 8;
  Module& m = chip.load({probe::path_chase(space, elements, kLanes)});
  std::mt19937 random(1);
  std::shuffle(places.begin(), places.end(), random);
  std::vector<int32_t> data(static_cast<size_t>(elements)), state(kLanes, places[0]);
  for (size_t i = 0; i < places.size(); ++i)
    data[static_cast<size_t>(places[i])] = places[(i + 1) % places.size()];
  for (size_t l = 0; divergent && l < state.size(); ++l) state[l] = places[l % places.size()];
  const int nodes =
      space == ir::Space::image
          ? m.allocate_image({ir::DType::i32, 1, probe::kImageRow, elements / probe::kImageRow})
                .value()
          : chip.buffer(elements * 4);
  const int lanes = chip.buffer(64);
  m.write({nodes, 0}, std::as_bytes(std::span(data)));
  m.write({lanes, 0}, std::as_bytes(std::span(state)));
  const Launch l = chip.launch(
      "path_chase", {{nodes, 0}, {lanes, 0}, chip.parameters({kIterations})}, {{0, 0, 1}});
  chip.ticks(l);
  return chip.ticks(l) / (kIterations * probe::kPathHops);
}

std::vector<int32_t> every(int32_t elements, int32_t bytes) {
  std::vector<int32_t> out;
  for (int32_t at = 0; at < bytes / 4; at += elements) out.push_back(at);
  return out;
}

// The first texels of blocks of 4 x 4 texels, `across` blocks wide and `down` blocks high.
std::vector<int32_t> blocks(int32_t across, int32_t down, int32_t width, int32_t height) {
  std::vector<int32_t> out;
  for (int32_t y = 0; y < down; ++y)
    for (int32_t x = 0; x < across; ++x)
      out.push_back(y * height * static_cast<int32_t>(probe::kImageRow) + x * width);
  return out;
}

void expect_near(double got, double wanted) { EXPECT_NEAR(got, wanted, 0.05 * wanted); }

TEST(VirtualPaths, constants_come_from_a_cache_of_their_own) {
  expect_near(chase(ir::Space::constant, every(16, 1 << 10)), 10);
  expect_near(chase(ir::Space::constant, every(16, 2 << 10)), 10);
  expect_near(chase(ir::Space::constant, every(16, 8 << 10)), 30);  // the cache of loads
  expect_near(chase(ir::Space::plain, every(16, 1 << 10)), 30);
}

TEST(VirtualPaths, divergent_lanes_are_serialised) {
  expect_near(chase(ir::Space::constant, every(16, 512), true), 80);
  expect_near(chase(ir::Space::constant, every(16, 512), false), 10);
}

TEST(VirtualPaths, images_are_stored_in_blocks) {
  expect_near(chase(ir::Space::image, blocks(4, 4, 4, 4)), 90);    // 16 lines: all of the cache
  EXPECT_GT(chase(ir::Space::image, blocks(16, 4, 4, 4)), 250);    // 64 lines, from memory
  expect_near(chase(ir::Space::image, blocks(16, 16, 1, 1)), 90);  // 16 x 16 texels are 16 blocks
}

// Reads of an image with 8 rows of 16 texels, whose values are their numbers from 1 on.
std::vector<int32_t> read_at(const std::string& border,
                             const std::vector<std::pair<int32_t, int32_t>>& places) {
  std::string profile = with_paths();
  if (!border.empty()) profile.insert(profile.find("block: {width: 4"), "border: " + border + ", ");
  Chip chip(profile);
  ir::Kernel k = probe::image_touch(1, ir::DType::i32);
  k.buffers[0].row = 16;
  k.buffers[0].elements = 128;
  Module& m = chip.load({k});
  std::vector<int32_t> texels(128), columns(probe::kTouches.size()), rows(columns.size()),
      got(columns.size());
  std::iota(texels.begin(), texels.end(), 1);
  for (size_t i = 0; i < places.size(); ++i) std::tie(columns[i], rows[i]) = places[i];
  const int image = m.allocate_image({ir::DType::i32, 1, 16, 8}).value(),
            at_columns = chip.buffer(64), at_rows = chip.buffer(64), out = chip.buffer(64);
  m.write({image, 0}, std::as_bytes(std::span(texels)));
  m.write({at_columns, 0}, std::as_bytes(std::span(columns)));
  m.write({at_rows, 0}, std::as_bytes(std::span(rows)));
  chip.ticks(
      chip.launch(k.name, {{image, 0}, {at_columns, 0}, {at_rows, 0}, {out, 0}}, {{0, 0, 1}}));
  m.read({out, 0}, std::as_writable_bytes(std::span(got)));
  got.resize(places.size());
  return got;
}

TEST(VirtualPaths, reads_outside_of_an_image_follow_the_profile) {
  const std::vector<std::pair<int32_t, int32_t>> places = {{3, 2},  {-1, 2}, {16, 2},
                                                           {3, -5}, {3, 8},  {100, 100}};
  EXPECT_EQ(read_at("zero", places), (std::vector<int32_t>{36, 0, 0, 0, 0, 0}));
  EXPECT_EQ(read_at("clamp", places), (std::vector<int32_t>{36, 33, 48, 4, 116, 128}));
  EXPECT_EQ(read_at("", places),
            (std::vector<int32_t>{36, 48, 33, 52, 4, 69}));  // the image repeats
}

TEST(VirtualPaths, images_may_be_too_large_or_unsupported) {
  Chip chip(with_paths()), none(testing::kSmallWaves);
  EXPECT_FALSE(chip.module().allocate_image({ir::DType::f32, 1, 4096, 1}).ok());
  EXPECT_FALSE(none.module().allocate_image({ir::DType::f32, 1, 64, 1}).ok());
}

}  // namespace
}  // namespace assay::runtime
