// GridSample and RoiAlign against loops in float64.
#include <cmath>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

using onnx::TensorProto;

double at(const Floats& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); }

std::string faults(const ModelBuilder& m) {
  const Result<ir::Graph> g = m.import();
  return g.ok() ? "" : render(g.diags());
}

// Step by step: a position outside is turned back at the end that it passes.
double reflected(double x, double low, double high) {
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

struct Image {
  int64_t height = 5, width = 4;
  Floats values;
  std::string padding;
  bool align = false;

  int64_t inside(int64_t i, int64_t extent) const {  // -1: nothing is there
    if (padding == "border") return std::clamp<int64_t>(i, 0, extent - 1);
    if (padding == "reflection")
      return std::lround(reflected(static_cast<double>(i), align ? 0 : -0.5,
                                   static_cast<double>(extent) - (align ? 1 : 0.5)));
    return i < 0 || i >= extent ? -1 : i;
  }

  double pixel(int64_t y, int64_t x) const {
    y = inside(y, height);
    x = inside(x, width);
    return y < 0 || x < 0 ? 0 : at(values, y * width + x);
  }

  // The coordinate in elements of a position in [-1, 1].
  double coordinate(double position, int64_t extent, bool cubic) const {
    const double n = static_cast<double>(extent);
    const double x = align ? (position + 1) / 2 * (n - 1) : ((position + 1) * n - 1) / 2;
    if (padding == "border" && !cubic) return std::clamp(x, 0.0, n - 1);
    return padding == "reflection" ? reflected(x, align ? 0 : -0.5, n - (align ? 1 : 0.5)) : x;
  }

  double sample(const std::string& mode, double px, double py) const {
    const bool cubic = mode == "cubic";
    const double x = coordinate(px, width, cubic), y = coordinate(py, height, cubic);
    if (mode == "nearest")
      return pixel(std::lround(std::nearbyint(y)), std::lround(std::nearbyint(x)));
    const auto weight = [&](double t) {
      t = std::abs(t);
      if (!cubic) return std::max(0.0, 1 - t);
      constexpr double a = -0.75;
      if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
      return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
    };
    double sum = 0;
    const int64_t y0 = std::lround(std::floor(y)), x0 = std::lround(std::floor(x));
    for (int64_t i = y0 - 1; i <= y0 + 2; ++i)
      for (int64_t j = x0 - 1; j <= x0 + 2; ++j)
        sum +=
            weight(y - static_cast<double>(i)) * weight(x - static_cast<double>(j)) * pixel(i, j);
    return sum;
  }
};

TEST(ImportGridSample, EveryModeAndPadding) {
  Random random(91);
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const bool align : {false, true}) {
        Image image;
        image.padding = padding;
        image.align = align;
        const Floats x = random.floats({2, 3, 5, 4}), grid = random.floats({2, 3, 2, 2}, -2.3, 2.3);
        std::vector<double> want;
        for (int64_t n = 0; n < 2; ++n)
          for (int64_t c = 0; c < 3; ++c)
            for (int64_t p = 0; p < 6; ++p) {
              image.values.assign(x.begin() + (n * 3 + c) * 20, x.begin() + (n * 3 + c + 1) * 20);
              const int64_t place = (n * 6 + p) * 2;
              want.push_back(image.sample(mode, at(grid, place), at(grid, place + 1)));
            }
        ModelBuilder m(20);
        m.input("x", {2, 3, 5, 4}, x).input("grid", {2, 3, 2, 2}, grid).output("y");
        m.node("GridSample", {"x", "grid"}, {"y"})
            .set("mode", mode)
            .set("padding_mode", padding)
            .set("align_corners", align ? 1 : 0);
        SCOPED_TRACE(std::string(mode) + " " + padding + (align ? " aligned" : ""));
        Shape shape;
        expect_near(m.run(&shape), want, 1e-5);
        EXPECT_EQ(shape, (Shape{2, 3, 3, 2}));
      }
}

