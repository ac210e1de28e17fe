// Kernels that read constants and images: as in the interpreter, or an error with the reason.
#include "tests/runtime/spaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "hwdesc/target.h"
#include "probe/kernels/path.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kThreads = 16;
constexpr int kDrawn = 40, kDrawnSlowly = 14;  // random kernels; fewer if they build slowly

std::string fact(const Device& device, const std::string& wanted) {
  for (const auto& [name, text] : device.info().facts)
    if (name == wanted) return text;
  return "";
}

bool has(const Device& device, Space space) {
  return !fact(device, space == Space::image ? "image_width" : "constant_memory").empty();
}

// Element types that constants and images may have.
std::vector<DType> types_of(const Device& device) {
  std::vector<DType> out = {DType::f32, DType::i32, DType::i64};
  const std::string types = " " + fact(device, "types") + " ";
  if (fact(device, "f64") == "yes") out.push_back(DType::f64);
  if (types.find(" i8 ") != std::string::npos) out.push_back(DType::i8);
  const bool in_place = device.info().name == "the host in a GPU's place";  // which has no assembly
  if (types.find(" f16 ") != std::string::npos && !in_place) out.push_back(DType::f16);
  return out;
}

// y[i] = x[i] of constants or of an image.
Kernel reading(Space space, int texel) {
  Kernel k;
  k.name = "reading";
  Buffer x = input("x", 512);
  x.space = space;
  x.texel = space == Space::image ? texel : 1;
  x.row = space == Space::image ? 64 : 0;
  k.buffers = {x, output("y", kThreads)};
  k.index_names = {"group"};
  k.body = {store(1, {}, load(0, {}, kThreads))};
  return k;
}

// The device has no images of such texels: some drivers have none of two numbers.
bool is_lack(const Kernel& k, const std::string& said) {
  return said.find("makes no image") != std::string::npos &&
         std::any_of(k.buffers.begin(), k.buffers.end(),
                     [](const Buffer& b) { return b.texel == 2; });
}

void expect_refusal(const Kernel& kernel) {
  Host host;
  host.options().one_by_one = true;
  const auto loaded = host.device().load(std::vector{kernel}, {}, host.options());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(render(loaded.diags()), AnyOf(HasSubstr("can not spell"), HasSubstr("no images")));
}

// Lanes are vectors, threads, or both.
void check(const std::vector<Space>& spaces, bool images) {
  Host host;
  host.options().one_by_one = true;
  const Space wanted = spaces.front();
  if (!has(host.device(), wanted)) {
    if (!host.device().info().simulated)
      expect_refusal(reading(wanted, 4));  // a simulated chip reads them as plain memory
    return;
  }
  const bool threads = host.device().info().threads,
             both = tested_device().starts_with("opencl") || tested_device().starts_with("vulkan");
  const std::vector<DType> types =
      images ? std::vector{DType::f32, DType::i32} : types_of(host.device());
  std::mt19937 rng(7);
  int ran = 0;
  const int drawn = tested_device().starts_with("vulkan") || host.device().info().simulated
                        ? kDrawn
                        : kDrawnSlowly;
  for (int i = 0; i < drawn; ++i) {
    const Kernel k =
        random_reading(rng, spaces, types[static_cast<size_t>(i) % types.size()], kThreads);
    const bool one_lane = both ? i / static_cast<int>(types.size()) % 2 == 0 : threads;
    const std::string told = told_of(
        host.device(), k, one_lane ? lanes_are_threads() : hwdesc::Target{}, host.options(), rng);
    if (is_lack(k, told)) continue;
    ASSERT_EQ(told, "right");
    ++ran;
  }
  EXPECT_GE(ran, drawn / 4);
}

TEST(Spaces, constants) { check({Space::constant}, false); }

TEST(Spaces, images) { check({Space::image}, true); }

TEST(Spaces, all_in_one_kernel) { check({Space::image, Space::constant, Space::plain}, true); }

// Texels stored as halves or normalised bytes: kernels read f32.
TEST(Spaces, images_of_smaller_numbers) {
  Host host;
  if (!has(host.device(), Space::image)) GTEST_SKIP() << "of drivers that know images";
  host.options().one_by_one = true;
  std::mt19937 rng(9);
  for (const Stored stored : {Stored::f16, Stored::unorm8})
    for (int ran = 0, i = 0; ran < 3; ++i) {
      const Kernel k = random_reading(rng, {Space::image}, DType::f32, kThreads);
      const std::string told =
          told_of(host.device(), k, lanes_are_threads(), host.options(), rng, stored);
      if (host.device().info().simulated) {
        EXPECT_THAT(told, HasSubstr("keeps numbers as their type: no "));
        break;
      }
      ASSERT_LT(i, 300);
      if (told.find("in texels of four only") != std::string::npos || is_lack(k, told)) continue;
      ASSERT_EQ(told, "right");
      ++ran;
    }
}

