// Lowering against the float64 reference, and counts against closed forms, on random programs.
#include "lower/lower.h"

#include <gtest/gtest.h>

#include "lower/build.h"
#include "lower/count.h"
#include "lower/legal.h"
#include "lower/nest.h"
#include "model/closed_form.h"
#include "tests/lower/comparable_counts.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

constexpr int kPrograms = 1000;

TEST(Lower, RandomProgramsComputeWhatTheReferenceComputes) {
  std::mt19937 rng(1);
  for (int i = 0; i < kPrograms; ++i) {
    const int width = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
    const hwdesc::Target target = small_cpu(width, 1 + i % 3);
    const ir::Program p = random_program(random_problem(rng, width), target, rng);
    const Comparison c = compare(p, target, rng);
    ASSERT_EQ(c.fault, "") << "program " << i << "\n" << ir::print_program(p);
    ASSERT_LT(c.difference, 1e-4) << "program " << i << "\n" << ir::print_program(p);
  }
}

// Every tensor in f16, in bf16, or each in a type of its own; the result is rounded once.
TEST(Lower, RandomProgramsOfNarrowTypesComputeWhatTheReferenceComputes) {
  constexpr ir::DType kTypes[] = {ir::DType::f16, ir::DType::bf16, ir::DType::f32};
  std::mt19937 rng(21);
  for (int i = 0; i < kPrograms; ++i) {
    const int width = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
    const bool waves = i % 4 == 3;
    const hwdesc::Target target = waves ? small_gpu(width) : small_cpu(width, 1 + i % 3);
    compiler::Problem problem = random_problem(rng, width);
    const size_t kind = rng() % 3;
    for (ir::Tensor& t : problem.graph.tensors)
      t.dtype = kTypes[kind < 2 ? kind : static_cast<size_t>(rng() % 3)];
    const ir::Program p =
        waves ? random_wave_program(problem, target, rng) : random_program(problem, target, rng);
    const ir::DType out = p.graph.tensors[static_cast<size_t>(p.graph.outputs[0])].dtype;
    const double digit = out == ir::DType::f16 ? 0x1p-11 : out == ir::DType::bf16 ? 0x1p-8 : 0;
    const Comparison c = compare(p, target, rng);
    ASSERT_EQ(c.fault, "") << "program " << i << "\n" << ir::print_program(p);
    ASSERT_LT(c.difference, 1e-4 + digit) << "program " << i << "\n" << ir::print_program(p);
  }
}

// A program's waves, whether they share staged operands, and whether they compute past the end.
struct Seen {
  int of_waves = 0, shared = 0, past_the_end = 0;
  void add(const ir::Program& p) {
    int waves = 1;
    bool past = false;
    for (const int w : p.workers) waves *= w;
    for (int a = 0; a < static_cast<int>(p.workers.size()); ++a)
      past = past ||
             lower::computed_extent(p, a) > p.graph.nodes[0].axes[static_cast<size_t>(a)].extent;
    of_waves += waves > 1;
    shared += waves > 1 && !p.staging.empty();
    past_the_end += waves > 1 && past;
  }
};

TEST(Lower, RandomProgramsOfWavesComputeWhatTheReferenceComputes) {
  std::mt19937 rng(11);
  Seen seen;
  for (int i = 0; i < kPrograms; ++i) {
    const int width = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
    const hwdesc::Target target = small_gpu(width);
    const ir::Program p = random_wave_program(random_problem(rng, width), target, rng);
    const Comparison c = compare(p, target, rng);
    ASSERT_EQ(c.fault, "") << "program " << i << "\n" << ir::print_program(p);
    ASSERT_LT(c.difference, 1e-4) << "program " << i << "\n" << ir::print_program(p);
    seen.add(p);
  }
  EXPECT_GT(seen.of_waves, kPrograms / 4);
  EXPECT_GT(seen.shared, kPrograms / 8);
  EXPECT_GT(seen.past_the_end, kPrograms / 20);
}

