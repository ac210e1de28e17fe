// Threads over two axes of a tile: kernels against the float64 reference, their counts against the
// ones that prices are made of, and what is not printed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/count.h"
#include "lower/legal.h"
#include "lower/lower.h"
#include "lower/mapped_copy.h"
#include "model/analyse_mapped.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

constexpr int kLanes = 8;

template <class T>
T pick(std::mt19937& rng, std::initializer_list<T> values) {
  std::uniform_int_distribution<size_t> d(0, values.size() - 1);
  return *(values.begin() + static_cast<ptrdiff_t>(d(rng)));
}

struct Drawn {
  ir::Program program;
  bool whole = false;  // tiles divide the axes
};

int power_below(int64_t n, int most) {
  int p = 1;
  while (2 * p <= most && 2 * p <= n) p *= 2;
  return p;
}

// A product of random extents, a and b stored either way, with an epilogue half of the time. Half
// of them are of a batch, of one or several; b is the same for all of it, in a dimension of one.
// Half have filters of one position, and half are stored with padding.
Drawn draw(std::mt19937& rng) {
  const bool fits = pick(rng, {0, 1}) == 1, epilogue = pick(rng, {0, 1}) == 1,
             a_turned = pick(rng, {0, 1}) == 1, b_turned = pick(rng, {0, 1}) == 1,
             staged = pick(rng, {0, 1}) == 1, batched = pick(rng, {0, 1}) == 1,
             filters = pick(rng, {0, 1}) == 1, padded = pick(rng, {0, 1}) == 1;
  const auto extent = [&] {
    return fits ? pick<int64_t>(rng, {16, 32, 64})
                : pick<int64_t>(rng, {1, 3, 7, 13, 16, 17, 20, 31, 36, 52, 64});
  };
  const int64_t m = extent(), n = extent(), k = extent(), batch = pick(rng, {1, 3});
  const int outer = batched ? 1 : 0;  // axes and dimensions
  const auto matrix = [&](bool turned, int64_t images, int64_t r, int64_t c) {
    return "f32 " + (batched ? fmt::format("{}x", images) : "") +
           (turned ? fmt::format("{}x{}", c, r) : fmt::format("{}x{}", r, c));
  };
  const std::string of = batched ? "i, " : "", one = batched ? "0, " : "",
                    axis = batched ? fmt::format("i: {}, ", batch) : "";
  const std::string node = fmt::format(
      "    - {{name: mm, op: matmul, out: \"{}[{}m, n]\", axes: {{{}m: {}, n: {}, k: {}{}}}, "
      "combine: sum,\n       body: \"a[{}{}] * b[{}{}]\"}}\n",
      epilogue ? "x" : "c", of, axis, m, n, k, filters ? ", r: 1" : "", of,
      a_turned ? "k, m" : "m, k", one,
      filters ? (b_turned ? "n, k, r" : "k, n, r") : (b_turned ? "n, k" : "k, n"));
  const std::string rest = fmt::format(
      "    - {{name: bias, op: add, out: \"c[{0}m, n]\", axes: {{{1}m: {2}, n: {3}}}, body: "
      "\"max(x[{0}m, n] + s[n], 0)\"}}\n",
      of, axis, m, n);
  const std::string text = fmt::format(
      "schema: assay/graph/1\nname: product\ninputs: {{a: {}, b: {}{}}}\nnodes:\n{}{}outputs: "
      "[c]\n",
      matrix(a_turned, batch, m, k), matrix(b_turned, 1, k, n) + (filters ? "x1" : ""),
      epilogue ? fmt::format(", s: f32 {}", n) : "", node, epilogue ? rest : "");
  const auto g = ir::parse_graph(text, "g.yaml");
  EXPECT_TRUE(g.ok()) << render(g.diags()) << text;
  Drawn out;
  ir::Program& p = out.program;
  p.name = "product";
  p.graph = *g;
  for (const ir::Tensor& t : p.graph.tensors)
    p.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  for (const int t : {p.graph.inputs[0], p.graph.outputs[0]})
    if (padded) {
      ir::Layout& l = p.layouts[static_cast<size_t>(t)];
      l.pad.resize(l.dims.size());
      l.pad.back() = {pick(rng, {0, 1, 4}), pick(rng, {0, 1, 4})};
      l.pad[l.pad.size() - 2] = {1, 1};
    }
  if (epilogue) p.edges.push_back({0, 1, "registers"});
  const int rows = power_below(m, pick(rng, {1, 2, 4})),
            columns = power_below(n, pick(rng, {1, 4, 8}));
  const int threads_m = power_below(m / rows, pick(rng, {2, 4, 8})),
            threads_n = power_below(n / columns, pick(rng, {4, 8}));
  const int64_t tile_m = int64_t{rows} * threads_m, tile_n = int64_t{columns} * threads_n,
                unrolled = std::min<int64_t>(k, pick(rng, {1, 2, 4})),
                depth = staged ? std::min<int64_t>(k, unrolled * pick(rng, {2, 4})) : k;
  out.whole = m % tile_m == 0 && n % tile_n == 0 && k % depth == 0 && depth % unrolled == 0;
  const auto tile = [&](int64_t of_k) {
    std::vector<int64_t> extents{tile_m, tile_n, of_k};
    if (batched) extents.insert(extents.begin(), 1);
    if (filters) extents.push_back(1);
    return extents;
  };
  p.tiles = {{"l1", tile(k), batched ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1}}};
  if (staged) p.tiles.push_back({"l1", tile(depth), {2 + outer}});
  p.tiles.push_back({"registers", tile(unrolled), {2 + outer}});
  const std::string tasks =
      pick(rng, {0, 1}) == 1
          ? fmt::format("spatial({}, {}) * repeat({}, {})", threads_m, threads_n, rows, columns)
          : fmt::format("repeat({}, 1) * spatial({}, {}) * repeat(1, {})", rows, threads_m,
                        threads_n, columns);
  p.threads = ir::ThreadMapping{outer, 1 + outer, *ir::parse_mapping(tasks), {}};
  p.threads->widths.assign(p.graph.tensors.size(), 1);
  if (staged)
    for (int r = 0; r < 2; ++r) {
      ir::Staging s;
      s.read = r;
      s.level = 1;
      const int inner = r == 1 && filters ? 1 : 0;
      s.layout = ir::row_major(2 + outer + inner);
      if (pick(rng, {0, 1}) == 1)
        std::swap(s.layout.dims[static_cast<size_t>(outer)],
                  s.layout.dims[static_cast<size_t>(outer + 1)]);
      s.layout.pad.resize(s.layout.dims.size());
      s.layout.pad[static_cast<size_t>(s.layout.dims.back().dim)].after = pick(rng, {0, 1, 4});
      for (int w = lower::longest_run(p, s); w >= 1 && !s.tasks; w /= 2)
        if (auto dealt =
                lower::dealt_rows(lower::copied_tile(p, s), int64_t{threads_m} * threads_n, w);
            !dealt.steps.empty()) {
          s.tasks = std::move(dealt);
          s.width = w;
        }
      p.staging.push_back(std::move(s));
    }
  for (const int t : {0, 1, p.graph.outputs[0]})
    p.threads->widths[static_cast<size_t>(t)] = pick(rng, {1, 2, 4});
  return out;
}

