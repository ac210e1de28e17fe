// What a simulated chip does besides what its profile says, read from `assay/virtual/1`:
//
//   schema: assay/virtual/1
//   profile: generic/x86-avx512-2core     # a name of the library, or a file beside this one
//   noise: 0.02                           # and the rest of docs/virtual.md
//
// Reading is strict: what is not known here is an error with its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace assay::runtime::simulated {

enum class Replacement { lru, plru, random };
enum class FaultKind { none, error, crash, hang, lies };

struct Fault {
  FaultKind kind = FaultKind::none;
  double at =
      1;  // a whole number: that run of the device, counted from 1; below 1: a probability per run
};

struct Effects {
  std::string profile;
  double noise = 0;  // relative sigma of a launch's time
  uint64_t seed = 1;
  double throttle_after = 0;  // seconds of work; 0: never
  double throttle_to = 1;     // of the clock
  double ramp_from = 1;       // of the clock, when a module is new
  double ramp_over = 0;       // seconds of work until the clock is whole
  bool prefetch = true;       // on chips of vectors
  bool hash = false;          // sets are chosen by a hash of the address
  std::string victim;         // a cache that holds only what the one before it gave up
  Replacement replacement = Replacement::lru;
  Fault fault;
};

Result<Effects> parse_effects(std::string_view text, std::string_view file);

}  // namespace assay::runtime::simulated
