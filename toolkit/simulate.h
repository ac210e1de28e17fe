// The estimate of a compiled model, or of one program, on a profile. Nothing is compiled and no
// device is touched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "hwdesc/profile.h"
#include "ir/plan.h"
#include "model/estimate.h"
#include "support/result.h"
#include "toolkit/progress.h"
#include "toolkit/trace.h"
#include "toolkit/transfer_sums.h"

namespace assay::toolkit {

using Estimate = model::Estimate;

// Of a plan with a schedule or phases.
struct ScheduleSummary {
  double busy = 0;  // part of the units' time in which they run groups
  compiler::ScheduleBounds bounds;
  size_t phases = 0;  // launches of several steps; 0: units have queues of their own
};

struct Simulation {
  std::string name, profile, api;
  std::string chosen_for;           // profile that a bundle's programs were chosen for; "": unknown
  std::vector<std::string> steps;   // names
  std::vector<std::string> labels;  // of the steps, for tables
  std::vector<std::string> mappings;   // of each step's matrix instruction; "": it has none
  std::vector<std::string> classes;    // of each step's program; see calibration.h
  std::vector<Estimate> estimates;     // per step
  std::vector<bool> left_out;          // per step, by its condition; empty: none
  bool streamed = false;               // the plan is one for a limit of device memory
  std::vector<TransferSum> transfers;  // uploads, downloads
  Estimate total;                      // of steps and transfers
  // Why no kernel of the program could run there, so that its counts are closed forms; that
  // kernels can not be printed; that the programs were chosen for another chip.
  Diags notes;
  std::optional<ScheduleSummary> schedule;
  std::vector<TraceSlice> slices;  // of a plan without transfers: what its units do when
};

struct SimulateOptions {
  std::string api;        // "": the bundle's where the profile is its own, else the first
  bool cold = false;      // of a program: the caches hold nothing of it; else it ran just before
  bool recorded = false;  // one launch of all kernels, recorded as a graph: launch.graph for each
  bool rechoose = false;  // of a bundle: with programs that are chosen anew, for this profile
  Progress progress;      // of choosing them
  const CancelToken* cancel = nullptr;
};

// `path`: a bundle's directory, a plan.yaml, or a program's YAML. Errors: unreadable; not a plan or
// program; a program that says what no estimate honours (lower::unpriceable); a profile without
// what predicting needs; of a plan with transfers, one that does not know the link to the host;
// `recorded` of such a plan, where a plan runs within one launch, or where launch.graph is
// unknown; `rechoose` without a bundle, and those of choose_programs.
Result<Simulation> simulate(const std::string& path, const hwdesc::Profile& profile,
                            const SimulateOptions& options);

// A plan whose launches are recorded, by the host's clock: a launch that is waited for takes longer
// than one in a stream, which is added once. Errors: those of simulate.
Result<Estimate> recorded_total(const ir::Plan& plan, const hwdesc::Profile& profile,
                                const std::string& api);

// How a program places work, a line each: its matrix instruction and the elements of each lane, its
// threads over two axes, who copies what, what stays on the chip; "": lanes along one axis alone.
std::string mapping_of(const ir::Program& p);

// Every term of an estimate, as text: what `--explain` prints.
std::string explanation(const Estimate& estimate);

// A bundle's own profile. Errors: no bundle there.
Result<hwdesc::Profile> profile_of_bundle(const std::string& directory);

}  // namespace assay::toolkit
