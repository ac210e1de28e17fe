#include "lower/redundant_loads.h"

#include <algorithm>
#include <map>
#include <set>

namespace assay::lower {

namespace {

using Key = std::vector<int64_t>;      // equal where loads read the same elements
using Available = std::map<Key, int>;  // loads whose values are in registers -> their buffer

struct Load {
  const ir::Value* value = nullptr;
  Key key;
};

// Side effects of a block.
struct Changes {
  std::set<int> buffers;    // stored to
  std::set<int> variables;  // index variables that are set
};

void changed_by(const ir::Block& block, Changes& out);

void changed_by(const ir::Stmt& s, Changes& out) {
  if (const auto* store = std::get_if<ir::Store>(&s.node)) out.buffers.insert(store->id);
  if (const auto* copy = std::get_if<ir::Copy>(&s.node)) out.buffers.insert(copy->to);
  if (const auto* run = std::get_if<ir::MoveRun>(&s.node); run != nullptr && run->store)
    out.buffers.insert(run->id);
  if (const auto* move = std::get_if<ir::MoveFragment>(&s.node); move != nullptr && move->store)
    out.buffers.insert(move->id);
  if (const auto* let = std::get_if<ir::LetIndex>(&s.node)) out.variables.insert(let->var);
  if (const auto* locate = std::get_if<ir::Locate>(&s.node)) out.variables.insert(locate->var);
  if (const auto* loop = std::get_if<ir::For>(&s.node)) {
    out.variables.insert(loop->var);
    changed_by(loop->body, out);
  }
  if (const auto* either = std::get_if<ir::If>(&s.node)) {
    changed_by(either->then_body, out);
    changed_by(either->else_body, out);
  }
}

void changed_by(const ir::Block& block, Changes& out) {
  for (const ir::Stmt& s : block) changed_by(s, out);
}

bool depends_on_any(const ir::Index& i, const std::set<int>& variables) {
  return std::any_of(i.terms.begin(), i.terms.end(), [&](const ir::Term& t) {
    return t.var >= 0 ? variables.contains(t.var) : depends_on_any(t.of[0], variables);
  });
}

void add_to(Key& key, const ir::Index& i) {
  key.insert(key.end(), {i.offset, static_cast<int64_t>(i.terms.size())});
  for (const ir::Term& t : i.terms) {
    key.insert(key.end(), {t.coeff, t.div, t.mod, t.var});
    if (t.var < 0) add_to(key, t.of[0]);
  }
}

Key key_of(const ir::Value& v) {
  Key key{static_cast<int64_t>(v.op), v.id, v.lanes, v.stride, v.count, v.numbers};
  add_to(key, v.index);
  return key;
}

void forget(Available& available, const std::set<int>& buffers) {
  std::erase_if(available, [&](const auto& entry) { return buffers.contains(entry.second); });
}

class Eliminator {
 public:
  explicit Eliminator(const ir::Kernel& kernel) : kernel_(kernel) {}

  // Returns the loads that run whenever the block does, those hoisted out of its loops included.
  std::vector<Load> block(const ir::Block& b, Available available) {
    std::vector<Load> done;
    for (const ir::Stmt& s : b) {
      if (const auto* locate = std::get_if<ir::Locate>(&s.node)) located_.insert(locate->var);
      if (const auto* assign = std::get_if<ir::Assign>(&s.node))
        value(assign->value, available, done);
      if (const auto* store = std::get_if<ir::Store>(&s.node)) {
        if (!is_scratch(store->id))
          value(store->value, available, done);  // lowering already moves copies
        forget(available, {store->id});
      }
      if (const auto* copy = std::get_if<ir::Copy>(&s.node)) forget(available, {copy->to});
      if (const auto* run = std::get_if<ir::MoveRun>(&s.node); run != nullptr && run->store)
        forget(available, {run->id});
      if (const auto* move = std::get_if<ir::MoveFragment>(&s.node); move != nullptr && move->store)
        forget(available, {move->id});
      if (const auto* loop = std::get_if<ir::For>(&s.node)) before_loop(*loop, available, done);
      if (const auto* either = std::get_if<ir::If>(&s.node)) {
        block(either->then_body, available);
        block(either->else_body, available);
        Changes changes;
        changed_by(s, changes);
        forget(available, changes.buffers);
      }
    }
    return done;
  }

  RedundantLoads take() && {
    for (const auto& [value, loop] : hoisted_) {
      out_.eliminated.insert(value);
      out_.hoisted[loop].push_back(value);
    }
    return std::move(out_);
  }

 private:
  bool is_scratch(int buffer) const {
    return kernel_.buffers[static_cast<size_t>(buffer)].scope == ir::Scope::scratch;
  }

  void value(const ir::Value& v, Available& available, std::vector<Load>& done) {
    using V = ir::ValueOp;
    for (const ir::Condition& c : v.conditions)
      if (depends_on_any(c.index, located_)) return;
    const size_t outside = guards_.size();
    for (const ir::Condition& c : v.conditions) {
      guards_.insert(guards_.end(), {c.low, c.high});
      add_to(guards_, c.index);
    }
    for (const ir::Value& a : v.args) value(a, available, done);
    guards_.resize(outside);
    if (v.op != V::load && v.op != V::splat && v.op != V::gather) return;
    Load load{&v, key_of(v)};
    load.key.insert(load.key.end(), guards_.begin(), guards_.end());
    if (!available.try_emplace(load.key, v.id).second)
      out_.eliminated.insert(&v);
    else
      done.push_back(std::move(load));
  }

  // Hoists invariant loads in front of the loop; an outer loop may hoist them further.
  void before_loop(const ir::For& loop, Available& available, std::vector<Load>& done) {
    Changes changes;
    changes.variables.insert(loop.var);
    changed_by(loop.body, changes);
    forget(available, changes.buffers);
    std::vector<Load> inside = block(loop.body, available);
    if (loop.limit == 1 && !loop.bounds.empty()) return;  // an If in effect: it may not run
    for (Load& load : inside) {
      if (changes.buffers.contains(load.value->id) ||
          depends_on_any(load.value->index, changes.variables))
        continue;
      hoisted_[load.value] = &loop;
      available.emplace(load.key, load.value->id);
      done.push_back(std::move(load));
    }
  }

  const ir::Kernel& kernel_;
  RedundantLoads out_;
  Key guards_;                                          // of the guards around the current value
  std::set<int> located_;                               // variables set by Locate
  std::map<const ir::Value*, const ir::For*> hoisted_;  // -> the outermost loop it moves before
};

}  // namespace

RedundantLoads redundant_loads(const ir::Kernel& kernel) {
  Eliminator eliminator(kernel);
  eliminator.block(kernel.body, {});
  return std::move(eliminator).take();
}

}  // namespace assay::lower
