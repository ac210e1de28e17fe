#include "toolkit/chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "toolkit/compile.h"

namespace assay::toolkit {
namespace {

std::string print_shape(const ir::Tensor& t) {
  return fmt::format("{} {}", ir::name_of(t.dtype), fmt::join(t.shape, "x"));
}

// The graph, then `next` with its first input replaced by the graph's output.
Result<ir::Graph> joined(ir::Graph g, const ir::Graph& next) {
  const int made = g.outputs[0], first = next.inputs[0];
  const ir::Tensor &from = g.tensors[static_cast<size_t>(made)],
                   &to = next.tensors[static_cast<size_t>(first)];
  if (from.shape != to.shape || from.dtype != to.dtype)
    return error(fmt::format("{} makes {}, and {} reads {}", g.nodes.back().op, print_shape(from),
                             next.nodes.front().op, print_shape(to)),
                 "give both the same extents");
  const int tensors = static_cast<int>(g.tensors.size()),
            constants = static_cast<int>(g.constants.size());
  const auto moved = [&](int t) { return t == first ? made : t + tensors; };
  for (ir::Tensor t : next.tensors) {
    t.name = fmt::format("{}_{}", t.name, g.nodes.size());
    if (t.constant >= 0) t.constant += constants;
    g.tensors.push_back(std::move(t));
  }
  g.constants.insert(g.constants.end(), next.constants.begin(), next.constants.end());
  for (ir::Node n : next.nodes) {
    n.name = fmt::format("{}_{}", n.name, g.nodes.size());
    for (ir::Read& r : n.reads) r.tensor = moved(r.tensor);
    n.output = moved(n.output);
    g.nodes.push_back(std::move(n));
  }
  for (size_t i = 1; i < next.inputs.size(); ++i) g.inputs.push_back(moved(next.inputs[i]));
  g.outputs = {moved(next.outputs[0])};
  return g;
}

// Without what nobody reads or makes: the operands that results replace.
ir::Graph without_unused(const ir::Graph& g) {
  std::vector<bool> used(g.tensors.size(), false);
  for (const ir::Node& n : g.nodes) {
    used[static_cast<size_t>(n.output)] = true;
    for (const ir::Read& r : n.reads) used[static_cast<size_t>(r.tensor)] = true;
  }
  std::vector<int> now(g.tensors.size(), -1);
  ir::Graph out = g;
  out.tensors.clear();
  for (size_t t = 0; t < used.size(); ++t) {
    if (!used[t]) continue;
    now[t] = static_cast<int>(out.tensors.size());
    out.tensors.push_back(g.tensors[t]);
  }
  const auto renumber = [&](int& t) { t = now[static_cast<size_t>(t)]; };
  for (ir::Node& n : out.nodes) {
    renumber(n.output);
    for (ir::Read& r : n.reads) renumber(r.tensor);
  }
  std::ranges::for_each(out.inputs, renumber);
  std::ranges::for_each(out.outputs, renumber);
  return out;
}

// Draws extents; small ones are as likely as large ones, and one of five is a prime.
struct Extents {
  std::mt19937_64 rng;

  int64_t below(int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)); }
  int64_t between(double low, double high) {
    const double at = static_cast<double>(below(1 << 20)) / (1 << 20);
    auto n = static_cast<int64_t>(std::exp(std::log(low) + at * std::log(high / low)));
    if (below(5) > 0) return std::max<int64_t>(1, n / 8 * 8);
    for (n |= 1; !is_prime(n);) n += 2;
    return n;
  }
  static bool is_prime(int64_t n) {
    for (int64_t d = 3; d * d <= n; d += 2)
      if (n % d == 0) return false;
    return n > 2;
  }
};

std::string of_rows(const char* op, int64_t rows, int64_t columns) {
  return fmt::format("{} rows={} columns={}", op, rows, columns);
}

std::string product(int64_t m, int64_t n, int64_t k) {
  return fmt::format("matmul m={} n={} k={}", m, n, k);
}

std::string image(const char* op, int64_t c, int64_t side, const std::string& rest) {
  return fmt::format("{} c={} h={} w={}{}", op, c, side, side, rest);
}

std::string drawn_chain(Extents& e, int form) {
  static constexpr const char* kRows[] = {"softmax", "layer_norm", "rms_norm"};
  const char* rows_op = kRows[e.below(3)];
  const int64_t m = e.between(32, 4096), n = e.between(16, 768), k = e.between(16, 512),
                p = e.between(16, 256), c = e.between(8, 128), o = e.between(8, 128),
                side = e.between(8, 64);
  switch (form) {
    case 0:
      return of_rows(rows_op, m, 4 * n);
    case 1:
      return product(m, n, k) + " | " + of_rows(rows_op, m, n);
    case 2:
      return of_rows(rows_op, m, n) + " | " + product(m, p, n);
    case 3:
      return product(m, n, k) + " | " + product(m, p, n);
    case 4:
      return product(m, n, k) + " | " + of_rows("bias_add", m, n) + " | " + product(m, p, n);
    case 5:
      return product(m, n, p) + " | " + of_rows("softmax", m, n) + " | " + product(m, p, n);
    case 6:
      return product(m, n, k) + " | " +
             of_rows(e.below(2) == 0 ? "reduce_sum" : "reduce_max", m, n);
    case 7:
      return image("depthwise", c, side, "") + " | " +
             image("conv", c, side, fmt::format(" o={}", o));
    case 8:
      return image("conv", c, side, fmt::format(" o={} r=3 s=3", o)) + " | " +
             image("conv", o, side, fmt::format(" o={}", c));
    default:
      return product(m, n, k) + " | " + of_rows("rms_norm", m, n) + " | " + product(m, p, n);
  }
}
constexpr int kForms = 10;

}  // namespace

Result<ir::Graph> chain_of(const std::string& text) {
  size_t end = text.find('|');
  if (end == std::string::npos) return operator_model(text);
  Result<ir::Graph> out = operator_model(text.substr(0, end));
  while (out && end != std::string::npos) {
    const size_t begin = end + 1;
    end = text.find('|', begin);
    const Result<ir::Graph> next = operator_model(text.substr(begin, end - begin));
    if (!next) return next;
    out = joined(std::move(*out), *next);
    if (out) out->name = "chain:" + text;
  }
  if (!out) return out;
  ir::Graph g = without_unused(*out);
  if (Diags wrong = ir::verify(g); !wrong.empty()) return wrong;
  return g;
}

std::vector<std::string> draw_chains(int count, uint64_t seed) {
  Extents e{std::mt19937_64(seed)};
  std::vector<std::string> out;
  std::set<std::string> known;
  for (int i = 0; static_cast<int>(out.size()) < count; ++i)
    if (std::string chain = drawn_chain(e, i % kForms); known.insert(chain).second)
      out.push_back(std::move(chain));
  return out;
}

}  // namespace assay::toolkit
