// LSTM, GRU and RNN as loops, with every option: what the importer's graphs are held against.
#pragma once

#include <cmath>
#include <functional>
#include <map>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {

using Values = std::vector<double>;
using Words = std::vector<std::string>;

struct Net {
  std::string op = "LSTM", direction = "forward";
  int64_t steps = 1, batch = 1, inputs = 1, hidden = 1;
  bool batch_first = false, bias = true, h0 = false, c0 = false, peepholes = false;
  bool input_forget = false, reset_after = false;
  double clip = 0;
  Words activations;
  Floats alpha, beta;
  Shape lengths;  // empty: none
  enum class Given {
    constant,
    at_run_time
  } lengths_are = Given::constant,
    weights_are = Given::constant;
  Words outputs = {"y", "yh", "yc"};

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
  size_t functions() const { return op == "LSTM" ? 3 : op == "GRU" ? 2 : 1; }
  bool is_lstm() const { return op == "LSTM"; }
};

// The operands' values, in ONNX's shapes with layout 0.
struct Operands {
  Floats x, w, r, b, h0, c0, p;
};

inline Operands random_operands(const Net& n, unsigned seed) {
  Random random(seed);
  const int64_t d = n.directions(), rows = n.gates() * n.hidden;
  return {random.floats({n.steps, n.batch, n.inputs}),
          random.floats({d, rows, n.inputs}),
          random.floats({d, rows, n.hidden}),
          random.floats({d, 2 * rows}),
          random.floats({d, n.batch, n.hidden}),
          random.floats({d, n.batch, n.hidden}),
          random.floats({d, 3 * n.hidden})};
}

// [a, b, c] -> [b, a, c]
inline Floats swapped(const Floats& from, int64_t a, int64_t b, int64_t c) {
  Floats to(from.size());
  for (int64_t i = 0; i < a; ++i)
    for (int64_t j = 0; j < b; ++j)
      for (int64_t k = 0; k < c; ++k)
        to[static_cast<size_t>((j * a + i) * c + k)] =
            from[static_cast<size_t>((i * b + j) * c + k)];
  return to;
}

inline ModelBuilder model_of(const Net& n, const Operands& o) {
  ModelBuilder m(14);
  const int64_t d = n.directions(), rows = n.gates() * n.hidden;
  Words from = {"x", "w", "r", "", "", "", "", ""};
  const bool first = n.batch_first;
  m.input("x", first ? Shape{n.batch, n.steps, n.inputs} : Shape{n.steps, n.batch, n.inputs},
          first ? swapped(o.x, n.steps, n.batch, n.inputs) : o.x);
  const auto add = [&](size_t place, const char* name, const Shape& shape, const Floats& values) {
    from[place] = name;
    if (n.weights_are == Net::Given::constant)
      m.weights(name, shape, values);
    else
      m.input(name, shape, values);
  };
  const auto add_state = [&](size_t place, const char* name, const Floats& values) {
    add(place, name, first ? Shape{n.batch, d, n.hidden} : Shape{d, n.batch, n.hidden},
        first ? swapped(values, d, n.batch, n.hidden) : values);
  };
  add(1, "w", {d, rows, n.inputs}, o.w);
  add(2, "r", {d, rows, n.hidden}, o.r);
  if (n.bias) add(3, "b", {d, 2 * rows}, o.b);
  if (n.h0) add_state(5, "h0", o.h0);
  if (n.c0) add_state(6, "c0", o.c0);
  if (n.peepholes) add(7, "p", {d, 3 * n.hidden}, o.p);
  if (!n.lengths.empty()) {
    from[4] = "lengths";
    if (n.lengths_are == Net::Given::constant)
      m.constant<int32_t>("lengths", {n.batch}, onnx::TensorProto::INT32,
                          {n.lengths.begin(), n.lengths.end()});
    else
      m.input("lengths", {n.batch}, {n.lengths.begin(), n.lengths.end()}, onnx::TensorProto::INT32);
  }
  while (from.back().empty()) from.pop_back();
  Words to = n.outputs;
  if (!n.is_lstm() && to.size() > 2) to.pop_back();
  NodeBuilder node = m.node(n.op.c_str(), from, to);
  for (const std::string& name : to)
    if (!name.empty()) m.output(name);
  node.set("hidden_size", n.hidden).set("direction", n.direction.c_str());
  if (first) node.set("layout", 1);
  if (n.clip > 0) node.set("clip", static_cast<float>(n.clip));
  if (n.input_forget) node.set("input_forget", 1);
  if (n.reset_after) node.set("linear_before_reset", 1);
  if (!n.activations.empty()) node.set("activations", n.activations);
  if (!n.alpha.empty()) node.set("activation_alpha", n.alpha);
  if (!n.beta.empty()) node.set("activation_beta", n.beta);
  return m;
}

