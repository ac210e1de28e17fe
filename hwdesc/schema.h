// The profile format as a JSON Schema (draft 7, which editors support), generated from the field
// table. The reader is stricter: names must be declared, intervals must hold their value, clocks
// must exist. A schema can not express the tag !remove.
#pragma once

#include <string>

namespace assay::hwdesc {

std::string profile_schema();

}  // namespace assay::hwdesc
