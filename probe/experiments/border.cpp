// Reads outside of images.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "ir/element.h"
#include "probe/experiments/experiments.h"
#include "probe/kernels/path.h"
#include "probe/sampling/own_kernels.h"
#include "probe/sampling/path_chase.h"

namespace assay::probe {
namespace {

constexpr std::array<std::pair<int, ir::DType>, 2> kImages = {
    {{1, ir::DType::i32}, {4, ir::DType::f32}}};  // integers, and four numbers with alpha

// A different number in every texel, none of them 0.
double held_at(int64_t column, int64_t row) {
  return static_cast<double>(1 + row * kBorderColumns + column);
}

int filled_image(OwnKernels& own, int texel, ir::DType type) {
  const auto image = own.module->allocate_image({type, texel, kBorderColumns, kBorderRows});
  if (!image) fail(image.diags());
  std::vector<double> numbers;
  for (int64_t i = 0; i < kBorderColumns * kBorderRows * texel; ++i)
    numbers.push_back(held_at(i / texel % kBorderColumns, i / texel / kBorderColumns));
  own.module->write({*image, 0}, ir::bytes_of_doubles(type, numbers));
  return *image;
}

int filled_buffer(OwnKernels& own, int64_t Touch::*side) {
  std::array<int32_t, kTouches.size()> numbers{};
  for (size_t i = 0; i < kTouches.size(); ++i) numbers[i] = static_cast<int32_t>(kTouches[i].*side);
  const int buffer = own.bench.allocate(sizeof numbers);
  own.module->write({buffer, 0}, std::as_bytes(std::span(numbers)));
  return buffer;
}

void touch(Session& s, OwnKernels& own, int texel, ir::DType type) {
  Job job;
  job.kernel = image_touch_name(texel);
  const int answers = own.bench.allocate(kTouches.size() * 4);
  job.arguments = {{filled_image(own, texel, type), 0},
                   {filled_buffer(own, &Touch::column), 0},
                   {filled_buffer(own, &Touch::row), 0},
                   {answers, 0}};
  job.queues = [](int64_t) { return std::vector<ir::Queue>{{0, 0, 1}}; };
  const runtime::Launch launch = own.bench.launch(job, 1);
  own.bench.run({&launch, 1});
  std::vector<std::byte> bytes(kTouches.size() * 4);
  own.module->read({answers, 0}, bytes);
  const std::vector<double> got = ir::doubles_of(type, bytes);
  for (size_t i = 0; i < kTouches.size(); ++i) {
    const Touch& t = kTouches[i];
    const double nearest = texel * held_at(std::clamp<int64_t>(t.column, 0, kBorderColumns - 1),
                                           std::clamp<int64_t>(t.row, 0, kBorderRows - 1));
    s.emit({"border",
            t.where,
            {{"column", double(t.column)},
             {"row", double(t.row)},
             {"texel", double(texel)},
             {"nearest", nearest}},
            "1",
            {got[i]},
            {},
            0,
            {}});
  }
}

}  // namespace

void run_border(Session& s) {
  if (number_said(s, "image_width") < kBorderColumns || s.device.fact("image_outside").empty())
    return;
  std::vector<ir::Kernel> kernels;
  for (const auto& [texel, type] : kImages) kernels.push_back(image_touch(texel, type));
  OwnKernels own(s, std::move(kernels));
  for (const auto& [texel, type] : kImages) touch(s, own, texel, type);
}

}  // namespace assay::probe
