// Runs a compiled plan by interpreting its kernels, with storage shared as it was placed, and
// compares it with the original graph.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "codegen/interpret.h"
#include "compiler/compile.h"
#include "lower/lower.h"
#include "tests/lower/problems.h"

namespace assay::test {

using Floats = std::vector<float>;

inline Floats random_floats(std::mt19937& rng, int64_t n) {
  std::uniform_real_distribution<float> d(-1, 1);
  Floats v(static_cast<size_t>(n));
  for (float& x : v) x = d(rng);
  return v;
}

// One arena and one block of weights, as the runtime has them.
struct Memory {
  Floats arena, weights;

  float* at(const ir::PlanTensor& t) {
    return (t.kind == ir::TensorKind::constant ? weights : arena).data() +
           t.offset / int64_t{sizeof(float)};
  }
};

inline void write(Memory& m, const ir::PlanTensor& t, const float* values) {
  each_element(t.layout, t.shape, [&](size_t from, size_t to) { m.at(t)[to] = values[from]; });
}

inline void run_step(Memory& m, const compiler::Compiled& c, const ir::Step& step,
                     const hwdesc::Target& target) {
  const ir::Program& p = c.plan.programs[static_cast<size_t>(step.program)];
  const Result<ir::Kernel> kernel = lower::lower(p, target);
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  std::vector<Floats> buffers;
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const ir::PlanTensor& t = c.plan.tensors[static_cast<size_t>(step.arguments[i])];
    const float* from = m.at(t);
    buffers.emplace_back(from, from + kernel->buffers[i].elements);
  }
  const auto ran = codegen::interpret(*kernel, buffers);
  ASSERT_TRUE(ran.ok()) << render(ran.diags());
  std::copy(buffers.back().begin(), buffers.back().end(),
            m.at(c.plan.tensors[static_cast<size_t>(step.arguments.back())]));
}

// The outputs of the graph, computed by its plan.
inline std::vector<Floats> run_plan(const compiler::Compiled& c, const ir::Graph& g,
                                    const hwdesc::Target& target,
                                    const std::vector<Floats>& inputs) {
  Memory m{Floats(static_cast<size_t>(c.plan.arena_bytes) / sizeof(float), std::nanf("")),
           Floats(static_cast<size_t>(c.plan.weights_bytes) / sizeof(float), 0)};
  const auto find = [&](int id, ir::TensorKind kind) -> const ir::PlanTensor& {
    for (const ir::PlanTensor& t : c.plan.tensors)
      if (t.kind == kind && t.name == g.tensors[static_cast<size_t>(id)].name) return t;
    throw std::runtime_error("no tensor " + g.tensors[static_cast<size_t>(id)].name);
  };
  for (size_t t = 0; t < c.plan.tensors.size(); ++t) {
    const ir::PlanTensor& tensor = c.plan.tensors[t];
    if (tensor.cleared) std::fill_n(m.at(tensor), tensor.bytes / int64_t{sizeof(float)}, 0.0F);
    if (tensor.kind == ir::TensorKind::constant)
      write(m, tensor, reinterpret_cast<const float*>(c.constants[t].bytes.data()));
  }
  for (size_t i = 0; i < g.inputs.size(); ++i)
    write(m, find(g.inputs[i], ir::TensorKind::input), inputs[i].data());
  for (const ir::Step& s : c.plan.steps) run_step(m, c, s, target);
  std::vector<Floats> out;
  for (int o : g.outputs) {
    const ir::PlanTensor& t = find(o, ir::TensorKind::output);
    EXPECT_EQ(t.shape, g.tensors[static_cast<size_t>(o)].shape);
    Floats v(static_cast<size_t>(ir::elements(g.tensors[static_cast<size_t>(o)])));
    each_element(t.layout, t.shape, [&](size_t to, size_t from) { v[to] = m.at(t)[from]; });
    out.push_back(std::move(v));
  }
  return out;
}

// Compiles, runs and compares with `want`, the graph's values; returns the plan.
inline ir::Plan check_on(const hwdesc::Target& target, const ir::Graph& g,
                         const std::vector<Floats>& inputs,
                         const std::vector<std::vector<double>>& want) {
  const auto c = compiler::compile(g, target, {});
  EXPECT_TRUE(c.ok()) << render(c.diags());
  if (!c.ok()) return {};
  EXPECT_EQ(render(ir::verify(c->plan)), "");
  const std::vector<Floats> got = run_plan(*c, g, target, inputs);
  for (size_t o = 0; o < got.size(); ++o) {
    const std::vector<double>& w = want[static_cast<size_t>(g.outputs[o])];
    double worst = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      const double d = std::abs(static_cast<double>(got[o][i]) - w[i]) / (1 + std::abs(w[i]));
      worst = d <= worst ? worst : std::isnan(d) ? 1e30 : d;
    }
    EXPECT_LT(worst, 2e-5) << target.profile.name << "\n" << ir::print_graph(g);
  }
  return c->plan;
}

// `check_on` for vectors of `width` and for waves of as many threads; returns the plan for vectors.
inline ir::Plan check(const ir::Graph& g, std::mt19937& rng, int width = 8) {
  const Diags faults = ir::verify(g);
  EXPECT_EQ(render(faults), "");
  if (!faults.empty()) return {};
  std::vector<Floats> inputs;
  for (int t : g.inputs)
    inputs.push_back(random_floats(rng, ir::elements(g.tensors[static_cast<size_t>(t)])));
  const auto want = ir::evaluate(g, inputs);
  EXPECT_TRUE(want.ok()) << render(want.diags());
  hwdesc::Target waves = small_gpu(width);
  waves.dialect.known = true;  // kernels are printed
  check_on(waves, g, inputs, *want);
  return check_on(small_cpu(width, 2), g, inputs, *want);
}

}  // namespace assay::test
