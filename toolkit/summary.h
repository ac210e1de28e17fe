// Predicted beside measured, per operator and in total: the printed table and `summary.json`.
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

// Bytes over the boundary between two memories.
struct TrafficSummary {
  std::string boundary;
  double predicted = 0, counted = 0;
};

struct OperatorSummary {                          // a step, or a phase of steps
  std::string name;                               // of the step; of a phase, its number
  std::string label;                              // what tables show
  double predicted_s = 0, low_s = 0, high_s = 0;  // the model's interval
  Times measured;
  std::string bound;
  std::optional<Span> calibrated, as_it_ran;
  std::vector<TrafficSummary> traffic = {};  // empty: nothing counted it
  bool left_out = false;                     // by its condition: nothing ran
};

struct TransferSummary {  // all of one direction
  bool download = false;
  int64_t count = 0, bytes = 0;
  double predicted_s = 0, low_s = 0, high_s = 0;
  std::optional<Times> measured;  // nullopt: the chip is simulated
};

// One launch of all kernels, recorded as a graph.
struct RecordedSummary {
  Times measured;
  std::optional<Span> predicted;  // nullopt: the profile does not know launch.graph
};

struct Summary {
  std::string model, device, type;  // types_of the model
  std::vector<std::string> inputs;  // what was drawn (describe_inputs); empty: they were given
  std::optional<Verdict> verdict;   // nullopt: not checked
  double predicted_s = 0, low_s = 0, high_s = 0;
  Times measured;
  double kept_waiting = 0;  // as in RunResult, like the next two
  std::optional<probe::AsProbed> as_probed;
  int batches = 1;
  double plan_s = 0, build_s = 0;
  std::vector<OperatorSummary> operators;
  bool streamed = false;                   // the plan is one for a limit of memory
  std::vector<TransferSummary> transfers;  // uploads, downloads
  std::vector<TrafficSummary> traffic;     // of all of them
  std::optional<Span> calibrated;          // of the total
  // Predicted for the placement of units during the run; nullopt: as probed, or unknown.
  std::optional<Span> as_it_ran;
  std::optional<RecordedSummary> recorded;
};

// `calibration`: adds its times beside the model's own; nullptr: none.
Summary summarize(const Bundle& bundle, const RunResult& run, const std::optional<Verdict>& verdict,
                  const Calibration* calibration = nullptr);

// predicted / measured - 1
double prediction_error(double predicted_s, double measured_s);

// Mean |error| over the operators that ran: of the profile's prediction, or of `as_it_ran`.
double mean_error(const Summary& summary, bool as_it_ran);

Json to_json(const Summary& summary);

}  // namespace assay::toolkit
