// A device, or what was seen of one before, -> a profile, and where both are kept.
#pragma once

#include <string>

#include "probe/probe.h"
#include "support/result.h"

namespace assay::console {

// Errors: no such device, and what probe::probe says.
Result<probe::ProbeResult> measure(const std::string& device, const probe::ProbeOptions& options);

// From a journal alone: `directory` holds it, or has a folder `observations` that does. Errors:
// none there, or a wrong one.
Result<probe::ProbeResult> measure_again(const std::string& directory);

// Where a probe leaves what it found.
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

// The directory of the journal for what a user calls an earlier probe: itself, or its folder
// `observations`.
std::string observations_of(const std::string& directory);

// Where an earlier probe that is called `directory` left its profile: the directory itself, or the
// one around its observations. "": it is not known.
std::string results_of(const std::string& directory);

// Makes the directory; to fail before the work and not after it. Errors: it can not be made, or not
// written to.
Diags prepare_places(const ProbePlaces& places);

// Profile, report, and the journal at `observations` if it lies elsewhere. Each file is written
// whole or not at all.
Diags keep(const probe::ProbeResult& result, const ProbePlaces& places,
           const std::string& observations);

}  // namespace assay::console