TEST(Lower, ClosedFormEqualsCountOnRandomPrograms) {
  std::mt19937 rng(2);
  for (int i = 0; i < kPrograms; ++i) {
    const int width = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
    const hwdesc::Target target = small_cpu(width, 1 + i % 3);
    const ir::Program p = random_program(random_problem(rng, width), target, rng);
    const Result<ir::Kernel> kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    ASSERT_EQ(comparable_text(lower::count(*kernel)), comparable_text(model::closed_form(p)))
        << "program " << i << "\n"
        << ir::print_program(p) << ir::print_kernel(*kernel);
  }
}

TEST(Lower, ClosedFormEqualsCountOnRandomProgramsOfWaves) {
  std::mt19937 rng(12);
  Seen seen;
  for (int i = 0; i < kPrograms; ++i) {
    const int width = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
    const hwdesc::Target target = small_gpu(width);
    const ir::Program p = random_wave_program(random_problem(rng, width), target, rng);
    const Result<ir::Kernel> kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    ASSERT_EQ(comparable_text(lower::count(*kernel)), comparable_text(model::closed_form(p)))
        << "program " << i << "\n"
        << ir::print_program(p) << ir::print_kernel(*kernel);
    seen.add(p);
  }
  EXPECT_GT(seen.shared, kPrograms / 8);
  EXPECT_GT(seen.past_the_end, kPrograms / 20);
}

int64_t longest_loop(const ir::Block& block) {
  int64_t most = 0;
  for (const ir::Stmt& s : block)
    if (const auto* f = std::get_if<ir::For>(&s.node))
      most = std::max({most, f->limit, longest_loop(f->body)});
    else if (const auto* i = std::get_if<ir::If>(&s.node))
      most = std::max({most, longest_loop(i->then_body), longest_loop(i->else_body)});
  return most;
}

TEST(Lower, NoLoopIsLongerThanADriverLetsItBe) {
  std::mt19937 rng(6);
  int looping = 0;
  for (int i = 0; i < 300; ++i) {
    hwdesc::Target target = small_cpu(8, 2);
    const ir::Program p = random_program(random_problem(rng, 8), target, rng);
    const Result<ir::Kernel> kernel = lower::lower(p, target);
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    const int64_t most = longest_loop(kernel->body);
    if (most == 0) continue;
    ++looping;
    target.api.limits.iterations.value =
        hwdesc::Count{static_cast<double>(most + 1)};  // a partial tile may count as one more
    EXPECT_TRUE(lower::legal(p, target).empty())
        << render(lower::legal(p, target)) << ir::print_kernel(*kernel);
    target.api.limits.iterations.value = hwdesc::Count{static_cast<double>(most - 1)};
    EXPECT_NE(render(lower::legal(p, target)).find("where the driver ends loops after"),
              std::string::npos)
        << ir::print_kernel(*kernel);
  }
  EXPECT_GT(looping, 200);
}

TEST(Lower, RandomProgramsAreVerified) {
  std::mt19937 rng(3);
  for (int i = 0; i < 200; ++i) {
    const hwdesc::Target target = small_cpu(8, 2);
    const Result<ir::Kernel> kernel =
        lower::lower(random_program(random_problem(rng, 8), target, rng), target);
    ASSERT_TRUE(kernel.ok());
    const Diags diags = ir::verify(*kernel);
    ASSERT_TRUE(diags.empty()) << render(diags);
  }
}

// A bias per column is the same for all rows. Where rows are walked innermost, it stays in
// registers during the reductions.
TEST(Lower, EpilogueOperandsThatStayTheSameTakeRegisters) {
  const Result<ir::Graph> g = ir::parse_graph(R"(schema: assay/graph/1
name: biased
inputs: {a: f32 64x32, b: f32 32x64, bias: f32 64}
nodes:
  - {op: matmul, out: "c[m, n]", axes: {m: 64, n: 64, k: 32}, body: "a[m, k] * b[k, n]"}
  - {op: bias, out: "y[m, n]", axes: {m: 64, n: 64}, body: "c[m, n] + bias[n]"}
outputs: [y]
)",
                                              "biased.yaml");
  ASSERT_TRUE(g.ok()) << render(g.diags());
  ir::Program p;
  p.name = "biased";
  p.graph = *g;
  for (const ir::Tensor& t : g->tensors)
    p.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  p.edges = {{0, 1, "registers"}};
  p.tiles = {{"l1", {64, 64, 32}, {0, 1}}, {"registers", {4, 32, 1}, {0, 1, 2}}};
  p.vector_axis = 1;
  p.vector_width = 16;
  ASSERT_EQ(render(ir::verify(p)), "");
  EXPECT_EQ(lower::hoisted_vectors(p), 0);
  p.tiles.back().order = {1, 0, 2};
  EXPECT_EQ(lower::hoisted_vectors(p), 2);
  p.graph.nodes[1].body.op = ir::ScalarOp::max;
  p.graph.nodes[1].body.args[1] = {};
  p.graph.nodes[1].body.args[1].op = ir::ScalarOp::constant;
  EXPECT_EQ(lower::hoisted_vectors(p), 3) << "a constant is a vector too";
}

