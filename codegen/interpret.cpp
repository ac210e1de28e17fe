#include "codegen/interpret.h"

#include <fmt/format.h>

#include "codegen/interpreter.h"
#include "ir/graph.h"

namespace assay::codegen {
namespace {

Diags faults_of(const ir::Kernel& k, std::span<std::vector<double>> buffers) {
  Diags diags = verify(k);
  const auto fail = [&](const std::string& what) {
    diags.push_back(error(fmt::format("kernel '{}': {}", k.name, what)));
  };
  const auto check_type = [&](const std::string& name, ir::DType t) {
    if (t == ir::DType::boolean)
      fail(fmt::format("'{}' has elements of type {}, which are not interpreted", name,
                       ir::name_of(t)));
  };
  size_t arguments = 0;
  for (const ir::Buffer& b : k.buffers) {
    check_type(b.name, b.dtype);
    if (b.scope == ir::Scope::scratch) continue;
    if (const int64_t numbers = b.elements * b.texel;
        arguments < buffers.size() && buffers[arguments].size() != static_cast<size_t>(numbers))
      fail(fmt::format("'{}' has {} elements, was given {}", b.name, numbers,
                       buffers[arguments].size()));
    ++arguments;
  }
  if (arguments != buffers.size())
    fail(fmt::format("it takes {} arguments, was given {}", arguments, buffers.size()));
  for (const ir::Register& r : k.registers) check_type(r.name, r.dtype);
  return diags;
}

}  // namespace

Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<double>> buffers,
                                 int64_t first, int64_t last) {
  Diags faults = faults_of(kernel, buffers);
  if (has_error(faults)) return faults;
  Interpreter m{kernel, buffers};
  m.scratch.resize(kernel.buffers.size());
  m.registers.resize(kernel.registers.size());
  m.indices.assign(kernel.index_names.size(), 0);
  try {
    for (int64_t g = first; g < last; ++g) m.run_group(g);
  } catch (const Fault& f) {
    return error(fmt::format("kernel '{}': {}", kernel.name, f.what));
  }
  return m.counts;
}

Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<double>> buffers) {
  return interpret(kernel, buffers, 0, kernel.groups);
}

Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<float>> buffers) {
  return interpret(kernel, buffers, 0, kernel.groups);
}

Result<ExecutedCounts> interpret(const ir::Kernel& kernel, std::span<std::vector<float>> buffers,
                                 int64_t first, int64_t last) {
  std::vector<std::vector<double>> exact;
  for (const auto& b : buffers) exact.emplace_back(b.begin(), b.end());
  const auto counts = interpret(kernel, exact, first, last);
  for (size_t b = 0; counts.ok() && b < buffers.size(); ++b)
    std::transform(exact[b].begin(), exact[b].end(), buffers[b].begin(),
                   [](double v) { return static_cast<float>(v); });
  return counts;
}

}  // namespace assay::codegen
