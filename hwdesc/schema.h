// The profile format as a JSON Schema (draft 7, which editors read), written from the field table.
// What it accepts the reader accepts; the reader asks more: that names are declared, intervals hold
// their value, text counted by a clock names one that is there. The tag !remove is beyond a schema.
#pragma once

#include <string>

namespace assay::hwdesc {

std::string profile_schema();

}  // namespace assay::hwdesc
