#include "compiler/import/node_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace assay::import {
namespace {

using Names = std::set<std::string>;

void add_operands(const onnx::NodeProto& n, const Names& inner, Names& to);

// Names that a subgraph reads and does not define itself.
void add_captured(const onnx::GraphProto& g, Names inner, Names& to) {
  for (const onnx::ValueInfoProto& v : g.input()) inner.insert(v.name());
  for (const onnx::TensorProto& t : g.initializer()) inner.insert(t.name());
  for (const onnx::NodeProto& n : g.node()) inner.insert(n.output().begin(), n.output().end());
  for (const onnx::NodeProto& n : g.node()) add_operands(n, inner, to);
  for (const onnx::ValueInfoProto& v : g.output())
    if (!inner.contains(v.name())) to.insert(v.name());
}

void add_operands(const onnx::NodeProto& n, const Names& inner, Names& to) {
  for (const std::string& name : n.input())
    if (!name.empty() && !inner.contains(name)) to.insert(name);
  for (const onnx::AttributeProto& a : n.attribute()) {
    if (a.has_g()) add_captured(a.g(), inner, to);
    for (const onnx::GraphProto& g : a.graphs()) add_captured(g, inner, to);
  }
}

class Search {  // invariant: path_ holds the nodes that are entered and not left, with their
                // operands
 public:
  explicit Search(const Nodes& nodes) : nodes_(nodes), states_(nodes.size(), State::fresh) {
    for (size_t i = 0; i < nodes.size(); ++i)
      for (const std::string& output : nodes[i]->output())
        if (!output.empty()) producers_.try_emplace(output, i);
  }

  NodeOrder run() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (states_[i] == State::fresh) enter(i);
      while (!path_.empty()) step();
    }
    return std::move(order_);
  }

 private:
  enum class State { fresh, entered, left, cyclic };
  struct Place {
    size_t node;
    std::vector<size_t> operands;  // nodes that come before it
    size_t next = 0;
  };

  // Operands in the order of the file.
  void enter(size_t i) {
    Place place{i, {}, 0};
    for (const std::string& name : operands_of(*nodes_[i]))
      if (const auto found = producers_.find(name); found != producers_.end())
        place.operands.push_back(found->second);
    std::sort(place.operands.begin(), place.operands.end());
    states_[i] = State::entered;
    path_.push_back(std::move(place));
  }

  void step() {
    Place& top = path_.back();
    if (top.next == top.operands.size()) {
      if (states_[top.node] == State::entered) {
        order_.nodes.push_back(nodes_[top.node]);
        states_[top.node] = State::left;
      }
      path_.pop_back();
      return;
    }
    const size_t operand = top.operands[top.next++];
    if (states_[operand] == State::fresh) return enter(operand);
    if (states_[operand] == State::entered) add_cycle(operand);
  }

  // The path from `operand` on, whose last node reads it.
  void add_cycle(size_t operand) {
    const auto first =
        std::find_if(path_.begin(), path_.end(), [&](const Place& p) { return p.node == operand; });
    Nodes cycle;
    for (auto p = first; p != path_.end(); ++p) {
      cycle.push_back(nodes_[p->node]);
      states_[p->node] = State::cyclic;
    }
    order_.cycles.push_back(std::move(cycle));
  }

  const Nodes& nodes_;
  std::vector<State> states_;
  std::map<std::string, size_t> producers_;
  std::vector<Place> path_;
  NodeOrder order_;
};

}  // namespace

Names operands_of(const onnx::NodeProto& n) {
  Names names;
  add_operands(n, {}, names);
  return names;
}

NodeOrder order_of(const Nodes& nodes) { return Search(nodes).run(); }

}  // namespace assay::import
