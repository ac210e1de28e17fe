#include "runtime/virtual/price.h"

#include <algorithm>
#include <cmath>

#include "runtime/virtual/defaults.h"

namespace assay::runtime::simulated {
namespace {

class Pricer {
 public:
  Pricer(const Chip& chip, const Code& code, std::span<const ir::DType> in_two)
      : chip_(chip), code_(code), in_two_(in_two), load_(pipe("load")), store_(pipe("store")) {}

  void price(Op& op) const {
    switch (op.kind) {
      case OpKind::apply:
        compute(op);
        if (op.op == ir::ValueOp::fma &&
            std::find(in_two_.begin(), in_two_.end(), op.dtype) != in_two_.end()) {
          op.issues *= 2;
          op.busy *= 2;
          op.latency *= 2;
        }
        return;
      case OpKind::lane_index:
        return integer(op);
      case OpKind::matrix:
        return matrix(op);
      case OpKind::load:
      case OpKind::indirect:
      case OpKind::locate:
        access(op, load_, mode(op).gather_slots);
        return convert(op, !chip_.threads && op.count > 1 && op.stride == 0 ? "splat" : "load");
      case OpKind::store:
        access(op, store_, mode(op).scatter_slots);
        return convert(op, "store");
      case OpKind::atomic:
        return atomic(op);
      case OpKind::next:
        op.issues = defaults::kLoopSlots * waves_of(chip_, code_);
        return;
      case OpKind::unless:
      case OpKind::mask:
      case OpKind::poll:
        op.issues = waves_of(chip_, code_);
        return;
      case OpKind::barrier:
        op.latency = chip_.threads ? barrier_ticks() : 0;
        return;
      default:  // constants are in registers already; copies are renamed registers
        return;
    }
  }

  // Divides the cost of a merged load among the loads that it replaces.
  void join_loads(Code& code) const {
    if (!chip_.threads || chip_.merged_loads <= 1) return;
    for (const Loop& loop : code.loops) join(loop, code.ops);
  }

  // Spills: each operation loads and stores the spilled share of the values.
  void spill(Code& code) const {
    const int spilled = chip_.threads ? spilled_of(chip_, code) : 0;
    if (spilled <= 0) return;
    const double part = static_cast<double>(spilled) / code.most_registers;
    const Mode& m = chip_.modes.front();
    const double reload = std::max(1.0, busy(m, load_)) + std::max(1.0, busy(m, store_));
    for (Op& op : code.ops)
      if (op.kind == OpKind::apply) op.issues += part * reload;
  }

 private:
  // Ticks of a barrier, interpolated between the group sizes that the profile knows.
  double barrier_ticks() const {
    const auto& known = chip_.group_barriers;
    if (known.empty()) return defaults::kBarrier;
    const double threads = waves_of(chip_, code_) * chip_.modes.front().width;
    const auto above =
        std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first >= threads; });
    if (above == known.end()) return known.back().second * chip_.clock;
    if (above == known.begin()) return above->second * chip_.clock;
    const auto below = above - 1;
    const double from = std::max<double>(below->first, chip_.modes.front().width);  // of one wave
    const double part = threads <= from ? 0 : (threads - from) / (above->first - from);
    return (below->second + part * (above->second - below->second)) * chip_.clock;
  }
  int pipe(const char* name) const {
    const auto named = [&](const std::string& n) {
      return std::find(chip_.pipes.begin(), chip_.pipes.end(), n);
    };
    auto at = named(name);
    if (at == chip_.pipes.end() && (std::string(name) == "load" || std::string(name) == "store"))
      at = named("lsu");
    return at == chip_.pipes.end() ? -1 : static_cast<int>(at - chip_.pipes.begin());
  }
  // Vectors are as wide as their bytes; threads have an element each.
  int words(const Op& op) const {
    return chip_.threads ? op.lanes : std::max(1, op.lanes * ir::bytes_of(op.dtype) / 4);
  }
  const Mode& mode(const Op& op) const { return mode_for(chip_, words(op)); }
  double instructions(const Op& op) const { return std::ceil(double(words(op)) / mode(op).width); }
  // The front end counts in instructions of the widest mode.
  double issues(const Mode& m, double instructions) const {
    return instructions * chip_.modes.back().issue / m.issue;
  }
  double busy(const Mode& m, int pipe) const {
    return pipe < 0 ? 0 : m.instruction[static_cast<size_t>(pipe)];
  }