// The functions of all directions, with the parameters that each takes from the lists.
using Function = std::function<double(double)>;
inline std::vector<Function> functions_of(const Net& n) {
  Words names = n.activations;
  const Words usual = n.is_lstm()     ? Words{"Sigmoid", "Tanh", "Tanh"}
                      : n.op == "GRU" ? Words{"Sigmoid", "Tanh"}
                                      : Words{"Tanh"};
  while (names.size() < usual.size() * static_cast<size_t>(n.directions()))
    names.insert(names.end(), usual.begin(), usual.end());
  size_t alphas = 0, betas = 0;
  const auto alpha = [&](double otherwise) {
    return alphas < n.alpha.size() ? static_cast<double>(n.alpha[alphas++]) : otherwise;
  };
  const auto beta = [&](double otherwise) {
    return betas < n.beta.size() ? static_cast<double>(n.beta[betas++]) : otherwise;
  };
  std::vector<Function> out;
  for (const std::string& name : names) {
    if (name == "Sigmoid") out.emplace_back([](double v) { return 1 / (1 + std::exp(-v)); });
    if (name == "Tanh") out.emplace_back([](double v) { return std::tanh(v); });
    if (name == "Relu") out.emplace_back([](double v) { return v > 0 ? v : 0; });
    if (name == "Softsign") out.emplace_back([](double v) { return v / (1 + std::abs(v)); });
    if (name == "Softplus") out.emplace_back([](double v) { return std::log1p(std::exp(v)); });
    if (name == "LeakyRelu")
      out.emplace_back([a = alpha(0.01)](double v) { return v < 0 ? a * v : v; });
    if (name == "ThresholdedRelu")
      out.emplace_back([a = alpha(1)](double v) { return v > a ? v : 0; });
    if (name == "Elu")
      out.emplace_back([a = alpha(1)](double v) { return v < 0 ? a * std::expm1(v) : v; });
    if (name == "Affine")
      out.emplace_back([a = alpha(1), b = beta(0)](double v) { return a * v + b; });
    if (name == "ScaledTanh")
      out.emplace_back([a = alpha(1), b = beta(1)](double v) { return a * std::tanh(b * v); });
    if (name == "HardSigmoid")
      out.emplace_back([a = alpha(0.2), b = beta(0.5)](double v) {
        return std::max(0.0, std::min(1.0, a * v + b));
      });
  }
  return out;
}

// One sequence of one direction, by ONNX's formulas.
class Walk {
 public:
  Walk(const Net& n, const Operands& o, int64_t d, int64_t b, const std::vector<Function>& all)
      : n_(n), o_(o), d_(d), b_(b) {
    for (size_t i = 0; i < n.functions(); ++i)
      f_.push_back(all[static_cast<size_t>(d) * n.functions() + i]);
    for (int64_t j = 0; j < n.hidden; ++j) {
      const auto at = static_cast<size_t>((d * n.batch + b) * n.hidden + j);
      h.push_back(n.h0 ? static_cast<double>(o.h0[at]) : 0);
      c.push_back(n.c0 ? static_cast<double>(o.c0[at]) : 0);
    }
  }

  void step(int64_t t) {
    if (n_.is_lstm())
      lstm(t);
    else if (n_.op == "GRU")
      gru(t);
    else
      rnn(t);
  }

  Values h, c;

 private:
  double from_x(int64_t t, int64_t row) const {
    double sum = 0;
    for (int64_t k = 0; k < n_.inputs; ++k)
      sum += at(o_.x, (t * n_.batch + b_) * n_.inputs + k) *
             at(o_.w, (d_ * n_.gates() * n_.hidden + row) * n_.inputs + k);
    return sum + (n_.bias ? at(o_.b, d_ * 2 * n_.gates() * n_.hidden + row) : 0);
  }
  double from_h(const Values& of, int64_t row) const {
    double sum = 0;
    for (int64_t k = 0; k < n_.hidden; ++k)
      sum += of[static_cast<size_t>(k)] *
             at(o_.r, (d_ * n_.gates() * n_.hidden + row) * n_.hidden + k);
    return sum + (n_.bias ? at(o_.b, (d_ * 2 + 1) * n_.gates() * n_.hidden + row) : 0);
  }
  double peephole(int64_t gate, int64_t j, const Values& of) const {
    return n_.peepholes ? at(o_.p, (d_ * 3 + gate) * n_.hidden + j) * of[static_cast<size_t>(j)]
                        : 0;
  }
  static double at(const Floats& v, int64_t i) {
    return static_cast<double>(v[static_cast<size_t>(i)]);
  }
  double clipped(double v) const {
    return n_.clip > 0 ? std::max(-n_.clip, std::min(n_.clip, v)) : v;
  }
  double sum(int64_t t, int64_t gate, int64_t j) const {
    return from_x(t, gate * n_.hidden + j) + from_h(h, gate * n_.hidden + j);
  }

