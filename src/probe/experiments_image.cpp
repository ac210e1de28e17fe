// Images: which texels are fetched together, a chase through an image beside one through plain memory, reading of several
// kinds of texels.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "probe/access_path.h"
#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/own_kernels.h"

namespace assay::probe {
namespace {

constexpr int64_t kSmallest = 256, kLeastMost = int64_t{1} << 20, kMost = int64_t{16} << 20;  // bytes of a chase
constexpr double kPerOctave = 2, kTarget = 0.15e-3;
constexpr int32_t kCell = 32;                       // texels between pairs, across and down
constexpr std::array<int, 5> kDistances = {1, 2, 4, 8, 16};
constexpr int kPairVisits = 3;                      // blocks of samples at each distance
constexpr int32_t kLineTexels = 16;                 // where nothing tells: a row of 64 B
constexpr std::array<int, 4> kTexels = {0, 1, 2, 4};  // 0: plain memory
constexpr int64_t kReadBytes = 16 << 10;

int64_t fact(const Session& s, const char* wanted) {
  for (const auto& [name, text] : s.device.facts)
    if (name == wanted) return std::atoll(text.c_str());
  return 0;
}

// Texels of one number, and a chase through them; `plain`: the same memory without an image.
class ImageChase {
 public:
  ImageChase(Session& s, int64_t rows, bool plain) : s_(s), lanes_(s.device.threads ? s.known.lanes : 1), data_(static_cast<size_t>(rows * kImageRow)),
      own_(s, {path_chase(plain ? ir::Space::plain : ir::Space::image, rows * kImageRow, lanes_)}) {
    if (plain) {
      nodes_ = own_.bench.allocate(rows * kImageRow * 4);
    } else {
      const auto image = own_.module->allocate_image({ir::DType::i32, 1, kImageRow, rows});
      if (!image) fail(image.diags());
      nodes_ = *image;
    }
    state_ = own_.bench.allocate(std::max<int64_t>(64, int64_t{lanes_} * 4));
  }

  // Through texels in an order that is given; the fastest sample.
  double measure(const char* what, const Conditions& at, const std::vector<int32_t>& order) {
    for (size_t i = 0; i < order.size(); ++i) data_[static_cast<size_t>(order[i])] = order[(i + 1) % order.size()];
    const int64_t rows = *std::max_element(order.begin(), order.end()) / kImageRow + 1;
    own_.module->write({nodes_, 0}, std::as_bytes(std::span(data_).first(static_cast<size_t>(rows * kImageRow))));
    const std::vector<int32_t> state(static_cast<size_t>(lanes_), order[0]);
    own_.module->write({state_, 0}, std::as_bytes(std::span(state)));
    Job job;
    job.kernel = "path_chase";
    job.arguments = {{nodes_, 0}, {state_, 0}};
    job.work = kPathHops;
    job.most = kMaxIterations;
    job.target_s = kTarget;
    const int64_t turns = std::min(own_.bench.most_of(job), static_cast<int64_t>(order.size()) / kPathHops + 1);
    const runtime::Launch pass = own_.bench.launch(job, turns);
    own_.bench.run({&pass, 1});
    check(order[static_cast<size_t>(turns * kPathHops) % order.size()]);
    const Observation o = own_.bench.measure("image", what, at, job);
    s_.emit(o);
    return *std::min_element(o.samples.begin(), o.samples.end());
  }

 private:
  // An image that was read at its border, or as another one, leaves the cycle.
  void check(int32_t expected) {
    std::vector<int32_t> now(static_cast<size_t>(lanes_));
    own_.module->read({state_, 0}, std::as_writable_bytes(std::span(now)));
    for (const int32_t p : now)
      if (p != expected) fail({error("a chase through an image left its cycle")});
  }

