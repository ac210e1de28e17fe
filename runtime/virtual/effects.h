// Effects of a simulated chip beyond its profile, read from `assay/virtual/1`:
//
//   schema: assay/virtual/1
//   profile: generic/x86-avx512-2core     # a name of the library, or a file beside this one
//   noise: 0.02                           # and the rest of docs/virtual.md
//
// Reading is strict: unknown keys are errors with their place.
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
  double at = 1;  // from 1: the number of the run that fails; below 1: a probability per run
};

// Another guest, who is there for the first `lasts` of every `every` seconds of work. The parts are
// those that it leaves: of each cache, of issue slots and pipes, of the clock.
struct Neighbour {
  double every = 0, lasts = 0;  // 0: nobody
  double caches = 1, slots = 1, clock = 1;

  bool comes() const { return every > 0 && lasts > 0; }
};

struct Effects {
  std::string profile;
  double noise = 0;  // relative sigma of a launch's time
  uint64_t seed = 1;
  double throttle_after = 0;  // seconds of work; 0: never
  double throttle_to = 1;     // of the clock
  double ramp_from = 1;       // of the clock, at first
  double ramp_over = 0;       // seconds of work until the full clock
  bool prefetch = true;       // on chips of vectors
  bool hash = false;          // the set index is a hash of the address
  std::string victim;         // name of a victim cache, filled by evictions only
  Replacement replacement = Replacement::lru;
  Neighbour neighbour;
  double declares = 0;  // times the truth, what its system says of caches and units; 0: nothing
  double build = 0;     // seconds, of our clock, that a kernel takes to build
  Fault fault;
};

Result<Effects> parse_effects(std::string_view text, std::string_view file);

}  // namespace assay::runtime::simulated
