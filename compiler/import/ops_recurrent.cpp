// LSTM, GRU and RNN: what one step computes of the gates.
#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"
#include "compiler/import/recurrent.h"

namespace assay::import {
namespace {

using ir::number;
using ir::Scalar;

// ONNX's order of gates, and of peepholes, which the last has not.
enum LstmGate { kInput, kOutput, kForget, kCell };
enum GruGate { kUpdate, kReset, kHidden };
// Of activations: f for gates, g for what is new, h for what LSTM gives.
enum Function { kF, kG, kH };

// gate + peephole * c
Scalar lstm_gate(StepExpression& e, const Recurrence& r, int product, LstmGate gate, int c) {
  Scalar sum = e.gate(gate, product, gate);
  if (r.peepholes < 0 || c < 0) return sum;
  return add(std::move(sum), mul(e.parameter(r.peepholes, gate), e.state(c)));
}

// c = forget * c + input * new;  h = output * activated(c)
State lstm_step(Context& c, const Recurrence& r, int64_t time, State before) {
  const int product = recurrent_product(c, r, time, before.h);
  StepExpression cell(r, time);
  const Scalar input = cell.activated(kF, lstm_gate(cell, r, product, kInput, before.c));
  Scalar body = mul(input, cell.activated(kG, cell.gate(kCell, product, kCell)));
  if (before.c >= 0) {
    Scalar forget = r.input_forget
                        ? sub(number(1), input)
                        : cell.activated(kF, lstm_gate(cell, r, product, kForget, before.c));
    body = add(mul(std::move(forget), cell.state(before.c)), std::move(body));
  }
  State now;
  now.c = cell.emit_state(c, std::move(body), before.c, "c");
  StepExpression hidden(r, time);
  Scalar output = hidden.activated(kF, lstm_gate(hidden, r, product, kOutput, now.c));
  body = mul(std::move(output), activated(r.activations[kH], hidden.state(now.c)));
  now.h = hidden.emit_state(c, std::move(body), before.h, "h");
  return now;
}

Scalar gru_gate(StepExpression& e, int product, GruGate gate) {
  return e.activated(kF, e.gate(gate, product, gate));
}

// (1 - update) * fresh + update * h
int gru_state(Context& c, StepExpression& e, int product, Scalar fresh, int before) {
  const Scalar update = gru_gate(e, product, kUpdate);
  Scalar body = mul(sub(number(1), update), e.activated(kG, std::move(fresh)));
  if (before >= 0) body = add(std::move(body), mul(update, e.state(before)));
  return e.emit_state(c, std::move(body), before, "h");
}

// fresh = g(x W^T + (reset * h) R^T + bias)
State gru_step(Context& c, const Recurrence& r, int64_t time, State before) {
  const int product = recurrent_product(c, r, time, before.h);
  int rest = -1;
  if (before.h >= 0) {
    StepExpression reset(r, time);
    Scalar body = mul(gru_gate(reset, product, kReset), reset.state(before.h));
    rest = recurrent_product(c, r, time, reset.emit(c, std::move(body), "reset"), 1);
  }
  StepExpression e(r, time);
  return {gru_state(c, e, product, e.gate(kHidden, rest, 0), before.h), -1};
}

// fresh = g(x W^T + bias of W + reset * (h R^T + bias of R))
State gru_step_after(Context& c, const Recurrence& r, int64_t time, State before) {
  const int product = recurrent_product(c, r, time, before.h);
  StepExpression e(r, time);
  Scalar rest = product >= 0 ? e.product(product, kHidden) : number(0);
  if (r.bias >= 0) rest = add(std::move(rest), e.parameter(r.bias, r.gates + kHidden));
  Scalar fresh = e.gate(kHidden, -1, 0);
  if (product >= 0 || r.bias >= 0)
    fresh = add(std::move(fresh), mul(gru_gate(e, product, kReset), std::move(rest)));
  return {gru_state(c, e, product, std::move(fresh), before.h), -1};
}

State rnn_step(Context& c, const Recurrence& r, int64_t time, State before) {
  const int product = recurrent_product(c, r, time, before.h);
  StepExpression e(r, time);
  return {e.emit_state(c, e.activated(kF, e.gate(0, product, 0)), before.h, "h"), -1};
}

}  // namespace

void import_lstm(Context& c) {
  import_recurrence(c, {.gates = 4,
                        .products = {4},
                        .activations = {"Sigmoid", "Tanh", "Tanh"},
                        .nodes = 3,
                        .with_cell = true,
                        .step = lstm_step});
}

void import_gru(Context& c) {
  const bool after = c.int_attribute("linear_before_reset", 0) != 0;
  import_recurrence(c, {.gates = 3,
                        .products = after ? Shape{3} : Shape{2, 1},
                        .activations = {"Sigmoid", "Tanh"},
                        .nodes = after ? 2 : 4,
                        .adds_last = !after,
                        .step = after ? gru_step_after : gru_step});
}

void import_rnn(Context& c) {
  import_recurrence(
      c, {.gates = 1, .products = {1}, .activations = {"Tanh"}, .nodes = 2, .step = rnn_step});
}

}  // namespace assay::import