// What the probe's kernel reads inside of an image; reads outside must not crash. "" without
// images.
std::string border_of(Device& device, const LoadOptions& options) {
  const auto loaded =
      device.load(std::vector{probe::image_touch(1, DType::i32)}, lanes_are_threads(), options);
  if (!loaded.ok()) return render(loaded.diags());
  Module& m = **loaded;
  constexpr auto kTouches = probe::kTouches;
  std::vector<int32_t> texels(probe::kBorderColumns * probe::kBorderRows), columns, rows,
      got(kTouches.size());
  std::iota(texels.begin(), texels.end(), 1);
  for (const probe::Touch& t : kTouches) {
    columns.push_back(static_cast<int32_t>(t.column));
    rows.push_back(static_cast<int32_t>(t.row));
  }
  const int image =
      m.allocate_image({DType::i32, 1, probe::kBorderColumns, probe::kBorderRows}).value();
  const int at_columns = m.allocate(kTouches.size() * 4).value(),
            at_rows = m.allocate(kTouches.size() * 4).value(),
            out = m.allocate(kTouches.size() * 4).value();
  m.write({image, 0}, std::as_bytes(std::span(texels)));
  m.write({at_columns, 0}, std::as_bytes(std::span(columns)));
  m.write({at_rows, 0}, std::as_bytes(std::span(rows)));
  if (const auto times =
          m.run(std::vector{Launch{
                    0, {{image, 0}, {at_columns, 0}, {at_rows, 0}, {out, 0}}, {{0, 0, 1}}}},
                {});
      !times.ok())
    return render(times.diags());
  m.read({out, 0}, std::as_writable_bytes(std::span(got)));
  bool zero = true, clamp = true;
  for (size_t i = 0; i < kTouches.size(); ++i) {
    const auto column = std::clamp<int64_t>(columns[i], 0, probe::kBorderColumns - 1),
               row = std::clamp<int64_t>(rows[i], 0, probe::kBorderRows - 1);
    const int32_t nearest = texels[static_cast<size_t>(row * probe::kBorderColumns + column)];
    if (column == columns[i] && row == rows[i]) {
      if (got[i] != nearest)
        return fmt::format("column {} of row {} holds {}, not {}", column, row, got[i], nearest);
      continue;
    }
    zero &= got[i] == 0;
    clamp &= got[i] == nearest;
  }
  return zero ? "zero" : clamp ? "clamp" : "neither";
}

TEST(Spaces, texels_outside_of_an_image) {
  Host host;
  const std::string said = fact(host.device(), "image_outside");
  if (said.empty()) GTEST_SKIP() << "of drivers that may be asked for what lies outside";
  host.options().one_by_one = true;
  const std::string found = border_of(host.device(), host.options());
  if (said.find("BORDER") != std::string::npos || said.find("robust") != std::string::npos)
    EXPECT_EQ(found, "zero");
  else
    EXPECT_THAT(found, AnyOf("zero", "clamp", "neither"));
}

TEST(Spaces, formats_have_the_names_of_graphics_apis) {
  EXPECT_EQ(format_name({DType::f32, 4, 1, 1, Stored::f16}), "rgba16f");
  EXPECT_EQ(format_name({DType::f32, 1, 1, 1, Stored::as_type}), "r32f");
  EXPECT_EQ(format_name({DType::i32, 2, 1, 1, Stored::as_type}), "rg32i");
  EXPECT_EQ(format_name({DType::f32, 4, 1, 1, Stored::unorm8}), "rgba8");
}

// The error of a run.
std::string failure(Module& m, const std::vector<BufferRange>& arguments) {
  const auto times = m.run(std::vector{Launch{0, arguments, {}}}, {});
  return times.ok() ? std::string("it ran") : render(times.diags());
}

TEST(Spaces, images_and_buffers_are_not_interchangeable) {
  Host host;
  if (!has(host.device(), Space::image) || host.device().info().simulated)
    GTEST_SKIP() << "of drivers that know images";
  host.options().one_by_one = true;
  const auto m = std::move(host.device().load(std::vector{reading(Space::image, 4)},
                                              lanes_are_threads(), host.options()))
                     .value();
  const int plain = m->allocate(512 * 16).value(), out = m->allocate(4096).value(),
            image = m->allocate_image({DType::f32, 4, 64, 8}).value();
  EXPECT_EQ(failure(*m, {{image, 0}, {out, 0}}), "it ran");
  EXPECT_THAT(failure(*m, {{plain, 0}, {out, 0}}),
              HasSubstr("argument 'x' of kernel 'reading' is an image"));
  EXPECT_THAT(failure(*m, {{image, 0}, {image, 0}}),
              HasSubstr("argument 'y' of kernel 'reading' is no image"));
  for (const ImageShape& other :
       {ImageShape{DType::f32, 4, 32, 16}, {DType::i32, 4, 64, 8}, {DType::f32, 1, 64, 32}})
    EXPECT_THAT(failure(*m, {{m->allocate_image(other).value(), 0}, {out, 0}}),
                HasSubstr("has rows of 64 texels of 4 f32"));
  EXPECT_FALSE(m->allocate_image({DType::f32, 4, int64_t{1} << 30, 1}).ok());
  EXPECT_FALSE(m->allocate_image({DType::f64, 4, 64, 8}).ok());
  EXPECT_FALSE(m->allocate_image({DType::i32, 4, 64, 8, Stored::unorm8}).ok());
}

