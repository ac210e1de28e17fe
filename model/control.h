// Issue slots: what counted operations take together with the instructions that compilers put
// beside them, and what loops and conditions add: counting, comparing, jumping.
#pragma once

namespace assay::model {

// As a program is counted; lanes that lie apart one by one, but for each vector's first.
struct Instructions {
  double operations = 0, divisions = 0, functions = 0;
  double loads = 0, stores = 0, gathered = 0, scattered = 0, prefetches = 0;
  double operands =
      0;  // of the loads, those that one operation needs and no other (model/operands)
  double iterations = 0;  // of all loops
  double branches = 0;    // conditions evaluated

  // But for those of loops and conditions.
  double written() const {
    return operations + divisions + functions + loads + stores + gathered + scattered + prefetches;
  }
};

// Copies of staged operands, which stand apart from what computes: whole vectors loaded and stored,
// and lanes that are put together or taken apart one by one on the way.
struct Copying {
  double loads = 0, stores = 0, gathered = 0, scattered = 0;
};

// Of a core. An operand that one operation needs comes with it from memory; stores bring addresses
// and what becomes of the value with them. Assumed, fitted to the times of 4000 programs of 40
// operators on one x86 core, in a quiet hour and through two kernel languages: with numbers of
// three quarters of the operators those of the rest are as far off. Operations and loads are about
// as many as were counted in the machine code that g++ made of such programs (1.1 each), iterations
// fewer (1.7: they go on beside the rest), stores, lanes that lie apart and functions more. Where
// no operation takes an operand from memory this is too few.
double core_slots(const Instructions& i);
double copy_slots(const Copying& c);  // the same; positions in a copy go on by what its loops add

// Of a unit that issues for waves of threads. Fetching starts anew behind a jump that is taken, at
// no better than the start of an issue group, so that on average half a group is lost with each.
// Source: the front-end models of instruction-level analysers (llvm-mca, uiCA). `partial_sums`:
// accumulators go to memory and back. Assumed.
double wave_slots(const Instructions& i, bool partial_sums, double group);

}  // namespace assay::model
