// Kept times -> a calibration.
//
// Of each class, y = ln(measured / estimate) over its drawn programs: the factor is exp(median of
// y), and the interval is widened or narrowed until a twentieth of the programs lie below it and a
// twentieth above. What few programs say is drawn towards what all say: n programs weigh n against
// 10 of all.
#pragma once

#include <vector>

#include "toolkit/calibration.h"
#include "toolkit/validate.h"

namespace assay::toolkit {

// `name`, `profile`, `api`, `device` and `data` of the result are left to the caller. Errors: fewer
// than two operators with right values; a row whose program can not be read.
Result<Calibration> calibrate(const std::vector<OperatorRows>& operators);

// `v` with each estimate as the calibration has it. Errors: a row whose program can not be read.
Result<Validation> calibrated(Validation v, const Calibration& c);

// The same, each operator by a calibration of the other ones: what it is worth for operators that
// nobody timed.
Result<Validation> calibrated_by_others(const Validation& v);

struct FromJournals {
  Calibration calibration;
  Validation plain,
      by_others;  // the same times, judged without, and as calibrated_by_others has them
};

// The times that journals of validations keep, all of one device and api, against what the model
// says with `profile`. Errors: what judge_again says; journals of different devices or apis; too
// few operators.
Result<FromJournals> calibrate_from(const hwdesc::Profile& profile,
                                    const std::vector<std::string>& journals,
                                    const std::string& api, const Progress& progress = {},
                                    const CancelToken* cancel = nullptr);

// What is different between what was calibrated and what it is used with; notes and, of another
// api, an error.
Diags misfits(const Calibration& c, const hwdesc::Profile& profile, const std::string& api);

}  // namespace assay::toolkit