// The grid's positions are x, y, z; the image is z, y, x. In the middle of two elements of each.
TEST(ImportGridSample, OfThreeDimensionsAndOfOne) {
  ModelBuilder m(20);
  m.input("x", {1, 1, 2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
      .input("grid", {1, 1, 1, 2, 3}, {1, -1, -1, 0.5F, 0, 0})
      .output("y");
  m.node("GridSample", {"x", "grid"}, {"y"}).set("align_corners", 1);
  expect_near(m.run(), {2, 1.5 + 1.5 + 3});
  ModelBuilder line(20);
  line.input("x", {1, 1, 3}, {1, 3, 9}).input("grid", {1, 2, 1}, {-0.5F, 1}).output("y");
  line.node("GridSample", {"x", "grid"}, {"y"}).set("align_corners", 1);
  expect_near(line.run(), {2, 9});
}

TEST(ImportGridSample, ReadsItsNeighboursOnly) {
  ModelBuilder m(16);
  m.input("x", {1, 2, 64, 64}, Floats(8192)).input("grid", {1, 3, 3, 2}, Floats(18)).output("y");
  m.node("GridSample", {"x", "grid"}, {"y"}).set("mode", "bilinear");
  double points = 0;
  const Result<ir::Graph> g = m.import();
  ASSERT_TRUE(g.ok()) << render(g.diags());
  for (const ir::Node& n : g->nodes)
    if (n.op == "sample") points += ir::points_of(n);
  EXPECT_EQ(points, 9 * 2 * 4);
}

TEST(ImportGridSample, RefusesWhatItCanNotSay) {
  ModelBuilder word(20);
  word.input("x", {1, 1, 4, 4}).input("grid", {1, 3, 3, 2}).output("y");
  word.node("GridSample", {"x", "grid"}, {"y"}).set("mode", "lanczos");
  EXPECT_NE(faults(word).find("mode lanczos is not known\nhint: there are nearest, linear"),
            std::string::npos)
      << faults(word);
  ModelBuilder large(20);
  large.input("x", {1, 1, 4096, 4096}).input("grid", {1, 3, 3, 2}).output("y");
  large.node("GridSample", {"x", "grid"}, {"y"});
  EXPECT_NE(faults(large).find("images of 16777216 places: f32 represents 16777215 exactly"),
            std::string::npos)
      << faults(large);
}

struct Regions {
  int64_t height = 6, width = 7, rows = 3, columns = 2, samples = 2;
  double scale = 0.75, shift = 0.5;
  bool largest = false;

  // The four neighbours of a point with their weights, and what the mode makes of them.
  double point(const Floats& x, int64_t image, double py, double px, double found) const {
    if (py < -1 || px < -1 || py > static_cast<double>(height) || px > static_cast<double>(width))
      return largest ? std::max(found, 0.0) : found;
    const double y = std::clamp(py, 0.0, static_cast<double>(height - 1)),
                 z = std::clamp(px, 0.0, static_cast<double>(width - 1));
    const int64_t y0 = std::lround(std::floor(y)), x0 = std::lround(std::floor(z));
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j) {
        const double fy = y - static_cast<double>(y0), fx = z - static_cast<double>(x0);
        const double term = (i ? fy : 1 - fy) * (j ? fx : 1 - fx) *
                            at(x, (image * height + std::min(y0 + i, height - 1)) * width +
                                      std::min(x0 + j, width - 1));
        found =
            largest ? std::max(found, term) : found + term / static_cast<double>(samples * samples);
      }
    return found;
  }

  double bin(const Floats& x, int64_t image, const double* box, int64_t r, int64_t c) const {
    const auto span = [&](int64_t corner, int64_t bins, int64_t place, int64_t s) {
      const double first = box[corner] * scale - shift, last = box[corner + 2] * scale - shift;
      const double size =
          (shift == 0 ? std::max(last - first, 1.0) : last - first) / static_cast<double>(bins);
      return first + static_cast<double>(place) * size +
             (static_cast<double>(s) + 0.5) * size / static_cast<double>(samples);
    };
    double found = largest ? -INFINITY : 0;
    for (int64_t i = 0; i < samples; ++i)
      for (int64_t j = 0; j < samples; ++j)
        found = point(x, image, span(1, rows, r, i), span(0, columns, c, j), found);
    return found;
  }
};

TEST(ImportRoiAlign, MeanAndMaximumOfSamples) {
  const Floats x = Random(92).floats({2, 3, 6, 7});
  const Floats boxes = {1, 1, 6, 5, 0, 0, 9.5F, 7, -3.1F, 2, 4, 4, 3, 3, 3, 3, 2, 1, 20, 30};
  const Floats images = {0, 1, 1, 0, 1};
  for (const bool largest : {false, true})
    for (const bool shifted : {false, true}) {
      Regions r;
      r.largest = largest;
      r.shift = shifted ? 0.5 : 0;
      std::vector<double> want;
      for (int64_t box = 0; box < 5; ++box)
        for (int64_t c = 0; c < 3; ++c)
          for (int64_t bin = 0; bin < 6; ++bin) {
            const std::vector<double> corners(boxes.begin() + box * 4, boxes.begin() + box * 4 + 4);
            const int64_t image = static_cast<int64_t>(at(images, box)) * 3 + c;
            want.push_back(r.bin(x, image, corners.data(), bin / 2, bin % 2));
          }
      ModelBuilder m(16);
      m.input("x", {2, 3, 6, 7}, x)
          .input("rois", {5, 4}, boxes)
          .input("images", {5}, images, TensorProto::INT64)
          .output("y");
      m.node("RoiAlign", {"x", "rois", "images"}, {"y"})
          .set("mode", largest ? "max" : "avg")
          .set("coordinate_transformation_mode", shifted ? "half_pixel" : "output_half_pixel")
          .set("output_height", 3)
          .set("output_width", 2)
          .set("sampling_ratio", 2)
          .set("spatial_scale", 0.75F);
      Shape shape;
      expect_near(m.run(&shape), want, 1e-5);
      EXPECT_EQ(shape, (Shape{5, 3, 3, 2}));
    }
}

TEST(ImportRoiAlign, RefusesSamplesThatDependOnValues) {
  ModelBuilder m(16);
  m.input("x", {1, 1, 4, 4}).input("rois", {1, 4}).input("images", {1}, {}, TensorProto::INT64);
  m.output("y").node("RoiAlign", {"x", "rois", "images"}, {"y"});
  EXPECT_NE(faults(m).find("sampling_ratio = 0 is not supported, only 1 to 64\nhint: with 0 the "
                           "number of samples depends on the regions' values"),
            std::string::npos)
      << faults(m);
}

}  // namespace
}  // namespace assay::import
