// Random scans, scatters, sorts and tuple reductions, and inputs that suit any node.
#include <algorithm>
#include <cmath>
#include <cstring>
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

// States that may be combined in any order: what is kept, of x and of w.
struct State {
  const char *init, *step, *combine, *results;
};

// The largest and the sum of exponentials; sums about the first of a row; the first of the largest;
// mean and squares (Welford); three sums of products.
constexpr State kStates[] = {
    {"m: -3e38, s: 0",
     R"t(m: "max(m, $0)", )t"
     R"t(s: "select(less(m, $0), s * exp(-abs($0 - m)) + 1, s + exp(-abs($0 - m)))")t",
     R"t(m: "max(m, other.m)", s: "select(less(m, other.m), )t"
     R"t(s * exp(-abs(m - other.m)) + other.s, s + other.s * exp(-abs(m - other.m)))")t",
     "[m, s]"},
    {"a: 0, b: 0", R"t(a: "a + ($0 - abs($2))", b: "b + ($0 - abs($2)) * ($0 - abs($2))")t",
     R"t(a: "a + other.a", b: "b + other.b")t", R"t(["$2 + a / 64", "b / 64"])t"},
    {"m: -inf, at: 0", R"t(m: "max(m, $0)", at: "select(less(m, $0), q, at)")t",
     R"t(m: "max(m, other.m)", )t"
     R"t(at: "select(equal(m, other.m), min(at, other.at), )t"
     R"t(select(less(m, other.m), other.at, at))")t",
     "[at]"},
    {"n: 0, a: 0, b: 0",
     R"t(n: "n + 1", a: "a + ($0 - a) / (n + 1)", )t"
     R"t(b: "b + ($0 - a) * ($0 - (a + ($0 - a) / (n + 1)))")t",
     R"t(n: "n + other.n", a: "a + (other.a - a) * (other.n / max(n + other.n, 1))", )t"
     R"t(b: "b + other.b + (other.a - a) * (other.a - a) * )t"
     R"t((n * other.n / max(n + other.n, 1))")t",
     R"t([a, "b / n"])t"},
    {"a: 0, b: 1, c: inf", R"t(a: "a + $0 * $1", b: "b * ($1 / 8 + 1)", c: "min(c, $0 + q)")t",
     R"t(a: "a + other.a", b: "b * other.b", c: "min(c, other.c)")t", R"t([b, a, c, "a * b"])t"}};

std::string random_tuple(std::mt19937& rng) {
  const State& state = kStates[pick(rng, {0, 1, 2, 3, 4})];
  const int64_t results = std::count(state.results, state.results + strlen(state.results), ',') + 1;
  KindText t = random_axes(rng), x = t;
  if (t.names.size() == 3) t.names.pop_back(), t.axes.pop_back(), t.extents.pop_back(), x = t;
  const auto place = static_cast<size_t>(pick(rng, {0, 1, 2})) % (t.names.size() + 1);
  const auto by = static_cast<ptrdiff_t>(place);
  t.names.insert(t.names.begin() + by, "r");
  t.axes.insert(t.axes.begin() + by, "r: " + std::to_string(results));
  // Rows are the innermost or the outermost dimension of x, of one axis or of two.
  const bool two = pick(rng, {0, 0, 1}) == 1, inside = pick(rng, {0, 0, 1}) < 1;
  const int64_t terms = pick(rng, {1, 2, 7, 8, 16, 17, 32, 40, 61}), few = pick(rng, {1, 2, 3});
  KindText first = x;
  const auto add = [&](const std::string& name, int64_t extent) {
    for (KindText* to : {&x, &first}) {
      const std::string index = to == &x ? name : "0";
      to->names.insert(inside ? to->names.end() : to->names.begin(), index);
      to->extents.insert(inside ? to->extents.end() : to->extents.begin(), extent);
    }
    t.axes.push_back(name + ": " + std::to_string(extent));
  };
  const bool guarded = !two && pick(rng, {0, 0, 0, 1}) == 1;
  if (two) add("p", few);
  add("q", terms);
  if (guarded) *std::find(x.names.begin(), x.names.end(), "q") = "q - 1";
  const std::string at = x.index(), guard = guarded ? " : guard 0.5]" : "]";
  return "inputs: {x: " + x.type(x.extents.size(), 0) + ", w: f32 " + std::to_string(terms) +
         "}\nnodes:\n  - {op: tuple, out: \"y" + t.index() + "\", axes: {" + joined(t.axes) +
         "}, tuple: {axis: r, init: {" + state.init + "}, step: {" + state.step + "}, combine: {" +
         state.combine + "}, results: " + state.results + "}, reads: [\"x" +
         at.substr(0, at.size() - 1) + guard + "\", \"w[q]\", \"x" + first.index() + "\"]}\n";
}

}  // namespace

compiler::Problem random_kind_problem(std::mt19937& rng) {
  const int64_t kind = pick(rng, {0, 1, 2, 3});
  const std::string node = kind == 0   ? random_scan(rng)
                           : kind == 1 ? random_scatter(rng)
                           : kind == 2 ? random_sort(rng)
                                       : random_tuple(rng);
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
