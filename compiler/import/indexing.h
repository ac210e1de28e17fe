// Small pieces of index arithmetic that many operators share: axes named by what they are,
// broadcasting, axis arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/import/context.h"

namespace assay::import {

// One axis per dimension: n c y x for four dimensions, else i0 i1 ...
std::vector<ir::Axis> axes_for(const Shape& shape);

std::vector<ir::Range> ranges_of(const std::vector<ir::Axis>& axes);

// A negative axis counts from the end; refuses what is outside [-rank, rank).
size_t normal_axis(int64_t axis, size_t rank);
std::vector<size_t> normal_axes(const Shape& axes, size_t rank);  // sorted; refuses duplicates

// Numpy's rule; refuses shapes that do not fit.
Shape broadcast(const Shape& a, const Shape& b);

// Reads a tensor of shape `from` at the point of axes first..first+to.size(), aligned at the right;
// its dimensions of extent 1 are read at 0.
std::vector<ir::Index> broadcast_index(const Shape& from, const Shape& to, int first = 0);

// The tensor at the broadcast point: a number when it is a float constant with one element, else a
// read that is added to `reads`.
ir::Scalar broadcast_operand(const Context& c, int tensor, const Shape& to,
                             std::vector<ir::Read>& reads);

ir::Read plain_read(int tensor, std::vector<ir::Index> index);
ir::Read guarded_read(int tensor, std::vector<ir::Index> index, double fill);

// One variable per dimension, 0 .. rank-1.
std::vector<ir::Index> identity_index(size_t rank);

// The same elements in another shape; refuses another count of them.
int reshaped(Context& c, int tensor, const Shape& to, std::string suffix = "reshaped");

// What a run-time value of `dtype` keeps of the exact result `x`: 8-bit integers wrap around.
ir::Scalar wrapped(const Context& c, ir::DType dtype, ir::Scalar x);

// Scalar operations by short names.
ir::Scalar add(ir::Scalar a, ir::Scalar b);
ir::Scalar sub(ir::Scalar a, ir::Scalar b);
ir::Scalar mul(ir::Scalar a, ir::Scalar b);
ir::Scalar div(ir::Scalar a, ir::Scalar b);
ir::Scalar max(ir::Scalar a, ir::Scalar b);
ir::Scalar min(ir::Scalar a, ir::Scalar b);
ir::Scalar call(ir::ScalarOp op, ir::Scalar a);
ir::Scalar power(ir::Scalar a, ir::Scalar b);
ir::Scalar less(ir::Scalar a, ir::Scalar b);
ir::Scalar equal(ir::Scalar a, ir::Scalar b);
// `place` where operand 0 is the extreme that operand 1 holds, else `none`. An extreme of NaN is
// each NaN.
ir::Scalar place_of_extreme(ir::Scalar place, double none);
ir::Scalar choose(ir::Scalar condition, ir::Scalar yes, ir::Scalar no);
ir::Scalar truncated(ir::Scalar a);  // towards zero
ir::Scalar axis_value(size_t axis);  // the point's coordinate along an axis of the node

// An expression over the points of `shape`; `suffix` as in Expression.
Expression pointwise(std::string op, const Shape& shape, ir::DType dtype, std::string suffix = "");

}  // namespace assay::import
