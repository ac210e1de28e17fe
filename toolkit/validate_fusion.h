// Does the compiler rightly decide which tile-graphs one step computes together? Drawn chains of
// operators are compiled with each tile-graph as a step, with all that can be together in one step,
// and as the estimates decide; all are run, one after the other in rounds.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "support/result.h"
#include "toolkit/estimate_json.h"
#include "toolkit/progress.h"

namespace assay::toolkit {

struct FusionTimes {
  int steps = 0;
  double predicted = 0, measured = 0;  // seconds; measured: the median of the rounds
};

struct FusionRow {
  std::string chain;
  FusionTimes separate, together, chosen;
  bool wrong = false;  // a value of the plan together is beyond its bound
};

struct FusionScore {
  int chains = 0;     // measured
  int alike = 0;      // nothing can be together, or both take the same time within kAlikeTimes
  int differing = 0;  // the others
  int right = 0;      // of these: what was chosen is about as fast as the faster one
  int together = 0;   // of these: together is faster
  double lost = 0;    // geometric mean of chosen over the faster one, of all that are measured
  int wrong = 0;
};

inline constexpr double kAlikeTimes = 1.05;

struct FusionOptions {
  std::string api;  // of the profile; "": its first
  std::string device = "cpu:0";
  int chains = 100;
  int rounds = 9;
  uint64_t seed = 1;
  std::string journal;  // keeps rows as they come: a line each
  bool resume = false;  // skip the chains that `journal` has
  std::string cache_dir;
  Progress progress;
  const CancelToken* cancel = nullptr;
};

struct FusionValidation {
  std::string profile, device;
  std::vector<FusionRow> rows;  // fewer than asked for: cancelled
};

FusionScore score_of(const FusionValidation& v);
Json to_json(const FusionValidation& v, const FusionScore& s);
std::string print_csv(const FusionValidation& v);

// Cancelled, it returns what was measured so far. Errors: device absent or of another api, a
// journal of another run, kernels that do not build.
Result<FusionValidation> validate_fusion(const hwdesc::Profile& profile,
                                         const FusionOptions& options);

}  // namespace assay::toolkit
