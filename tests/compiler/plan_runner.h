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

// A step of each tile-graph: what the passes before make of a graph.
inline compiler::Options one_by_one() {
  compiler::Options o;
  o.fuse = compiler::Fuse::elementwise;
  return o;
}

inline Floats random_floats(std::mt19937& rng, int64_t n) {
  std::uniform_real_distribution<float> d(-1, 1);
  Floats v(static_cast<size_t>(n));
  for (float& x : v) x = d(rng);
  return v;
}

// One arena and one block of weights, as the runtime has them, and the same in host memory.
struct Memory {
  Floats arena, weights, host = {}, host_weights = {};

  float* at(const ir::PlanTensor& t) { return at(t, t.offset); }
  float* at(const ir::PlanTensor& t, int64_t offset) {
    Floats& block = t.kind == ir::TensorKind::constant ? (t.host ? host_weights : weights)
                                                       : (t.host ? host : arena);
    return block.data() + offset / int64_t{sizeof(float)};
  }
  float* at(const ir::Plan& plan, const ir::Step& step, size_t argument) {
    return at(plan.tensors[static_cast<size_t>(step.arguments[argument])],
              ir::bytes_of_argument(plan, step, argument).first);
  }
};

// Element by element. What is not part of the region is untouched.
inline void run_transfer(Memory& m, const ir::Plan& plan, const ir::Transfer& t) {
  const ir::PlanTensor& device = plan.tensors[static_cast<size_t>(t.device)];
  const int64_t stored = ir::physical_elements(device.layout, device.shape);
  if (t.way != ir::Transfer::Way::download)
    std::fill_n(m.at(device), stored, static_cast<float>(device.layout.pad_value));
  if (t.way == ir::Transfer::Way::clear) return;
  const ir::PlanTensor& host = plan.tensors[static_cast<size_t>(t.host)];
  if (host.layout != ir::row_major(static_cast<int>(host.shape.size()))) {  // packed alike
    std::copy_n(m.at(host), stored, m.at(device));
    return;
  }
  each_element(device.layout, device.shape, [&](size_t logical, size_t at) {
    size_t from = 0, stride = 1;
    for (size_t d = device.shape.size(); d-- > 0; stride *= static_cast<size_t>(host.shape[d])) {
      const auto extent = static_cast<size_t>(device.shape[d]);
      from += stride * (logical % extent + static_cast<size_t>(t.begin[d]));
      logical /= extent;
    }
    if (t.way == ir::Transfer::Way::upload)
      m.at(device)[at] = m.at(host)[from];
    else
      m.at(host)[from] = m.at(device)[at];
  });
}

inline void write(Memory& m, const ir::PlanTensor& t, const float* values) {
  each_element(t.layout, t.shape, [&](size_t from, size_t to) { m.at(t)[to] = values[from]; });
}

// As a device does that looks at conditions.
inline bool is_needed(Memory& m, const ir::Plan& plan, const ir::Step& step) {
  if (!step.needed_if) return true;
  const ir::PlanTensor& t = plan.tensors[static_cast<size_t>(step.needed_if->tensor)];
  return (*m.at(t) != 0) == step.needed_if->value;
}

inline void run_step(Memory& m, const compiler::Compiled& c, const ir::Step& step,
                     const hwdesc::Target& target) {
  const ir::Program& p = c.plan.programs[static_cast<size_t>(step.program)];
  const Result<ir::Kernel> kernel = lower::lower(p, target);
  ASSERT_TRUE(kernel.ok()) << render(kernel.diags());
  std::vector<Floats> buffers;
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const float* from = m.at(c.plan, step, i);
    buffers.emplace_back(from, from + kernel->buffers[i].elements);
  }
  const auto ran = codegen::interpret(*kernel, buffers);
  ASSERT_TRUE(ran.ok()) << render(ran.diags());
  for (size_t i = step.arguments.size() - p.graph.outputs.size(); i < buffers.size(); ++i)
    std::copy(buffers[i].begin(), buffers[i].end(), m.at(c.plan, step, i));
}

// The outputs of the graph, computed by its plan.
inline std::vector<Floats> run_plan(const compiler::Compiled& c, const ir::Graph& g,
                                    const hwdesc::Target& target,
                                    const std::vector<Floats>& inputs) {
  const auto block = [](int64_t bytes, float value) {
    return Floats(static_cast<size_t>(bytes) / sizeof(float), value);
  };
  const float nan = std::nanf("");
  Memory m{block(c.plan.arena_bytes, nan), block(c.plan.weights_bytes, 0),
           block(c.plan.host_bytes, nan), block(c.plan.host_weights_bytes, 0)};
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
  for (size_t s = 0; s <= c.plan.steps.size(); ++s) {
    const auto [first, last] = ir::transfers_before(c.plan, s);
    for (size_t t = first; t < last; ++t) run_transfer(m, c.plan, c.plan.transfers[t]);
    if (s < c.plan.steps.size() && is_needed(m, c.plan, c.plan.steps[s]))
      run_step(m, c, c.plan.steps[s], target);
  }
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

// Runs and compares with `want`, the graph's values.
inline void expect_right(const hwdesc::Target& target, const ir::Graph& g,
                         const compiler::Compiled& c, const std::vector<Floats>& inputs,
                         const std::vector<std::vector<double>>& want) {
  EXPECT_EQ(render(ir::verify(c.plan)), "");
  const std::vector<Floats> got = run_plan(c, g, target, inputs);
  for (size_t o = 0; o < got.size(); ++o) {
    const std::vector<double>& w = want[static_cast<size_t>(g.outputs[o])];
    double worst = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      const double d = std::abs(static_cast<double>(got[o][i]) - w[i]) / (1 + std::abs(w[i]));
      worst = d <= worst ? worst : std::isnan(d) ? 1e30 : d;
    }
    EXPECT_LT(worst, 2e-5) << target.profile.name << "\n" << ir::print_graph(g);
  }
}

// Compiles, runs and compares; returns the plan.
inline ir::Plan check_on(const hwdesc::Target& target, const ir::Graph& g,
                         const std::vector<Floats>& inputs,
                         const std::vector<std::vector<double>>& want,
                         const compiler::Options& options = one_by_one()) {
  const auto c = compiler::compile(g, target, options);
  EXPECT_TRUE(c.ok()) << render(c.diags());
  if (!c.ok()) return {};
  expect_right(target, g, *c, inputs, want);
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
