#include "lower/early_loads.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay::lower {

namespace {

bool is_plain_load(const ir::Value& v) {
  return (v.op == ir::ValueOp::load || v.op == ir::ValueOp::splat || v.op == ir::ValueOp::gather) &&
         v.args.empty();
}

// A load, or a guarded load with a constant otherwise.
bool is_load(const ir::Value& v) {
  if (v.op != ir::ValueOp::guard) return is_plain_load(v);
  return v.args.size() == 2 && is_plain_load(v.args[0]) && v.args[1].op == ir::ValueOp::constant;
}

int buffer_of(const ir::Value& load) {
  return load.op == ir::ValueOp::guard ? load.args[0].id : load.id;
}

class Run {  // of one block. invariant: no statement of `rest_` writes what `loads_` read, and none
             // that came before a load uses its register
 public:
  explicit Run(ir::Kernel& k) : k_(k) {}

  void add(const ir::Declare& d, ir::Block&) {
    declared_.regs.insert(declared_.regs.end(), d.regs.begin(), d.regs.end());
  }

  void add(ir::Assign a, ir::Block& out) {
    const bool whole = is_load(a.value);
    if (is_full(a.value) ||
        (whole && (touched_.contains(a.reg) || stored_.contains(buffer_of(a.value)))))
      flush(out);
    if (whole) {
      loads_.push_back({std::move(a)});
      return;
    }
    take_loads(a.value);
    touch(a.value);
    touched_.insert(a.reg);
    rest_.push_back({std::move(a)});
  }

  void add(ir::Store s, ir::Block& out) {
    if (is_full(s.value)) flush(out);
    take(s.value);
    touch(s.value);
    stored_.insert(s.id);
    std::erase_if(known_, [&](const Known& k) { return buffer_of(k.value) == s.id; });
    rest_.push_back({std::move(s)});
  }

  // Before a statement other than an assignment or a store.
  void end(ir::Block& out) {
    flush(out);
    known_.clear();
  }

 private:
  void flush(ir::Block& out) {
    if (!declared_.regs.empty()) out.push_back({std::exchange(declared_, {})});
    for (ir::Block* part : {&loads_, &rest_}) {
      std::move(part->begin(), part->end(), std::back_inserter(out));
      part->clear();
    }
    stored_.clear();
    touched_.clear();
  }

  static size_t loads_in(const ir::Value& v) {
    if (is_load(v)) return 1;
    size_t n = 0;
    if (v.op != ir::ValueOp::guard)
      for (const ir::Value& a : v.args) n += loads_in(a);
    return n;
  }
  bool is_full(const ir::Value& v) const {
    return !loads_.empty() && loads_.size() + loads_in(v) > size_t{kLoadBatch};
  }

  // Gives each load inside a value a register; equal operands of an operation share one.
  void take_loads(ir::Value& v) {
    if (v.op == ir::ValueOp::guard) return;
    const std::vector<ir::Value> before = v.args;
    for (size_t i = 0; i < v.args.size(); ++i) {
      const auto same =
          static_cast<size_t>(std::find(before.begin(), before.end(), before[i]) - before.begin());
      if (same < i)
        v.args[i] = v.args[same];
      else
        take(v.args[i]);
    }
  }

  void take(ir::Value& v) {
    if (!is_load(v)) return take_loads(v);
    if (stored_.contains(buffer_of(v))) return;
    if (const auto same = std::find_if(known_.begin(), known_.end(),
                                       [&](const Known& k) { return k.value == v; });
        same != known_.end()) {
      v = value_of(same->reg, v);
      return;
    }
    const int reg = static_cast<int>(k_.registers.size());
    k_.registers.push_back({"early" + std::to_string(reg), v.dtype, v.lanes});
    declared_.regs.push_back(reg);
    if ((v.op == ir::ValueOp::guard ? v.args[0] : v).op != ir::ValueOp::gather)
      known_.push_back({v, reg});  // such loads count once (redundant_loads.h)
    ir::Value loaded = value_of(reg, v);
    loads_.push_back({ir::Assign{reg, std::exchange(v, std::move(loaded))}});
  }

  static ir::Value value_of(int reg, const ir::Value& like) {
    ir::Value out;
    out.op = ir::ValueOp::reg;
    out.dtype = like.dtype;
    out.lanes = like.lanes;
    out.id = reg;
    return out;
  }

  void touch(const ir::Value& v) {
    if (v.op == ir::ValueOp::reg) touched_.insert(v.id);
    for (const ir::Value& a : v.args) touch(a);
  }

  struct Known {
    ir::Value value;
    int reg = -1;
  };

  ir::Kernel& k_;
  ir::Declare declared_;
  std::vector<Known> known_;  // loads of this block whose buffer has not been stored to since
  ir::Block loads_, rest_;
  std::set<int> stored_, touched_;  // buffers; registers
};

void bring_forward(ir::Kernel& k, ir::Block& block) {
  ir::Block out;
  Run run(k);
  for (ir::Stmt& s : block) {
    if (auto* a = std::get_if<ir::Assign>(&s.node)) {
      run.add(std::move(*a), out);
    } else if (auto* st = std::get_if<ir::Store>(&s.node)) {
      run.add(std::move(*st), out);
    } else if (auto* d = std::get_if<ir::Declare>(&s.node)) {
      run.add(*d, out);
    } else {
      run.end(out);
      if (auto* f = std::get_if<ir::For>(&s.node)) bring_forward(k, f->body);
      if (auto* i = std::get_if<ir::If>(&s.node)) {
        bring_forward(k, i->then_body);
        bring_forward(k, i->else_body);
      }
      out.push_back(std::move(s));
    }
  }
  run.end(out);
  block = std::move(out);
}

}  // namespace

void bring_loads_forward(ir::Kernel& kernel) { bring_forward(kernel, kernel.body); }

}  // namespace assay::lower
