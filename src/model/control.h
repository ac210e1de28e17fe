// Issue slots: what counted operations take together with the instructions that compilers put beside them, and what loops and
// conditions add: counting, comparing, jumping.
#pragma once

namespace assay::model {

// As a program is counted; lanes that lie apart one by one, but for each vector's first.
struct Instructions {
  double operations = 0, divisions = 0, functions = 0;
  double loads = 0, stores = 0, gathered = 0, scattered = 0, prefetches = 0;
  double copied = 0;      // stores beside these, of what was just loaded
  double iterations = 0;  // of all loops
  double branches = 0;    // conditions evaluated
};

// Of a core. An operand that one operation needs comes with it from memory; stores bring addresses
// and what becomes of the value with them. Counted in the machine code that g++ made of 2500 programs of 40 operators, of which
// this is 20 % off on average; cores issue two thirds as many as they could where nothing else holds them up.
double core_slots(const Instructions& i);

// Of a unit that issues for waves of threads. Fetching starts anew behind a jump that is taken, at no better than the start of an
// issue group, so that on average half a group is lost with each. Source: the front-end models of instruction-level analysers
// (llvm-mca, uiCA). `partial_sums`: accumulators go to memory and back. Assumed.
double wave_slots(const Instructions& i, bool partial_sums, double group);

}  // namespace assay::model
