#include "tests/lower/problems.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "codegen/interpret.h"
#include "compiler/compile.h"
#include "compiler/passes/choose_layouts.h"
#include "ir/computed_type.h"
#include "ir/element.h"
#include "ir/positions.h"
#include "ir/producers.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "support/diag.h"

namespace assay::test {

namespace {

hwdesc::Value<hwdesc::Count> count(double v) {
  hwdesc::Value<hwdesc::Count> out;
  out.value = hwdesc::Count{v};
  return out;
}

hwdesc::MemoryLevel level(const std::string& name, const std::string& per, double bytes,
                          double bandwidth) {
  hwdesc::MemoryLevel l;
  l.name = name;
  l.per = per;
  l.capacity.value = hwdesc::Bytes{bytes};
  l.bandwidth.read.value = hwdesc::Bandwidth{bandwidth, "core"};
  l.line.value = hwdesc::Bytes{64};
  return l;
}

int64_t pick(std::mt19937& rng, std::initializer_list<int64_t> values) {
  std::uniform_int_distribution<size_t> d(0, values.size() - 1);
  return *(values.begin() + static_cast<ptrdiff_t>(d(rng)));
}

ir::Graph of(const std::string& text) {
  Result<ir::Graph> g = compiler::parse_operator(text);
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  return *g;
}

std::string number(const char* name, int64_t v) {
  return std::string(" ") + name + "=" + std::to_string(v);
}

// y[b, j] = table[ids[b], j], scaled by a second table's row; or the sum of k such rows.
ir::Graph random_lookup(std::mt19937& rng, int64_t rows, int64_t columns, int64_t n, int64_t k) {
  ir::Graph g;
  g.name = "lookup";
  const bool sums = pick(rng, {0, 1}) == 1;
  g.tensors = {{"table", ir::DType::f32, {rows, columns}, -1},
               {"ids", ir::DType::f32, {n, k}, -1},
               {"scale", ir::DType::f32, {columns, rows}, -1},
               {"y", ir::DType::f32, {n, columns}, -1}};
  ir::Node node{"gather",
                "gather",
                {{"b", n}, {"j", columns}},
                3,
                {},
                {},
                sums ? ir::Combiner::sum : ir::Combiner::none};
  if (sums) node.axes.push_back({"k", k});
  node.reads = {{1, {ir::variable(0), sums ? ir::variable(2) : ir::constant(0)}, false, 0},
                {0, {ir::constant(0), ir::variable(1)}, false, -0.5},
                {2, {ir::variable(1), ir::constant(0)}, false, 0}};
  node.reads[1].lookup = ir::Lookup{0, 0};
  node.reads[2].lookup = ir::Lookup{1, 0};
  node.body = pick(rng, {0, 1}) == 1 ? ir::read(1)
                                     : ir::apply(ir::ScalarOp::mul, {ir::read(1), ir::read(2)});
  if (node.body.op == ir::ScalarOp::read) node.reads.pop_back();
  g.inputs = {0, 1, 2};
  g.outputs = {3};
  g.nodes = {std::move(node)};
  return g;
}

ir::Graph parsed(const std::string& text) {
  Result<ir::Graph> g = ir::parse_graph(text, "problem.yaml");
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  return *g;
}

// Squared deviations from a mean per row: one operand moves with both axes, one with the outer.
ir::Graph around_means(int64_t rows, int64_t columns) {
  const std::string i = std::to_string(rows), j = std::to_string(columns);
  return parsed(
      "schema: assay/graph/1\nname: squares\ninputs: {x: f32 " + i + "x" + j + ", mean: f32 " + i +
      "}\nnodes:\n  - {op: squares, out: \"y[i]\", axes: {i: " + i + ", j: " + j +
      "}, combine: sum, body: \"(x[i, j] - mean[i]) * (x[i, j] - mean[i])\"}\n" + "outputs: [y]\n");
}

// A convolution whose filters read the channels of their group only, with constant weights.
ir::Graph grouped_convolution(int64_t groups, int64_t filters, int64_t channels, int64_t size) {
  const auto n = [](int64_t v) { return std::to_string(v); };
  ir::Graph g =
      parsed("schema: assay/graph/1\nname: conv\ninputs: {x: f32 1x" + n(groups * channels) + "x" +
             n(size + 1) + "x" + n(size) + ", w: f32 " + n(groups * filters) + "x" + n(channels) +
             "x2x1}\nnodes:\n  - {op: conv, out: \"y[n, o, i, j]\", axes: {n: 1, o: " +
             n(groups * filters) + ", i: " + n(size) + ", j: " + n(size) + ", c: " + n(channels) +
             ", r: 2}, combine: sum, body: \"x[n, " + n(channels) + "*(o/" + n(filters) +
             ") + c, i + r, j] * w[o, c, r, 0]\"}\noutputs: [y]\n");
  g.inputs = {0};
  g.tensors[1].constant = 0;
  g.constants.resize(1);
  return g;
}

// Channels of two images, one after the other.
ir::Graph joined_channels(int64_t first, int64_t second, int64_t size) {
  const auto n = [](int64_t v) { return std::to_string(v); };
  const std::string image = "x" + n(size) + "x3";
  return parsed(
      "schema: assay/graph/1\nname: concat\ninputs: {a: f32 1x" + n(first) + image + ", b: f32 1x" +
      n(second) + image +
      "}\nnodes:\n  - {op: concat, out: \"y[n, c, i, j]\", axes: {n: 1, c: " + n(first + second) +
      ", i: " + n(size) + ", j: 3}, body: \"a[n, c, i, j : guard 0] + b[n, c - " + n(first) +
      ", i, j : guard 0]\"}\noutputs: [y]\n");
}

ir::Graph random_operator(std::mt19937& rng) {
  const auto extent = [&] { return pick(rng, {1, 2, 3, 5, 7, 8, 13, 16, 17, 19, 31, 32, 37}); };
  switch (pick(rng, {0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 8, 9})) {
    case 9: {
      const int64_t first = extent(), second = extent();
      return joined_channels(first, second, pick(rng, {1, 2, 5}));
    }
    case 8: {
      const int64_t filters = pick(rng, {1, 2, 3, 4, 5, 8, 16, 32}), channels = extent() % 9 + 1;
      return grouped_convolution(pick(rng, {2, 3}), filters, channels, 1 + extent() % 9);
    }
    case 7: {
      const int64_t rows = extent();
      return around_means(rows, extent());
    }
    case 6:
      return of("bias_add" + number("rows", extent()) + number("columns", extent()));
    case 5: {
      const int64_t rows = extent(), columns = extent(), n = extent();
      return random_lookup(rng, rows, columns, n, extent());
    }
    case 0:
      return of("matmul" + number("m", extent()) + number("n", extent()) + number("k", extent()) +
                number("b", pick(rng, {1, 1, 3})));
    case 1: {
      const int64_t r = pick(rng, {1, 3, 3, 5}), size = r + extent() % 12;
      return of("conv" + number("n", pick(rng, {1, 2})) + number("c", extent()) +
                number("o", extent()) + number("h", size) + number("w", size + 1) + number("r", r) +
                number("s", r) + number("stride", pick(rng, {1, 2})) +
                number("pad", pick(rng, {0, r / 2})));
    }
    case 2:
      return of("depthwise" + number("c", extent()) + number("h", 3 + extent() % 11) +
                number("w", 3 + extent() % 11) + number("stride", pick(rng, {1, 2})));
    case 3:
      return of("relu" + number("n", extent() * extent()));
    default:
      return of("reduce_sum" + number("rows", extent()) + number("columns", extent()));
  }
}

ir::Node elementwise_after(const ir::Graph& g, int output, const std::string& op) {
  ir::Node n;
  n.name = n.op = op;
  const ir::Node& last = g.nodes.back();
  ir::Read self;
  self.tensor = last.output;
  for (int d = 0; d < ir::spatial_count(g, last); ++d) {
    n.axes.push_back(last.axes[static_cast<size_t>(d)]);
    self.index.push_back(ir::variable(d));
  }
  n.reads.push_back(self);
  n.output = output;
  return n;
}

int clone_tensor(ir::Graph& g, const std::string& name) {
  ir::Tensor t = g.tensors[static_cast<size_t>(g.nodes.back().output)];
  t.name = name;
  g.tensors.push_back(std::move(t));
  return static_cast<int>(g.tensors.size()) - 1;
}

// A residual and a relu, as epilogues.
void add_epilogue(ir::Graph& g, std::mt19937& rng) {
  if (pick(rng, {0, 1}) == 1) {
    const int other = clone_tensor(g, "residual"), sum = clone_tensor(g, "sum");
    g.inputs.push_back(other);
    ir::Node n = elementwise_after(g, sum, "add");
    ir::Read r = n.reads[0];
    r.tensor = other;
    n.reads.push_back(std::move(r));
    n.body = ir::apply(ir::ScalarOp::add, {ir::read(0), ir::read(1)});
    g.nodes.push_back(std::move(n));
  }
  if (pick(rng, {0, 1}) == 1) {
    const int out = clone_tensor(g, "relu");
    ir::Node n = elementwise_after(g, out, "relu");
    n.body = ir::apply(ir::ScalarOp::max, {ir::read(0), ir::number(0)});
    g.nodes.push_back(std::move(n));
  }
  g.outputs = {g.nodes.back().output};
}

// Redraws some extents of outer tiles. Each is a multiple of the register tile's and divides the
// enclosing one, unless that is the whole axis.
ir::Program shaken(ir::Program p, std::mt19937& rng) {
  const ir::Node& anchor = p.graph.nodes[0];
  for (size_t l = 0; l + 1 < p.tiles.size(); ++l) {
    for (size_t a = 0; a < anchor.axes.size(); ++a) {
      const int64_t inner = p.tiles[l + 1].extent[a], whole = anchor.axes[a].extent;
      const int64_t enclosing = l == 0 ? whole : p.tiles[l - 1].extent[a];
      const int64_t extent = inner * pick(rng, {1, 2, 3});
      const bool divides = enclosing == whole || enclosing % extent == 0;
      if (extent <= enclosing && divides && (inner < whole) && pick(rng, {0, 1, 1}) == 1)
        p.tiles[l].extent[a] = extent;
      auto& order = p.tiles[l].order;
      if (std::find(order.begin(), order.end(), static_cast<int>(a)) == order.end())
        order.push_back(static_cast<int>(a));
    }
  }
  return p;
}

}  // namespace

void each_element(const ir::Layout& layout, const std::vector<int64_t>& shape,
                  const std::function<void(size_t, size_t)>& f) {
  std::vector<ir::Index> index;
  std::vector<ir::Range> ranges;
  int64_t n = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    index.push_back(ir::variable(static_cast<int>(d)));
    ranges.push_back({0, shape[d] - 1});
    n *= shape[d];
  }
  const ir::Index offset = ir::physical_offset(layout, shape, index, ranges);
  std::vector<int64_t> at(shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    f(static_cast<size_t>(i), static_cast<size_t>(ir::evaluate(offset, at)));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

hwdesc::Target small_cpu(int width, int units) {
  hwdesc::Target t;
  hwdesc::Profile& p = t.profile;
  p.name = "small-cpu";
  hwdesc::Clock core;
  core.name = "core";
  core.max.value = hwdesc::Hertz{3e9};
  p.clocks = {core};
  p.topology = {{"unit", count(units)}};
  p.execution.lanes.style = hwdesc::LaneStyle::simd;
  p.execution.lanes.modes.emplace_back().width = count(width);
  p.execution.registers.per = "unit";
  p.execution.registers.count = count(32);
  hwdesc::Pipe fma{"fma", "unit", {}}, load{"load", "unit", {}}, store{"store", "unit", {}};
  fma.rate.value = load.rate.value = hwdesc::Rate{2.0 * width, "core"};
  store.rate.value = hwdesc::Rate{1.0 * width, "core"};
  p.pipes = {fma, load, store};
  p.memory = {level("l1", "unit", 1024, 128), level("l2", "unit", 4096, 64),
              level("l3", "device", 65536, 32), level("dram", "device", 1e9, 8)};
  t.api.name = "cpp";
  t.api.dialect = "cpp";
  return t;
}

hwdesc::Target small_gpu(int width) {
  hwdesc::Target t = small_cpu(width, 4);
  hwdesc::Profile& p = t.profile;
  p.name = "small-gpu";
  p.execution.lanes.style = hwdesc::LaneStyle::simt;
  p.execution.registers.count = count(256.0 * 16 * width);
  p.execution.threads_per_group_max = count(32.0 * width);
  p.memory[0].name = "shared";
  p.memory[0].managed = hwdesc::Managed::explicit_;
  p.memory[0].capacity.value = hwdesc::Bytes{65536};
  t.api.limits.group_memory.value = hwdesc::Bytes{32768};
  return t;
}

compiler::Problem random_problem(std::mt19937& rng, int width) {
  ir::Graph g = random_operator(rng);
  const bool free_io = pick(rng, {0, 1}) == 1;
  if (g.nodes[0].combine != ir::Combiner::none) add_epilogue(g, rng);
  const compiler::LaidOut laid = compiler::choose_layouts(g, width, true);
  compiler::Problem p;
  p.graph = laid.graph;
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    p.packable.push_back(p.graph.tensors[t].constant >= 0);
    p.graph.tensors[t].constant = -1;
    p.graph.tensors[t].name = "t" + std::to_string(t);
    if (p.packable[t]) p.graph.inputs.push_back(static_cast<int>(t));
    p.layouts.push_back(free_io ? laid.layouts[t]
                                : ir::row_major(static_cast<int>(p.graph.tensors[t].shape.size())));
  }
  p.graph.constants.clear();
  return p;
}

ir::Program random_program(const compiler::Problem& problem, const hwdesc::Target& target,
                           std::mt19937& rng) {
  const Result<model::Machine> m = model::prepare(target);
  if (!m.ok()) throw std::runtime_error(render(m.diags()));
  const compiler::Space space(problem, *m);
  std::vector<compiler::Choice> choices = compiler::choices_for(space, true);
  choices.push_back(compiler::scalar_choice(space));
  for (;;) {
    const auto i = std::uniform_int_distribution<size_t>(0, choices.size() - 1)(rng);
    ir::Program p = compiler::build(space, choices[i]);
    if (pick(rng, {0, 1}) == 1) {
      ir::Program other = shaken(p, rng);
      if (lower::legal(other, target).empty()) return other;
    }
    if (lower::legal(p, target).empty()) return p;
    choices.erase(choices.begin() + static_cast<ptrdiff_t>(i));
  }
}

ir::Program random_wave_program(const compiler::Problem& problem, const hwdesc::Target& target,
                                std::mt19937& rng) {
  const Result<model::Machine> m = model::prepare(target);
  if (!m.ok()) throw std::runtime_error(render(m.diags()));
  const compiler::Space space(problem, *m);
  std::vector<compiler::Choice> choices = compiler::choices_for(space, true);
  choices.push_back(compiler::scalar_choice(space));
  const auto share_out = [](ir::Program p) {
    for (size_t a = 0; a < p.workers.size(); ++a) {
      const int64_t inner = p.tiles.back().extent[a];
      p.workers[a] = ir::is_reduce(p.graph, p.graph.nodes[0], static_cast<int>(a))
                         ? 1
                         : static_cast<int>((p.tiles[0].extent[a] + inner - 1) / inner);
    }
    return p;
  };
  for (;;) {
    // Half of the time one whose waves share staged operands, if there is any: these are few.
    const auto shares = [](const compiler::Choice& c) {
      return c.wave_groups && !c.staged.empty();
    };
    const auto few =
        std::stable_partition(choices.begin(), choices.end(), shares) - choices.begin();
    const bool shared = few > 0 && pick(rng, {0, 1}) == 1;
    const auto i = std::uniform_int_distribution<size_t>(
        0, (shared ? static_cast<size_t>(few) : choices.size()) - 1)(rng);
    ir::Program p = compiler::build(space, choices[i]);
    if (p.workers.empty()) p.workers.assign(space.anchor.axes.size(), 1);
    ir::Program other = pick(rng, {0, 1}) == 1 ? shaken(p, rng) : p;
    if (pick(rng, {0, 1, 1, 1}) == 0 && !other.staging.empty())
      other.staging.erase(other.staging.begin() +
                          pick(rng, {0, 1}) % static_cast<int64_t>(other.staging.size()));
    other = share_out(std::move(other));
    if (lower::legal(other, target).empty()) return other;
    if (lower::legal(p, target).empty()) return p;
    choices.erase(choices.begin() + static_cast<ptrdiff_t>(i));
  }
}

void give_whole_types(ir::Graph& g, std::mt19937& rng, bool mixed) {
  using D = ir::DType;
  constexpr D kOperands[] = {D::i8, D::u8, D::i8, D::i32, D::f32},
              kResults[] = {D::i32, D::f32, D::i8, D::u8};
  const size_t operands = mixed ? 5 : 4;
  const std::vector<char> position = ir::positions_of(g);
  for (size_t t = 0; t < g.tensors.size(); ++t)
    if (ir::producer_of(g, static_cast<int>(t)) < 0 && position[t] == 0 &&
        g.tensors[t].constant < 0)
      g.tensors[t].dtype = kOperands[rng() % operands];
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    ir::Tensor& to = g.tensors[static_cast<size_t>(g.nodes[n].output)];
    to.dtype = D::i32;
    if (n + 1 == g.nodes.size())
      to.dtype = kResults[rng() % 4];
    else if (ir::computed_in(g, g.nodes[n]) != D::i32)
      to.dtype = D::f32;
  }
}

