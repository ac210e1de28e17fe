// Random scans, scatters and sorts, and inputs that suit any node.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "support/diag.h"
#include "tests/lower/problems.h"

namespace assay::test {

namespace {

int64_t pick(std::mt19937& rng, std::initializer_list<int64_t> values) {
  std::uniform_int_distribution<size_t> d(0, values.size() - 1);
  return *(values.begin() + static_cast<ptrdiff_t>(d(rng)));
}

float uniform(std::mt19937& rng) { return std::uniform_real_distribution<float>(-1, 1)(rng); }

}  // namespace

std::vector<std::vector<float>> random_inputs(const ir::Graph& g, std::mt19937& rng) {
  std::vector<std::vector<float>> inputs;
  const ir::Node& anchor = g.nodes[0];
  const auto reads = [&](int read, int tensor) {
    return anchor.reads[static_cast<size_t>(read)].tensor == tensor;
  };
  const auto* scatter = std::get_if<ir::Scatter>(&anchor.kind);
  for (int t : g.inputs) {
    std::vector<float> v(static_cast<size_t>(ir::elements(g.tensors[static_cast<size_t>(t)])));
    for (float& x : v) x = uniform(rng);
    bool positions =
        scatter != nullptr && std::any_of(scatter->positions.begin(), scatter->positions.end(),
                                          [&](const ir::Position& p) { return reads(p.read, t); });
    for (const ir::Read& r : anchor.reads)
      positions = positions || (r.lookup && reads(r.lookup->read, t));
    for (float& x : v)
      if (positions) x = std::floor(uniform(rng) * 40);
    if (std::holds_alternative<ir::Sort>(anchor.kind))
      for (float& x : v) x = std::floor(x * 16) / 16;
    inputs.push_back(std::move(v));
  }
  return inputs;
}

namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& p : parts) out += (out.empty() ? "" : ", ") + p;
  return out;
}

// A node of up to three dimensions, as text: `all` its axes and their extents.
struct KindText {
  std::vector<std::string> names, axes;
  std::vector<int64_t> extents;
  std::string index() const { return "[" + joined(names) + "]"; }
  // The same with axis `a` replaced.
  std::string index(size_t a, const std::string& by) const {
    std::vector<std::string> with = names;
    with[a] = by;
    return "[" + joined(with) + "]";
  }
  std::string type(size_t a, int64_t by) const {
    std::string out;
    for (size_t d = 0; d < extents.size(); ++d)
      out += (d > 0 ? "x" : "f32 ") + std::to_string(d == a ? by : extents[d]);
    return out;
  }
};

KindText random_axes(std::mt19937& rng) {
  KindText out;
  const auto rank = static_cast<size_t>(pick(rng, {1, 2, 2, 3}));
  for (size_t d = 0; d < rank; ++d) {
    out.names.push_back(std::string(1, static_cast<char>('i' + d)));
    out.extents.push_back(pick(rng, {1, 2, 3, 5, 7, 8, 13, 16, 17, 19, 31, 32, 37}));
    out.axes.push_back(out.names[d] + ": " + std::to_string(out.extents[d]));
  }
  return out;
}

std::string combiner(std::mt19937& rng, bool none) {
  const char* names[] = {"sum", "product", "max", "min", "none"};
  return std::string("combine: ") + names[pick(rng, {0, 0, 1, 2, 3}) + (none ? 1 : 0)];
}

std::string random_scan(std::mt19937& rng) {
  const KindText t = random_axes(rng);
  const auto a = static_cast<size_t>(pick(rng, {0, 1, 2})) % t.names.size();
  std::string text = "inputs: {x: " + t.type(a, t.extents[a]) + ", w: f32 " +
                     std::to_string(t.extents[a]) + "}\nnodes:\n  - {op: scan, out: \"y" +
                     t.index() + "\", axes: {" + joined(t.axes) + "}, " + combiner(rng, false) +
                     ", scan: {axis: " + t.names[a];
  if (pick(rng, {0, 1}) == 1) text += ", exclusive: true";
  if (pick(rng, {0, 1}) == 1) text += ", reverse: true";
  return text + "}, body: \"x" + t.index() + " * w[" + t.names[a] + "]\"}\n";
}

