// Loads and stores of a stream: addresses of its lanes, values and times.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/element.h"
#include "ir/graph.h"
#include "runtime/virtual/executor.h"

namespace assay::runtime::simulated {
namespace {

int size_of(const Code& code, int buffer) {
  return ir::bytes_of(code.buffers[static_cast<size_t>(buffer)].dtype);
}

}  // namespace

// For consecutive elements, or one for all lanes, at_ holds only the first.
bool Executor::positions(const Op& op) {
  if (op.kind == OpKind::indirect && op.b >= 0) return positions_of_texels(op);
  const View& view = views_[static_cast<size_t>(op.buffer)];
  int64_t low = 0, high = 0;
  const bool one = op.kind == OpKind::indirect && registers_.uniform(op.a);  // all lanes read it
  stride_ = one ? 0 : op.stride;
  const bool own = op.at.slow >= 0 || op.at.offsets >= 0;
  consecutive_ =
      masks_.empty() &&
      (one || (op.kind != OpKind::indirect && !own && (op.stride == 1 || op.stride == 0)));
  if (consecutive_) {
    low = one ? registers_.integer(op.a, 0) : index(op.at);
    high = low + (stride_ == 1 ? op.count : 1) * op.numbers - 1;
    at_[0] = low;
  } else {
    bool first = true;
    for (int l = 0; l < op.count; ++l) {
      if (!is_active(l)) continue;
      const bool by_lane = code_.width > 1 || op.at.offsets >= 0;
      const int64_t at = op.kind == OpKind::indirect ? registers_.integer(op.a, l)
                         : by_lane                   ? lane_index(op.at, l)
                                                     : index(op.at) + l * op.stride;
      at_[static_cast<size_t>(l)] = at;
      low = first ? at : std::min(low, at);
      high = first ? at : std::max(high, at);
      first = false;
    }
    if (first) return true;  // no active lane
    high += op.numbers - 1;
  }
  if (low >= 0 && high < view.elements) return true;
  fault_ = fmt::format("kernel '{}': element {} of '{}' is accessed in group {}: the buffer has {}",
                       code_.name, low < 0 ? low : high,
                       code_.buffers[static_cast<size_t>(op.buffer)].name, vars_[0], view.elements);
  pc_ = -1;
  return false;
}

// Loads and stores whose values have another type than the buffer.
void Executor::convert_values(const Op& op, bool storing) {
  const ir::DType stored = code_.buffers[static_cast<size_t>(op.buffer)].dtype;
  std::byte* memory = views_[static_cast<size_t>(op.buffer)].data;
  const int64_t size = ir::bytes_of(stored);
  const auto place = [&](int lane) {
    return memory +
           (consecutive_ ? at_[0] + lane * stride_ : at_[static_cast<size_t>(lane)]) * size;
  };
  if (storing) {
    for (int l = 0; l < op.count; ++l)
      if (is_active(l))
        ir::store_element(stored, place(l), ir::converted(stored, registers_.value(op.a, l)));
    return;
  }
  if (consecutive_ && stride_ == 0) {
    registers_.set_value(op.dst, 0, ir::load_element(stored, place(0)));
    return registers_.set_uniform(op.dst, true);
  }
  if (masked() != nullptr) registers_.spread(op.dst);
  registers_.set_uniform(op.dst, false);
  for (int l = 0; l < op.count; ++l)
    if (is_active(l)) registers_.set_value(op.dst, l, ir::load_element(stored, place(l)));
  for (int l = op.count; l < op.lanes; ++l) registers_.set_value(op.dst, l, op.number);
}

// Loads of values of several numbers: as many bytes in the buffer as in the register.
void Executor::load_packed(const Op& op) {
  const std::byte* memory = views_[static_cast<size_t>(op.buffer)].data;
  const auto size = static_cast<size_t>(size_of(code_, op.buffer)),
             value = size * static_cast<size_t>(op.numbers);
  std::byte* to = registers_.lanes(op.dst);
  const bool one = consecutive_ && stride_ == 0;
  if (masked() != nullptr) registers_.spread(op.dst);
  registers_.set_uniform(op.dst, one);
  for (int l = 0; l < (one ? 1 : op.count); ++l) {
    const int64_t at =
        consecutive_ ? at_[0] + l * stride_ * op.numbers : at_[static_cast<size_t>(l)];
    if (is_active(l))
      std::memcpy(to + static_cast<size_t>(l) * value, memory + static_cast<size_t>(at) * size,
                  value);
  }
  for (int l = op.count; l < op.lanes; ++l) registers_.set_value(op.dst, l, 0);
}

// The runs of a copy, each in a register of all its elements.
void Executor::store_runs(const Op& op) {
  std::byte* memory = views_[static_cast<size_t>(op.buffer)].data;
  const auto size = static_cast<size_t>(size_of(code_, op.buffer)),
             run = size * static_cast<size_t>(op.numbers);
  const bool one = registers_.uniform(op.a);
  const std::byte* from = registers_.one(op.a);
  for (int l = 0; l < op.count; ++l) {
    const int64_t at =
        consecutive_ ? at_[0] + l * stride_ * op.numbers : at_[static_cast<size_t>(l)];
    if (is_active(l))
      std::memcpy(memory + static_cast<size_t>(at) * size,
                  from + (one ? 0 : static_cast<size_t>(l) * run), run);
  }
}

void Executor::transfer_values(const Op& op, bool storing) {
  const ir::Buffer& buffer = code_.buffers[static_cast<size_t>(op.buffer)];
  if (buffer.texel > 1) return sum_texels(op);
  if (op.numbers > 1) return storing ? store_runs(op) : load_packed(op);
  if (buffer.dtype != op.dtype) return convert_values(op, storing);
  const auto size = static_cast<size_t>(size_of(code_, op.buffer));
  std::byte* memory = views_[static_cast<size_t>(op.buffer)].data;
  if (storing) {
    registers_.spread(op.a);
    const std::byte* from = registers_.one(op.a);
    if (consecutive_ && stride_ == 1) {
      std::memcpy(memory + static_cast<size_t>(at_[0]) * size, from,
                  size * static_cast<size_t>(op.count));
      return;
    }
    for (int l = 0; l < op.count; ++l)
      if (is_active(l))
        std::memcpy(
            memory +
                static_cast<size_t>(consecutive_ ? at_[0] : at_[static_cast<size_t>(l)]) * size,
            from + static_cast<size_t>(l) * size, size);
    return;
  }
  std::byte* to = registers_.lanes(op.dst);
  const auto put = [&](int lane, int64_t element) {
    std::memcpy(to + static_cast<size_t>(lane) * size, memory + static_cast<size_t>(element) * size,
                size);
  };
  if (consecutive_ && stride_ == 0) {
    put(0, at_[0]);
    return registers_.set_uniform(op.dst, true);
  }
  if (masked() != nullptr) registers_.spread(op.dst);
  if (consecutive_) {
    std::memcpy(to, memory + static_cast<size_t>(at_[0]) * size,
                size * static_cast<size_t>(op.count));
  } else {
    for (int l = 0; l < op.count; ++l)
      if (is_active(l)) put(l, at_[static_cast<size_t>(l)]);
  }
  registers_.set_uniform(op.dst, false);
  for (int l = op.count; l < op.lanes; ++l) registers_.set_value(op.dst, l, op.number);
}

// Bytes `first` to `last` of memory through the first cache's port. A part in another line takes as
// long as a whole line, or as all bytes if they are fewer. Uncoalesced accesses of threads take at
// least a sector.
double Executor::through_first_level(int64_t first, int64_t last, AccessKind kind, double start) {
  const int64_t line = machine_.hierarchy.line();
  const bool reads = kind == AccessKind::read;
  const double per_byte = reads ? machine_.near_read : machine_.near_write;
  const int64_t least =
      machine_.chip.threads && !consecutive_ ? machine_.chip.levels.front().sector : 1;
  const auto whole = static_cast<int>(std::clamp<int64_t>(last - first + 1, least, line));
  double done = start;
  for (int64_t at = first; at <= last;) {
    const int64_t end = std::min(last, (at | (line - 1)));
    const auto bytes = static_cast<int>(end - at + 1);
    Unit& unit = core_.unit();
    const double passed = per_byte > 0 ? core_.pass(reads ? unit.near_read : unit.near_write,
                                                    per_byte * std::max(bytes, whole), start)
                                       : start;
    done = std::max(done, machine_.hierarchy.access(port_, at, bytes, kind, passed));
    at = end + 1;
  }
  return done;
}

// Bank conflicts: one pass per different word of a bank.
double Executor::own_memory(const Op& op, AccessKind kind, double start) {
  const Scratch& own = machine_.chip.scratch;
  const int size = size_of(code_, op.buffer) * op.numbers;
  int passes = 1, active = 0;
  std::vector<std::pair<int64_t, int64_t>> words;  // bank, word
  for (int l = 0; l < op.count; ++l) {
    if (!is_active(l)) continue;
    ++active;
    if (own.banks <= 0) continue;
    const int64_t element =
        consecutive_ ? at_[0] + l * stride_ * op.numbers : at_[static_cast<size_t>(l)];
    const int64_t word =
        (views_[static_cast<size_t>(op.buffer)].address + element * size / op.numbers) /
        own.bank_bytes;
    words.emplace_back(word % own.banks, word);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  for (size_t i = 0, run = 1; i + 1 < words.size(); ++i) {
    run = words[i + 1].first == words[i].first ? run + 1 : 1;
    passes = std::max(passes, static_cast<int>(run));
  }
  const bool reads = kind == AccessKind::read, one = consecutive_ && stride_ == 0;
  const double whole = (reads ? machine_.own_read : machine_.own_write) * size * (one ? 1 : active);
  const double busy = (own.banks > 0 ? std::max(whole, double(passes)) : whole) / op.joined;
  const double passed = core_.pass(core_.unit().own_memory, busy, start);
  return reads ? passed + machine_.own_latency + (passes - 1) : passed;
}

double Executor::access(const Op& op, AccessKind kind, double start) {
  if (!timed_) return start;
  const int size = size_of(code_, op.buffer);
  const View& view = views_[static_cast<size_t>(op.buffer)];
  const bool scratch = code_.buffers[static_cast<size_t>(op.buffer)].scope == ir::Scope::scratch;
  const ir::Space space = code_.buffers[static_cast<size_t>(op.buffer)].space;
  if (const int path = space == ir::Space::plain || machine_.paths == nullptr
                           ? -1
                           : machine_.paths->number_of(space);
      path >= 0)
    return through_path(op, path, start);
  if (scratch && machine_.chip.threads && !machine_.chip.scratch.in_memory)
    return own_memory(op, kind, start);
  const auto byte = [&](int64_t element) { return view.address + element * size; };
  if (consecutive_)
    return through_first_level(
        byte(at_[0]), byte(at_[0] + (stride_ == 1 ? op.count : 1) * op.numbers) - 1, kind, start);
  // Coalescing: neighbouring lanes in one line are one access.
  const int64_t line = machine_.hierarchy.line();
  double done = start;
  int64_t first = -1, last = -1;
  for (int l = 0; l < op.count; ++l) {
    if (!is_active(l)) continue;
    const int64_t begin = byte(at_[static_cast<size_t>(l)]), end = begin + size * op.numbers - 1;
    if (first >= 0 && begin / line == first / line && end / line == last / line) {
      first = std::min(first, begin);
      last = std::max(last, end);
      continue;
    }
    if (first >= 0) {
      done = std::max(done, through_first_level(first, last, kind, start));
      ++extra_accesses_;
    }
    first = begin;
    last = end;
  }
  return first >= 0 ? std::max(done, through_first_level(first, last, kind, start)) : done;
}

void Executor::load(const Op& op) {
  zeros_.clear();
  if (!positions(op)) return;
  const double start = core_.begin(op, std::max({ready(op.a), ready(op.b), index_ready_}));
  const double done = core_.convert(op, access(op, AccessKind::read, start));
  set_ready(op.dst, done);
  core_.end(done);
  if (!op.needed) return;
  transfer_values(op, false);
  for (const int lane : zeros_) registers_.set_value(op.dst, lane, 0);
}

void Executor::store(const Op& op) {
  if (!positions(op)) return;
  const double start = core_.begin(op, std::max(ready(op.a), index_ready_));
  const AccessKind kind =
      op.hint == ir::CacheHint::none ? AccessKind::write : AccessKind::stream_write;
  core_.end(access(op, kind, core_.convert(op, start)));
  transfer_values(op, true);
}

// Additions to one address are serialised over all units; those to different addresses overlap. In
// group memory, conflicts within a wave occupy the unit's port.
void Executor::atomic(const Op& op) {
  if (!positions(op)) return;
  const double start = core_.begin(op, std::max(ready(op.a), index_ready_));
  const View& view = views_[static_cast<size_t>(op.buffer)];
  const bool own = code_.buffers[static_cast<size_t>(op.buffer)].scope == ir::Scope::scratch &&
                   machine_.chip.threads;
  if (op.dst >= 0) registers_.spread(op.dst);
  double done = start;
  std::unordered_map<int64_t, int> asked;
  int most_at_one = 0;
  for (int l = 0; l < op.count; ++l) {
    if (!is_active(l)) continue;
    const int64_t element = consecutive_ ? at_[0] + l * op.stride : at_[static_cast<size_t>(l)];
    auto* held = reinterpret_cast<int32_t*>(view.data) + element;
    const int32_t before = *held;
    *held = static_cast<int32_t>(static_cast<uint32_t>(before) +
                                 static_cast<uint32_t>(registers_.integer(op.a, l)));
    if (op.dst >= 0) registers_.set_value(op.dst, l, before);
    if (own) {
      most_at_one = std::max(most_at_one, ++asked[element]);
      continue;
    }
    double& free = machine_.atomics_free[view.address + element * 4];
    const double begins = std::max(free, start);
    free = begins + machine_.atomic_interval;
    done = std::max(done, begins);
  }
  if (most_at_one > 0)
    done = core_.pass(core_.unit().own_memory, most_at_one * machine_.own_atomic_interval, start) +
           (most_at_one - 1) * machine_.own_atomic_interval;
  if (op.dst >= 0) registers_.set_uniform(op.dst, false);
  done += own ? machine_.own_atomic_latency : machine_.atomic_latency;
  if (op.dst >= 0) set_ready(op.dst, done);
  core_.end(done);
}

void Executor::locate(const Op& op) {
  if (!positions(op)) return;
  const double start = core_.begin(op, index_ready_);
  index_ready_ = access(op, AccessKind::read, start);
  core_.end(index_ready_);
  const std::byte* from =
      views_[static_cast<size_t>(op.buffer)].data + at_[0] * size_of(code_, op.buffer);
  set_var(op.var, ir::position_of(ir::load_element(op.dtype, from), static_cast<int64_t>(op.number))
                      .value_or(-1));
}

}  // namespace assay::runtime::simulated
