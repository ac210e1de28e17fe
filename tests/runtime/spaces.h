// Kernels with constants and images, compared with the interpreter.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "codegen/interpret.h"
#include "runtime/device.h"
#include "tests/codegen/space_kernels.h"

namespace assay::runtime {

// The argument's bytes; images have a storage format.
inline std::vector<std::byte> encoded(const ir::Buffer& b, const std::vector<double>& numbers,
                                      Stored stored) {
  if (b.space != ir::Space::image || stored == Stored::as_type)
    return ir::bytes_of_doubles(b.dtype, numbers);
  if (stored == Stored::f16) return ir::bytes_of_doubles(ir::DType::f16, numbers);
  std::vector<std::byte> out;
  for (const double v : numbers) out.push_back(static_cast<std::byte>(std::lround(v * 255)));
  return out;
}

// Numbers that the storage format holds exactly.
inline std::vector<std::vector<double>> numbers_for(const ir::Kernel& k, Stored stored,
                                                    std::mt19937& rng) {
  auto out = assay::testing::random_numbers(rng, k);
  for (size_t b = 0; b < out.size(); ++b)
    for (double& v : out[b])
      if (stored == Stored::unorm8 && k.buffers[b].space == ir::Space::image)
        v = double{static_cast<float>(testing::between(rng, 0, 255)) / 255.0f};
  return out;
}

// Allocates and fills the kernel's buffers. Errors: the device has no such image.
inline Result<Launch> place(Module& m, const ir::Kernel& k,
                            const std::vector<std::vector<double>>& numbers, Stored stored) {
  Launch launch{0, {}, {}};
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const ir::Buffer& b = k.buffers[i];
    const auto bytes = encoded(b, numbers[i], stored);
    const Result<int> made =
        b.space == ir::Space::image
            ? m.allocate_image({b.dtype, b.texel, b.row, b.elements / b.row, stored})
            : m.allocate(static_cast<int64_t>(bytes.size()));
    if (!made) return made.diags();
    launch.arguments.push_back({*made, 0});
    m.write(launch.arguments.back(), bytes);
  }
  return launch;
}

// Normalised bytes are accurate to f32 rounding; all else is exact.
inline bool agree(const std::vector<double>& got, const std::vector<double>& expected,
                  Stored stored) {
  for (size_t i = 0; i < got.size(); ++i)
    if (!(std::abs(got[i] - expected[i]) <= (stored == Stored::unorm8 ? 1e-5 : 0))) return false;
  return true;
}

// "right": every buffer is as after the interpreter; else the difference or error.
inline std::string told_of(Device& device, const ir::Kernel& k, const hwdesc::Target& target,
                           const LoadOptions& options, std::mt19937& rng,
                           Stored stored = Stored::as_type) {
  const auto loaded = device.load(std::vector{k}, target, options);
  if (!loaded.ok()) return render(loaded.diags());
  Module& m = **loaded;
  auto expected = numbers_for(k, stored, rng);
  const Result<Launch> launch = place(m, k, expected, stored);
  if (!launch.ok()) return render(launch.diags());
  if (const auto times = m.run(std::vector{*launch}, {}); !times.ok()) return render(times.diags());
  if (const auto counts = codegen::interpret(k, expected); !counts.ok())
    return render(counts.diags());
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    const std::vector<std::byte> wanted = encoded(k.buffers[b], expected[b], stored);
    std::vector<std::byte> bytes(wanted.size());
    m.read(launch->arguments[b], bytes);
    const bool right = k.buffers[b].written
                           ? agree(ir::doubles_of(k.buffers[b].dtype, bytes), expected[b], stored)
                           : bytes == wanted;
    if (!right)
      return fmt::format(
          "buffer {} of images stored as {} holds {}, ..., and after the interpreter {}, ..., "
          "of\n{}",
          b, static_cast<int>(stored), ir::doubles_of(k.buffers[b].dtype, bytes)[0], expected[b][0],
          ir::print_kernel(k));
  }
  return "right";
}

}  // namespace assay::runtime
