#include "runtime/virtual/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/virtual/price.h"

namespace assay::runtime::simulated {
namespace {

// Spilled vectors are on the stack.
int64_t stack_bytes(const Chip& chip, const Code& code, const ir::Kernel& kernel) {
  if (chip.threads) return chip.tells_registers ? 4 * spilled_of(chip, code) : -1;
  if (chip.registers == 0) return 0;
  int vectors = 0;
  int64_t widest = 0;
  for (const ir::Register& r : kernel.registers) {
    if (r.lanes == 1) continue;
    ++vectors;
    widest = std::max<int64_t>(widest, int64_t{r.lanes} * ir::bytes_of(r.dtype));
  }
  const int live = std::min(vectors, code.most_registers);
  return std::max(0, live - chip.registers) * widest;
}

}  // namespace

VirtualModule::VirtualModule(std::shared_ptr<Simulated> on, bool in_sequence, bool merges)
    : on_(std::move(on)),
      in_sequence_(in_sequence),
      merges_(merges),
      alone_{on_->chip, std::make_unique<Hierarchy>(on_->chip, on_->effects), {}},
      paths_(on_->chip, on_->effects),
      noise_(on_->effects.seed, on_->effects.noise) {
  if (on_->effects.neighbour.comes())
    beside_ = std::make_unique<State>(
        State{on_->beside, std::make_unique<Hierarchy>(on_->beside, on_->effects), {}});
}

Result<std::unique_ptr<Module>> VirtualModule::make(std::shared_ptr<Simulated> on,
                                                    std::span<const ir::Kernel> kernels,
                                                    int threads, bool in_sequence, bool merges,
                                                    std::span<const ir::DType> in_two) {
  auto m = std::make_unique<VirtualModule>(std::move(on), in_sequence, merges);
  const Chip& chip = m->on_->chip;
  m->build_seconds_ = m->on_->effects.build * static_cast<double>(kernels.size());
  std::this_thread::sleep_for(std::chrono::duration<double>(m->build_seconds_));
  Diags diags;
  for (const ir::Kernel& k : kernels) {
    auto code = make_code(k, chip.threads ? threads : 1);
    if (!code) {
      diags.insert(diags.end(), code.diags().begin(), code.diags().end());
      continue;
    }
    if (m->beside_) {
      m->beside_->codes.push_back(*code);
      price(m->beside_->codes.back(), m->on_->beside, in_two);
    }
    price(*code, chip, in_two);
    m->reports_.push_back({k.name, code_bytes(*code, chip), stack_bytes(chip, *code, k),
                           chip.tells_registers ? registers_of(chip, *code) : -1});
    m->kernels_.push_back(k);
    m->alone_.codes.push_back(std::move(code).value());
  }
  if (!has_error(diags)) diags = m->check_memory();
  if (has_error(diags)) return diags;
  return std::unique_ptr<Module>(std::move(m));
}

Diags VirtualModule::check_memory() const {
  Diags diags;
  const Chip& chip = on_->chip;
  if (!chip.threads) return diags;
  for (const Code& c : alone_.codes)
    if (c.scratch_bytes > 0 && static_cast<double>(c.scratch_bytes) > chip.scratch.capacity)
      diags.push_back(error(fmt::format("kernel '{}' needs {} bytes of group memory, {} has {:.0f}",
                                        c.name, c.scratch_bytes, on_->id, chip.scratch.capacity)));
  return diags;
}

Result<int> VirtualModule::allocate(int64_t bytes) {
  const Chip& chip = on_->chip;
  if (chip.allocation > 0 && static_cast<double>(bytes) > chip.allocation)
    return error(fmt::format("out of memory: {} bytes for one buffer of {}: it allows {:.0f}",
                             bytes, on_->id, chip.allocation));
  return storage_.allocate(bytes, chip.memory_bytes);
}

Result<int> VirtualModule::allocate_image(const ImageShape& shape) {
  if (shape.stored != Stored::as_type)
    return error(fmt::format("{} keeps numbers as their type: no {}", on_->id, format_name(shape)));
  const Path* const path = find_path(on_->chip, ir::Space::image);
  if (path == nullptr)
    return error(fmt::format("{} has no images: its profile has no path of that form", on_->id));
  if (static_cast<double>(shape.width) > path->max_width ||
      static_cast<double>(shape.height) > path->max_height)
    return error(fmt::format("an image of {} x {} texels: {} allows {:.0f} x {:.0f}", shape.width,
                             shape.height, on_->id, path->max_width, path->max_height));
  return allocate(shape.row_bytes() * shape.height);
}

// A host's writes bypass a GPU's caches, but fill a processor's.
void VirtualModule::fill_caches(int buffer, int64_t offset, int64_t bytes) {
  if (on_->chip.threads) return;
  Hierarchy& caches = *state().hierarchy;
  const int64_t line = caches.line(), first = (storage_.address_of(buffer) + offset) / line * line;
  for (int64_t at = first; at < storage_.address_of(buffer) + offset + bytes; at += line)
    caches.touch(at);
}

void VirtualModule::write(BufferRange to, std::span<const std::byte> data) {
  if (data.empty()) return;
  const auto bytes = static_cast<int64_t>(data.size());
  ASSAY_CHECK(to.offset >= 0 && to.offset + bytes <= storage_.bytes_of(to.buffer));
  std::memcpy(storage_.data(to.buffer) + to.offset, data.data(), data.size());
  memo_.clear();
  paths_.invalidate();
  fill_caches(to.buffer, to.offset, bytes);
}

// Only the last words can still be cached afterwards.
void VirtualModule::write_words(int buffer, std::span<const Word> words) {
  memo_.clear();
  paths_.invalidate();
  const auto all = static_cast<int64_t>(storage_.bytes_of(buffer));
  double lines = 0;
  for (const Level& l : on_->chip.levels)
    if (!l.memory) lines += 1.25 * l.capacity / l.line;
  const size_t first = words.size() - std::min(words.size(), static_cast<size_t>(lines));
  for (size_t i = 0; i < words.size(); ++i) {
    const Word& w = words[i];
    ASSAY_CHECK(w.offset >= 0 && w.offset + static_cast<int64_t>(sizeof w.value) <= all);
    std::memcpy(storage_.data(buffer) + w.offset, &w.value, sizeof w.value);
    if (i >= first) fill_caches(buffer, w.offset, 1);
  }
}

void VirtualModule::read(BufferRange from, std::span<std::byte> data) const {
  if (data.empty()) return;
  ASSAY_CHECK(from.offset >= 0 &&
              from.offset + static_cast<int64_t>(data.size()) <= storage_.bytes_of(from.buffer));
  std::memcpy(data.data(), storage_.data(from.buffer) + from.offset, data.size());
}

}  // namespace assay::runtime::simulated
