// The body of a node over a run of points along one axis: the scalar tree as a postfix program over
// short arrays, so that interpreting costs about a nanosecond per operation.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"

namespace assay::ir {

inline constexpr size_t kChunk = 256;  // points per run at most

// Fills out[0..count) with operand `operand` at the points first..first+count of the run.
struct BodySource {
  virtual ~BodySource() = default;
  virtual void fetch(int operand, int64_t first, size_t count, double* out) = 0;
  virtual void axis(int axis, int64_t first, size_t count, double* out) = 0;
};

double combined(Combiner c, double a, double b);

class BodyProgram {  // invariant: `steps_` is the postfix order of one tree, `depth_` its stack
                     // need
 public:
  explicit BodyProgram(const Scalar& body);

  // Values at the points first..first+count; count <= kChunk. Valid until the next call.
  const double* run(BodySource& source, int64_t first, size_t count);

 private:
  struct Step {
    ScalarOp op = ScalarOp::constant;
    int operand = -1;
    double value = 0;
    size_t base = 0;  // the stack slot of the first argument, and of the result
  };
  void flatten(const Scalar& s, size_t base);

  std::vector<Step> steps_;
  size_t depth_ = 0;
  std::vector<double> stack_;
};

}  // namespace assay::ir
