// LSTM, GRU and RNN against loops, with every option and combinations of them.
#include "tests/compiler/import/recurrent_reference.h"

namespace assay::import {
namespace {

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
