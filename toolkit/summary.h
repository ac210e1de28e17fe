// What was predicted beside what was measured, per operator and in total: the table people read and
// `summary.json`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "toolkit/bundle.h"
#include "toolkit/calibration.h"
#include "toolkit/estimate_json.h"
#include "toolkit/run.h"
#include "toolkit/verify.h"

namespace assay::toolkit {

struct OperatorSummary {
  std::string name;
  double predicted_s = 0, low_s = 0, high_s = 0;  // the model's interval
  Times measured;
  std::string bound;
  std::optional<Span> calibrated, as_it_ran;
};

// All launches in one recording.
struct RecordedSummary {
  Times measured;
  std::optional<Span> predicted;  // nullopt: the profile does not know launch.graph
};

struct Summary {
  std::string model, device;
  std::optional<Verdict> verdict;  // nullopt: not checked
  double predicted_s = 0, low_s = 0, high_s = 0;
  Times measured;
  double kept_waiting = 0;            // by other programs: the share of the timed runs
  std::optional<AsProbed> as_probed;  // around them
  int batches = 1;                    // of them, of which the least disturbed one counts
  double plan_s = 0, build_s = 0;
  std::vector<OperatorSummary> operators;
  std::optional<Span> calibrated;  // of the total
  // Predicted for units as near to each other as they were around it; nullopt: they were as the
  // profile says, or nobody knows.
  std::optional<Span> as_it_ran;
  std::optional<RecordedSummary> recorded;
};

// `calibration`: what to show beside the model's own times; nullptr: nothing.
Summary summarize(const Bundle& bundle, const RunResult& run, const std::optional<Verdict>& verdict,
                  const Calibration* calibration = nullptr);

// predicted / measured - 1
double prediction_error(double predicted_s, double measured_s);

// Mean over the operators of |error|, as the profile says and as it ran.
double mean_error(const Summary& summary, bool as_it_ran);

Json to_json(const Summary& summary);

}  // namespace assay::toolkit
