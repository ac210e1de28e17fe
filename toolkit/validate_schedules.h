// How well are the times of schedules predicted? One plan of a model runs by many schedules: each
// step on all units, what the compiler chose, and drawn ones, one after the other in rounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "support/result.h"
#include "toolkit/estimate_json.h"
#include "toolkit/progress.h"

namespace assay::toolkit {

struct ScheduleRow {
  std::string model, schedule;         // `one after the other`, `chosen`, `drawn 3`
  double predicted = 0, measured = 0;  // seconds; measured: the median of the rounds
  bool wrong = false;                  // other outputs than those of the first
};

struct SchedulesScore {
  int schedules = 0, wrong = 0;
  double median_error = 0;                    // of |predicted / measured - 1|
  double within = 0;                          // part of them within kWithin
  std::optional<double> spearman;             // mean over models
  std::optional<double> in_turn_over_chosen;  // measured: geometric mean
};

inline constexpr double kWithin = 0.25;

struct SchedulesOptions {
  std::string api;  // of the profile; "": its first
  std::string device = "cpu:0";
  int schedules = 20;  // drawn, of each model
  int rounds = 7;
  uint64_t seed = 1;
  std::string cache_dir;
  Progress progress;
  const CancelToken* cancel = nullptr;
};

struct SchedulesValidation {
  std::string profile, device;
  std::vector<ScheduleRow> rows;
  bool whole = true;  // else it was cancelled
};

SchedulesScore score_of(const SchedulesValidation& v);
Json to_json(const SchedulesValidation& v, const SchedulesScore& s);
std::string print_csv(const SchedulesValidation& v);

// Models: .onnx files, or chains of operators (chains.h). Cancelled, it returns what was measured
// so far. Errors: device absent, of another api or without queues of units; a model that can not be
// read or compiled; kernels that do not build.
Result<SchedulesValidation> validate_schedules(const std::vector<std::string>& models,
                                               const hwdesc::Profile& profile,
                                               const SchedulesOptions& options);

}  // namespace assay::toolkit