std::vector<std::vector<float>> arguments_for(const ir::Program& p,
                                              const std::vector<std::vector<float>>& inputs) {
  const std::vector<int> given = ir::whole_graph(p).inputs;
  std::vector<std::vector<float>> buffers;
  for (int t : ir::arguments_of(p)) {
    const auto i = static_cast<size_t>(t);
    const auto& shape = p.graph.tensors[i].shape;
    const bool output =
        std::find(p.graph.outputs.begin(), p.graph.outputs.end(), t) != p.graph.outputs.end();
    std::vector<float> b(static_cast<size_t>(ir::physical_elements(p.layouts[i], shape)),
                         output ? std::nanf("") : 0.0F);
    for (size_t k = 0; k < given.size(); ++k)
      if (given[k] == t)
        each_element(p.layouts[i], shape, [&](size_t from, size_t to) { b[to] = inputs[k][from]; });
    buffers.push_back(std::move(b));
  }
  return buffers;
}

Comparison compare_output(const ir::Program& p, const std::vector<std::vector<float>>& inputs,
                          const std::vector<float>& output) {
  return compare_outputs(p, inputs, {&output, 1});
}

Comparison compare_outputs(const ir::Program& p, const std::vector<std::vector<float>>& inputs,
                           std::span<const std::vector<float>> arguments) {
  const auto reference = ir::evaluate(ir::whole_graph(p), inputs);
  if (!reference.ok()) return {0, render(reference.diags())};
  Comparison out;
  const std::vector<int> ids = ir::arguments_of(p);
  for (size_t a = 1; a <= std::min(arguments.size(), p.graph.outputs.size()); ++a) {
    const auto o = static_cast<size_t>(ids[ids.size() - a]);
    const std::vector<float>& output = arguments[arguments.size() - a];
    each_element(p.layouts[o], p.graph.tensors[o].shape, [&](size_t from, size_t at) {
      const double want = (*reference)[o][from], got = static_cast<double>(output[at]);
      const double d = got == want ? 0 : std::abs(got - want) / (std::abs(want) + 1);
      if (!(d <= out.difference)) out.difference = std::isnan(d) ? 1e30 : d;
    });
  }
  return out;
}

Comparison compare(const ir::Program& p, const hwdesc::Target& target,
                   const std::vector<std::vector<float>>& inputs) {
  const Result<ir::Kernel> kernel = lower::lower(p, target);
  if (!kernel.ok()) return {0, render(kernel.diags())};
  if (const Diags faults = ir::verify(*kernel); !faults.empty()) return {0, render(faults)};
  std::vector<std::vector<float>> buffers = arguments_for(p, inputs);
  const Result<codegen::ExecutedCounts> ran = codegen::interpret(*kernel, buffers);
  if (!ran.ok()) return {0, render(ran.diags())};
  return compare_outputs(p, inputs, buffers);
}

Comparison compare(const ir::Program& p, const hwdesc::Target& target, std::mt19937& rng) {
  const ir::Graph whole = ir::whole_graph(p);
  std::vector<std::vector<float>> inputs = random_inputs(whole, rng);
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ir::DType stored = whole.tensors[static_cast<size_t>(whole.inputs[k])].dtype;
    const double scale = ir::is_integer(stored) ? 20 : 1;
    for (float& x : inputs[k])
      x = static_cast<float>(ir::rounded(stored, static_cast<double>(x) * scale));
  }
  return compare(p, target, inputs);
}

}  // namespace assay::test
