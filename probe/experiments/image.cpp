// Images: the block of texels that one miss fetches, a chase beside one through global memory,
// reads of several texel formats.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/inference/path.h"
#include "probe/kernels/code.h"
#include "probe/kernels/path.h"
#include "probe/sampling/own_kernels.h"
#include "probe/sampling/path_chase.h"

namespace assay::probe {
namespace {

constexpr int64_t kSmallest = 256, kLeastMost = int64_t{1} << 20,
                  kMost = int64_t{16} << 20;  // bytes of a chase
constexpr double kPerOctave = 2;
constexpr int32_t kCell = 32;  // texels between pairs, across and down
constexpr std::array<int, 5> kDistances = {1, 2, 4, 8, 16};
constexpr int kPairVisits = 3;       // blocks of samples at each distance
constexpr int32_t kLineTexels = 16;  // if the block is unknown: a row of 64 B
constexpr std::array<int, 3> kTexels = {1, 2, 4};
constexpr int64_t kReadBytes = 16 << 10;

std::vector<int32_t> shuffled(std::vector<int32_t> v, Session& s) {
  std::shuffle(v.begin(), v.end(), s.random);
  return v;
}

// The first texels of `n` cells, row by row.
std::vector<int32_t> cells(int64_t n, int32_t width, int32_t height) {
  std::vector<int32_t> out;
  const int64_t across = kImageRow / width;
  for (int64_t i = 0; i < n; ++i)
    out.push_back(static_cast<int32_t>(i / across * height * kImageRow + i % across * width));
  return out;
}

// Pairs of loads of two texels, across or down: within a block they cost one miss.
std::vector<CurvePoint> pairs_along(Session& s, PathChase& chase, int64_t rows, bool down) {
  std::map<int, double> least;
  const int64_t pairs = rows / kCell * (kImageRow / kCell);
  for (int visit = 0; visit < kPairVisits; ++visit)
    for (const int d : kDistances) {
      std::vector<int32_t> order;
      for (const int32_t at : shuffled(cells(pairs, kCell, kCell), s)) {
        order.push_back(at);
        order.push_back(at + d * (down ? static_cast<int32_t>(kImageRow) : 1));
      }
      const double t = chase.measure(down ? "down" : "across", {{"distance", d}}, order);
      least[d] = least.contains(d) ? std::min(least[d], t) : t;
    }
  std::vector<CurvePoint> curve;
  for (const auto& [d, t] : least) curve.push_back({double(d), t});
  return curve;
}

// All groups read the same bytes repeatedly, of an image or (no shape) of global memory. `what` and
// `at` name it.
void measure_read(Session& s, const std::optional<runtime::ImageShape>& shape, const char* what,
                  Conditions at) {
  const int texel = shape ? shape->texel : 0, lanes = s.known.lanes;
  const int64_t bytes = shape ? shape->texel * shape->number_bytes() : 4,
                stretch = kPathReads * lanes;
  const int64_t steps = std::max<int64_t>(1, kReadBytes / bytes / stretch),
                texels = std::max(kImageRow, steps * stretch);
  OwnKernels own(s, {path_read(texel, texels, lanes)});
  Result<int> source = own.bench.allocate(texels * 4);
  if (shape) {
    runtime::ImageShape whole = *shape;
    whole.width = kImageRow;
    whole.height = (texels + kImageRow - 1) / kImageRow;
    source = own.module->allocate_image(whole);
  }
  if (!source) {
    s.fact("no_image." + runtime::format_name(*shape), source.diags().front().message);
    return;
  }
  const int groups = s.device.threads ? s.known.groups : s.device.units;
  Job job;
  job.kernel = path_read_name(texel);
  job.arguments = {{*source, 0}};
  job.groups = groups;
  job.parameters = [steps, groups](int64_t passes) {
    std::vector<double> out = {double(passes), double(steps)};
    out.insert(out.end(), static_cast<size_t>(groups), 0.0);
    return out;
  };
  job.work = double(steps * stretch * bytes * groups);
  job.most = kMaxPasses;
  job.loops = 1 + steps;
  job.target_s = 0.3e-3;
  at["groups"] = double(groups);
  at["bytes"] = double(steps * stretch * bytes);
  for (int i = 0; i < 2; ++i) s.emit(own.bench.measure("image", what, at, job));
}

// Global memory; texels of one, two and four f32; the same of 2-byte and 1-byte numbers.
void measure_reads(Session& s) {
  measure_read(s, std::nullopt, "read_plain", {{"texel", 0.0}});
  for (const int texel : kTexels)
    measure_read(s, runtime::ImageShape{ir::DType::f32, texel}, "read", {{"texel", double(texel)}});
  for (const runtime::Stored stored : {runtime::Stored::f16, runtime::Stored::unorm8})
    for (const int texel : kTexels) {
      const runtime::ImageShape shape{ir::DType::f32, texel, 1, 1, stored};
      measure_read(s, shape, "read_small",
                   {{"texel", double(texel)}, {"number", double(shape.number_bytes())}});
    }
}

}  // namespace

void run_image(Session& s) {
  if (number_said(s, "image_width") < kImageRow) return;
  const double last = s.known.levels.knees.empty() ? 0 : s.known.levels.knees.back().to;
  const int64_t most = std::min({kMost, s.max_bytes, number_said(s, "image_height") * kImageRow * 4,
                                 std::max(kLeastMost, static_cast<int64_t>(4 * last))});
  const int64_t rows = most / (kImageRow * 4) / kCell * kCell;
  if (rows < kCell) return;
  PathChase image(s, "image", ir::Space::image, rows * kImageRow),
      plain(s, "image", ir::Space::plain, rows * kImageRow);
  const int64_t paired = std::min<int64_t>(rows, 1024);
  const std::vector<CurvePoint> beside = pairs_along(s, image, paired, false),
                                below = pairs_along(s, image, paired, true);
  const TexelBlock block = block_of(beside, below).value_or(TexelBlock{kLineTexels, 1});
  const auto across = static_cast<int32_t>(block.width), down = static_cast<int32_t>(block.height);
  const int64_t cell = int64_t{across} * down * 4;
  std::vector<int64_t> sizes;
  for (double b = double(kSmallest); b <= double(most); b *= std::exp2(1 / kPerOctave))
    if (const int64_t whole = static_cast<int64_t>(b) / cell * cell;
        whole >= 2 * cell && (sizes.empty() || whole > sizes.back()))
      sizes.push_back(whole);
  s.rounds(sizes.size(), [&](size_t i) {
    const Conditions at = {{"bytes", double(sizes[i])}};
    image.measure("chase", at, shuffled(cells(sizes[i] / cell, across, down), s));
    plain.measure("plain", at, shuffled(cells(sizes[i] / 64, kLineTexels, 1), s));
  });
  measure_reads(s);
}

}  // namespace assay::probe