// Legal ones: widths and copies that do not fit are drawn again.
Drawn draw_legal(std::mt19937& rng) {
  for (int i = 0; i < 10000; ++i) {
    Drawn d = draw(rng);
    if (ir::verify(d.program).empty() && lower::legal(d.program, small_gpu(kLanes)).empty())
      return d;
  }
  ADD_FAILURE() << "no legal program";
  return draw(rng);
}

TEST(Threads, RandomProductsComputeWhatTheReferenceComputes) {
  std::mt19937 rng(5);
  int runs = 0, copies = 0, waves = 0, epilogues = 0, partial = 0, batches = 0;
  for (int i = 0; i < 500; ++i) {
    const Drawn d = draw_legal(rng);
    const auto kernel = lower::lower(d.program, small_gpu(kLanes));
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags()) << ir::print_program(d.program);
    const Comparison c = compare(d.program, small_gpu(kLanes), rng);
    ASSERT_EQ(c.fault, "") << ir::print_program(d.program) << ir::print_kernel(*kernel);
    ASSERT_LT(c.difference, 1e-4) << ir::print_program(d.program) << ir::print_kernel(*kernel);
    for (const int w : d.program.threads->widths) runs += w > 1;
    copies += !d.program.staging.empty();
    waves += kernel->waves > 1;
    epilogues += d.program.graph.nodes.size() > 1;
    partial += !d.whole;
    batches += d.program.graph.nodes[0].axes[0].name == "i";
  }
  EXPECT_GT(runs, 100);
  EXPECT_GT(copies, 50);
  EXPECT_GT(waves, 50);
  EXPECT_GT(epilogues, 100);
  EXPECT_GT(partial, 60);
  EXPECT_GT(batches, 100);
}

// Whole tiles, since the prices are those of a whole group.
TEST(Threads, PricesCountWhatTheKernelDoes) {
  std::mt19937 rng(6);
  int seen = 0;
  for (int i = 0; i < 2000 && seen < 100; ++i) {
    const Drawn d = draw_legal(rng);
    if (!d.whole) continue;
    ++seen;
    const auto kernel = lower::lower(d.program, small_gpu(kLanes));
    ASSERT_TRUE(kernel.ok());
    const lower::Counts counts = lower::count(*kernel);
    model::ThreadShape shape;
    shape.lanes = kLanes;
    const model::MappedWork w = model::analyse_mapped(d.program, shape);
    const double groups = w.launch.groups;
    EXPECT_EQ(counts.fma / groups * kLanes, w.launch.products.multiply_adds)
        << ir::print_program(d.program);
    double separate = 0;  // of an epilogue: lanes apart, in one instruction
    for (const lower::AccessCount& a : counts.buffers) separate += a.gathered_lanes;
    EXPECT_EQ((counts.loads() + counts.stores() - separate + separate / kLanes) / groups,
              w.accesses)
        << ir::print_program(d.program) << ir::print_kernel(*kernel);
    EXPECT_EQ(counts.simple / groups * kLanes, w.launch.operations.simple);
    if (HasFailure()) return;
  }
  EXPECT_EQ(seen, 100);
}