  // The profile's cost; false: it has none for this operation on this type.
  bool typed(Op& op) const {
    const Mode& m = mode(op);
    // Each number of a pair counts as one; four products of i8 are one operation.
    const ir::DType dtype = op.op == ir::ValueOp::dot ? ir::DType::i8 : ir::number_type(op.dtype);
    const auto known = std::find_if(m.typed.begin(), m.typed.end(), [&](const TypedCost& t) {
      return t.op == op.op && t.dtype == dtype;
    });
    if (known == m.typed.end()) return false;
    const OpCost& c = known->cost;
    op.pipe = c.pipe;
    op.issues = issues(m, instructions(op));
    op.busy = instructions(op) * c.slots *
              (chip_.threads ? ir::numbers_in(op.dtype) : 4.0 / ir::bytes_of(op.dtype)) *
              busy(m, c.pipe);
    op.latency = c.latency;
    return true;
  }

  void compute(Op& op) const {
    if (typed(op)) return;
    if (op.dtype == ir::DType::i32 || op.dtype == ir::DType::i64) return integer(op);
    const Mode& m = mode(op);
    const OpCost& c = m.ops[static_cast<size_t>(op.op)];
    // Twice the bytes take twice the work.
    const double n = instructions(op) * (chip_.threads && op.dtype == ir::DType::f64 ? 2 : 1);
    op.pipe = c.pipe;
    op.issues = issues(m, n);
    op.busy = n * c.slots * busy(m, c.pipe);
    op.latency = c.latency;
  }

  // The profile's times, or else those of as many sequential multiply-adds.
  void matrix(Op& op) const {
    const ir::MatrixInstruction& i = code_.matrices[static_cast<size_t>(op.matrix)].instruction;
    const double work = double(i.m) * i.n * i.k;
    const auto known = std::find_if(chip_.matrix.begin(), chip_.matrix.end(),
                                    [&](const MatrixCost& c) { return c.name == i.name; });
    const Mode& m = chip_.modes.back();
    const OpCost& fma = m.ops[static_cast<size_t>(ir::ValueOp::fma)];
    op.issues = 1;
    op.pipe = known == chip_.matrix.end() ? fma.pipe : chip_.matrix_pipe;
    op.busy = known == chip_.matrix.end() ? work / m.width * busy(m, fma.pipe) : work / known->rate;
    op.latency = known == chip_.matrix.end() ? op.busy + fma.latency : known->latency;
  }

  void integer(Op& op) const {
    const Mode& m = mode(op);
    const OpCost& fma = m.ops[static_cast<size_t>(ir::ValueOp::fma)];
    op.issues = issues(m, instructions(op));
    op.latency = chip_.threads ? fma.latency : defaults::kIntegerLatency;
    if (!chip_.threads) return;
    op.pipe = fma.pipe;
    op.busy = instructions(op) * busy(m, fma.pipe);
  }

  void atomic(Op& op) const {
    const Atomic& a =
        chip_.threads && code_.buffers[static_cast<size_t>(op.buffer)].scope == ir::Scope::scratch
            ? chip_.own_atomic
            : chip_.atomic;
    op.pipe = a.pipe;
    op.issues = instructions(op);
    // An atomic instruction of a core adds to one element.
    const Mode& whole = chip_.modes.back();
    op.busy = chip_.threads ? op.issues * a.slots * busy(mode(op), a.pipe)
                            : op.count * a.slots * busy(whole, a.pipe) / whole.width;
  }

