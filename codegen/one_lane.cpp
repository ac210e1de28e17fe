#include "codegen/one_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/split_vectors.h"

namespace assay::codegen {
namespace {

using ir::Value;
using ir::ValueOp;

class OneLane final : public SplitVectors {
 public:
  OneLane(const ir::Kernel& kernel, int width) : SplitVectors(kernel), width_(width) {
    lane_ = out_.lane = kernel.vector_lane >= 0 ? kernel.vector_lane : new_index("lane");
    out_.vector_lane = -1;
    if (kernel.waves == 1) return;
    out_.lane = new_index("thread");
    out_.wave = -1;
  }
  ir::Kernel run();
  const std::set<int>& unsupported() const { return unsupported_; }

 private:
  Shape shape_of(int lanes, ir::DType) override;
  Value value(const Value& v, int piece) override;
  void add_store(ir::Block& to, const ir::Store& s) override;
  void add_run(ir::Block& to, const ir::MoveRun& s) override;
  void add_copy(ir::Block& to, const ir::Copy& s) override;
  void add_atomic(ir::Block& to, const ir::AtomicAdd& s) override;
  void add_device_barrier(ir::Block& to, const ir::DeviceBarrier& s) override;
  void check_matrix(const ir::MatrixInstruction& i) override {
    if (i.workers() != width_) unsupported_.insert(i.workers());
  }
  ir::Block block(const ir::Block& b) override;

  int new_index(const char* name) {
    out_.index_names.emplace_back(name);
    return static_cast<int>(out_.index_names.size()) - 1;
  }
  ir::Condition lane_below(int count) const { return {ir::variable(lane_), 0, count - 1}; }
  ir::Index lane(int piece, int64_t stride) const {
    return ir::variable(lane_, stride) + piece * width_ * stride;
  }
  // An index that may contain the lane's number, in this piece of the vector.
  ir::Index in_piece(const ir::Index& index, int piece) const {
    if (piece == 0 || !ir::depends_on(index, lane_)) return index;
    return ir::substitute(
        index, [&](int var) { return var == lane_ ? lane(piece, 1) : ir::variable(var); });
  }
  std::vector<ir::Condition> in_piece(std::vector<ir::Condition> conditions, int piece) const {
    for (ir::Condition& c : conditions) c.index = in_piece(c.index, piece);
    return conditions;
  }
  Value element(const Value& v, const ir::Index& index, int piece) const;
  bool is_copy(const ir::Block& b) const;
  bool is_copy(const ir::Stmt& s) const;