// 64 x 32 x 16 by 8 x 8 threads of 4 x 2 elements.
ir::Program product(const std::string& from = "", const std::string& to = "") {
  std::string text = R"yaml(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {a: f32 64x16, b: f32 16x32, c: f32 64x32}
  inputs: [a, b]
  outputs: [c]
  nodes:
    - {name: mm, op: matmul, out: "c[m, n]", axes: {m: 64, n: 32, k: 16}, combine: sum,
       body: "a[m, k] * b[k, n]"}
tiles:
  - {memory: l1, extent: {m: 32, n: 16, k: 16}, order: [m, n]}
  - {memory: registers, extent: {m: 32, n: 16, k: 4}, order: [k]}
threads: {axes: [m, n], tasks: "spatial(8, 8) * repeat(4, 2)", widths: {a: 4, b: 2, c: 2}}
)yaml";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  const Result<ir::Program> p = ir::parse_program(text, "p.yaml");
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

TEST(Threads, LoadsAndStoresInRuns) {
  const auto kernel = lower::lower(product(), small_gpu(kLanes));
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  // 4 groups of 8 waves; 4 steps of 4: 4 rows of a in runs along k, 4 runs of b; 4 rows stored.
  const lower::Counts c = lower::count(*kernel);
  EXPECT_EQ(c.buffers[0].run_loads, 4 * 8 * 4 * 4);
  EXPECT_EQ(c.buffers[1].run_loads, 4 * 8 * 4 * 4);
  EXPECT_EQ(c.buffers[2].run_stores, 4 * 8 * 4);
  EXPECT_EQ(c.loads() + c.stores(), 4 * 8 * (4 * 4 + 4 * 4 + 4)) << "and nothing else";
}

std::string unpriceable(const ir::Program& p, const hwdesc::Target& t) {
  return render(lower::unpriceable(p, t));
}

TEST(Threads, ComputeProducts) {
  hwdesc::Target gpu = small_gpu(kLanes);
  const ir::Program p = product();
  EXPECT_EQ(unpriceable(p, gpu), "");
  EXPECT_THAT(unpriceable(p, small_cpu(8, 2)), HasSubstr("for chips whose lanes are threads"));
  EXPECT_THAT(unpriceable(product("a[m, k] * b[k, n]", "a[m, k] + b[k, n]"), gpu),
              HasSubstr("compute a product of two operands, summed over one axis"));
  EXPECT_THAT(unpriceable(product("combine: sum", "combine: max"), gpu),
              HasSubstr("compute a product"));
  EXPECT_THAT(unpriceable(product("\ntiles:", "\nlayouts: {a: \"[0, 1/8, 1%8]\"}\ntiles:"), gpu),
              HasSubstr("without blocks, and a has some"));
  EXPECT_THAT(unpriceable(product("b: f32", "b: f16"), gpu), HasSubstr("take f32, and b is f16"));
  ir::Program strided = p;
  strided.graph.tensors[0].shape = {64, 31};
  strided.graph.nodes[0].reads[0].index[1] = ir::variable(2, 2);
  EXPECT_THAT(unpriceable(strided, gpu), HasSubstr("at the axes themselves"));
  gpu.profile.execution.threads_per_group_max.value = hwdesc::Count{63};
  EXPECT_THAT(unpriceable(p, gpu), HasSubstr("64 threads in a group, of 63 at most"));
}

TEST(Threads, RefusesWhatHasNoKernel) {
  const auto faults = [](const ir::Program& p, const hwdesc::Target& t) {
    return render(lower::legal(p, t));
  };
  EXPECT_EQ(faults(product(), small_gpu(kLanes)), "");
  EXPECT_THAT(faults(product(), small_gpu(48)), HasSubstr("64 are no whole waves of 48"));
  EXPECT_THAT(faults(product("b: f32 16x32", "b: f32 16x33"), small_gpu(kLanes)),
              HasSubstr("b: width 2, and rows begin at multiples of 33 elements"));
  hwdesc::Target t = small_gpu(kLanes);
  t.profile.execution.threads_per_group_max.value = hwdesc::Count{32};
  EXPECT_THAT(faults(product(), t), HasSubstr("64 threads in a group, of 32 at most"));
}

}  // namespace
}  // namespace assay::test
