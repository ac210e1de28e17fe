// A correction of the model on one device, fitted to a validation's times. Each class of operators
// has a factor for estimates and two for the width of intervals. It is a file beside the profile,
// never part of it, and the compiler does not use it.
//
//   schema: assay/calibration/1
//   name: amd-epyc            of the profile
//   profile: 0b5c...          its hash
//   api: cpp
//   device: cpu:0
//   data: {hash: 77ae..., programs: 1274, operators: 40}
//   classes:
//     any: {factor: 1.04, below: 0.92, above: 1.31, programs: 1274, operators: 40}
//     matmul: {factor: 1.11, below: 0.85, above: 1.12, programs: 320, operators: 10}
//
// A class is the `op` of a program's first node. `below` and `above` multiply the logarithm of
// end / estimate of the interval's two ends.
//
// Rejected: a factor per term is unbounded on operators that were not fitted. A factor per operator
// does not transfer to another one. Classes by bound or by length have too few programs each.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "ir/program.h"
#include "model/estimate.h"
#include "support/result.h"

namespace assay::toolkit {

struct Correction {
  double factor = 1;            // estimate -> calibrated estimate
  double below = 1, above = 1;  // of the logarithms of the interval's ends
  int programs = 0, operators = 0;
  bool operator==(const Correction&) const = default;
};

inline constexpr const char* kAnyClass = "any";

struct Calibration {
  std::string name, profile, api, device;  // `profile`: hash of the validated one
  std::string data;                        // hash of the times
  int programs = 0, operators = 0;
  std::map<std::string, Correction> classes;  // kAnyClass is always there
  bool operator==(const Calibration&) const = default;
};

// Seconds and both ends of their interval.
struct Span {
  double seconds = 0, low = 0, high = 0;
};

std::string class_of(const ir::Program& p);

Span calibrated(const Calibration& c, const std::string& class_name, const model::Estimate& e);

// Of consecutive steps. Errors are assumed to be common to all, which gives the widest interval.
Span sum_of(std::span<const Span> steps);

std::string print_calibration(const Calibration& c);

// Errors: not such a file; a missing, unknown or invalid entry; each with its place.
Result<Calibration> parse_calibration(std::string_view text, std::string_view file);
Result<Calibration> load_calibration(const std::string& path);

}  // namespace assay::toolkit