  const int width_;
  int lane_ = -1;  // of a wave
  std::set<int> unsupported_;
};

// Threads are numbered wave by wave.
ir::Kernel OneLane::run() {
  ir::Kernel out = SplitVectors::run();
  if (kernel_.waves == 1) return out;
  std::vector<ir::Range> ranges(out.index_names.size());
  ranges[static_cast<size_t>(out.lane)] = {0, int64_t{width_} * kernel_.waves - 1};
  const ir::Index thread = ir::variable(out.lane);
  out.body.insert(out.body.begin(),
                  {ir::Stmt{ir::LetIndex{lane_, ir::modulo(thread, width_, ranges)}},
                   ir::Stmt{ir::LetIndex{kernel_.wave, ir::divide(thread, width_, ranges)}}});
  return out;
}

// A thread has one lane of every `width`.
OneLane::Shape OneLane::shape_of(int lanes, ir::DType) {
  if (lanes != 1 && lanes % width_ != 0) unsupported_.insert(lanes);
  return {std::max(1, lanes / width_), 1};
}

Value scalar(ValueOp op, ir::DType dtype) {
  Value v;
  v.op = op;
  v.dtype = dtype;
  return v;
}

// A load of this thread's element. Threads beyond `count` get the fill value `number`.
Value OneLane::element(const Value& v, const ir::Index& index, int piece) const {
  Value number = scalar(ValueOp::constant, v.dtype);
  number.number = v.number;
  const int count = v.op == ValueOp::splat || v.lanes == 1
                        ? width_
                        : std::clamp(v.count - piece * width_, 0, width_);
  if (count == 0) return number;
  Value load = scalar(ValueOp::load, v.dtype);
  load.id = v.id;
  load.index = index;
  load.numbers = v.numbers;
  load.count = 1;
  if (count == width_) return load;
  Value guard = scalar(ValueOp::guard, v.dtype);
  guard.conditions.push_back(lane_below(count));
  guard.args = {std::move(load), std::move(number)};
  return guard;
}

Value OneLane::value(const Value& v, int piece) {
  const bool vector = v.lanes > 1;
  switch (v.op) {
    case ValueOp::load:
      return element(v, vector ? v.index + lane(piece, v.numbers) : v.index, piece);
    case ValueOp::gather:
      return element(v, vector ? in_piece(v.index, piece) + lane(piece, v.stride) : v.index, piece);
    case ValueOp::splat:
      return element(v, v.index, piece);
    default:
      break;
  }
  Value one = v;
  one.lanes = 1;
  one.conditions = in_piece(v.conditions, piece);
  one.args.clear();
  for (const Value& a : v.args) one.args.push_back(value(a, piece));
  if (v.op == ValueOp::reg) one.id = piece_of(v.id, piece);
  if (v.op == ValueOp::lane_index && vector) {
    one.index = v.index + lane(piece, v.stride);
    one.stride = 0;
  }
  return one;
}

bool OneLane::is_copy(const ir::Block& b) const {
  return std::all_of(b.begin(), b.end(), [&](const ir::Stmt& s) { return is_copy(s); });
}

// Stores into scratch for other threads, and nothing else.
bool OneLane::is_copy(const ir::Stmt& s) const {
  if (const auto* store = std::get_if<ir::Store>(&s.node)) {
    const ir::Buffer& to = kernel_.buffers[static_cast<size_t>(store->id)];
    return to.scope == ir::Scope::scratch && !to.by_lane;
  }
  if (std::holds_alternative<ir::Copy>(s.node)) return true;
  if (const auto* move = std::get_if<ir::MoveFragment>(&s.node))
    return move->store &&
           kernel_.buffers[static_cast<size_t>(move->id)].scope == ir::Scope::scratch;
  if (const auto* loop = std::get_if<ir::For>(&s.node)) return is_copy(loop->body);
  if (const auto* branch = std::get_if<ir::If>(&s.node))
    return is_copy(branch->then_body) && is_copy(branch->else_body);
  return false;
}

// Conditions and bounds depend on the group and on loops, never on the lane, so all threads reach
// every barrier. A copy needs no barrier inside. Kernels of several waves have their own barriers.
ir::Block OneLane::block(const ir::Block& b) {
  if (kernel_.waves > 1 || is_copy(b)) return SplitVectors::block(b);
  ir::Block to;
  bool copying = false;
  for (const ir::Stmt& s : b) {
    if (is_copy(s) != copying) to.push_back({ir::Barrier{}});
    copying = is_copy(s);
    add(to, s);
  }
  if (copying) to.push_back({ir::Barrier{}});
  return to;
}

void OneLane::add_store(ir::Block& to, const ir::Store& s) {
  const bool vector = s.value.lanes > 1;
  for (int p = 0; p < shape_of(s.value.lanes, s.value.dtype).pieces; ++p) {
    const int count = vector ? std::clamp(s.count - p * width_, 0, width_) : 1;
    if (count == 0) continue;
    ir::Store one = s;
    one.index = vector ? in_piece(s.index, p) + lane(p, s.stride) : s.index;
    one.stride = one.count = 1;
    one.value = value(s.value, p);
    ir::If some{in_piece(std::exchange(one.conditions, {}), p), {}, {}};
    if (count < width_) some.conditions.push_back(lane_below(count));
    if (some.conditions.empty()) {
      to.push_back({std::move(one)});
      continue;
    }
    some.then_body.push_back({std::move(one)});
    to.push_back({std::move(some)});
  }
}

void OneLane::add_run(ir::Block& to, const ir::MoveRun& s) {
  const ir::Register& first = kernel_.registers[static_cast<size_t>(s.regs[0])];
  for (int p = 0; p < shape_of(first.lanes, first.dtype).pieces; ++p) {
    ir::MoveRun own{s.store, {}, s.id, in_piece(s.index, p), in_piece(s.conditions, p)};
    for (const int r : s.regs) own.regs.push_back(piece_of(r, p));
    to.push_back({std::move(own)});
  }
}

void OneLane::add_copy(ir::Block& to, const ir::Copy& s) {
  ir::Copy own{s.from, s.to, 1, s.numbers, {}};
  for (const ir::Run& r : s.runs)
    for (int p = 0; p < shape_of(s.lanes, ir::DType::i32).pieces; ++p)
      own.runs.push_back({in_piece(r.from, p), in_piece(r.to, p), in_piece(r.conditions, p)});
  to.push_back({std::move(own)});
}

void OneLane::add_atomic(ir::Block& to, const ir::AtomicAdd& s) {
  const bool vector = s.value.lanes > 1;
  for (int p = 0; p < shape_of(s.value.lanes, s.value.dtype).pieces; ++p) {
    ir::AtomicAdd one{s.reg < 0 ? -1 : piece_of(s.reg, p), s.id,
                      vector ? s.index + lane(p, s.stride) : s.index, 0, value(s.value, p)};
    if (vector) {
      to.push_back({std::move(one)});
      continue;
    }
    // The value may be in the register that is written.
    ir::If first{{lane_below(1)}, {}, {}};
    if (one.reg >= 0)
      first.else_body.push_back({ir::Assign{one.reg, scalar(ValueOp::constant, one.value.dtype)}});
    first.then_body.push_back({std::move(one)});
    to.push_back({std::move(first)});
  }
}

// All threads arrive before the first one signals, and continue once it has seen the other groups.
void OneLane::add_device_barrier(ir::Block& to, const ir::DeviceBarrier& s) {
  ir::If first{{lane_below(1)}, {}, {}};
  SplitVectors::add_device_barrier(first.then_body, s);
  to.push_back({ir::Barrier{}});
  to.push_back({std::move(first)});
  to.push_back({ir::Barrier{}});
}

}  // namespace

Result<ir::Kernel> one_lane(const ir::Kernel& kernel, int width) {
  if (kernel.lane >= 0) return kernel;  // it is one already
  OneLane rewriting(kernel, width);
  ir::Kernel out = rewriting.run();
  if (rewriting.unsupported().empty()) return out;
  Diags diags;
  for (const int lanes : rewriting.unsupported())
    diags.push_back(
        error(fmt::format("kernel '{}': vectors of {} elements can not be dealt to {} threads",
                          kernel.name, lanes, width),
              fmt::format("vectors of a multiple of {}", width)));
  return diags;
}

}  // namespace assay::codegen
