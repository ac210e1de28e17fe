// How far predictions are from measured times: many programs of many operators, each estimated,
// then run.
//
// An operator is a tile-graph of one of the suite's graphs. Half of its programs are drawn
// uniformly from the legal ones and half from the model's best tenth, the compiler's first choice
// among them. Then the one-step neighbours of the fastest are run as well. Programs are distinct as
// loop kernels. Estimates are written to the journal before anything runs.
//
// Cache state: warm, in both. An estimate takes the caches as the same program left them. A sample
// repeats the program on its own operands, after a run that is not timed.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "model/estimate.h"
#include "support/result.h"
#include "toolkit/progress.h"
#include "toolkit/suite.h"

namespace assay::toolkit {

enum class Drawn { uniform, best_tenth, neighbour };

struct ProgramRow {
  std::string id;          // hash of its loop kernel
  std::string parameters;  // tiles, orders, staged copies on one line
  std::string program;     // YAML, as `assay simulate` takes it
  Drawn drawn = Drawn::uniform;
  bool first = false;          // the compiler's first choice
  model::Estimate estimate;    // without details
  double measured = 0;         // seconds: the quarter quantile of the samples
  double quick = 0, slow = 0;  // their extremes
  int samples = 0;
  double disturbed = 0;  // share of the samples that others disturbed
  double fma_rate = 0;   // vector multiply-adds/s of a unit, just before those samples; 0: unknown
  bool wrong = false;    // values beyond their bound
};

struct Spent {  // seconds of this run
  double choose = 0, reference = 0, build = 0, run = 0;
};

struct OperatorRows {
  std::string name;  // the suite's text; with the tile-graph's name where there are several
  std::vector<ProgramRow> rows;
  Spent spent;
};

struct Validation {
  std::string suite, profile, device, api;
  double fma_rate = 0;  // the profile's, as in the rows
  std::vector<OperatorRows> operators;
  int total = 0;    // operators of the suite; fewer above: interrupted
  int resumed = 0;  // of those, from an earlier run's journal
  Diags notes;
};

struct ValidateOptions {
  std::string api;  // of the profile; "": its first
  std::string device = "cpu:0";
  int programs = 50;  // per operator, without neighbours of the best
  int repeat = 9;     // samples per program, round robin
  uint64_t seed = 1;
  std::string journal;    // file that keeps estimates and times as they come
  bool resume = false;    // skip the operators that `journal` has
  std::string cache_dir;  // of built kernels; "": the runtime's choice
  Progress progress;
  const CancelToken* cancel = nullptr;
};

// Cancelled, it returns what was measured so far. Errors: device absent or of another api, a
// journal of another run, kernels that do not build.
Result<Validation> validate(const hwdesc::Profile& profile, const Suite& suite,
                            const ValidateOptions& options);

// The times in the journal of an earlier validation, with estimates of the same programs by the
// model of today; no device is touched. An operator's first choice is the drawn program with the
// least estimate. `api`: of the profile; "": the journal's. Errors: not a journal, a program that
// the profile's units can not run.
Result<Validation> judge_again(const hwdesc::Profile& profile, const std::string& journal,
                               const std::string& api, const Progress& progress = {},
                               const CancelToken* cancel = nullptr);

const char* name_of(Drawn d);

}  // namespace assay::toolkit
