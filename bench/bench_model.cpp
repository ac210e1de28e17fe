// How many prices and estimates a core makes a second. Counters `/s` are per second of one core.
//
//   price/<profile>       a library's product, counted before: a sweep's step
//   estimate/<profile>    programs that construction weighs: counted, then priced, each once
//   construct/<profile>   choosing a program of one operator
//   schedule/<profile>/N  scheduling a plan of N steps; simulate/<profile>/N: predicting it then
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/passes/place.h"
#include "compiler/schedule/schedule.h"
#include "compiler/search/construct.h"
#include "compiler/search/legal_space.h"
#include "model/price.h"
#include "simulator/estimate.h"
#include "toolkit/profiles.h"

namespace assay::bench {
namespace {

constexpr const char* kOperator = "matmul m=1024 n=1024 k=1024";
constexpr size_t kPrograms = 64;

template <class T>
T value_or_exit(const Result<T>& r) {
  if (r.ok()) return *r;
  std::fprintf(stderr, "%s", render(r.diags()).c_str());
  std::exit(2);
}

struct Chip {
  hwdesc::Target target;
  model::Machine machine;
};

Chip chip_of(const std::string& profile) {
  const hwdesc::Profile p = value_or_exit(toolkit::load_profile(profile));
  const hwdesc::Target t = value_or_exit(toolkit::target_of(p, ""));
  return {t, value_or_exit(model::prepare(t))};
}

compiler::Problem product() {
  const ir::Graph g = value_or_exit(compiler::parse_operator(kOperator));
  compiler::Problem p;
  p.graph = g;
  for (const ir::Tensor& t : g.tensors) {
    p.layouts.push_back(ir::row_major(static_cast<int>(t.shape.size())));
    p.packable.push_back(false);
  }
  return p;
}

// Tiles of 128 x 128 of a product of 4096^3, as a library's kernel.
model::LaunchWork work() {
  model::LaunchWork w;
  w.groups = 1024;
  w.threads = 256;
  w.registers_per_thread = 128;
  w.scratch_bytes = 32768;
  w.products.multiply_adds = 128.0 * 128 * 4096;
  w.instructions = w.products.multiply_adds / 32 * 1.2;
  w.scratch_traffic = w.products.multiply_adds / 2;
  w.loads = w.instructions / 6;
  w.fills = 2 * 128 * 4096 * 4;
  w.steps = {512, 2};
  w.grid = {32, 32, 1, 1, 128 * 4096 * 4, 128 * 4096 * 4, 4096.0 * 4096 * 4, 4096.0 * 4096 * 4};
  w.read = 2 * 4096.0 * 4096 * 4;
  w.written = 4096.0 * 4096 * 4;
  return w;
}

void price(benchmark::State& state, const std::string& profile) {
  model::Machine m = chip_of(profile).machine;
  const model::LaunchWork w = work();
  const double rate = m.levels.back().read.value;
  double by = 1;
  for (auto _ : state) {
    m.levels.back().read.value = rate * (by += 1e-6);
    benchmark::DoNotOptimize(model::price(w, m).seconds);
  }
  state.counters["/s"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}

void estimate(benchmark::State& state, const std::string& profile) {
  const Chip chip = chip_of(profile);
  const compiler::Problem problem = product();
  std::vector<ir::Program> programs =
      compiler::LegalSpace(problem, chip.target, chip.machine).constructed();
  std::shuffle(programs.begin(), programs.end(), std::mt19937_64(7));
  programs.resize(std::min(programs.size(), kPrograms));
  size_t next = 0;
  for (auto _ : state) {
    const ir::Program& p = programs[next++ % programs.size()];
    benchmark::DoNotOptimize(
        simulator::estimate(p, chip.machine, {}, {}, nullptr, simulator::TermDetail::none).seconds);
  }
  state.counters["/s"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}

void construct(benchmark::State& state, const std::string& profile) {
  const Chip chip = chip_of(profile);
  const compiler::Problem problem = product();
  for (auto _ : state)
    benchmark::DoNotOptimize(
        compiler::construct(problem, chip.target, chip.machine, {}, {}, 1).ok());
}

// Layers of products, as an unrolled recurrence has them: a step reads what the layer below made at
// its time, and its own result of the time before.
ir::Plan recurrence(int steps, int units) {
  constexpr int kLayers = 10;
  constexpr int64_t kWidth = 64;
  const ir::Program p = value_or_exit(ir::parse_program(R"yaml(schema: assay/program/1
name: cell
graph:
  name: cell
  tensors: {x: f32 1x64, h: f32 1x64, w: f32 64x64, y: f32 1x64}
  inputs: [x, h, w]
  outputs: [y]
  nodes:
    - {op: cell, out: "y[m, n]", axes: {m: 1, n: 64, k: 64}, body: "(x[m, k] + h[m, k]) * w[k, n]"}
layouts: {x: "[0, 1]", h: "[0, 1]", w: "[0, 1]", y: "[0, 1]"}
tiles:
  - {memory: l2, extent: {m: 1, n: 16, k: 64}, order: [n]}
  - {memory: registers, extent: {m: 1, n: 16, k: 1}, order: [n, k]}
vector: {axis: n, width: 16}
)yaml",
                                                        "cell"));
  ir::Plan plan;
  plan.name = "recurrence";
  plan.units = units;
  plan.programs = {p};
  const auto add = [&](std::vector<int64_t> shape, ir::TensorKind kind) {
    ir::PlanTensor t;
    t.name = "t" + std::to_string(plan.tensors.size());
    t.layout = ir::row_major(static_cast<int>(shape.size()));
    t.shape = std::move(shape);
    t.kind = kind;
    plan.tensors.push_back(std::move(t));
    return static_cast<int>(plan.tensors.size()) - 1;
  };
  std::vector<int> weights, state;
  for (int l = 0; l < kLayers; ++l) {
    weights.push_back(add({kWidth, kWidth}, ir::TensorKind::constant));
    state.push_back(add({1, kWidth}, ir::TensorKind::input));
  }
  for (int s = 0; s < steps; ++s) {
    const auto layer = static_cast<size_t>(s % kLayers);
    const int below = layer == 0 ? state[0] : state[layer - 1];
    const int made =
        add({1, kWidth}, s + kLayers >= steps ? ir::TensorKind::output : ir::TensorKind::temporary);
    plan.steps.push_back({"s" + std::to_string(s), 0, {below, state[layer], weights[layer], made}});
    state[layer] = made;
  }
  compiler::place(plan);
  return plan;
}

void schedule(benchmark::State& state, const std::string& profile) {
  const Chip chip = chip_of(profile);
  const ir::Plan plan =
      recurrence(static_cast<int>(state.range(0)), static_cast<int>(chip.machine.units));
  for (auto _ : state) {
    ir::Plan copy = plan;
    benchmark::DoNotOptimize(
        compiler::schedule(copy, chip.machine, compiler::Schedule::always).seconds);
  }
}

void simulate(benchmark::State& state, const std::string& profile) {
  const Chip chip = chip_of(profile);
  ir::Plan plan =
      recurrence(static_cast<int>(state.range(0)), static_cast<int>(chip.machine.units));
  compiler::schedule(plan, chip.machine, compiler::Schedule::always);
  for (auto _ : state)
    benchmark::DoNotOptimize(simulator::simulate(plan, chip.machine).total.seconds);
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  using namespace assay::bench;
  for (const char* profile : {"x86-avx512-2core", "h200", "mi210"}) {
    const auto add = [&](const char* what, auto f) {
      return benchmark::RegisterBenchmark((std::string(what) + "/" + profile).c_str(),
                                          [=](benchmark::State& s) { f(s, profile); });
    };
    add("price", price);
    add("estimate", estimate);
    add("construct", construct)->Unit(benchmark::kMillisecond);
    if (profile != std::string("x86-avx512-2core")) continue;  // its cell is one of vectors
    for (benchmark::internal::Benchmark* b : {add("schedule", schedule), add("simulate", simulate)})
      b->Unit(benchmark::kMillisecond)->Arg(1000)->Arg(10000)->Iterations(1);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
