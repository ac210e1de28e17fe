#include "runtime/cpu/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "codegen/render.h"
#include "runtime/cpu/scheduled.h"
#include "runtime/phases.h"

namespace assay::runtime::cpu {
namespace {

std::span<std::byte> part_of(std::span<const Memory> buffers, BufferRange range, size_t bytes) {
  ASSAY_CHECK(range.buffer >= 0 && static_cast<size_t>(range.buffer) < buffers.size());
  const auto all = buffers[static_cast<size_t>(range.buffer)].bytes();
  ASSAY_CHECK(range.offset >= 0 && static_cast<size_t>(range.offset) <= all.size());
  const auto rest = all.subspan(static_cast<size_t>(range.offset));
  ASSAY_CHECK(bytes <= rest.size());
  return rest.first(bytes);
}

// First touch: each unit zeroes its even share of the pages.
void touch(Pool& pool, std::span<std::byte> bytes) {
  const auto units = static_cast<size_t>(pool.size());
  pool.run(pool.size(), [&](int unit) {
    const auto u = static_cast<size_t>(unit);
    const size_t begin = bytes.size() * u / units, end = bytes.size() * (u + 1) / units;
    std::memset(bytes.data() + begin, 0, end - begin);
  });
}

}  // namespace

Result<std::unique_ptr<Module>> CpuModule::make(std::shared_ptr<Pool> pool,
                                                std::span<const ir::Kernel> kernels,
                                                const Build& build, bool guarded, Diags warnings) {
  auto m = std::make_unique<CpuModule>();
  m->pool_ = std::move(pool);
  m->guarded_ = guarded;
  m->build_seconds_ = build.seconds;
  m->warnings_ = std::move(warnings);
  Diags diags = m->load(kernels, build);
  if (!has_error(diags)) diags = m->allocate_scratch();
  if (has_error(diags)) return diags;
  return std::unique_ptr<Module>(std::move(m));
}

Diags CpuModule::load(std::span<const ir::Kernel> kernels, const Build& build) {
  std::map<std::filesystem::path, size_t> opened;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const BuiltKernel& b = build.kernels[i];
    if (!opened.contains(b.file)) {
      auto library = Library::open(b.file);
      if (!library) return library.diags();
      opened[b.file] = libraries_.size();
      libraries_.push_back(std::move(library).value());
    }
    const auto symbol = libraries_[opened[b.file]].find(b.symbol);
    if (!symbol) return symbol.diags();
    kernels_.push_back({kernels[i], symbol->entry});
    reports_.push_back({kernels[i].name, symbol->code_bytes, b.stack_bytes});
  }
  return {};
}

Diags CpuModule::allocate_scratch() {
  int64_t most = 0;
  for (const LoadedKernel& k : kernels_) most = std::max(most, codegen::scratch_bytes(k.kernel));
  for (int unit = 0; unit < pool_->size(); ++unit) {
    auto memory = Memory::allocate(most, guarded_);
    if (!memory) return memory.diags();
    scratch_.push_back(std::move(memory).value());
  }
  pool_->run(pool_->size(), [&](int unit) {
    const auto bytes = scratch_[static_cast<size_t>(unit)].bytes();
    std::memset(bytes.data(), 0, bytes.size());
  });
  return {};
}

Result<int> CpuModule::allocate(int64_t bytes) {
  auto memory = Memory::allocate(bytes, guarded_);
  if (!memory) return memory.diags();
  touch(*pool_, memory->bytes());
  buffers_.push_back(std::move(memory).value());
  return static_cast<int>(buffers_.size()) - 1;
}

void CpuModule::write(BufferRange to, std::span<const std::byte> data) {
  if (!data.empty())
    std::memcpy(part_of(buffers_, to, data.size()).data(), data.data(), data.size());
}

void CpuModule::write_words(int buffer, std::span<const Word> words) {
  for (const Word& w : words) write({buffer, w.offset}, std::as_bytes(std::span(&w.value, 1)));
}

void CpuModule::read(BufferRange from, std::span<std::byte> data) const {
  if (!data.empty())
    std::memcpy(data.data(), part_of(buffers_, from, data.size()).data(), data.size());
}

Result<RunTimes> CpuModule::run_in_order(std::span<const Launch> launches,
                                         const RunOptions& options) {
  const auto ready = resolve(launches, kernels_, buffers_, pool_->size());
  if (!ready) return ready.diags();
  return run_launches(*pool_, *ready, scratch_, options);
}

Result<RunTimes> CpuModule::run(std::span<const Launch> launches, const RunOptions& options) {
  if (options.recorded)
    return error("a CPU's threads have no command buffer in which launches could be recorded");
  if (Diags none = refuse_phases("the CPU", options); has_error(none)) return none;
  auto times = options.schedule.empty()
                   ? run_in_order(launches, options)
                   : run_schedule(*pool_, launches, kernels_, buffers_, scratch_, options);
  Diags damage;
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (!buffers_[i].intact())
      damage.push_back(error(fmt::format("a kernel wrote outside buffer {}", i)));
  for (size_t u = 0; u < scratch_.size(); ++u)
    if (!scratch_[u].intact())
      damage.push_back(error(fmt::format("a kernel wrote outside the scratch of unit {}", u)));
  if (has_error(damage)) return damage;
  return times;
}

}  // namespace assay::runtime::cpu
