// Kernels that read constants and images: what the interpreter finds there, or an error that says why not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/interpret.h"
#include "codegen/kernels.h"
#include "hwdesc/target.h"
#include "runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kThreads = 16;
constexpr int64_t kRow = 64, kRows = 8, kConstants = 96;

hwdesc::Target lanes_are_threads() {
  hwdesc::Target t;
  t.profile.execution.lanes.style = hwdesc::LaneStyle::simt;
  hwdesc::LaneMode mode;
  mode.width.value = hwdesc::Count{kThreads};
  t.profile.execution.lanes.modes.push_back(mode);
  return t;
}

// y[i] = x[i] of an image in an order that goes back and forth between its rows, or constants, or both.
Kernel reading(Space space, int texel) {
  Kernel k;
  k.name = "reading";
  Buffer x = input("x", space == Space::image ? kRow * kRows : kConstants);
  x.space = space;
  x.texel = space == Space::image ? texel : 1;
  x.row = space == Space::image ? kRow : 0;
  k.buffers = {x, output("y", 2 * kThreads * 3)};
  k.index_names = {"group"};
  k.groups = 3;
  const int64_t step = space == Space::image ? 71 : 5, most = x.elements / step - 1;
  Value apart = gather(0, variable(0, 2), step, kThreads, kThreads);
  if (most < kThreads) apart.stride = 2;
  k.body = {store(1, variable(0, 2 * kThreads), load(0, variable(0, 7), kThreads)), store(1, variable(0, 2 * kThreads) + kThreads, apart)};
  return k;
}

bool has(const Device& device, Space space) {
  for (const auto& [name, text] : device.info().facts)
    if (name == (space == Space::image ? "image_width" : "constant_memory")) return true;
  return false;
}

void expect_agreement(const Kernel& kernel, bool threads) {
  Host host;
  host.options().one_by_one = true;
  const Buffer& x = kernel.buffers[0];
  const auto loaded = host.device().load(std::vector{kernel}, threads ? lanes_are_threads() : hwdesc::Target{}, host.options());
  ASSERT_TRUE(loaded.ok()) << render(loaded.diags());
  Module& m = **loaded;
  std::vector<std::vector<float>> all{host.random(x.elements * x.texel), Host::poison(kernel.buffers[1].elements)}, expected = all;
  const Result<int> source = x.space == Space::image ? m.allocate_image({x.dtype, x.texel, x.row, x.elements / x.row}) : m.allocate(x.elements * 4);
  if (!source.ok() && x.texel == 2) {  // a kind of texel that not every driver has
    EXPECT_THAT(render(source.diags()), HasSubstr("makes no image"));
    return;
  }
  ASSERT_TRUE(source.ok()) << render(source.diags());
  const Launch launch{0, {{*source, 0}, {m.allocate(kernel.buffers[1].elements * 4).value(), 0}}, {}};
  for (size_t i = 0; i < 2; ++i) m.write(launch.arguments[i], std::as_bytes(std::span(all[i])));
  const auto times = m.run(std::vector{launch}, {});
  ASSERT_TRUE(times.ok()) << render(times.diags());
  m.read(launch.arguments[1], std::as_writable_bytes(std::span(all[1])));
  const auto counts = codegen::interpret(kernel, expected);
  ASSERT_TRUE(counts.ok()) << render(counts.diags());
  for (size_t e = 0; e < all[1].size(); ++e) ASSERT_FLOAT_EQ(all[1][e], expected[1][e]) << e;
  std::vector<float> back(all[0].size());
  m.read(launch.arguments[0], std::as_writable_bytes(std::span(back)));
  EXPECT_EQ(back, all[0]);
}

void expect_refusal(const Kernel& kernel) {
  Host host;
  host.options().one_by_one = true;
  const auto loaded = host.device().load(std::vector{kernel}, {}, host.options());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(render(loaded.diags()), AnyOf(HasSubstr("can not spell"), HasSubstr("no images")));
}

void check(Space space, int texel) {
  const Kernel k = reading(space, texel);
  Host host;
  const bool simulated = host.device().info().simulated;
  if (!has(host.device(), space)) {
    if (!simulated) expect_refusal(k);  // a simulated chip takes them for plain memory
    return;
  }
  const bool vectors = !host.device().info().threads, threads = host.device().info().threads || tested_device().starts_with("opencl");
  if (vectors) expect_agreement(k, false);
  if (threads) expect_agreement(k, true);
}

TEST(Spaces, constants) { check(Space::constant, 1); }

TEST(Spaces, images) {
  for (const int texel : {1, 2, 4}) check(Space::image, texel);
}

TEST(Spaces, an_image_where_there_should_be_none_is_an_error) {
  Host host;
  if (!tested_device().starts_with("opencl")) GTEST_SKIP() << "of drivers that know images";
  host.options().one_by_one = true;
  const auto m = host.load({reading(Space::image, 4)});
  const int plain = m->allocate(kRow * kRows * 16).value(), out = m->allocate(4096).value(), narrow = m->allocate_image({DType::f32, 4, kRow / 2, 2 * kRows}).value();
  const auto failure = [&](int x) {
    const Launch l{0, {{x, 0}, {out, 0}}, {}};
    const auto times = m->run(std::vector{l}, {});
    return times.ok() ? std::string("it ran") : render(times.diags());
  };
  EXPECT_THAT(failure(plain), HasSubstr("argument 'x' of kernel 'reading' is an image"));
  EXPECT_THAT(failure(narrow), HasSubstr("rows of 64 texels"));
  EXPECT_FALSE(m->allocate_image({DType::f32, 4, int64_t{1} << 30, 1}).ok());
}

TEST(Spaces, what_can_not_be_is_refused_before_it_is_printed) {
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
