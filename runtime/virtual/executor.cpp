#include "runtime/virtual/executor.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace assay::runtime::simulated {
namespace {

constexpr double kSettledCompute = 1e-9, kSettledMemory = 2e-3;
// Equal blocks of iterations after the first: without, and with memory accesses.
constexpr int kStableBlocks = 3, kStableMemoryBlocks = 1;
constexpr int64_t kWarmUp = 4 * defaults::kWindow,
                  kWaveWarmUp = 4 * defaults::kWaveWindow;  // operations
constexpr int kWaveBlock =
    16;  // iterations: waves interleave, so blocks take equal times and single ones do not,
constexpr int kBlockOperations = 256;  // unless they are long

}  // namespace

Executor::Executor(Machine& machine, const Code& code, Unit& unit, int unit_number, int partition,
                   std::span<const View> arguments)
    : machine_(machine),
      code_(code),
      core_(machine.chip, unit, partition,
            std::min(waves_of(machine.chip, code), machine.chip.partitions)),
      port_(unit_number * machine.chip.partitions + partition),
      registers_(code, machine.products),
      vars_(static_cast<size_t>(code.vars), 0),
      places_(code.places.size(), 0),
      ready_(code.regs.size(), 0),
      loops_(code.loops.size()) {
  scratch_.resize(static_cast<size_t>(code.scratch_bytes));
  size_t argument = 0;
  int64_t used = 0;
  // On processors scratch is ordinary memory, at separate addresses for each unit.
  const int64_t scratch_base = (int64_t{1} << 36) + (int64_t{1} << 26) * unit_number;
  for (const ir::Buffer& b : code.buffers) {
    if (b.scope == ir::Scope::global) {
      views_.push_back(arguments[argument++]);
      continue;
    }
    views_.push_back({scratch_.data() + used, b.elements, scratch_base + used});
    used += (b.elements * ir::bytes_of(b.dtype) + 63) / 64 * 64;
  }
  int most = 1;
  for (const Op& op : code.ops) most = std::max({most, op.lanes, op.count});
  at_.resize(static_cast<size_t>(most));
}

void Executor::start(int64_t group, double at) {
  core_.wait_until(std::max(at, machine_.chip.threads ? at : core_.finished()) +
                   machine_.group_start);
  // A group must not read what another one left in scratch.
  std::fill(scratch_.begin(), scratch_.end(), std::byte{0xFF});
  set_var(0, group);
  std::fill(ready_.begin(), ready_.end(), 0.0);
  for (size_t v = 1; v < vars_.size(); ++v) vars_[v] = 0;
  masks_.clear();
  core_.take_part(1);
  index_ready_ = 0;
  pc_ = 0;
  settled_ = -1;
}

void Executor::set_var(int var, int64_t value) {
  vars_[static_cast<size_t>(var)] = value;
  for (const int p : code_.places_of[static_cast<size_t>(var)]) {
    const Place& place = code_.places[static_cast<size_t>(p)];
    int64_t sum = place.rest.terms.empty() ? 0 : ir::evaluate(place.rest, vars_);
    for (const Linear& l : place.linear) sum += l.coeff * vars_[static_cast<size_t>(l.var)];
    places_[static_cast<size_t>(p)] = sum;
  }
}

int64_t Executor::lane_index(const Address& a, int lane) const {
  if (a.offsets >= 0)
    return index(a) +
           code_.lane_offsets[static_cast<size_t>(a.offsets)].values[static_cast<size_t>(lane)];
  if (a.slow < 0) return index(a) + a.lane_step * lane;
  std::vector<int64_t> vars = vars_;
  vars[static_cast<size_t>(code_.lane)] = lane;
  return ir::evaluate(code_.indices[static_cast<size_t>(a.slow)], vars) + a.offset;
}

// Waves of a group may stand at different places.
std::span<const int64_t> Executor::lane_numbers(const Op& op) {
  numbers_.resize(static_cast<size_t>(op.lanes));
  for (int l = 0; l < op.lanes; ++l)
    numbers_[static_cast<size_t>(l)] =
        code_.width > 1 ? lane_index(op.at, l) : index(op.at) + l * op.stride;
  return numbers_;
}

void Executor::run(double until) {
  settled_now_ = false;
  while (pc_ >= 0 && !settled_now_ && core_.time() < until)
    if (!waits()) step();
}

// A wave that stalls on operands yields to others, and reserves no shared resource until then.
bool Executor::waits() {
  if (!timed_ || !machine_.chip.threads) return false;
  const Op& op = code_.ops[static_cast<size_t>(pc_)];
  double from = 0;
  switch (op.kind) {
    case OpKind::load:
    case OpKind::indirect:
    case OpKind::store:
    case OpKind::atomic:
    case OpKind::locate:
      from = index_ready_;
      [[fallthrough]];
    case OpKind::apply:
    case OpKind::lane_index:
    case OpKind::poll:
      from = std::max({from, ready(op.a), ready(op.b), ready(op.c), core_.has_room()});
      break;
    default:
      return false;
  }
  if (from <= core_.time()) return false;
  core_.wait_until(from);
  return true;
}

