#include "compiler/passes/mark_needed.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ir/producers.h"

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

// When a value matters: never, where a tensor's first element is not 0 (or is), or always. Of
// several conditions that all have to hold, one.
struct Need {
  enum class When { never, where, always };
  When when = When::never;
  int tensor = -1;
  bool value = true;
  bool operator==(const Need&) const = default;
};

constexpr Need kAlways{Need::When::always};

// For one reader or another.
Need either(const Need& a, const Need& b) {
  if (a.when == Need::When::never || a == b) return b;
  return b.when == Need::When::never ? a : kAlways;
}

// Within a program, whose tensors conditions name.
class ProgramNeeds {  // invariant: refers to a program that outlives it
 public:
  explicit ProgramNeeds(const ir::Program& p)
      : program_(p), needs_(p.graph.tensors.size()), members_(ir::members_of(p)) {
    for (const int t : p.graph.outputs) needs_[at(t)] = kAlways;
    for (size_t m = members_.size(); m-- > 0;) visit(members_[m]);
  }

  const Need& of(int tensor) const { return needs_[at(tensor)]; }

 private:
  void visit(const ir::Member& m) {
    const ir::Graph& g = m.program.graph;
    own_.assign(g.tensors.size(), {});
    for (size_t n = g.nodes.size(); n-- > 0;) {
      const ir::Node& node = g.nodes[n];
      Need need = own_[at(node.output)];
      if (const int whole = m.tensors[at(node.output)]; whole >= 0)
        need = either(need, needs_[at(whole)]);
      if (ir::is_expression(node))
        read(m, node, node.body, need);
      else
        for (const ir::Read& r : node.reads) add(m, r.tensor, need);
      for (const ir::Read& r : node.reads)
        if (r.lookup) add(m, node.reads[at(r.lookup->read)].tensor, need);
    }
  }

  void add(const ir::Member& m, int tensor, const Need& need) {
    own_[at(tensor)] = either(own_[at(tensor)], need);
    if (const int whole = m.tensors[at(tensor)]; whole >= 0)
      needs_[at(whole)] = either(needs_[at(whole)], need);
  }

  void read(const ir::Member& m, const ir::Node& n, const ir::Scalar& body, const Need& need) {
    if (body.op == ir::ScalarOp::read) return add(m, n.reads[at(body.operand)].tensor, need);
    const std::optional<int> condition = condition_of(m, n, body);
    for (size_t i = 0; i < body.args.size(); ++i)
      read(m, n, body.args[i],
           condition && i > 0 && need.when == Need::When::always
               ? Need{Need::When::where, *condition, i == 1}
               : need);
  }

  // Of a choice by the only element of an argument, that argument.
  std::optional<int> condition_of(const ir::Member& m, const ir::Node& n,
                                  const ir::Scalar& body) const {
    if (body.op != ir::ScalarOp::select || body.args[0].op != ir::ScalarOp::read) return {};
    const ir::Read& r = n.reads[at(body.args[0].operand)];
    const int whole = m.tensors[at(r.tensor)];
    if (whole < 0 || r.guarded || r.lookup || ir::is_made(program_, whole) ||
        ir::elements(m.program.graph.tensors[at(r.tensor)]) != 1)
      return {};
    return whole;
  }

  const ir::Program& program_;
  std::vector<Need> needs_;  // per tensor of the whole
  std::vector<ir::Member> members_;
  std::vector<Need> own_;  // per tensor of the member that is visited
};

class PlanNeeds {  // invariant: refers to a plan that outlives it
 public:
  explicit PlanNeeds(ir::Plan& plan)
      : plan_(plan), needs_(plan.tensors.size()), written_(plan.tensors.size(), 0) {
    for (size_t t = 0; t < plan.tensors.size(); ++t)
      if (plan.tensors[t].kind == ir::TensorKind::output) needs_[t] = kAlways;
    for (size_t s = 0; s < plan.steps.size(); ++s)
      for (const int t : ir::written_by(plan, plan.steps[s])) written_[at(t)] = s + 1;
  }

  void run() {
    for (size_t s = plan_.steps.size(); s-- > 0;) visit(s);
  }

 private:
  void visit(size_t s) {
    ir::Step& step = plan_.steps[s];
    Need own;
    for (const int t : ir::written_by(plan_, step)) own = either(own, needs_[at(t)]);
    if (own.when == Need::When::where && written_[at(own.tensor)] <= s)
      step.needed_if = ir::NeededIf{own.tensor, own.value};
    else
      own = kAlways;
    const ir::Program& p = plan_.programs[at(step.program)];
    const auto known = programs_.try_emplace(step.program, p).first;
    const std::vector<int> arguments = ir::arguments_of(p);
    const auto argument = [&](int tensor) {
      const auto found = std::ranges::find(arguments, tensor);
      return step.arguments[static_cast<size_t>(found - arguments.begin())];
    };
    const size_t reads = ir::read_by(plan_, step).size();
    for (size_t i = 0; i < reads; ++i) {
      Need need = known->second.of(arguments[i]);
      if (need.when == Need::When::where) need.tensor = argument(need.tensor);
      if (own.when == Need::When::where && need.when != Need::When::never) need = own;
      needs_[at(step.arguments[i])] = either(needs_[at(step.arguments[i])], need);
    }
    if (own.when == Need::When::where) needs_[at(own.tensor)] = kAlways;
  }

  ir::Plan& plan_;
  std::vector<Need> needs_;      // per tensor
  std::vector<size_t> written_;  // per tensor: behind the last step that writes it
  std::map<int, ProgramNeeds> programs_;
};

}  // namespace

void mark_needed(ir::Plan& plan) { PlanNeeds(plan).run(); }

}  // namespace assay::compiler