  // A gather or scatter of a vector takes one access per lane, unless the profile has its rate. For
  // threads, the cache counts the lines.
  void access(Op& op, int at, double slots_per_lane) const {
    const Mode& m = mode(op);
    const bool gathers = !chip_.threads && op.count > 1 &&
                         (op.kind == OpKind::indirect || (op.stride != 1 && op.stride != 0));
    op.pipe = at;
    op.issues = issues(m, instructions(op));
    op.busy = instructions(op) * busy(m, at);
    if (!gathers) return;
    if (slots_per_lane > 0)
      op.busy = op.count * slots_per_lane * busy(m, at) / m.width;
    else
      op.busy = op.count * busy(m, at);
  }

  // Vectors of the computed type occupy the pipe beside the access, and take an issue slot.
  void convert(Op& op, std::string_view access) const {
    if (op.numbers > 1) return;  // several numbers in one value, as they are
    const ir::DType stored = code_.buffers[static_cast<size_t>(op.buffer)].dtype;
    const Mode& m = mode(op);
    for (const ConversionCost& c : m.conversions)
      if (c.access == access && c.stored == stored && c.computed == op.dtype) {
        op.converts_on = c.pipe;
        op.converting = instructions(op) * c.slots * busy(m, c.pipe);
        op.issues += issues(m, instructions(op));
      }
  }

  // Is it a load of group memory whose consecutive steps in the unrolled loop read neighbouring
  // words?
  bool joins(const Loop& loop, const Op& op) const {
    if (op.kind != OpKind::load ||
        code_.buffers[static_cast<size_t>(op.buffer)].scope != ir::Scope::scratch)
      return false;
    const ir::Index at = index_of(op.at);
    bool steps = false;
    for (const ir::Term& t : at.terms) {
      const bool step = t.var == loop.var && t.coeff == 1 && t.div == 1 && t.mod == 0;
      const bool alike = t.var == code_.lane ? t.div % chip_.modes.front().width == 0
                                             : t.var >= 0 || !ir::depends_on(t.of[0], code_.lane);
      if (!step && (!alike || t.coeff % chip_.merged_loads != 0)) return false;
      steps |= step;
    }
    return steps && op.at.lane_step == 0 && at.offset % chip_.merged_loads == 0;
  }

  ir::Index index_of(const Address& at) const {
    if (at.slow >= 0) return code_.indices[static_cast<size_t>(at.slow)] + at.offset;
    ir::Index out = ir::constant(at.offset);
    if (at.offsets >= 0) out = out + code_.lane_offsets[static_cast<size_t>(at.offsets)].index;
    if (at.place < 0) return out;
    const Place& p = code_.places[static_cast<size_t>(at.place)];
    out = out + p.rest;
    for (const Linear& l : p.linear) out = out + ir::variable(l.var, l.coeff);
    return out;
  }

  void join(const Loop& loop, std::span<Op> ops) const {
    if (!loop.innermost || loop.unroll < chip_.merged_loads || !loop.bounds.empty() ||
        loop.limit % chip_.merged_loads != 0)
      return;
    for (Op& op :
         ops.subspan(static_cast<size_t>(loop.body), static_cast<size_t>(loop.next - loop.body))) {
      if (!joins(loop, op)) continue;
      op.joined = chip_.merged_loads;
      op.issues /= op.joined;
      op.busy /= op.joined;
    }
  }

  const Chip& chip_;
  const Code& code_;
  std::span<const ir::DType> in_two_;  // not fused for these
  int load_, store_;
};

}  // namespace

int64_t code_bytes(const Code& code, const Chip& chip) {
  return static_cast<int64_t>(code.ops.size()) * defaults::kCodeBytes[chip.threads ? 1 : 0];
}

void price(Code& code, const Chip& chip, std::span<const ir::DType> in_two) {
  const Pricer pricer(chip, code, in_two);
  for (Op& op : code.ops) pricer.price(op);
  pricer.join_loads(code);
  pricer.spill(code);
  // Code beyond the instruction cache is fetched at half the rate.
  if (chip.code_bytes > 0 && static_cast<double>(code_bytes(code, chip)) > chip.code_bytes)
    for (Op& op : code.ops) op.issues *= 2;
}

}  // namespace assay::runtime::simulated
