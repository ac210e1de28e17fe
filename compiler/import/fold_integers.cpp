#include "compiler/import/fold_integers.h"

#include <algorithm>

#include "compiler/import/context.h"
#include "ir/apply_kind.h"
#include "ir/element.h"

namespace assay::import {
namespace {

using ir::Scalar;
using ir::ScalarOp;

int64_t wrap(uint64_t v) { return static_cast<int64_t>(v); }
uint64_t bits(int64_t v) { return static_cast<uint64_t>(v); }

int64_t divide(int64_t a, int64_t b) {
  if (b == 0) refuse("an integer division by zero");
  return b == -1 ? wrap(-bits(a)) : a / b;
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return divide(1, exponent == -1 ? base : std::abs(base) == 1 ? base * base : base == 0 ? 0 : 2);
  uint64_t result = 1, factor = bits(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor)
    if (exponent & 1) result *= factor;
  return wrap(result);
}

int64_t whole(double v) { return static_cast<int64_t>(std::clamp(v, -9e18, 9e18)); }

class Folder {  // invariant: at_ is the current point, one value per axis of the node
 public:
  explicit Folder(const ir::Graph& g)
      : g_(g), n_(g.nodes[0]), axes_(ir::term_axes(n_)), at_(n_.axes.size(), 0) {
    for (const ir::Read& r : n_.reads) values_.push_back(integers(r.tensor));
  }

  std::vector<std::byte> run() {
    const ir::Tensor& out = g_.tensors[static_cast<size_t>(n_.output)];
    const std::vector<int64_t> values = ir::is_expression(n_) ? expression() : kind();
    const size_t size = static_cast<size_t>(ir::bytes_of(out.dtype));
    std::vector<std::byte> bytes(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i)
      ir::store_integer(out.dtype, bytes.data() + i * size, values[i]);
    return bytes;
  }

 private:
  std::vector<int64_t> expression() {
    const ir::Tensor& out = g_.tensors[static_cast<size_t>(n_.output)];
    std::vector<int64_t> values(static_cast<size_t>(ir::elements(out)), start());
    const size_t inner =
        static_cast<size_t>(ir::points_of(n_)) / values.size();  // reduce axes are last
    for (int64_t& v : values)
      for (size_t i = 0; i < inner; ++i, advance()) v = combine(v, eval(n_.body));
    return values;
  }

  std::vector<int64_t> kind() {
    ir::Terms<int64_t> terms;
    terms.shape = g_.tensors[static_cast<size_t>(n_.output)].shape;
    terms.values = at_each_point([&] { return eval(n_.body); });
    if (const auto* scatter = std::get_if<ir::Scatter>(&n_.kind)) {
      terms.initial = values_[static_cast<size_t>(scatter->initial)];
      for (const ir::Position& p : scatter->positions) {
        auto& to = terms.positions.emplace_back();
        for (const int64_t at : at_each_point([&] { return read(p.read); }))
          to.push_back(
              ir::position_of(static_cast<double>(at), terms.shape[static_cast<size_t>(p.dim)]));
      }
    }
    return ir::apply_kind(n_, terms, start(), [&](int64_t a, int64_t b) { return combine(a, b); });
  }

  template <class Value>
  std::vector<int64_t> at_each_point(const Value& value) {
    std::vector<int64_t> out(static_cast<size_t>(ir::points_of(n_)));
    for (int64_t& v : out) {
      v = value();
      advance();
    }
    return out;
  }

  std::vector<int64_t> integers(int tensor) const {
    const ir::Tensor& t = g_.tensors[static_cast<size_t>(tensor)];
    const std::vector<std::byte>& bytes = g_.constants[static_cast<size_t>(t.constant)].bytes;
    const size_t size = static_cast<size_t>(ir::bytes_of(t.dtype));
    std::vector<int64_t> values(bytes.size() / size);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = ir::load_integer(t.dtype, bytes.data() + i * size);
    return values;
  }

  void advance() {
    for (size_t axis = at_.size(); axis-- > 0;) {
      if (++at_[axis] < axes_[axis].extent) return;
      at_[axis] = 0;
    }
  }

  int64_t start() const {
    if (n_.combine == ir::Combiner::max) return INT64_MIN;
    if (n_.combine == ir::Combiner::min) return INT64_MAX;
    return n_.combine == ir::Combiner::product ? 1 : 0;
  }

  int64_t combine(int64_t a, int64_t b) const {
    switch (n_.combine) {
      case ir::Combiner::none:
        return b;
      case ir::Combiner::sum:
        return wrap(bits(a) + bits(b));
      case ir::Combiner::product:
        return wrap(bits(a) * bits(b));
      case ir::Combiner::max:
        return std::max(a, b);
      case ir::Combiner::min:
        return std::min(a, b);
    }
    return b;
  }

  int64_t read(int operand) const {
    const ir::Read& r = n_.reads[static_cast<size_t>(operand)];
    const Shape& shape = g_.tensors[static_cast<size_t>(r.tensor)].shape;
    size_t flat = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t i = ir::evaluate(r.index[d], at_);
      if (r.lookup && r.lookup->dim == static_cast<int>(d))
        i = ir::position_of(static_cast<double>(read(r.lookup->read)), shape[d]).value_or(-1);
      if (i < 0 || i >= shape[d]) return whole(r.fill);
      flat = flat * static_cast<size_t>(shape[d]) + static_cast<size_t>(i);
    }
    return values_[static_cast<size_t>(operand)][flat];
  }

  int64_t eval(const Scalar& s) const {
    const auto arg = [&](size_t i) { return eval(s.args[i]); };
    switch (s.op) {
      case ScalarOp::read:
        return read(s.operand);
      case ScalarOp::constant:
        return whole(s.value);
      case ScalarOp::axis:
        return at_[static_cast<size_t>(s.operand)];
      case ScalarOp::add:
        return wrap(bits(arg(0)) + bits(arg(1)));
      case ScalarOp::sub:
        return wrap(bits(arg(0)) - bits(arg(1)));
      case ScalarOp::mul:
        return wrap(bits(arg(0)) * bits(arg(1)));
      case ScalarOp::div:
        return divide(arg(0), arg(1));
      case ScalarOp::max:
        return std::max(arg(0), arg(1));
      case ScalarOp::min:
        return std::min(arg(0), arg(1));
      case ScalarOp::pow:
        return power(arg(0), arg(1));
      case ScalarOp::neg:
        return wrap(-bits(arg(0)));
      case ScalarOp::abs:
        return arg(0) < 0 ? wrap(-bits(arg(0))) : arg(0);
      case ScalarOp::floor:
      case ScalarOp::ceil:
      case ScalarOp::round:
        return arg(0);
      case ScalarOp::less:
        return arg(0) < arg(1);
      case ScalarOp::equal:
        return arg(0) == arg(1);
      case ScalarOp::select:
        return arg(0) != 0 ? arg(1) : arg(2);
      default:
        refuse("this operation is not defined on integers");
    }
  }

  const ir::Graph& g_;
  const ir::Node& n_;
  const std::vector<ir::Axis> axes_;  // of its terms
  std::vector<int64_t> at_;
  std::vector<std::vector<int64_t>> values_;
};

}  // namespace

std::vector<std::byte> fold_integers(const ir::Graph& g) { return Folder(g).run(); }

}  // namespace assay::import