ir::Program plain(const std::string& graph, std::vector<ir::TileLevel> tiles) {
  const Result<ir::Graph> g =
      ir::parse_graph("schema: assay/graph/1\nname: plain\n" + graph, "plain.yaml");
  EXPECT_TRUE(g.ok()) << render(g.diags());
  ir::Program p;
  p.name = "plain";
  p.graph = *g;
  for (const ir::Tensor& t : g->tensors)
    p.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  p.tiles = std::move(tiles);
  EXPECT_EQ(render(ir::verify(p)), "");
  return p;
}

TEST(Lower, GroupsOfWavesKeepToTheLimits) {
  const auto product = [](const std::string& m) {
    ir::Program p =
        plain("inputs: {a: f32 " + m +
                  "x32, b: f32 32x64}\nnodes:\n  - {op: matmul, out: \"c[m, n]\", axes: {m: " + m +
                  ", n: 64, k: 32}, body: \"a[m, k] * b[k, n]\"}\noutputs: [c]\n",
              {{"l1", {32, 16, 32}, {0, 1}},
               {"shared", {32, 16, 8}, {2, 0, 1}},
               {"registers", {8, 8, 1}, {0, 1, 2}}});
    p.vector_axis = 1;
    p.vector_width = 8;
    p.staging = {{0, 1, ir::row_major(2)}, {1, 1, ir::row_major(2)}};
    p.workers = {4, 2, 1};
    return p;
  };
  const auto faults = [](const ir::Program& p, const hwdesc::Target& t) {
    return render(lower::legal(p, t));
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const ir::Program p = product("64");
  hwdesc::Target gpu = small_gpu(8);
  EXPECT_EQ(faults(p, gpu), "");
  EXPECT_TRUE(has(faults(p, small_cpu(8, 2)),
                  "groups of several waves are for chips whose lanes are threads"));
  gpu.profile.execution.threads_per_group_max.value = hwdesc::Count{63};
  EXPECT_TRUE(has(faults(p, gpu), "64 threads in a group, of 63 at most"));
  gpu.api.limits.threads_per_group.value = hwdesc::Count{64};
  EXPECT_EQ(faults(p, gpu), "");
  gpu.api.limits.group_memory = {};
  gpu.profile.memory[0].capacity.value = hwdesc::Bytes{4 * (32 * 8 + 8 * 16)};
  EXPECT_EQ(faults(p, gpu), "");
  gpu.profile.memory[0].capacity.value = hwdesc::Bytes{4 * (32 * 8 + 8 * 16) - 1};
  EXPECT_TRUE(has(faults(p, gpu), "staged copies of 1536 B exceed the 1535 B of group memory"));
  ir::Program other = p;
  other.workers = {2, 2, 1};
  EXPECT_TRUE(has(faults(other, small_gpu(8)), "as many waves as register tiles"));
  other = product("60");
  EXPECT_EQ(faults(other, small_gpu(8)), "");
  other.staging.erase(other.staging.begin());
  EXPECT_TRUE(has(faults(other, small_gpu(8)), "a would be read past the end of an axis"));
  other = p;
  other.staging[0].level = 2;
  EXPECT_TRUE(has(faults(other, small_gpu(8)), "an operand is staged inside of a wave's tile"));
}

// Panels of eight columns, and a tensor in blocks of eight: addresses need no division, even where
// the tensor ends inside a copy.
TEST(Lower, CopiesGoBlockByBlock) {
  const ir::Layout blocks{{{1, 8, 0}, {0, 1, 0}, {1, 1, 8}}, {}};
  for (const bool source : {false, true}) {
    ir::Program p = plain(
        "inputs: {a: f32 16x32, b: f32 32x60}\nnodes:\n  - {op: matmul, out: \"c[m, n]\", axes: "
        "{m: 16, n: 60, k: 32}, body: \"a[m, k] * b[k, n]\"}\noutputs: [c]\n",
        {{"l1", {16, 40, 32}, {0, 1}},
         {"l1", {16, 40, 8}, {2, 0, 1}},
         {"registers", {4, 8, 1}, {0, 1, 2}}});
    p.vector_axis = 1;
    p.vector_width = 4;
    p.staging = {{1, 1, source ? ir::row_major(2) : blocks}};
    if (source) p.layouts[1] = blocks;
    const Result<ir::Kernel> kernel = lower::lower(p, small_cpu(4, 1));
    ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
    const std::string text = ir::print_kernel(*kernel);
    EXPECT_EQ(text.find('%'), std::string::npos) << text;
    EXPECT_EQ(lower::copy_block(p, p.staging[0], 1), 2) << "vectors";
    EXPECT_EQ(lower::copy_block(p, p.staging[0], 0), 0) << "rows";
    std::mt19937 rng(11);
    const Comparison c = compare(p, small_cpu(4, 1), rng);
    EXPECT_EQ(c.fault, "");
    EXPECT_LT(c.difference, 1e-5);
  }
  ir::Program odd = plain(
      "inputs: {a: f32 16x32, b: f32 32x60}\nnodes:\n  - {op: matmul, out: \"c[m, n]\", axes: {m: "
      "16, n: 60, k: 32}, body: \"a[m, k] * b[k, n]\"}\noutputs: [c]\n",
      {{"l1", {16, 20, 32}, {0, 1}}, {"registers", {4, 4, 1}, {0, 1, 2}}});
  odd.layouts[1] = blocks;
  odd.staging = {{1, 0, ir::row_major(2)}};
  EXPECT_EQ(lower::copy_block(odd, odd.staging[0], 1), 0) << "regions begin inside of blocks";
}

double loads_of(const ir::Program& p, size_t buffer) {
  const Result<ir::Kernel> kernel = lower::lower(p, small_cpu(4, 1));
  EXPECT_TRUE(kernel.ok()) << render(kernel.diags());
  const lower::AccessCount a = lower::count(*kernel).buffers[buffer];
  return a.vector_loads + a.splats + a.gathered_lanes;
}

// Neighbouring outputs of a filter read the same elements, so a tile of both loads each once.
TEST(Lower, OverlappingReadsAreLoadedOncePerTile) {
  const std::string filter = R"(
inputs: {x: f32 12, w: f32 3}
nodes:
  - {op: filter, out: "y[i]", axes: {i: 10, r: 3}, combine: sum, body: "x[i + r] * w[r]"}
outputs: [y]
)";
  const ir::TileLevel all{"l1", {10, 3}, {0, 1}};
  EXPECT_EQ(loads_of(plain(filter, {all, {"registers", {10, 3}, {0, 1}}}), 0), 12);
  EXPECT_EQ(loads_of(plain(filter, {all, {"registers", {5, 3}, {0, 1}}}), 0), 2 * 7);
  EXPECT_EQ(loads_of(plain(filter, {all, {"registers", {10, 1}, {0, 1}}}), 0), 3 * 10);
}

