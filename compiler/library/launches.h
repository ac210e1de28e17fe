// What the entries of the catalogue do on an operator: launches in counts.
#pragma once

#include <string>
#include <vector>

#include "compiler/library/catalogue.h"
#include "compiler/library/operators.h"
#include "model/machine.h"

namespace assay::compiler {

// A candidate: an entry with its choices, as launches one after the other.
using Launches = std::vector<model::LaunchWork>;

// The entry's name with its choices.
std::string name_of(const Launches& l);

// Every candidate that the chip has the capabilities for, and that the operator's shape allows.
std::vector<Launches> candidates(const LibraryOperator& o, const Catalogue& c,
                                 const model::Machine& chip);

}  // namespace assay::compiler
