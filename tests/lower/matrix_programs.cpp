#include "tests/lower/matrix_programs.h"

#include <algorithm>
#include <stdexcept>

#include "lower/instruction.h"
#include "lower/legal.h"
#include "lower/mapped_copy.h"
#include "support/diag.h"

namespace assay::test {

namespace {

template <class T>
T pick(std::mt19937& rng, std::initializer_list<T> values) {
  std::uniform_int_distribution<size_t> d(0, values.size() - 1);
  return *(values.begin() + static_cast<ptrdiff_t>(d(rng)));
}

struct Drawn {
  ir::Graph graph;
  int n = -1;  // the axis of columns
};

std::string sized(ir::DType type, std::initializer_list<int64_t> shape) {
  std::string out = std::string(ir::name_of(type)) + " ";
  for (const int64_t n : shape) out += (out.back() == ' ' ? "" : "x") + std::to_string(n);
  return out;
}

std::string extents(std::initializer_list<std::pair<const char*, int64_t>> axes) {
  std::string out;
  for (const auto& [name, n] : axes)
    out += (out.empty() ? "" : ", ") + std::string(name) + ": " + std::to_string(n);
  return out;
}

struct Form {
  std::string a, b;       // types and shapes
  std::string out, axes;  // "c[m, n]", with all axes
  std::string left, right;
  std::string spatial;  // axes of the output
  int n = 1;
};

// Half of the time with an epilogue that reads another tensor, whose output has type `out`.
Drawn graph_of(const Form& f, ir::DType sum, ir::DType out, std::mt19937& rng) {
  const bool swapped = pick(rng, {0, 1}) == 1, epilogue = pick(rng, {0, 1}) == 1;
  std::string text = "schema: assay/graph/1\nname: product\ninputs: {a: " + f.a + ", b: " + f.b;
  const std::string at = f.out.substr(1);
  ir::Graph g;
  std::string nodes = "}\nnodes:\n  - {op: product, out: \"" + f.out + "\", axes: {" + f.axes +
                      "}, combine: sum, body: \"" +
                      (swapped ? f.right + " * " + f.left : f.left + " * " + f.right) + "\"}\n";
  if (epilogue) {
    std::string shape;
    for (const char c : f.spatial)
      if (std::isdigit(static_cast<unsigned char>(c)) != 0)
        shape += c;
      else if (c == ',')
        shape += 'x';
    text += ", s: f32 " + shape;
    nodes += "  - {op: add, out: \"d" + at + "\", axes: {" + f.spatial + "}, body: \"max(c" + at +
             " + s" + at + ", 0.25)\"}\n";
  }
  text += nodes + (epilogue ? "outputs: [d]\n" : "outputs: [c]\n");
  Result<ir::Graph> parsed = ir::parse_graph(text, "drawn.yaml");
  if (!parsed.ok()) throw std::runtime_error(render(parsed.diags()) + text);
  g = *parsed;
  g.tensors[static_cast<size_t>(g.nodes[0].output)].dtype = sum;
  if (epilogue || sum == ir::DType::f32) g.tensors[static_cast<size_t>(g.outputs[0])].dtype = out;
  return {std::move(g), f.n};
}

Drawn draw_graph(const ir::MatrixInstruction& i, std::mt19937& rng) {
  const auto extent = [&](int step) {
    const int64_t n = pick<int64_t>(rng, {1, 2, 3, 5, 7, 8, 13, 16, 17, 19, 31, 32, 37, 48});
    return pick(rng, {0, 0, 1}) == 1 ? n * step : n;
  };
  const int64_t m = extent(1), n = extent(i.n > 8 ? 1 : 2), k = extent(i.k > 8 ? 1 : i.k),
                rows = pick<int64_t>(rng, {1, 2, 5}), r = pick<int64_t>(rng, {1, 2, 3});
  const ir::DType a = i.a.number, b = i.b.number;
  const bool narrow = a == ir::DType::f16 || a == ir::DType::bf16;
  const ir::DType out = narrow && pick(rng, {0, 1}) == 1 ? a : ir::DType::f32;
  const std::string mn = extents({{"m", m}, {"n", n}}), mnk = mn + extents({{", k", k}});
  const std::string outside =  // of a padded image: also a zero point
      ir::is_float8(a)       ? pick<const char*>(rng, {"0", "20", "-3"})
      : ir::bytes_of(a) == 1 ? pick<const char*>(rng, {"0", "77", "19"})
                             : "0";
  Form f{sized(a, {m, k}), sized(b, {k, n}), "c[m, n]", mnk, "a[m, k]", "b[k, n]", mn};
  switch (pick(rng, {0, 0, 1, 1, 2, 3, 4, 5})) {
    case 1:  // b transposed
      f.b = sized(b, {n, k});
      f.right = "b[n, k]";
      break;
    case 2:  // a and c transposed
      f = {sized(a, {k, m}),
           f.b,
           "c[n, m]",
           extents({{"n", n}, {"m", m}, {"k", k}}),
           "a[k, m]",
           f.right,
           extents({{"n", n}, {"m", m}}),
           0};
      break;
    case 3:  // a batch
      f = {sized(a, {rows, m, k}),
           sized(b, {rows, k, n}),
           "c[z, m, n]",
           extents({{"z", rows}, {"m", m}, {"n", n}, {"k", k}}),
           "a[z, m, k]",
           "b[z, k, n]",
           extents({{"z", rows}, {"m", m}, {"n", n}}),
           2};
      break;
    case 4:  // a convolution, channels last
      f = {sized(a, {rows + r - 1, m, k}),
           sized(b, {r, k, n}),
           "c[i, j, o]",
           extents({{"i", rows}, {"j", m}, {"o", n}, {"r", r}, {"k", k}}),
           "a[i + r, j, k]",
           "b[r, k, o]",
           extents({{"i", rows}, {"j", m}, {"o", n}}),
           2};
      break;
    case 5:  // a convolution with padding, channels first
      f = {sized(a, {k, rows, m}),
           sized(b, {n, k, 3, 3}),
           "c[o, i, j]",
           extents({{"o", n}, {"i", rows}, {"j", m}, {"k", k}, {"r", 3}, {"s", 3}}),
           "a[k, i + r - 1, j + s - 1 : guard " + outside + "]",
           "b[o, k, r, s]",
           extents({{"o", n}, {"i", rows}, {"j", m}}),
           0};
      break;
    default:
      break;
  }
  return graph_of(f, i.c.number, out, rng);
}

// Numbers of a register, or neighbours of a column in the memory of an opaque fragment.
int64_t neighbours(const ir::Fragment& f) {
  int64_t n = f.per_register();
  for (const ir::FragmentLayout& l : f.memory)
    for (const ir::PhysicalDim& d : l.layout.dims) n = std::max(n, d.mod);
  return n;
}

// Row-major, or with the numbers of a register next to each other.
ir::Layout draw_layout(const ir::Read& r, int k, int64_t per, std::mt19937& rng) {
  const int rank = static_cast<int>(r.index.size());
  if (pick(rng, {0, 1}) == 0) return ir::row_major(rank);
  for (int d = 0; d < rank; ++d)
    if (ir::depends_on(r.index[static_cast<size_t>(d)], k))
      return ir::blocked(rank, d, per * pick<int64_t>(rng, {1, 1, 4}));
  return ir::row_major(rank);
}

// Half of the time, runs of a length that the tile allows, dealt to all threads of the group.
void draw_tasks(const ir::Program& p, ir::Staging& s, std::mt19937& rng) {
  int64_t threads = p.vector_width;
  for (const int w : p.workers) threads *= w;
  const int most = lower::longest_run(p, s), width = pick(rng, {1, 2, 8});
  if (most == 0 || pick(rng, {0, 1, 1}) == 0) return;
  for (int run = std::min(width, most); run >= 1 && !s.tasks; run /= 2)
    if (ir::TaskMapping tasks = lower::dealt_rows(lower::copied_tile(p, s), threads, run);
        !tasks.steps.empty()) {
      s.tasks = std::move(tasks);
      s.width = run;
    }
}

void draw_tiles(ir::Program& p, const lower::MatrixProduct& product, bool waves,
                std::mt19937& rng) {
  const ir::Node& anchor = p.graph.nodes[0];
  const size_t axes = anchor.axes.size();
  const auto spatial = static_cast<size_t>(ir::spatial_count(p.graph, anchor));
  const bool staged = pick(rng, {0, 1}) == 1, shared = waves && pick(rng, {0, 1}) == 1;
  ir::TileLevel group{"l2", std::vector<int64_t>(axes), {}}, middle{"l1", group.extent, {}},
      inner{"registers", group.extent, {}};
  if (shared) p.workers.assign(axes, 1);
  for (size_t a = 0; a < axes; ++a) {
    const int64_t whole = anchor.axes[a].extent,
                  step = lower::fragment_step(product, static_cast<int>(a));
    int64_t tile = step * pick<int64_t>(rng, {1, 1, 2, 3});
    if (step == 1) tile = pick<int64_t>(rng, {1, 1, 2});
    if (tile > whole || (whole <= 3 * step && pick(rng, {0, 1}) == 1)) tile = whole;
    inner.extent[a] = tile;
    int64_t around = a >= spatial ? whole : tile * pick<int64_t>(rng, {1, 2, 3});
    if (around > whole) around = tile == whole ? whole : tile;
    if (shared && a < spatial) p.workers[a] = static_cast<int>((around + tile - 1) / tile);
    if (staged && !shared && a < spatial) around = tile;
    group.extent[a] = middle.extent[a] = around;
    if (a >= spatial) {
      const int64_t part = tile * pick<int64_t>(rng, {1, 2, 4});
      middle.extent[a] = part < whole ? part : whole;
    }
    (a < spatial ? group : middle).order.push_back(static_cast<int>(a));
    inner.order.push_back(static_cast<int>(a));
  }
  p.tiles = {group, inner};
  if (!staged) return;
  p.tiles = {group, middle, inner};
  for (int r = 0; r < 2; ++r) {
    if (pick(rng, {0, 1, 1}) == 0) continue;
    const ir::Fragment& f = r == product.a ? product.instruction.a : product.instruction.b;
    p.staging.push_back(
        {r, 1, draw_layout(anchor.reads[static_cast<size_t>(r)], product.k, neighbours(f), rng)});
    ir::Layout& copy = p.staging.back().layout;
    if (!waves || product.instruction.opaque()) continue;
    if (!ir::is_padded(copy) && pick(rng, {0, 1}) == 1) {
      copy.pad.resize(anchor.reads[static_cast<size_t>(r)].index.size());
      copy.pad[static_cast<size_t>(copy.dims.back().dim)].after = pick(rng, {1, 8, 16});
    }
    draw_tasks(p, p.staging.back(), rng);
  }
}

}  // namespace

hwdesc::Target with_instruction(hwdesc::Target target, const std::string& name) {
  hwdesc::Instruction i;
  i.use = "isa/" + name;
  i.per = target.profile.topology.back().name;
  i.rate.value = hwdesc::Rate{1024, "core"};
  target.profile.instructions.push_back(i);
  return target;
}

ir::Program random_matrix_program(const std::string& instruction, const hwdesc::Target& target,
                                  std::mt19937& rng) {
  const int threads = hwdesc::threads_of(target);
  const ir::MatrixInstruction i =
      ir::widened(lower::known_instruction(instruction)->computes, threads);
  const bool waves = threads > 1;
  std::string last;
  for (int tries = 0; tries < 1000; ++tries) {
    const Drawn drawn = draw_graph(i, rng);
    ir::Program p;
    p.name = "product";
    p.graph = drawn.graph;
    for (const ir::Tensor& t : p.graph.tensors)
      p.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
    for (int n = 1; n < static_cast<int>(p.graph.nodes.size()); ++n) p.edges.push_back({n - 1, n});
    p.vector_axis = drawn.n;
    p.vector_width = !i.opaque() ? i.workers()
                     : waves     ? hwdesc::threads_of(target)
                                 : pick(rng, {4, 8, 16});
    p.instruction = instruction;
    p.tiles = {{"registers", {}, {}}};
    for (const ir::Axis& a : p.graph.nodes[0].axes) p.tiles[0].extent.push_back(a.extent);
    const auto product = lower::matrix_product(p);
    if (!product) throw std::runtime_error(render(product.diags()));
    for (const auto& [read, f] : {std::pair{product->a, &i.a}, {product->b, &i.b}}) {
      const ir::Read& r = p.graph.nodes[0].reads[static_cast<size_t>(read)];
      p.layouts[static_cast<size_t>(r.tensor)] = draw_layout(r, product->k, neighbours(*f), rng);
    }
    draw_tiles(p, *product, waves, rng);
    Diags refused = ir::verify(p);
    if (refused.empty()) refused = lower::legal(p, target);
    if (refused.empty()) return p;
    last = render(refused);
  }
  throw std::runtime_error("no legal program of " + instruction + "\n" + last);
}

std::vector<std::vector<float>> small_inputs(const ir::Graph& g, std::mt19937& rng) {
  std::uniform_int_distribution<int> number(-24, 24);
  std::vector<std::vector<float>> out;
  for (const int t : g.inputs) {
    const ir::Tensor& tensor = g.tensors[static_cast<size_t>(t)];
    const bool whole = tensor.dtype == ir::DType::i8 || tensor.dtype == ir::DType::u8;
    std::vector<float> v(static_cast<size_t>(ir::elements(tensor)));
    for (float& x : v) {
      const int drawn = number(rng);
      x = ir::is_float8(tensor.dtype) ? static_cast<float>(drawn % 8) / 4
          : whole ? static_cast<float>(tensor.dtype == ir::DType::u8 ? drawn + 24 : drawn)
                  : static_cast<float>(drawn) / 16;
    }
    out.push_back(std::move(v));
  }
  return out;
}

double tolerance(const ir::Program& p) {
  switch (p.graph.tensors[static_cast<size_t>(p.graph.outputs[0])].dtype) {
    case ir::DType::bf16:
      return 0x1p-8;
    case ir::DType::f16:
      return 0x1p-11;
    default:
      return 1e-5;
  }
}

}  // namespace assay::test