// A mean per row stays in a register during the loop over columns, not during the loop over rows.
TEST(Lower, OperandsThatALoopDoesNotMoveAreLoadedBeforeIt) {
  const std::string squares = R"yaml(
inputs: {x: f32 6x20, mean: f32 6}
nodes:
  - {op: squares, out: "y[i]", axes: {i: 6, j: 20}, combine: sum, )yaml"
                              R"yaml(body: "(x[i, j] - mean[i]) * (x[i, j] - mean[i])"}
outputs: [y]
)yaml";
  const std::string shifted = R"(
inputs: {x: f32 6x20, mean: f32 6}
nodes:
  - {op: shifted, out: "y[i, j]", axes: {i: 6, j: 20}, body: "x[i, j] - mean[i]"}
outputs: [y]
)";
  const ir::TileLevel all{"l1", {6, 20}, {0, 1}};
  EXPECT_EQ(loads_of(plain(squares, {all, {"registers", {2, 5}, {0, 1}}}), 1), 6);
  EXPECT_EQ(loads_of(plain(shifted, {all, {"registers", {2, 5}, {0, 1}}}), 1), 6);
  EXPECT_EQ(loads_of(plain(shifted, {all, {"registers", {2, 5}, {1, 0}}}), 1), 6 * 4);
}