TEST(Spaces, rows_of_an_image_are_written_and_read_on_their_own) {
  Host host;
  if (!has(host.device(), Space::image)) GTEST_SKIP() << "of drivers that know images";
  host.options().one_by_one = true;
  const auto m = std::move(host.device().load(std::vector{reading(Space::constant, 1)},
                                              lanes_are_threads(), host.options()))
                     .value();
  constexpr int64_t kRow = 64 * 4 * 4;
  const int image = m->allocate_image({DType::f32, 4, 64, 8}).value();
  std::vector<float> expected(64 * 4 * 8, 0.0f), got(expected.size());
  for (const auto& [first, rows] : {std::pair<int64_t, int64_t>{5, 2}, {0, 1}, {3, 1}}) {
    const std::vector<float> part = host.random(rows * kRow / 4);
    m->write({image, first * kRow}, std::as_bytes(std::span(part)));
    std::copy(part.begin(), part.end(), expected.begin() + first * kRow / 4);
  }
  m->read({image, 0}, std::as_writable_bytes(std::span(got)));
  EXPECT_EQ(got, expected);
  m->read({image, 4 * kRow}, std::as_writable_bytes(std::span(got).first(kRow / 2)));
  EXPECT_TRUE(std::equal(got.begin(), got.begin() + kRow / 2, expected.begin() + kRow));
}

// Constants may begin inside of a buffer, at the device's alignment.
TEST(Spaces, constants_begin_at_their_arguments_offset) {
  Host host;
  if (!has(host.device(), Space::constant) || host.device().info().simulated)
    GTEST_SKIP() << "of drivers that know constants";
  host.options().one_by_one = true;
  const auto m = std::move(host.device().load(std::vector{reading(Space::constant, 1)},
                                              lanes_are_threads(), host.options()))
                     .value();
  const int x = m->allocate(512 * 4 + 256).value(), y = m->allocate(kThreads * 4).value();
  const std::vector<float> numbers = host.random(512 + 64);
  m->write({x, 0}, std::as_bytes(std::span(numbers)));
  for (const int64_t begin : {256, 4}) {
    const std::string said = failure(*m, {{x, begin}, {y, 0}});
    if (begin == 4 && said != "it ran") {
      EXPECT_THAT(said, HasSubstr("constants 'x' of kernel 'reading' begin at 4: " +
                                  tested_device() + " needs multiples of"));
      continue;
    }
    ASSERT_EQ(said, "it ran");
    std::vector<float> got(kThreads);
    m->read({y, 0}, std::as_writable_bytes(std::span(got)));
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(got[i], numbers[i + static_cast<size_t>(begin / 4)]);
  }
}

TEST(Spaces, more_constants_than_a_device_allows_are_refused) {
  Host host;
  const std::string most = fact(host.device(), "constant_memory");
  if (most.empty() || host.device().info().simulated || tested_device().starts_with("opencl"))
    GTEST_SKIP() << "of drivers that say how many constants one argument has";
  Kernel k = reading(Space::constant, 1);
  k.buffers[0].elements = std::atoll(most.c_str()) / 4;
  EXPECT_TRUE(host.device().load(std::vector{k}, lanes_are_threads(), host.options()).ok());
  ++k.buffers[0].elements;
  const auto loaded = host.device().load(std::vector{k}, lanes_are_threads(), host.options());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(render(loaded.diags()), HasSubstr("of " + most));
}

TEST(Spaces, invalid_kernels_are_refused_before_printing) {
  Kernel written = reading(Space::constant, 1);
  written.buffers[0].written = true;
  EXPECT_THAT(render(verify(written)), HasSubstr("only arguments that are read"));
  Kernel odd = reading(Space::image, 3);
  EXPECT_THAT(render(verify(odd)), HasSubstr("texels of 3 numbers"));
  odd = reading(Space::image, 4);
  odd.buffers[0].row = 60;
  EXPECT_THAT(render(verify(odd)), HasSubstr("no power of two"));
}

}  // namespace
}  // namespace assay::runtime
