// LSTM, GRU and RNN, unrolled over time: what they share.
//
//   state[t] = step(x[t] W^T + bias, h[t - 1] R^T, state[t - 1])
//
// The products with W are one node for all steps, since they do not wait for a state. Those with R
// are one node per step. What follows them reads each gate at its own place, so that a tile of the
// state needs the same tile of each gate.
//
// A sequence that is shorter than the others keeps its state from its end on, and Y is 0 there. In
// reverse, it begins at its own end. Source: ONNX's definitions of the operators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/compose.h"
#include "compiler/import/context.h"

namespace assay::import {

// Tensors of [batch, hidden]; -1: zeros.
struct State {
  int h = -1, c = -1;
};

// One direction of the current node.
struct Recurrence {
  int64_t steps = 1, batch = 1, hidden = 1, gates = 1;
  bool batch_first = false, reverse = false, input_forget = false;
  int inputs = -1;             // x W^T + bias: [steps * batch, gates * hidden], in the order of x
  std::vector<int> recurrent;  // parts of R: [gates of the part, hidden, hidden]
  int bias = -1;               // [2 * gates * hidden], those of W first; -1: none
  int peepholes = -1;          // [3 * hidden]; -1: none
  std::vector<Activation> activations;
  double clip = 0;  // of what activations take; 0: none
  // Of the sequences, [batch]; -1: all have `steps`. The least and the most that are known.
  int lengths = -1;
  int64_t least = 1, most = 1;
};

using Step = State (*)(Context&, const Recurrence&, int64_t time, State before);

struct Cell {
  int64_t gates = 1;
  std::vector<int64_t> products;         // with R per step: their numbers of gates
  std::vector<std::string> activations;  // ONNX's defaults
  int64_t nodes = 2;                     // per step, at most
  bool with_cell = false;                // is there a state c, and are there peepholes?
  bool adds_last = true;                 // the bias of R for the last gate to the products with W
  Step step = nullptr;
};

// Reads the current node's operands, runs the steps and binds the outputs.
void import_recurrence(Context& c, const Cell& cell);

// h R^T for part `number` of R: [batch, its gates, hidden]. Without h: -1.
int recurrent_product(Context& c, const Recurrence& r, int64_t time, int h, size_t number = 0);

// An expression over [batch, hidden] at one step, made read by read.
class StepExpression {  // invariant: equal reads are there once
 public:
  StepExpression(const Recurrence& r, int64_t time) : r_(r), time_(time) {}

  ir::Scalar state(int tensor);                     // -1: 0
  ir::Scalar parameter(int tensor, int64_t place);  // at place * hidden + the point's
  ir::Scalar product(int tensor, int64_t place);    // of recurrent_product
  // Of x W^T + bias, and of a recurrent_product; -1: none.
  ir::Scalar gate(int64_t number, int product, int64_t place);
  // Activation `function` of x, which is clipped.
  ir::Scalar activated(size_t function, ir::Scalar x) const;

  // A state that is `before` from the end of a sequence on.
  int emit_state(Context& c, ir::Scalar body, int before, const std::string& name);
  int emit(Context& c, ir::Scalar body, const std::string& name);

 private:
  ir::Scalar read(int tensor, std::vector<ir::Index> at);

  const Recurrence& r_;
  int64_t time_;
  std::vector<ir::Read> reads_;
};

}  // namespace assay::import
