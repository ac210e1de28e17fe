#include "toolkit/plan_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/label.h"
#include "ir/producers.h"

namespace assay::toolkit {
namespace {

int64_t bytes_of(const ir::Tensor& t) { return ir::elements(t) * ir::bytes_of(t.dtype); }

class Drawer {  // invariant: refers to a plan and memories that outlive it
 public:
  Drawer(const ir::Plan& plan, const std::vector<std::vector<std::string>>& read_from,
         const std::string& far, Detail detail)
      : plan_(plan), read_from_(read_from), far_(far), detail_(detail) {}

  DrawnPlan run() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) add_step(static_cast<int>(s));
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
      const ir::PlanTensor& tensor = plan_.tensors[t];
      if (tensor.kind != ir::TensorKind::output) continue;
      const int node = add({DrawnNode::Role::output, -1, {tensor.name}, 0});
      for (const int from : writers_[static_cast<int>(t)])
        connect({from, node, far_, tensor.bytes, tensor.bytes});
    }
    return std::move(out_);
  }

 private:
  int add(DrawnNode n) {
    out_.nodes.push_back(std::move(n));
    return static_cast<int>(out_.nodes.size()) - 1;
  }
  void connect(DrawnEdge e) {
    if (std::find(out_.edges.begin(), out_.edges.end(), e) == out_.edges.end())
      out_.edges.push_back(std::move(e));
  }

  // The program of the step that is being added.
  struct Whole {
    int step = 0;
    const ir::Program& program;
    std::map<int, size_t> arguments;  // tensor of its graph -> position of the argument
    std::map<int, int> made;          // tensor that is kept on the chip -> node
  };

  void add_step(int number) {
    const ir::Step& s = plan_.steps[static_cast<size_t>(number)];
    const ir::Program& p = plan_.programs[static_cast<size_t>(s.program)];
    Whole whole{number, p, {}, {}};
    const std::vector<int> arguments = ir::arguments_of(p);
    for (size_t i = 0; i < arguments.size(); ++i) whole.arguments[arguments[i]] = i;
    int last = -1;
    for (const ir::Member& m : ir::members_of(p)) {
      last = add_member(whole, m);
      const int made = m.tensors[static_cast<size_t>(m.program.graph.outputs[0])];
      if (ir::is_made(p, made)) whole.made[made] = last;
      if (const auto stored = whole.arguments.find(made); stored != whole.arguments.end())
        writers_[s.arguments[stored->second]].push_back(last);
    }
  }

  // Returns the node of its output.
  int add_member(const Whole& whole, const ir::Member& m) {
    const ir::Graph& g = m.program.graph;
    std::map<int, int> in_registers;  // tensor -> node
    int node = -1;
    for (const ir::Node& n : g.nodes) {
      if (node < 0 || detail_ == Detail::nodes)
        node = add({DrawnNode::Role::computes, whole.step, {ir::label_of(g, n)}, 0});
      else
        out_.nodes[static_cast<size_t>(node)].lines.push_back("+ " + n.op);
      for (const ir::Read& r : n.reads) add_read(whole, m, r.tensor, node, in_registers);
      in_registers[n.output] = node;
    }
    return node;
  }

  void add_read(const Whole& whole, const ir::Member& m, int tensor, int node,
                const std::map<int, int>& in_registers) {
    const ir::Tensor& t = m.program.graph.tensors[static_cast<size_t>(tensor)];
    if (const auto own = in_registers.find(tensor); own != in_registers.end()) {
      if (own->second != node) connect({own->second, node, "registers", bytes_of(t), bytes_of(t)});
      return;
    }
    const int id = m.tensors[static_cast<size_t>(tensor)];
    if (const auto made = whole.made.find(id); made != whole.made.end()) {
      for (const ir::Producer& r : whole.program.producers)
        if (ir::passed_tensor(r) == id)
          connect({made->second, node, r.level, ir::passed_bytes(whole.program, r), bytes_of(t)});
      return;
    }
    add_argument(whole.step, whole.arguments.at(id), node);
  }

  void add_argument(int step, size_t position, int node) {
    const int argument = plan_.steps[static_cast<size_t>(step)].arguments[position];
    const ir::PlanTensor& tensor = plan_.tensors[static_cast<size_t>(argument)];
    if (tensor.kind == ir::TensorKind::constant) {
      if (constants_.emplace(node, argument).second)
        out_.nodes[static_cast<size_t>(node)].constant_bytes += tensor.bytes;
      return;
    }
    std::vector<int>& from = writers_[argument];
    if (from.empty()) from.push_back(add({DrawnNode::Role::input, -1, {tensor.name}, 0}));
    for (const int f : from)
      connect(
          {f, node, read_from_[static_cast<size_t>(step)][position], tensor.bytes, tensor.bytes});
  }

  const ir::Plan& plan_;
  const std::vector<std::vector<std::string>>& read_from_;
  const std::string& far_;
  const Detail detail_;
  std::map<int, std::vector<int>> writers_;  // plan tensor -> nodes
  std::set<std::pair<int, int>> constants_;  // node, plan tensor
  DrawnPlan out_;
};

// Does each repetition read what the one before it made?
bool is_chain(const ir::Plan& plan, const Repeats& r) {
  const auto step = [&](int k, int i) -> const ir::Step& {
    return plan.steps[static_cast<size_t>(r.first + k * r.period + i)];
  };
  for (int k = 1; k < r.times; ++k) {
    bool reads = false;
    for (int i = 0; i < r.period; ++i)
      for (int j = 0; j < r.period; ++j) {
        for (const int made : ir::written_by(plan, step(k - 1, j))) {
          const std::span<const int> read = ir::read_by(plan, step(k, i));
          reads = reads || std::find(read.begin(), read.end(), made) != read.end();
        }
      }
    if (!reads) return false;
  }
  return true;
}

// The longest run of repetitions that begins at `first`; times 1: there is none.
Repeats longest(const ir::Plan& plan, int first) {
  const int n = static_cast<int>(plan.steps.size());
  const auto program = [&](int i) { return plan.steps[static_cast<size_t>(i)].program; };
  Repeats best{first, 1, 1};
  for (int period = 1; first + 2 * period <= n; ++period) {
    int same = first + period;
    while (same < n && program(same) == program(same - period)) ++same;
    const Repeats r{first, period, (same - first) / period};
    if (r.times > 1 && period * (r.times - 1) > best.period * (best.times - 1) && is_chain(plan, r))
      best = r;
  }
  return best;
}

}  // namespace

DrawnPlan drawn(const ir::Plan& plan, const std::vector<std::vector<std::string>>& read_from,
                const std::string& far, Detail detail) {
  return Drawer(plan, read_from, far, detail).run();
}

std::vector<Repeats> repeats_of(const ir::Plan& plan) {
  std::vector<Repeats> all, out;
  for (int i = 0; i < static_cast<int>(plan.steps.size()); ++i)
    if (const Repeats r = longest(plan, i); r.times > 1) all.push_back(r);
  std::stable_sort(all.begin(), all.end(), [](const Repeats& a, const Repeats& b) {
    return a.period * (a.times - 1) > b.period * (b.times - 1);
  });
  for (const Repeats& r : all)
    if (std::none_of(out.begin(), out.end(),
                     [&](const Repeats& o) { return r.first < o.end() && o.first < r.end(); }))
      out.push_back(r);
  std::sort(out.begin(), out.end(),
            [](const Repeats& a, const Repeats& b) { return a.first < b.first; });
  return out;
}

}  // namespace assay::toolkit