void Executor::step() {
  const Op& op = code_.ops[static_cast<size_t>(pc_)];
  ++pc_;
  switch (op.kind) {
    case OpKind::apply:
      return compute(op);
    case OpKind::load:
    case OpKind::indirect:
      return load(op);
    case OpKind::store:
      return store(op);
    case OpKind::atomic:
      return atomic(op);
    case OpKind::poll:
      return poll(op);
    case OpKind::next:
      return next(op);
    case OpKind::loop:
      return enter(op);
    case OpKind::constant:
      if (op.needed) registers_.constant(op, masked());
      set_ready(op.dst, 0);
      return;
    case OpKind::copy:
      if (op.needed) registers_.copy(op, masked());
      set_ready(op.dst, ready(op.a));
      return;
    case OpKind::part:
      if (op.needed) registers_.part(op, masked());
      set_ready(op.dst, op.stride == 0 ? ready(op.a) : std::max(ready(op.a), ready(op.dst)));
      return;
    case OpKind::deal:
      if (op.needed) registers_.deal(op, masked());
      for (const int r : code_.dealt[static_cast<size_t>(op.matrix)].regs)
        set_ready(r, ready(op.a));
      return;
    case OpKind::lane_index:
      return compute(op);
    case OpKind::matrix:
      return multiply(op);
    case OpKind::locate:
      return locate(op);
    case OpKind::let:
      return set_var(op.var, index(op.at));
    case OpKind::unless:
      core_.control(op.issues);
      if (!holds(op, 0)) pc_ = op.target;
      return;
    case OpKind::jump:
      pc_ = op.target;
      return;
    case OpKind::mask:
      return mask(op);
    case OpKind::unmask_else: {
      Masked& m = masks_.back();
      bool any = false;
      for (size_t l = 0; l < m.active.size(); ++l)
        any |= (m.active[l] = m.outer[l] != 0 && m.active[l] == 0 ? 1 : 0) != 0;
      if (!any) pc_ = op.target;
      return update_active_waves();
    }
    case OpKind::unmask:
      masks_.pop_back();
      return update_active_waves();
    case OpKind::barrier:
      if (machine_.chip.threads) core_.wait_until(core_.finished() + op.latency);
      return;
    case OpKind::end:
      pc_ = -1;
      return;
  }
}

bool Executor::holds(const Op& op, int lane) const {
  const auto& tests = code_.tests[static_cast<size_t>(op.tests)];
  return std::all_of(tests.begin(), tests.end(), [&](const Test& t) {
    const int64_t at = code_.width > 1 ? lane_index(t.at, lane) : index(t.at);
    return t.low <= at && at <= t.high;
  });
}

void Executor::mask(const Op& op) {
  const auto width = static_cast<size_t>(code_.width);
  Masked m{masks_.empty() ? std::vector<uint8_t>(width, 1) : masks_.back().active,
           std::vector<uint8_t>(width, 0)};
  bool any = false;
  for (size_t l = 0; l < width; ++l)
    any |= (m.active[l] = m.outer[l] != 0 && holds(op, static_cast<int>(l)) ? 1 : 0) != 0;
  masks_.push_back(std::move(m));
  core_.control(op.issues);
  if (!any) pc_ = op.target;
  update_active_waves();
}

// In a group of several waves, those without active lanes do not issue.
void Executor::update_active_waves() {
  const int waves = waves_of(machine_.chip, code_);
  if (waves == 1) return;
  const int wave = mode_for(machine_.chip, code_.width).width;
  int busy = 0;
  for (int w = 0; w < waves; ++w) {
    bool any = false;
    for (int l = w * wave; l < std::min(code_.width, (w + 1) * wave); ++l) any |= is_active(l);
    busy += any ? 1 : 0;
  }
  core_.take_part(std::max(1, busy) / static_cast<double>(waves));
}

// Inactive lanes keep their earlier value, so the register is ready when both are.
void Executor::set_ready(int reg, double at) {
  double& r = ready_[static_cast<size_t>(reg)];
  r = masks_.empty() ? at : std::max(r, at);
}

void Executor::compute(const Op& op) {
  const double operands = std::max({ready(op.a), ready(op.b), ready(op.c)});
  const double done = core_.begin(op, operands) + op.latency;
  set_ready(op.dst, done);
  core_.end(done);
  if (!op.needed) return;
  if (op.kind == OpKind::lane_index)
    registers_.lane_index(op, lane_numbers(op), masked());
  else
    registers_.apply(op, masked());
}

// The first thread's values decide.
void Executor::poll(const Op& op) {
  core_.wait_until(ready(op.a));
  core_.control(op.issues);
  if (registers_.integer(op.a, 0) >= registers_.integer(op.b, 0)) return;
  const int64_t left = registers_.integer(op.dst, 0);
  registers_.spread(op.dst);
  registers_.set_value(op.dst, 0, static_cast<double>(std::max<int64_t>(0, left - 1)));
  registers_.set_uniform(op.dst, false);
  if (left > 0) pc_ = op.target;
}

