// Small plans, for tests of what is said of their steps.
#pragma once

#include "ir/plan.h"
#include "tests/ir/graph_samples.h"

namespace assay::test {

// Two products, the second of the first's result, on two units; c1 = a b, c2 = c1 b.
inline ir::Plan chain(bool rows_alike) {
  ir::Plan plan;
  plan.name = "chain";
  plan.units = 2;
  ir::Program p;
  p.name = "mm";
  p.graph = ir::samples::matmul(64, 32, 32);
  p.layouts = {ir::row_major(2), ir::row_major(2), ir::row_major(2)};
  p.tiles = {{"l2", {16, 32, 32}, {0, 1, 2}}, {"registers", {8, 32, 1}, {0, 1, 2}}};
  ir::Program columns = p;
  columns.tiles = {{"l2", {64, 8, 32}, {1, 0, 2}}, {"registers", {8, 8, 1}, {0, 1, 2}}};
  plan.programs = {p, rows_alike ? p : columns};
  const int64_t c = 64 * 32 * 4, b = 32 * 32 * 4;
  plan.tensors = {
      {"a", ir::DType::f32, {64, 32}, ir::row_major(2), ir::TensorKind::input, 0, c},
      {"b", ir::DType::f32, {32, 32}, ir::row_major(2), ir::TensorKind::input, c, b},
      {"c1", ir::DType::f32, {64, 32}, ir::row_major(2), ir::TensorKind::temporary, c + b, c},
      {"c2", ir::DType::f32, {64, 32}, ir::row_major(2), ir::TensorKind::output, 2 * c + b, c}};
  plan.steps = {{"first", 0, {0, 1, 2}}, {"second", 1, {2, 1, 3}}};
  plan.arena_bytes = 3 * c + b;
  return plan;
}

}  // namespace assay::test
