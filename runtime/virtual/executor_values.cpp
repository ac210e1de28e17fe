// Register values after skipped iterations of a loop.
#include <algorithm>
#include <cmath>

#include "runtime/virtual/executor.h"

namespace assay::runtime::simulated {
namespace {

// Up to here, sums of whole numbers neither round nor wrap.
double exact_up_to(ir::DType t) {
  switch (t) {
    case ir::DType::f32:
      return 0x1p23;
    case ir::DType::f16:
      return 0x1p10;
    case ir::DType::bf16:
    case ir::DType::i8:
    case ir::DType::u8:
      return 0x1p6;
    case ir::DType::i32:
      return 0x1p30;
    case ir::DType::f8e4m3:
    case ir::DType::f8e5m2:
    case ir::DType::f16x2:
    case ir::DType::bf16x2:
      return 0;  // sums round at once; or an element is two numbers
    default:
      return 0x1p51;
  }
}

std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> d;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) d.push_back(b[i] - a[i]);
  return d;
}

class Extrapolator {
 public:
  Extrapolator(const Code& code, Registers& registers, Mask mask, std::vector<const Op*> iteration)
      : code_(code), registers_(registers), mask_(mask), iteration_(std::move(iteration)) {
    for (const Op* op : iteration_)
      if (op->kind != OpKind::matrix)
        changed_.push_back(op->dst);
      else
        changed_.insert(changed_.end(), code.matrices[static_cast<size_t>(op->matrix)].d.begin(),
                        code.matrices[static_cast<size_t>(op->matrix)].d.end());
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  }

  void once() {
    for (const Op* op : iteration_)
      if (op->kind == OpKind::matrix)
        registers_.multiply(code_.matrices[static_cast<size_t>(op->matrix)], mask_);
      else if (op->kind == OpKind::apply)
        registers_.apply(*op, mask_);
      else if (op->kind == OpKind::copy)
        registers_.copy(*op, mask_);
      else
        registers_.constant(*op, mask_);
  }
  template <class F>
  void each(F&& f) const {
    for (const int r : changed_)
      for (int l = 0; l < (registers_.uniform(r) ? 1 : code_.regs[static_cast<size_t>(r)].lanes);
           ++l)
        f(r, l);
  }
  std::vector<double> now() const {
    std::vector<double> all;
    each([&](int r, int l) { all.push_back(registers_.value(r, l)); });
    return all;
  }
  // Iterations for which every value grows by d and stays an exact whole number of its type.
  int64_t exact_for(const std::vector<double>& values, const std::vector<double>& d,
                    int64_t most) const {
    size_t i = 0;
    each([&](int r, int) {
      const double v = values[i], by = d[i++],
                   limit = exact_up_to(code_.regs[static_cast<size_t>(r)].dtype);
      if (v != std::floor(v) || by != std::floor(by) || std::abs(v) > limit)
        most = 0;
      else if (by != 0)
        most = std::min(most, static_cast<int64_t>((limit - std::abs(v)) / std::abs(by)));
    });
    return most;
  }
  void grow(const std::vector<double>& values, const std::vector<double>& d, int64_t times) {
    size_t i = 0;
    each([&](int r, int l) {
      registers_.set_value(r, l, values[i] + d[i] * static_cast<double>(times));
      ++i;
    });
  }

 private:
  const Code& code_;
  Registers& registers_;
  Mask mask_;
  std::vector<const Op*> iteration_;
  std::vector<int> changed_;
};

}  // namespace

// Sums of whole numbers that grow by the same amount twice do so until they round. Constant values
// stay constant. All other values are computed, without times.
void Executor::extrapolate_values(const Loop& loop, int64_t iterations) {
  if (!loop.straight) return;
  std::vector<const Op*> all;  // one iteration, from the current operation on
  const auto add = [&](int from, int to) {
    for (int i = from; i < to; ++i)
      if (const Op& op = code_.ops[static_cast<size_t>(i)]; op.dst >= 0 && op.needed)
        all.push_back(&op);
  };
  add(pc_, loop.next);
  add(loop.body, pc_);
  if (all.empty()) return;
  Extrapolator f(code_, registers_, masked(), std::move(all));
  for (int64_t done = 0, look = 1; done < iterations; ++done) {
    f.once();
    if (done + 1 < look || iterations - done < 4) continue;
    look = 2 * (done + 1);
    const std::vector<double> first = f.now();
    f.once();
    const std::vector<double> second = f.now();
    f.once();
    const std::vector<double> third = f.now();
    done += 2;
    if (first == second && second == third) return;
    const std::vector<double> d = difference(first, second);
    if (!loop.affine || d != difference(second, third)) continue;
    const int64_t times = f.exact_for(third, d, iterations - done - 1);
    f.grow(third, d, times);
    done += times;
  }
}

void Registers::deal(const Op& op, Mask mask) {
  const DealtFragment& d = code_.dealt[static_cast<size_t>(op.matrix)];
  const ir::Fragment& f = d.fragment;
  const ir::TaskMapping& runs = d.by_row ? f.by_row : f.by_column;
  const int lanes = f.mapping.workers(), columns = f.mapping.cols(), n = op.numbers;
  std::vector<double> matrix(static_cast<size_t>(f.mapping.rows()) * static_cast<size_t>(columns));
  for (const int r : d.regs) spread(r);
  for (int first = 0; first + lanes <= op.lanes; first += lanes) {
    if (mask != nullptr && mask[first] == 0) continue;
    for (int l = 0; l < runs.workers(); ++l)
      for (int i = 0; i < n; ++i) {
        const ir::Task t = ir::element_of_run(f, d.by_row, l, i);
        matrix[static_cast<size_t>(t.row * columns + t.col)] = value(op.a, (first + l) * n + i);
      }
    const std::vector<double> all = ir::registers_of(f, matrix);
    for (size_t r = 0; r < d.regs.size(); ++r)
      for (int l = 0; l < lanes; ++l)
        set_value(d.regs[r], first + l,
                  all[r * static_cast<size_t>(lanes) + static_cast<size_t>(l)]);
  }
}

}  // namespace assay::runtime::simulated
