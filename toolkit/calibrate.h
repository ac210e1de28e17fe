// Kept times -> a calibration.
//
// For each class, y = ln(measured / estimate) over its drawn programs. The factor is exp(median of
// y). The interval is scaled until a twentieth of the programs lie below it and a twentieth above.
// Classes with few programs shrink towards all: n programs weigh n against 10 of all.
#pragma once

#include <vector>

#include "toolkit/calibration.h"
#include "toolkit/validate.h"

namespace assay::toolkit {

// The caller fills `name`, `profile`, `api`, `device` and `data`. Errors: fewer than two operators
// with correct values; a row whose program can not be read.
Result<Calibration> calibrate(const std::vector<OperatorRows>& operators);

// `v` with calibrated estimates. Errors: a row whose program can not be read.
Result<Validation> calibrated(Validation v, const Calibration& c);

// The same, with each operator calibrated by the others: leave-one-out, for operators without
// times.
Result<Validation> calibrated_by_others(const Validation& v);

struct FromJournals {
  Calibration calibration;
  Validation plain,
      by_others;  // scores of the same times: uncalibrated, and calibrated_by_others
};

// Fits the times in journals of validations, all of one device and api, to the model's estimates
// with `profile`. Errors: those of judge_again; journals of several devices or apis; too few
// operators.
Result<FromJournals> calibrate_from(const hwdesc::Profile& profile,
                                    const std::vector<std::string>& journals,
                                    const std::string& api, const Progress& progress = {},
                                    const CancelToken* cancel = nullptr);

// Where a calibration does not fit its use: another profile is a note, another api an error.
Diags misfits(const Calibration& c, const hwdesc::Profile& profile, const std::string& api);

}  // namespace assay::toolkit