void Executor::multiply(const Op& op) {
  const Matrix& m = code_.matrices[static_cast<size_t>(op.matrix)];
  double operands = 0;
  for (const std::vector<int>* regs : {&m.a, &m.b, &m.c})
    for (const int r : *regs) operands = std::max(operands, ready(r));
  const double done = core_.begin(op, operands) + op.latency;
  for (const int r : m.d) set_ready(r, done);
  core_.end(done);
  if (op.needed) registers_.multiply(m, masked());
}

void Executor::enter(const Op& op) {
  const Loop& loop = code_.loops[static_cast<size_t>(op.loop)];
  LoopState& state = loops_[static_cast<size_t>(op.loop)];
  state.end = loop.limit;
  for (const Address& b : loop.bounds) state.end = std::min(state.end, index(b));
  if (state.end > 0 && !timed_ && loop.straight) {
    extrapolate_values(loop, state.end);
    state.end = 0;
  }
  if (state.end <= 0) {
    pc_ = op.target;
    return;
  }
  set_var(op.var, 0);
  settle(state, loop);
}

void Executor::settle(LoopState& state, const Loop& loop) {
  const bool waves = machine_.chip.threads;
  const int wanted = loop.touches_memory ? kStableMemoryBlocks : kStableBlocks;
  const int block =
      std::clamp(kBlockOperations / std::max(1, loop.next - loop.body), 1, kWaveBlock);
  state.steady.restart(waves ? block : 1, wanted,
                       loop.touches_memory || waves ? kSettledMemory : kSettledCompute);
  state.steady.after(core_.time());
  state.operations = core_.operations();
  state.far = machine_.hierarchy.far_accesses(port_);
  if (loop.same_addresses) state.moved = machine_.hierarchy.moved(port_);
}

void Executor::next(const Op& op) {
  core_.control(op.issues);
  LoopState& state = loops_[static_cast<size_t>(op.loop)];
  const auto var = static_cast<size_t>(op.var);
  const int64_t now = vars_[var] + 1;
  if (now >= state.end) {
    if (settled_ == op.loop) settled_ = -1;
    return;
  }
  vars_[var] = now;
  for (const int p : code_.places_of[var]) {
    const Place& place = code_.places[static_cast<size_t>(p)];
    auto& sum = places_[static_cast<size_t>(p)];
    if (place.rest.terms.empty()) {
      for (const Linear& l : place.linear)
        if (l.var == op.var) sum += l.coeff;
      continue;
    }
    sum = ir::evaluate(place.rest, vars_);
    for (const Linear& l : place.linear) sum += l.coeff * vars_[static_cast<size_t>(l.var)];
  }
  pc_ = op.target;
  check_settled(op);
}

int64_t Executor::left(int loop) const {
  return loops_[static_cast<size_t>(loop)].end -
         vars_[static_cast<size_t>(code_.loops[static_cast<size_t>(loop)].var)] - 1;
}

void Executor::check_settled(const Op& op) {
  const Loop& loop = code_.loops[static_cast<size_t>(op.loop)];
  if (!loop.same_addresses || !(loop.repeatable || loop.straight)) return;
  LoopState& state = loops_[static_cast<size_t>(op.loop)];
  // The steady state needs a window that has filled and drained.
  if (core_.operations() - state.operations < (machine_.chip.threads ? kWaveWarmUp : kWarmUp) &&
      !state.steady.settled()) {
    const int64_t since = state.operations;
    settle(state, loop);
    state.operations = since;
    return;
  }
  std::swap(state.moved_before, state.moved);
  state.moved = machine_.hierarchy.moved(port_);
  if (!state.steady.after(core_.time()) || left(op.loop) < 1) {
    if (settled_ == op.loop) settled_ = -1;
    return;
  }
  const int64_t far = machine_.hierarchy.far_accesses(port_);
  settled_far_ = far != std::exchange(state.far, far);
  settled_ = op.loop;
  settled_now_ = true;
}

double Executor::skip(int64_t iterations) {
  const Loop& loop = code_.loops[static_cast<size_t>(settled_)];
  const double by = settled_ticks() * static_cast<double>(iterations);
  extrapolate_values(loop, iterations);
  machine_.hierarchy.repeat(port_, loops_[static_cast<size_t>(settled_)].moved_before,
                            static_cast<double>(iterations));
  set_var(loop.var, vars_[static_cast<size_t>(loop.var)] + iterations);
  core_.shift(by);
  for (double& r : ready_)
    if (r > 0) r += by;
  for (LoopState& s : loops_) s.steady.shift(by);
  settle(loops_[static_cast<size_t>(settled_)], loop);
  settled_ = -1;
  return by;
}

}  // namespace assay::runtime::simulated
