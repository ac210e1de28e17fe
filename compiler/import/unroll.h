// What operators that are unrolled over steps or trips are made of.
//
// A graph has no loops, so each step's nodes stand in it. Their number is limited, since planning
// takes longer the more nodes there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/context.h"

namespace assay::import {

inline constexpr int64_t kMostUnrolled = 10'000;  // nodes of all unrolled operators of a model

// Counts nodes to those of the model; refuses more than kMostUnrolled in all. `taken_by`: what
// takes that many nodes, in words.
void count_unrolled(Context& c, int64_t nodes, const std::string& taken_by);

// Folds the nodes from `first` on if they read constants or one another only.
void fold_constants(Context& c, size_t first);
// emit, and fold_constants.
int emit_folded(Context& c, Expression e);

int reshaped_and_folded(Context& c, int x, const Shape& to, std::string suffix);

// x at `position` of dimension `axis`, which is dropped.
int element_of(Context& c, int x, size_t axis, int64_t position, std::string suffix);

// Parts of one shape, put together by their numbers. The axes are those of the result. A point of
// it is at `at` of part `which`, or 0 where there is no such part.
struct Stack {
  Shape shape;
  ir::Index which;
  std::vector<ir::Index> at;  // per dimension of a part
};

// The result's expression, not emitted: its reads give the value together. It reads few tensors
// per point however many parts there are: groups of parts are joined to tensors first, and groups
// of groups. Pre: a part, and parts of extents of 1 or more.
Expression stacked(Context& c, std::vector<int> parts, const Stack& s);

// The parts along a new dimension `axis` of the result.
int stacked_along(Context& c, std::vector<int> parts, size_t axis, const std::string& suffix);

}  // namespace assay::import