  Session& s_;
  int lanes_;
  std::vector<int32_t> data_;
  OwnKernels own_;
  int nodes_ = -1, state_ = -1;
};

std::vector<int32_t> shuffled(std::vector<int32_t> v, Session& s) {
  std::shuffle(v.begin(), v.end(), s.random);
  return v;
}

// The first texels of cells of so many texels, row by row: `n` of them.
std::vector<int32_t> cells(int64_t n, int32_t width, int32_t height) {
  std::vector<int32_t> out;
  const int64_t across = kImageRow / width;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<int32_t>(i / across * height * kImageRow + i % across * width));
  return out;
}

// Touches of two texels a distance apart, across or down: those of one block cost one miss.
std::vector<CurvePoint> pairs_along(Session& s, ImageChase& chase, int64_t rows, bool down) {
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

void measure_reads(Session& s) {
  const int lanes = s.known.lanes;
  const int groups = s.device.threads ? s.known.groups : s.device.units;
  for (const int texel : kTexels) {
    const int64_t bytes = texel > 0 ? texel * 4 : 4, stretch = kPathReads * lanes;
    const int64_t texels = std::max(kImageRow, (kReadBytes / bytes + stretch - 1) / stretch * stretch);
    OwnKernels own(s, {path_read(texel, texels, lanes)});
    const auto image = texel > 0 ? own.module->allocate_image({ir::DType::f32, texel, kImageRow, (texels + kImageRow - 1) / kImageRow}) : Result<int>(own.bench.allocate(texels * 4));
    if (!image) {
      s.fact(fmt::format("image_of_{}", texel), "none: " + image.diags().front().message);
      continue;
    }
    Job job;
    job.kernel = path_read_name(texel);
    job.arguments = {{*image, 0}};
    job.groups = groups;
    const int64_t steps = std::max<int64_t>(1, kReadBytes / bytes / stretch);
    job.parameters = [steps, groups](int64_t passes) {
      std::vector<double> out = {double(passes), double(steps)};
      out.insert(out.end(), static_cast<size_t>(groups), 0.0);
      return out;
    };
    job.work = double(steps * stretch * bytes * groups);
    job.most = kMaxPasses;
    job.loops = 1 + steps;
    job.target_s = 0.3e-3;
    for (int i = 0; i < 2; ++i)
      s.emit(own.bench.measure("image", texel > 0 ? "read" : "read_plain", {{"texel", double(texel)}, {"groups", double(groups)}, {"bytes", double(steps * stretch * bytes)}}, job));
  }
}

}  // namespace

void run_image(Session& s) {
  if (fact(s, "image_width") < kImageRow) return;
  const double last = s.known.levels.knees.empty() ? 0 : s.known.levels.knees.back().to;
  const int64_t most = std::min({kMost, s.max_bytes, fact(s, "image_height") * kImageRow * 4, std::max(kLeastMost, static_cast<int64_t>(4 * last))});
  const int64_t rows = most / (kImageRow * 4) / kCell * kCell;
  if (rows < kCell) return;
  ImageChase image(s, rows, false), plain(s, rows, true);
  const int64_t paired = std::min<int64_t>(rows, 1024);
  const std::vector<CurvePoint> beside = pairs_along(s, image, paired, false), below = pairs_along(s, image, paired, true);
  const TexelBlock block = block_of(beside, below).value_or(TexelBlock{kLineTexels, 1});
  const auto across = static_cast<int32_t>(block.width), down = static_cast<int32_t>(block.height);
  const int64_t cell = int64_t{across} * down * 4;
  std::vector<int64_t> sizes;
  for (double b = double(kSmallest); b <= double(most); b *= std::exp2(1 / kPerOctave))
    if (const int64_t whole = static_cast<int64_t>(b) / cell * cell; whole >= 2 * cell && (sizes.empty() || whole > sizes.back())) sizes.push_back(whole);
  s.rounds(sizes.size(), [&](size_t i) {
    const Conditions at = {{"bytes", double(sizes[i])}};
    image.measure("chase", at, shuffled(cells(sizes[i] / cell, across, down), s));
    plain.measure("plain", at, shuffled(cells(sizes[i] / 64, kLineTexels, 1), s));
  });
  measure_reads(s);
}

}  // namespace assay::probe
