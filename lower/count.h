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
  bool operator==(const AccessCount&) const = default;
};

// Costs of functions in exponentials, by the polynomials of the dialects. tanh and erf are an
// exponential and two polynomials; a power is a logarithm and an exponential, lane by lane in libm.
inline constexpr double kTanhCost = 1.5, kErfCost = 2.2, kPowCost = 8;

// Simple operations that turn an element into a position: conversion, comparison, wrap from the
// end.
inline constexpr double kLocateCost = 3;

struct Counts {
  double fma = 0;
  double simple = 0;      // add, sub, mul, max, min, neg, abs, compare, select, floor, ceil
  double divide = 0;      // div, sqrt
  double math = 0;        // functions; an exponential is 1
  double iterations = 0;  // of all loops, copies included
  double branches = 0;    // conditions evaluated: If and guard
  double prefetches = 0;
  double barriers = 0;  // of a group, per wave
  std::vector<AccessCount> buffers;
  bool operator==(const Counts&) const = default;

  double loads() const;  // load instructions; a gather is one per lane
  double stores() const;
};

Counts count(const ir::Kernel& kernel);

}  // namespace assay::lower
