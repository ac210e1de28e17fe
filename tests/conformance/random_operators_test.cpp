// 600 random operators in machine code: matmul, convolution, depthwise, elementwise and reductions,
// with residual and activation epilogues, and extents of primes and ones. Each is the compiler's
// first choice; where lanes are threads, every second one is a random program of a few waves. They
// run on poisoned and guarded buffers, and are compared with the float64 reference:
//   |y - ref| <= 4 K eps sum |a||b| + u |ref| + s     (K terms, eps of f32; u, s of a stored type)
// Then 150 scans, scatters, sorts and tuple reductions, within 1e-4 of what they hold; statistics
// of softmax and of variances over rows with masks, infinities and NaN.
//
// The same operators in other types: every tensor in f16, in bf16, in 8 bits, each in a type of its
// own, and over whole numbers, alone and beside f32. Sums of these are equal. Rounded ones lie
// between those of the error's ends.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <span>

#include "compiler/passes/join_statistics.h"
#include "compiler/search/construct.h"
#include "ir/computed_type.h"
#include "ir/element.h"
#include "lower/lower.h"
#include "tests/conformance/conformance_device.h"
#include "tests/lower/problems.h"

namespace assay::test {
namespace {

constexpr int kOperators = 600, kKinds = 150, kStatistics = 24;
constexpr int kTyped = 300;     // of each kind of types
constexpr int kTypedEvery = 6;  // unless ASSAY_TEST_EVERY says otherwise

struct Case {
  ir::Program program;
  std::vector<std::vector<float>> inputs;  // logical, by graph.inputs
};

std::string describe(const Case& c) { return ir::print_program(c.program); }

std::vector<std::vector<double>> reference(const ir::Graph& g,
                                           std::vector<std::vector<float>> inputs,
                                           bool magnitudes) {
  if (magnitudes)
    for (auto& v : inputs)
      for (float& x : v) x = std::abs(x);
  if (magnitudes &&
      g.nodes[0].op == "squares")  // of a difference, which is rounded as |a| + |b| is
    for (float& x : inputs[1]) x = -x;
  auto r = ir::evaluate(g, inputs);
  if (!r.ok()) throw std::runtime_error(render(r.diags()));
  return *r;
}

double terms(const ir::Program& p) {
  double k = 4;  // the epilogue's own roundings
  const ir::Node& anchor = p.graph.nodes[0];
  for (int a = ir::spatial_count(p.graph, anchor); a < static_cast<int>(anchor.axes.size()); ++a)
    k += static_cast<double>(anchor.axes[static_cast<size_t>(a)].extent);
  return k;
}

// A small machine with the api of a real one; where lanes are threads, the real one.
hwdesc::Target small_target(const hwdesc::Target& through, int width, int units) {
  if (hwdesc::threads_of(through) > 1) return through;
  return {small_cpu(width, units).profile, through.api, through.dialect};
}

// Of another kind than expressions; every second one is a random program.
Case make_kind_case(int i, const hwdesc::Target& through) {
  std::seed_seq seed{2027, i};
  std::mt19937 rng(seed);
  const int threads = hwdesc::threads_of(through);
  const int width = threads > 1 ? threads : i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
  const hwdesc::Target target = small_target(through, width, 1 + i % 2);
  const compiler::Problem problem = random_kind_problem(rng);
  Case c;
  if (i % 2 == 1) {
    c.program = random_program(problem, target, rng);
  } else {
    auto made = compiler::construct(problem, target, *model::prepare(target), {}, {}, 2);
    if (!made.ok()) throw std::runtime_error(render(made.diags()));
    c.program = made->best.front().program;
  }
  c.program.name = "kind_" + std::to_string(i);
  c.inputs = random_inputs(c.program.graph, rng);
  return c;
}

// Rows of 21: numbers, and in some of them what is special.
std::vector<float> special_rows(std::mt19937& rng, int64_t rows) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float specials[] = {-kInf, kInf, std::numeric_limits<float>::quiet_NaN(), 1e4F, -30, 0};
  std::vector<float> out;
  for (int64_t i = 0; i < rows; ++i) {
    const float special = specials[rng() % std::size(specials)];
    const uint32_t share = std::vector{0U, 1U, 3U, 100U}[rng() % 4];  // of 100 terms
    for (int j = 0; j < 21; ++j)
      out.push_back(rng() % 100 < share * (share == 3 ? 20 : 1)
                        ? special
                        : std::uniform_real_distribution<float>(-9, 9)(rng));
  }
  return out;
}

// The largest and the sum of exponentials, or mean and variance, joined: a random program.
Case make_statistics_case(int i, const hwdesc::Target& through) {
  std::seed_seq seed{2028, i};
  std::mt19937 rng(seed);
  const int threads = hwdesc::threads_of(through);
  const hwdesc::Target target = small_target(through, threads > 1 ? threads : 8, 2);
  const std::string type = i % 3 == 0 ? "f32" : i % 3 == 1 ? "f16" : "bf16";
  const std::string first =
                        i % 2 == 0 ? R"(combine: max, body: "x[i, j]")" : R"(body: "x[i, j] / 21")",
                    second = i % 2 == 0 ? "exp(x[i, j] - m[i])"
                                        : "(x[i, j] - m[i]) * (x[i, j] - m[i]) / 21",
                    axes = "axes: {i: 37, j: 21}, ";
  const Result<ir::Graph> g = ir::parse_graph(
      "schema: assay/graph/1\nname: g\ninputs: {x: " + type +
          " 37x21}\nnodes:\n  - {out: \"m[i]\", " + axes + first + "}\n  - {out: \"s[i]\", " +
          axes + "body: \"" + second +
          "\"}\n  - {out: \"y[i]\", axes: {i: 37}, body: \"m[i] + s[i]\"}\noutputs: [y]\n",
      "g.yaml");
  if (!g.ok()) throw std::runtime_error(render(g.diags()));
  compiler::Problem problem;
  problem.graph = compiler::join_statistics(*g, [](const auto&, const auto&) { return true; });
  problem.graph.nodes.resize(1);
  problem.graph.outputs = {problem.graph.nodes[0].output};
  for (const ir::Tensor& t : problem.graph.tensors)
    problem.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
  problem.packable.assign(problem.graph.tensors.size(), false);
  Case c;
  c.program = random_program(problem, target, rng);
  c.program.name = "statistics_" + std::to_string(i);
  c.inputs = {special_rows(rng, 37)};
  for (float& x : c.inputs[0])
    x = static_cast<float>(ir::rounded(c.program.graph.tensors[0].dtype, static_cast<double>(x)));
  return c;
}

using Types = std::function<void(ir::Graph&, std::mt19937&)>;  // gives the tensors their types

Case make_case(int i, const hwdesc::Target& through, const Types& type = {}) {
  std::seed_seq seed{2026, i};  // of its own: a case is the same whichever others are tested
  std::mt19937 rng(seed);
  const int threads = hwdesc::threads_of(through);
  const int width = threads > 1 ? threads : i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 16;
  const hwdesc::Target target = small_target(through, width, 1 + i % 2);
  compiler::Problem problem = random_problem(rng, width);
  if (type) type(problem.graph, rng);
  const model::Machine m = *model::prepare(target);
  Case c;
  if (threads > 1 && i % 2 == 1) {
    c.program = random_wave_program(problem, target, rng);
  } else {
    auto made = compiler::construct(problem, target, m, {}, {}, 2);
    if (!made.ok()) throw std::runtime_error(render(made.diags()));
    c.program = made->best.front().program;
  }
  c.program.name = "operator_" + std::to_string(i);
  std::uniform_real_distribution<float> d(-1, 1);
  for (int t : c.program.graph.inputs) {
    std::vector<float> v(
        static_cast<size_t>(ir::elements(c.program.graph.tensors[static_cast<size_t>(t)])));
    const ir::DType stored = c.program.graph.tensors[static_cast<size_t>(t)].dtype;
    const double most = ir::is_whole(stored) ? 20 : 1;
    for (float& x : v)
      x = static_cast<float>(ir::rounded(stored, most * static_cast<double>(d(rng))));
    c.inputs.push_back(std::move(v));
  }
  return c;
}

// Physical buffers of a case's arguments: inputs packed, the output poisoned.
std::vector<std::vector<std::byte>> physical(const Case& c) {
  std::vector<std::vector<std::byte>> out;
  for (int t : ir::arguments_of(c.program)) {
    const auto i = static_cast<size_t>(t);
    const ir::Tensor& tensor = c.program.graph.tensors[i];
    std::vector<double> b(
        static_cast<size_t>(ir::physical_elements(c.program.layouts[i], tensor.shape)));
    for (size_t k = 0; k < c.inputs.size(); ++k)
      if (c.program.graph.inputs[k] == t)
        each_element(c.program.layouts[i], tensor.shape, [&](size_t from, size_t to) {
          b[to] = static_cast<double>(c.inputs[k][from]);
        });
    out.push_back(ir::bytes_of_doubles(tensor.dtype, b));
    if (t == c.program.graph.outputs[0])  // NaN
      std::fill(out.back().begin(), out.back().end(), std::byte{0xFF});
  }
  return out;
}

void check_kind(const Case& c, const std::vector<double>& got) {
  const auto o = static_cast<size_t>(c.program.graph.outputs[0]);
  const auto want = reference(c.program.graph, c.inputs, false)[o];
  int wrong = 0;
  each_element(c.program.layouts[o], c.program.graph.tensors[o].shape,
               [&](size_t logical, size_t at) {
                 const double found = got[at], expected = want[logical];
                 const bool same = found == expected || (std::isnan(found) && std::isnan(expected));
                 if (!same && !(std::abs(found - expected) <= 1e-4 * (1 + std::abs(expected))))
                   ++wrong;
               });
  EXPECT_EQ(wrong, 0) << describe(c);
}

// One store of the result: half of the last digit, and half of the least number.
double rounding(ir::DType t, double value) {
  if (t == ir::DType::f16) return 0x1p-11 * std::abs(value) + 0x1p-25;
  if (t == ir::DType::f8e4m3) return 0x1p-4 * std::abs(value) + 0x1p-10;
  if (t == ir::DType::f8e5m2) return 0x1p-3 * std::abs(value) + 0x1p-17;
  return t == ir::DType::bf16 ? 0x1p-8 * std::abs(value) + 0x1p-134 : 0;
}

// A result of whole numbers: equal, or rounded from a number that the error allows.
void check_whole(const Case& c, const std::vector<double>& got) {
  const ir::Graph& g = c.program.graph;
  const auto o = static_cast<size_t>(g.outputs[0]);
  const ir::DType type = g.tensors[o].dtype;
  ir::Graph plain = g;
  if (ir::computed_in(g, g.nodes.back()) != ir::DType::i32) plain.tensors[o].dtype = ir::DType::f32;
  const auto want = reference(plain, c.inputs, false)[o],
             magnitude = reference(plain, c.inputs, true)[o];
  const bool exact = plain == g;
  const double eps = std::numeric_limits<float>::epsilon();
  int wrong = 0;
  each_element(c.program.layouts[o], g.tensors[o].shape, [&](size_t logical, size_t at) {
    const double error = exact ? 0 : 4 * terms(c.program) * eps * magnitude[logical];
    if (got[at] < ir::converted(type, want[logical] - error) ||
        got[at] > ir::converted(type, want[logical] + error))
      ++wrong;
  });
  EXPECT_EQ(wrong, 0) << describe(c);
}

void check(const Case& c, const std::vector<double>& got) {
  if (ir::is_whole(c.program.graph.tensors[static_cast<size_t>(c.program.graph.outputs[0])].dtype))
    return check_whole(c, got);
  if (!ir::is_expression(c.program.graph.nodes[0])) return check_kind(c, got);
  const auto o = static_cast<size_t>(c.program.graph.outputs[0]);
  const auto want = reference(c.program.graph, c.inputs, false)[o],
             magnitude = reference(c.program.graph, c.inputs, true)[o];
  const double eps = std::numeric_limits<float>::epsilon();
  const ir::DType type = c.program.graph.tensors[o].dtype;
  int wrong = 0;
  each_element(c.program.layouts[o], c.program.graph.tensors[o].shape,
               [&](size_t logical, size_t at) {
                 const double error = std::abs(got[at] - want[logical]);
                 const double computed = 4 * terms(c.program) * eps * magnitude[logical];
                 const double stored = rounding(type, std::abs(want[logical]) + computed);
                 if (!(error <= computed + stored)) ++wrong;
               });
  EXPECT_EQ(wrong, 0) << describe(c);
}

void run_and_check(runtime::Module& module, int kernel, const Case& c) {
  runtime::Launch launch{kernel, {}, {}};
  std::vector<std::vector<std::byte>> buffers = physical(c);
  for (const auto& b : buffers) {
    const auto id = module.allocate(static_cast<int64_t>(b.size()));
    ASSERT_TRUE(id.ok());
    module.write({*id, 0}, b);
    launch.arguments.push_back({*id, 0});
  }
  const auto ran = module.run(std::span(&launch, 1), {});
  ASSERT_TRUE(ran.ok()) << render(ran.diags()) << describe(c);
  module.read(launch.arguments.back(), buffers.back());
  const auto output = static_cast<size_t>(c.program.graph.outputs[0]);
  check(c, ir::doubles_of(c.program.graph.tensors[output].dtype, buffers.back()));
}

void run_cases(int count, int every, const std::function<Case(int, const hwdesc::Target&)>& make) {
  std::string absence;
  const auto device = open_tested_device(absence);
  if (device == nullptr) GTEST_SKIP() << absence;
  const auto target = target_for(device->info().api);
  ASSERT_TRUE(target.ok()) << render(target.diags());
  runtime::LoadOptions options;
  options.guarded = true;
  for (int i = 0; i < count;) {
    std::vector<Case> cases;
    std::vector<ir::Kernel> kernels;
    for (; i < count && cases.size() < kBatch; i += every) {
      cases.push_back(make(i, *target));
      auto kernel = lower::lower(cases.back().program,
                                 small_target(*target, cases.back().program.vector_width, 1));
      ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
      kernels.push_back(std::move(*kernel));
    }
    auto module = device->load(kernels, *target, options);
    ASSERT_TRUE(module.ok()) << render(module.diags());
    for (size_t c = 0; c < cases.size(); ++c)
      run_and_check(**module, static_cast<int>(c), cases[c]);
  }
}

TEST(RandomOperators, AreRightInMachineCode) {
  run_cases(kOperators, tested_every(),
            [](int i, const hwdesc::Target& t) { return make_case(i, t); });
}

TEST(RandomKinds, AreRightInMachineCode) { run_cases(kKinds, tested_every(), make_kind_case); }

TEST(Statistics, AreRightInMachineCode) {
  run_cases(kStatistics, tested_every() > 1 ? 2 : 1, make_statistics_case);
}

void run_typed(const Types& type) {
  const int every = std::getenv("ASSAY_TEST_EVERY") == nullptr ? kTypedEvery : tested_every();
  run_cases(kTyped, every, [&](int i, const hwdesc::Target& t) { return make_case(i, t, type); });
}

TEST(RandomF16, AreRightInMachineCode) {
  run_typed([](ir::Graph& g, std::mt19937&) {
    for (ir::Tensor& t : g.tensors) t.dtype = ir::DType::f16;
  });
}

TEST(RandomBf16, AreRightInMachineCode) {
  run_typed([](ir::Graph& g, std::mt19937&) {
    for (ir::Tensor& t : g.tensors) t.dtype = ir::DType::bf16;
  });
}

// On devices whose kernels store them. A skipped test would hide the verdict of the others.
TEST(RandomFloat8, AreRightWhereBuffersHoldThem) {
  std::string absence;
  const auto device = open_tested_device(absence);
  if (device == nullptr) GTEST_SKIP() << absence;
  if (device->info().fact("stores").find("f8e4m3") == std::string::npos)
    GTEST_SKIP() << "its buffers hold no floats of 8 bits";
  run_typed([](ir::Graph& g, std::mt19937& rng) {
    for (ir::Tensor& t : g.tensors)
      t.dtype = rng() % 2 == 0 ? ir::DType::f8e4m3 : ir::DType::f8e5m2;
  });
}

TEST(RandomTypes, AreRightInMachineCode) {
  constexpr ir::DType kTypes[] = {ir::DType::f32, ir::DType::f16, ir::DType::bf16};
  run_typed([&](ir::Graph& g, std::mt19937& rng) {
    for (ir::Tensor& t : g.tensors) t.dtype = kTypes[rng() % 3];
  });
}

TEST(RandomWhole, AreRightInMachineCode) {
  run_typed([](ir::Graph& g, std::mt19937& rng) { give_whole_types(g, rng, false); });
}

TEST(RandomWholeBesideF32, AreRightInMachineCode) {
  run_typed([](ir::Graph& g, std::mt19937& rng) { give_whole_types(g, rng, true); });
}

}  // namespace
}  // namespace assay::test
