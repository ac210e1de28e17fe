#include "lower/count.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lower/redundant_loads.h"
#include "support/check.h"

namespace assay::lower {

namespace {

void add_scaled(Counts& to, const Counts& c, double times) {
  to.fma += c.fma * times;
  to.simple += c.simple * times;
  to.divide += c.divide * times;
  to.math += c.math * times;
  to.iterations += c.iterations * times;
  to.branches += c.branches * times;
  to.prefetches += c.prefetches * times;
  to.barriers += c.barriers * times;
  to.matrix += c.matrix * times;
  for (size_t b = 0; b < c.buffers.size(); ++b) {
    AccessCount& a = to.buffers[b];
    const AccessCount& from = c.buffers[b];
    a.vector_loads += from.vector_loads * times;
    a.splats += from.splats * times;
    a.gathered_lanes += from.gathered_lanes * times;
    a.vector_stores += from.vector_stores * times;
    a.scattered_lanes += from.scattered_lanes * times;
    a.fragment_loads += from.fragment_loads * times;
    a.fragment_stores += from.fragment_stores * times;
    a.run_loads += from.run_loads * times;
    a.run_stores += from.run_stores * times;
    a.wave_loads += from.wave_loads * times;
    a.line_loads += from.line_loads * times;
    a.line_stores += from.line_stores * times;
  }
}

// Guards already evaluated in a block: compilers reuse the result (common subexpressions).
using Evaluated = std::vector<std::vector<ir::Condition>>;

// An operation or an access, without its arguments.
void count_operation(const ir::Value& v, int lane, Evaluated& evaluated, Counts& out) {
  using V = ir::ValueOp;
  const auto access = [&]() -> AccessCount& { return out.buffers[static_cast<size_t>(v.id)]; };
  switch (v.op) {
    case V::constant:
    case V::reg:
    case V::lane_index:
    case V::opaque:
      break;
    case V::load:
      (v.lanes == 1 ? access().splats : access().vector_loads) += 1;
      break;
    case V::splat:
      access().splats += 1;
      break;
    case V::gather:
      if (lane >= 0 && ir::depends_on(v.index, lane))
        access().fragment_loads += 1;
      else
        access().gathered_lanes += v.count;
      break;
    case V::indirect:
      access().gathered_lanes += v.lanes;
      break;
    case V::fma:
    case V::dot:
      out.fma += 1;
      break;
    case V::div:
    case V::sqrt:
      out.divide += 1;
      break;
    case V::pow:
      out.math += kPowCost;
      break;
    case V::exp:
    case V::log:
      out.math += 1;
      break;
    case V::tanh:
      out.math += kTanhCost;
      break;
    case V::erf:
      out.math += kErfCost;
      break;
    case V::guard:
      if (std::find(evaluated.begin(), evaluated.end(), v.conditions) == evaluated.end()) {
        evaluated.push_back(v.conditions);
        out.branches += 1;
      }
      break;
    case V::add:
    case V::sub:
    case V::mul:
    case V::max:
    case V::min:
    case V::neg:
    case V::abs:
    case V::floor:
    case V::ceil:
    case V::round:
    case V::convert:
    case V::less:
    case V::equal:
    case V::select:
      out.simple += 1;
      break;
    case V::insert:
      out.simple += kInsertInstructions;
      break;
  }
}

// Eliminated loads count nothing. An operand used twice by one operation (a square) is computed
// once, as every compiler does (common subexpressions).
void count_value(const ir::Value& v, int lane,
                 const std::unordered_set<const ir::Value*>& eliminated, Evaluated& evaluated,
                 Counts& out) {
  for (auto a = v.args.begin(); a != v.args.end(); ++a)
    if (std::find(v.args.begin(), a, *a) == a) count_value(*a, lane, eliminated, evaluated, out);
  if (!eliminated.contains(&v)) count_operation(v, lane, evaluated, out);
}

// Index variables on which the trip counts and conditions inside a block depend.
void deciding(const ir::Block& block, std::set<int>& out);

void add_variables(const ir::Index& i, std::set<int>& out) {
  for (const ir::Term& t : i.terms) {
    if (t.var >= 0)
      out.insert(t.var);
    else
      add_variables(t.of[0], out);
  }
}

void deciding(const ir::Stmt& s, std::set<int>& out) {
  if (const auto* f = std::get_if<ir::For>(&s.node)) {
    for (const ir::Index& b : f->bounds) add_variables(b, out);
    deciding(f->body, out);
  } else if (const auto* i = std::get_if<ir::If>(&s.node)) {
    for (const ir::Condition& c : i->conditions) add_variables(c.index, out);
    deciding(i->then_body, out);
    deciding(i->else_body, out);
  } else if (const auto* let = std::get_if<ir::LetIndex>(&s.node)) {
    if (out.contains(let->var)) add_variables(let->value, out);
  }
}

void deciding(const ir::Block& block, std::set<int>& out) {
  for (size_t i = block.size(); i-- > 0;) deciding(block[i], out);  // uses before definitions
}

class Counter {
 public:
  explicit Counter(const ir::Kernel& k)
      : kernel_(k),
        values_(k.index_names.size(), 0),
        lane_(k.vector_lane),
        buffers_(k.buffers.size()),
        redundant_(redundant_loads(k)) {}