  void lstm(int64_t t) {
    Values next_h(h), next_c(c);
    for (int64_t j = 0; j < n_.hidden; ++j) {
      const auto to = static_cast<size_t>(j);
      const double i = f_[0](clipped(sum(t, 0, j) + peephole(0, j, c)));
      const double f = n_.input_forget ? 1 - i : f_[0](clipped(sum(t, 2, j) + peephole(2, j, c)));
      next_c[to] = f * c[to] + i * f_[1](clipped(sum(t, 3, j)));
      const double o = f_[0](clipped(sum(t, 1, j) + peephole(1, j, next_c)));
      next_h[to] = o * f_[2](next_c[to]);
    }
    h = next_h;
    c = next_c;
  }

  void gru(int64_t t) {
    Values z, r, reset, next(h);
    for (int64_t j = 0; j < n_.hidden; ++j) {
      z.push_back(f_[0](clipped(sum(t, 0, j))));
      r.push_back(f_[0](clipped(sum(t, 1, j))));
      reset.push_back(r.back() * h[static_cast<size_t>(j)]);
    }
    for (int64_t j = 0; j < n_.hidden; ++j) {
      const auto to = static_cast<size_t>(j);
      const int64_t row = 2 * n_.hidden + j;
      const double rest = n_.reset_after ? r[to] * from_h(h, row) : from_h(reset, row);
      const double fresh = f_[1](clipped(from_x(t, row) + rest));
      next[to] = (1 - z[to]) * fresh + z[to] * h[to];
    }
    h = next;
  }

  void rnn(int64_t t) {
    Values next;
    for (int64_t j = 0; j < n_.hidden; ++j) next.push_back(f_[0](clipped(sum(t, 0, j))));
    h = next;
  }

  const Net& n_;
  const Operands& o_;
  int64_t d_, b_;
  std::vector<Function> f_;
};

// Y, Y_h, Y_c by name.
inline std::map<std::string, Values> reference(const Net& n, const Operands& o) {
  const std::vector<Function> functions = functions_of(n);
  const int64_t ds = n.directions();
  std::map<std::string, Values> out;
  out["y"].resize(static_cast<size_t>(n.steps * ds * n.batch * n.hidden));
  out["yh"].resize(static_cast<size_t>(ds * n.batch * n.hidden));
  out["yc"].resize(out["yh"].size());
  for (int64_t d = 0; d < ds; ++d)
    for (int64_t b = 0; b < n.batch; ++b) {
      Walk walk(n, o, d, b, functions);
      const int64_t length = n.lengths.empty() ? n.steps : n.lengths[static_cast<size_t>(b)];
      const bool back = n.direction == "reverse" || d == 1;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t t = back ? length - 1 - i : i;
        walk.step(t);
        for (int64_t j = 0; j < n.hidden; ++j) {
          const int64_t at = n.batch_first ? ((b * n.steps + t) * ds + d) * n.hidden + j
                                           : ((t * ds + d) * n.batch + b) * n.hidden + j;
          out["y"][static_cast<size_t>(at)] = walk.h[static_cast<size_t>(j)];
        }
      }
      for (int64_t j = 0; j < n.hidden; ++j) {
        const auto at =
            static_cast<size_t>((n.batch_first ? b * ds + d : d * n.batch + b) * n.hidden + j);
        out["yh"][at] = walk.h[static_cast<size_t>(j)];
        out["yc"][at] = walk.c[static_cast<size_t>(j)];
      }
    }
  return out;
}

inline void expect_right(const Net& n, unsigned seed = 1) {
  const Operands o = random_operands(n, seed);
  const ModelBuilder m = model_of(n, o);
  const std::vector<Values> found = m.run_all();
  const std::map<std::string, Values> want = reference(n, o);
  ASSERT_EQ(found.size(), static_cast<size_t>(m.model.graph().output_size()));
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string& name = m.model.graph().output(static_cast<int>(i)).name();
    SCOPED_TRACE(n.op + " " + name);
    expect_near(found[i], want.at(name), 1e-5);  // sums of biases are f32
  }
}

inline Net net(const char* op) {
  Net n;
  n.op = op;
  n.steps = 5;
  n.batch = 2;
  n.inputs = 3;
  n.hidden = 7;
  return n;
}

}  // namespace assay::import
