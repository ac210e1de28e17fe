#include "toolkit/plan_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "support/page/text.h"

namespace assay::toolkit {
namespace {

constexpr size_t kWidest = 44;  // characters of a line

// Entities stay entities for Graphviz and in what it writes.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : page::html(text)) {
    if (c == '\\') out += '\\';
    out += c == '\n' || c == '\t' ? ' ' : c;
  }
  return out;
}

std::string shortened(const std::string& text) {
  if (text.size() <= kWidest) return text;
  size_t end = kWidest - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string bytes(int64_t n) { return page::human(static_cast<double>(n), page::Kind::bytes); }

class Writer {  // invariant: refers to a plan and a picture that outlive it
 public:
  Writer(const DrawnPlan& plan, const PlanPicture& picture) : plan_(plan), picture_(picture) {
    for (const Repeats& r : picture.repeats)
      for (int s = r.first; s < r.end(); ++s) repeats_[static_cast<size_t>(s)] = &r;
    for (size_t n = 0; n < plan.nodes.size(); ++n) {
      const DrawnNode& node = plan.nodes[n];
      const auto step = static_cast<size_t>(node.step);
      if (node.step < 0) continue;
      if (of_step_.size() <= step) of_step_.resize(step + 1);
      of_step_[step].push_back(static_cast<int>(n));
    }
  }

  std::string run() {
    out_ =
        "digraph {\n"
        "graph [rankdir=TB, bgcolor=transparent, nodesep=0.18, ranksep=0.28, margin=0.05, "
        "fontname=\"DejaVu Sans\", fontsize=10, labeljust=l]\n"
        "node [shape=box, style=rounded, fontname=\"DejaVu Sans\", fontsize=10, height=0.3, "
        "margin=\"0.1,0.04\"]\n"
        "edge [fontname=\"DejaVu Sans\", fontsize=8, arrowsize=0.6]\n";
    for (int s = 0; s < static_cast<int>(of_step_.size()); ++s) {
      const Repeats* r = repeats_at(s);
      if (r == nullptr)
        add_step(s);
      else if (s == r->first)
        add_repeats(*r);
    }
    for (size_t n = 0; n < plan_.nodes.size(); ++n)
      if (plan_.nodes[n].step < 0) add_node(static_cast<int>(n));
    for (const DrawnEdge& e : plan_.edges) add_edge(e);
    return std::move(out_) + "}\n";
  }

 private:
  const Repeats* repeats_at(int step) const {
    const auto found = repeats_.find(static_cast<size_t>(step));
    return found == repeats_.end() ? nullptr : found->second;
  }

  void add_repeats(const Repeats& r) {
    out_ += fmt::format(
        "subgraph cluster_repeats_{0} {{\nclass=\"repeats\" style=dashed margin=10 "
        "label=\"{1} times: steps {2} to {3}, and so on to {4}\"\n",
        r.first, r.times, r.first + 1, r.first + r.period, r.end());
    for (int s = r.first; s < r.first + r.period; ++s) add_step(s);
    out_ += "}\n";
  }

  void add_step(int s) {
    const auto at = static_cast<size_t>(s);
    out_ += fmt::format(
        "subgraph cluster_{0} {{\nid=\"{1}_{2}\" class=\"step-colour-{3}\" style=rounded margin=6 "
        "label=\"step {2}: {4}\"\n",
        s, picture_.id, s + 1, picture_.colours[at], quoted(picture_.times[at]));
    for (const int n : of_step_[at]) add_node(n);
    out_ += "}\n";
  }

  void add_node(int n) {
    const DrawnNode& node = plan_.nodes[static_cast<size_t>(n)];
    std::string label;
    for (const std::string& line : node.lines)
      label += (label.empty() ? "" : "\\n") + quoted(shortened(line));
    if (node.constant_bytes > 0) label += "\\n" + bytes(node.constant_bytes) + " of constants";
    static constexpr std::pair<const char*, const char*> kRoles[] = {
        {"node-computes", "box"}, {"node-input", "ellipse"}, {"node-output", "ellipse"}};
    const auto& [style, shape] = kRoles[static_cast<size_t>(node.role)];
    out_ += fmt::format("n{} [class=\"{}\" shape={} label=\"{}\"]\n", n, style, shape, label);
  }

  // Where a node of a repetition is drawn, and in which repetition it is.
  std::pair<int, int> place_of(int node) const {
    const int step = plan_.nodes[static_cast<size_t>(node)].step;
    const Repeats* r = step < 0 ? nullptr : repeats_at(step);
    if (r == nullptr) return {node, 0};
    const auto& own = of_step_[static_cast<size_t>(step)];
    const auto position = std::find(own.begin(), own.end(), node) - own.begin();
    const int k = (step - r->first) / r->period;
    return {of_step_[static_cast<size_t>(step - k * r->period)][static_cast<size_t>(position)], k};
  }

  void add_edge(const DrawnEdge& e) {
    const auto [from, k] = place_of(e.from);
    const auto [to, l] = place_of(e.to);
    const int begin = plan_.nodes[static_cast<size_t>(from)].step,
              end = plan_.nodes[static_cast<size_t>(to)].step;
    const Repeats *a = begin < 0 ? nullptr : repeats_at(begin),
                  *b = end < 0 ? nullptr : repeats_at(end);
    const bool inside = a != nullptr && a == b, next = inside && l > k;
    const std::string whole = bytes(e.whole),
                      label = e.memory == "registers" ? "registers, of " + whole
                              : e.bytes == e.whole
                                  ? e.memory + " " + whole
                                  : e.memory + " " + bytes(e.bytes) + " of " + whole;
    if ((inside && !next && k > 0) || !seen_.emplace(from, to, next ? "" : label).second) return;
    out_ += fmt::format("n{} -> n{} [class=\"{}\" label=\" {}{}   \"{}]\n", from, to,
                        e.memory == "registers" ? "in-registers"
                        : e.bytes < e.whole     ? "on-chip"
                                                : "between-steps",
                        next ? "next: " : "", quoted(label),
                        next               ? " constraint=false style=dashed"
                        : begin + 1 >= end ? " weight=4"
                                           : "");
  }

  const DrawnPlan& plan_;
  const PlanPicture& picture_;
  std::map<size_t, const Repeats*> repeats_;  // by step
  std::vector<std::vector<int>> of_step_;     // nodes
  std::set<std::tuple<int, int, std::string>> seen_;
  std::string out_;
};

}  // namespace

std::string dot_text(const DrawnPlan& plan, const PlanPicture& picture) {
  return Writer(plan, picture).run();
}

}  // namespace assay::toolkit