// A product in tiles of `rows` rows and 32 columns in vectors of `width`, on chips whose lanes are
// vectors or threads.
ir::Kernel product_of(int width, int rows, const hwdesc::Target& target) {
  ir::Program p = plain(
      "inputs: {a: f32 16x32, b: f32 32x32}\nnodes:\n  - {op: matmul, out: \"c[m, n]\", axes: {m: "
      "16, n: 32, k: 32}, "
      "body: \"a[m, k] * b[k, n]\"}\noutputs: [c]\n",
      {{"l1", {16, 32, 32}, {0, 1}}, {"registers", {rows, 32, 1}, {0, 1, 2}}});
  p.vector_axis = 1;
  p.vector_width = width;
  p.prefetch = 8;
  Result<ir::Kernel> k = lower::lower(p, target);
  EXPECT_TRUE(k.ok()) << render(k.diags());
  return std::move(k).value();
}

// The innermost loops, in order.
void innermost_of(const ir::Block& block, std::vector<const ir::For*>& out) {
  for (const ir::Stmt& s : block)
    if (const auto* loop = std::get_if<ir::For>(&s.node)) {
      const size_t before = out.size();
      innermost_of(loop->body, out);
      if (out.size() == before) out.push_back(loop);
    }
}

TEST(Lower, PrefetchesALineOnce) {
  for (const int width : {4, 8, 16})
    EXPECT_EQ(lower::count(product_of(width, 1, small_cpu(width, 1))).prefetches, 16 * 32 * 2)
        << "vectors of " << width;
}

TEST(Lower, ShortStepsOfAReductionAreUnrolled) {
  const auto unrolled = [](const ir::Kernel& kernel) {
    std::vector<const ir::For*> loops;
    innermost_of(kernel.body, loops);
    return loops.empty() ? -1 : loops.front()->unroll;
  };
  EXPECT_EQ(unrolled(product_of(16, 2, small_cpu(16, 1))), 2);
  EXPECT_EQ(unrolled(product_of(16, 4, small_cpu(16, 1))), 0)
      << "eight sums, two operands and a factor";
  EXPECT_EQ(unrolled(product_of(8, 1, small_gpu(8))), 0) << "a thread's compiler knows better";
}

// A store between two equal loads, also by an earlier iteration, keeps the second load.
TEST(Lower, LoadsAreRepeatedAfterStores) {
  ir::Value load = lower::reg_value(0, 1);
  load.op = ir::ValueOp::splat;
  load.id = 0;
  const auto counted = [&](bool stores) {
    ir::Kernel k;
    k.name = "stores";
    k.buffers = {{"x", ir::DType::f32, 4, ir::Scope::global, true}};
    k.index_names = {"group", "i"};
    k.registers = {{"a", ir::DType::f32, 1}, {"b", ir::DType::f32, 1}};
    ir::For loop;
    loop.var = 1;
    loop.limit = 5;
    lower::append(loop.body, ir::Declare{{0, 1}});
    lower::append(loop.body, ir::Assign{0, load});
    ir::Store store;
    store.id = 0;
    store.count = 1;
    store.value = lower::reg_value(0, 1);
    if (stores) lower::append(loop.body, store);
    lower::append(loop.body, ir::Assign{1, load});
    lower::append(k.body, std::move(loop));
    return lower::count(k).buffers[0].splats;
  };
  EXPECT_EQ(counted(false), 1);
  EXPECT_EQ(counted(true), 5 * 2);
}

}  // namespace
}  // namespace assay::test