// Rows along one axis, whose positions may depend on the other axes, or points of two axes.
std::string random_scatter(std::mt19937& rng) {
  const KindText t = random_axes(rng);
  const auto a = static_cast<size_t>(pick(rng, {0, 1, 2})) % t.names.size();
  const auto b = (a + 1) % t.names.size();
  const int64_t terms = pick(rng, {1, 2, 5, 16, 19});
  const std::string n = std::to_string(terms), guard = pick(rng, {0, 1}) == 1 ? " : guard inf" : "";
  const bool points = b != a && pick(rng, {0, 1, 2}) == 0, each = !points && pick(rng, {0, 1}) == 1;
  const std::string shape = each ? t.type(a, terms) : "f32 " + n;
  const std::string at = each ? t.index(a, "q") : "[q]";
  const std::string places = t.names[a] + ": 1" + (points ? ", " + t.names[b] + ": 2" : "");
  std::string update = t.index(a, "q"), from = t.type(a, terms);
  if (points) update = "[q]", from = "f32 " + n;
  return "inputs: {x: " + t.type(a, t.extents[a]) + ", at: " + shape + ", to: f32 " + n +
         ", u: " + from + "}\nnodes:\n  - {op: scatter, out: \"y" + t.index() + "\", axes: {" +
         joined(t.axes) + ", q: " + n + "}, " + combiner(rng, true) +
         ", scatter: {initial: 0, positions: {" + places + "}}, reads: [\"x" + t.index() +
         "\", \"at" + at.substr(0, at.size() - 1) + guard + "]\", \"to[q]\", \"u" + update +
         "\"], body: \"$3\"}\n";
}

// The order of all terms, of most, or of a few of many.
std::string random_sort(std::mt19937& rng) {
  constexpr int64_t kMost = 24;  // drivers build long networks slowly
  KindText t = random_axes(rng);
  const auto a = static_cast<size_t>(pick(rng, {0, 1, 2})) % t.names.size();
  const int64_t wanted = t.extents[a] = std::min(t.extents[a], kMost);
  t.axes[a] = t.names[a] + ": " + std::to_string(wanted);
  const int64_t terms =
      pick(rng, {wanted, wanted + 1, kMost, std::clamp(4 * wanted, wanted, kMost)});
  return "inputs: {x: " + t.type(a, terms) + "}\nnodes:\n  - {op: sort, out: \"y" + t.index() +
         "\", axes: {" + joined(t.axes) + ", q: " + std::to_string(terms) +
         "}, sort: {axis: " + t.names[a] + (pick(rng, {0, 1}) == 1 ? ", order: descending" : "") +
         "}, body: \"x" + t.index(a, "q") + "\"}\n";
}

}  // namespace

compiler::Problem random_kind_problem(std::mt19937& rng) {
  const int64_t kind = pick(rng, {0, 1, 2});
  const std::string node = kind == 0   ? random_scan(rng)
                           : kind == 1 ? random_scatter(rng)
                                       : random_sort(rng);
  Result<ir::Graph> g =
      ir::parse_graph("schema: assay/graph/1\nname: kind\n" + node + "outputs: [y]\n", "kind.yaml");
  if (!g.ok()) throw std::runtime_error(render(g.diags()) + node);
  compiler::Problem p;
  p.graph = std::move(*g);
  const bool blocks = pick(rng, {0, 0, 1}) == 1;
  for (const ir::Tensor& t : p.graph.tensors) {
    const int rank = static_cast<int>(t.shape.size());
    p.packable.push_back(false);
    p.layouts.push_back(blocks && rank > 1 ? ir::blocked(rank, rank - 2, 8) : ir::row_major(rank));
  }
  return p;
}

}  // namespace assay::test
