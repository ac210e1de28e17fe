#include "runtime/virtual/module.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/launch.h"
#include "runtime/virtual/price.h"

namespace assay::runtime::simulated {
namespace {

constexpr double kLie = 1.0 / 16;  // share of the time that it reports

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

VirtualModule::VirtualModule(std::shared_ptr<Simulated> on, bool in_sequence)
    : on_(std::move(on)),
      in_sequence_(in_sequence),
      alone_{on_->chip, std::make_unique<Hierarchy>(on_->chip, on_->effects), {}},
      paths_(on_->chip, on_->effects),
      noise_(on_->effects.seed, on_->effects.noise) {
  if (on_->effects.neighbour.comes())
    beside_ = std::make_unique<State>(
        State{on_->beside, std::make_unique<Hierarchy>(on_->beside, on_->effects), {}});
}

Result<std::unique_ptr<Module>> VirtualModule::make(std::shared_ptr<Simulated> on,
                                                    std::span<const ir::Kernel> kernels,
                                                    int threads, bool in_sequence,
                                                    std::span<const ir::DType> in_two) {
  auto m = std::make_unique<VirtualModule>(std::move(on), in_sequence);
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

double VirtualModule::clock() const {
  const Effects& e = on_->effects;
  double part = 1;
  if (e.ramp_over > 0 && on_->worked < e.ramp_over)
    part = e.ramp_from + (1 - e.ramp_from) * on_->worked / e.ramp_over;
  if (e.throttle_after > 0 && on_->worked >= e.throttle_after) part = std::min(part, e.throttle_to);
  if (disturbed_) part *= e.neighbour.clock;
  return on_->chip.clock * part;
}

bool VirtualModule::is_disturbed() const {
  const Neighbour& n = on_->effects.neighbour;
  return n.comes() && std::fmod(on_->worked, n.every) < n.lasts;
}

// Who comes or leaves evicts all lines.
void VirtualModule::follow_neighbour() {
  if (is_disturbed() == disturbed_) return;
  disturbed_ = !disturbed_;
  state().hierarchy = std::make_unique<Hierarchy>(state().chip, on_->effects);
  memo_.clear();
}

bool VirtualModule::fails_now(int64_t run) {
  const Fault& f = on_->effects.fault;
  if (f.kind == FaultKind::none) return false;
  return f.at < 1 ? noise_.uniform() < f.at : static_cast<double>(run) == f.at;
}

std::vector<Crossing> VirtualModule::moved() const {
  const std::vector<Hierarchy::Bytes> bytes = state().hierarchy->moved();
  const std::vector<Level>& levels = state().chip.levels;
  std::vector<Crossing> out;
  for (size_t k = 0; k < bytes.size(); ++k)
    out.push_back({levels[k].name + "<-" + levels[k + 1].name, bytes[k].read, bytes[k].written});
  return out;
}

Result<LaunchMemo::Took> VirtualModule::busy(const Launch& launch, double hz, int64_t& executed) {
  State& now = state();
  const Chip& chip = now.chip;
  const auto number = static_cast<size_t>(launch.kernel);
  std::vector<View> views;
  size_t argument = 0;
  for (const ir::Buffer& b : kernels_[number].buffers) {
    if (b.scope != ir::Scope::global) continue;
    const BufferRange& r = launch.arguments[argument++];
    const int64_t bytes = storage_.bytes_of(r.buffer) - r.offset;
    views.push_back({storage_.data(r.buffer) + r.offset, bytes / (b.texel * ir::bytes_of(b.dtype)),
                     storage_.address_of(r.buffer) + r.offset});
  }
  if (auto known = memo_.look_up(launch, hz)) return std::move(*known);
  const int64_t groups = kernels_[number].groups;
  const int active = active_units(chip, launch, groups);
  now.hierarchy->begin(hz, active);
  paths_.begin(hz);
  const Level& near = chip.levels.front();
  Machine machine{chip, *now.hierarchy, products_, hz};
  if (near.unit_wide) {
    machine.near_read = 1 / near.read.at(hz);
    machine.near_write = 1 / near.write.at(hz);
  }
  if (chip.scratch.exists) {
    machine.own_read = 1 / chip.scratch.read.at(hz);
    machine.own_write = 1 / chip.scratch.write.at(hz);
    machine.own_latency = chip.scratch.latency.at(hz);
  }
  machine.atomic_interval = chip.atomic.interval;
  machine.atomic_latency = chip.atomic.latency.at(hz);
  machine.own_atomic_interval = chip.own_atomic.interval;
  machine.own_atomic_latency = chip.own_atomic.latency.at(hz);
  machine.group_start = chip.group_start * hz;
  machine.streams = active;
  machine.paths = &paths_;
  const Outcome outcome =
      simulate(machine, now.codes[number], views, launch, groups, chip.wakeup_skew * hz);
  if (!outcome.fault.empty()) return error(outcome.fault);
  executed += outcome.executed;
  LaunchMemo::Took took{outcome.ticks, moved()};
  memo_.note(launch, now.codes[number], hz, took);
  return took;
}

Result<RunTimes> VirtualModule::run(std::span<const Launch> launches, const RunOptions& options) {
  if (options.repeat < 0 || options.warm_up < 0)
    return error("repeat and warm_up can not be negative");
  const Diags faults = check_launches(launches, kernels_, storage_.size(),
                                      [&](int b) { return storage_.bytes_of(b); });
  if (has_error(faults)) return faults;
  const Chip& chip = on_->chip;
  if (options.recorded && chip.graph <= 0)
    return error(fmt::format("{} records no launches: its profile knows no launch.graph", on_->id));
  const bool fails = fails_now(++on_->runs);
  const FaultKind kind = fails ? on_->effects.fault.kind : FaultKind::none;
  if (kind == FaultKind::error)
    return error(fmt::format("{}: the device was lost in run {}", on_->id, on_->runs),
                 "its effects ask for it");
  if (kind == FaultKind::crash) std::abort();
  while (kind == FaultKind::hang) ::pause();
  RunTimes times;
  for (int r = -options.warm_up; r < options.repeat; ++r) {
    std::vector<double> steps, works;
    double total = 0;
    times.moved.clear();
    for (const Launch& launch : launches) {
      if (options.cancel != nullptr && options.cancel->load()) return error("cancelled");
      follow_neighbour();
      const double hz = clock();
      auto took = busy(launch, hz, times.executed);
      if (!took) return took.diags();
      times.moved.push_back(std::move(took->moved));
      const double seconds = took->ticks / hz;
      on_->worked += seconds;
      const double work = seconds * noise_.factor(),
                   said = kind == FaultKind::lies ? work * kLie : work;
      const double overhead = options.recorded ? chip.graph
                              : in_sequence_   ? chip.barrier
                                               : chip.launch;
      works.push_back(said);
      steps.push_back(said + overhead);
      total += work + overhead;  // by the host's clock, which does not lie
    }
    if (r < 0) continue;
    // The host waits for the first launch, which costs an eager launch.
    if (!steps.empty()) {
      const double wait = std::max(0.0, chip.eager - (in_sequence_ ? chip.barrier : chip.launch));
      steps.front() += wait;
      total += wait;
    }
    times.total.push_back(total);
    if (options.recorded) continue;
    times.steps.push_back(std::move(steps));
    times.busy.push_back(std::move(works));
  }
  return times;
}

}  // namespace assay::runtime::simulated
