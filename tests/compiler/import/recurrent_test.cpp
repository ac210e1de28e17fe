// LSTM, GRU and RNN against loops written here, with every option and combinations of them.
#include <cmath>
#include <functional>
#include <map>

#include "tests/compiler/import/model_builder.h"

namespace assay::import {
namespace {

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

Operands random_operands(const Net& n, unsigned seed) {
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
Floats swapped(const Floats& from, int64_t a, int64_t b, int64_t c) {
  Floats to(from.size());
  for (int64_t i = 0; i < a; ++i)
    for (int64_t j = 0; j < b; ++j)
      for (int64_t k = 0; k < c; ++k)
        to[static_cast<size_t>((j * a + i) * c + k)] =
            from[static_cast<size_t>((i * b + j) * c + k)];
  return to;
}

ModelBuilder model_of(const Net& n, const Operands& o) {
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
std::vector<Function> functions_of(const Net& n) {
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
std::map<std::string, Values> reference(const Net& n, const Operands& o) {
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

void expect_right(const Net& n, unsigned seed = 1) {
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

Net net(const char* op) {
  Net n;
  n.op = op;
  n.steps = 5;
  n.batch = 2;
  n.inputs = 3;
  n.hidden = 7;
  return n;
}

TEST(ImportRecurrent, PlainOnes) {
  for (const char* op : {"LSTM", "GRU", "RNN"})
    for (const char* direction : {"forward", "reverse", "bidirectional"})
      for (const bool batch_first : {false, true}) {
        Net n = net(op);
        n.direction = direction;
        n.batch_first = batch_first;
        expect_right(n);
        n.reset_after = true;
        n.h0 = n.c0 = true;
        if (n.op != "LSTM") n.c0 = false;
        expect_right(n, 2);
      }
}

TEST(ImportRecurrent, OfOneElementAndOneStep) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    Net n;
    n.op = op;
    expect_right(n);
    n.direction = "bidirectional";
    n.bias = false;
    expect_right(n);
  }
}

// More steps than one node joins.
TEST(ImportRecurrent, LongSequences) {
  for (const int64_t steps : {16, 17, 37, 257, 300}) {
    Net n = net("RNN");
    n.steps = steps;
    expect_right(n);
    n.direction = "bidirectional";
    n.batch_first = true;
    expect_right(n);
  }
}

TEST(ImportRecurrent, LengthsOfSequences) {
  for (const char* op : {"LSTM", "GRU", "RNN"})
    for (const auto given : {Net::Given::constant, Net::Given::at_run_time})
      for (const Shape& lengths : {Shape{5, 2, 3}, Shape{5, 5, 5}, Shape{2, 2, 2}, Shape{0, 1, 4},
                                   Shape{0, 0, 0}, Shape{1, 1, 1}}) {
        Net n = net(op);
        n.direction = "bidirectional";
        n.batch = 3;
        n.lengths = lengths;
        n.lengths_are = given;
        expect_right(n);
        n.h0 = n.c0 = true;
        n.c0 = n.is_lstm();
        n.batch_first = true;
        expect_right(n);
      }
}

TEST(ImportRecurrent, Peepholes) {
  Net n = net("LSTM");
  n.peepholes = true;
  expect_right(n);
  n.c0 = true;
  n.direction = "bidirectional";
  expect_right(n);
  n.input_forget = true;
  expect_right(n);
}

TEST(ImportRecurrent, ClipsWhatActivationsTake) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    Net n = net(op);
    n.clip = 0.3;
    n.h0 = true;
    expect_right(n);
    n.reset_after = true;
    expect_right(n);
  }
}

TEST(ImportRecurrent, ActivationsOfEachDirection) {
  Net n = net("LSTM");
  n.direction = "bidirectional";
  n.activations = {"HardSigmoid", "Tanh", "LeakyRelu", "Affine", "ScaledTanh", "Softsign"};
  n.alpha = {0.3F, 0.25F, 0.5F, 1.5F};  // Tanh and Softsign take none
  n.beta = {0.4F, 0.1F, 0.7F};
  expect_right(n);
  n.alpha.pop_back();  // the last has its default
  expect_right(n);
  Net g = net("GRU");
  g.activations = {"Sigmoid", "Softplus"};
  expect_right(g);
  Net l = net("LSTM");
  l.activations = {"Sigmoid", "Elu", "Relu"};
  expect_right(l);
  Net r = net("RNN");
  r.activations = {"ThresholdedRelu"};
  r.alpha = {0.1F};
  expect_right(r);
}

TEST(ImportRecurrent, AnySubsetOfOutputs) {
  for (unsigned set = 1; set < 8; ++set) {
    Net n = net("LSTM");
    n.outputs = {set & 1 ? "y" : "", set & 2 ? "yh" : "", set & 4 ? "yc" : ""};
    expect_right(n);
    if (set > 3) continue;
    n.op = "GRU";
    n.outputs.pop_back();
    expect_right(n);
  }
}

TEST(ImportRecurrent, RandomCombinations) {
  Random random(11);
  for (unsigned seed = 0; seed < 300; ++seed) {
    Net n;
    const auto coin = [&] { return random.pick({0, 1}) == 1; };
    n.op = seed % 3 == 0 ? "LSTM" : seed % 3 == 1 ? "GRU" : "RNN";
    const int64_t direction = random.pick({0, 1, 2});
    n.direction = direction == 0 ? "forward" : direction == 1 ? "reverse" : "bidirectional";
    n.steps = random.pick({1, 2, 3, 7});
    n.batch = random.pick({1, 2, 3});
    n.inputs = random.pick({1, 4, 5});
    n.hidden = random.pick({1, 3, 8});
    n.batch_first = coin();
    n.bias = coin();
    n.h0 = coin();
    n.c0 = n.is_lstm() && coin();
    n.peepholes = n.is_lstm() && coin();
    n.input_forget = n.is_lstm() && coin();
    n.reset_after = n.op == "GRU" && coin();
    n.clip = coin() ? 0.5 : 0;
    n.weights_are = coin() ? Net::Given::constant : Net::Given::at_run_time;
    n.lengths_are = coin() ? Net::Given::constant : Net::Given::at_run_time;
    if (coin())
      for (int64_t b = 0; b < n.batch; ++b)
        n.lengths.push_back(
            static_cast<int64_t>(random.engine() % static_cast<unsigned>(n.steps + 1)));
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_right(n, seed);
    if (testing::Test::HasFailure()) return;
  }
}

// States of zeros need no products, and whole operands that are constant fold.
TEST(ImportRecurrent, ZerosAreNoState) {
  Net n = net("LSTM");
  Operands o = random_operands(n, 1);
  const size_t plain = model_of(n, o).import()->nodes.size();
  n.h0 = n.c0 = true;
  o.h0.assign(o.h0.size(), 0);
  o.c0.assign(o.c0.size(), 0);
  EXPECT_EQ(model_of(n, o).import()->nodes.size(), plain);
}

// One product of all inputs per direction, three nodes per step, and few reads per node.
TEST(ImportRecurrent, NodesAreFew) {
  Net n = net("LSTM");
  n.direction = "bidirectional";
  n.steps = 100;
  const Result<ir::Graph> g = model_of(n, random_operands(n, 1)).import();
  ASSERT_TRUE(g.ok()) << render(g.diags());
  size_t whole = 0, of_steps = 0, most_reads = 0;
  for (const ir::Node& node : g->nodes) {
    const bool product = node.op == "matmul", inputs = product && node.axes[0].extent == 200;
    whole += inputs ? 1 : 0;
    of_steps += product && !inputs ? 1 : 0;
    most_reads = std::max(most_reads, node.reads.size());
  }
  EXPECT_EQ(whole, 2u);
  EXPECT_EQ(of_steps, 2u * 99);  // the first has no state
  EXPECT_LE(g->nodes.size(), 2u * 300 + 30);
  EXPECT_LE(most_reads, 16u);
}

std::string fault_of(const std::function<void(Net&)>& change,
                     const std::function<void(ModelBuilder&)>& damage = {}) {
  Net n = net("LSTM");
  change(n);
  ModelBuilder m = model_of(n, random_operands(n, 1));
  if (damage) damage(m);
  return m.faults();
}

void expect_said(const std::string& said, const std::string& part) {
  EXPECT_NE(said.find(part), std::string::npos) << said;
}

TEST(ImportRecurrent, TooManyStepsAreRefused) {
  expect_said(fault_of([](Net& n) { n.steps = 3334; }),
              "node make_y (LSTM, output y): its 3334 time steps, 3 nodes each, take 10002 nodes; "
              "at most 10000 nodes of a model are unrolled\nhint: shorter sequences");
  Net n = net("RNN");
  n.steps = 3000;
  n.hidden = n.inputs = 1;
  ModelBuilder m = model_of(n, random_operands(n, 1));
  m.node("RNN", {"x", "w", "r"}, {"z"});
  EXPECT_NE(m.faults().find("(RNN, output z): its 3000 time steps, 2 nodes each, take 6000 nodes, "
                            "with 6000 of operators before it"),
            std::string::npos)
      << m.faults();
}

TEST(ImportRecurrent, WhatDoesNotFitIsRefused) {
  expect_said(
      fault_of([](Net& n) { n.direction = "sideways"; }),
      "direction sideways is not known\nhint: there are forward, reverse and bidirectional");
  expect_said(fault_of([](Net& n) { n.activations = {"Tanh"}; }), "1 activations, expected 3");
  expect_said(fault_of([](Net& n) {
                n.activations = {"Tanh", "Frob", "Tanh"};
              }),
              "activation Frob is not known");
  expect_said(fault_of([](Net& n) {
                n.lengths = {5, 6};
              }),
              "sequence_lens [5, 6] must be from 0 to the 5 time steps of X");
  const auto dims = [](int initialiser, int dim, int64_t extent) {
    return [=](ModelBuilder& m) {
      m.model.mutable_graph()
          ->mutable_input(initialiser)
          ->mutable_type()
          ->mutable_tensor_type()
          ->mutable_shape()
          ->mutable_dim(dim)
          ->set_dim_value(extent);
    };
  };
  const auto at_run_time = [](Net& n) { n.weights_are = Net::Given::at_run_time; };
  expect_said(fault_of(at_run_time, dims(1, 2, 4)),
              "W has the shape [1, 28, 4], expected [1, 28, 3]");
  expect_said(fault_of(at_run_time, dims(3, 1, 4)), "B has the shape [1, 4], expected [1, 56]");
  const auto attribute = [](const char* name, int value) {
    return [=](ModelBuilder& m) {
      for (onnx::AttributeProto& a : *m.model.mutable_graph()->mutable_node(0)->mutable_attribute())
        if (a.name() == name) a.set_i(value);
    };
  };
  expect_said(fault_of([](Net&) {}, attribute("hidden_size", 8)), "hidden_size is 8, R has 7");
  expect_said(fault_of([](Net&) {},
                       [](ModelBuilder& m) {
                         onnx::AttributeProto* a =
                             m.model.mutable_graph()->mutable_node(0)->add_attribute();
                         a->set_name("clip");
                         a->set_type(onnx::AttributeProto::FLOAT);
                         a->set_f(-1);
                       }),
              "clip is -1, expected a positive number");
}

}  // namespace
}  // namespace assay::import
