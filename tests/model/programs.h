// Programs and machines that the tests of the physics share.
#pragma once

#include <fmt/format.h>

#include <random>
#include <stdexcept>
#include <string>

#include "hwdesc/override.h"
#include "model/machine.h"
#include "simulator/estimate.h"
#include "tests/lower/problems.h"

namespace assay::test {

inline model::Machine machine(const hwdesc::Target& t) {
  Result<model::Machine> m = model::prepare(t);
  if (!m.ok()) throw std::runtime_error(render(m.diags()));
  return *m;
}

// The same kind of programs as the tests of lowering draw.
struct Drawn {
  hwdesc::Target target;
  ir::Program program;
};

inline Drawn draw(std::mt19937& rng, int i) {
  const int width = i % 2 == 0 ? 8 : 16;
  Drawn d{small_cpu(width, 1 + i % 3), {}};
  d.program = random_program(random_problem(rng, width), d.target, rng);
  return d;
}

inline ir::Program parsed(const std::string& text) {
  Result<ir::Program> p = ir::parse_program(text, "test");
  if (!p.ok()) throw std::runtime_error(render(p.diags()));
  return *p;
}

// A matrix product whose columns are walked in tiles of `tile`, two rows of 16 columns at a time.
// `copy`: the layout of a staged copy of the right operand; none: it is read in place.
inline ir::Program product(int64_t m, int64_t n, int64_t k, int64_t tile, int width = 8,
                           const std::string& copy = "") {
  const std::string staging =
      copy.empty() ? "" : fmt::format("staging: [{{read: 1, level: 0, layout: \"{}\"}}]\n", copy);
  return parsed(fmt::format(R"yaml(schema: assay/program/1
name: product
graph:
  name: product
  tensors: {{t0: "f32 {0}x{2}", t1: "f32 {2}x{1}", t2: "f32 {0}x{1}"}}
  inputs: [t0, t1]
  outputs: [t2]
  nodes:
    - {{name: product, op: matmul, out: "t2[m, n]", axes: {{m: {0}, n: {1}, k: {2}}}, combine: sum,
       body: "t0[m, k] * t1[k, n]"}}
layouts: {{t0: "[0, 1]", t1: "[0, 1]", t2: "[0, 1]"}}
tiles:
  - {{memory: l2, extent: {{m: {0}, n: {3}, k: {2}}}, order: [n]}}
  - {{memory: registers, extent: {{m: 2, n: 16, k: 1}}, order: [m, n, k]}}
vector: {{axis: n, width: {4}}}
{5})yaml",
                            m, n, k, tile, width, staging));
}

// t1[i, j] = max(t0[.., ..], 0): rows of `columns`, in register tiles of `rows` by `across`, lanes
// of 4 along `lanes`; `read`: the index of t0, of the same shape; `order`: of the loops over
// register tiles.
inline ir::Program walk(int64_t columns, int64_t rows, int64_t across, const char* lanes,
                        const char* read = "i, j", const char* order = "j, i") {
  return parsed(fmt::format(R"yaml(schema: assay/program/1
name: walk
graph:
  name: walk
  tensors: {{t0: "f32 64x{0}", t1: "f32 64x{0}"}}
  inputs: [t0]
  outputs: [t1]
  nodes:
    - {{name: walk, op: relu, out: "t1[i, j]", axes: {{i: 64, j: {0}}}, body: "max(t0[{4}], 0)"}}
layouts: {{t0: "[0, 1]", t1: "[0, 1]"}}
tiles:
  - {{memory: l1, extent: {{i: 64, j: {0}}}, order: [i, j]}}
  - {{memory: registers, extent: {{i: {1}, j: {2}}}, order: [{5}]}}
vector: {{axis: {3}, width: 4}}
)yaml",
                            columns, rows, across, lanes, read, order));
}

inline double term(const model::Estimate& e, const std::string& name) {
  for (const model::Term& t : e.terms)
    if (t.name == name) return t.seconds;
  throw std::runtime_error("no term " + name);
}

inline double seconds(const ir::Program& p, const hwdesc::Target& t) {
  return simulator::estimate(p, machine(t), {}, {}).seconds;
}

inline hwdesc::Target with(hwdesc::Target t, const std::string& change) {
  Result<hwdesc::Profile> p = hwdesc::apply_override(t.profile, change);
  if (!p.ok()) throw std::runtime_error(render(p.diags()));
  t.profile = *p;
  return t;
}

// A step of the plan's program, on tensors of its own.
inline void add_step(ir::Plan& plan, int program) {
  ir::Step step;
  step.program = program;
  const ir::Program& p = plan.programs[static_cast<size_t>(program)];
  for (const int t : ir::arguments_of(p)) {
    ir::PlanTensor to;
    to.shape = p.graph.tensors[static_cast<size_t>(t)].shape;
    to.layout = p.layouts[static_cast<size_t>(t)];
    to.offset = plan.arena_bytes;
    to.bytes = 4 * to.shape[0] * to.shape[1];
    plan.arena_bytes += to.bytes;
    step.arguments.push_back(static_cast<int>(plan.tensors.size()));
    plan.tensors.push_back(to);
  }
  plan.steps.push_back(std::move(step));
}

}  // namespace assay::test
