// What a loop kernel executes, counted from the kernel itself: vector instructions by kind and
// element accesses per buffer, over all groups and their waves. Exact, partial tiles included. A
// guarded load counts as executed; a load that compilers eliminate (lower/redundant_loads.h) does
// not.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"

namespace assay::lower {

struct AccessCount {          // per buffer of the kernel, instructions
  double vector_loads = 0;    // contiguous lanes
  double splats = 0;          // one element to all lanes; scalar loads when the width is 1
  double gathered_lanes = 0;  // lanes loaded one by one
  double vector_stores = 0;
  double scattered_lanes = 0;
  // A register of a fragment in all lanes, each at an address of its own.
  double fragment_loads = 0, fragment_stores = 0;
  // Runs of neighbours in all lanes (ir::Copy, ir::MoveRun).
  double run_loads = 0, run_stores = 0;
  // Fragments that a wave loads in runs.
  double wave_loads = 0;
  // Lines of opaque fragments: steps of the outermost dimension of their layout in memory.
  double line_loads = 0, line_stores = 0;
  bool operator==(const AccessCount&) const = default;
};

// Instructions of functions, counted in the polynomials of hw_profiles/dialects/cpp.yaml.
// | function | multiply-adds | others | beside |
// | exp      | 9             | 16     |        |
// | tanh     | 5             | 10     | an exp |
// | erf      | 13            | 7      | an exp |
inline constexpr double kExpInstructions = 25, kTanhInstructions = kExpInstructions + 15,
                        kErfInstructions = kExpInstructions + 20;

// The same in exponentials. A power is a call of libm for each lane, a logarithm and an
// exponential: 10 stands for vectors of 4 to 8.
inline constexpr double kTanhCost = kTanhInstructions / kExpInstructions,
                        kErfCost = kErfInstructions / kExpInstructions, kPowCost = 10;

// Simple operations that turn an element into a position: conversion, comparison, wrap from the
// end.
inline constexpr double kLocateCost = 3;

// Simple operations that put a number into its place of a register: it is extended, shifted and
// joined with the others.
inline constexpr double kInsertInstructions = 3;

struct Counts {
  double fma = 0;
  double simple = 0;      // add, sub, mul, max, min, neg, abs, compare, select, floor, ceil, round,
                          // conversions in registers
  double divide = 0;      // div, sqrt
  double math = 0;        // functions; an exponential is 1
  double iterations = 0;  // of all loops, copies included
  double branches = 0;    // conditions evaluated: If and guard
  double prefetches = 0;
  double barriers = 0;  // of a group, per wave
  double matrix = 0;    // matrix instructions; a program has one kind
  std::vector<AccessCount> buffers;
  bool operator==(const Counts&) const = default;

  double loads() const;  // load instructions; a gather is one per lane
  double stores() const;
};

Counts count(const ir::Kernel& kernel);

}  // namespace assay::lower
