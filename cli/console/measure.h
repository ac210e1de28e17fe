// A device, or the observations of an earlier probe, -> a profile; and the places of both.
#pragma once

#include <string>

#include "probe/probe.h"
#include "support/result.h"

namespace assay::console {

// Errors: no such device, and those of probe::probe.
Result<probe::ProbeResult> measure(const std::string& device, const probe::ProbeOptions& options);

// From a journal alone, in `directory` or its folder `observations`. Errors: none there, or a wrong
// one.
Result<probe::ProbeResult> measure_again(const std::string& directory);

// Where a probe writes its results.
struct ProbePlaces {
  std::string directory;     // "": only a profile is written
  std::string profile;       // a file
  std::string observations;  // a directory; "": nothing is kept
  std::string report;        // a file; "": none
  bool operator==(const ProbePlaces&) const = default;
};

// `output` is a directory if one is there, if it ends in a slash, or if its name does not end in
// .yaml or .yml; else it is the file of the profile.
ProbePlaces places_of(const std::string& output);

// The directory of the journal of an earlier probe: `directory`, or its folder `observations`.
std::string observations_of(const std::string& directory);

// The directory of an earlier probe's profile: `directory`, or its parent where it is
// `observations`.
// "": unknown.
std::string results_of(const std::string& directory);

// Makes the directory before the work, so that errors come early: it can not be made, or not
// written to.
Diags prepare_places(const ProbePlaces& places);

// Writes profile and report, and copies the journal from `observations` if that is elsewhere. Each
// file is written whole or not at all.
Diags keep(const probe::ProbeResult& result, const ProbePlaces& places,
           const std::string& observations);

}  // namespace assay::console
