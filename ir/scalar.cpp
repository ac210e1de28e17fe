#include "ir/scalar.h"

#include <algorithm>

namespace assay::ir {
namespace {

bool is_leaf(const Scalar& s) {
  return s.op == ScalarOp::read || s.op == ScalarOp::constant || s.op == ScalarOp::axis;
}

struct Operation {
  Scalar tree;
  int uses = 1;  // by other operations and as trees
  int part = -1;
};

void collect(const Scalar& s, std::vector<Operation>& out) {
  if (is_leaf(s)) return;
  const auto known =
      std::find_if(out.begin(), out.end(), [&](const Operation& o) { return o.tree == s; });
  if (known != out.end()) {
    ++known->uses;
    return;
  }
  for (const Scalar& arg : s.args) collect(arg, out);
  out.push_back({s});
}

using Early = std::function<bool(const Scalar&)>;

class Sharing {  // invariant: operations_ are all of the trees, operands before what uses them
 public:
  Sharing(std::span<const Scalar> trees, int operands, const Early& early)
      : operands_(operands), early_(early) {
    for (const Scalar& s : trees) collect(s, operations_);
    for (const Scalar& s : trees) out_.trees.push_back(shared(s, false));
  }
  Shared take() { return std::move(out_); }

 private:
  bool is_early(const Scalar& s) const {
    if (s.op == ScalarOp::constant) return true;
    if (is_leaf(s)) return early_(s);
    return std::all_of(s.args.begin(), s.args.end(), [&](const Scalar& a) { return is_early(a); });
  }

  // `inside`: of an operation that is early.
  Scalar shared(const Scalar& s, bool inside) {
    if (is_leaf(s)) return s;
    const auto of =
        static_cast<size_t>(std::find_if(operations_.begin(), operations_.end(),
                                         [&](const Operation& o) { return o.tree == s; }) -
                            operations_.begin());
    if (operations_[of].part >= 0) return read(operations_[of].part);
    Scalar out = s;
    const bool early = inside || (early_ && is_early(s));
    for (Scalar& arg : out.args) arg = shared(arg, early);
    if (operations_[of].uses < 2 && (inside || !early)) return out;
    operations_[of].part = operands_ + static_cast<int>(out_.parts.size());
    out_.parts.push_back(std::move(out));
    return read(operations_[of].part);
  }

  const int operands_;
  const Early& early_;
  std::vector<Operation> operations_;
  Shared out_;
};

}  // namespace

Scalar read(int operand) {
  Scalar s;
  s.op = ScalarOp::read;
  s.operand = operand;
  return s;
}

Scalar number(double value) {
  Scalar s;
  s.value = value;
  return s;
}

Scalar apply(ScalarOp op, std::vector<Scalar> args) {
  Scalar s;
  s.op = op;
  s.args = std::move(args);
  return s;
}

std::vector<Scalar> operations_in(std::span<const Scalar> trees) {
  std::vector<Operation> all;
  for (const Scalar& s : trees) collect(s, all);
  std::vector<Scalar> out;
  for (Operation& o : all) out.push_back(std::move(o.tree));
  return out;
}

Shared share_parts(std::span<const Scalar> trees, int operands,
                   const std::function<bool(const Scalar& leaf)>& early) {
  return Sharing(trees, operands, early).take();
}

}  // namespace assay::ir
