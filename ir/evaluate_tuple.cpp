#include "ir/evaluate_tuple.h"

#include <algorithm>
#include <map>

#include "ir/apply_kind.h"
#include "ir/evaluate_body.h"

namespace assay::ir {
namespace {

// The states of a few rows, and the reads of one point of each of them.
class Rows : public BodySource {
 public:
  Rows(size_t components, int64_t terms) : state(components), terms_(terms) {}

  std::vector<std::vector<double>> state;                 // [component][row]
  std::map<int, std::vector<double>> reads, axis_values;  // at every point
  int64_t row = 0, term = 0;                              // the first row, the point of each

  void fetch(int operand, int64_t first, size_t count, double* out) override {
    const auto of = static_cast<size_t>(operand);
    if (of < state.size())
      std::copy_n(state[of].begin() + first, count, out);
    else
      take(reads.at(operand), first, count, out);
  }
  void axis(int axis, int64_t first, size_t count, double* out) override {
    take(axis_values.at(axis), first, count, out);
  }

 private:
  void take(const std::vector<double>& values, int64_t first, size_t count, double* out) const {
    for (size_t i = 0; i < count; ++i)
      out[i] = values[static_cast<size_t>((row + first + static_cast<int64_t>(i)) * terms_ + term)];
  }

  const int64_t terms_;
};

void add_leaves(const Scalar& s, int components, const ValuesOf& values_of, Rows& rows) {
  if (s.op == ScalarOp::axis && !rows.axis_values.contains(s.operand))
    rows.axis_values[s.operand] = values_of(s);
  if (s.op == ScalarOp::read && s.operand >= components && !rows.reads.contains(s.operand))
    rows.reads[s.operand] = values_of(read(s.operand - components));
  for (const Scalar& arg : s.args) add_leaves(arg, components, values_of, rows);
}

std::vector<BodyProgram> programs_of(const std::vector<Scalar>& trees) {
  std::vector<BodyProgram> out;
  for (const Scalar& s : trees) out.emplace_back(s);
  return out;
}

std::vector<std::vector<double>> values_of(std::vector<BodyProgram>& programs, Rows& rows,
                                           size_t count) {
  std::vector<std::vector<double>> out;
  for (BodyProgram& p : programs) {
    const double* values = p.run(rows, 0, count);
    out.emplace_back(values, values + count);
  }
  return out;
}

}  // namespace

std::vector<double> reduced(const Node& n, const TupleReduction& tuple, const ValuesOf& leaves) {
  const size_t rank = n.axes.size() - static_cast<size_t>(tuple.over);
  int64_t terms = 1;
  for (size_t a = rank; a < n.axes.size(); ++a) terms *= n.axes[a].extent;
  std::vector<int64_t> shape;
  for (size_t a = 0; a < rank; ++a) shape.push_back(n.axes[a].extent);
  const AlongAxis along(shape, tuple.axis);
  const std::vector<Scalar> steps = steps_of(tuple);
  Rows rows(steps.size(), terms);
  const auto components = static_cast<int>(steps.size());
  for (const Scalar& s : steps) add_leaves(s, components, leaves, rows);
  for (const Scalar& s : tuple.results) add_leaves(s, components, leaves, rows);
  std::vector<BodyProgram> step = programs_of(steps), result = programs_of(tuple.results);
  const int64_t all = along.outer * along.inner;
  std::vector<double> out(static_cast<size_t>(all * along.extent));
  for (rows.row = 0; rows.row < all; rows.row += static_cast<int64_t>(kChunk)) {
    const size_t count = std::min(kChunk, static_cast<size_t>(all - rows.row));
    for (size_t c = 0; c < steps.size(); ++c) rows.state[c].assign(count, tuple.state[c].init);
    for (rows.term = 0; rows.term < terms; ++rows.term) {
      std::vector<std::vector<double>> next = values_of(step, rows, count);
      rows.state = std::move(next);
    }
    rows.term = 0;
    const std::vector<std::vector<double>> results = values_of(result, rows, count);
    for (size_t r = 0; r < results.size(); ++r)
      for (size_t i = 0; i < count; ++i) {
        const int64_t at = rows.row + static_cast<int64_t>(i);
        out[along.at(at / along.inner, static_cast<int64_t>(r), at % along.inner)] = results[r][i];
      }
  }
  return out;
}

}  // namespace assay::ir