  Counts empty() const {
    Counts c;
    c.buffers.resize(buffers_);
    return c;
  }

  Counts block(const ir::Block& b) {
    Counts out = empty();
    Evaluated outside = std::exchange(evaluated_, {});
    for (const ir::Stmt& s : b) statement(s, out);
    evaluated_ = std::move(outside);
    return out;
  }

  Counts all(const ir::Kernel& k) {
    Counts out = empty();
    if (k.waves == 1) {
      repeat(0, k.groups, k.body, out);
      return out;
    }
    const bool alike = !deciding_in(k.body).contains(0);
    int64_t& group = values_[0];
    for (group = 0; group < (alike ? std::min<int64_t>(1, k.groups) : k.groups); ++group)
      repeat(k.wave, k.waves, k.body, out);
    if (!alike) return out;
    Counts times = empty();
    add_scaled(times, out, static_cast<double>(k.groups));
    return times;
  }

 private:
  // Counts `body` for `var` = 0..trips-1; once and scaled when nothing inside depends on it.
  void repeat(int var, int64_t trips, const ir::Block& body, Counts& out) {
    if (trips <= 0) return;
    const std::set<int>& vars = deciding_in(body);
    int64_t& value = values_[static_cast<size_t>(var)];
    if (!vars.contains(var)) {
      value = 0;
      add_scaled(out, vars.empty() ? counted_once(body) : block(body), static_cast<double>(trips));
      return;
    }
    for (value = 0; value < trips; ++value) add_scaled(out, block(body), 1);
  }

  // Both are memoised per block. `counted_once` is for blocks whose count depends on no variable.
  const std::set<int>& deciding_in(const ir::Block& b) {
    const auto [it, fresh] = deciding_.try_emplace(&b);
    if (fresh) deciding(b, it->second);
    return it->second;
  }
  const Counts& counted_once(const ir::Block& b) {
    const auto it = counts_.find(&b);
    return it != counts_.end() ? it->second : counts_.emplace(&b, block(b)).first->second;
  }

  void statement(const ir::Stmt& s, Counts& out) {
    std::visit([&](const auto& node) { visit(node, out); }, s.node);
  }

