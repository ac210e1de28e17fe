// Kernels with arguments in spaces of their own, run and held against the interpreter.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "codegen/interpret.h"
#include "codegen/space_kernels.h"
#include "runtime/device.h"

namespace assay::runtime {

// Buffers as the kernel wants them, filled. Errors: the device has no such image.
inline Result<Launch> place(Module& m, const ir::Kernel& k, const std::vector<std::vector<double>>& numbers) {
  Launch launch{0, {}, {}};
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const ir::Buffer& b = k.buffers[i];
    const auto bytes = ir::bytes_of_doubles(b.dtype, numbers[i]);
    const Result<int> made = b.space == ir::Space::image ? m.allocate_image({b.dtype, b.texel, b.row, b.elements / b.row}) : m.allocate(static_cast<int64_t>(bytes.size()));
    if (!made) return made.diags();
    launch.arguments.push_back({*made, 0});
    m.write(launch.arguments.back(), bytes);
  }
  return launch;
}

// "right": every buffer holds what it does behind the interpreter; else what happened instead.
inline std::string told_of(Device& device, const ir::Kernel& k, const hwdesc::Target& target, const LoadOptions& options, std::mt19937& rng) {
  const auto loaded = device.load(std::vector{k}, target, options);
  if (!loaded.ok()) return render(loaded.diags());
  Module& m = **loaded;
  auto expected = testing::random_numbers(rng, k);
  const auto given = expected;
  const Result<Launch> launch = place(m, k, given);
  if (!launch.ok()) return render(launch.diags());
  if (const auto times = m.run(std::vector{*launch}, {}); !times.ok()) return render(times.diags());
  if (const auto counts = codegen::interpret(k, expected); !counts.ok()) return render(counts.diags());
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    std::vector<std::byte> bytes(given[b].size() * static_cast<size_t>(ir::bytes_of(k.buffers[b].dtype)));
    m.read(launch->arguments[b], bytes);
    if (ir::doubles_of(k.buffers[b].dtype, bytes) != expected[b]) return fmt::format("buffer {} is not what the interpreter has, of\n{}", b, ir::print_kernel(k));
  }
  return "right";
}

}  // namespace assay::runtime
