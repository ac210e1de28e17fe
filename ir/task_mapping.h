// Task mappings: which elements of a matrix each worker holds, and in which order.
//
// A product of steps, outer first.
//
//   repeat(r, c)             every worker has all r * c tasks, row by row;
//   spatial(r, c)            r * c workers have one each, row by row;
//   spatial_by_column(r, c)  the same, column by column;
//   replicate(n)             n workers have the same task.
//
// For f * g, task = task of f * shape of g + task of g; workers and items of g vary fastest.
// Source: Ding et al., "Hidet: Task-Mapping Programming Paradigm for Deep Learning Tensor
// Programs", 2023, section 4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace assay::ir {

struct MappingStep {
  enum class Kind { repeat, spatial, spatial_by_column, replicate };
  Kind kind = Kind::repeat;
  int rows = 1, cols = 1;  // replicate: `rows` workers
  bool operator==(const MappingStep&) const = default;
};

struct Task {
  int row = 0, col = 0;
  bool operator==(const Task&) const = default;
};

struct TaskMapping {
  std::vector<MappingStep> steps;

  int rows() const;  // of the matrix
  int cols() const;
  int workers() const;
  int items() const;                      // tasks of a worker
  Task task(int worker, int item) const;  // 0 <= worker < workers(), 0 <= item < items()
  bool operator==(const TaskMapping&) const = default;
};

// Neighbours along a row, or a column, that a worker has together wherever it has one of them: they
// begin at a multiple of their number.
int neighbours_in_row(const TaskMapping& m);
int neighbours_in_column(const TaskMapping& m);

// "repeat(2, 1) * spatial(8, 4)". Errors carry no place: an unknown step, a size that is not 1 to
// 1024.
Result<TaskMapping> parse_mapping(std::string_view text);
std::string print(const TaskMapping& m);

}  // namespace assay::ir
