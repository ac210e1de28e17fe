#include "ir/evaluate_body.h"

#include <algorithm>
#include <cmath>

namespace assay::ir {
namespace {

template <class F>
void map1(double* a, size_t n, F f) {
  for (size_t i = 0; i < n; ++i) a[i] = f(a[i]);
}

template <class F>
void map2(double* a, const double* b, size_t n, F f) {
  for (size_t i = 0; i < n; ++i) a[i] = f(a[i], b[i]);
}

// `a` is the first argument and the result; each further argument is kChunk elements after it.
void apply(ScalarOp op, double* a, size_t n) {
  const double* b = a + kChunk;
  const double* c = b + kChunk;
  switch (op) {
    case ScalarOp::read:
    case ScalarOp::constant:
    case ScalarOp::axis:
      return;
    case ScalarOp::add:
      return map2(a, b, n, [](double x, double y) { return x + y; });
    case ScalarOp::sub:
      return map2(a, b, n, [](double x, double y) { return x - y; });
    case ScalarOp::mul:
      return map2(a, b, n, [](double x, double y) { return x * y; });
    case ScalarOp::div:
      return map2(a, b, n, [](double x, double y) { return x / y; });
    case ScalarOp::max:
      return map2(a, b, n, [](double x, double y) { return x > y || std::isnan(x) ? x : y; });
    case ScalarOp::min:
      return map2(a, b, n, [](double x, double y) { return x < y || std::isnan(x) ? x : y; });
    case ScalarOp::pow:
      return map2(a, b, n, [](double x, double y) { return std::pow(x, y); });
    case ScalarOp::neg:
      return map1(a, n, [](double x) { return -x; });
    case ScalarOp::abs:
      return map1(a, n, [](double x) { return std::fabs(x); });
    case ScalarOp::exp:
      return map1(a, n, [](double x) { return std::exp(x); });
    case ScalarOp::log:
      return map1(a, n, [](double x) { return std::log(x); });
    case ScalarOp::sqrt:
      return map1(a, n, [](double x) { return std::sqrt(x); });
    case ScalarOp::tanh:
      return map1(a, n, [](double x) { return std::tanh(x); });
    case ScalarOp::erf:
      return map1(a, n, [](double x) { return std::erf(x); });
    case ScalarOp::floor:
      return map1(a, n, [](double x) { return std::floor(x); });
    case ScalarOp::ceil:
      return map1(a, n, [](double x) { return std::ceil(x); });
    case ScalarOp::round:
      return map1(a, n, [](double x) { return std::nearbyint(x); });
    case ScalarOp::less:
      return map2(a, b, n, [](double x, double y) { return x < y ? 1.0 : 0.0; });
    case ScalarOp::equal:
      return map2(a, b, n, [](double x, double y) { return x == y ? 1.0 : 0.0; });
    case ScalarOp::select:
      for (size_t i = 0; i < n; ++i) a[i] = a[i] != 0 ? b[i] : c[i];
      return;
  }
}

}  // namespace

double combined(Combiner c, double a, double b) {
  switch (c) {
    case Combiner::none:
      return b;
    case Combiner::sum:
      return a + b;
    case Combiner::product:
      return a * b;
    case Combiner::max:
      return a > b || std::isnan(a) ? a : b;
    case Combiner::min:
      return a < b || std::isnan(a) ? a : b;
  }
  return b;
}

BodyProgram::BodyProgram(const Scalar& body) {
  flatten(body, 0);
  stack_.resize((depth_ + 2) * kChunk);  // `apply` forms the addresses of two further arguments
}

void BodyProgram::flatten(const Scalar& s, size_t base) {
  depth_ = std::max(depth_, base + 1);
  for (size_t i = 0; i < s.args.size(); ++i) flatten(s.args[i], base + i);
  steps_.push_back({s.op, s.operand, s.value, base});
}

const double* BodyProgram::run(BodySource& source, int64_t first, size_t count) {
  for (const Step& step : steps_) {
    double* at = stack_.data() + step.base * kChunk;
    switch (step.op) {
      case ScalarOp::read:
        source.fetch(step.operand, first, count, at);
        break;
      case ScalarOp::axis:
        source.axis(step.operand, first, count, at);
        break;
      case ScalarOp::constant:
        std::fill_n(at, count, step.value);
        break;
      default:
        apply(step.op, at, count);
    }
  }
  return stack_.data();
}

}  // namespace assay::ir