  void visit(const ir::For& f, Counts& out) {
    if (const auto loads = redundant_.hoisted.find(&f); loads != redundant_.hoisted.end())
      for (const ir::Value* v : loads->second) count_operation(*v, lane_, evaluated_, out);
    int64_t trips = f.limit;
    for (const ir::Index& b : f.bounds) trips = std::min(trips, ir::evaluate(b, values_));
    if (trips > 0) out.iterations += static_cast<double>(trips);
    repeat(f.var, trips, f.body, out);
  }
  void visit(const ir::If& i, Counts& out) {
    out.branches += i.own_function ? 0 : 1;
    const bool holds =
        std::all_of(i.conditions.begin(), i.conditions.end(), [&](const ir::Condition& c) {
          const int64_t v = ir::evaluate(c.index, values_);
          return c.low <= v && v <= c.high;
        });
    const ir::Block& body = holds ? i.then_body : i.else_body;
    add_scaled(out, deciding_in(body).empty() ? counted_once(body) : block(body), 1);
  }
  void visit(const ir::LetIndex& let, Counts&) {
    values_[static_cast<size_t>(let.var)] = ir::evaluate(let.value, values_);
  }
  void visit(const ir::Locate& l, Counts& out) {
    values_[static_cast<size_t>(l.var)] = 0;
    out.buffers[static_cast<size_t>(l.id)].splats += 1;
    out.simple += kLocateCost;
  }
  void visit(const ir::Assign& a, Counts& out) {
    count_value(a.value, lane_, redundant_.eliminated, evaluated_, out);
  }
  void visit(const ir::Declare&, Counts&) {}
  void visit(const ir::Store& s, Counts& out) {
    count_value(s.value, lane_, redundant_.eliminated, evaluated_, out);
    AccessCount& a = out.buffers[static_cast<size_t>(s.id)];
    if (lane_ >= 0 && ir::depends_on(s.index, lane_))
      a.fragment_stores += 1;
    else if (s.stride == 1)
      a.vector_stores += 1;
    else
      a.scattered_lanes += s.count;
  }
  void visit(const ir::Copy& s, Counts& out) {
    const auto n = static_cast<double>(s.runs.size());
    out.buffers[static_cast<size_t>(s.from)].run_loads += n;
    out.buffers[static_cast<size_t>(s.to)].run_stores += n;
  }
  void visit(const ir::MoveRun& s, Counts& out) {
    AccessCount& a = out.buffers[static_cast<size_t>(s.id)];
    (s.store ? a.run_stores : a.run_loads) += 1;
  }
  void visit(const ir::Prefetch&, Counts& out) { out.prefetches += 1; }
  void visit(const ir::Keep&, Counts&) {}
  void visit(const ir::Barrier&, Counts& out) { out.barriers += 1; }
  void visit(const ir::MatrixMultiply&, Counts& out) { out.matrix += 1; }
  void visit(const ir::MoveFragment& s, Counts& out) {
    const ir::Register& r = kernel_.registers[static_cast<size_t>(s.reg)];
    const auto lines =
        static_cast<double>(ir::memory_lines(*ir::fragment_in(kernel_, r), r.fragment.layout));
    AccessCount& a = out.buffers[static_cast<size_t>(s.id)];
    (s.store ? a.line_stores : a.line_loads) += lines;
  }
  void visit(const ir::LoadFragment& s, Counts& out) {
    out.buffers[static_cast<size_t>(s.id)].wave_loads += 1;
  }
  void visit(const ir::DeviceBarrier&, Counts&) {}  // not made by lowering
  void visit(const ir::AtomicAdd& s, Counts& out) {
    count_value(s.value, lane_, redundant_.eliminated, evaluated_, out);
    out.buffers[static_cast<size_t>(s.id)].gathered_lanes += s.value.lanes;
    out.buffers[static_cast<size_t>(s.id)].scattered_lanes += s.value.lanes;
  }

  const ir::Kernel& kernel_;
  std::vector<int64_t> values_;
  const int lane_;  // Kernel::vector_lane
  size_t buffers_;
  Evaluated evaluated_;
  RedundantLoads redundant_;
  std::map<const ir::Block*, std::set<int>> deciding_;
  std::map<const ir::Block*, Counts> counts_;
};

}  // namespace

double Counts::loads() const {
  double n = 0;
  for (const AccessCount& a : buffers)
    n += a.vector_loads + a.splats + a.gathered_lanes + a.fragment_loads + a.run_loads +
         a.wave_loads + a.line_loads;
  return n;
}

double Counts::stores() const {
  double n = 0;
  for (const AccessCount& a : buffers)
    n += a.vector_stores + a.scattered_lanes + a.fragment_stores + a.run_stores + a.line_stores;
  return n;
}

Counts count(const ir::Kernel& kernel) { return Counter(kernel).all(kernel); }

}  // namespace assay::lower
